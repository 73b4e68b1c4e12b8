// Nodes and errors of the builders in views.

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::line_of;
using tenon::test::Maker;

namespace {

TEST(OpsViews, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_reshape(m.ctx, m.f32("a", 6, 4), m.f16("b", 3, 8)); },
         "RESHAPE f32 [3,8,1,1] <a> =a 'a (reshaped)'"},
        {[](const Maker& m) { return ggml_reshape_1d(m.ctx, m.f32("a", 6, 4), 24); },
         "RESHAPE f32 [24,1,1,1] <a> =a 'a (reshaped)'"},
        {[](const Maker& m) { return ggml_reshape_2d(m.ctx, m.f32("a", 6, 4), 12, 2); },
         "RESHAPE f32 [12,2,1,1] <a> =a 'a (reshaped)'"},
        {[](const Maker& m) { return ggml_reshape_3d(m.ctx, m.f32("a", 6, 4), 2, 6, 2); },
         "RESHAPE f32 [2,6,2,1] <a> =a 'a (reshaped)'"},
        {[](const Maker& m) { return ggml_reshape_4d(m.ctx, m.f32("a", 6, 4), 2, 3, 2, 2); },
         "RESHAPE f32 [2,3,2,2] <a> =a 'a (reshaped)'"},
        {[](const Maker& m) {
             return ggml_reshape_1d(m.ctx, ggml_view_1d(m.ctx, m.f32("a", 6), 4, 8), 4);
         },
         "RESHAPE f32 [4,1,1,1] <a (view)> =a+8 'a (view) (reshaped)'"},
        {[](const Maker& m) { return ggml_view_1d(m.ctx, m.f32("a", 6, 4), 5, 8); },
         "VIEW f32 [5,1,1,1] <a> {8} =a+8 'a (view)'"},
        {[](const Maker& m) { return ggml_view_2d(m.ctx, m.f32("a", 6, 4), 3, 2, 24, 4); },
         "VIEW f32 [3,2,1,1] <a> {4} =a+4 |4,24,48,48 'a (view)'"},
        {[](const Maker& m) {
             return ggml_view_3d(m.ctx, m.f32("a", 6, 4, 3), 6, 2, 3, 24, 96, 48);
         },
         "VIEW f32 [6,2,3,1] <a> {48} =a+48 |4,24,96,288 'a (view)'"},
        {[](const Maker& m) {
             return ggml_view_4d(m.ctx, m.f32("a", 6, 4, 3, 2), 6, 4, 3, 1, 24, 96, 288, 288);
         },
         "VIEW f32 [6,4,3,1] <a> {288} =a+288 'a (view)'"},
        {[](const Maker& m) {
             return ggml_view_2d(m.ctx, m("a", GGML_TYPE_Q4_0, 64, 4), 32, 4, 36, 18);
         },
         "VIEW q4_0 [32,4,1,1] <a> {18} =a+18 |18,36,144,144 'a (view)'"},
        {[](const Maker& m) {
             return ggml_view_1d(m.ctx, ggml_view_1d(m.ctx, m.f32("a", 6), 4, 8), 2, 4);
         },
         "VIEW f32 [2,1,1,1] <a (view)> {4} =a+12 'a (view) (view)'"},
        {[](const Maker& m) { return ggml_permute(m.ctx, m.f32("a", 2, 3, 4, 5), 1, 2, 0, 3); },
         "PERMUTE f32 [4,2,3,5] <a> {1,2,0,3} =a |24,4,8,96 'a (permuted)'"},
        {[](const Maker& m) { return ggml_permute(m.ctx, m.f32("a", 2, 3, 4, 5), 0, 1, 2, 3); },
         "PERMUTE f32 [2,3,4,5] <a> {0,1,2,3} =a 'a (permuted)'"},
        {[](const Maker& m) { return ggml_transpose(m.ctx, m.f32("a", 2, 3)); },
         "TRANSPOSE f32 [3,2,1,1] <a> =a |8,4,24,24 'a (transposed)'"},
        {[](const Maker& m) {
             return ggml_transpose(m.ctx, ggml_view_2d(m.ctx, m.f32("a", 6, 4), 3, 2, 24, 4));
         },
         "TRANSPOSE f32 [2,3,1,1] <a (view)> =a+4 |24,4,48,48 'a (view) (transposed)'"},
    });
}

