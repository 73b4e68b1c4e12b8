// Nodes and errors of the builders in views, layout, rows, pad and sort.

#include <gtest/gtest.h>

#include <limits>

#include "op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::line_of;
using tenon::test::Maker;

namespace {

constexpr ggml_type kNoType = static_cast<ggml_type>(31);  // retired

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

TEST(OpsLayout, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_cpy(m.ctx, m.f32("a", 6, 4), m.f16("b", 4, 6)); },
         "CPY f16 [4,6,1,1] <a,b> =b 'b (copy of a)'"},
        {[](const Maker& m) { return ggml_cpy(m.ctx, m.f32("a", 6, 4), m.f16("", 4, 6)); },
         "CPY f16 [4,6,1,1] <a,> = 'a (copy)'"},
        {[](const Maker& m) { return ggml_cpy(m.ctx, m.f32("a", 6, 4), m.padded("b", 6, 4)); },
         "CPY f32 [6,4,1,1] <a,b> =base |4,48,192,192 'b (copy of a)'"},
        {[](const Maker& m) { return ggml_cast(m.ctx, m.f32("a", 256, 4), GGML_TYPE_Q4_K); },
         "CPY q4_K [256,4,1,1] <a,itself> 'a (copy)'"},
        {[](const Maker& m) { return ggml_cont(m.ctx, m.transposed("a", 6, 4)); },
         "CONT f32 [6,4,1,1] <a> 'a (cont)'"},
        {[](const Maker& m) { return ggml_cont_1d(m.ctx, m.f16("a", 6, 4), 24); },
         "CONT f16 [24,1,1,1] <a> 'a (cont)'"},
        {[](const Maker& m) { return ggml_cont_2d(m.ctx, m.f16("a", 6, 4), 12, 2); },
         "CONT f16 [12,2,1,1] <a> 'a (cont)'"},
        {[](const Maker& m) { return ggml_cont_3d(m.ctx, m.f16("a", 6, 4), 3, 4, 2); },
         "CONT f16 [3,4,2,1] <a> 'a (cont)'"},
        {[](const Maker& m) { return ggml_cont_4d(m.ctx, m.f16("a", 6, 4), 3, 2, 2, 2); },
         "CONT f16 [3,2,2,2] <a> 'a (cont)'"},
        {[](const Maker& m) { return ggml_repeat(m.ctx, m.f16("a", 3, 2), m.f32("b", 6, 2, 5)); },
         "REPEAT f16 [6,2,5,1] <a>"},
        {[](const Maker& m) { return ggml_repeat_4d(m.ctx, m.f32("a", 3, 2), 3, 4, 1, 2); },
         "REPEAT f32 [3,4,1,2] <a>"},
        {[](const Maker& m) { return ggml_repeat_4d(m.ctx, m.f32("a", 0, 2), 0, 4, 1, 2); },
         "REPEAT f32 [0,4,1,2] <a>"},
        {[](const Maker& m) { return ggml_repeat_back(m.ctx, m.f32("a", 6, 4), m.f32("b", 3)); },
         "REPEAT_BACK f32 [3,1,1,1] <a>"},
        {[](const Maker& m) { return ggml_concat(m.ctx, m.f16("a", 3, 2), m.f16("b", 3, 5), 1); },
         "CONCAT f16 [3,7,1,1] <a,b> {1}"},
        {[](const Maker& m) { return ggml_concat(m.ctx, m.f32("a", 3, 2), m.f32("b", 4, 2), 0); },
         "CONCAT f32 [7,2,1,1] <a,b>"},
    });
}

