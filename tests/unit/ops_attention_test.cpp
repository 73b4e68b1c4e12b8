// Nodes and errors of the builders in matmul, attention, rope and window.

#include <gtest/gtest.h>

#include <cmath>

#include "op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::line_of;
using tenon::test::Maker;

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // ggml_rope_custom

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

ggml_tensor* flash(const Maker& m, ggml_tensor* mask, float max_bias = 0.0f) {
    return ggml_flash_attn_ext(m.ctx, m.f32("q", 64, 3, 8, 2), m.f16("k", 64, 32, 4, 2),
                               m.f16("v", 48, 32, 2, 2), mask, 0.125f, max_bias, 50.0f);
}

TEST(OpsAttention, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_soft_max(m.ctx, m.f32("a", 4, 3, 2)); },
         "SOFT_MAX f32 [4,3,2,1] <a> {1f}"},
        {[](const Maker& m) { return ggml_soft_max_inplace(m.ctx, m.f32("a", 4, 3, 2)); },
         "SOFT_MAX f32 [4,3,2,1] <a> {1f} =a 'a (view)'"},
        {[](const Maker& m) {
             return ggml_soft_max_ext(m.ctx, m.f32("a", 4, 3, 6, 2), m.f16("m", 4, 5, 3), 0.5f,
                                      8.0f);
         },
         "SOFT_MAX f32 [4,3,6,2] <a,m> {0.5f,8f}"},
        {[](const Maker& m) {
             return ggml_soft_max_ext_inplace(m.ctx, m.f32("a", 4, 3), m.f32("m", 4, 3), 0.5f,
                                              0.0f);
         },
         "SOFT_MAX f32 [4,3,1,1] <a,m> {0.5f} =a 'a (view)'"},
        {[](const Maker& m) {
             return ggml_soft_max_ext_back(m.ctx, m.f32("g", 4, 3), m.f32("y", 4, 3), 0.5f, 0.0f);
         },
         "SOFT_MAX_BACK f32 [4,3,1,1] <g,y> {0.5f}"},
        {[](const Maker& m) {
             return ggml_soft_max_ext_back_inplace(m.ctx, m.f32("g", 4), m.f32("y", 4), 0.5f, 8.0f);
         },
         "SOFT_MAX_BACK f32 [4,1,1,1] <g,y> {0.5f,8f} =g 'g (view)'"},
        {[](const Maker& m) { return flash(m, nullptr); },
         "FLASH_ATTN_EXT f32 [48,8,3,2] <q,k,v> {0.125f,0,50f}"},
        {[](const Maker& m) { return flash(m, m.f16("m", 32, 4, 2), 8.0f); },
         "FLASH_ATTN_EXT f32 [48,8,3,2] <q,k,v,m> {0.125f,8f,50f}"},
        {[](const Maker& m) {
             return ggml_lightning_indexer(m.ctx, m.f32("q", 16, 4, 3, 2), m.f16("k", 16, 1, 5, 2),
                                           m.f32("w", 4, 3, 1, 2), m.f16("m", 5, 3));
         },
         "LIGHTNING_INDEXER f32 [5,3,1,2] <q,k,w,m>"},
    });
}

