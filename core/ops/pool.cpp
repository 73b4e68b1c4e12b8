// POOL_1D POOL_2D POOL_2D_BACK UPSCALE: builders and rules.
#include <cmath>

#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {
namespace {

constexpr float kMostPadding = 1 << 30;

// The whole part of a padding, as it is stored; `pooled` has the same limit.
int32_t whole(float padding) {
    return std::fabs(padding) <= kMostPadding ? static_cast<int32_t>(padding) : 0;
}

// Windows along an axis; 0 when there is none. Single precision, since paddings may be fractional
// and the size is what the API's formula gives.
int64_t pooled(int64_t n, int kernel, int stride, float padding) {
    constexpr float kMost = 4.0e18f;
    if (!(std::fabs(padding) <= kMostPadding) || stride < 1) return 0;
    const float size = (static_cast<float>(n) + 2.0f * padding - static_cast<float>(kernel)) /
                           static_cast<float>(stride) +
                       1.0f;
    return size >= 1.0f && size < kMost ? static_cast<int64_t>(size) : 0;
}

Checks& axis(Checks& check, const char* kernel, int k, const char* stride, int s, int64_t n_out) {
    return check.at_least(kernel, k, 1)
        .at_least(stride, s, 1)
        .require(n_out > 0, "%s %d and %s %d leave no window", kernel, k, stride, s);
}

// Whether n_out windows are what some padding gives whose whole part is `padding`: the fraction is
// not stored.
Checks& pooled_extent(Checks& check, int dim, int64_t n_out, int64_t n, int kernel, int stride,
                      int padding) {
    const auto p = static_cast<float>(padding);
    const int64_t least = pooled(n, kernel, stride, padding > 0 ? p : p - 1.0f);
    const int64_t most = pooled(n, kernel, stride, padding < 0 ? p : p + 1.0f);
    return check.require(n_out >= least && n_out <= most,
                         "%lld windows in dimension %d, a padding of %d gives %lld to %lld",
                         (long long)n_out, dim, padding, (long long)least, (long long)most);
}

Checks& pool_op(Checks& check, int op) {
    return check.between("pool op", op, 0, GGML_OP_POOL_COUNT - 1);
}

Checks& windows_2d(Checks& check, const tenon_pool_2d_params& p) {
    return pool_op(check, p.op)
        .at_least("k0", p.k0, 1)
        .at_least("k1", p.k1, 1)
        .at_least("s0", p.s0, 1)
        .at_least("s1", p.s1, 1);
}

}  // namespace

Result<NodeShape> pool_1d_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_pool_1d_params>();
    const ggml_tensor& x = *call.src[0];
    const int64_t n = pooled(x.ne[0], p.k0, p.s0, static_cast<float>(p.p0));
    Checks check(call);
    axis(pool_op(check, p.op), "k0", p.k0, "s0", p.s0, n);
    return check.result(GGML_TYPE_F32, {n, x.ne[1], x.ne[2], x.ne[3]});
}

// The plane's size is asked for: it depends on the paddings' fractions, which are not stored.
Result<NodeShape> pool_2d_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_pool_2d_params>();
    const ggml_tensor& x = *call.src[0];
    const int64_t* n = call.asked->ne;
    Checks check(call);
    windows_2d(check, p);
    axis(check, "k0", p.k0, "s0", p.s0, n[0]);
    axis(check, "k1", p.k1, "s1", p.s1, n[1]);
    pooled_extent(check, 0, n[0], x.ne[0], p.k0, p.s0, p.p0);
    pooled_extent(check, 1, n[1], x.ne[1], p.k1, p.s1, p.p1);
    return check.result(GGML_TYPE_F32, {n[0], n[1], x.ne[2], x.ne[3]});
}

// dy: [ow, oh, c, n], x: [w, h, c, n] -> f32 like x. ow and oh are what POOL_2D makes of x, handed
// over as the shape asked for.
Result<NodeShape> pool_2d_back_shape(const OpCall& call) {
    NodeShape shape = shape_of(*call.src[1]);
    shape.type = GGML_TYPE_F32;
    const auto p = call.params_as<tenon_pool_2d_back_params>();
    Checks check(call);
    windows_2d(check, p)
        .extents(0, {call.asked->ne[0], call.asked->ne[1]})
        .same_extent(0, 2, 1, 2)
        .same_extent(0, 3, 1, 3);
    pooled_extent(check, 0, call.asked->ne[0], shape.ne[0], p.k0, p.s0, p.p0);
    pooled_extent(check, 1, call.asked->ne[1], shape.ne[1], p.k1, p.s1, p.p1);
    return check.result(shape);
}

