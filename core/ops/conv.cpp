// CONV_2D CONV_3D CONV_2D_DW, their transposes, and the patches they read (IM2COL …): builders and
// rules. Axis 0 is width, 1 height, 2 depth.
#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {
namespace {

// What a convolution does along one axis.
struct Axis {
    int64_t stride, padding, dilation;
};

// Positions of a kernel of k elements over n; the division truncates, so a kernel that is too
// large by less than a stride still has one. Not positive: none. Stride must not be 0.
int64_t conv_extent(int64_t n, int64_t k, const Axis& axis) {
    const int64_t reach = plus(times(axis.dilation, k - 1), 1);
    const int64_t room = plus(plus(n, 2 * axis.padding), -reach);
    return room / axis.stride + 1;
}

// The size of the result along dimension `dim` of kernel and data; an error when there is none.
int64_t checked_extent(Checks& check, const OpCall& call, int dim, const Axis& axis) {
    const int64_t n = call.src[1]->ne[dim];
    const int64_t k = call.src[0]->ne[dim];
    check.at_least("stride", axis.stride, 1).at_least("dilation", axis.dilation, 1);
    if (!check) return 0;
    const int64_t out = conv_extent(n, k, axis);
    check.require(out > 0,
                  "a kernel of %lld does not fit data of %lld with padding %lld in "
                  "dimension %d",
                  (long long)k, (long long)n, (long long)axis.padding, dim);
    return out;
}

// Padding at most about 2^31, so its double cannot overflow.
int64_t transposed_extent(int64_t n, int64_t k, int64_t stride) {
    return plus(times(n - 1, stride), k);
}

}  // namespace

// Kernel (its shape only): [kw, kh, ic, oc], data: [w, h, ic, n] -> [ic*kh*kw, ow, oh, n];
// in one dimension [k, ic, oc], [l, ic, n] -> [ic*k, ol, n]. The type is asked for.
Result<NodeShape> im2col_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_im2col_params>();
    const ggml_tensor& kernel = *call.src[0];
    const ggml_tensor& data = *call.src[1];
    Checks check(call);
    if (p.is_2d == 0) {
        check.same_extent(0, 1, 1, 1).extent(1, 3, 1);
        const int64_t ol = checked_extent(check, call, 0, {p.s0, p.p0, p.d0});
        return check.result(call.asked->type, {times(kernel.ne[1], kernel.ne[0]), ol, data.ne[2]});
    }
    check.same_extent(0, 2, 1, 2);
    const int64_t ow = checked_extent(check, call, 0, {p.s0, p.p0, p.d0});
    const int64_t oh = checked_extent(check, call, 1, {p.s1, p.p1, p.d1});
    const int64_t patch = times(kernel.ne[2], times(kernel.ne[1], kernel.ne[0]));
    return check.result(call.asked->type, {patch, ow, oh, data.ne[3]});
}

// Sources: the gradient of IM2COL's result, the kernel. The shape asked for is that of the data.
Result<NodeShape> im2col_back_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_im2col_back_params>();
    const ggml_tensor& kernel = *call.src[1];
    const int64_t* data = call.asked->ne;
    Checks check(call);
    check.at_least("s0", p.s0, 1).at_least("d0", p.d0, 1);
    if (p.is_2d != 0) check.at_least("s1", p.s1, 1).at_least("d1", p.d1, 1);
    if (!check) return check.error();
    const int64_t ow = conv_extent(data[0], kernel.ne[0], {p.s0, p.p0, p.d0});
    if (p.is_2d == 0) {
        check.extents(0, {times(kernel.ne[1], kernel.ne[0]), ow, data[2], 1})
            .extent(1, 1, data[1])
            .require(data[3] == 1, "the result has ne[3] = %lld, must be 1", (long long)data[3]);
    } else {
        const int64_t oh = conv_extent(data[1], kernel.ne[1], {p.s1, p.p1, p.d1});
        const int64_t patch = times(kernel.ne[2], times(kernel.ne[1], kernel.ne[0]));
        check.extents(0, {patch, ow, oh, data[3]}).extent(1, 2, data[2]);
    }
    return check.result(GGML_TYPE_F32, {data[0], data[1], data[2], data[3]});
}

// Kernel: [kw, kh, kd, oc*ic], data: [w, h, d, n*ic] -> [kw*kh*kd*ic, ow, oh, od*n]
Result<NodeShape> im2col_3d_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_im2col_3d_params>();
    const ggml_tensor& kernel = *call.src[0];
    Checks check(call);
    check.at_least("channels", p.n_channels, 1);
    const int64_t ow = checked_extent(check, call, 0, {p.s0, p.p0, p.d0});
    const int64_t oh = checked_extent(check, call, 1, {p.s1, p.p1, p.d1});
    const int64_t od = checked_extent(check, call, 2, {p.s2, p.p2, p.d2});
    if (!check) return check.error();
    const int64_t n = call.src[1]->ne[3] / p.n_channels;
    const int64_t patch =
        times(times(kernel.ne[0], kernel.ne[1]), times(kernel.ne[2], p.n_channels));
    return check.result(call.asked->type, {patch, ow, oh, times(od, n)});
}

