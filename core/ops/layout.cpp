// DUP CPY CAST CONT, REPEAT and CONCAT: the same values somewhere else; builders and rules.
#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {

// Into src1, or (ggml_cast) into a new tensor of the type asked for.
Result<NodeShape> cpy_shape(const OpCall& call) {
    const ggml_tensor& x = *call.src[0];
    if (!call.has(1)) {
        NodeShape shape = shape_of(x);
        if (call.asked != nullptr) shape.type = call.asked->type;
        return shape;
    }
    return Checks(call).elements(1, ggml_nelements(&x)).like(1);
}

Result<NodeShape> cont_shape(const OpCall& call) {
    if (call.asked == nullptr) return shape_of(*call.src[0]);
    NodeShape shape = *call.asked;
    shape.type = call.src[0]->type;
    const auto& ne = shape.ne;
    return Checks(call).elements(0, times(times(ne[0], ne[1]), times(ne[2], ne[3]))).result(shape);
}

Result<NodeShape> repeat_shape(const OpCall& call) {
    NodeShape shape = *call.asked;
    shape.type = call.src[0]->type;
    return Checks(call).repeats_to(0, shape.ne).result(shape);
}

Result<NodeShape> repeat_back_shape(const OpCall& call) {
    NodeShape shape = *call.asked;
    shape.type = call.src[0]->type;
    return Checks(call).repeats_from(0, shape.ne).result(shape);
}

Result<NodeShape> concat_shape(const OpCall& call) {
    const int dim = call.params_as<tenon_concat_params>().dim;
    Checks check(call);
    check.between("dim", dim, 0, GGML_MAX_DIMS - 1).same_type(0, 1);
    for (int k = 0; k < GGML_MAX_DIMS; k++) {
        if (k != dim) check.same_extent(0, k, 1, k);
    }
    if (!check) return check.error();
    NodeShape shape = shape_of(*call.src[0]);
    shape.ne[dim] = plus(shape.ne[dim], call.src[1]->ne[dim]);
    return shape;
}

namespace {

ggml_tensor* build_cont(ggml_context* ctx, ggml_tensor* a, const NodeShape* asked) {
    ggml_tensor* node = build(ctx, GGML_OP_CONT, {a}, BuildOptions{.asked = asked});
    return named_after(node, a, " (cont)");
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_dup(ggml_context* ctx, ggml_tensor* a) { return build(ctx, GGML_OP_DUP, {a}); }
ggml_tensor* ggml_dup_inplace(ggml_context* ctx, ggml_tensor* a) {
    return build(ctx, GGML_OP_DUP, {a}, kInPlace);
}

ggml_tensor* ggml_cpy(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    if (a == nullptr || b == nullptr) return nullptr;
    ggml_tensor* node = build(ctx, GGML_OP_CPY, {a, b}, BuildOptions{.view_of = 1});
    if (node == nullptr) return nullptr;
    if (b->name[0] == '\0') return named_after(node, a, " (copy)");
    return ggml_format_name(node, "%s (copy of %s)", b->name, a->name);
}

// The node is its own src[1], as if copied into itself.
ggml_tensor* ggml_cast(ggml_context* ctx, ggml_tensor* a, ggml_type type) {
    const NodeShape asked{.type = type};
    ggml_tensor* node = build(ctx, GGML_OP_CPY, {a}, BuildOptions{.asked = &asked});
    if (node == nullptr) return nullptr;
    node->src[1] = node;
    return named_after(node, a, " (copy)");
}

ggml_tensor* ggml_cont(ggml_context* ctx, ggml_tensor* a) { return build_cont(ctx, a, nullptr); }
ggml_tensor* ggml_cont_1d(ggml_context* ctx, ggml_tensor* a, int64_t ne0) {
    return ggml_cont_4d(ctx, a, ne0, 1, 1, 1);
}
ggml_tensor* ggml_cont_2d(ggml_context* ctx, ggml_tensor* a, int64_t ne0, int64_t ne1) {
    return ggml_cont_4d(ctx, a, ne0, ne1, 1, 1);
}
ggml_tensor* ggml_cont_3d(ggml_context* ctx, ggml_tensor* a, int64_t ne0, int64_t ne1,
                          int64_t ne2) {
    return ggml_cont_4d(ctx, a, ne0, ne1, ne2, 1);
}
ggml_tensor* ggml_cont_4d(ggml_context* ctx, ggml_tensor* a, int64_t ne0, int64_t ne1, int64_t ne2,
                          int64_t ne3) {
    const NodeShape asked = shape_4d(GGML_TYPE_F32, ne0, ne1, ne2, ne3);
    return build_cont(ctx, a, &asked);
}

// b gives the shape and is no source.
ggml_tensor* ggml_repeat(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    if (b == nullptr) return nullptr;
    const NodeShape asked = shape_of(*b);
    return build(ctx, GGML_OP_REPEAT, {a}, BuildOptions{.asked = &asked});
}
ggml_tensor* ggml_repeat_4d(ggml_context* ctx, ggml_tensor* a, int64_t ne0, int64_t ne1,
                            int64_t ne2, int64_t ne3) {
    const NodeShape asked = shape_4d(GGML_TYPE_F32, ne0, ne1, ne2, ne3);
    return build(ctx, GGML_OP_REPEAT, {a}, BuildOptions{.asked = &asked});
}
ggml_tensor* ggml_repeat_back(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    if (b == nullptr) return nullptr;
    const NodeShape asked = shape_of(*b);
    return build(ctx, GGML_OP_REPEAT_BACK, {a}, BuildOptions{.asked = &asked});
}

ggml_tensor* ggml_concat(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int dim) {
    return build(ctx, GGML_OP_CONCAT, {a, b}, tenon_concat_params{dim});
}

}  // extern "C"
