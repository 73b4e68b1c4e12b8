// Representative calls of the ops in recurrent.
#include "core/ops/op_calls.h"

namespace tenon {
namespace {

using M = const CallMaker&;

struct Scan {
    int64_t n, p, h, g, t, seqs, a_rows;
    int64_t slots = 1;
};

ggml_tensor* ssm_scan(M m, const Scan& s) {
    return ggml_ssm_scan(m.ctx, m.typed(s.n, s.p, s.h, s.seqs), m.typed(s.p, s.h, s.t, s.seqs),
                         m.typed(s.h, s.t, s.seqs), m.typed(s.a_rows, s.h),
                         m.typed(s.n, s.g, s.t, s.seqs), m.typed(s.n, s.g, s.t, s.seqs),
                         m.i32(s.seqs), s.slots);
}

// Head size 64, 8 heads.
ggml_tensor* wkv6(M m, int64_t tokens, int64_t seqs) {
    return ggml_rwkv_wkv6(m.ctx, m.typed(64, 8, tokens), m.typed(64, 8, tokens),
                          m.typed(64, 8, tokens), m.typed(64, 8), m.typed(64, 8, tokens),
                          m.typed(64 * 64 * 8, seqs));
}

ggml_tensor* wkv7(M m, int64_t tokens, int64_t seqs) {
    return ggml_rwkv_wkv7(m.ctx, m.typed(64, 8, tokens), m.typed(64, 8, tokens),
                          m.typed(64, 8, tokens), m.typed(64, 8, tokens), m.typed(64, 8, tokens),
                          m.typed(64, 8, tokens), m.typed(64 * 64 * 8, seqs));
}

ggml_tensor* linear_attn(M m, int64_t tokens, int64_t seqs) {
    return ggml_gated_linear_attn(m.ctx, m.typed(64, 8, tokens), m.typed(64, 8, tokens),
                                  m.typed(64, 8, tokens), m.typed(64, 8, tokens),
                                  m.typed(64 * 64 * 8, seqs), 0.125f);
}

// Head size 64, 4 heads of keys, 8 of values.
ggml_tensor* delta_net(M m, int64_t tokens, int64_t gates, int64_t slots) {
    return ggml_gated_delta_net(m.ctx, m.f32(64, 4, tokens, 2), m.f32(64, 4, tokens, 2),
                                m.f32(64, 8, tokens, 2), m.f32(gates, 8, tokens, 2),
                                m.f32(1, 8, tokens, 2), m.f32(64, 64, 8, 2), slots);
}

constexpr std::array kRows{
    CallRow{GGML_OP_SSM_CONV, kAllFloats, "width 4, 1 token",
            [](M m) { return ggml_ssm_conv(m.ctx, m.typed(4, 1024, 2), m.typed(4, 1024)); }},
    CallRow{GGML_OP_SSM_CONV, kAllFloats, "width 4, 32 tokens",
            [](M m) { return ggml_ssm_conv(m.ctx, m.typed(35, 1024, 2), m.typed(4, 1024)); }},
    CallRow{GGML_OP_SSM_SCAN, kAllFloats, "Mamba 1",
            [](M m) {
                return ssm_scan(
                    m, {.n = 16, .p = 1, .h = 512, .g = 1, .t = 32, .seqs = 2, .a_rows = 16});
            }},
    CallRow{GGML_OP_SSM_SCAN, kAllFloats, "Mamba 2",
            [](M m) {
                return ssm_scan(
                    m, {.n = 128, .p = 64, .h = 8, .g = 2, .t = 32, .seqs = 2, .a_rows = 1});
            }},
    CallRow{
        GGML_OP_SSM_SCAN, kAllFloats, "Mamba 2, 4 state slots",
        [](M m) {
            return ssm_scan(
                m, {.n = 128, .p = 64, .h = 8, .g = 2, .t = 8, .seqs = 2, .a_rows = 1, .slots = 4});
        }},
    CallRow{GGML_OP_RWKV_WKV6, kAllFloats, "1 token", [](M m) { return wkv6(m, 1, 1); }},
    CallRow{GGML_OP_RWKV_WKV6, kAllFloats, "32 tokens in each of 2 sequences",
            [](M m) { return wkv6(m, 64, 2); }},
    CallRow{GGML_OP_RWKV_WKV7, kAllFloats, "1 token", [](M m) { return wkv7(m, 1, 1); }},
    CallRow{GGML_OP_RWKV_WKV7, kAllFloats, "32 tokens in each of 2 sequences",
            [](M m) { return wkv7(m, 64, 2); }},
    CallRow{GGML_OP_GATED_LINEAR_ATTN, kAllFloats, "1 token",
            [](M m) { return linear_attn(m, 1, 1); }},
    CallRow{GGML_OP_GATED_LINEAR_ATTN, kAllFloats, "32 tokens in each of 2 sequences",
            [](M m) { return linear_attn(m, 64, 2); }},
    CallRow{GGML_OP_GATED_DELTA_NET, kF32, "1 token", [](M m) { return delta_net(m, 1, 1, 1); }},
    CallRow{GGML_OP_GATED_DELTA_NET, kF32, "32 tokens, a gate per key",
            [](M m) { return delta_net(m, 32, 64, 1); }},
    CallRow{GGML_OP_GATED_DELTA_NET, kF32, "8 tokens, 4 state slots",
            [](M m) { return delta_net(m, 8, 1, 4); }},
    CallRow{
        GGML_OP_DSV4_HC_COMB, kF32, "17 tokens, 4 passes",
        [](M m) { return ggml_dsv4_hc_comb(m.ctx, m.f32(24, 17), m.f32(3), m.f32(24), 1e-6f, 4); }},
    CallRow{GGML_OP_DSV4_HC_PRE, kF32, "17 tokens",
            [](M m) { return ggml_dsv4_hc_pre(m.ctx, m.f32(1024, 4, 17), m.f32(4, 17)); }},
    CallRow{GGML_OP_DSV4_HC_POST, kF32, "17 tokens",
            [](M m) {
                return ggml_dsv4_hc_post(m.ctx, m.f32(1024, 17), m.f32(1024, 4, 17), m.f32(4, 17),
                                         m.f32(4, 4, 17));
            }},
};

}  // namespace

constinit const std::span<const CallRow> kRecurrentCalls = kRows;

}  // namespace tenon
