// Products by expert, attention, recurrences, training: bad ids, values that are no numbers, rows
// that see nothing, and refusals. That they compute what they should is the business of
// tests/conformance.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/cpu/node.h"

namespace tenon::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr uint16_t kHalfMinusInf = 0xfc00;

// ---- ids in data ------------------------------------------------------------------------------

TEST(ExpertKernels, AnIdThatIsNoExpertFailsTheRun) {
    for (const int32_t bad : {-1, 4, std::numeric_limits<int32_t>::max()}) {
        Tensor weights(GGML_TYPE_F32, {16, 5, 4, 1}), x(GGML_TYPE_F32, {16, 2, 3, 1});
        Tensor ids(GGML_TYPE_I32, {2, 3, 1, 1});
        weights.fill(1);
        x.fill(1);
        ids.i32()[5] = bad;
        Node node(GGML_OP_MUL_MAT_ID, GGML_TYPE_F32, {5, 2, 3, 1}, {&weights, &x, &ids});
        EXPECT_EQ(node.run(), "an expert id is out of range");
        EXPECT_EQ(node.f32()[0], 16.0f);  // the others are computed
        ids.i32()[5] = 3;
        EXPECT_EQ(node.run(), "");
        EXPECT_EQ(node.f32()[5 * 6 - 1], 16.0f);
    }
}

TEST(ExpertKernels, RefuseMixesOfTypes) {
    Tensor weights(GGML_TYPE_F32, {16, 5, 4, 1}), x(GGML_TYPE_F32, {16, 2, 3, 1});
    Tensor halves(GGML_TYPE_F16, {16, 2, 3, 1}), ids(GGML_TYPE_I32, {2, 3, 1, 1});
    const auto refusal = [&](Tensor& b) {
        return Node(GGML_OP_MUL_MAT_ID, GGML_TYPE_F32, {5, 2, 3, 1}, {&weights, &b, &ids})
            .refusal();
    };
    EXPECT_EQ(refusal(x), TENON_REASON_NONE);
    EXPECT_EQ(refusal(halves), TENON_REASON_TYPE_MIX);
}

TEST(ScanKernels, AStateIdOutOfRangeFailsTheRun) {
    Tensor s(GGML_TYPE_F32, {8, 2, 1, 3}), x(GGML_TYPE_F32, {2, 1, 4, 1});
    Tensor dt(GGML_TYPE_F32, {1, 4, 1, 1}), a(GGML_TYPE_F32, {1, 1, 1, 1});
    Tensor b(GGML_TYPE_F32, {8, 1, 4, 1}), c(GGML_TYPE_F32, {8, 1, 4, 1});
    Tensor ids(GGML_TYPE_I32, {1, 1, 1, 1});
    Node node(GGML_OP_SSM_SCAN, GGML_TYPE_F32, {2 * 4 + 8 * 2, 1, 1, 1},
              {&s, &x, &dt, &a, &b, &c, &ids});
    node.with(tenon_ssm_scan_params{1});
    for (const int32_t bad : {-1, 3}) {
        ids.i32()[0] = bad;
        EXPECT_EQ(node.run(), "a state id is out of range");
    }
    ids.i32()[0] = 2;
    EXPECT_EQ(node.run(), "");
}

// Slots that no token has a state for are zero, not what was there before.
TEST(ScanKernels, SlotsBeyondTheTokensAreZero) {
    Tensor s(GGML_TYPE_F32, {4, 1, 1, 1}), x(GGML_TYPE_F32, {1, 1, 2, 1});
    Tensor dt(GGML_TYPE_F32, {1, 2, 1, 1}), a(GGML_TYPE_F32, {1, 1, 1, 1});
    Tensor b(GGML_TYPE_F32, {4, 1, 2, 1}), ids(GGML_TYPE_I32, {1, 1, 1, 1});
    s.fill(1);
    Node node(GGML_OP_SSM_SCAN, GGML_TYPE_F32, {2 + 3 * 4, 1, 1, 1},
              {&s, &x, &dt, &a, &b, &b, &ids});
    node.fill(kNan);
    ASSERT_EQ(node.with(tenon_ssm_scan_params{3}).run(), "");
    EXPECT_EQ(node.f32()[2], 1.0f);      // no decay, nothing added
    EXPECT_EQ(node.f32()[2 + 4], 1.0f);  // one token earlier
    EXPECT_EQ(node.f32()[2 + 8], 0.0f);  // two tokens earlier: before the first
}

