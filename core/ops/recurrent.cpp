// State-space and linear-attention recurrences, and DeepSeek's hyper-connections: builders, rules.
#include <limits>

#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {

// x: [w-1+t, inner, seqs], kernel: [w, inner] -> [inner, t, seqs]
Result<NodeShape> ssm_conv_shape(const OpCall& call) {
    const ggml_tensor& x = *call.src[0];
    const ggml_tensor& kernel = *call.src[1];
    const int64_t t = x.ne[0] - kernel.ne[0] + 1;
    return Checks(call)
        .dims_at_most(0, 3)
        .dims_at_most(1, 2)
        .same_extent(0, 1, 1, 1)
        .at_least("number of tokens", t, 0)
        .result(GGML_TYPE_F32, {x.ne[1], t, x.ne[2]});
}

// s: [n, p, h, slots], x: [p, h, t, seqs], dt: [h, t, seqs], A: [1 or n, h], B, C: [n, g, t, seqs],
// ids: [seqs] -> outputs, then the states asked for, in one row
Result<NodeShape> ssm_scan_shape(const OpCall& call) {
    const ggml_tensor& s = *call.src[0];
    const ggml_tensor& x = *call.src[1];
    const ggml_tensor& A = *call.src[3];
    const int64_t n_states = call.params_as<tenon_ssm_scan_params>().n_states;
    const int64_t n = s.ne[0], p = x.ne[0], h = x.ne[1], t = x.ne[2], seqs = x.ne[3];
    Checks check(call);
    check.contiguous({0, 2, 3});
    for (int i : {1, 4, 5}) check.dense_matrices(i);
    check.same_shape(4, 5)
        .type(6, {GGML_TYPE_I32})
        .dims_at_most(6, 1)
        .extent(6, 0, seqs)
        .extents(2, {h, t, seqs, 1})
        .extent(0, 1, p)
        .extent(0, 2, h)
        .extent(4, 0, n)
        .extent(4, 2, t)
        .extent(4, 3, seqs)
        .multiple_of(1, 1, 4, 1)
        .at_least("number of state slots", n_states, 1)
        .dims_at_most(3, 2)
        .extent(3, 1, h)
        .require(A.ne[0] == 1 || (A.ne[0] == n && n_states == 1),
                 "src3 has ne[0] = %lld, must be 1%s", (long long)A.ne[0],
                 n_states == 1 ? " or ne[0] of src0" : " with more than one state slot");
    const int64_t outputs = times(times(p, h), times(t, seqs));
    const int64_t state = times(times(n, p), times(h, seqs));
    return check.result(GGML_TYPE_F32, {plus(outputs, times(n_states, state))});
}

namespace {

// Sizes of RWKV_WKV6, GATED_LINEAR_ATTN and RWKV_WKV7: head size, heads, tokens, sequences.
struct Heads {
    int64_t size, count, tokens, seqs;
};

Heads heads_of(const ggml_tensor& k, const ggml_tensor& state) {
    return {k.ne[0], k.ne[1], k.ne[2], state.ne[1]};
}

// [size * heads, tokens + size * sequences]: outputs, then final states.
Result<NodeShape> outputs_and_states(Checks& check, const Heads& h, int state) {
    return check
        .require(h.seqs == 0 || h.tokens % h.seqs == 0,
                 "%lld tokens are no multiple of %lld sequences", (long long)h.tokens,
                 (long long)h.seqs)
        .elements(state, times(times(h.size, h.size), times(h.count, h.seqs)))
        .result(GGML_TYPE_F32, {times(h.size, h.count), plus(h.tokens, times(h.size, h.seqs))});
}

}  // namespace

// k, v, r: [s, h, t], tf: [s, h], td: [s, h, t], state: s*s*h numbers per sequence
Result<NodeShape> rwkv_wkv6_shape(const OpCall& call) {
    const Heads h = heads_of(*call.src[0], *call.src[5]);
    Checks check(call);
    check.contiguous({0, 1, 2, 3, 4, 5});
    for (int i : {0, 1, 2, 4}) check.extents(i, {h.size, h.count, h.tokens});
    check.elements(3, times(h.size, h.count));
    return outputs_and_states(check, h, 5);
}