TEST(OpsAttention, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_soft_max(m.ctx, m.transposed("a", 4, 3)); },
         "SOFT_MAX: src0 'a' is not contiguous: shape [4, 3, 1, 1], strides [12, 4, 48, 48]"},
        {[](const Maker& m) {
             return ggml_soft_max_ext(m.ctx, m.f32("a", 4, 3), m.i32("m", 4, 3), 1.0f, 0.0f);
         },
         "SOFT_MAX: src1 'm' is i32, must be f16 or f32"},
        {[](const Maker& m) {
             return ggml_soft_max_ext(m.ctx, m.f32("a", 4, 3), m.padded("m", 4, 3), 1.0f, 0.0f);
         },
         "SOFT_MAX: src1 'm' is not contiguous: shape [4, 3, 1, 1], strides [4, 32, 96, 96]"},
        {[](const Maker& m) {
             return ggml_soft_max_ext(m.ctx, m.f32("a", 4, 3), m.f32("m", 5, 3), 1.0f, 0.0f);
         },
         "SOFT_MAX: src1 'm' has ne[0] = 5, src0 'a' has ne[0] = 4"},
        {[](const Maker& m) {
             return ggml_soft_max_ext(m.ctx, m.f32("a", 4, 3), m.f32("m", 4, 2), 1.0f, 0.0f);
         },
         "SOFT_MAX: src1 has ne[1] = 2, must be at least 3"},
        {[](const Maker& m) {
             return ggml_soft_max_ext(m.ctx, m.f32("a", 4, 3, 5), m.f32("m", 4, 3, 2), 1.0f, 0.0f);
         },
         "SOFT_MAX: src0 'a' has ne[2] = 5, no multiple of ne[2] = 2 of src1 'm'"},
        {[](const Maker& m) {
             return ggml_soft_max_ext(m.ctx, m.f32("a", 4, 3, 1, 5), m.f32("m", 4, 3, 1, 2), 1.0f,
                                      0.0f);
         },
         "SOFT_MAX: src0 'a' has ne[3] = 5, no multiple of ne[3] = 2 of src1 'm'"},
        {[](const Maker& m) {
             return ggml_soft_max_ext(m.ctx, m.f32("a", 4, 3), nullptr, 1.0f, 8.0f);
         },
         "SOFT_MAX: max_bias is 8, which needs a mask"},
        {[](const Maker& m) {
             return ggml_soft_max_ext_back(m.ctx, m.f32("g", 4), m.f32("y", 5), 1.0f, 0.0f);
         },
         "SOFT_MAX_BACK: src0 'g' has shape [4, 1, 1, 1], src1 'y' has [5, 1, 1, 1]"},
        {[](const Maker& m) {
             return ggml_flash_attn_ext(m.ctx, m.f32("q", 64, 3, 8), m.f16("k", 32, 32, 8),
                                        m.f16("v", 64, 32, 8), nullptr, 1.0f, 0.0f, 0.0f);
         },
         "FLASH_ATTN_EXT: src0 'q' has ne[0] = 64, src1 'k' has ne[0] = 32"},
        {[](const Maker& m) {
             return ggml_flash_attn_ext(m.ctx, m.f32("q", 64, 3, 8), m.f16("k", 64, 32, 3),
                                        m.f16("v", 64, 32, 8), nullptr, 1.0f, 0.0f, 0.0f);
         },
         "FLASH_ATTN_EXT: src0 'q' has ne[2] = 8, no multiple of ne[2] = 3 of src1 'k'"},
        {[](const Maker& m) {
             return ggml_flash_attn_ext(m.ctx, m.f32("q", 64, 3, 8), m.f16("k", 64, 32, 8),
                                        m.f16("v", 64, 32, 3), nullptr, 1.0f, 0.0f, 0.0f);
         },
         "FLASH_ATTN_EXT: src0 'q' has ne[2] = 8, no multiple of ne[2] = 3 of src2 'v'"},
        {[](const Maker& m) {
             return ggml_flash_attn_ext(m.ctx, m.f32("q", 64, 3, 8), m.f16("k", 64, 32, 8),
                                        m.f16("v", 64, 31, 8), nullptr, 1.0f, 0.0f, 0.0f);
         },
         "FLASH_ATTN_EXT: src1 'k' has ne[1] = 32, src2 'v' has ne[1] = 31"},
        {[](const Maker& m) {
             return ggml_flash_attn_ext(m.ctx, m.f32("q", 64, 3, 8, 2), m.f16("k", 64, 32, 8),
                                        m.f16("v", 64, 32, 8), nullptr, 1.0f, 0.0f, 0.0f);
         },
         "FLASH_ATTN_EXT: src0 'q' has ne[3] = 2, src1 'k' has ne[3] = 1"},
        {[](const Maker& m) {
             return ggml_flash_attn_ext(m.ctx, m.f32("q", 64, 3, 8), m.f16("k", 64, 32, 8),
                                        m.f16("v", 64, 32, 8, 2), nullptr, 1.0f, 0.0f, 0.0f);
         },
         "FLASH_ATTN_EXT: src0 'q' has ne[3] = 1, src2 'v' has ne[3] = 2"},
        {[](const Maker& m) { return flash(m, m.f32("m", 32, 3)); },
         "FLASH_ATTN_EXT: src3 'm' is f32, must be f16"},
        {[](const Maker& m) { return flash(m, ggml_transpose(m.ctx, m.f16("m", 3, 32))); },
         "FLASH_ATTN_EXT: src3 'm (transposed)' is not contiguous: shape [32, 3, 1, 1], strides "
         "[6, 2, 192, 192]"},
        {[](const Maker& m) { return flash(m, m.f16("m", 31, 3)); },
         "FLASH_ATTN_EXT: src3 'm' has ne[0] = 31, src1 'k' has ne[1] = 32"},
        {[](const Maker& m) { return flash(m, m.f16("m", 32, 2)); },
         "FLASH_ATTN_EXT: src3 has ne[1] = 2, must be at least 3"},
        {[](const Maker& m) { return flash(m, m.f16("m", 32, 3, 3)); },
         "FLASH_ATTN_EXT: src0 'q' has ne[2] = 8, no multiple of ne[2] = 3 of src3 'm'"},
        {[](const Maker& m) { return flash(m, m.f16("m", 32, 3, 1, 3)); },
         "FLASH_ATTN_EXT: src0 'q' has ne[3] = 2, no multiple of ne[3] = 3 of src3 'm'"},
        {[](const Maker& m) { return flash(m, nullptr, 8.0f); },
         "FLASH_ATTN_EXT: max_bias is 8, which needs a mask"},
        {[](const Maker& m) {
             ggml_tensor* x = m.f32("x", 4);
             return ggml_flash_attn_back(m.ctx, x, x, x, x, true);
         },
         "FLASH_ATTN_BACK is not supported"},
        {[](const Maker& m) {
             return ggml_lightning_indexer(m.ctx, m.f16("q", 16, 4, 3), m.f16("k", 16, 1, 5),
                                           m.f32("w", 4, 3), m.f16("m", 5, 3));
         },
         "LIGHTNING_INDEXER: src0 'q' is f16, must be f32"},
        {[](const Maker& m) {
             return ggml_lightning_indexer(m.ctx, m.f32("q", 16, 4, 3), m.f16("k", 16, 2, 5),
                                           m.f32("w", 4, 3), m.f16("m", 5, 3));
         },
         "LIGHTNING_INDEXER: src1 'k' has ne[1] = 2, must be 1"},
        {[](const Maker& m) {
             return ggml_lightning_indexer(m.ctx, m.f32("q", 16, 4, 3), m.f16("k", 16, 1, 5),
                                           m.f32("w", 4, 2), m.f16("m", 5, 3));
         },
         "LIGHTNING_INDEXER: src2 'w' has ne[1] = 2, must be 3"},
        {[](const Maker& m) {
             return ggml_lightning_indexer(m.ctx, m.f32("q", 16, 4, 3), m.f16("k", 16, 1, 5),
                                           m.f32("w", 4, 3), m.f32("m", 5, 3));
         },
         "LIGHTNING_INDEXER: src3 'm' is f32, must be f16"},
        {[](const Maker& m) {
             return ggml_lightning_indexer(m.ctx, m.f32("q", 16, 4, 3, 3), m.f16("k", 16, 1, 5, 3),
                                           m.f32("w", 4, 3, 1, 3), m.f16("m", 5, 3, 1, 2));
         },
         "LIGHTNING_INDEXER: src0 'q' has ne[3] = 3, no multiple of ne[3] = 2 of src3 'm'"},
    });
}

