// Contexts: what objects cost, what happens when the arena is full, walking over tensors.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/tensor/context.h"
#include "ggml.h"
#include "tenon/tenon.h"
#include "tests/support/allocations.h"
#include "tests/support/arena.h"

using namespace tenon;
using test::make_arena;

namespace {

size_t size_of_arena(size_t asked) {
    const auto ctx = make_arena(asked);
    return ggml_get_mem_size(ctx.get());
}

TEST(Context, SizesAreRoundedToTheAlignment) {
    EXPECT_EQ(size_of_arena(0), 16u);
    EXPECT_EQ(size_of_arena(1), 16u);
    EXPECT_EQ(size_of_arena(1000), 1008u);
    EXPECT_EQ(size_of_arena(1008), 1008u);
}

TEST(Context, MemoryOfTheCallerIsTakenAsItIs) {
    alignas(16) char memory[1000];
    ggml_context_ptr ctx(ggml_init({1000, memory, false}));
    ASSERT_TRUE(ctx);
    EXPECT_EQ(ggml_get_mem_size(ctx.get()), 1000u);
    EXPECT_EQ(ggml_get_mem_buffer(ctx.get()), memory);
    EXPECT_TRUE(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1));   // 480 bytes
    EXPECT_TRUE(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1));   // 960
    EXPECT_FALSE(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1));  // does not fit
    EXPECT_EQ(ggml_used_mem(ctx.get()), 960u);
}

TEST(Context, MemoryOfTheCallerMustBeAligned) {
    alignas(16) char memory[1024];
    tenon_clear_error();
    EXPECT_EQ(ggml_init({1000, memory + 8, false}), nullptr);
    EXPECT_NE(std::strstr(tenon_last_error(), "not aligned to 16 bytes"), nullptr);
}

TEST(Context, ImpossibleSizesAreRefused) {
    tenon_clear_error();
    EXPECT_EQ(ggml_init({SIZE_MAX, nullptr, false}), nullptr);
    EXPECT_NE(std::strstr(tenon_last_error(), "too large"), nullptr);
    EXPECT_EQ(ggml_init({SIZE_MAX / 2, nullptr, false}), nullptr);
    EXPECT_NE(std::strstr(tenon_last_error(), "out of host memory"), nullptr);
}

TEST(Context, RunningOutOfMemoryIsAnError) {
    tenon_clear_error();
    test::g_allocations_until_bad = 0;
    const ggml_context* ctx = ggml_init({1000, nullptr, false});
    test::g_allocations_until_bad = -1;
    EXPECT_EQ(ctx, nullptr);
    EXPECT_STREQ(tenon_last_error(), "context of 1008 bytes: out of host memory");
}

TEST(Context, ATensorWithoutDataCostsTheOverhead) {
    EXPECT_EQ(ggml_tensor_overhead(), 464u);
    const auto ctx = make_arena(10 * 464, /*no_alloc=*/true);
    for (int i = 0; i < 10; ++i) {
        ggml_tensor* t = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 1 << 20, 1 << 20);
        ASSERT_NE(t, nullptr);
        EXPECT_EQ(t->data, nullptr);
        EXPECT_EQ(ggml_used_mem(ctx.get()), 464u * static_cast<size_t>(i + 1));
    }
    EXPECT_EQ(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1), nullptr);
    EXPECT_EQ(ggml_get_max_tensor_size(ctx.get()), size_t{4} << 40);
}

TEST(Context, DataLiesBehindTheTensor) {
    const auto ctx = make_arena();
    ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 5);
    EXPECT_EQ(t->data, t + 1);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t->data) % 16, 0u);
    EXPECT_EQ(ggml_used_mem(ctx.get()), 32u + 432 + 32);
    ggml_tensor* empty = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 0);
    EXPECT_EQ(empty->data, nullptr);
    EXPECT_EQ(ggml_used_mem(ctx.get()), 496u + 464);
    ggml_view_tensor(ctx.get(), t);
    EXPECT_EQ(ggml_used_mem(ctx.get()), 496u + 2 * 464);
}

TEST(Context, AFullArenaSaysHowMuchWasMissing) {
    const auto ctx = make_arena(1008);
    tenon_clear_error();
    EXPECT_EQ(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1000), nullptr);
    EXPECT_STREQ(tenon_last_error(),
                 "context is full: an object of 4432 bytes and its record of 32 do not fit into "
                 "1008 of 1008 bytes left");
    EXPECT_EQ(ggml_used_mem(ctx.get()), 0u);
    EXPECT_NE(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1), nullptr);  // smaller ones still fit
}