TEST(OpsLayout, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_cpy(m.ctx, m.f32("a", 6), m.f32("b", 5)); },
         "CPY: src1 'b' of shape [5, 1, 1, 1] has 5 elements, must have 6"},
        {[](const Maker& m) { return ggml_cast(m.ctx, m.f32("a", 6), kNoType); },
         "CPY: tensor type 31 does not exist"},
        {[](const Maker& m) { return ggml_cast(m.ctx, m.f32("a", 6), GGML_TYPE_Q8_0); },
         "CPY: tensor of q8_0, shape [6, 1, 1, 1]: 6 is not a multiple of the block size 32"},
        {[](const Maker& m) { return ggml_cont_2d(m.ctx, m.f32("a", 6), 2, 2); },
         "CONT: src0 'a' of shape [6, 1, 1, 1] has 6 elements, must have 4"},
        {[](const Maker& m) { return ggml_repeat(m.ctx, m.f32("a", 3), m.f32("b", 5)); },
         "REPEAT: src0 'a' of shape [3, 1, 1, 1] cannot be repeated to [5, 1, 1, 1]"},
        {[](const Maker& m) { return ggml_repeat_4d(m.ctx, m.f32("a", 0), 4, 1, 1, 1); },
         "REPEAT: src0 'a' of shape [0, 1, 1, 1] cannot be repeated to [4, 1, 1, 1]"},
        {[](const Maker& m) { return ggml_repeat_back(m.ctx, m.f32("a", 5), m.f32("b", 3)); },
         "REPEAT_BACK: src0 'a' of shape [5, 1, 1, 1] is no repetition of [3, 1, 1, 1]"},
        {[](const Maker& m) { return ggml_concat(m.ctx, m.f32("a", 3), m.f32("b", 3), 4); },
         "CONCAT: dim is 4, must be 0 to 3"},
        {[](const Maker& m) { return ggml_concat(m.ctx, m.f32("a", 3), m.f16("b", 3), 0); },
         "CONCAT: src0 'a' is f32, src1 'b' is f16"},
        {[](const Maker& m) { return ggml_concat(m.ctx, m.f32("a", 3), m.f32("b", 3, 2), 0); },
         "CONCAT: src0 'a' has ne[1] = 1, src1 'b' has ne[1] = 2"},
    });
}

TEST(OpsRows, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) {
             return ggml_get_rows(m.ctx, m("a", GGML_TYPE_Q4_0, 64, 9, 2, 3), m.i32("i", 5, 2, 3));
         },
         "GET_ROWS f32 [64,5,2,3] <a,i>"},
        {[](const Maker& m) { return ggml_get_rows(m.ctx, m.i32("a", 4, 9), m.i32("i", 5)); },
         "GET_ROWS i32 [4,5,1,1] <a,i>"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f16("g", 4, 5), m.i32("i", 5), m.f16("c", 4, 9));
         },
         "GET_ROWS_BACK f32 [4,9,1,1] <g,i>"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m("a", GGML_TYPE_Q4_0, 64, 9, 4, 6),
                                  m.f32("b", 64, 5, 4, 6), m("i", GGML_TYPE_I64, 5, 2, 3));
         },
         "SET_ROWS q4_0 [64,9,4,6] <b,i,a> =a 'a (view)'"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.padded("a", 4, 9), m.f16("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS f32 [4,9,1,1] <b,i,a> =base |4,32,288,288 'a (view)'"},
    });
}

