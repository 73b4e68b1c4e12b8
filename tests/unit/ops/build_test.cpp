// What holds for all builders: NULL, full arenas, names.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::make_arena;
using tenon::test::Maker;

namespace {

TEST(OpsBuild, ANullSourceGivesNullWithoutAMessage) {
    const Maker m;
    ggml_tensor* a = m.f32("a", 4);
    tenon_clear_error();
    EXPECT_EQ(ggml_add(m.ctx, a, nullptr), nullptr);
    EXPECT_EQ(ggml_add(m.ctx, nullptr, a), nullptr);
    EXPECT_EQ(ggml_add(nullptr, nullptr, nullptr), nullptr);
    EXPECT_EQ(ggml_set_1d(m.ctx, nullptr, a, 0), nullptr);
    EXPECT_EQ(ggml_reshape(m.ctx, a, nullptr), nullptr);
    EXPECT_EQ(ggml_view_4d(m.ctx, nullptr, 1, 1, 1, 1, 4, 4, 4, 0), nullptr);
    EXPECT_EQ(ggml_permute(m.ctx, nullptr, 0, 1, 2, 3), nullptr);
    EXPECT_EQ(ggml_cpy(m.ctx, a, nullptr), nullptr);
    EXPECT_EQ(ggml_cast(m.ctx, nullptr, GGML_TYPE_F16), nullptr);
    EXPECT_EQ(ggml_repeat(m.ctx, a, nullptr), nullptr);
    EXPECT_EQ(ggml_get_rows_back(m.ctx, a, a, nullptr), nullptr);
    EXPECT_EQ(ggml_argsort_top_k(m.ctx, nullptr, 1), nullptr);
    EXPECT_EQ(ggml_conv_2d(m.ctx, nullptr, a, 1, 1, 0, 0, 1, 1), nullptr);
    EXPECT_EQ(ggml_win_part(m.ctx, nullptr, 1), nullptr);
    EXPECT_EQ(ggml_rope_set_offset(nullptr, 1), nullptr);
    ggml_mul_mat_set_prec(nullptr, GGML_PREC_F32);
    ggml_soft_max_add_sinks(nullptr, a);
    EXPECT_STREQ(tenon_last_error(), "");
}

TEST(OpsBuild, ANullContextIsAnError) {
    const Maker m;
    tenon_clear_error();
    EXPECT_EQ(ggml_relu(nullptr, m.f32("a", 4)), nullptr);
    EXPECT_STREQ(tenon_last_error(), "UNARY: the context is NULL");
}

TEST(OpsBuild, AFullArenaIsAnErrorAndTheSourcesStay) {
    const auto ctx = make_arena(2 * ggml_tensor_overhead(), /*no_alloc=*/true);
    ggml_tensor* a = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4);
    tenon_clear_error();
    ASSERT_NE(ggml_add(ctx.get(), a, a), nullptr);
    EXPECT_EQ(ggml_add(ctx.get(), a, a), nullptr);
    EXPECT_STRNE(tenon_last_error(), "");
    EXPECT_EQ(ggml_used_mem(ctx.get()), 2 * ggml_tensor_overhead());
}

TEST(OpsBuild, AChainOfBuildersKeepsItsFirstError) {
    const Maker m;
    tenon_clear_error();
    ggml_tensor* bad = ggml_add(m.ctx, m.f32("a", 4), m.f32("b", 3));
    EXPECT_EQ(ggml_relu(m.ctx, ggml_scale(m.ctx, bad, 2.0f)), nullptr);
    EXPECT_NE(std::strstr(tenon_last_error(), "ADD: src1 'b'"), nullptr);
}

TEST(OpsBuild, NamesAreCutToFit) {
    const Maker m;
    const std::string longest(GGML_MAX_NAME - 1, 'x');
    ggml_tensor* a = m.f32(longest.c_str(), 4);
    EXPECT_EQ(ggml_transpose(m.ctx, a)->name, longest);
    ggml_set_name(a, longest.substr(5).c_str());
    EXPECT_EQ(ggml_transpose(m.ctx, a)->name, longest.substr(5) + " (tra");
    EXPECT_EQ(ggml_cpy(m.ctx, a, m.f32("b", 4))->name, ("b (copy of " + longest).substr(0, 159));
}

TEST(OpsBuild, AViewOfAnUnnamedTensorIsCalledView) {
    const Maker m;
    EXPECT_STREQ(ggml_view_1d(m.ctx, m.f32("", 4), 2, 0)->name, " (view)");
    EXPECT_STREQ(ggml_abs_inplace(m.ctx, m.f32("", 4))->name, " (view)");
}

}  // namespace
