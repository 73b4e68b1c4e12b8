// RESHAPE, VIEW, PERMUTE, TRANSPOSE: other ways to look at a tensor's memory; nothing is computed.
#include <algorithm>

#include "core/base/bits.h"
#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {

Result<NodeShape> reshape_shape(const OpCall& call) {
    NodeShape shape = *call.asked;
    shape.type = call.src[0]->type;
    const auto& ne = shape.ne;
    return Checks(call)
        .contiguous({0})
        .elements(0, times(times(ne[0], ne[1]), times(ne[2], ne[3])))
        .result(shape);
}

Result<NodeShape> view_shape(const OpCall& call) {
    NodeShape shape = *call.asked;
    shape.type = call.src[0]->type;
    return shape;
}

// Dimension k of src0 becomes dimension axis[k].
Result<NodeShape> permute_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_permute_params>();
    Checks check(call);
    NodeShape shape = shape_of(*call.src[0]);
    for (int k = 0; k < GGML_MAX_DIMS; k++) {
        check.between("axis", p.axis[k], 0, GGML_MAX_DIMS - 1);
        for (int j = 0; j < k; j++) {
            check.require(p.axis[j] != p.axis[k], "axes %d and %d are both %d", j, k, p.axis[k]);
        }
        if (check.ok()) shape.ne[p.axis[k]] = call.src[0]->ne[k];
    }
    return check.result(shape);
}

Result<NodeShape> transpose_shape(const OpCall& call) {
    NodeShape shape = shape_of(*call.src[0]);
    std::swap(shape.ne[0], shape.ne[1]);
    return shape;
}

namespace {

ggml_tensor* build_reshape(ggml_context* ctx, ggml_tensor* a, const NodeShape& asked) {
    ggml_tensor* node = build(ctx, GGML_OP_RESHAPE, {a},
                              BuildOptions{.view_of = 0, .new_layout = true, .asked = &asked});
    return named_after(node, a, " (reshaped)");
}

// A view with default strides; callers that know better set nb[1] to nb[3].
ggml_tensor* build_view(ggml_context* ctx, ggml_tensor* a, const NodeShape& asked, size_t offset) {
    const BuildOptions options{
        .view_of = 0, .new_layout = true, .view_offset = offset, .asked = &asked};
    ggml_tensor* node = build(ctx, GGML_OP_VIEW, {a}, tenon_view_params{offset}, options);
    return named_after(node, a, " (view)");
}

// The distance from one matrix to the next, or to the one after the last: `count` times `stride`.
// Wraps like the strides themselves, which describe an extent that is checked when it is used.
size_t after(size_t stride, int64_t count) { return stride * static_cast<size_t>(count); }

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_reshape(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    if (b == nullptr) return nullptr;
    return build_reshape(ctx, a, shape_of(*b));
}
ggml_tensor* ggml_reshape_1d(ggml_context* ctx, ggml_tensor* a, int64_t ne0) {
    return build_reshape(ctx, a, shape_4d(GGML_TYPE_F32, ne0, 1, 1, 1));
}
ggml_tensor* ggml_reshape_2d(ggml_context* ctx, ggml_tensor* a, int64_t ne0, int64_t ne1) {
    return build_reshape(ctx, a, shape_4d(GGML_TYPE_F32, ne0, ne1, 1, 1));
}
ggml_tensor* ggml_reshape_3d(ggml_context* ctx, ggml_tensor* a, int64_t ne0, int64_t ne1,
                             int64_t ne2) {
    return build_reshape(ctx, a, shape_4d(GGML_TYPE_F32, ne0, ne1, ne2, 1));
}
ggml_tensor* ggml_reshape_4d(ggml_context* ctx, ggml_tensor* a, int64_t ne0, int64_t ne1,
                             int64_t ne2, int64_t ne3) {
    return build_reshape(ctx, a, shape_4d(GGML_TYPE_F32, ne0, ne1, ne2, ne3));
}

ggml_tensor* ggml_view_1d(ggml_context* ctx, ggml_tensor* a, int64_t ne0, size_t offset) {
    return build_view(ctx, a, shape_4d(GGML_TYPE_F32, ne0, 1, 1, 1), offset);
}
ggml_tensor* ggml_view_2d(ggml_context* ctx, ggml_tensor* a, int64_t ne0, int64_t ne1, size_t nb1,
                          size_t offset) {
    ggml_tensor* view = build_view(ctx, a, shape_4d(GGML_TYPE_F32, ne0, ne1, 1, 1), offset);
    if (view == nullptr) return nullptr;
    view->nb[1] = nb1;
    view->nb[2] = after(nb1, ne1);
    view->nb[3] = view->nb[2];
    return view;
}
ggml_tensor* ggml_view_3d(ggml_context* ctx, ggml_tensor* a, int64_t ne0, int64_t ne1, int64_t ne2,
                          size_t nb1, size_t nb2, size_t offset) {
    ggml_tensor* view = build_view(ctx, a, shape_4d(GGML_TYPE_F32, ne0, ne1, ne2, 1), offset);
    if (view == nullptr) return nullptr;
    view->nb[1] = nb1;
    view->nb[2] = nb2;
    view->nb[3] = after(nb2, ne2);
    return view;
}
ggml_tensor* ggml_view_4d(ggml_context* ctx, ggml_tensor* a, int64_t ne0, int64_t ne1, int64_t ne2,
                          int64_t ne3, size_t nb1, size_t nb2, size_t nb3, size_t offset) {
    ggml_tensor* view = build_view(ctx, a, shape_4d(GGML_TYPE_F32, ne0, ne1, ne2, ne3), offset);
    if (view == nullptr) return nullptr;
    view->nb[1] = nb1;
    view->nb[2] = nb2;
    view->nb[3] = nb3;
    return view;
}

ggml_tensor* ggml_permute(ggml_context* ctx, ggml_tensor* a, int axis0, int axis1, int axis2,
                          int axis3) {
    const tenon_permute_params params{{axis0, axis1, axis2, axis3}};
    ggml_tensor* node = build(ctx, GGML_OP_PERMUTE, {a}, params, kInPlace);
    if (node == nullptr) return nullptr;
    for (int k = 0; k < GGML_MAX_DIMS; k++) {
        node->ne[params.axis[k]] = a->ne[k];
        node->nb[params.axis[k]] = a->nb[k];
    }
    return named_after(node, a, " (permuted)");
}

ggml_tensor* ggml_transpose(ggml_context* ctx, ggml_tensor* a) {
    ggml_tensor* node = build(ctx, GGML_OP_TRANSPOSE, {a}, kInPlace);
    if (node == nullptr) return nullptr;
    std::swap(node->ne[0], node->ne[1]);
    std::swap(node->nb[0], node->nb[1]);
    return named_after(node, a, " (transposed)");
}

}  // extern "C"
