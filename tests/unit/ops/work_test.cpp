// tenon/work.h: what nodes take, worked out by hand for an op of each kind.

#include "tenon/work.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_nodes.h"

using tenon::test::Maker;

namespace {

struct WorkCase {
    const char* what;
    ggml_tensor* (*make)(const Maker& m);
    double ops, bytes_read, bytes_written;
    uint32_t kind = TENON_WORK_VECTOR;
};

void expect_work(std::initializer_list<WorkCase> cases) {
    for (const WorkCase& c : cases) {
        const Maker m;
        const ggml_tensor* node = c.make(m);
        ASSERT_NE(node, nullptr) << c.what << ": " << tenon_last_error();
        const tenon_work work = tenon_node_work(node);
        EXPECT_EQ(work.ops, c.ops) << c.what;
        EXPECT_EQ(work.bytes_read, c.bytes_read) << c.what;
        EXPECT_EQ(work.bytes_written, c.bytes_written) << c.what;
        EXPECT_EQ(work.kind, c.kind) << c.what;
    }
}

constexpr double kF = TENON_WORK_FUNCTION;

TEST(Work, OfElementsIsSoMuchForEach) {
    expect_work({
        {"add, b repeated to 4 rows",
         [](const Maker& m) { return ggml_add(m.ctx, m.f32("a", 10, 4), m.f32("b", 10)); }, 40,
         160 + 40, 160},
        {"scale and shift, in place: the same bytes are read and written",
         [](const Maker& m) { return ggml_scale_inplace(m.ctx, m.f32("a", 10), 2); }, 20, 40, 40},
        {"an exponential", [](const Maker& m) { return ggml_exp(m.ctx, m.f16("a", 10)); }, 10 * kF,
         20, 20},
        {"relu is one comparison", [](const Maker& m) { return ggml_relu(m.ctx, m.f32("a", 10)); },
         10, 40, 40},
        {"relu of one half times the other",
         [](const Maker& m) { return ggml_reglu(m.ctx, m.f32("a", 20)); }, 20, 80, 40},
        {"sum of squares, then a factor",
         [](const Maker& m) { return ggml_rms_norm(m.ctx, m.f32("a", 10, 4), 1e-5f); }, 120, 160,
         160},
        {"sum: the elements of the source count",
         [](const Maker& m) { return ggml_sum(m.ctx, m.f32("a", 10, 4)); }, 40, 160, 4},
        {"fill: the source has only the shape",
         [](const Maker& m) { return ggml_fill(m.ctx, m.f32("a", 10), 1); }, 0, 0, 40},
        {"a quantized sum is decoded and encoded",
         [](const Maker& m) { return ggml_add(m.ctx, m("a", GGML_TYPE_Q8_0, 32), m.f32("b", 32)); },
         32 * (1 + TENON_WORK_DECODE + TENON_WORK_ENCODE), 34 + 128, 34},
    });
}

TEST(Work, OfCopiesIsBytesAndConversions) {
    expect_work({
        {"a copy of the same type",
         [](const Maker& m) { return ggml_cont(m.ctx, m.transposed("a", 8, 4)); }, 0, 128, 128},
        {"f32 to f16: the old contents of the result are not read",
         [](const Maker& m) { return ggml_cpy(m.ctx, m.f32("a", 32), m.f16("b", 32)); }, 32, 128,
         64},
        {"f32 to q8_0",
         [](const Maker& m) { return ggml_cpy(m.ctx, m.f32("a", 64), m("b", GGML_TYPE_Q8_0, 64)); },
         64 * TENON_WORK_ENCODE, 256, 68},
        {"7 elements into a copy of 20",
         [](const Maker& m) { return ggml_set_1d(m.ctx, m.f32("a", 20), m.f32("b", 7), 0); }, 0,
         80 + 28, 80},
        {"7 elements into 20 that stay where they are",
         [](const Maker& m) {
             return ggml_set_inplace(m.ctx, m.f32("a", 20), m.f32("b", 7), 80, 80, 80, 0);
         },
         0, 28, 28},
        {"7 elements added to 20 that stay where they are",
         [](const Maker& m) {
             return ggml_acc_inplace(m.ctx, m.f32("a", 20), m.f32("b", 7), 80, 80, 80, 0);
         },
         7, 56, 28},
    });
}

TEST(Work, OfRowsIsThatOfTheRowsPicked) {
    expect_work({
        {"3 of 1000 rows, decoded",
         [](const Maker& m) {
             return ggml_get_rows(m.ctx, m("a", GGML_TYPE_Q4_0, 64, 1000), m.i32("i", 3));
         },
         3 * 64 * TENON_WORK_DECODE, 3 * 36 + 12, 3 * 256},
        {"3 rows into 1000, as f16",
         [](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f16("d", 64, 1000), m.f32("a", 64, 3), m.i32("i", 3));
         },
         3 * 64, 3 * 256 + 12, 3 * 128},
        {"no more rows are read of b than are picked",
         [](const Maker& m) {
             return ggml_add_id(m.ctx, m.f32("a", 10, 2, 3), m.f32("b", 10, 100), m.i32("i", 2, 3));
         },
         60, 240 + 6 * 40 + 24, 240},
        {"rows are added up",
         [](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f32("dy", 8, 3), m.i32("i", 3), m.f32("c", 8, 5));
         },
         24, 96 + 12, 160},
    });
}

