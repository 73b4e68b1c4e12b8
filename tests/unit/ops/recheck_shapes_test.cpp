// check_node() on nodes made by hand, op by op: shapes, types and parameters that no builder would
// have let through, and that no kernel looks at any more.

#include <limits>
#include <vector>

#include "core/ops/recheck.h"
#include "tenon/op_params.h"
#include "tests/support/op_nodes.h"

namespace tenon::test {
namespace {

struct Shape {
    ggml_type type;
    int64_t ne[4];
};

constexpr ggml_type kF32 = GGML_TYPE_F32, kF16 = GGML_TYPE_F16, kI32 = GGML_TYPE_I32;

// A node with nothing but what is said here.
struct Hand {
    Maker m;
    ggml_tensor* node;

    Hand(ggml_op op, const Shape& result, const std::vector<Shape>& sources) {
        node = make(result);
        node->op = op;
        for (size_t i = 0; i < sources.size(); ++i) node->src[i] = make(sources[i]);
    }
    template <class Params>
    Hand& with(const Params& params) {
        std::memcpy(node->op_params, &params, sizeof params);
        return *this;
    }
    std::string refusal() const {
        const auto checked = check_node(*node);
        return checked ? "" : checked.error().text;
    }

private:
    ggml_tensor* make(const Shape& s) const {
        return m("", s.type, s.ne[0], s.ne[1], s.ne[2], s.ne[3]);
    }
};

#define EXPECT_REFUSED(hand, part) \
    EXPECT_NE((hand).refusal().find(part), std::string::npos) << (hand).refusal()

TEST(RecheckShapes, Products) {
    const auto product = [](const Shape& a, const Shape& b, const Shape& result) {
        return Hand(GGML_OP_MUL_MAT, result, {a, b}).refusal();
    };
    const Shape a{kF32, {32, 40, 2, 1}}, b{kF32, {32, 3, 4, 1}}, y{kF32, {40, 3, 4, 1}};
    EXPECT_EQ(product(a, b, y), "");
    for (const Shape& wrong :
         {Shape{kF32, {32, 40, 3, 1}}, {kF32, {32, 40, 2, 2}}, {kF32, {16, 40, 2, 1}}}) {
        EXPECT_NE(product(wrong, b, y), "");
    }
    for (const Shape& wrong : {Shape{kF32, {41, 3, 4, 1}},
                               {kF32, {40, 4, 4, 1}},
                               {kF32, {40, 3, 2, 1}},
                               {kF16, {40, 3, 4, 1}}}) {
        EXPECT_NE(product(a, b, wrong).find("must be f32 [40, 3, 4, 1]"), std::string::npos);
    }

    const Shape w{kF32, {16, 5, 4, 1}}, x{kF32, {16, 2, 3, 1}}, chosen{kF32, {5, 2, 3, 1}};
    const auto experts = [&](const Shape& ids) {
        return Hand(GGML_OP_MUL_MAT_ID, {kF32, {5, ids.ne[0], 3, 1}}, {w, x, ids});
    };
    EXPECT_EQ(experts({kI32, {2, 3, 1, 1}}).refusal(), "");
    EXPECT_REFUSED(experts({kF32, {2, 3, 1, 1}}), "src2 is f32, must be i32");
    EXPECT_REFUSED(experts({kI32, {3, 3, 1, 1}}), "no multiple of ne[1] = 2 of src1");
}

TEST(RecheckShapes, Attention) {
    const Shape q{kF32, {32, 3, 1, 1}}, kv{kF32, {32, 40, 1, 1}}, y{kF32, {32, 1, 3, 1}};
    const auto attention = [&](const Shape& k, const Shape& v, const Shape& mask) {
        return Hand(GGML_OP_FLASH_ATTN_EXT, y, {q, k, v, mask});
    };
    const Shape mask{kF16, {40, 3, 1, 1}};
    EXPECT_EQ(attention(kv, kv, mask).refusal(), "");
    EXPECT_REFUSED(attention(kv, {kF32, {32, 39, 1, 1}}, mask), "src2 has ne[1] = 39");
    EXPECT_REFUSED(attention({kF32, {32, 40, 2, 1}}, kv, mask), "no multiple of ne[2] = 2");
    EXPECT_REFUSED(attention(kv, kv, {kF16, {39, 3, 1, 1}}), "src3 has ne[0] = 39");
    EXPECT_REFUSED(attention(kv, kv, {kF32, {40, 3, 1, 1}}), "src3 is f32, must be f16");
    EXPECT_REFUSED(
        Hand(GGML_OP_SOFT_MAX, {kF32, {8, 3, 1, 1}}, {{kF32, {8, 3, 1, 1}}, {kF32, {8, 2, 1, 1}}}),
        "src1 has ne[1] = 2, must be at least 3");
}

TEST(RecheckShapes, ElementByElement) {
    const Shape x{kF32, {32, 6, 4, 1}};
    for (const ggml_op op : {GGML_OP_SQR, GGML_OP_CLAMP, GGML_OP_LEAKY_RELU, GGML_OP_CUMSUM,
                             GGML_OP_RMS_NORM, GGML_OP_DIAG_MASK_ZERO, GGML_OP_SCALE}) {
        EXPECT_EQ(Hand(op, x, {x}).refusal(), "");
        EXPECT_REFUSED(Hand(op, {kF16, {32, 6, 4, 1}}, {x}), "must be f32 [32, 6, 4, 1]");
        EXPECT_REFUSED(Hand(op, {kF32, {32, 5, 4, 1}}, {x}), "must be f32 [32, 6, 4, 1]");
    }
    EXPECT_REFUSED(Hand(GGML_OP_CUMSUM, {kI32, {32, 6, 4, 1}}, {{kI32, {32, 6, 4, 1}}}),
                   "src0 is i32, must be f32");
    EXPECT_REFUSED(Hand(GGML_OP_ADD, x, {x, {kF32, {32, 5, 4, 1}}}), "cannot be repeated");
    EXPECT_REFUSED(Hand(GGML_OP_ADD1, x, {x, x}), "more than 0 dimensions");
    EXPECT_REFUSED(Hand(GGML_OP_SUM, {kF32, {2, 1, 1, 1}}, {x}), "must be f32 [1, 1, 1, 1]");
    EXPECT_REFUSED(Hand(GGML_OP_REPEAT, {kF32, {33, 6, 4, 1}}, {x}), "cannot be repeated");
    EXPECT_REFUSED(Hand(GGML_OP_CONCAT, {kF32, {64, 6, 4, 1}}, {x, {kF16, {32, 6, 4, 1}}}),
                   "src1 is f16");
    EXPECT_REFUSED(Hand(GGML_OP_CONCAT, {kF32, {65, 6, 4, 1}}, {x, x}), "must be f32 [64, 6");
    EXPECT_REFUSED(Hand(GGML_OP_TOP_K, {kI32, {33, 6, 4, 1}}, {x}), "k is 33");
    EXPECT_REFUSED(
        Hand(GGML_OP_UNARY, x, {x}).with(tenon_unary_params{GGML_UNARY_OP_COUNT, 0, 0, 0, 0}),
        "unary op is");
    EXPECT_REFUSED(
        Hand(GGML_OP_GLU, {kF32, {16, 6, 4, 1}}, {x}).with(tenon_glu_params{-1, 0, 0, 0}),
        "glu op is -1");
}

TEST(RecheckShapes, Parameters) {
    const Shape x{kF32, {6, 6, 4, 1}};
    const auto hand = [&](ggml_op op, ggml_type type = kF32) {
        return Hand(op, {type, {6, 6, 4, 1}}, {x});
    };
    EXPECT_REFUSED(hand(GGML_OP_NORM).with(tenon_norm_params{-1}), "eps is -1");
    EXPECT_REFUSED(
        hand(GGML_OP_L2_NORM).with(tenon_norm_params{std::numeric_limits<float>::quiet_NaN()}),
        "eps is nan");
    EXPECT_REFUSED(hand(GGML_OP_GROUP_NORM).with(tenon_group_norm_params{0, 0}), "n_groups is 0");
    EXPECT_REFUSED(hand(GGML_OP_TRI).with(tenon_tri_params{4}), "type is 4");
    EXPECT_REFUSED(hand(GGML_OP_DIAG_MASK_INF).with(tenon_diag_mask_inf_params{-1}),
                   "n_past is -1");
    EXPECT_REFUSED(hand(GGML_OP_ARGSORT, kI32).with(tenon_argsort_params{2}), "order is 2");
    EXPECT_REFUSED(hand(GGML_OP_PAD_REFLECT_1D).with(tenon_pad_reflect_1d_params{-1, 1}),
                   "left padding is -1");
    EXPECT_REFUSED(hand(GGML_OP_PAD).with(tenon_pad_params{1, 0, 0, 0, 0, 0, 0, 0, 0}),
                   "must be f32 [7, 6, 4, 1]");
    EXPECT_REFUSED(hand(GGML_OP_MAP_CUSTOM1).with(tenon_custom_params{}), "the function is NULL");
    EXPECT_REFUSED(Hand(GGML_OP_PAD, {kF32, {2, 6, 4, 1}}, {{kF32, {0, 6, 4, 1}}})
                       .with(tenon_pad_params{1, 1, 0, 0, 0, 0, 0, 0, 1}),
                   "nothing to go around");
}

TEST(RecheckShapes, Regions) {
    const Shape a{kF32, {8, 4, 1, 1}}, b{kF32, {3, 2, 1, 1}};
    for (const ggml_op op : {GGML_OP_ACC, GGML_OP_SET}) {
        const auto region = [&](int32_t nb1, int32_t offset) {
            return Hand(op, a, {a, b}).with(tenon_set_params{nb1, 128, 128, offset, 0}).refusal();
        };
        EXPECT_EQ(region(32, 0), "");
        EXPECT_EQ(region(32, 84), "");  // the last element is the last one
        for (const auto& [nb1, offset] : std::initializer_list<std::pair<int32_t, int32_t>>{
                 {32, 88},
                 {128, 0},
                 {-32, 64},
                 {32, -4},
                 {32, 2},
                 {30, 0},
                 {std::numeric_limits<int32_t>::max() - 3, 0}}) {
            EXPECT_NE(region(nb1, offset), "") << nb1 << " " << offset;
        }
    }
}

TEST(RecheckShapes, ConvolutionsAndPlanes) {
    const Shape data{kF32, {8, 8, 2, 1}}, kernel{kF32, {3, 3, 2, 4}}, y{kF32, {8, 8, 4, 1}};
    const tenon_conv_2d_params params{1, 1, 1, 1, 1, 1};
    EXPECT_EQ(Hand(GGML_OP_CONV_2D, y, {kernel, data}).with(params).refusal(), "");
    EXPECT_REFUSED(Hand(GGML_OP_CONV_2D, y, {kernel, {kF32, {8, 8, 3, 1}}}).with(params),
                   "src1 has ne[2] = 3");
    EXPECT_REFUSED(
        Hand(GGML_OP_CONV_2D, y, {kernel, data}).with(tenon_conv_2d_params{0, 1, 1, 1, 1, 1}),
        "stride is 0");

    Hand transposed(GGML_OP_CONV_TRANSPOSE_1D, {kF32, {10, 4, 1, 1}},
                    {{kF32, {3, 4, 2, 1}}, {kF32, {8, 2, 1, 1}}});
    EXPECT_EQ(transposed.with(tenon_conv_transpose_1d_params{1, 0, 1}).refusal(), "");
    EXPECT_REFUSED(transposed.with(tenon_conv_transpose_1d_params{1, 1, 1}), "padding is 1");
    EXPECT_REFUSED(transposed.with(tenon_conv_transpose_1d_params{2, 0, 1}), "must be f32 [17,");

    const Shape plane{kF32, {8, 8, 1, 1}}, small{kF32, {4, 4, 1, 1}};
    Hand pool(GGML_OP_POOL_2D, small, {plane});
    EXPECT_REFUSED(pool.with(tenon_pool_2d_params{7, 2, 2, 2, 2, 0, 0}), "pool op is 7");
    EXPECT_REFUSED(pool.with(tenon_pool_2d_params{0, 0, 2, 2, 2, 0, 0}), "k0 is 0");
    EXPECT_REFUSED(pool.with(tenon_pool_2d_params{0, 2, 2, 1, 2, 0, 0}),
                   "4 windows in dimension 0, a padding of 0 gives");
    Hand scaled(GGML_OP_UPSCALE, small, {plane});
    EXPECT_REFUSED(scaled.with(tenon_upscale_params{3}), "mode is 3");
    EXPECT_REFUSED(scaled.with(tenon_upscale_params{GGML_SCALE_FLAG_ANTIALIAS}),
                   "cannot antialias");
    EXPECT_REFUSED(Hand(GGML_OP_UPSCALE, small, {{kF32, {0, 8, 1, 1}}}), "src0 is empty");
    EXPECT_REFUSED(Hand(GGML_OP_IM2COL_BACK, {kF32, {8, 8, 3, 1}},
                        {{kF32, {18, 6, 6, 1}}, {kF32, {3, 3, 2, 4}}})
                       .with(tenon_im2col_back_params{1, 1, 0, 0, 1, 1, 1}),
                   "src1 has ne[2] = 2, must be 3");
}

TEST(RecheckShapes, RecurrencesAndTraining) {
    const Shape w{kF32, {9, 2, 1, 1}}, two{kF32, {2, 1, 1, 1}}, seven{kF32, {7, 1, 1, 1}};
    EXPECT_EQ(Hand(GGML_OP_OPT_STEP_SGD, w, {w, w, two}).refusal(), "");
    EXPECT_EQ(Hand(GGML_OP_OPT_STEP_ADAMW, w, {w, w, w, w, seven}).refusal(), "");
    EXPECT_REFUSED(Hand(GGML_OP_OPT_STEP_SGD, w, {w, w, seven}), "has 7 elements, must have 2");
    EXPECT_REFUSED(Hand(GGML_OP_OPT_STEP_ADAMW, w, {w, w, w, w, two}), "must have 7");
    EXPECT_REFUSED(Hand(GGML_OP_OPT_STEP_SGD, {kF16, {9, 2, 1, 1}}, {w, w, two}), "must be f32");
    const Shape one{kF32, {1, 1, 1, 1}}, other{kF32, {9, 3, 1, 1}};
    EXPECT_REFUSED(Hand(GGML_OP_CROSS_ENTROPY_LOSS, one, {w, other}), "src1 has");
    EXPECT_REFUSED(Hand(GGML_OP_CROSS_ENTROPY_LOSS_BACK, w, {other, w, w}), "src0 of shape");

    const Shape token{kF32, {4, 2, 5, 1}}, state{kF32, {16 * 2, 2, 1, 1}};
    EXPECT_REFUSED(
        Hand(GGML_OP_GATED_LINEAR_ATTN, {kF32, {8, 13, 1, 1}}, {token, token, token, token, state}),
        "5 tokens are no multiple of 2 sequences");
    Hand scan(GGML_OP_SSM_SCAN, {kF32, {3 * 4 + 8 * 3, 1, 1, 1}},
              {{kF32, {8, 1, 3, 1}},
               {kF32, {1, 3, 4, 1}},
               {kF32, {3, 4, 1, 1}},
               {kF32, {1, 3, 1, 1}},
               {kF32, {8, 2, 4, 1}},
               {kF32, {8, 2, 4, 1}},
               {kI32, {1, 1, 1, 1}}});
    EXPECT_REFUSED(scan.with(tenon_ssm_scan_params{1}), "no multiple of ne[1] = 2 of src4");
}

}  // namespace
}  // namespace tenon::test
