// Single kernels: what they refuse and why, what they do with bad indices and with values that are
// no numbers. That they compute what they should is the business of tests/conformance.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "plugins/cpu/kernel.h"
#include "tests/cpu/node.h"

namespace tenon::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// ---- values that are no numbers -----------------------------------------------------------------

struct Limits {
    ggml_unary_op op;
    float nan, inf, minus_inf, minus_zero;  // what the op makes of them
};
constexpr Limits kLimits[] = {
    {GGML_UNARY_OP_ABS, kNan, kInf, kInf, 0.0f},
    {GGML_UNARY_OP_SGN, 0, 1, -1, 0},
    {GGML_UNARY_OP_NEG, kNan, -kInf, kInf, 0},
    {GGML_UNARY_OP_STEP, 0, 1, 0, 0},
    {GGML_UNARY_OP_TANH, kNan, 1, -1, -0.0f},
    {GGML_UNARY_OP_ELU, kNan, kInf, -1, -0.0f},
    {GGML_UNARY_OP_RELU, 0, kInf, 0, 0},
    {GGML_UNARY_OP_SIGMOID, kNan, 1, 0, 0.5f},
    {GGML_UNARY_OP_GELU, kNan, kInf, 0, -0.0f},
    {GGML_UNARY_OP_GELU_QUICK, kNan, kInf, kNan, -0.0f},
    {GGML_UNARY_OP_SILU, kNan, kInf, kNan, -0.0f},
    {GGML_UNARY_OP_HARDSWISH, kNan, kInf, kNan, -0.0f},
    {GGML_UNARY_OP_HARDSIGMOID, 0, 1, 0, 0.5f},
    {GGML_UNARY_OP_EXP, kNan, kInf, 0, 1},
    {GGML_UNARY_OP_EXPM1, kNan, kInf, -1, -0.0f},
    {GGML_UNARY_OP_SOFTPLUS, kNan, kInf, 0, 0.693147181f},
    {GGML_UNARY_OP_GELU_ERF, kNan, kInf, kNan, -0.0f},
    {GGML_UNARY_OP_XIELU, kNan, kInf, kNan, 0},
    {GGML_UNARY_OP_FLOOR, kNan, kInf, -kInf, -0.0f},
    {GGML_UNARY_OP_CEIL, kNan, kInf, -kInf, -0.0f},
    {GGML_UNARY_OP_ROUND, kNan, kInf, -kInf, -0.0f},
    {GGML_UNARY_OP_TRUNC, kNan, kInf, -kInf, -0.0f},
};

// All elements of a row that has whole vectors and a rest.
void expect_all(Node& node, float in, float want) {
    for (int64_t n : {1, 37}) {
        Tensor x(GGML_TYPE_F32, {n, 1, 1, 1});
        x.fill(in);
        Node each(node.op, GGML_TYPE_F32, {n, 1, 1, 1}, {&x});
        std::memcpy(each.op_params, node.op_params, sizeof each.op_params);
        ASSERT_EQ(each.run(), "");
        for (int64_t i = 0; i < n; ++i) {
            const float got = each.f32()[i];
            if (std::isnan(want)) {
                EXPECT_TRUE(std::isnan(got)) << "of " << in << " " << got << " at " << i;
            } else {
                EXPECT_FLOAT_EQ(got, want) << "of " << in << " at " << i;
                EXPECT_TRUE(std::signbit(got) || !std::signbit(want)) << "of " << in;
            }
        }
    }
}

TEST(Kernels, UnaryOpsHaveTheirLimits) {
    for (const Limits& l : kLimits) {
        SCOPED_TRACE("unary op " + std::to_string(l.op));
        Node node(GGML_OP_UNARY, GGML_TYPE_F32, {1, 1, 1, 1}, {});
        node.with(tenon_unary_params{l.op, 4.5f, 20.0f, 0.5f, 1e-6f});
        expect_all(node, kNan, l.nan);
        expect_all(node, kInf, l.inf);
        expect_all(node, -kInf, l.minus_inf);
        expect_all(node, -0.0f, l.minus_zero);
    }
}

