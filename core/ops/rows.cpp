// GET_ROWS, GET_ROWS_BACK, SET_ROWS: rows chosen by index tensors; builders and rules.
#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {

// a: [n, rows, b1, b2], ids: [r, b1, b2] -> [n, r, b1, b2]
Result<NodeShape> get_rows_shape(const OpCall& call) {
    const ggml_tensor& a = *call.src[0];
    const ggml_tensor& ids = *call.src[1];
    const ggml_type type = a.type == GGML_TYPE_I32 ? GGML_TYPE_I32 : GGML_TYPE_F32;
    return Checks(call)
        .type(1, {GGML_TYPE_I32})
        .same_extent(1, 1, 0, 2)
        .same_extent(1, 2, 0, 3)
        .dims_at_most(1, 3)
        .result(type, {a.ne[0], ids.ne[0], ids.ne[1], ids.ne[2]});
}

// The shape asked for is that of GET_ROWS's source, a matrix.
Result<NodeShape> get_rows_back_shape(const OpCall& call) {
    const NodeShape& c = *call.asked;
    return Checks(call)
        .dims_at_most(0, 2)
        .dims_at_most(1, 1)
        .type(1, {GGML_TYPE_I32})
        .require(c.ne[2] == 1 && c.ne[3] == 1,
                 "the result has shape [%lld, %lld, %lld, %lld], "
                 "must be a matrix",
                 (long long)c.ne[0], (long long)c.ne[1], (long long)c.ne[2], (long long)c.ne[3])
        .extent(0, 0, c.ne[0])
        .require(call.src[1]->ne[0] <= call.src[0]->ne[1], "%lld ids for %lld rows of src0",
                 (long long)call.src[1]->ne[0], (long long)call.src[0]->ne[1])
        .result(GGML_TYPE_F32, {c.ne[0], c.ne[1]});
}

// Sources: rows, ids, destination. The result is a view of the destination.
Result<NodeShape> set_rows_shape(const OpCall& call) {
    return Checks(call)
        .type(0, {GGML_TYPE_F32, GGML_TYPE_F16})
        .type(1, {GGML_TYPE_I64, GGML_TYPE_I32})
        .same_extent(0, 0, 2, 0)
        .same_extent(0, 2, 2, 2)
        .same_extent(0, 3, 2, 3)
        .same_extent(1, 0, 0, 1)
        .multiple_of(0, 2, 1, 1)
        .multiple_of(0, 3, 1, 2)
        .dims_at_most(1, 3)
        .contiguous_rows(2)
        .contiguous_rows(0)
        .like(2);
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_get_rows(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_GET_ROWS, {a, b});
}

// c gives the shape and is no source.
ggml_tensor* ggml_get_rows_back(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, ggml_tensor* c) {
    if (c == nullptr) return nullptr;
    const NodeShape asked = shape_of(*c);
    return build(ctx, GGML_OP_GET_ROWS_BACK, {a, b}, BuildOptions{.asked = &asked});
}

ggml_tensor* ggml_set_rows(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, ggml_tensor* c) {
    return build(ctx, GGML_OP_SET_ROWS, {b, c, a}, BuildOptions{.view_of = 2});
}

}  // extern "C"