TEST(OpsRows, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) {
             return ggml_get_rows(m.ctx, m.f32("a", 4, 9), m("i", GGML_TYPE_I64, 5));
         },
         "GET_ROWS: src1 'i' is i64, must be i32"},
        {[](const Maker& m) { return ggml_get_rows(m.ctx, m.f32("a", 4, 9), m.i32("i", 5, 2)); },
         "GET_ROWS: src1 'i' has ne[1] = 2, src0 'a' has ne[2] = 1"},
        {[](const Maker& m) { return ggml_get_rows(m.ctx, m.f32("a", 4, 9, 1, 2), m.i32("i", 5)); },
         "GET_ROWS: src1 'i' has ne[2] = 1, src0 'a' has ne[3] = 2"},
        {[](const Maker& m) {
             return ggml_get_rows(m.ctx, m.f32("a", 4, 9), m.i32("i", 5, 1, 1, 2));
         },
         "GET_ROWS: src1 'i' of shape [5, 1, 1, 2] has more than 3 dimensions"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f32("g", 4, 5, 2), m.i32("i", 5), m.f32("c", 4));
         },
         "GET_ROWS_BACK: src0 'g' of shape [4, 5, 2, 1] has more than 2 dimensions"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f32("g", 4), m.i32("i", 5, 2), m.f32("c", 4));
         },
         "GET_ROWS_BACK: src1 'i' of shape [5, 2, 1, 1] has more than 1 dimensions"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f32("g", 4), m.f32("i", 5), m.f32("c", 4));
         },
         "GET_ROWS_BACK: src1 'i' is f32, must be i32"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f32("g", 4), m.i32("i", 5), m.f32("c", 4, 1, 2));
         },
         "GET_ROWS_BACK: the result has shape [4, 1, 2, 1], must be a matrix"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f32("g", 4), m.i32("i", 5), m.f32("c", 3));
         },
         "GET_ROWS_BACK: src0 'g' has ne[0] = 4, must be 3"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9), m.i32("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS: src0 'b' is i32, must be f32 or f16"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9), m.f32("b", 4, 5), m.f32("i", 5));
         },
         "SET_ROWS: src1 'i' is f32, must be i64 or i32"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9), m.f32("b", 3, 5), m.i32("i", 5));
         },
         "SET_ROWS: src0 'b' has ne[0] = 3, src2 'a' has ne[0] = 4"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9, 2), m.f32("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS: src0 'b' has ne[2] = 1, src2 'a' has ne[2] = 2"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9, 1, 2), m.f32("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS: src0 'b' has ne[3] = 1, src2 'a' has ne[3] = 2"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9), m.f32("b", 4, 5), m.i32("i", 6));
         },
         "SET_ROWS: src1 'i' has ne[0] = 6, src0 'b' has ne[1] = 5"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9, 3), m.f32("b", 4, 5, 3),
                                  m.i32("i", 5, 2));
         },
         "SET_ROWS: src0 'b' has ne[2] = 3, no multiple of ne[1] = 2 of src1 'i'"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9, 1, 3), m.f32("b", 4, 5, 1, 3),
                                  m.i32("i", 5, 1, 2));
         },
         "SET_ROWS: src0 'b' has ne[3] = 3, no multiple of ne[2] = 2 of src1 'i'"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.transposed("a", 4, 9), m.f32("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS: src2 'a' does not have contiguous rows: nb[0] = 36, must be 4"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9), m.transposed("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS: src0 'b' does not have contiguous rows: nb[0] = 20, must be 4"},
    });
}

TEST(OpsPad, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_pad(m.ctx, m.f32("a", 4, 3), 1, 2, 3, 4); },
         "PAD f32 [5,5,4,5] <a> {0,1,0,2,0,3,0,4}"},
        {[](const Maker& m) {
             return ggml_pad_ext(m.ctx, m.f32("a", 4, 3), 1, 2, 3, 4, 5, 6, 7, 8);
         },
         "PAD f32 [7,10,12,16] <a> {1,2,3,4,5,6,7,8}"},
        {[](const Maker& m) {
             return ggml_pad_ext(m.ctx, m.transposed("a", 4, 3), -1, -3, 0, 0, 0, 0, 0, 0);
         },
         "PAD f32 [0,3,1,1] <a> {-1,-3}"},
        {[](const Maker& m) { return ggml_pad_circular(m.ctx, m.f32("a", 4, 3), 1, 2, 0, 0); },
         "PAD f32 [5,5,1,1] <a> {0,1,0,2,0,0,0,0,1}"},
        {[](const Maker& m) {
             return ggml_pad_ext_circular(m.ctx, m.f32("a", 4, 3), 1, 0, 2, 0, 0, 0, 0, 0);
         },
         "PAD f32 [5,5,1,1] <a> {1,0,2,0,0,0,0,0,1}"},
        {[](const Maker& m) { return ggml_pad_reflect_1d(m.ctx, m.f32("a", 4, 3), 3, 2); },
         "PAD_REFLECT_1D f32 [9,3,1,1] <a> {3,2}"},
        {[](const Maker& m) { return ggml_roll(m.ctx, m.gapped("a", 4, 3, 2), 3, -2, 1, 0); },
         "ROLL f32 [4,3,2,1] <a> {3,-2,1}"},
    });
}

