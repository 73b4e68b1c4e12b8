// Sizes of types, and lambdas over types.

#include "tenon/kit/types.h"

#include <gtest/gtest.h>

namespace tenon::kit {
namespace {

TEST(KitTypes, SizesAreThoseOfTheBlocks) {
    EXPECT_EQ(type_size(GGML_TYPE_F32).block, 1);
    EXPECT_EQ(type_size(GGML_TYPE_F32).bytes, 4u);
    EXPECT_EQ(type_size(GGML_TYPE_Q4_0).block, 32);  // 16 bytes of codes and a scale
    EXPECT_EQ(type_size(GGML_TYPE_Q4_0).bytes, 18u);
    EXPECT_EQ(type_size(GGML_TYPE_Q6_K).block, 256);
    EXPECT_EQ(type_size(GGML_TYPE_Q6_K).bytes, 210u);
    EXPECT_EQ(type_size(GGML_TYPE_MXFP4).bytes, 17u);
}

TEST(KitTypes, RetiredAndUnknownNumbersHaveNoSize) {
    for (const int64_t type : {-1, 4, 31, static_cast<int>(GGML_TYPE_COUNT), 1 << 20}) {
        EXPECT_EQ(type_size(type).block, 0) << type;
        EXPECT_EQ(type_size(type).bytes, 0u) << type;
    }
}

TEST(KitTypes, RowsAreWholeBlocks) {
    EXPECT_EQ(row_bytes(GGML_TYPE_F16, 7), 14u);
    EXPECT_EQ(row_bytes(GGML_TYPE_Q8_0, 64), 68u);
    EXPECT_EQ(row_bytes(GGML_TYPE_Q8_0, 0), 0u);
    EXPECT_EQ(row_bytes(GGML_TYPE_I64, 3), 24u);
}

TEST(KitTypes, FloatTypesAreThree) {
    int n = 0;
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = static_cast<ggml_type>(i);
        const bool called = with_float_type(type, [](auto) {});
        EXPECT_EQ(called, is_float_type(type)) << i;
        n += called;
    }
    EXPECT_EQ(n, 3);
}

TEST(KitTypes, LambdasOfBothStandardsGetTheType) {
    bool is_bf16 = false, is_half = false;
    EXPECT_TRUE(with_float_type(GGML_TYPE_BF16, [&](auto tag) {
        is_bf16 = std::is_same_v<typename decltype(tag)::type, ggml_bf16_t>;
    }));
    EXPECT_TRUE(with_float_type(GGML_TYPE_F16,
                                [&]<class T>() { is_half = std::is_same_v<T, ggml_fp16_t>; }));
    EXPECT_TRUE(is_bf16);
    EXPECT_TRUE(is_half);
    EXPECT_FALSE(with_float_type(GGML_TYPE_I32, [](auto) { FAIL() << "called for i32"; }));
}

}  // namespace
}  // namespace tenon::kit
