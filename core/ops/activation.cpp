// UNARY, GLU, LEAKY_RELU and SILU_BACK: builders and rules.
#include <cmath>

#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {

Result<NodeShape> unary_shape(const OpCall& call) {
    const int32_t op = call.params_as<tenon_unary_params>().op;
    Checks check(call);
    check.between("unary op", op, 0, GGML_UNARY_OP_COUNT - 1);
    if (op != GGML_UNARY_OP_XIELU) check.contiguous_rows(0);
    return check.like(0);
}

// One source: [2n, …] -> [n, …], an odd last element is left over. Two: both of one shape.
Result<NodeShape> glu_shape(const OpCall& call) {
    Checks check(call);
    check.between("glu op", call.params_as<tenon_glu_params>().op, 0, GGML_GLU_OP_COUNT - 1)
        .contiguous_1(0);
    if (call.has(1)) return check.contiguous_1(1).same_shape(0, 1).same_type(0, 1).like(0);
    NodeShape shape = shape_of(*call.src[0]);
    shape.ne[0] /= 2;
    return check.result(shape);
}

namespace {

tenon_unary_params unary_params(ggml_unary_op op) { return {op, 0.0f, 0.0f, 0.0f, 0.0f}; }

ggml_tensor* build_unary(ggml_context* ctx, ggml_tensor* a, ggml_unary_op op, bool inplace) {
    return build(ctx, GGML_OP_UNARY, {a}, unary_params(op), in_place_if(inplace));
}

ggml_tensor* build_glu(ggml_context* ctx, ggml_tensor* a, ggml_glu_op op, bool swapped) {
    return build(ctx, GGML_OP_GLU, {a, nullptr}, tenon_glu_params{op, swapped, 0.0f, 0.0f});
}

ggml_tensor* build_glu_split(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, ggml_glu_op op,
                             float alpha = 0.0f, float limit = 0.0f) {
    if (b == nullptr) return nullptr;
    return build(ctx, GGML_OP_GLU, {a, b}, tenon_glu_params{op, 0, alpha, limit});
}

float softplus(float x) { return x > 20.0f ? x : std::log(1.0f + std::exp(x)); }

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_unary(ggml_context* ctx, ggml_tensor* a, ggml_unary_op op) {
    return build_unary(ctx, a, op, /*inplace=*/false);
}
ggml_tensor* ggml_unary_inplace(ggml_context* ctx, ggml_tensor* a, ggml_unary_op op) {
    return build_unary(ctx, a, op, /*inplace=*/true);
}

ggml_tensor* ggml_abs(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_ABS);
}
ggml_tensor* ggml_abs_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_ABS);
}
ggml_tensor* ggml_sgn(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_SGN);
}
ggml_tensor* ggml_sgn_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_SGN);
}
ggml_tensor* ggml_neg(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_NEG);
}
ggml_tensor* ggml_neg_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_NEG);
}
ggml_tensor* ggml_step(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_STEP);
}
ggml_tensor* ggml_step_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_STEP);
}
ggml_tensor* ggml_tanh(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_TANH);
}
ggml_tensor* ggml_tanh_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_TANH);
}
ggml_tensor* ggml_elu(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_ELU);
}
ggml_tensor* ggml_elu_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_ELU);
}
ggml_tensor* ggml_relu(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_RELU);
}
ggml_tensor* ggml_relu_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_RELU);
}
ggml_tensor* ggml_sigmoid(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_SIGMOID);
}
ggml_tensor* ggml_sigmoid_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_SIGMOID);
}
ggml_tensor* ggml_gelu(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_GELU);
}
ggml_tensor* ggml_gelu_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_GELU);
}
ggml_tensor* ggml_gelu_erf(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_GELU_ERF);
}
ggml_tensor* ggml_gelu_erf_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_GELU_ERF);
}
ggml_tensor* ggml_gelu_quick(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_GELU_QUICK);
}
ggml_tensor* ggml_gelu_quick_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_GELU_QUICK);
}
ggml_tensor* ggml_silu(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_SILU);
}
ggml_tensor* ggml_silu_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_SILU);
}
ggml_tensor* ggml_exp(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_EXP);
}
ggml_tensor* ggml_exp_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_EXP);
}
ggml_tensor* ggml_expm1(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_EXPM1);
}
ggml_tensor* ggml_expm1_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_EXPM1);
}
ggml_tensor* ggml_softplus(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_SOFTPLUS);
}
ggml_tensor* ggml_softplus_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_SOFTPLUS);
}
ggml_tensor* ggml_floor(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_FLOOR);
}
ggml_tensor* ggml_floor_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_FLOOR);
}
ggml_tensor* ggml_ceil(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_CEIL);
}
ggml_tensor* ggml_ceil_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_CEIL);
}
ggml_tensor* ggml_round(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_ROUND);
}
ggml_tensor* ggml_round_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_ROUND);
}
ggml_tensor* ggml_trunc(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_TRUNC);
}
ggml_tensor* ggml_trunc_inplace(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary_inplace(ctx, a, GGML_UNARY_OP_TRUNC);
}
ggml_tensor* ggml_hardswish(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_HARDSWISH);
}
ggml_tensor* ggml_hardsigmoid(ggml_context* ctx, ggml_tensor* a) {
    return ggml_unary(ctx, a, GGML_UNARY_OP_HARDSIGMOID);
}