Result<NodeShape> upscale_shape(const OpCall& call) {
    const uint32_t mode = static_cast<uint32_t>(call.params_as<tenon_upscale_params>().mode);
    const uint32_t filter = mode & TENON_UPSCALE_MODE;
    NodeShape shape = *call.asked;
    shape.type = GGML_TYPE_F32;
    return Checks(call)
        .between("mode", filter, 0, GGML_SCALE_MODE_COUNT - 1)
        .require((mode & GGML_SCALE_FLAG_ANTIALIAS) == 0 || filter == GGML_SCALE_MODE_BILINEAR,
                 "mode %u cannot antialias, only %d (bilinear) can", filter,
                 GGML_SCALE_MODE_BILINEAR)
        .f32({0})
        .require(!ggml_is_empty(call.src[0]) || shape.ne[0] == 0 || shape.ne[1] == 0 ||
                     shape.ne[2] == 0 || shape.ne[3] == 0,
                 "src0 is empty: there is nothing between which to interpolate")
        .result(shape);
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_pool_1d(ggml_context* ctx, ggml_tensor* a, ggml_op_pool op, int k0, int s0,
                          int p0) {
    return build(ctx, GGML_OP_POOL_1D, {a}, tenon_pool_1d_params{op, k0, s0, p0});
}

ggml_tensor* ggml_pool_2d(ggml_context* ctx, ggml_tensor* a, ggml_op_pool op, int k0, int k1,
                          int s0, int s1, float p0, float p1) {
    if (a == nullptr) return nullptr;
    const tenon_pool_2d_params params{op, k0, k1, s0, s1, whole(p0), whole(p1)};
    const NodeShape asked =
        shape_4d(GGML_TYPE_F32, pooled(a->ne[0], k0, s0, p0), pooled(a->ne[1], k1, s1, p1), 1, 1);
    return build(ctx, GGML_OP_POOL_2D, {a}, params, BuildOptions{.asked = &asked});
}

// a is the gradient of the result, af what POOL_2D read.
ggml_tensor* ggml_pool_2d_back(ggml_context* ctx, ggml_tensor* a, ggml_tensor* af, ggml_op_pool op,
                               int k0, int k1, int s0, int s1, float p0, float p1) {
    if (a == nullptr || af == nullptr) return nullptr;
    const tenon_pool_2d_back_params params{op, k0, k1, s0, s1, whole(p0), whole(p1)};
    const NodeShape asked =
        shape_4d(GGML_TYPE_F32, pooled(af->ne[0], k0, s0, p0), pooled(af->ne[1], k1, s1, p1), 1, 1);
    return build(ctx, GGML_OP_POOL_2D_BACK, {a, af}, params, BuildOptions{.asked = &asked});
}

ggml_tensor* ggml_upscale(ggml_context* ctx, ggml_tensor* a, int scale_factor,
                          ggml_scale_mode mode) {
    if (a == nullptr) return nullptr;
    if (scale_factor <= 1) {
        report(
            fail(TENON_E_INVALID, "UPSCALE: the factor is %d, must be at least 2", scale_factor));
        return nullptr;
    }
    return ggml_interpolate(ctx, a, times(a->ne[0], scale_factor), times(a->ne[1], scale_factor),
                            a->ne[2], a->ne[3], mode);
}
ggml_tensor* ggml_upscale_ext(ggml_context* ctx, ggml_tensor* a, int ne0, int ne1, int ne2, int ne3,
                              ggml_scale_mode mode) {
    return ggml_interpolate(ctx, a, ne0, ne1, ne2, ne3, mode);
}
ggml_tensor* ggml_interpolate(ggml_context* ctx, ggml_tensor* a, int64_t ne0, int64_t ne1,
                              int64_t ne2, int64_t ne3, uint32_t mode) {
    const NodeShape asked = shape_4d(GGML_TYPE_F32, ne0, ne1, ne2, ne3);
    return build(ctx, GGML_OP_UPSCALE, {a}, tenon_upscale_params{static_cast<int32_t>(mode)},
                 BuildOptions{.asked = &asked});
}

}  // extern "C"
