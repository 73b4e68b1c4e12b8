// SUM SUM_ROWS CUMSUM MEAN ARGMAX COUNT_EQUAL: builders and rules.
#include <limits>

#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {

Result<NodeShape> sum_shape(const OpCall& call) { return shape_4d(call.src[0]->type, 1, 1, 1, 1); }

Result<NodeShape> sum_rows_shape(const OpCall& call) {
    NodeShape shape = shape_of(*call.src[0]);
    shape.ne[0] = 1;
    return shape;
}

Result<NodeShape> argmax_shape(const OpCall& call) {
    const ggml_tensor& x = *call.src[0];
    return Checks(call)
        .dims_at_most(0, 2)
        .between("row length", x.ne[0], 0, std::numeric_limits<int32_t>::max())
        .result(GGML_TYPE_I32, {x.ne[1]});
}

Result<NodeShape> count_equal_shape(const OpCall& call) {
    return Checks(call).same_shape(0, 1).result(GGML_TYPE_I64, {1});
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_sum(ggml_context* ctx, ggml_tensor* a) { return build(ctx, GGML_OP_SUM, {a}); }
ggml_tensor* ggml_sum_rows(ggml_context* ctx, ggml_tensor* a) {
    return build(ctx, GGML_OP_SUM_ROWS, {a});
}
ggml_tensor* ggml_cumsum(ggml_context* ctx, ggml_tensor* a) {
    return build(ctx, GGML_OP_CUMSUM, {a});
}
ggml_tensor* ggml_mean(ggml_context* ctx, ggml_tensor* a) { return build(ctx, GGML_OP_MEAN, {a}); }
ggml_tensor* ggml_argmax(ggml_context* ctx, ggml_tensor* a) {
    return build(ctx, GGML_OP_ARGMAX, {a});
}
ggml_tensor* ggml_count_equal(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_COUNT_EQUAL, {a, b});
}

}  // extern "C"