TEST(Work, OfProductsIsTwoForEachMultiplyAdd) {
    expect_work({
        {"matrix times matrix",
         [](const Maker& m) { return ggml_mul_mat(m.ctx, m.f32("a", 64, 5), m.f32("b", 64, 7)); },
         2 * 5 * 7 * 64, 4 * 64 * 12, 4 * 35, TENON_WORK_PRODUCT_F32},
        {"weights repeated over a batch are read once",
         [](const Maker& m) {
             return ggml_mul_mat(m.ctx, m("a", GGML_TYPE_Q4_0, 64, 5), m.f32("b", 64, 7, 3));
         },
         2 * 5 * 7 * 3 * 64, 5 * 36 + 4 * 64 * 21, 4 * 105, TENON_WORK_PRODUCT_I8},
        {"4 entries of ids touch at most 4 of 8 experts",
         [](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.f16("a", 64, 5, 8), m.f32("b", 64, 2, 2),
                                    m.i32("i", 2, 2));
         },
         2 * 5 * 4 * 64, 4 * (5 * 128) + 4 * 256 + 16, 4 * 20, TENON_WORK_PRODUCT_F16},
        {"16 entries of ids touch all of 8 experts",
         [](const Maker& m) {
             return ggml_mul_mat_id(m.ctx, m.f16("a", 64, 5, 8), m.f32("b", 64, 2, 8),
                                    m.i32("i", 2, 8));
         },
         2 * 5 * 16 * 64, 8 * (5 * 128) + 16 * 256 + 64, 4 * 80, TENON_WORK_PRODUCT_F16},
        {"outer products of 4 rows",
         [](const Maker& m) { return ggml_out_prod(m.ctx, m.f32("a", 6, 4), m.f32("b", 5, 4)); },
         2 * 6 * 5 * 4, 4 * (24 + 20), 4 * 30, TENON_WORK_PRODUCT_F32},
    });
}