TEST(OpsViews, BlocksMayBeTransposedThereAndBack) {
    const Maker m;
    ggml_tensor* there = ggml_transpose(m.ctx, m("a", GGML_TYPE_Q4_0, 64, 5));
    EXPECT_EQ(line_of(*there), "TRANSPOSE q4_0 [5,64,1,1] <a> =a |36,18,180,180 'a (transposed)'");
    EXPECT_EQ(line_of(*ggml_transpose(m.ctx, there)),
              "TRANSPOSE q4_0 [64,5,1,1] <a (transposed)> =a 'a (transposed) (transposed)'");
}

TEST(OpsViews, A64BitOffsetIsStoredBytewise) {
    const Maker m;
    const int64_t n = int64_t{1} << 33;
    const ggml_tensor* view = ggml_view_1d(m.ctx, m.f32("a", n), 1, (size_t{1} << 34) + 4);
    ASSERT_NE(view, nullptr);
    EXPECT_EQ(view->op_params[0], 4);
    EXPECT_EQ(view->op_params[1], 4);  // 2^34 / 2^32
    EXPECT_EQ(view->view_offs, (size_t{1} << 34) + 4);
}

TEST(OpsViews, StridesBeyond32BitsSurviveAPermutation) {
    const Maker m;
    ggml_tensor* a = m.f32("a", int64_t{1} << 30, 2, 2);
    const ggml_tensor* node = ggml_permute(m.ctx, a, 2, 1, 0, 3);
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->nb[0], size_t{1} << 33);
    EXPECT_EQ(node->ne[2], int64_t{1} << 30);
}

TEST(OpsViews, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_reshape_1d(m.ctx, m.f32("a", 6, 4), 25); },
         "RESHAPE: src0 'a' of shape [6, 4, 1, 1] has 24 elements, must have 25"},
        {[](const Maker& m) { return ggml_reshape_1d(m.ctx, m.transposed("a", 6, 4), 24); },
         "RESHAPE: src0 'a' is not contiguous: shape [6, 4, 1, 1], strides [16, 4, 96, 96]"},
        {[](const Maker& m) { return ggml_reshape_2d(m.ctx, m.f32("a", 6, 4), -6, -4); },
         "RESHAPE: tensor of f32, shape [-6, -4, 1, 1]: an extent is negative"},
        {[](const Maker& m) {
             return ggml_reshape_2d(m.ctx, m.f32("a", 4), int64_t{1} << 62, int64_t{1} << 62);
         },
         "RESHAPE: src0 'a' of shape [4, 1, 1, 1] has 4 elements, must have 9223372036854775807"},
        {[](const Maker& m) {
             return ggml_reshape_2d(m.ctx, m("a", GGML_TYPE_Q4_0, 32, 2), 16, 4);
         },
         "RESHAPE: tensor of q4_0, shape [16, 4, 1, 1]: 16 is not a multiple of the block size 32"},
        {[](const Maker& m) { return ggml_view_1d(m.ctx, m.f32("a", 6), 4, 12); },
         "VIEW: view of 'a': 16 bytes at offset 12 end past the tensor's 24 bytes"},
        {[](const Maker& m) {
             return ggml_view_1d(m.ctx, m.f32("a", 6), 1, std::numeric_limits<size_t>::max());
         },
         "VIEW: view of 'a': 4 bytes at offset 18446744073709551615 end past the tensor's 24 "
         "bytes"},
        {[](const Maker& m) { return ggml_view_1d(m.ctx, m.f32("a", 6), -1, 0); },
         "VIEW: tensor of f32, shape [-1, 1, 1, 1]: an extent is negative"},
        {[](const Maker& m) { return ggml_permute(m.ctx, m.f32("a", 6), 0, 1, 2, 4); },
         "PERMUTE: axis is 4, must be 0 to 3"},
        {[](const Maker& m) { return ggml_permute(m.ctx, m.f32("a", 6), 0, 1, -1, 3); },
         "PERMUTE: axis is -1, must be 0 to 3"},
        {[](const Maker& m) { return ggml_permute(m.ctx, m.f32("a", 6), 0, 1, 1, 3); },
         "PERMUTE: axes 1 and 2 are both 1"},
    });
}

}  // namespace
