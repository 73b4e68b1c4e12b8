// FILL ARANGE TIMESTEP_EMBEDDING DIAG DIAG_MASK_INF DIAG_MASK_ZERO TRI: builders and rules.
#include <cmath>

#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {

Result<NodeShape> fill_shape(const OpCall& call) {
    return Checks(call).type(0, {GGML_TYPE_F32, GGML_TYPE_F16}).contiguous({0}).like(0);
}

Result<NodeShape> arange_shape(const OpCall& call) {
    constexpr float kMost = 4.0e18f;  // below the largest int64
    const auto p = call.params_as<tenon_arange_params>();
    const float n = std::ceil((p.stop - p.start) / p.step);
    Checks check(call);
    check.require(p.stop > p.start, "stop is %g, must be above start, %g", p.stop, p.start)
        .require(p.step > 0.0f, "step is %g, must be above 0", p.step)
        .require(n <= kMost, "%g to %g in steps of %g has too many elements", p.start, p.stop,
                 p.step);
    if (!check) return check.error();
    return check.result(GGML_TYPE_F32, {static_cast<int64_t>(n)});
}

// [n] -> [dim, n]
Result<NodeShape> timestep_embedding_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_timestep_embedding_params>();
    return Checks(call)
        .at_least("dim", p.dim, 0)
        .result(GGML_TYPE_F32, {p.dim, call.src[0]->ne[0]});
}

// [n, 1, …] -> [n, n, …]
Result<NodeShape> diag_shape(const OpCall& call) {
    const ggml_tensor& x = *call.src[0];
    return Checks(call).extent(0, 1, 1).result(x.type, {x.ne[0], x.ne[0], x.ne[2], x.ne[3]});
}

Result<NodeShape> diag_mask_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_diag_mask_inf_params>();
    return Checks(call).at_least("n_past", p.n_past, 0).like(0);
}

Result<NodeShape> tri_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_tri_params>();
    return Checks(call)
        .f32({0})
        .contiguous({0})
        .same_extent(0, 0, 0, 1)
        .between("type", p.type, GGML_TRI_TYPE_UPPER_DIAG, GGML_TRI_TYPE_LOWER)
        .like(0);
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_fill(ggml_context* ctx, ggml_tensor* a, float c) {
    return build(ctx, GGML_OP_FILL, {a}, tenon_fill_params{c});
}
ggml_tensor* ggml_fill_inplace(ggml_context* ctx, ggml_tensor* a, float c) {
    return build(ctx, GGML_OP_FILL, {a}, tenon_fill_params{c}, kInPlace);
}

ggml_tensor* ggml_arange(ggml_context* ctx, float start, float stop, float step) {
    return build(ctx, GGML_OP_ARANGE, {}, tenon_arange_params{start, stop, step});
}

ggml_tensor* ggml_timestep_embedding(ggml_context* ctx, ggml_tensor* timesteps, int dim,
                                     int max_period) {
    return build(ctx, GGML_OP_TIMESTEP_EMBEDDING, {timesteps},
                 tenon_timestep_embedding_params{dim, max_period});
}

ggml_tensor* ggml_diag(ggml_context* ctx, ggml_tensor* a) { return build(ctx, GGML_OP_DIAG, {a}); }

ggml_tensor* ggml_diag_mask_inf(ggml_context* ctx, ggml_tensor* a, int n_past) {
    return build(ctx, GGML_OP_DIAG_MASK_INF, {a}, tenon_diag_mask_inf_params{n_past});
}
ggml_tensor* ggml_diag_mask_inf_inplace(ggml_context* ctx, ggml_tensor* a, int n_past) {
    return build(ctx, GGML_OP_DIAG_MASK_INF, {a}, tenon_diag_mask_inf_params{n_past}, kInPlace);
}
ggml_tensor* ggml_diag_mask_zero(ggml_context* ctx, ggml_tensor* a, int n_past) {
    return build(ctx, GGML_OP_DIAG_MASK_ZERO, {a}, tenon_diag_mask_zero_params{n_past});
}
ggml_tensor* ggml_diag_mask_zero_inplace(ggml_context* ctx, ggml_tensor* a, int n_past) {
    return build(ctx, GGML_OP_DIAG_MASK_ZERO, {a}, tenon_diag_mask_zero_params{n_past}, kInPlace);
}

ggml_tensor* ggml_tri(ggml_context* ctx, ggml_tensor* a, ggml_tri_type type) {
    return build(ctx, GGML_OP_TRI, {a}, tenon_tri_params{type});
}

}  // extern "C"