TEST(Work, OfConvolutionsIsThatOfEveryTap) {
    expect_work({
        {"3x3, 4 channels to 2, 8x6 positions",
         [](const Maker& m) {
             return ggml_conv_2d_direct(m.ctx, m.f16("k", 3, 3, 4, 2), m.f32("x", 8, 6, 4), 1, 1, 1,
                                        1, 1, 1);
         },
         2 * (8 * 6 * 2) * (3 * 3 * 4), 2 * 72 + 4 * 192, 4 * 96, TENON_WORK_PRODUCT_F16},
        {"3x3, each of 4 channels on its own",
         [](const Maker& m) {
             return ggml_conv_2d_dw_direct(m.ctx, m.f32("k", 3, 3, 1, 4), m.f32("x", 8, 6, 4), 1, 1,
                                           1, 1, 1, 1);
         },
         2 * (8 * 6 * 4) * 9, 4 * 36 + 4 * 192, 4 * 192, TENON_WORK_PRODUCT_F32},
        {"2x2x2, 3 channels to 2, 3x3x3 positions",
         [](const Maker& m) {
             return ggml_conv_3d_direct(m.ctx, m.f32("k", 2, 2, 2, 6), m.f32("x", 4, 4, 4, 3), 1, 1,
                                        1, 0, 0, 0, 1, 1, 1, 3, 1, 2);
         },
         2 * (27 * 2) * (8 * 3), 4 * 48 + 4 * 192, 4 * 54, TENON_WORK_PRODUCT_F32},
        {"transposed: each of 5x3 inputs meets 4 taps of 2 channels",
         [](const Maker& m) {
             return ggml_conv_transpose_1d(m.ctx, m.f32("k", 4, 2, 3), m.f32("x", 5, 3), 2, 0, 1);
         },
         2 * (5 * 3) * (4 * 2), 4 * 24 + 4 * 15, 4 * 12 * 2, TENON_WORK_PRODUCT_F32},
        {"transposed: each of 4x4x3 inputs meets 2x2 taps of 5 channels",
         [](const Maker& m) {
             return ggml_conv_transpose_2d_p0(m.ctx, m.f16("k", 2, 2, 5, 3), m.f32("x", 4, 4, 3),
                                              2);
         },
         2 * 48 * 20, 2 * 60 + 4 * 48, 4 * 64 * 5, TENON_WORK_PRODUCT_F16},
        {"patches: the kernel has only the shape",
         [](const Maker& m) {
             return ggml_im2col(m.ctx, m.f16("k", 3, 3, 4, 2), m.f32("x", 8, 6, 4), 1, 1, 1, 1, 1,
                                1, true, GGML_TYPE_F32);
         },
         0, 4 * 192, 4 * (36 * 48)},
        {"the largest of 2x3 elements",
         [](const Maker& m) {
             return ggml_pool_2d(m.ctx, m.f32("x", 8, 6), GGML_OP_POOL_MAX, 2, 3, 2, 3, 0, 0);
         },
         6 * (4 * 2), 4 * 48, 4 * 8},
        {"bilinear: 4 factors and sums",
         [](const Maker& m) {
             return ggml_interpolate(m.ctx, m.f32("x", 4, 4), 8, 8, 1, 1, GGML_SCALE_MODE_BILINEAR);
         },
         8 * 64, 4 * 16, 4 * 64},
    });
}

TEST(Work, OfAttentionIsThatOfEveryScore) {
    const auto attention = [](const Maker& m, ggml_type cache, int64_t queries) {
        return ggml_flash_attn_ext(m.ctx, m.f32("q", 64, queries, 4), m("k", cache, 64, 100, 2),
                                   m("v", cache, 32, 100, 2), m.f16("mask", 100, queries), 0.125f,
                                   0, 0);
    };
    const Maker m;
    tenon_work work = tenon_node_work(attention(m, GGML_TYPE_F16, 3));
    EXPECT_EQ(work.ops, 3 * 4 * 100 * (2 * 64 + 2 * 32 + kF + 4));
    EXPECT_EQ(work.bytes_read, 4 * 64 * 12 + 2 * (64 + 32) * 200 + 2 * 300);
    EXPECT_EQ(work.bytes_written, 4 * 32 * 4 * 3);
    EXPECT_EQ(work.kind, static_cast<uint32_t>(TENON_WORK_PRODUCT_F16));

    // A cache of q8_0: 34 bytes for 32 elements.
    work = tenon_node_work(attention(m, GGML_TYPE_Q8_0, 3));
    EXPECT_EQ(work.bytes_read, 4 * 64 * 12 + 34 * (2 + 1) * 200 + 2 * 300);
    EXPECT_EQ(work.kind, static_cast<uint32_t>(TENON_WORK_PRODUCT_I8));

    // One query that sees 10 of the 100 keys.
    ggml_tensor* sparse = attention(m, GGML_TYPE_F16, 1);
    ggml_flash_attn_ext_set_n_kv_max(sparse, 10);
    work = tenon_node_work(sparse);
    EXPECT_EQ(work.ops, 4 * 10 * (2 * 64 + 2 * 32 + kF + 4));
    EXPECT_EQ(work.bytes_read, 4 * 64 * 4 + 2 * (64 + 32) * 20 + 2 * 100);
}