TEST(OpsAttention, SinksFillASourceOnce) {
    const Maker m;
    const struct {
        ggml_tensor* node;
        void (*add)(ggml_tensor*, ggml_tensor*);
        const char *name, *op, *with;
    } rows[] = {
        {ggml_soft_max(m.ctx, m.f32("a", 4, 3, 8)), ggml_soft_max_add_sinks,
         "ggml_soft_max_add_sinks", "SOFT_MAX", "SOFT_MAX f32 [4,3,8,1] <a,-,s> {1f}"},
        {flash(m, nullptr), ggml_flash_attn_ext_add_sinks, "ggml_flash_attn_ext_add_sinks",
         "FLASH_ATTN_EXT", "FLASH_ATTN_EXT f32 [48,8,3,2] <q,k,v,-,s> {0.125f,0,50f}"},
    };
    for (const auto& row : rows) {
        const std::string without = line_of(*row.node);
        const std::string slot = std::strcmp(row.op, "SOFT_MAX") == 0 ? "src2" : "src4";
        tenon_clear_error();
        row.add(row.node, m.f32("s", 7));
        EXPECT_EQ(tenon_last_error(), std::string(row.op) + ": " + slot +
                                          " 's' has ne[0] = 7, src0 '" + row.node->src[0]->name +
                                          "' has ne[2] = 8");
        row.add(row.node, m.f16("s", 8));
        EXPECT_EQ(tenon_last_error(),
                  std::string(row.op) + ": " + slot + " 's' is f16, must be f32");
        tenon_clear_error();
        row.add(row.node, nullptr);
        EXPECT_EQ(line_of(*row.node), without);
        row.add(row.node, m.f32("s", 8));
        EXPECT_EQ(line_of(*row.node), row.with);
        EXPECT_STREQ(tenon_last_error(), "");
        row.add(row.node, m.f32("t", 8));
        EXPECT_EQ(tenon_last_error(), std::string(row.name) + ": the node has sinks 's' already");
        EXPECT_EQ(line_of(*row.node), row.with);
        row.add(m.f32("leaf", 8), m.f32("t", 8));
        EXPECT_EQ(tenon_last_error(),
                  std::string(row.name) + ": the node is NONE, must be " + row.op);
    }
}