TEST(Kernels, RootsLogarithmsAndClampsFollowC) {
    const auto of = [](ggml_op op, float in, float want) {
        SCOPED_TRACE("op " + std::to_string(op));
        Node node(op, GGML_TYPE_F32, {1, 1, 1, 1}, {});
        if (op == GGML_OP_CLAMP) node.with(tenon_clamp_params{-2, 3});
        if (op == GGML_OP_LEAKY_RELU) node.with(tenon_leaky_relu_params{0.1f});
        expect_all(node, in, want);
    };
    of(GGML_OP_SQRT, -1, kNan);
    of(GGML_OP_SQRT, kInf, kInf);
    of(GGML_OP_LOG, 0, -kInf);
    of(GGML_OP_LOG, -1, kNan);
    of(GGML_OP_LOG, kInf, kInf);
    of(GGML_OP_SIN, kInf, kNan);
    of(GGML_OP_COS, kNan, kNan);
    of(GGML_OP_CLAMP, kNan, 3);
    of(GGML_OP_CLAMP, -kInf, -2);
    of(GGML_OP_CLAMP, kInf, 3);
    of(GGML_OP_LEAKY_RELU, kNan, 0);
    of(GGML_OP_LEAKY_RELU, -kInf, -kInf);
}

TEST(Kernels, RowsOfZerosHaveNoDirection) {
    Tensor zeros(GGML_TYPE_F32, {37, 1, 1, 1});
    for (const ggml_op op : {GGML_OP_NORM, GGML_OP_RMS_NORM, GGML_OP_L2_NORM}) {
        Node node(op, GGML_TYPE_F32, {37, 1, 1, 1}, {&zeros});
        ASSERT_EQ(node.with(tenon_norm_params{0}).run(), "");
        EXPECT_TRUE(std::isnan(node.f32()[36])) << op;
        ASSERT_EQ(node.with(tenon_norm_params{1e-6f}).run(), "");
        EXPECT_EQ(node.f32()[36], 0.0f) << op;
    }
}

TEST(Kernels, SumsOfNothing) {
    Tensor none(GGML_TYPE_F32, {0, 3, 1, 1}), no_ids(GGML_TYPE_I32, {0, 3, 1, 1});
    Node sum(GGML_OP_SUM, GGML_TYPE_F32, {1, 1, 1, 1}, {&none});
    Node rows(GGML_OP_SUM_ROWS, GGML_TYPE_F32, {1, 3, 1, 1}, {&none});
    Node mean(GGML_OP_MEAN, GGML_TYPE_F32, {1, 3, 1, 1}, {&none});
    Node argmax(GGML_OP_ARGMAX, GGML_TYPE_I32, {3, 1, 1, 1}, {&none});
    Node equal(GGML_OP_COUNT_EQUAL, GGML_TYPE_I64, {1, 1, 1, 1}, {&no_ids, &no_ids});
    for (Node* node : {&sum, &rows, &mean}) node->fill(7);
    argmax.i32()[2] = 7;
    equal.i64()[0] = 7;
    for (const Node* node : {&sum, &rows, &mean, &argmax, &equal}) ASSERT_EQ(node->run(), "");
    EXPECT_EQ(sum.f32()[0], 0.0f);
    EXPECT_EQ(rows.f32()[2], 0.0f);
    EXPECT_TRUE(std::isnan(mean.f32()[2]));
    EXPECT_EQ(argmax.i32()[2], 0);
    EXPECT_EQ(equal.i64()[0], 0);
}

TEST(Kernels, EqualElementsKeepTheirOrderWhenSorted) {
    for (const int64_t n : {7, 600}) {
        Tensor x(GGML_TYPE_F32, {n, 1, 1, 1});
        for (int64_t i = 0; i < n; ++i) x.f32()[i] = i % 2 ? 0.0f : -0.0f;  // equal zeros
        for (const int32_t order : {GGML_SORT_ORDER_ASC, GGML_SORT_ORDER_DESC}) {
            Node sorted(GGML_OP_ARGSORT, GGML_TYPE_I32, {n, 1, 1, 1}, {&x});
            ASSERT_EQ(sorted.with(tenon_argsort_params{order}).run(), "");
            for (int64_t i = 0; i < n; ++i) EXPECT_EQ(sorted.i32()[i], i);
        }
    }
}