TEST(Context, BuffersAreObjectsToo) {
    const auto ctx = make_arena();
    void* a = ggml_new_buffer(ctx.get(), 100);
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 16, 0u);
    EXPECT_EQ(ggml_used_mem(ctx.get()), 32u + 112);
    EXPECT_EQ(ggml_new_buffer(ctx.get(), SIZE_MAX), nullptr);
    EXPECT_EQ(ggml_new_buffer(ctx.get(), SIZE_MAX - 64), nullptr);
    EXPECT_EQ(ggml_new_buffer(nullptr, 5), nullptr);
    EXPECT_EQ(ggml_used_mem(ctx.get()), 32u + 112);
}

TEST(Context, WalksOverTensorsInTheOrderOfTheirCreation) {
    const auto ctx = make_arena();
    EXPECT_EQ(ggml_get_first_tensor(ctx.get()), nullptr);
    ggml_new_buffer(ctx.get(), 10);
    ggml_tensor* a = ggml_set_name(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3), "a");
    ggml_new_graph(ctx.get());
    ggml_tensor* b = ggml_set_name(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3), "b");
    ggml_tensor* also_a = ggml_set_name(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3), "a");
    ggml_new_buffer(ctx.get(), 10);
    EXPECT_EQ(ggml_get_first_tensor(ctx.get()), a);
    EXPECT_EQ(ggml_get_next_tensor(ctx.get(), a), b);
    EXPECT_EQ(ggml_get_next_tensor(ctx.get(), b), also_a);
    EXPECT_EQ(ggml_get_next_tensor(ctx.get(), also_a), nullptr);
    EXPECT_EQ(ggml_get_tensor(ctx.get(), "a"), a);
    EXPECT_EQ(ggml_get_tensor(ctx.get(), "b"), b);
    EXPECT_EQ(ggml_get_tensor(ctx.get(), "c"), nullptr);
    EXPECT_EQ(ggml_get_tensor(ctx.get(), nullptr), nullptr);

    const auto other = make_arena();
    ggml_tensor* foreign = ggml_new_tensor_1d(other.get(), GGML_TYPE_F32, 3);
    tenon_clear_error();
    EXPECT_EQ(ggml_get_next_tensor(ctx.get(), foreign), nullptr);
    EXPECT_STRNE(tenon_last_error(), "");
}

TEST(Context, ResetForgetsObjectsAndKeepsTheFlag) {
    const auto ctx = make_arena(4096, /*no_alloc=*/true);
    ggml_tensor* first = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3);
    ggml_reset(ctx.get());
    EXPECT_EQ(ggml_used_mem(ctx.get()), 0u);
    EXPECT_EQ(ggml_get_first_tensor(ctx.get()), nullptr);
    EXPECT_TRUE(ggml_get_no_alloc(ctx.get()));
    EXPECT_EQ(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3), first);
    ggml_set_no_alloc(ctx.get(), false);
    EXPECT_NE(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3)->data, nullptr);
}

TEST(Context, NullIsNoContext) {
    ggml_free(nullptr);
    ggml_reset(nullptr);
    ggml_set_no_alloc(nullptr, true);
    EXPECT_FALSE(ggml_get_no_alloc(nullptr));
    EXPECT_EQ(ggml_used_mem(nullptr), 0u);
    EXPECT_EQ(ggml_get_mem_size(nullptr), 0u);
    EXPECT_EQ(ggml_get_mem_buffer(nullptr), nullptr);
    EXPECT_EQ(ggml_get_max_tensor_size(nullptr), 0u);
    EXPECT_EQ(ggml_get_first_tensor(nullptr), nullptr);
    EXPECT_EQ(ggml_get_tensor(nullptr, "x"), nullptr);
    EXPECT_EQ(ggml_new_tensor_1d(nullptr, GGML_TYPE_F32, 1), nullptr);
    ggml_print_object(nullptr);
    ggml_print_objects(nullptr);
}

TEST(Context, ObjectsArePrintedToTheLog) {
    const auto ctx = make_arena();
    ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1);
    ggml_new_buffer(ctx.get(), 1);
    std::vector<std::string> lines;
    ggml_log_set(
        [](ggml_log_level level, const char* text, void* data) {
            EXPECT_EQ(level, GGML_LOG_LEVEL_INFO);
            static_cast<std::vector<std::string>*>(data)->push_back(text);
        },
        &lines);
    ggml_print_objects(ctx.get());
    ggml_log_set(nullptr, nullptr);
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_NE(lines[1].find("offset = 32, size = 448"), std::string::npos) << lines[1];
}

}  // namespace