// k, v, q, g: [s, h, t], state: s*s*h numbers per sequence
Result<NodeShape> gated_linear_attn_shape(const OpCall& call) {
    const Heads h = heads_of(*call.src[0], *call.src[4]);
    Checks check(call);
    check.contiguous({0, 1, 2, 3, 4});
    for (int i : {0, 1, 2, 3}) check.extents(i, {h.size, h.count, h.tokens});
    return outputs_and_states(check, h, 4);
}

// r, w, k, v, a, b: [s, h, t], state: s*s*h numbers per sequence
Result<NodeShape> rwkv_wkv7_shape(const OpCall& call) {
    const Heads h = heads_of(*call.src[2], *call.src[6]);
    Checks check(call);
    check.contiguous({0, 1, 2, 3, 4, 5, 6});
    for (int i : {1, 2, 3, 4, 5}) check.extents(i, {h.size, h.count, h.tokens});
    check.elements(0, times(times(h.size, h.count), h.tokens));
    return outputs_and_states(check, h, 6);
}

// q, k: [s, heads_k, t, b_k], v: [s, h, t, b], g: [1 or s, h, t, b], beta: [1, h, t, b],
// state: [s, s, h, b] -> [s*h, t*b + slots*s*b]
Result<NodeShape> gated_delta_net_shape(const OpCall& call) {
    const ggml_tensor& v = *call.src[2];
    const ggml_tensor& g = *call.src[3];
    const int64_t n_states = call.params_as<tenon_gated_delta_net_params>().n_states;
    const int64_t s = v.ne[0], h = v.ne[1], t = v.ne[2], b = v.ne[3];
    Checks check(call);
    check.f32({0, 1, 2, 3, 4, 5}).at_least("number of state slots", n_states, 1);
    for (int i : {0, 1, 2}) check.contiguous_rows(i);
    check.contiguous({3, 4, 5}).same_shape(0, 1);
    check.extent(0, 0, s).extent(0, 2, t).multiple(2, 0, 1).multiple(2, 0, 3);
    check.require(g.ne[0] == 1 || g.ne[0] == s, "src3 has ne[0] = %lld, must be 1 or %lld",
                  (long long)g.ne[0], (long long)s);
    check.extents(3, {g.ne[0], h, t, b}).extents(4, {1, h, t, b}).extents(5, {s, s, h, b});
    const int64_t rows = plus(times(t, b), times(times(n_states, s), b));
    return check.result(GGML_TYPE_F32, {times(s, h), rows});
}

namespace {

constexpr int64_t kHyper = 4;  // hyper-connections of DeepSeek V4
constexpr int64_t kMixes = (2 + kHyper) * kHyper;

}  // namespace

// mixes: [24, t], scale: [>= 3], base: [24] -> [4, 4, t]
Result<NodeShape> dsv4_hc_comb_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_dsv4_hc_comb_params>();
    return Checks(call)
        .f32({0, 1, 2})
        .at_least("n_iter", p.n_iter, 1)
        .extent(0, 0, kMixes)
        .dims_at_most(0, 2)
        .dims_at_most(1, 1)
        .at_least("length of src1", call.src[1]->ne[0], 3)
        .dims_at_most(2, 1)
        .extent(2, 0, kMixes)
        .result(GGML_TYPE_F32, {kHyper, kHyper, call.src[0]->ne[1]});
}

// x: [e, hc, t], weights: [hc, t] -> [e, t]
Result<NodeShape> dsv4_hc_pre_shape(const OpCall& call) {
    const ggml_tensor& x = *call.src[0];
    return Checks(call)
        .f32({0, 1})
        .dims_at_most(0, 3)
        .extents(1, {x.ne[1], x.ne[2], 1, 1})
        .result(GGML_TYPE_F32, {x.ne[0], x.ne[2]});
}