// ARGSORT, TOP_K and ARGMAX agree: NaN is less than everything, whatever its sign and place.
TEST(Kernels, NansAreChosenLast) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    for (const float nan : {kNan, -kNan}) {
        for (const int64_t first : {0, 300}) {  // among those a heap starts with, or later
            Tensor x(GGML_TYPE_F32, {600, 1, 1, 1});
            for (int64_t i = 0; i < 600; ++i) x.f32()[i] = static_cast<float>(i % 599);
            for (int64_t i = first; i < first + 5; ++i) x.f32()[i] = nan;
            x.f32()[599] = -kInf;
            Node sorted(GGML_OP_ARGSORT, GGML_TYPE_I32, {600, 1, 1, 1}, {&x});
            ASSERT_EQ(sorted.with(tenon_argsort_params{GGML_SORT_ORDER_ASC}).run(), "");
            EXPECT_EQ(sorted.i32()[0], first);
            EXPECT_EQ(sorted.i32()[4], first + 4);
            EXPECT_EQ(sorted.i32()[5], 599);
            EXPECT_EQ(sorted.i32()[599], 598);
            ASSERT_EQ(sorted.with(tenon_argsort_params{GGML_SORT_ORDER_DESC}).run(), "");
            EXPECT_EQ(sorted.i32()[0], 598);
            EXPECT_EQ(sorted.i32()[594], 599);
            EXPECT_EQ(sorted.i32()[595], first);
            for (const int64_t k : {3, 597}) {
                Node best(GGML_OP_TOP_K, GGML_TYPE_I32, {k, 1, 1, 1}, {&x});
                ASSERT_EQ(best.run(), "");
                for (int64_t i = 0; i < k; ++i) EXPECT_EQ(best.i32()[i], sorted.i32()[i]) << i;
            }
            Node most(GGML_OP_ARGMAX, GGML_TYPE_I32, {1, 1, 1, 1}, {&x});
            ASSERT_EQ(most.run(), "");
            EXPECT_EQ(most.i32()[0], 598);
        }
    }
}

// Programs ask with 0 dimensions whether frequency factors are supported at all.
TEST(Kernels, ARotationOfNoDimensionsIsACopy) {
    for (const int32_t mode : {0, 2, 8, 40}) {
        Tensor x(GGML_TYPE_F32, {6, 2, 3, 1}), positions(GGML_TYPE_I32, {12, 1, 1, 1});
        Tensor factors(GGML_TYPE_F32, {3, 1, 1, 1});
        for (int32_t i = 0; i < 36; ++i) x.f32()[i] = static_cast<float>(i);
        for (int32_t i = 0; i < 12; ++i) positions.i32()[i] = i;
        Node node(GGML_OP_ROPE, GGML_TYPE_F32, {6, 2, 3, 1}, {&x, &positions, &factors});
        tenon_rope_params p = {};
        p.mode = mode;
        ASSERT_EQ(node.with(p).refusal(), TENON_REASON_NONE) << mode;
        node.fill(-1);
        ASSERT_EQ(node.run(), "");
        for (int32_t i = 0; i < 36; ++i) EXPECT_EQ(node.f32()[i], x.f32()[i]) << mode;
    }
}

// ---- indices in data ----------------------------------------------------------------------------

TEST(Kernels, IndicesOutOfRangeFailTheNode) {
    for (const int32_t bad :
         {-1, 4, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
        Tensor table(GGML_TYPE_F32, {5, 4, 1, 1}), rows(GGML_TYPE_F32, {5, 2, 1, 1});
        Tensor ids(GGML_TYPE_I32, {2, 1, 1, 1});
        ids.i32()[0] = 3;
        ids.i32()[1] = bad;
        Node add_id(GGML_OP_ADD_ID, GGML_TYPE_F32, {5, 2, 1, 1}, {&rows, &table, &ids});
        EXPECT_EQ(add_id.run(), "an id is outside of the rows of src1");
        Node back(GGML_OP_GET_ROWS_BACK, GGML_TYPE_F32, {5, 4, 1, 1}, {&rows, &ids});
        EXPECT_EQ(back.run(), "a row index is out of range");
        Node get(GGML_OP_GET_ROWS, GGML_TYPE_F32, {5, 2, 1, 1}, {&table, &ids});
        EXPECT_EQ(get.run(), "a row index is out of range");
        Node set(GGML_OP_SET_ROWS, GGML_TYPE_F32, {5, 4, 1, 1}, {&rows, &ids, &table});
        EXPECT_EQ(set.run(), "a row index is out of range");
    }
}

// ---- refusals -----------------------------------------------------------------------------------

TEST(Kernels, RowsThatOverlapInsideTheResultGoToOneMember) {
    Tensor a(GGML_TYPE_F32, {8, 4, 1, 1}), b(GGML_TYPE_F32, {3, 2, 1, 1});
    for (const ggml_op op : {GGML_OP_ACC, GGML_OP_SET}) {
        Node node(op, GGML_TYPE_F32, {8, 4, 1, 1}, {&a, &b});
        const Kernel* kernel = find_kernel(node.with(tenon_set_params{32, 128, 128, 0, 0}));
        EXPECT_EQ(kernel->members(node, 4), 4);
        kernel = find_kernel(node.with(tenon_set_params{4, 128, 128, 0, 0}));
        EXPECT_EQ(kernel->members(node, 4), 1);
    }
}

TEST(Kernels, ProductsWithoutMatricesAreFine) {
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0}) {
        for (const Extents& none : {Extents{32, 64, 0, 1}, Extents{32, 64, 1, 0}}) {
            Tensor a(type, none), b(GGML_TYPE_F32, {32, 128, none[2], none[3]});
            Node product(GGML_OP_MUL_MAT, GGML_TYPE_F32, {64, 128, none[2], none[3]}, {&a, &b});
            EXPECT_EQ(product.refusal(), TENON_REASON_NONE);
        }
    }
}