TEST(OpsAttention, FlashAttentionHasWordsThatAreSetLater) {
    const Maker m;
    ggml_tensor* node = flash(m, nullptr);
    EXPECT_EQ(ggml_flash_attn_ext_get_prec(node), GGML_PREC_DEFAULT);
    ggml_flash_attn_ext_set_prec(node, GGML_PREC_F32);
    EXPECT_EQ(ggml_flash_attn_ext_get_prec(node), GGML_PREC_F32);
    EXPECT_TRUE(ggml_prec_set_acc(node, GGML_PREC_F16));
    ggml_flash_attn_ext_set_n_kv_max(node, 77);
    EXPECT_EQ(line_of(*node), "FLASH_ATTN_EXT f32 [48,8,3,2] <q,k,v> {0.125f,0,50f,20,77}");
    tenon_clear_error();
    ggml_flash_attn_ext_set_n_kv_max(node, -1);
    EXPECT_STREQ(tenon_last_error(), "FLASH_ATTN_EXT: n_kv_max is -1, must be at least 0");
    ggml_tensor* other = m.f32("leaf", 4);
    ggml_flash_attn_ext_set_n_kv_max(other, 1);
    EXPECT_STREQ(tenon_last_error(),
                 "ggml_flash_attn_ext_set_n_kv_max: the node is NONE, must be FLASH_ATTN_EXT");
    ggml_flash_attn_ext_set_prec(other, GGML_PREC_F32);
    EXPECT_STREQ(tenon_last_error(),
                 "ggml_flash_attn_ext_set_prec: the node is NONE, must be FLASH_ATTN_EXT");
    EXPECT_EQ(ggml_flash_attn_ext_get_prec(other), GGML_PREC_DEFAULT);
    EXPECT_STREQ(tenon_last_error(),
                 "ggml_flash_attn_ext_get_prec: the node is NONE, must be FLASH_ATTN_EXT");
    EXPECT_EQ(line_of(*node), "FLASH_ATTN_EXT f32 [48,8,3,2] <q,k,v> {0.125f,0,50f,20,77}");
}

// The builder with all arguments that come before the scaling, and this scaling.
template <class Build, class... Args>
ggml_tensor* scaled(Build build, Args... args) {
    return build(args..., /*n_ctx_orig=*/4096, /*freq_base=*/10000.0f, /*freq_scale=*/0.5f,
                 /*ext_factor=*/1.0f, /*attn_factor=*/1.25f, /*beta_fast=*/32.0f,
                 /*beta_slow=*/2.0f);
}
constexpr ggml_tensor* kNone = nullptr;