// [k*oc, t] -> [t_out, oc]
Result<NodeShape> col2im_1d_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_col2im_1d_params>();
    const ggml_tensor& columns = *call.src[0];
    Checks check(call);
    check.dims_at_most(0, 2)
        .contiguous({0})
        .type(0, {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16})
        .at_least("s0", p.s0, 1)
        .at_least("output channels", p.n_channels_out, 1)
        .at_least("p0", p.p0, 0);
    if (!check) return check.error();
    const int64_t k = columns.ne[0] / p.n_channels_out;
    const int64_t t_out = plus(transposed_extent(columns.ne[1], k, p.s0), -2 * int64_t{p.p0});
    return check
        .require(columns.ne[0] % p.n_channels_out == 0, "src0 has ne[0] = %lld, no multiple of %d",
                 (long long)columns.ne[0], p.n_channels_out)
        .at_least("kernel size", k, 1)
        .at_least("result length", t_out, 1)
        .result(columns.type, {t_out, p.n_channels_out});
}

// Kernel: [kw, kh, ic, oc], data: [w, h, ic, n] -> [ow, oh, oc, n]
Result<NodeShape> conv_2d_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_conv_2d_params>();
    const ggml_tensor& data = *call.src[1];
    Checks check(call);
    check.same_extent(0, 2, 1, 2);
    const int64_t ow = checked_extent(check, call, 0, {p.s0, p.p0, p.d0});
    const int64_t oh = checked_extent(check, call, 1, {p.s1, p.p1, p.d1});
    return check.result(data.type, {ow, oh, call.src[0]->ne[3], data.ne[3]});
}

// Kernel: [kw, kh, kd, ic*oc], data: [w, h, d, ic*n] -> f32 [ow, oh, od, oc*n]
Result<NodeShape> conv_3d_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_conv_3d_params>();
    Checks check(call);
    check.at_least("channels", p.n_channels, 0)
        .at_least("batch", p.n_batch, 0)
        .at_least("output channels", p.n_channels_out, 0)
        .extent(0, 3, int64_t{p.n_channels} * p.n_channels_out)
        .extent(1, 3, int64_t{p.n_channels} * p.n_batch);
    const int64_t ow = checked_extent(check, call, 0, {p.s0, p.p0, p.d0});
    const int64_t oh = checked_extent(check, call, 1, {p.s1, p.p1, p.d1});
    const int64_t od = checked_extent(check, call, 2, {p.s2, p.p2, p.d2});
    return check.result(GGML_TYPE_F32, {ow, oh, od, int64_t{p.n_channels_out} * p.n_batch});
}

// Kernel: [kw, kh, 1, c], data: [w, h, c, n] -> [ow, oh, c, n]
Result<NodeShape> conv_2d_dw_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_conv_2d_dw_params>();
    const ggml_tensor& data = *call.src[1];
    Checks check(call);
    check.extent(0, 2, 1).same_extent(0, 3, 1, 2);
    const int64_t ow = checked_extent(check, call, 0, {p.s0, p.p0, p.d0});
    const int64_t oh = checked_extent(check, call, 1, {p.s1, p.p1, p.d1});
    return check.result(data.type, {ow, oh, data.ne[2], data.ne[3]});
}

// Kernel: [k, oc, ic], data: [l, ic] -> f32 [(l-1)*s + k, oc]
Result<NodeShape> conv_transpose_1d_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_conv_transpose_1d_params>();
    const ggml_tensor& kernel = *call.src[0];
    const ggml_tensor& data = *call.src[1];
    return Checks(call)
        .dims_at_most(1, 2)
        .same_extent(0, 2, 1, 1)
        .extent(0, 3, 1)
        .at_least("stride", p.s0, 1)
        .between("padding", p.p0, 0, 0)
        .between("dilation", p.d0, 1, 1)
        .result(GGML_TYPE_F32,
                {transposed_extent(data.ne[0], kernel.ne[0], p.s0), kernel.ne[1], data.ne[2]});
}

