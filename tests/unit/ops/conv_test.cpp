// Nodes and errors of the builders in conv.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

namespace {

constexpr ggml_type kF16 = GGML_TYPE_F16;

TEST(OpsConv, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) {
             return ggml_im2col(m.ctx, m.f16("k", 3, 2, 4, 5), m.f32("x", 10, 8, 4, 2), 2, 1, 1, 0,
                                1, 2, true, kF16);
         },
         "IM2COL f16 [24,5,6,2] <k,x> {2,1,1,0,1,2,1}"},
        {[](const Maker& m) {
             return ggml_im2col(m.ctx, m.f16("k", 3, 4, 5), m.f32("x", 10, 4, 2), 2, 0, 1, 0, 1, 0,
                                false, GGML_TYPE_F32);
         },
         "IM2COL f32 [12,5,2,1] <k,x> {2,0,1,0,1}"},
        // a kernel that is too large by less than a stride
        {[](const Maker& m) {
             return ggml_im2col(m.ctx, m.f16("k", 4, 1, 1, 1), m.f32("x", 3, 1, 1, 1), 2, 1, 0, 0,
                                1, 1, true, kF16);
         },
         "IM2COL f16 [4,1,1,1] <k,x> {2,1,0,0,1,1,1}"},
        {[](const Maker& m) {
             int64_t ne[] = {10, 8, 4, 2};
             return ggml_im2col_back(m.ctx, m.f32("g", 24, 5, 6, 2), m.f16("k", 3, 2, 4, 5), ne, 2,
                                     1, 1, 0, 1, 2, true);
         },
         "IM2COL_BACK f32 [10,8,4,2] <g,k> {2,1,1,0,1,2,1}"},
        {[](const Maker& m) {
             int64_t ne[] = {10, 4, 2, 1};
             return ggml_im2col_back(m.ctx, m.f32("g", 12, 5, 2), m.f16("k", 3, 4, 5), ne, 2, 0, 1,
                                     0, 1, 0, false);
         },
         "IM2COL_BACK f32 [10,4,2,1] <g,k> {2,0,1,0,1}"},
        {[](const Maker& m) {
             return ggml_im2col_3d(m.ctx, m.f16("k", 3, 2, 1, 6), m.f32("x", 10, 8, 5, 9), 3, 1, 2,
                                   3, 1, 0, 0, 1, 2, 1, GGML_TYPE_F32);
         },
         "IM2COL_3D f32 [18,10,3,6] <k,x> {1,2,3,1,0,0,1,2,1,3}"},
        {[](const Maker& m) {
             return ggml_im2col_3d(m.ctx, m.f16("k", 3, 3, 3, 3), m.f32("x", 10, 10, 5, 1), 3, 1, 1,
                                   1, 0, 0, 0, 1, 1, 1, GGML_TYPE_F32);
         },
         "IM2COL_3D f32 [81,8,8,0] <k,x> {1,1,1,0,0,0,1,1,1,3}"},
        {[](const Maker& m) { return ggml_col2im_1d(m.ctx, m.f16("a", 12, 5), 2, 3, 1); },
         "COL2IM_1D f16 [10,3,1,1] <a> {2,3,1}"},
        {[](const Maker& m) {
             return ggml_conv_2d_direct(m.ctx, m.f16("k", 3, 2, 4, 5), m.f32("x", 10, 8, 4, 2), 2,
                                        1, 1, 0, 1, 2);
         },
         "CONV_2D f32 [5,6,5,2] <k,x> {2,1,1,0,1,2}"},
        {[](const Maker& m) {
             return ggml_conv_3d_direct(m.ctx, m.f16("k", 3, 2, 1, 6), m.f32("x", 10, 8, 5, 9), 1,
                                        2, 3, 1, 0, 0, 1, 2, 1, 3, 3, 2);
         },
         "CONV_3D f32 [10,3,2,6] <k,x> {1,2,3,1,0,0,1,2,1,3,3,2}"},
        {[](const Maker& m) {
             return ggml_conv_2d_dw_direct(m.ctx, m.f16("k", 3, 2, 1, 4), m.f32("x", 10, 8, 4, 2),
                                           2, 1, 1, 0, 1, 2);
         },
         "CONV_2D_DW f32 [5,6,4,2] <k,x> {2,1,1,0,1,2}"},
        // channels innermost in the data: the same in the result
        {[](const Maker& m) {
             ggml_tensor* x = ggml_permute(m.ctx, m.f32("x", 5, 5, 4, 1), 2, 0, 1, 3);
             return ggml_conv_2d_dw_direct(m.ctx, m.f32("k", 1, 1, 1, 5), x, 1, 1, 0, 0, 1, 1);
         },
         "CONV_2D_DW f32 [5,4,5,1] <k,x (permuted)> {1,1,0,0,1,1} |20,100,4,400"},
        {[](const Maker& m) {
             return ggml_conv_transpose_1d(m.ctx, m.f32("k", 4, 3, 2), m.f32("x", 5, 2), 3, 0, 1);
         },
         "CONV_TRANSPOSE_1D f32 [16,3,1,1] <k,x> {3,0,1}"},
        {[](const Maker& m) {
             return ggml_conv_transpose_2d_p0(m.ctx, m.f16("k", 4, 2, 3, 6), m.f32("x", 5, 7, 6, 2),
                                              3);
         },
         "CONV_TRANSPOSE_2D f32 [16,20,3,2] <k,x> {3}"},
    });
}

