// Convolutions made of IM2COL and MUL_MAT: builders without an op of their own. The patches are
// operand a of the product, the kernel is operand b.
#include "core/ops/build.h"

namespace tenon {
namespace {

ggml_type patch_type(const ggml_tensor& kernel) {
    return kernel.type == GGML_TYPE_BF16 ? GGML_TYPE_F32 : GGML_TYPE_F16;
}

// [patch, positions …] -> [patch, all positions]
ggml_tensor* as_matrix(ggml_context* ctx, ggml_tensor* patches) {
    return ggml_reshape_2d(ctx, patches, patches->ne[0],
                           patches->ne[3] * patches->ne[2] * patches->ne[1]);
}

// Products of all patches with all kernels: [positions, oc]. Nodes are made in a fixed order.
ggml_tensor* patches_times_kernel(ggml_context* ctx, ggml_tensor* patches, ggml_tensor* kernel,
                                  int64_t kernel_size, int64_t n_kernels) {
    ggml_tensor* rows = as_matrix(ctx, patches);
    ggml_tensor* kernels = ggml_reshape_2d(ctx, kernel, kernel_size, n_kernels);
    return ggml_mul_mat(ctx, rows, kernels);
}

int half(int64_t kernel_size) { return static_cast<int>(kernel_size / 2); }

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

// a: [k, ic, oc], b: [l, ic, n]. Batch and channels come out in the right order for n = 1 only.
ggml_tensor* ggml_conv_1d(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int s0, int p0,
                          int d0) {
    if (a == nullptr || b == nullptr) return nullptr;
    ggml_tensor* patches = ggml_im2col(ctx, a, b, s0, 0, p0, 0, d0, 0, false, patch_type(*a));
    if (patches == nullptr) return nullptr;
    ggml_tensor* product = patches_times_kernel(ctx, patches, a, a->ne[0] * a->ne[1], a->ne[2]);
    return ggml_reshape_3d(ctx, product, patches->ne[1], a->ne[2], patches->ne[2]);
}
ggml_tensor* ggml_conv_1d_ph(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int s, int d) {
    if (a == nullptr) return nullptr;
    return ggml_conv_1d(ctx, a, b, s, half(a->ne[0]), d);
}

// a: [k, 1, c], b: [l, c, 1]
ggml_tensor* ggml_conv_1d_dw(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int s0, int p0,
                             int d0) {
    if (a == nullptr || b == nullptr) return nullptr;
    ggml_tensor* planes = ggml_reshape_4d(ctx, b, b->ne[0], 1, b->ne[1], b->ne[2]);
    ggml_tensor* patches = ggml_im2col(ctx, a, planes, s0, 0, p0, 0, d0, 0, false, patch_type(*a));
    ggml_tensor* product = ggml_mul_mat(ctx, patches, a);
    if (product == nullptr) return nullptr;
    return ggml_reshape_3d(ctx, product, product->ne[0], product->ne[2], 1);
}
ggml_tensor* ggml_conv_1d_dw_ph(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int s0, int d0) {
    if (a == nullptr) return nullptr;
    return ggml_conv_1d_dw(ctx, a, b, s0, half(a->ne[0]), d0);
}

// a: [kw, kh, ic, oc], b: [w, h, ic, n] -> [ow, oh, oc, n]
ggml_tensor* ggml_conv_2d(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int s0, int s1, int p0,
                          int p1, int d0, int d1) {
    if (a == nullptr || b == nullptr) return nullptr;
    ggml_tensor* patches = ggml_im2col(ctx, a, b, s0, s1, p0, p1, d0, d1, true, patch_type(*a));
    if (patches == nullptr) return nullptr;
    ggml_tensor* product =
        patches_times_kernel(ctx, patches, a, a->ne[0] * a->ne[1] * a->ne[2], a->ne[3]);
    ggml_tensor* by_channel =
        ggml_reshape_4d(ctx, product, patches->ne[1], patches->ne[2], patches->ne[3], a->ne[3]);
    return ggml_cont(ctx, ggml_permute(ctx, by_channel, 0, 1, 3, 2));
}
ggml_tensor* ggml_conv_2d_sk_p0(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    if (a == nullptr) return nullptr;
    return ggml_conv_2d(ctx, a, b, static_cast<int>(a->ne[0]), static_cast<int>(a->ne[1]), 0, 0, 1,
                        1);
}
ggml_tensor* ggml_conv_2d_s1_ph(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    if (a == nullptr) return nullptr;
    return ggml_conv_2d(ctx, a, b, 1, 1, half(a->ne[0]), half(a->ne[1]), 1, 1);
}

// a: [kw, kh, 1, c], b: [w, h, c, n] -> [ow, oh, c, n]
ggml_tensor* ggml_conv_2d_dw(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int s0, int s1,
                             int p0, int p1, int d0, int d1) {
    if (a == nullptr || b == nullptr) return nullptr;
    ggml_tensor* kernels = ggml_reshape_4d(ctx, a, a->ne[0], a->ne[1], 1, a->ne[2] * a->ne[3]);
    ggml_tensor* planes = ggml_reshape_4d(ctx, b, b->ne[0], b->ne[1], 1, b->ne[2] * b->ne[3]);
    ggml_tensor* patches =
        ggml_im2col(ctx, kernels, planes, s0, s1, p0, p1, d0, d1, true, patch_type(*a));
    if (patches == nullptr) return nullptr;
    ggml_tensor* by_plane = ggml_reshape_4d(ctx, patches, patches->ne[0],
                                            patches->ne[2] * patches->ne[1], b->ne[2], b->ne[3]);
    ggml_tensor* by_kernel =
        ggml_reshape_4d(ctx, kernels, a->ne[0] * a->ne[1], kernels->ne[2], kernels->ne[3], 1);
    ggml_tensor* product = ggml_mul_mat(ctx, by_kernel, by_plane);
    return ggml_reshape_4d(ctx, product, patches->ne[1], patches->ne[2], b->ne[2], b->ne[3]);
}

// a: [kw, kh, kd, oc*ic], b: [w, h, d, n*ic] -> [ow, oh, od, oc*n]
ggml_tensor* ggml_conv_3d(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int64_t IC, int s0,
                          int s1, int s2, int p0, int p1, int p2, int d0, int d1, int d2) {
    if (a == nullptr || b == nullptr) return nullptr;
    ggml_tensor* patches =
        ggml_im2col_3d(ctx, a, b, IC, s0, s1, s2, p0, p1, p2, d0, d1, d2, patch_type(*a));
    if (patches == nullptr) return nullptr;
    const int64_t oc = a->ne[3] / IC;
    const int64_t n = b->ne[3] / IC;
    if (n == 0) {
        report(fail(TENON_E_INVALID, "IM2COL_3D: src1 has ne[3] = %lld, must be at least %lld",
                    (long long)b->ne[3], (long long)IC));
        return nullptr;
    }
    const int64_t od = patches->ne[3] / n;
    ggml_tensor* product =
        patches_times_kernel(ctx, patches, a, a->ne[0] * a->ne[1] * a->ne[2] * IC, oc);
    ggml_tensor* planes = ggml_reshape_4d(ctx, product, patches->ne[1] * patches->ne[2], od, n, oc);
    ggml_tensor* by_channel = ggml_cont(ctx, ggml_permute(ctx, planes, 0, 1, 3, 2));
    return ggml_reshape_4d(ctx, by_channel, patches->ne[1], patches->ne[2], od, oc * n);
}

}  // extern "C"