// x: [e, t], residual: [e, hc, t], post: [hc, t], comb: [hc, hc, t] -> [e, hc, t]
Result<NodeShape> dsv4_hc_post_shape(const OpCall& call) {
    const int64_t e = call.src[0]->ne[0];
    const int64_t t = call.src[0]->ne[1];
    const int64_t hc = call.src[1]->ne[1];
    return Checks(call)
        .f32({0, 1, 2, 3})
        .dims_at_most(0, 2)
        .extents(1, {e, hc, t, 1})
        .extents(2, {hc, t, 1, 1})
        .extents(3, {hc, hc, t, 1})
        .like(1);
}

namespace {

// A number of state slots as it is stored; the API's is 64 bits wide.
Result<int32_t> state_slots(ggml_op op, int64_t K) {
    if (K < 1 || K > std::numeric_limits<int32_t>::max()) {
        return fail(TENON_E_INVALID, "%s: K is %lld, must be 1 to %d", ggml_op_name(op),
                    (long long)K, std::numeric_limits<int32_t>::max());
    }
    return static_cast<int32_t>(K);
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_ssm_conv(ggml_context* ctx, ggml_tensor* sx, ggml_tensor* c) {
    return build(ctx, GGML_OP_SSM_CONV, {sx, c});
}

ggml_tensor* ggml_ssm_scan(ggml_context* ctx, ggml_tensor* s, ggml_tensor* x, ggml_tensor* dt,
                           ggml_tensor* A, ggml_tensor* B, ggml_tensor* C, ggml_tensor* ids,
                           int64_t K) {
    const auto slots = state_slots(GGML_OP_SSM_SCAN, K);
    if (!slots) {
        report(slots.error());
        return nullptr;
    }
    return build(ctx, GGML_OP_SSM_SCAN, {s, x, dt, A, B, C, ids}, tenon_ssm_scan_params{*slots});
}

ggml_tensor* ggml_rwkv_wkv6(ggml_context* ctx, ggml_tensor* k, ggml_tensor* v, ggml_tensor* r,
                            ggml_tensor* tf, ggml_tensor* td, ggml_tensor* state) {
    return build(ctx, GGML_OP_RWKV_WKV6, {k, v, r, tf, td, state});
}

ggml_tensor* ggml_gated_linear_attn(ggml_context* ctx, ggml_tensor* k, ggml_tensor* v,
                                    ggml_tensor* q, ggml_tensor* g, ggml_tensor* state,
                                    float scale) {
    return build(ctx, GGML_OP_GATED_LINEAR_ATTN, {k, v, q, g, state},
                 tenon_gated_linear_attn_params{scale});
}

ggml_tensor* ggml_rwkv_wkv7(ggml_context* ctx, ggml_tensor* r, ggml_tensor* w, ggml_tensor* k,
                            ggml_tensor* v, ggml_tensor* a, ggml_tensor* b, ggml_tensor* state) {
    return build(ctx, GGML_OP_RWKV_WKV7, {r, w, k, v, a, b, state});
}

ggml_tensor* ggml_gated_delta_net(ggml_context* ctx, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v,
                                  ggml_tensor* g, ggml_tensor* beta, ggml_tensor* state,
                                  int64_t K) {
    const auto slots = state_slots(GGML_OP_GATED_DELTA_NET, K);
    if (!slots) {
        report(slots.error());
        return nullptr;
    }
    return build(ctx, GGML_OP_GATED_DELTA_NET, {q, k, v, g, beta, state},
                 tenon_gated_delta_net_params{*slots});
}

ggml_tensor* ggml_dsv4_hc_comb(ggml_context* ctx, ggml_tensor* mixes, ggml_tensor* scale,
                               ggml_tensor* base, float eps, int32_t n_iter) {
    return build(ctx, GGML_OP_DSV4_HC_COMB, {mixes, scale, base},
                 tenon_dsv4_hc_comb_params{eps, n_iter});
}

ggml_tensor* ggml_dsv4_hc_pre(ggml_context* ctx, ggml_tensor* x, ggml_tensor* weights) {
    return build(ctx, GGML_OP_DSV4_HC_PRE, {x, weights});
}

ggml_tensor* ggml_dsv4_hc_post(ggml_context* ctx, ggml_tensor* x, ggml_tensor* residual,
                               ggml_tensor* post, ggml_tensor* comb) {
    return build(ctx, GGML_OP_DSV4_HC_POST, {x, residual, post, comb});
}

}  // extern "C"