TEST(Work, OfRecurrencesIsThatOfTheWholeStateForEachToken) {
    expect_work({
        {"5 tokens change 2 states of 8x8",
         [](const Maker& m) {
             return ggml_gated_linear_attn(m.ctx, m.f32("k", 8, 2, 5), m.f32("v", 8, 2, 5),
                                           m.f32("q", 8, 2, 5), m.f32("g", 8, 2, 5),
                                           m.f32("s", 8 * 8 * 2, 1), 1);
         },
         5.0 * (5 * 2) * (8 * 8), 4 * (4 * 80 + 128), 4 * (80 + 128), TENON_WORK_RECURRENT},
        {"a window of 4 over 5 tokens of 6 channels",
         [](const Maker& m) { return ggml_ssm_conv(m.ctx, m.f32("x", 8, 6), m.f32("c", 4, 6)); },
         2 * 30 * 4, 4 * (48 + 24), 4 * 30},
        {"each of 4 rows of 3 takes on average half the rows, twice an operation",
         [](const Maker& m) {
             return ggml_solve_tri(m.ctx, m.f32("a", 4, 4), m.f32("b", 3, 4), true, true, false);
         },
         12 * 4, 4 * (16 + 12), 4 * 12, TENON_WORK_RECURRENT},
    });
}

TEST(Work, OfSortingIsComparisons) {
    expect_work({
        {"3 rows of 16, 4 steps each",
         [](const Maker& m) { return ggml_argsort(m.ctx, m.f32("a", 16, 3), GGML_SORT_ORDER_ASC); },
         48 * 4, 192, 192, TENON_WORK_SORT},
        {"each of 100 meets the best, of which 8 are kept in order",
         [](const Maker& m) { return ggml_top_k(m.ctx, m.f32("a", 100), 8); }, 100 + 8 * 3, 400, 32,
         TENON_WORK_SORT},
    });
}

TEST(Work, OfRotationsSharesTheAnglesBetweenHeads) {
    expect_work({
        {"4 heads of 64, of which 32 are turned, 3 tokens",
         [](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("x", 64, 4, 3), m.i32("p", 3), 32, GGML_ROPE_TYPE_NEOX);
         },
         3 * (64 * 4 * 3) + 16 * 3 * (2 * kF + 4), 4 * 768 + 12, 4 * 768},
    });
}

TEST(Work, OfAnOptimizerWritesMoreThanItsResult) {
    expect_work({
        {"AdamW: the weights and both moments",
         [](const Maker& m) {
             ggml_tensor* w = m.f32("w", 10);
             ggml_set_param(w);
             return ggml_opt_step_adamw(m.ctx, w, m.f32("g", 10), m.f32("m", 10), m.f32("v", 10),
                                        m.f32("p", 7));
         },
         160, 4 * 40 + 28, 3 * 40},
    });
}

