// Single elements by index: conversions, strides, refusals.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "ggml-cpu.h"
#include "ggml.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"

using tenon::test::make_arena;

namespace {

constexpr ggml_type kTypes[] = {GGML_TYPE_I8,  GGML_TYPE_I16,  GGML_TYPE_I32,
                                GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F32};

TEST(Scalars, SmallNumbersSurviveInEveryType) {
    const auto ctx = make_arena();
    for (ggml_type type : kTypes) {
        ggml_tensor* t = ggml_new_tensor_4d(ctx.get(), type, 3, 4, 2, 2);
        for (int i = 0; i < 48; ++i) ggml_set_i32_1d(t, i, i - 20);
        for (int i = 0; i < 48; ++i) {
            EXPECT_EQ(ggml_get_i32_1d(t, i), i - 20) << ggml_type_name(type);
            EXPECT_EQ(ggml_get_f32_1d(t, i), static_cast<float>(i - 20)) << ggml_type_name(type);
        }
        EXPECT_EQ(ggml_get_i32_nd(t, 2, 3, 1, 1), 27);
        ggml_set_f32_nd(t, 1, 2, 0, 1, 5.0f);
        EXPECT_EQ(ggml_get_f32_1d(t, 1 + 2 * 3 + 24), 5.0f);
        ggml_set_i32_nd(t, 0, 0, 0, 0, -7);
        EXPECT_EQ(ggml_get_f32_nd(t, 0, 0, 0, 0), -7.0f);
    }
}

TEST(Scalars, FractionsAreCutTowardsZero) {
    const auto ctx = make_arena();
    ggml_tensor* f = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1);
    ggml_tensor* n = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_I16, 1);
    for (const auto& [value, cut] : {std::pair{2.9f, 2}, {-2.9f, -2}, {0.5f, 0}}) {
        ggml_set_f32_1d(f, 0, value);
        EXPECT_EQ(ggml_get_i32_1d(f, 0), cut);
        ggml_set_f32_1d(n, 0, value);
        EXPECT_EQ(ggml_get_i32_1d(n, 0), cut);
    }
}

TEST(Scalars, FillingReachesAllAndOnlyTheTensor) {
    const auto ctx = make_arena();
    for (ggml_type type : kTypes) {
        ggml_tensor* t = ggml_new_tensor_3d(ctx.get(), type, 5, 3, 2);
        ggml_tensor* after = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_I32, 1);
        std::memset(after->data, 0x5A, 4);
        EXPECT_EQ(ggml_set_f32(t, 3.0f), t);
        for (int i = 0; i < 30; ++i) EXPECT_EQ(ggml_get_f32_1d(t, i), 3.0f);
        EXPECT_EQ(ggml_set_i32(t, 4), t);
        for (int i = 0; i < 30; ++i) EXPECT_EQ(ggml_get_i32_1d(t, i), 4);
        EXPECT_EQ(ggml_get_i32_1d(after, 0), 0x5A5A5A5A);
    }
}

TEST(Scalars, StridesAreFollowed) {
    const auto ctx = make_arena();
    ggml_tensor* t = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 3, 2);
    for (int i = 0; i < 6; ++i) ggml_set_f32_1d(t, i, static_cast<float>(i));
    ggml_tensor* v = ggml_view_tensor(ctx.get(), t);
    std::swap(v->ne[0], v->ne[1]);
    std::swap(v->nb[0], v->nb[1]);
    EXPECT_EQ(ggml_get_f32_1d(v, 1), 3.0f);
    EXPECT_EQ(ggml_get_f32_nd(v, 0, 2, 0, 0), 2.0f);
    v->ne[1] = 2;  // a part: filling it leaves the rest
    ggml_set_f32(v, 9.0f);
    const float expected[] = {9, 9, 2, 9, 9, 5};
    EXPECT_EQ(std::memcmp(t->data, expected, sizeof expected), 0);
}

TEST(Scalars, ScalarsHaveTheirValueFromTheStart) {
    const auto ctx = make_arena();
    ggml_tensor* i = ggml_new_i32(ctx.get(), -5);
    ggml_tensor* f = ggml_new_f32(ctx.get(), 2.5f);
    EXPECT_EQ(ggml_get_i32_1d(i, 0), -5);
    EXPECT_EQ(ggml_get_f32_1d(f, 0), 2.5f);
    EXPECT_TRUE(ggml_is_scalar(i) && ggml_is_scalar(f));
    const auto headers = make_arena(4096, /*no_alloc=*/true);
    EXPECT_EQ(ggml_new_f32(headers.get(), 1.0f), nullptr);
    EXPECT_EQ(ggml_new_i32(nullptr, 1), nullptr);
}

TEST(Scalars, WhatIsNotThereIsAnError) {
    const auto ctx = make_arena();
    ggml_tensor* t = ggml_set_name(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 3, 2), "t");
    ggml_set_f32(t, 1.0f);
    const auto message_of = [](auto&& call) {
        tenon_clear_error();
        call();
        return std::string(tenon_last_error());
    };
    const auto names = [](const std::string& message, const char* what) {
        return message.find(what) != std::string::npos;
    };
    EXPECT_TRUE(names(message_of([&] { EXPECT_EQ(ggml_get_f32_1d(t, 6), 0.0f); }), "6 of 6"));
    EXPECT_TRUE(names(message_of([&] { ggml_set_f32_1d(t, -1, 5); }), "-1 of 6"));
    EXPECT_TRUE(names(message_of([&] { ggml_set_i32_nd(t, 0, 2, 0, 0, 5); }), "dimension 1"));
    EXPECT_TRUE(names(message_of([&] { ggml_get_i32_1d(nullptr, 0); }), "null"));
    for (int i = 0; i < 6; ++i) EXPECT_EQ(ggml_get_f32_1d(t, i), 1.0f);

    ggml_tensor* q = ggml_set_name(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_Q4_0, 32), "q");
    EXPECT_TRUE(names(message_of([&] { ggml_get_f32_1d(q, 0); }), "q4_0"));
    const auto headers = make_arena(4096, /*no_alloc=*/true);
    ggml_tensor* bare = ggml_set_name(ggml_new_tensor_1d(headers.get(), GGML_TYPE_F32, 1), "bare");
    EXPECT_TRUE(names(message_of([&] { ggml_set_f32(bare, 1); }), "bare"));
}

}  // namespace
