// Times are work over rates, and the rates told to the core are those.

#include "plugins/cpu/rates.h"

#include <gtest/gtest.h>

#include "tests/cpu/node.h"

namespace tenon::cpu {
namespace {

tenon_work work_of(uint32_t kind, double ops, double bytes) { return {ops, bytes, 0, kind, 0}; }

TEST(Rates, TheCoreIsToldTheRatesThatTimesAreMadeOf) {
    tenon_cost_model told{};
    fill_cost_model(1, told);
    const auto per_s = [](uint32_t kind) {
        return 1e9 * 1e9 / (time_ns(work_of(kind, 1e9, 0)) - time_ns(work_of(kind, 0, 0)));
    };
    EXPECT_NEAR(per_s(TENON_WORK_PRODUCT_F32) / told.flops_f32, 1, 1e-6);
    EXPECT_NEAR(per_s(TENON_WORK_PRODUCT_F16) / told.flops_f16, 1, 1e-6);
    EXPECT_NEAR(per_s(TENON_WORK_PRODUCT_I8) / told.ops_i8, 1, 1e-6);
    EXPECT_EQ(static_cast<double>(told.launch_ns), time_ns(work_of(TENON_WORK_VECTOR, 0, 0)));
    const double large = 1e9, larger = 2e9;
    EXPECT_NEAR((time_ns(work_of(TENON_WORK_VECTOR, 0, larger)) -
                 time_ns(work_of(TENON_WORK_VECTOR, 0, large))) *
                    told.bytes_per_s / 1e18,
                1, 1e-6);
}

TEST(Rates, ThreadsAddUpInArithmeticButNotForEverInMemory) {
    tenon_cost_model one{}, many{};
    fill_cost_model(1, one);
    fill_cost_model(64, many);
    EXPECT_EQ(many.flops_f32, 64 * one.flops_f32);
    EXPECT_GT(many.bytes_per_s, one.bytes_per_s);
    EXPECT_LT(many.bytes_per_s, 64 * one.bytes_per_s);
}

TEST(Rates, TheLongerOfOperationsAndBytesCounts) {
    const double ops = time_ns(work_of(TENON_WORK_VECTOR, 1e6, 0));
    const double bytes = time_ns(work_of(TENON_WORK_VECTOR, 0, 1e6));
    EXPECT_EQ(time_ns(work_of(TENON_WORK_VECTOR, 1e6, 1e6)), std::max(ops, bytes));
}

// An application's function may do anything: the whole team is called.
TEST(Rates, WhatIsUnknownTakesLong) { EXPECT_GE(time_ns(work_of(TENON_WORK_UNKNOWN, 1, 4)), 2e4); }

TEST(Rates, AKernelThatIsSlowAtItsWorkSaysSo) {
    Tensor x(GGML_TYPE_F32, {256, 256, 1, 1}), spread(GGML_TYPE_F32, {512, 256, 1, 1});
    spread.ne[0] = 256;
    spread.nb[0] = 8;
    Node dense(GGML_OP_CONT, GGML_TYPE_F32, {256, 256, 1, 1}, {&x});
    Node gathered(GGML_OP_CONT, GGML_TYPE_F32, {256, 256, 1, 1}, {&spread});
    ASSERT_EQ(tenon_node_work(&dense).bytes_read, tenon_node_work(&gathered).bytes_read);
    EXPECT_GT(cost_ns(*find_kernel(gathered), gathered), 2 * cost_ns(*find_kernel(dense), dense));
}

}  // namespace
}  // namespace tenon::cpu