TEST(Work, OfTheApplicationsFunctionsIsUnknown) {
    expect_work({
        {"a function",
         [](const Maker& m) {
             return ggml_map_custom1(
                 m.ctx, m.f32("a", 10), [](ggml_tensor*, const ggml_tensor*, int, int, void*) {}, 1,
                 nullptr);
         },
         10, 40, 40, TENON_WORK_UNKNOWN},
    });
    ggml_tensor node{};
    node.op = static_cast<ggml_op>(GGML_OP_COUNT + 3);
    for (int64_t& n : node.ne) n = 2;
    EXPECT_EQ(tenon_node_work(&node).kind, static_cast<uint32_t>(TENON_WORK_UNKNOWN));
    EXPECT_EQ(tenon_node_work(&node).bytes_written, 64);
}

TEST(Work, OfViewsAndEmptyNodesIsNothing) {
    expect_work({
        {"a view", [](const Maker& m) { return ggml_view_1d(m.ctx, m.f32("a", 10), 5, 0); }, 0, 0,
         0, TENON_WORK_NOTHING},
        {"a transposition", [](const Maker& m) { return ggml_transpose(m.ctx, m.f32("a", 4, 5)); },
         0, 0, 0, TENON_WORK_NOTHING},
        {"a leaf", [](const Maker& m) { return m.f32("a", 10); }, 0, 0, 0, TENON_WORK_NOTHING},
        {"no rows",
         [](const Maker& m) { return ggml_mul_mat(m.ctx, m.f32("a", 8, 4), m.f32("b", 8, 0)); }, 0,
         0, 0, TENON_WORK_NOTHING},
        {"the sum of nothing is written",
         [](const Maker& m) { return ggml_sum(m.ctx, m.f32("a", 0, 4)); }, 0, 0, 4},
    });
}

TEST(Work, NoShapeOverflows) {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    ggml_tensor a{}, b{}, node{};
    for (ggml_tensor* t : {&a, &b, &node}) std::fill_n(t->ne, GGML_MAX_DIMS, kMost);
    for (int op = 0; op < GGML_OP_COUNT; ++op) {
        node.op = static_cast<ggml_op>(op);
        if (tenon_is_view_op(node.op)) continue;
        for (ggml_tensor*& src : node.src) src = &b;
        node.src[0] = &a;
        const tenon_work work = tenon_node_work(&node);
        EXPECT_GE(work.ops, 0) << ggml_op_name(node.op);
        EXPECT_TRUE(std::isfinite(work.ops)) << ggml_op_name(node.op);
        EXPECT_GT(work.bytes_written, 1e70) << ggml_op_name(node.op);
        EXPECT_TRUE(std::isfinite(work.bytes_read)) << ggml_op_name(node.op);
    }
}

TEST(Work, EveryOpThatComputesHasARule) {
    for (int i = 0; i < GGML_OP_COUNT; ++i) {
        const auto op = static_cast<ggml_op>(i);
        const tenon_work_rule* rule = tenon_work_rule_of(op);
        ASSERT_EQ(rule == nullptr, tenon_is_view_op(op)) << ggml_op_name(op);
        if (!rule) continue;
        EXPECT_EQ(rule->op, op) << "the rules are not in order of enum ggml_op";
    }
}

TEST(Work, OfEveryRepresentativeCallIsThere) {
    for (size_t op = 0; op < GGML_OP_COUNT; ++op) {
        if (tenon_is_view_op(static_cast<ggml_op>(op))) continue;
        for (size_t i = 0; i < tenon_op_call_count(op, 0); ++i) {
            const Maker m;
            char text[256];
            const ggml_tensor* node = tenon_op_call(m.ctx, op, 0, i, text, sizeof text);
            ASSERT_NE(node, nullptr) << tenon_last_error();
            const tenon_work work = tenon_node_work(node);
            EXPECT_GE(work.ops, 0) << ggml_op_desc(node) << ": " << text;
            EXPECT_GE(work.bytes_read, 0) << ggml_op_desc(node) << ": " << text;
            EXPECT_GT(work.bytes_written, 0) << ggml_op_desc(node) << ": " << text;
            EXPECT_NE(work.kind, static_cast<uint32_t>(TENON_WORK_NOTHING));
        }
    }
}

}  // namespace
