// Representative calls of the ops in matmul, attention, rope and window.
#include <cmath>

#include "core/ops/op_calls.h"

namespace tenon {
namespace {

using M = const CallMaker&;

struct Attention {
    int64_t d = 128, dv = 128, n = 1, kv = 512, heads = 8, heads_kv = 2;
    bool mask = true, sinks = false;
    float max_bias = 0.0f, softcap = 0.0f;
};

// Keys and values of the call's type, cut from a cache of twice the length.
ggml_tensor* flash(M m, const Attention& a) {
    ggml_tensor* mask = a.mask ? m.f16(a.kv, a.n) : nullptr;
    const auto cached = [&](int64_t d) -> ggml_tensor* {
        ggml_tensor* cache = m.typed(d, 2 * a.kv, a.heads_kv);
        if (cache == nullptr) return nullptr;
        return ggml_view_3d(m.ctx, cache, d, a.kv, a.heads_kv, cache->nb[1], cache->nb[2], 0);
    };
    ggml_tensor* node =
        ggml_flash_attn_ext(m.ctx, m.f32(a.d, a.n, a.heads), cached(a.d), cached(a.dv), mask,
                            1.0f / std::sqrt(static_cast<float>(a.d)), a.max_bias, a.softcap);
    if (a.sinks) ggml_flash_attn_ext_add_sinks(node, m.f32(a.heads));
    return node;
}

ggml_tensor* rope(M m, ggml_tensor* x, int n_dims, int mode, ggml_tensor* factors) {
    if (x == nullptr) return nullptr;
    int sections[4] = {n_dims / 3, n_dims / 3, n_dims / 3, 0};
    if (mode == GGML_ROPE_TYPE_VISION) sections[2] = 0;
    const int64_t n_positions = (mode & GGML_ROPE_TYPE_MROPE) != 0 ? 4 * x->ne[2] : x->ne[2];
    return ggml_rope_multi(m.ctx, x, m.i32(n_positions), factors, n_dims, sections, mode, 4096,
                           10000.0f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
}

ggml_tensor* yarn(M m) {
    return ggml_rope_ext(m.ctx, m.typed(128, 8, 32), m.i32(32), nullptr, 128, GGML_ROPE_TYPE_NEOX,
                         4096, 10000.0f, 0.25f, 1.0f, 1.0f, 32.0f, 1.0f);
}

ggml_tensor* soft_max_sinks(M m) {
    ggml_tensor* node = ggml_soft_max_ext(m.ctx, m.typed(256, 32, 8), m.f16(256, 32), 0.1f, 0.0f);
    ggml_soft_max_add_sinks(node, m.f32(8));
    return node;
}

ggml_tensor* hadamard(M m) {
    ggml_tensor* node = ggml_mul_mat(m.ctx, m.f32(256, 256), m.f32(256, 16));
    ggml_mul_mat_set_hint(node, GGML_HINT_SRC0_IS_HADAMARD);
    return node;
}

constexpr ggml_type kHalves[] = {GGML_TYPE_F16, GGML_TYPE_BF16};
constexpr ggml_type kOuter[] = {GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16,
                                GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K};
constexpr ggml_type kCommonCaches[] = {GGML_TYPE_F16, GGML_TYPE_Q8_0};
constexpr ggml_type kF16[] = {GGML_TYPE_F16};

constexpr std::array kRows{
    // matmul
    CallRow{GGML_OP_MUL_MAT, kWeights, "vector, k 1024, m 512",
            [](M m) { return ggml_mul_mat(m.ctx, m.typed(1024, 512), m.f32(1024)); }},
    CallRow{GGML_OP_MUL_MAT, kWeights, "matrix, k 1024, m 512, n 64",
            [](M m) { return ggml_mul_mat(m.ctx, m.typed(1024, 512), m.f32(1024, 64)); }},
    CallRow{GGML_OP_MUL_MAT, kHalves, "both of the type, n 16",
            [](M m) { return ggml_mul_mat(m.ctx, m.typed(256, 64), m.typed(256, 16)); }},
    CallRow{GGML_OP_MUL_MAT, kAllFloats, "4 heads share one matrix",
            [](M m) { return ggml_mul_mat(m.ctx, m.typed(128, 256, 2), m.f32(128, 16, 8)); }},
    CallRow{GGML_OP_MUL_MAT, kAllFloats, "permuted, as keys and queries are",
            [](M m) {
                ggml_tensor* queries = ggml_permute(m.ctx, m.f32(128, 2, 16), 0, 2, 1, 3);
                return ggml_mul_mat(m.ctx, m.permuted(128, 64, 2), queries);
            }},
    CallRow{GGML_OP_MUL_MAT, kAllFloats, "odd, k 129, m 33, n 7",
            [](M m) { return ggml_mul_mat(m.ctx, m.typed(129, 33), m.f32(129, 7)); }},
    CallRow{GGML_OP_MUL_MAT, kF32, "Hadamard hint", hadamard},
    CallRow{GGML_OP_MUL_MAT_ID, kWeights, "2 of 8 experts, 1 token",
            [](M m) {
                return ggml_mul_mat_id(m.ctx, m.typed(512, 256, 8), m.f32(512, 1, 1), m.i32(2, 1));
            }},
    CallRow{GGML_OP_MUL_MAT_ID, kWeights, "2 of 8 experts, 32 tokens",
            [](M m) {
                return ggml_mul_mat_id(m.ctx, m.typed(512, 256, 8), m.f32(512, 2, 32),
                                       m.i32(2, 32));
            }},
    CallRow{GGML_OP_OUT_PROD, kOuter, "m 256, n 16, k 16",
            [](M m) { return ggml_out_prod(m.ctx, m.typed(256, 16), m.f32(16, 16)); }},
    CallRow{GGML_OP_OUT_PROD, kAllFloats, "batch, a shared",
            [](M m) { return ggml_out_prod(m.ctx, m.typed(256, 16, 2), m.f32(16, 16, 4)); }},
    CallRow{GGML_OP_OUT_PROD, kAllFloats, "b transposed",
            [](M m) {
                return ggml_out_prod(m.ctx, m.typed(256, 16),
                                     ggml_transpose(m.ctx, m.typed(16, 8)));
            }},
    CallRow{GGML_OP_SOLVE_TRI, kF32, "64 unknowns, 32 right sides",
            [](M m) {
                return ggml_solve_tri(m.ctx, m.f32(64, 64, 4), m.f32(32, 64, 4), true, true, false);
            }},

    // attention
    CallRow{GGML_OP_SOFT_MAX, kAllFloats, "no mask",
            [](M m) { return ggml_soft_max(m.ctx, m.typed(256, 32, 8)); }},
    CallRow{GGML_OP_SOFT_MAX, kFloats, "mask",
            [](M m) {
                return ggml_soft_max_ext(m.ctx, m.f32(256, 32, 8), m.typed(256, 32), 0.1f, 0.0f);
            }},
    CallRow{GGML_OP_SOFT_MAX, kFloats, "mask, ALiBi",
            [](M m) {
                return ggml_soft_max_ext(m.ctx, m.f32(256, 32, 8), m.typed(256, 32), 0.1f, 8.0f);
            }},
    CallRow{GGML_OP_SOFT_MAX, kAllFloats, "mask, sinks", soft_max_sinks},
    CallRow{GGML_OP_SOFT_MAX, kAllFloats, "long rows",
            [](M m) { return ggml_soft_max(m.ctx, m.typed(65537, 2)); }},
    CallRow{GGML_OP_SOFT_MAX_BACK, kAllFloats, "scale",
            [](M m) {
                return ggml_soft_max_ext_back(m.ctx, m.typed(256, 32, 8), m.typed(256, 32, 8), 0.1f,
                                              0.0f);
            }},
    CallRow{GGML_OP_FLASH_ATTN_EXT, kCaches, "1 query, d 128, mask",
            [](M m) { return flash(m, {}); }},
    CallRow{GGML_OP_FLASH_ATTN_EXT, kCaches, "32 queries, d 64, mask",
            [](M m) { return flash(m, {.d = 64, .dv = 64, .n = 32}); }},
    CallRow{GGML_OP_FLASH_ATTN_EXT, kF16, "32 queries, d 80, mask",
            [](M m) { return flash(m, {.d = 80, .dv = 80, .n = 32}); }},
    CallRow{GGML_OP_FLASH_ATTN_EXT, kF16, "8 queries, d 256, no mask",
            [](M m) { return flash(m, {.d = 256, .dv = 256, .n = 8, .mask = false}); }},
    CallRow{GGML_OP_FLASH_ATTN_EXT, kF16, "3 queries, d 576, dv 512, mask",
            [](M m) { return flash(m, {.d = 576, .dv = 512, .n = 3, .heads_kv = 1}); }},
    CallRow{GGML_OP_FLASH_ATTN_EXT, kCommonCaches, "3 queries, d 128, mask, sinks",
            [](M m) { return flash(m, {.n = 3, .sinks = true}); }},
    CallRow{GGML_OP_FLASH_ATTN_EXT, kF16, "3 queries, d 128, mask, ALiBi",
            [](M m) { return flash(m, {.n = 3, .max_bias = 8.0f}); }},
    CallRow{GGML_OP_FLASH_ATTN_EXT, kF16, "3 queries, d 128, mask, softcap 50",
            [](M m) { return flash(m, {.n = 3, .softcap = 50.0f}); }},
    CallRow{GGML_OP_LIGHTNING_INDEXER, kCaches, "32 heads, 64 keys, 32 tokens",
            [](M m) {
                return ggml_lightning_indexer(m.ctx, m.f32(128, 32, 32), m.typed(128, 1, 64),
                                              m.f32(32, 32), m.f16(64, 32));
            }},

    // rope
    CallRow{GGML_OP_ROPE, kAllFloats, "normal, d 128",
            [](M m) { return rope(m, m.typed(128, 8, 32), 128, GGML_ROPE_TYPE_NORMAL, nullptr); }},
    CallRow{GGML_OP_ROPE, kAllFloats, "neox, 64 of 80",
            [](M m) { return rope(m, m.typed(80, 8, 32), 64, GGML_ROPE_TYPE_NEOX, nullptr); }},
    CallRow{GGML_OP_ROPE, kAllFloats, "neox, frequency factors",
            [](M m) { return rope(m, m.typed(128, 8, 32), 128, GGML_ROPE_TYPE_NEOX, m.f32(64)); }},
    CallRow{GGML_OP_ROPE, kAllFloats, "neox, YaRN", yarn},
    CallRow{GGML_OP_ROPE, kAllFloats, "mrope, d 128",
            [](M m) { return rope(m, m.typed(128, 8, 32), 128, GGML_ROPE_TYPE_MROPE, nullptr); }},
    CallRow{GGML_OP_ROPE, kAllFloats, "imrope, d 128",
            [](M m) { return rope(m, m.typed(128, 8, 32), 128, GGML_ROPE_TYPE_IMROPE, nullptr); }},
    CallRow{GGML_OP_ROPE, kAllFloats, "vision, d 80",
            [](M m) { return rope(m, m.typed(80, 16, 32), 40, GGML_ROPE_TYPE_VISION, nullptr); }},
    CallRow{GGML_OP_ROPE_BACK, kAllFloats, "normal, d 128",
            [](M m) {
                return ggml_rope_ext_back(m.ctx, m.typed(128, 8, 32), m.i32(32), nullptr, 128,
                                          GGML_ROPE_TYPE_NORMAL, 4096, 10000.0f, 1.0f, 0.0f, 1.0f,
                                          32.0f, 1.0f);
            }},
    CallRow{GGML_OP_ROPE_BACK, kAllFloats, "neox, 64 of 80",
            [](M m) {
                return ggml_rope_ext_back(m.ctx, m.typed(80, 8, 32), m.i32(32), nullptr, 64,
                                          GGML_ROPE_TYPE_NEOX, 4096, 10000.0f, 1.0f, 0.0f, 1.0f,
                                          32.0f, 1.0f);
            }},

    // window
    CallRow{GGML_OP_WIN_PART, kF32, "windows of 14 over 64 x 64",
            [](M m) { return ggml_win_part(m.ctx, m.f32(96, 64, 64), 14); }},
    CallRow{GGML_OP_WIN_UNPART, kF32, "windows of 14 over 64 x 64",
            [](M m) { return ggml_win_unpart(m.ctx, m.f32(96, 14, 14, 25), 64, 64, 14); }},
    CallRow{GGML_OP_GET_REL_POS, kF16, "14 x 14",
            [](M m) { return ggml_get_rel_pos(m.ctx, m.typed(64, 27), 14, 14); }},
    CallRow{GGML_OP_ADD_REL_POS, kAllFloats, "14 x 14",
            [](M m) {
                return ggml_add_rel_pos(m.ctx, m.typed(196, 196, 8), m.f32(14, 14, 14, 8),
                                        m.f32(14, 14, 14, 8));
            }},
};

}  // namespace

constinit const std::span<const CallRow> kMatrixCalls = kRows;

}  // namespace tenon
