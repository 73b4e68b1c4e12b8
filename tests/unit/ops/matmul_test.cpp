// Nodes and errors of the builders in matmul.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::line_of;
using tenon::test::Maker;

namespace {

TEST(OpsMatmul, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) {
             return ggml_mul_mat(m.ctx, m("a", GGML_TYPE_Q4_0, 64, 5, 2, 1),
                                 m.f32("b", 64, 7, 4, 3));
         },
         "MUL_MAT f32 [5,7,4,3] <a,b>"},
        {[](const Maker& m) { return ggml_mul_mat(m.ctx, m.f16("a", 64, 5), m.f16("b", 64, 7)); },
         "MUL_MAT f32 [5,7,1,1] <a,b>"},
        {[](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.f16("a", 64, 5, 8), m.f32("b", 64, 1, 3),
                                    m.i32("i", 2, 3));
         },
         "MUL_MAT_ID f32 [5,2,3,1] <a,b,i>"},
        {[](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.f16("a", 64, 5, 8), m.f32("b", 64, 2, 3),
                                    m.i32("i", 4, 3));
         },
         "MUL_MAT_ID f32 [5,4,3,1] <a,b,i>"},
        {[](const Maker& m) {
             return ggml_out_prod(m.ctx, m.f32("a", 6, 4), m.transposed("b", 5, 4));
         },
         "OUT_PROD f32 [6,5,1,1] <a,b>"},
        {[](const Maker& m) {
             return ggml_out_prod(m.ctx, m.f32("a", 6, 4, 2, 1), m.f32("b", 5, 4, 4, 3));
         },
         "OUT_PROD f32 [6,5,4,3] <a,b>"},
        {[](const Maker& m) {
             return ggml_solve_tri(m.ctx, m.f32("a", 4, 4, 2), m.f32("b", 3, 4, 2), true, true,
                                   false);
         },
         "SOLVE_TRI f32 [3,4,2,1] <a,b>"},
    });
}

TEST(OpsMatmul, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_mul_mat(m.ctx, m.f32("a", 64, 5), m.f32("b", 32, 7)); },
         "MUL_MAT: src0 'a' has ne[0] = 64, src1 'b' has ne[0] = 32"},
        {[](const Maker& m) {
             return ggml_mul_mat(m.ctx, m.f32("a", 64, 5, 2), m.f32("b", 64, 7, 3));
         },
         "MUL_MAT: src1 'b' has ne[2] = 3, no multiple of ne[2] = 2 of src0 'a'"},
        {[](const Maker& m) {
             return ggml_mul_mat(m.ctx, m.f32("a", 64, 5, 1, 2), m.f32("b", 64, 7, 1, 3));
         },
         "MUL_MAT: src1 'b' has ne[3] = 3, no multiple of ne[3] = 2 of src0 'a'"},
        {[](const Maker& m) {
             return ggml_mul_mat(m.ctx, m.f32("a", 64, 5, 0), m.f32("b", 64, 7, 3));
         },
         "MUL_MAT: src1 'b' has ne[2] = 3, no multiple of ne[2] = 0 of src0 'a'"},
        {[](const Maker& m) {
             return ggml_mul_mat(m.ctx, m.transposed("a", 64, 5), m.f32("b", 64, 7));
         },
         "MUL_MAT: src0 'a' is transposed: nb[0] = 20, nb[1] = 4"},
        {[](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.transposed("a", 64, 5), m.f32("b", 64, 1, 3),
                                    m.i32("i", 2, 3));
         },
         "MUL_MAT_ID: src0 'a' is transposed: nb[0] = 20, nb[1] = 4"},
        {[](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.f32("a", 64, 5, 8), m.f32("b", 64, 1, 3),
                                    m.f32("i", 2, 3));
         },
         "MUL_MAT_ID: src2 'i' is f32, must be i32"},
        {[](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.f32("a", 64, 5, 8, 2), m.f32("b", 64, 1, 3),
                                    m.i32("i", 2, 3));
         },
         "MUL_MAT_ID: src0 'a' of shape [64, 5, 8, 2] has more than 3 dimensions"},
        {[](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.f32("a", 64, 5, 8), m.f32("b", 64, 1, 3, 2),
                                    m.i32("i", 2, 3));
         },
         "MUL_MAT_ID: src1 'b' of shape [64, 1, 3, 2] has more than 3 dimensions"},
        {[](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.f32("a", 64, 5, 8), m.f32("b", 64, 1, 3),
                                    m.i32("i", 2, 3, 2));
         },
         "MUL_MAT_ID: src2 'i' of shape [2, 3, 2, 1] has more than 2 dimensions"},
        {[](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.f32("a", 64, 5, 8), m.f32("b", 64, 1, 3),
                                    m.i32("i", 2, 4));
         },
         "MUL_MAT_ID: src2 'i' has ne[1] = 4, src1 'b' has ne[2] = 3"},
        {[](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.f32("a", 32, 5, 8), m.f32("b", 64, 1, 3),
                                    m.i32("i", 2, 3));
         },
         "MUL_MAT_ID: src0 'a' has ne[0] = 32, src1 'b' has ne[0] = 64"},
        {[](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.f32("a", 64, 5, 8), m.f32("b", 64, 3, 3),
                                    m.i32("i", 4, 3));
         },
         "MUL_MAT_ID: src2 'i' has ne[0] = 4, no multiple of ne[1] = 3 of src1 'b'"},
        {[](const Maker& m) { return ggml_out_prod(m.ctx, m.f32("a", 6, 4), m.f32("b", 5, 3)); },
         "OUT_PROD: src0 'a' has ne[1] = 4, src1 'b' has ne[1] = 3"},
        {[](const Maker& m) {
             return ggml_out_prod(m.ctx, m.f32("a", 6, 4, 2), m.f32("b", 5, 4, 3));
         },
         "OUT_PROD: src1 'b' has ne[2] = 3, no multiple of ne[2] = 2 of src0 'a'"},
        {[](const Maker& m) {
             return ggml_out_prod(m.ctx, m.f32("a", 6, 4, 1, 2), m.f32("b", 5, 4, 1, 3));
         },
         "OUT_PROD: src1 'b' has ne[3] = 3, no multiple of ne[3] = 2 of src0 'a'"},
        {[](const Maker& m) {
             return ggml_out_prod(m.ctx, m.transposed("a", 6, 4), m.f32("b", 5, 4));
         },
         "OUT_PROD: src0 'a' is transposed: nb[0] = 16, nb[1] = 4"},
        {[](const Maker& m) {
             return ggml_solve_tri(m.ctx, m.f32("a", 4, 4), m.f32("b", 3, 4), false, true, false);
         },
         "SOLVE_TRI: left 0, lower 1, uni 0; only 1, 1, 0 is possible"},
        {[](const Maker& m) {
             return ggml_solve_tri(m.ctx, m.f32("a", 4, 3), m.f32("b", 3, 4), true, true, false);
         },
         "SOLVE_TRI: src0 'a' has ne[0] = 4, src0 'a' has ne[1] = 3"},
        {[](const Maker& m) {
             return ggml_solve_tri(m.ctx, m.f32("a", 4, 4), m.f32("b", 4, 3), true, true, false);
         },
         "SOLVE_TRI: src0 'a' has ne[1] = 4, src1 'b' has ne[1] = 3"},
        {[](const Maker& m) {
             return ggml_solve_tri(m.ctx, m.f32("a", 4, 4, 2), m.f32("b", 4, 4), true, true, false);
         },
         "SOLVE_TRI: src0 'a' has ne[2] = 2, src1 'b' has ne[2] = 1"},
        {[](const Maker& m) {
             return ggml_solve_tri(m.ctx, m.f32("a", 4, 4, 1, 2), m.f32("b", 4, 4), true, true,
                                   false);
         },
         "SOLVE_TRI: src0 'a' has ne[3] = 2, src1 'b' has ne[3] = 1"},
        {[](const Maker& m) {
             return ggml_solve_tri(m.ctx, m.f32("a", 4, 4), m.f16("b", 4, 4), true, true, false);
         },
         "SOLVE_TRI: src1 'b' is f16, must be f32"},
        {[](const Maker& m) {
             return ggml_solve_tri(m.ctx, m.f32("a", 4, 4), m.transposed("b", 5, 4), true, true,
                                   false);
         },
         "SOLVE_TRI: src1 'b' is not contiguous: shape [5, 4, 1, 1], strides [16, 4, 80, 80]"},
    });
}

