// NORM RMS_NORM L2_NORM GROUP_NORM and RMS_NORM_BACK: builders and rules.
#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {
namespace {

Checks& eps_not_negative(Checks& check, float eps) {
    return check.require(eps >= 0.0f, "eps is %g, must be at least 0", eps);
}

ggml_tensor* build_norm(ggml_context* ctx, ggml_op op, ggml_tensor* a, float eps, bool inplace) {
    return build(ctx, op, {a}, tenon_norm_params{eps}, in_place_if(inplace));
}

ggml_tensor* build_group_norm(ggml_context* ctx, ggml_tensor* a, int n_groups, float eps,
                              bool inplace) {
    return build(ctx, GGML_OP_GROUP_NORM, {a}, tenon_group_norm_params{n_groups, eps},
                 in_place_if(inplace));
}

}  // namespace

Result<NodeShape> norm_shape(const OpCall& call) {
    Checks check(call);
    return eps_not_negative(check, call.params_as<tenon_norm_params>().eps).like(0);
}

Result<NodeShape> rms_norm_back_shape(const OpCall& call) {
    Checks check(call);
    check.same_shape(0, 1);
    return eps_not_negative(check, call.params_as<tenon_rms_norm_back_params>().eps).like(0);
}

Result<NodeShape> group_norm_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_group_norm_params>();
    Checks check(call);
    check.at_least("n_groups", p.n_groups, 1);
    return eps_not_negative(check, p.eps).like(0);
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_norm(ggml_context* ctx, ggml_tensor* a, float eps) {
    return build_norm(ctx, GGML_OP_NORM, a, eps, /*inplace=*/false);
}
ggml_tensor* ggml_norm_inplace(ggml_context* ctx, ggml_tensor* a, float eps) {
    return build_norm(ctx, GGML_OP_NORM, a, eps, /*inplace=*/true);
}
ggml_tensor* ggml_rms_norm(ggml_context* ctx, ggml_tensor* a, float eps) {
    return build_norm(ctx, GGML_OP_RMS_NORM, a, eps, /*inplace=*/false);
}
ggml_tensor* ggml_rms_norm_inplace(ggml_context* ctx, ggml_tensor* a, float eps) {
    return build_norm(ctx, GGML_OP_RMS_NORM, a, eps, /*inplace=*/true);
}
ggml_tensor* ggml_l2_norm(ggml_context* ctx, ggml_tensor* a, float eps) {
    return build_norm(ctx, GGML_OP_L2_NORM, a, eps, /*inplace=*/false);
}
ggml_tensor* ggml_l2_norm_inplace(ggml_context* ctx, ggml_tensor* a, float eps) {
    return build_norm(ctx, GGML_OP_L2_NORM, a, eps, /*inplace=*/true);
}

ggml_tensor* ggml_group_norm(ggml_context* ctx, ggml_tensor* a, int n_groups, float eps) {
    return build_group_norm(ctx, a, n_groups, eps, /*inplace=*/false);
}
ggml_tensor* ggml_group_norm_inplace(ggml_context* ctx, ggml_tensor* a, int n_groups, float eps) {
    return build_group_norm(ctx, a, n_groups, eps, /*inplace=*/true);
}

// a is the gradient of the result, b what RMS_NORM read.
ggml_tensor* ggml_rms_norm_back(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, float eps) {
    return build(ctx, GGML_OP_RMS_NORM_BACK, {a, b}, tenon_rms_norm_back_params{eps});
}

}  // extern "C"
