// PAD PAD_REFLECT_1D ROLL: builders and rules.
#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {

// Negative amounts cut off; what remains may be empty but not negative.
Result<NodeShape> pad_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_pad_params>();
    const int32_t around[GGML_MAX_DIMS][2] = {
        {p.left0, p.right0}, {p.left1, p.right1}, {p.left2, p.right2}, {p.left3, p.right3}};
    Checks check(call);
    NodeShape shape = shape_of(*call.src[0]);
    for (int k = 0; k < GGML_MAX_DIMS; k++) {
        const auto [left, right] = around[k];
        shape.ne[k] = plus(plus(shape.ne[k], left), right);
        check.require(shape.ne[k] >= 0, "dimension %d of %lld elements cannot be padded by %d, %d",
                      k, (long long)call.src[0]->ne[k], left, right);
    }
    const auto& ne = shape.ne;
    const bool is_empty = ne[0] == 0 || ne[1] == 0 || ne[2] == 0 || ne[3] == 0;
    return check
        .require(p.circular == 0 || is_empty || !ggml_is_empty(call.src[0]),
                 "src0 is empty: there is nothing to go around")
        .result(shape);
}

Result<NodeShape> pad_reflect_1d_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_pad_reflect_1d_params>();
    const int64_t n = call.src[0]->ne[0];
    Checks check(call);
    check.between("left padding", p.left, 0, n - 1)
        .between("right padding", p.right, 0, n - 1)
        .contiguous({0})
        .f32({0});
    NodeShape shape = shape_of(*call.src[0]);
    shape.ne[0] = plus(n, int64_t{p.left} + p.right);
    return check.result(shape);
}

Result<NodeShape> roll_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_roll_params>();
    Checks check(call);
    check.dense_elements(0);
    for (int k = 0; k < GGML_MAX_DIMS; k++) {
        const int64_t n = call.src[0]->ne[k];
        const int64_t shift = p.shift[k];
        check.require(shift < n && -shift < n, "shift%d is %lld, must be less than %lld either way",
                      k, (long long)shift, (long long)n);
    }
    return check.like(0);
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_pad(ggml_context* ctx, ggml_tensor* a, int p0, int p1, int p2, int p3) {
    return ggml_pad_ext(ctx, a, 0, p0, 0, p1, 0, p2, 0, p3);
}
ggml_tensor* ggml_pad_circular(ggml_context* ctx, ggml_tensor* a, int p0, int p1, int p2, int p3) {
    return ggml_pad_ext_circular(ctx, a, 0, p0, 0, p1, 0, p2, 0, p3);
}
ggml_tensor* ggml_pad_ext(ggml_context* ctx, ggml_tensor* a, int lp0, int rp0, int lp1, int rp1,
                          int lp2, int rp2, int lp3, int rp3) {
    const tenon_pad_params params{lp0, rp0, lp1, rp1, lp2, rp2, lp3, rp3, 0};
    return build(ctx, GGML_OP_PAD, {a}, params);
}
ggml_tensor* ggml_pad_ext_circular(ggml_context* ctx, ggml_tensor* a, int lp0, int rp0, int lp1,
                                   int rp1, int lp2, int rp2, int lp3, int rp3) {
    const tenon_pad_params params{lp0, rp0, lp1, rp1, lp2, rp2, lp3, rp3, 1};
    return build(ctx, GGML_OP_PAD, {a}, params);
}

ggml_tensor* ggml_pad_reflect_1d(ggml_context* ctx, ggml_tensor* a, int p0, int p1) {
    return build(ctx, GGML_OP_PAD_REFLECT_1D, {a}, tenon_pad_reflect_1d_params{p0, p1});
}

ggml_tensor* ggml_roll(ggml_context* ctx, ggml_tensor* a, int shift0, int shift1, int shift2,
                       int shift3) {
    return build(ctx, GGML_OP_ROLL, {a}, tenon_roll_params{{shift0, shift1, shift2, shift3}});
}

}  // extern "C"