ggml_tensor* ggml_xielu(ggml_context* ctx, ggml_tensor* a, float alpha_n, float alpha_p, float beta,
                        float eps) {
    const tenon_unary_params params{.op = GGML_UNARY_OP_XIELU,
                                    .xielu_n = beta + softplus(alpha_n),
                                    .xielu_p = softplus(alpha_p),
                                    .xielu_beta = beta,
                                    .xielu_eps = eps};
    return build(ctx, GGML_OP_UNARY, {a}, params);
}

ggml_tensor* ggml_leaky_relu(ggml_context* ctx, ggml_tensor* a, float negative_slope,
                             bool inplace) {
    return build(ctx, GGML_OP_LEAKY_RELU, {a}, tenon_leaky_relu_params{negative_slope},
                 in_place_if(inplace));
}

// a is the gradient of the result, b what SILU read.
ggml_tensor* ggml_silu_back(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_SILU_BACK, {a, b});
}

ggml_tensor* ggml_glu(ggml_context* ctx, ggml_tensor* a, ggml_glu_op op, bool swapped) {
    return build_glu(ctx, a, op, swapped);
}
ggml_tensor* ggml_glu_split(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, ggml_glu_op op) {
    return build_glu_split(ctx, a, b, op);
}

ggml_tensor* ggml_reglu(ggml_context* ctx, ggml_tensor* a) {
    return build_glu(ctx, a, GGML_GLU_OP_REGLU, /*swapped=*/false);
}
ggml_tensor* ggml_reglu_swapped(ggml_context* ctx, ggml_tensor* a) {
    return build_glu(ctx, a, GGML_GLU_OP_REGLU, /*swapped=*/true);
}
ggml_tensor* ggml_reglu_split(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build_glu_split(ctx, a, b, GGML_GLU_OP_REGLU);
}
ggml_tensor* ggml_geglu(ggml_context* ctx, ggml_tensor* a) {
    return build_glu(ctx, a, GGML_GLU_OP_GEGLU, /*swapped=*/false);
}
ggml_tensor* ggml_geglu_swapped(ggml_context* ctx, ggml_tensor* a) {
    return build_glu(ctx, a, GGML_GLU_OP_GEGLU, /*swapped=*/true);
}
ggml_tensor* ggml_geglu_split(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build_glu_split(ctx, a, b, GGML_GLU_OP_GEGLU);
}
ggml_tensor* ggml_swiglu(ggml_context* ctx, ggml_tensor* a) {
    return build_glu(ctx, a, GGML_GLU_OP_SWIGLU, /*swapped=*/false);
}
ggml_tensor* ggml_swiglu_swapped(ggml_context* ctx, ggml_tensor* a) {
    return build_glu(ctx, a, GGML_GLU_OP_SWIGLU, /*swapped=*/true);
}
ggml_tensor* ggml_swiglu_split(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build_glu_split(ctx, a, b, GGML_GLU_OP_SWIGLU);
}
ggml_tensor* ggml_geglu_erf(ggml_context* ctx, ggml_tensor* a) {
    return build_glu(ctx, a, GGML_GLU_OP_GEGLU_ERF, /*swapped=*/false);
}
ggml_tensor* ggml_geglu_erf_swapped(ggml_context* ctx, ggml_tensor* a) {
    return build_glu(ctx, a, GGML_GLU_OP_GEGLU_ERF, /*swapped=*/true);
}
ggml_tensor* ggml_geglu_erf_split(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build_glu_split(ctx, a, b, GGML_GLU_OP_GEGLU_ERF);
}
ggml_tensor* ggml_geglu_quick(ggml_context* ctx, ggml_tensor* a) {
    return build_glu(ctx, a, GGML_GLU_OP_GEGLU_QUICK, /*swapped=*/false);
}
ggml_tensor* ggml_geglu_quick_swapped(ggml_context* ctx, ggml_tensor* a) {
    return build_glu(ctx, a, GGML_GLU_OP_GEGLU_QUICK, /*swapped=*/true);
}
ggml_tensor* ggml_geglu_quick_split(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build_glu_split(ctx, a, b, GGML_GLU_OP_GEGLU_QUICK);
}
ggml_tensor* ggml_swiglu_oai(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, float alpha,
                             float limit) {
    return build_glu_split(ctx, a, b, GGML_GLU_OP_SWIGLU_OAI, alpha, limit);
}
ggml_tensor* ggml_swiglu_clamp(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, float limit) {
    return build_glu_split(ctx, a, b, GGML_GLU_OP_SWIGLU_CLAMP, 0.0f, limit);
}

}  // extern "C"