TEST(Kernels, TypesAndStridesAreRefusedWithTheirReason) {
    Tensor x(GGML_TYPE_F32, {32, 6, 4, 1}), q(GGML_TYPE_Q4_0, {32, 6, 4, 1});
    Tensor i(GGML_TYPE_I32, {32, 6, 4, 1}), h(GGML_TYPE_F16, {32, 6, 4, 1});
    Tensor t(GGML_TYPE_F32, {6, 32, 4, 1});
    std::swap(t.ne[0], t.ne[1]);
    std::swap(t.nb[0], t.nb[1]);
    const Extents like{32, 6, 4, 1};
    const auto refusal = [&](ggml_op op, ggml_type type, const Extents& extents,
                             std::initializer_list<Tensor*> sources) {
        return Node(op, type, extents, sources).refusal();
    };
    const ggml_type f32 = GGML_TYPE_F32;
    for (const ggml_op op : {GGML_OP_SQR, GGML_OP_CLAMP, GGML_OP_LEAKY_RELU, GGML_OP_CUMSUM,
                             GGML_OP_RMS_NORM, GGML_OP_DIAG_MASK_ZERO, GGML_OP_SCALE}) {
        EXPECT_EQ(refusal(op, f32, like, {&x}), TENON_REASON_NONE) << op;
        if (op != GGML_OP_CUMSUM) {  // of f32 only, by the rule of the op
            EXPECT_EQ(refusal(op, GGML_TYPE_I32, like, {&i}), TENON_REASON_TYPE) << op;
        }
        EXPECT_EQ(refusal(op, f32, like, {&t}), TENON_REASON_STRIDES) << op;
    }
    EXPECT_EQ(refusal(GGML_OP_SUM, f32, {1, 1, 1, 1}, {&t}), TENON_REASON_NONE);
    EXPECT_EQ(refusal(GGML_OP_SUM, GGML_TYPE_Q4_0, {32, 1, 1, 1}, {&q}), TENON_REASON_TYPE);
    EXPECT_EQ(refusal(GGML_OP_COUNT_EQUAL, GGML_TYPE_I64, {1, 1, 1, 1}, {&x, &x}),
              TENON_REASON_TYPE);
    EXPECT_EQ(refusal(GGML_OP_REPEAT, GGML_TYPE_Q4_0, {64, 6, 4, 1}, {&q}), TENON_REASON_NONE);
    EXPECT_EQ(refusal(GGML_OP_REPEAT_BACK, f32, {16, 6, 4, 1}, {&t}), TENON_REASON_STRIDES);
    EXPECT_EQ(refusal(GGML_OP_REPEAT_BACK, GGML_TYPE_I32, like, {&i}), TENON_REASON_TYPE);
    EXPECT_EQ(refusal(GGML_OP_CONCAT, f32, {64, 6, 4, 1}, {&x, &t}), TENON_REASON_NONE);
    EXPECT_EQ(refusal(GGML_OP_ROLL, GGML_TYPE_Q4_0, like, {&q}), TENON_REASON_TYPE);
    EXPECT_EQ(refusal(GGML_OP_SILU_BACK, f32, like, {&x, &h}), TENON_REASON_TYPE_MIX);
    EXPECT_EQ(refusal(GGML_OP_TOP_K, GGML_TYPE_I32, {3, 6, 4, 1}, {&t}), TENON_REASON_STRIDES);
}

}  // namespace
}  // namespace tenon::cpu
