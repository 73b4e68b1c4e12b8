// Representative calls of the ops in conv and pool.
#include "core/ops/op_calls.h"

namespace tenon {
namespace {

using M = const CallMaker&;

// Channels innermost in memory.
ggml_tensor* channels_first(M m, ggml_type type, int64_t w, int64_t h, int64_t c, int64_t n) {
    return ggml_permute(m.ctx, m.of(type, c, w, h, n), 2, 0, 1, 3);
}

ggml_tensor* interpolate(M m, int64_t w, int64_t h, uint32_t mode, uint32_t flags = 0) {
    return ggml_interpolate(m.ctx, m.f32(32, 24, 3), w, h, 3, 1, mode | flags);
}

constexpr std::array kRows{
    // conv; the call's type is the kernel's
    CallRow{GGML_OP_CONV_2D, kAllFloats, "kernel 3 x 3, padding 1",
            [](M m) {
                return ggml_conv_2d_direct(m.ctx, m.typed(3, 3, 16, 32), m.f32(32, 24, 16, 2), 1, 1,
                                           1, 1, 1, 1);
            }},
    CallRow{GGML_OP_CONV_2D, kAllFloats, "kernel 5 x 3, stride 2, dilation 2",
            [](M m) {
                return ggml_conv_2d_direct(m.ctx, m.typed(5, 3, 7, 9), m.f32(33, 21, 7), 2, 2, 2, 1,
                                           2, 2);
            }},
    CallRow{GGML_OP_CONV_3D, kAllFloats, "kernel 3 x 3 x 3, padding 1",
            [](M m) {
                return ggml_conv_3d_direct(m.ctx, m.typed(3, 3, 3, 4 * 8), m.f32(16, 12, 8, 4), 1,
                                           1, 1, 1, 1, 1, 1, 1, 1, 4, 1, 8);
            }},
    CallRow{GGML_OP_CONV_2D_DW, kAllFloats, "kernel 3 x 3, padding 1",
            [](M m) {
                return ggml_conv_2d_dw_direct(m.ctx, m.typed(3, 3, 1, 32), m.f32(32, 24, 32), 1, 1,
                                              1, 1, 1, 1);
            }},
    CallRow{GGML_OP_CONV_2D_DW, kAllFloats, "channels innermost",
            [](M m) {
                ggml_tensor* kernel = ggml_permute(m.ctx, m.typed(32, 3, 3, 1), 3, 0, 1, 2);
                return ggml_conv_2d_dw_direct(m.ctx, kernel,
                                              channels_first(m, GGML_TYPE_F32, 32, 24, 32, 1), 1, 1,
                                              1, 1, 1, 1);
            }},
    CallRow{GGML_OP_CONV_TRANSPOSE_1D, kAllFloats, "kernel 16, stride 8",
            [](M m) {
                return ggml_conv_transpose_1d(m.ctx, m.typed(16, 32, 64), m.f32(100, 64), 8, 0, 1);
            }},
    CallRow{GGML_OP_CONV_TRANSPOSE_2D, kAllFloats, "kernel 2 x 2, stride 2",
            [](M m) {
                return ggml_conv_transpose_2d_p0(m.ctx, m.typed(2, 2, 16, 32), m.f32(16, 12, 32),
                                                 2);
            }},
    CallRow{GGML_OP_IM2COL, kAllFloats, "2d, kernel 3 x 3, padding 1",
            [](M m) {
                return ggml_im2col(m.ctx, m.f16(3, 3, 16, 32), m.f32(32, 24, 16, 2), 1, 1, 1, 1, 1,
                                   1, true, m.type);
            }},
    CallRow{GGML_OP_IM2COL, kAllFloats, "1d, kernel 3, stride 2",
            [](M m) {
                return ggml_im2col(m.ctx, m.f16(3, 80, 64), m.f32(300, 80), 2, 0, 1, 0, 1, 0, false,
                                   m.type);
            }},
    CallRow{GGML_OP_IM2COL, kF32, "2d, f16 data to f16",
            [](M m) {
                return ggml_im2col(m.ctx, m.f16(3, 3, 16, 32), m.f16(32, 24, 16), 1, 1, 1, 1, 1, 1,
                                   true, GGML_TYPE_F16);
            }},
    CallRow{GGML_OP_IM2COL_BACK, kAllFloats, "2d, kernel 3 x 3, padding 1",
            [](M m) {
                int64_t ne[] = {32, 24, 16, 2};
                return ggml_im2col_back(m.ctx, m.typed(144, 32, 24, 2), m.typed(3, 3, 16, 32), ne,
                                        1, 1, 1, 1, 1, 1, true);
            }},
    CallRow{GGML_OP_IM2COL_3D, kAllFloats, "kernel 3 x 3 x 3, padding 1",
            [](M m) {
                return ggml_im2col_3d(m.ctx, m.f16(3, 3, 3, 4 * 8), m.f32(16, 12, 8, 4), 4, 1, 1, 1,
                                      1, 1, 1, 1, 1, 1, m.type);
            }},
    CallRow{GGML_OP_COL2IM_1D, kAllFloats, "kernel 16, stride 8",
            [](M m) { return ggml_col2im_1d(m.ctx, m.typed(16 * 32, 100), 8, 32, 4); }},

    // pool
    CallRow{GGML_OP_POOL_1D, kAllFloats, "max, window 3, stride 2",
            [](M m) { return ggml_pool_1d(m.ctx, m.typed(128, 16), GGML_OP_POOL_MAX, 3, 2, 1); }},
    CallRow{GGML_OP_POOL_1D, kAllFloats, "avg, window 3, stride 2",
            [](M m) { return ggml_pool_1d(m.ctx, m.typed(128, 16), GGML_OP_POOL_AVG, 3, 2, 1); }},
    CallRow{GGML_OP_POOL_2D, kAllFloats, "max, window 2 x 2",
            [](M m) {
                return ggml_pool_2d(m.ctx, m.typed(32, 24, 16), GGML_OP_POOL_MAX, 2, 2, 2, 2, 0.0f,
                                    0.0f);
            }},
    CallRow{GGML_OP_POOL_2D, kAllFloats, "avg, window 3 x 3, padding 1",
            [](M m) {
                return ggml_pool_2d(m.ctx, m.typed(32, 24, 16), GGML_OP_POOL_AVG, 3, 3, 1, 1, 1.0f,
                                    1.0f);
            }},
    CallRow{GGML_OP_POOL_2D_BACK, kAllFloats, "max, window 2 x 2",
            [](M m) {
                return ggml_pool_2d_back(m.ctx, m.typed(16, 12, 16), m.typed(32, 24, 16),
                                         GGML_OP_POOL_MAX, 2, 2, 2, 2, 0.0f, 0.0f);
            }},
    CallRow{GGML_OP_POOL_2D_BACK, kAllFloats, "avg, window 2 x 2",
            [](M m) {
                return ggml_pool_2d_back(m.ctx, m.typed(16, 12, 16), m.typed(32, 24, 16),
                                         GGML_OP_POOL_AVG, 2, 2, 2, 2, 0.0f, 0.0f);
            }},
    CallRow{GGML_OP_UPSCALE, kF32, "nearest, twice",
            [](M m) { return ggml_upscale(m.ctx, m.f32(32, 24, 3), 2, GGML_SCALE_MODE_NEAREST); }},
    CallRow{GGML_OP_UPSCALE, kF32, "bilinear",
            [](M m) { return interpolate(m, 50, 40, GGML_SCALE_MODE_BILINEAR); }},
    CallRow{GGML_OP_UPSCALE, kF32, "bilinear, corners aligned",
            [](M m) {
                return interpolate(m, 50, 40, GGML_SCALE_MODE_BILINEAR,
                                   GGML_SCALE_FLAG_ALIGN_CORNERS);
            }},
    CallRow{GGML_OP_UPSCALE, kF32, "bilinear, antialias, smaller",
            [](M m) {
                return interpolate(m, 20, 15, GGML_SCALE_MODE_BILINEAR, GGML_SCALE_FLAG_ANTIALIAS);
            }},
    CallRow{GGML_OP_UPSCALE, kF32, "bicubic",
            [](M m) { return interpolate(m, 50, 40, GGML_SCALE_MODE_BICUBIC); }},
};

}  // namespace

constinit const std::span<const CallRow> kConvCalls = kRows;

}  // namespace tenon