TEST(OpsConv, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) {
             return ggml_im2col(m.ctx, m.f16("k", 3, 2, 4), m.f32("x", 10, 8, 3), 1, 1, 0, 0, 1, 1,
                                true, kF16);
         },
         "IM2COL: src0 'k' has ne[2] = 4, src1 'x' has ne[2] = 3"},
        {[](const Maker& m) {
             return ggml_im2col(m.ctx, m.f16("k", 3, 2), m.f32("x", 10, 3), 1, 0, 0, 0, 1, 0, false,
                                kF16);
         },
         "IM2COL: src0 'k' has ne[1] = 2, src1 'x' has ne[1] = 3"},
        {[](const Maker& m) {
             return ggml_im2col(m.ctx, m.f16("k", 3, 2), m.f32("x", 10, 2, 1, 2), 1, 0, 0, 0, 1, 0,
                                false, kF16);
         },
         "IM2COL: src1 'x' has ne[3] = 2, must be 1"},
        {[](const Maker& m) {
             return ggml_im2col(m.ctx, m.f16("k", 3, 9, 4), m.f32("x", 10, 6, 4), 1, 1, 0, 1, 1, 1,
                                true, kF16);
         },
         "IM2COL: a kernel of 9 does not fit data of 6 with padding 1 in dimension 1"},
        {[](const Maker& m) {
             return ggml_im2col(m.ctx, m.f16("k", 3, 2, 4), m.f32("x", 10, 6, 4), 0, 1, 0, 1, 1, 1,
                                true, kF16);
         },
         "IM2COL: stride is 0, must be at least 1"},
        {[](const Maker& m) {
             return ggml_im2col(m.ctx, m.f16("k", 3, 2, 4), m.f32("x", 10, 6, 4), 1, 1, 0, 1, 1, 0,
                                true, kF16);
         },
         "IM2COL: dilation is 0, must be at least 1"},
        {[](const Maker& m) {
             return ggml_im2col(m.ctx, m.f16("k", 3, 2, 4), m.f32("x", 10, 6, 4), 1, 1, 0, 1, 1, 1,
                                true, static_cast<ggml_type>(99));
         },
         "IM2COL: tensor type 99 does not exist"},
        {[](const Maker& m) {
             return ggml_im2col_back(m.ctx, m.f32("g", 24), m.f16("k", 3), nullptr, 1, 1, 0, 0, 1,
                                     1, true);
         },
         "IM2COL_BACK: the shape is NULL"},
        {[](const Maker& m) {
             int64_t ne[] = {10, 8, 4, 2};
             return ggml_im2col_back(m.ctx, m.f32("g", 24, 5, 6, 2), m.f16("k", 3, 2, 4, 5), ne, 1,
                                     1, 1, 0, 1, 2, true);
         },
         "IM2COL_BACK: src0 'g' has ne[1] = 5, must be 10"},
        {[](const Maker& m) {
             int64_t ne[] = {10, 8, 4, 2};
             return ggml_im2col_back(m.ctx, m.f32("g", 24, 5, 6, 2), m.f16("k", 3, 2, 4, 5), ne, 1,
                                     0, 1, 0, 1, 2, true);
         },
         "IM2COL_BACK: s1 is 0, must be at least 1"},
        {[](const Maker& m) {
             return ggml_im2col_3d(m.ctx, m.f16("k", 3, 2, 1, 6), m.f32("x", 10, 8, 5, 9), 0, 1, 1,
                                   1, 0, 0, 0, 1, 1, 1, kF16);
         },
         "IM2COL_3D: channels is 0, must be 1 to 2147483647"},
        {[](const Maker& m) {
             return ggml_im2col_3d(m.ctx, m.f16("k", 3, 2, 7, 6), m.f32("x", 10, 8, 5, 9), 3, 1, 1,
                                   1, 0, 0, 0, 1, 1, 1, kF16);
         },
         "IM2COL_3D: a kernel of 7 does not fit data of 5 with padding 0 in dimension 2"},
        {[](const Maker& m) { return ggml_col2im_1d(m.ctx, m.f32("a", 12, 5, 2), 2, 3, 1); },
         "COL2IM_1D: src0 'a' of shape [12, 5, 2, 1] has more than 2 dimensions"},
        {[](const Maker& m) { return ggml_col2im_1d(m.ctx, m.transposed("a", 12, 5), 2, 3, 1); },
         "COL2IM_1D: src0 'a' is not contiguous: shape [12, 5, 1, 1], strides [20, 4, 240, 240]"},
        {[](const Maker& m) { return ggml_col2im_1d(m.ctx, m.i32("a", 12, 5), 2, 3, 1); },
         "COL2IM_1D: src0 'a' is i32, must be f32 or f16 or bf16"},
        {[](const Maker& m) { return ggml_col2im_1d(m.ctx, m.f32("a", 12, 5), 0, 3, 1); },
         "COL2IM_1D: s0 is 0, must be at least 1"},
        {[](const Maker& m) { return ggml_col2im_1d(m.ctx, m.f32("a", 12, 5), 2, 0, 1); },
         "COL2IM_1D: output channels is 0, must be at least 1"},
        {[](const Maker& m) { return ggml_col2im_1d(m.ctx, m.f32("a", 12, 5), 2, 3, -1); },
         "COL2IM_1D: p0 is -1, must be at least 0"},
        {[](const Maker& m) { return ggml_col2im_1d(m.ctx, m.f32("a", 13, 5), 2, 3, 1); },
         "COL2IM_1D: src0 has ne[0] = 13, no multiple of 3"},
        {[](const Maker& m) { return ggml_col2im_1d(m.ctx, m.f32("a", 0, 5), 2, 3, 1); },
         "COL2IM_1D: kernel size is 0, must be at least 1"},
        {[](const Maker& m) { return ggml_col2im_1d(m.ctx, m.f32("a", 12, 5), 2, 3, 6); },
         "COL2IM_1D: result length is 0, must be at least 1"},
        {[](const Maker& m) {
             return ggml_conv_2d_direct(m.ctx, m.f16("k", 3, 2, 4, 5), m.f32("x", 10, 8, 3, 2), 1,
                                        1, 0, 0, 1, 1);
         },
         "CONV_2D: src0 'k' has ne[2] = 4, src1 'x' has ne[2] = 3"},
        {[](const Maker& m) {
             return ggml_conv_2d_direct(m.ctx, m.f16("k", 9, 2, 4, 5), m.f32("x", 7, 8, 4, 2), 1, 1,
                                        0, 0, 1, 1);
         },
         "CONV_2D: a kernel of 9 does not fit data of 7 with padding 0 in dimension 0"},
        {[](const Maker& m) {
             return ggml_conv_3d_direct(m.ctx, m.f16("k", 3, 2, 1, 6), m.f32("x", 10, 8, 5, 9), 1,
                                        1, 1, 0, 0, 0, 1, 1, 1, 3, 3, 3);
         },
         "CONV_3D: src0 'k' has ne[3] = 6, must be 9"},
        {[](const Maker& m) {
             return ggml_conv_3d_direct(m.ctx, m.f16("k", 3, 2, 1, 6), m.f32("x", 10, 8, 5, 9), 1,
                                        1, 1, 0, 0, 0, 1, 1, 1, 3, 2, 2);
         },
         "CONV_3D: src1 'x' has ne[3] = 9, must be 6"},
        {[](const Maker& m) {
             return ggml_conv_3d_direct(m.ctx, m.f16("k", 3, 2, 1, 6), m.f32("x", 10, 8, 5, 9), 1,
                                        1, 1, 0, 0, 0, 1, 1, 1, -3, -3, -2);
         },
         "CONV_3D: channels is -3, must be at least 0"},
        {[](const Maker& m) {
             return ggml_conv_2d_dw_direct(m.ctx, m.f16("k", 3, 2, 2, 4), m.f32("x", 10, 8, 4), 1,
                                           1, 0, 0, 1, 1);
         },
         "CONV_2D_DW: src0 'k' has ne[2] = 2, must be 1"},
        {[](const Maker& m) {
             return ggml_conv_2d_dw_direct(m.ctx, m.f16("k", 3, 2, 1, 4), m.f32("x", 10, 8, 3), 1,
                                           1, 0, 0, 1, 1);
         },
         "CONV_2D_DW: src0 'k' has ne[3] = 4, src1 'x' has ne[2] = 3"},
        {[](const Maker& m) {
             return ggml_conv_transpose_1d(m.ctx, m.f32("k", 4, 3, 2), m.f32("x", 5, 2, 2), 3, 0,
                                           1);
         },
         "CONV_TRANSPOSE_1D: src1 'x' of shape [5, 2, 2, 1] has more than 2 dimensions"},
        {[](const Maker& m) {
             return ggml_conv_transpose_1d(m.ctx, m.f32("k", 4, 3, 2), m.f32("x", 5, 3), 3, 0, 1);
         },
         "CONV_TRANSPOSE_1D: src0 'k' has ne[2] = 2, src1 'x' has ne[1] = 3"},
        {[](const Maker& m) {
             return ggml_conv_transpose_1d(m.ctx, m.f32("k", 4, 3, 2, 2), m.f32("x", 5, 2), 3, 0,
                                           1);
         },
         "CONV_TRANSPOSE_1D: src0 'k' has ne[3] = 2, must be 1"},
        {[](const Maker& m) {
             return ggml_conv_transpose_1d(m.ctx, m.f32("k", 4, 3, 2), m.f32("x", 5, 2), 3, 1, 1);
         },
         "CONV_TRANSPOSE_1D: padding is 1, must be 0 to 0"},
        {[](const Maker& m) {
             return ggml_conv_transpose_1d(m.ctx, m.f32("k", 4, 3, 2), m.f32("x", 5, 2), 3, 0, 2);
         },
         "CONV_TRANSPOSE_1D: dilation is 2, must be 1 to 1"},
        {[](const Maker& m) {
             return ggml_conv_transpose_2d_p0(m.ctx, m.f16("k", 4, 2, 3, 6), m.f32("x", 5, 7, 5),
                                              3);
         },
         "CONV_TRANSPOSE_2D: src0 'k' has ne[3] = 6, src1 'x' has ne[2] = 5"},
        {[](const Maker& m) {
             return ggml_conv_transpose_2d_p0(m.ctx, m.f16("k", 4, 2, 3, 6), m.f32("x", 5, 7, 6),
                                              -3);
         },
         "CONV_TRANSPOSE_2D: stride is -3, must be at least 1"},
        {[](const Maker& m) {
             return ggml_conv_transpose_2d_p0(m.ctx, m.f16("k", 4, 2, 3, 6),
                                              m.f32("x", int64_t{1} << 40, 7, 6), INT32_MAX);
         },
         "CONV_TRANSPOSE_2D: tensor of f32, shape [9223372036854775807, 12884901884, 3, 1]: more "
         "elements than an "
         "int64 counts"},
    });
}

}  // namespace