TEST(OpsPad, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_pad(m.ctx, m.f32("a", 4, 3), 0, -4, 0, 0); },
         "PAD: dimension 1 of 3 elements cannot be padded by 0, -4"},
        {[](const Maker& m) { return ggml_pad_reflect_1d(m.ctx, m.f32("a", 4), 4, 0); },
         "PAD_REFLECT_1D: left padding is 4, must be 0 to 3"},
        {[](const Maker& m) { return ggml_pad_reflect_1d(m.ctx, m.f32("a", 4), 0, -1); },
         "PAD_REFLECT_1D: right padding is -1, must be 0 to 3"},
        {[](const Maker& m) { return ggml_pad_reflect_1d(m.ctx, m.transposed("a", 4, 3), 1, 1); },
         "PAD_REFLECT_1D: src0 'a' is not contiguous: shape [4, 3, 1, 1], strides "
         "[12, 4, 48, 48]"},
        {[](const Maker& m) { return ggml_pad_reflect_1d(m.ctx, m.f16("a", 4), 1, 1); },
         "PAD_REFLECT_1D: src0 'a' is f16, must be f32"},
        {[](const Maker& m) { return ggml_roll(m.ctx, m.f32("a", 4, 3), 0, 3, 0, 0); },
         "ROLL: shift1 is 3, must be less than 3 either way"},
        {[](const Maker& m) { return ggml_roll(m.ctx, m.f32("a", 4, 3), INT32_MIN, 0, 0, 0); },
         "ROLL: shift0 is -2147483648, must be less than 4 either way"},
        {[](const Maker& m) { return ggml_roll(m.ctx, m.transposed("a", 4, 3), 1, 1, 0, 0); },
         "ROLL: src0 'a' has nb[0] = 12, must be 4"},
    });
}

TEST(OpsSort, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) {
             return ggml_argsort(m.ctx, m.f32("a", 4, 3, 2), GGML_SORT_ORDER_DESC);
         },
         "ARGSORT i32 [4,3,2,1] <a> {1}"},
        {[](const Maker& m) { return ggml_argsort_top_k(m.ctx, m.f32("a", 4, 3, 2), 2); },
         "VIEW i32 [2,3,2,1] <> = |4,16,48,96 ' (view)'"},
        {[](const Maker& m) { return ggml_top_k(m.ctx, m.f32("a", 4, 3, 2), 2); },
         "TOP_K i32 [2,3,2,1] <a>"},
        {[](const Maker& m) { return ggml_top_k(m.ctx, m.f32("a", 4, 3), 4); },
         "TOP_K i32 [4,3,1,1] <a>"},
    });
    const Maker m;
    EXPECT_EQ(line_of(*ggml_argsort_top_k(m.ctx, m.f32("a", 4), 2)->src[0]),
              "ARGSORT i32 [4,1,1,1] <a> {1}");
}

TEST(OpsSort, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) {
             return ggml_argsort(m.ctx, m.f32("a", int64_t{1} << 31), GGML_SORT_ORDER_ASC);
         },
         "ARGSORT: row length is 2147483648, must be 0 to 2147483647"},
        {[](const Maker& m) { return ggml_argsort(m.ctx, m.f32("a", 4), (ggml_sort_order)2); },
         "ARGSORT: order is 2, must be 0 to 1"},
        {[](const Maker& m) { return ggml_argsort_top_k(m.ctx, m.f32("a", 4), 5); },
         "ARGSORT: k is 5, must be 0 to 4"},
        {[](const Maker& m) { return ggml_top_k(m.ctx, m.f32("a", 4), 5); },
         "TOP_K: k is 5, must be 0 to 4"},
        {[](const Maker& m) { return ggml_top_k(m.ctx, m.f32("a", 4), -1); },
         "TOP_K: k is -1, must be 0 to 4"},
    });
}

}  // namespace