// Kernel: [kw, kh, oc, ic], data: [w, h, ic, n] -> f32 [(w-1)*s + kw, (h-1)*s + kh, oc, n]
Result<NodeShape> conv_transpose_2d_shape(const OpCall& call) {
    const int64_t stride = call.params_as<tenon_conv_transpose_2d_params>().stride;
    const ggml_tensor& kernel = *call.src[0];
    const ggml_tensor& data = *call.src[1];
    return Checks(call)
        .same_extent(0, 3, 1, 2)
        .at_least("stride", stride, 1)
        .result(GGML_TYPE_F32,
                {transposed_extent(data.ne[0], kernel.ne[0], stride),
                 transposed_extent(data.ne[1], kernel.ne[1], stride), kernel.ne[2], data.ne[3]});
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_im2col(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int s0, int s1, int p0,
                         int p1, int d0, int d1, bool is_2D, ggml_type dst_type) {
    const tenon_im2col_params params{s0, s1, p0, p1, d0, d1, is_2D ? 1 : 0};
    const NodeShape asked{.type = dst_type};
    return build(ctx, GGML_OP_IM2COL, {a, b}, params, BuildOptions{.asked = &asked});
}

// a is the gradient of IM2COL's result, b the kernel, ne the shape of the data.
ggml_tensor* ggml_im2col_back(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int64_t* ne,
                              int s0, int s1, int p0, int p1, int d0, int d1, bool is_2D) {
    if (ne == nullptr) {
        report(fail(TENON_E_INVALID, "IM2COL_BACK: the shape is NULL"));
        return nullptr;
    }
    const tenon_im2col_back_params params{s0, s1, p0, p1, d0, d1, is_2D ? 1 : 0};
    const NodeShape asked = shape_4d(GGML_TYPE_F32, ne[0], ne[1], ne[2], ne[3]);
    return build(ctx, GGML_OP_IM2COL_BACK, {a, b}, params, BuildOptions{.asked = &asked});
}

ggml_tensor* ggml_im2col_3d(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int64_t IC, int s0,
                            int s1, int s2, int p0, int p1, int p2, int d0, int d1, int d2,
                            ggml_type dst_type) {
    if (IC < 1 || IC > INT32_MAX) {
        report(fail(TENON_E_INVALID, "IM2COL_3D: channels is %lld, must be 1 to %d", (long long)IC,
                    INT32_MAX));
        return nullptr;
    }
    const tenon_im2col_3d_params params{s0, s1, s2, p0, p1,
                                        p2, d0, d1, d2, static_cast<int32_t>(IC)};
    const NodeShape asked{.type = dst_type};
    return build(ctx, GGML_OP_IM2COL_3D, {a, b}, params, BuildOptions{.asked = &asked});
}

ggml_tensor* ggml_col2im_1d(ggml_context* ctx, ggml_tensor* a, int s0, int oc, int p0) {
    return build(ctx, GGML_OP_COL2IM_1D, {a}, tenon_col2im_1d_params{s0, oc, p0});
}

ggml_tensor* ggml_conv_2d_direct(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int s0, int s1,
                                 int p0, int p1, int d0, int d1) {
    return build(ctx, GGML_OP_CONV_2D, {a, b}, tenon_conv_2d_params{s0, s1, p0, p1, d0, d1});
}

ggml_tensor* ggml_conv_3d_direct(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int s0, int s1,
                                 int s2, int p0, int p1, int p2, int d0, int d1, int d2,
                                 int n_channels, int n_batch, int n_channels_out) {
    const tenon_conv_3d_params params{s0, s1, s2, p0,         p1,      p2,
                                      d0, d1, d2, n_channels, n_batch, n_channels_out};
    return build(ctx, GGML_OP_CONV_3D, {a, b}, params);
}

// Data whose channels are innermost in memory gives a result that is laid out likewise.
ggml_tensor* ggml_conv_2d_dw_direct(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int stride0,
                                    int stride1, int pad0, int pad1, int dilation0, int dilation1) {
    const tenon_conv_2d_dw_params params{stride0, stride1, pad0, pad1, dilation0, dilation1};
    ggml_tensor* node = build(ctx, GGML_OP_CONV_2D_DW, {a, b}, params);
    if (node == nullptr || !ggml_is_contiguous_channels(b)) return node;
    node->nb[2] = ggml_type_size(node->type);
    node->nb[0] = node->nb[2] * static_cast<size_t>(node->ne[2]);
    node->nb[1] = node->nb[0] * static_cast<size_t>(node->ne[0]);
    return node;
}

ggml_tensor* ggml_conv_transpose_1d(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int s0,
                                    int p0, int d0) {
    return build(ctx, GGML_OP_CONV_TRANSPOSE_1D, {a, b},
                 tenon_conv_transpose_1d_params{s0, p0, d0});
}

ggml_tensor* ggml_conv_transpose_2d_p0(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b,
                                       int stride) {
    return build(ctx, GGML_OP_CONV_TRANSPOSE_2D, {a, b}, tenon_conv_transpose_2d_params{stride});
}

}  // extern "C"