TEST(OpsRope, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 2);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,2,0,0,10000f,1f,0,1f}"},
        {[](const Maker& m) {
             return ggml_rope_inplace(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 0);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,0,0,0,10000f,1f,0,1f} =a 'a (view)'"},
        {[](const Maker& m) {
             return scaled(ggml_rope_ext, m.ctx, m.f16("a", 64, 8, 5), m.i32("p", 5),
                           m.f32("c", 16), 32, 2);
         },
         "ROPE f16 [64,8,5,1] <a,p,c> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f}"},
        {[](const Maker& m) {
             return scaled(ggml_rope_ext_inplace, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), kNone,
                           32, 2);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f} =a 'a (view)'"},
        {[](const Maker& m) {
             return scaled(ggml_rope_custom, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 2);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f}"},
        {[](const Maker& m) {
             return scaled(ggml_rope_custom_inplace, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32,
                           2);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f} =a 'a (view)'"},
        {[](const Maker& m) {
             return scaled(ggml_rope_ext_back, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5),
                           m.f32("c", 32), 32, 2);
         },
         "ROPE_BACK f32 [64,8,5,1] <a,p,c> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f}"},
        {[](const Maker& m) {
             int sections[] = {3, 4, 5, 6};
             return scaled(ggml_rope_multi, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 20), kNone, 32,
                           sections, GGML_ROPE_TYPE_MROPE);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,8,0,4096,10000f,0.5f,1f,1.25f,32f,2f,3,4,5,6}"},
        {[](const Maker& m) {
             int sections[] = {3, 4, 5, 6};
             return scaled(ggml_rope_multi_inplace, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 20),
                           kNone, 32, sections, GGML_ROPE_TYPE_IMROPE);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,40,0,4096,10000f,0.5f,1f,1.25f,32f,2f,3,4,5,6} =a "
         "'a (view)'"},
        {[](const Maker& m) {
             int sections[] = {3, 4, 5, 6};
             return scaled(ggml_rope_multi_back, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 20), kNone,
                           32, sections, GGML_ROPE_TYPE_VISION);
         },
         "ROPE_BACK f32 [64,8,5,1] <a,p> {0,32,24,0,4096,10000f,0.5f,1f,1.25f,32f,2f,3,4,5,6}"},
        {[](const Maker& m) {
             int sections[] = {3, 4, 5, 6};  // mode 2 has none
             return scaled(ggml_rope_multi, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), kNone, 32,
                           sections, GGML_ROPE_TYPE_NEOX);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f}"},
        {[](const Maker& m) {
             return ggml_rope_set_offset(
                 ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 0), 16);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,0,0,0,10000f,1f,0,1f,0,0,0,0,0,0,16}"},
    });
}

TEST(OpsRope, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 1);
         },
         "ROPE: mode is 1, must be even"},
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), -2, 0);
         },
         "ROPE: n_dims is -2, must be at least 0"},
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5, 2), 32, 0);
         },
         "ROPE: src1 'p' of shape [5, 2, 1, 1] has more than 1 dimensions"},
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.f32("p", 5), 32, 0);
         },
         "ROPE: src1 'p' is f32, must be i32"},
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 4), 32, 0);
         },
         "ROPE: src1 'p' has ne[0] = 4, must be 5"},
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 8);
         },
         "ROPE: src1 'p' has ne[0] = 5, must be 20"},
        {[](const Maker& m) {
             return scaled(ggml_rope_ext_back, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5),
                           m.f16("c", 16), 32, 2);
         },
         "ROPE_BACK: src2 'c' is f16, must be f32"},
        {[](const Maker& m) {
             return scaled(ggml_rope_ext, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5),
                           m.f32("c", 15), 32, 2);
         },
         "ROPE: src2 has ne[0] = 15, must be at least 16"},
        {[](const Maker& m) { return ggml_rope_set_offset(m.f32("a", 4), 2); },
         "ggml_rope_set_offset: the node is NONE, must be ROPE"},
        {[](const Maker& m) {
             return ggml_rope_set_offset(
                 ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 0), -2);
         },
         "ROPE: the offset is -2, must be at least 0"},
        {[](const Maker& m) {
             return ggml_rope_set_offset(
                 ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 20), 32, 24), 2);
         },
         "ROPE: mode 24 (vision) has no offset"},
    });
}

