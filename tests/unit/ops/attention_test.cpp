// Nodes and errors of the builders in attention.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::line_of;
using tenon::test::Maker;

namespace {

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

}  // namespace