TEST(OpsMatmul, PrecisionAndHintAreWordsOfTheNode) {
    const Maker m;
    ggml_tensor* node = ggml_mul_mat(m.ctx, m.f32("a", 4, 5), m.f32("b", 4, 7));
    ggml_mul_mat_set_prec(node, GGML_PREC_F32);
    EXPECT_EQ(line_of(*node), "MUL_MAT f32 [5,7,1,1] <a,b> {10}");
    ggml_mul_mat_set_hint(node, GGML_HINT_SRC0_IS_HADAMARD);
    EXPECT_EQ(line_of(*node), "MUL_MAT f32 [5,7,1,1] <a,b> {10,1}");
    EXPECT_TRUE(ggml_prec_set_acc(node, GGML_PREC_BF16));
    EXPECT_TRUE(ggml_prec_set_src(node, GGML_PREC_Q8, 1));
    EXPECT_EQ(line_of(*node), "MUL_MAT f32 [5,7,1,1] <a,b> {15,1,0,30}");
}

TEST(OpsMatmul, PrecisionIsRefusedWhereItMeansNothing) {
    const Maker m;
    ggml_tensor* product =
        ggml_mul_mat_id(m.ctx, m.f32("a", 4, 5, 2), m.f32("b", 4, 1, 3), m.i32("i", 2, 3));
    EXPECT_TRUE(ggml_prec_set_acc(product, GGML_PREC_F32));
    EXPECT_FALSE(ggml_prec_set_acc(product, GGML_PREC_Q8));
    EXPECT_FALSE(ggml_prec_set_acc(product, GGML_PREC_Q4));
    EXPECT_FALSE(ggml_prec_set_src(product, GGML_PREC_Q8, 0));
    EXPECT_EQ(line_of(*product), "MUL_MAT_ID f32 [5,2,3,1] <a,b,i> {10}");
    ggml_tensor* other = ggml_relu(m.ctx, product);
    const std::string before = line_of(*other);
    EXPECT_FALSE(ggml_prec_set_acc(other, GGML_PREC_F32));
    EXPECT_FALSE(ggml_prec_set_src(other, GGML_PREC_F32, 1));
    EXPECT_FALSE(ggml_prec_set_acc(nullptr, GGML_PREC_F32));
    tenon_clear_error();
    ggml_mul_mat_set_prec(other, GGML_PREC_F32);
    EXPECT_STREQ(tenon_last_error(), "ggml_mul_mat_set_prec: the node is UNARY, must be MUL_MAT");
    ggml_mul_mat_set_hint(other, GGML_HINT_SRC0_IS_HADAMARD);
    EXPECT_STREQ(tenon_last_error(), "ggml_mul_mat_set_hint: the node is UNARY, must be MUL_MAT");
    EXPECT_EQ(line_of(*other), before);
}

}  // namespace