// ---- attention --------------------------------------------------------------------------------

// One head over `n_keys` positions, all of K and V one.
struct Heads {
    Tensor q, k, v, mask;
    Node node;
    Heads(int64_t rows, int64_t n_keys)
        : q(GGML_TYPE_F32, {32, rows, 1, 1}),
          k(GGML_TYPE_F32, {32, n_keys, 1, 1}),
          v(GGML_TYPE_F32, {32, n_keys, 1, 1}),
          mask(GGML_TYPE_F16, {n_keys, rows, 1, 1}),
          node(GGML_OP_FLASH_ATTN_EXT, GGML_TYPE_F32, {32, 1, rows, 1}, {&q, &k, &v, &mask}) {
        q.fill(1);
        k.fill(1);
        v.fill(1);
        node.with(tenon_flash_attn_ext_params{0.125f, 0, 0, 0, 0}).fill(7);
    }
    uint16_t* mask_row(int64_t r) { return static_cast<uint16_t*>(mask.data) + r * mask.ne[0]; }
};

TEST(AttentionKernels, ARowThatSeesNothingIsZero) {
    for (const int64_t rows : {2, 60}) {
        for (const int64_t n_keys : {5, 700}) {
            Heads heads(rows, n_keys);
            std::fill_n(heads.mask_row(1), n_keys, kHalfMinusInf);
            ASSERT_EQ(heads.node.run(), "");
            EXPECT_FLOAT_EQ(heads.node.f32()[0], 1.0f);
            EXPECT_EQ(heads.node.f32()[32], 0.0f);
            EXPECT_EQ(heads.node.f32()[63], 0.0f);
        }
    }
}

// The two ways to write attention answer alike.
TEST(SoftMaxKernel, ARowThatSeesNothingIsZero) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    for (const int64_t n : {1, 5, 67}) {
        Tensor x(GGML_TYPE_F32, {n, 3, 1, 1}), mask(GGML_TYPE_F32, {n, 3, 1, 1});
        x.fill(2);
        std::fill_n(mask.f32() + n, 2 * n, -kInf);
        x.f32()[2 * n] = kNan;  // what is no number stays none
        Node node(GGML_OP_SOFT_MAX, GGML_TYPE_F32, {n, 3, 1, 1}, {&x, &mask});
        node.with(tenon_soft_max_params{1, 0}).fill(7);
        ASSERT_EQ(node.run(), "");
        EXPECT_FLOAT_EQ(node.f32()[0], 1.0f / static_cast<float>(n));
        for (int64_t i = n; i < 2 * n; ++i) EXPECT_EQ(node.f32()[i], 0.0f) << i;
        EXPECT_TRUE(std::isnan(node.f32()[2 * n]));
    }
}

TEST(AttentionKernels, NansAreKept) {
    for (const int64_t rows : {2, 60}) {
        for (const int64_t n_keys : {5, 700}) {
            Heads heads(rows, n_keys);
            heads.q.f32()[32 + 3] = kNan;  // row 1
            ASSERT_EQ(heads.node.run(), "");
            EXPECT_FLOAT_EQ(heads.node.f32()[0], 1.0f);
            EXPECT_TRUE(std::isnan(heads.node.f32()[32])) << rows << " rows, " << n_keys;
        }
    }
}

// A sink that is far above all scores leaves nothing to the values.
TEST(AttentionKernels, SinksTakePartInTheSum) {
    Heads heads(3, 40);
    Tensor sinks(GGML_TYPE_F32, {1, 1, 1, 1});
    heads.node.src[4] = &sinks;
    sinks.fill(4 + std::log(40.0f));  // as much as all positions together
    ASSERT_EQ(heads.node.run(), "");
    EXPECT_NEAR(heads.node.f32()[0], 0.5f, 1e-5f);
    sinks.fill(1000);
    ASSERT_EQ(heads.node.run(), "");
    EXPECT_EQ(heads.node.f32()[0], 0.0f);
}

