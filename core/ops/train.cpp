// CROSS_ENTROPY_LOSS and optimiser steps: builders and rules.
#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {
namespace {

// Sources 1 … params-1 have the shape of src0, the last holds n_params numbers.
Result<NodeShape> opt_step_shape(const OpCall& call, int params, int64_t n_params) {
    Checks check(call);
    for (int i = 1; i < params; i++) check.same_shape(i, 0);
    return check.f32({params}).elements(params, n_params).like(0);
}

}  // namespace

Result<NodeShape> cross_entropy_loss_shape(const OpCall& call) {
    return Checks(call).same_shape(0, 1).result(call.src[0]->type, {1});
}

// Sources: the gradient of the loss, logits, labels.
Result<NodeShape> cross_entropy_loss_back_shape(const OpCall& call) {
    return Checks(call).dims_at_most(0, 0).same_shape(1, 2).like(1);
}

// params: alpha, beta1, beta2, eps, weight decay, 1/(1-beta1^t), 1/(1-beta2^t)
Result<NodeShape> opt_step_adamw_shape(const OpCall& call) { return opt_step_shape(call, 4, 7); }

// params: alpha, weight decay
Result<NodeShape> opt_step_sgd_shape(const OpCall& call) { return opt_step_shape(call, 2, 2); }

namespace {

// The first source is the parameter that is trained.
ggml_tensor* build_step(ggml_context* ctx, ggml_op op,
                        std::initializer_list<ggml_tensor*> sources) {
    const ggml_tensor* w = *sources.begin();
    if (w != nullptr && (w->flags & GGML_TENSOR_FLAG_PARAM) == 0) {
        report(fail(TENON_E_INVALID, "%s: src0 '%s' is no parameter (ggml_set_param)",
                    ggml_op_name(op), w->name));
        return nullptr;
    }
    return build(ctx, op, sources, kInPlace);
}

}  // namespace

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_cross_entropy_loss(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_CROSS_ENTROPY_LOSS, {a, b});
}

// a is the gradient of the loss, b the logits, c the labels.
ggml_tensor* ggml_cross_entropy_loss_back(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b,
                                          ggml_tensor* c) {
    return build(ctx, GGML_OP_CROSS_ENTROPY_LOSS_BACK, {a, b, c});
}

ggml_tensor* ggml_opt_step_adamw(ggml_context* ctx, ggml_tensor* a, ggml_tensor* grad,
                                 ggml_tensor* m, ggml_tensor* v, ggml_tensor* adamw_params) {
    return build_step(ctx, GGML_OP_OPT_STEP_ADAMW, {a, grad, m, v, adamw_params});
}

ggml_tensor* ggml_opt_step_sgd(ggml_context* ctx, ggml_tensor* a, ggml_tensor* grad,
                               ggml_tensor* sgd_params) {
    return build_step(ctx, GGML_OP_OPT_STEP_SGD, {a, grad, sgd_params});
}

}  // extern "C"