TEST(OpsRope, CorrectionRangeOfYarn) {
    float dims[2];
    ggml_rope_yarn_corr_dims(128, 4096, 10000.0f, 32.0f, 1.0f, dims);
    // 128 ln(4096 / (2 pi 32)) / (2 ln 10000) = 20.94…, with 1 in place of 32: 45.03…
    EXPECT_EQ(dims[0], 20.0f);
    EXPECT_EQ(dims[1], 46.0f);
    ggml_rope_yarn_corr_dims(128, 0, 10000.0f, 1.0f, 1.0f, dims);
    EXPECT_EQ(dims[0], 0.0f);
    EXPECT_TRUE(std::isinf(dims[1]) && dims[1] < 0);
    ggml_rope_yarn_corr_dims(16, 1 << 30, 2.0f, 1.0f, 1.0f, dims);
    EXPECT_EQ(dims[1], 15.0f);
    ggml_rope_yarn_corr_dims(16, 1, 2.0f, 1.0f, 1.0f, nullptr);
}

TEST(OpsWindow, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_win_part(m.ctx, m.f32("a", 3, 9, 8), 4); },
         "WIN_PART f32 [3,4,4,6] <a> {3,2,4}"},
        {[](const Maker& m) { return ggml_win_unpart(m.ctx, m.f32("a", 3, 4, 4, 6), 9, 8, 4); },
         "WIN_UNPART f32 [3,9,8,1] <a> {4}"},
        {[](const Maker& m) { return ggml_get_rel_pos(m.ctx, m.f16("a", 3, 7), 4, 4); },
         "GET_REL_POS f16 [3,4,4,1] <a>"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 9, 8, 5), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS f32 [9,8,5,1] <a,w,h>"},
        {[](const Maker& m) {
             return ggml_add_rel_pos_inplace(m.ctx, m.f32("a", 9, 8, 5), m.f32("w", 3, 4, 2, 5),
                                             m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS f32 [9,8,5,1] <a,w,h> {1} =a 'a (view)'"},
    });
}

TEST(OpsWindow, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_win_part(m.ctx, m.f32("a", 3, 9, 8, 2), 4); },
         "WIN_PART: src0 'a' of shape [3, 9, 8, 2] has more than 3 dimensions"},
        {[](const Maker& m) { return ggml_win_part(m.ctx, m.f16("a", 3, 9, 8), 4); },
         "WIN_PART: src0 'a' is f16, must be f32"},
        {[](const Maker& m) { return ggml_win_part(m.ctx, m.f32("a", 3, 9, 8), 0); },
         "WIN_PART: window is 0, must be at least 1"},
        {[](const Maker& m) { return ggml_win_unpart(m.ctx, m.f16("a", 3, 4, 4, 6), 9, 8, 4); },
         "WIN_UNPART: src0 'a' is f16, must be f32"},
        {[](const Maker& m) { return ggml_win_unpart(m.ctx, m.f32("a", 3, 4, 4, 6), 9, 8, -4); },
         "WIN_UNPART: window is -4, must be at least 1"},
        {[](const Maker& m) { return ggml_win_unpart(m.ctx, m.f32("a", 3, 4, 4, 6), -9, 8, 4); },
         "WIN_UNPART: width is -9, must be at least 0"},
        {[](const Maker& m) { return ggml_win_unpart(m.ctx, m.f32("a", 3, 4, 4, 6), 13, 8, 4); },
         "WIN_UNPART: src0 'a' has ne[3] = 6, must be 8"},
        {[](const Maker& m) { return ggml_get_rel_pos(m.ctx, m.f16("a", 3, 7), 4, 3); },
         "GET_REL_POS: qh is 4, kh is 3"},
        {[](const Maker& m) { return ggml_get_rel_pos(m.ctx, m.f16("a", 3, 8), 4, 4); },
         "GET_REL_POS: src0 'a' has ne[1] = 8, must be 7"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 9, 8, 5), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 2, 4, 5));
         },
         "ADD_REL_POS: src1 'w' has shape [3, 4, 2, 5], src2 'h' has [3, 2, 4, 5]"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.padded("a", 9, 8, 5), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS: src0 'a' is not contiguous: shape [9, 8, 5, 1], strides "
         "[4, 72, 576, 2880]"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 9, 8, 5), m.f16("w", 3, 4, 2, 5),
                                     m.f16("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS: src1 'w' is f16, must be f32"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 9, 8, 4), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS: src1 'w' has ne[3] = 5, src0 'a' has ne[2] = 4"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 8, 8, 5), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS: src0 'a' has ne[0] = 8, must be 9"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 9, 7, 5), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS: src0 'a' has ne[1] = 7, must be 8"},
    });
}

}  // namespace
