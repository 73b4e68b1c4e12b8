// The op table and the representative calls through tenon.h.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/ops/op_calls.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"

using tenon::test::make_arena;

namespace {

template <class Record>
Record sized() {
    Record record{};
    record.struct_size = sizeof record;
    return record;
}

// Calls `visit(op, sub_op, i)` for every representative call.
template <class Visit>
void for_every_call(Visit&& visit) {
    for (size_t op = 0; op < tenon_op_count(); op++) {
        auto info = sized<tenon_op_info>();
        ASSERT_TRUE(tenon_op_get(op, &info));
        for (size_t sub = 0; sub < std::max(info.n_sub_ops, 1u); sub++) {
            for (size_t i = 0; i < tenon_op_call_count(op, sub); i++) visit(info, sub, i);
        }
    }
}

TEST(OpCalls, EveryCallBuildsANodeOfItsOpWithoutData) {
    for_every_call([](const tenon_op_info& info, size_t sub, size_t i) {
        const auto ctx = make_arena(32 * ggml_tensor_overhead(), /*no_alloc=*/true);
        char description[160] = "";
        tenon_clear_error();
        const ggml_tensor* node =
            tenon_op_call(ctx.get(), info.op, sub, i, description, sizeof description);
        const std::string which = std::string(info.name) + " " + std::to_string(i);
        ASSERT_NE(node, nullptr) << which << ": " << tenon_last_error();
        EXPECT_STREQ(tenon_last_error(), "") << which;
        EXPECT_EQ(node->op, static_cast<ggml_op>(info.op)) << which;
        EXPECT_EQ(node->data, nullptr) << which;
        EXPECT_FALSE(ggml_is_empty(node)) << which;
        EXPECT_NE(std::string(description).find(", "), std::string::npos) << description;
        EXPECT_LT(std::string(description).size(), 100u) << description;
        if (info.n_sub_ops != 0) {
            EXPECT_EQ(node->op_params[0], static_cast<int32_t>(sub)) << which;
        }
        uint32_t n_sources = 0;
        while (n_sources < GGML_MAX_SRC && node->src[n_sources] != nullptr) n_sources++;
        EXPECT_GE(n_sources, info.min_sources) << which;
        EXPECT_LE(n_sources, info.max_sources) << which;
    });
}

TEST(OpCalls, DescriptionsOfAnOpAreDistinct) {
    std::vector<std::string> seen;
    for_every_call([&](const tenon_op_info& info, size_t sub, size_t i) {
        const auto ctx = make_arena(32 * ggml_tensor_overhead(), /*no_alloc=*/true);
        char description[160] = "";
        ASSERT_NE(tenon_op_call(ctx.get(), info.op, sub, i, description, sizeof description),
                  nullptr);
        const std::string line =
            std::string(info.name) + ":" + std::to_string(sub) + " " + description;
        EXPECT_EQ(std::find(seen.begin(), seen.end(), line), seen.end()) << line;
        seen.push_back(line);
    });
    EXPECT_GT(seen.size(), 500u);
}

TEST(OpCalls, OnlyAnOpThatCannotBeBuiltHasNone) {
    for (size_t op = 0; op < tenon_op_count(); op++) {
        EXPECT_EQ(tenon_op_call_count(op, 0) == 0, op == GGML_OP_FLASH_ATTN_BACK)
            << ggml_op_name(static_cast<ggml_op>(op));
    }
}

TEST(OpCalls, WeightsComeInEveryTypeThatHasAConversion) {
    for (int t = 0; t < GGML_TYPE_COUNT; t++) {
        const auto type = static_cast<ggml_type>(t);
        if (!ggml_is_quantized(type) || type == GGML_TYPE_Q8_1 || type == GGML_TYPE_Q8_K) continue;
        EXPECT_NE(std::find(std::begin(tenon::kWeights), std::end(tenon::kWeights), type),
                  std::end(tenon::kWeights))
            << ggml_type_name(type);
    }
}

TEST(OpCalls, NumbersOutOfRangeAreErrors) {
    const auto ctx = make_arena();
    EXPECT_EQ(tenon_op_call_count(GGML_OP_COUNT, 0), 0u);
    EXPECT_EQ(tenon_op_call_count(GGML_OP_ADD, 1), 0u);
    EXPECT_EQ(tenon_op_call_count(GGML_OP_UNARY, GGML_UNARY_OP_COUNT), 0u);
    const size_t n = tenon_op_call_count(GGML_OP_TRI, 0);
    tenon_clear_error();
    EXPECT_EQ(tenon_op_call(ctx.get(), GGML_OP_TRI, 0, n, nullptr, 0), nullptr);
    EXPECT_STREQ(tenon_last_error(), "op 72, sub-op 0 has 2 calls, there is no number 2");
    EXPECT_EQ(tenon_op_call(ctx.get(), SIZE_MAX, 0, 0, nullptr, 0), nullptr);
    EXPECT_EQ(tenon_op_call(nullptr, GGML_OP_TRI, 0, 0, nullptr, 0), nullptr);
    EXPECT_STRNE(tenon_last_error(), "");
}

TEST(OpCalls, AFullArenaIsAnError) {
    for (size_t room = 0; room < 4; room++) {
        const auto ctx = make_arena(room * ggml_tensor_overhead(), /*no_alloc=*/true);
        tenon_clear_error();
        EXPECT_EQ(tenon_op_call(ctx.get(), GGML_OP_FLASH_ATTN_EXT, 0, 0, nullptr, 0), nullptr);
        EXPECT_STRNE(tenon_last_error(), "") << room;
    }
}

TEST(OpInfo, TellsWhatTheTableSays) {
    auto info = sized<tenon_op_info>();
    ASSERT_TRUE(tenon_op_get(GGML_OP_ROPE, &info));
    EXPECT_STREQ(info.name, "ROPE");
    EXPECT_STREQ(info.symbol, "rope(x)");
    EXPECT_EQ(info.min_sources, 2u);
    EXPECT_EQ(info.max_sources, 3u);
    EXPECT_EQ(info.n_sub_ops, 0u);
    EXPECT_EQ(info.flags, static_cast<uint32_t>(TENON_OP_IN_PLACE));
    ASSERT_TRUE(tenon_op_get(GGML_OP_VIEW, &info));
    EXPECT_EQ(info.flags, static_cast<uint32_t>(TENON_OP_VIEW));
    ASSERT_TRUE(tenon_op_get(GGML_OP_SET_ROWS, &info));
    EXPECT_EQ(info.flags, static_cast<uint32_t>(TENON_OP_WRITES_SOURCE));
    ASSERT_TRUE(tenon_op_get(GGML_OP_GLU, &info));
    EXPECT_EQ(info.n_sub_ops, static_cast<uint32_t>(GGML_GLU_OP_COUNT));
    EXPECT_FALSE(tenon_op_get(GGML_OP_COUNT, &info));
    EXPECT_FALSE(tenon_op_get(0, nullptr));
}

TEST(OpInfo, TellsAboutSubOps) {
    auto info = sized<tenon_sub_op_info>();
    ASSERT_TRUE(tenon_sub_op_get(GGML_OP_UNARY, GGML_UNARY_OP_XIELU, &info));
    EXPECT_STREQ(info.name, "XIELU");
    EXPECT_EQ(info.sub_op, static_cast<uint32_t>(GGML_UNARY_OP_XIELU));
    ASSERT_TRUE(tenon_sub_op_get(GGML_OP_GLU, GGML_GLU_OP_SWIGLU, &info));
    EXPECT_STREQ(info.name, "SWIGLU");
    EXPECT_FALSE(tenon_sub_op_get(GGML_OP_GLU, GGML_GLU_OP_COUNT, &info));
    EXPECT_FALSE(tenon_sub_op_get(GGML_OP_ADD, 0, &info));
}

TEST(OpInfo, AShorterRecordIsFilledAsFarAsItGoes) {
    tenon_op_info info{};
    info.struct_size = offsetof(tenon_op_info, symbol);
    ASSERT_TRUE(tenon_op_get(GGML_OP_ADD, &info));
    EXPECT_STREQ(info.name, "ADD");
    EXPECT_EQ(info.symbol, nullptr);
    EXPECT_EQ(info.struct_size, offsetof(tenon_op_info, symbol));
}

}  // namespace