TEST(AttentionKernels, RefuseTypesTheyCannotRead) {
    Heads heads(3, 40);
    EXPECT_EQ(heads.node.refusal(), TENON_REASON_NONE);
    Tensor ints(GGML_TYPE_I32, {32, 40, 1, 1});
    const auto with = [&](int i, Tensor* t) {
        ggml_tensor* before = heads.node.src[i];
        heads.node.src[i] = t;
        const uint32_t refusal = heads.node.refusal();
        heads.node.src[i] = before;
        return refusal;
    };
    EXPECT_EQ(with(1, &ints), TENON_REASON_TYPE);
    EXPECT_EQ(with(2, &ints), TENON_REASON_TYPE);
}

// ---- softmax gradient, losses -------------------------------------------------------------------

// The result may lie on either source.
TEST(SoftMaxBackKernel, WorksInPlaceOfEitherSource) {
    for (const int place : {0, 1}) {
        Tensor dy(GGML_TYPE_F32, {37, 2, 1, 1}), y(GGML_TYPE_F32, {37, 2, 1, 1});
        for (int i = 0; i < 74; ++i) {
            dy.f32()[i] = static_cast<float>(i % 5);
            y.f32()[i] = static_cast<float>(i % 3) / 37;
        }
        Node apart(GGML_OP_SOFT_MAX_BACK, GGML_TYPE_F32, {37, 2, 1, 1}, {&dy, &y});
        ASSERT_EQ(apart.with(tenon_soft_max_back_params{0.5f, 0}).run(), "");
        Node in_place(GGML_OP_SOFT_MAX_BACK, GGML_TYPE_F32, {37, 2, 1, 1}, {&dy, &y});
        in_place.data = place == 0 ? dy.data : y.data;
        ASSERT_EQ(in_place.with(tenon_soft_max_back_params{0.5f, 0}).run(), "");
        EXPECT_EQ(std::memcmp(apart.data, in_place.data, 74 * sizeof(float)), 0) << place;
        EXPECT_EQ(apart.with(tenon_soft_max_back_params{1, 8}).refusal(), TENON_REASON_OP_PARAM);
    }
}

TEST(LossKernels, RefuseOtherTypes) {
    Tensor a(GGML_TYPE_F32, {9, 2, 1, 1}), halves(GGML_TYPE_F16, {9, 2, 1, 1});
    Tensor integers(GGML_TYPE_I32, {9, 2, 1, 1});
    const auto loss = [](Tensor& x, Tensor& y) {
        return Node(GGML_OP_CROSS_ENTROPY_LOSS, GGML_TYPE_F32, {1, 1, 1, 1}, {&x, &y}).refusal();
    };
    EXPECT_EQ(loss(a, a), TENON_REASON_NONE);
    EXPECT_EQ(loss(a, halves), TENON_REASON_NONE);
    EXPECT_EQ(loss(a, integers), TENON_REASON_TYPE);
    EXPECT_EQ(loss(integers, a), TENON_REASON_TYPE);
}

TEST(OptStepKernels, TakeAnyFloats) {
    Tensor w(GGML_TYPE_BF16, {9, 2, 1, 1}), g(GGML_TYPE_F16, {9, 2, 1, 1});
    Tensor m(GGML_TYPE_F32, {9, 2, 1, 1}), integers(GGML_TYPE_I32, {9, 2, 1, 1});
    Tensor seven(GGML_TYPE_F32, {7, 1, 1, 1});
    Node adamw(GGML_OP_OPT_STEP_ADAMW, GGML_TYPE_BF16, {9, 2, 1, 1}, {&w, &g, &m, &m, &seven});
    EXPECT_EQ(adamw.refusal(), TENON_REASON_NONE);
    adamw.src[2] = &integers;
    EXPECT_EQ(adamw.refusal(), TENON_REASON_TYPE);
}

}  // namespace
}  // namespace tenon::cpu
