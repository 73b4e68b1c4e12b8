// The type table and its queries.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/tensor/types.h"
#include "tenon/blocks.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

TEST(Types, RetiredNumbersHaveRowsButCannotBeUsed) {
    for (int t : {4, 5, 31, 32, 33, 36, 37, 38}) {
        const auto type = static_cast<ggml_type>(t);
        EXPECT_EQ(ggml_blck_size(type), 0) << t;
        EXPECT_EQ(ggml_type_size(type), 0u) << t;
        EXPECT_FALSE(ggml_is_quantized(type)) << t;
        EXPECT_FALSE(is_usable_type(t)) << t;
        EXPECT_TRUE(std::strcmp(ggml_type_name(type), "DEPRECATED") == 0 ||
                    std::strstr(ggml_type_name(type), " REMOVED, use "))
            << t;
    }
}

TEST(Types, NumbersOutsideTheTableGiveNothing) {
    for (int t : {-1, 43, 99, 1 << 30}) {
        const auto type = static_cast<ggml_type>(t);
        EXPECT_EQ(ggml_blck_size(type), 0);
        EXPECT_EQ(ggml_type_size(type), 0u);
        EXPECT_NE(ggml_type_name(type), nullptr);
        EXPECT_FALSE(ggml_is_quantized(type));
    }
}

TEST(Types, NamesAreDistinct) {
    for (int a = 0; a < GGML_TYPE_COUNT; ++a) {
        for (int b = 0; b < a; ++b) {
            if (a == 5) continue;  // the two oldest retired numbers share a name
            EXPECT_STRNE(tenon_types[a].name, tenon_types[b].name);
        }
    }
}

TEST(Types, BitsPerElementAreThePublishedOnes) {
    struct Case {
        ggml_type type;
        double bits;
        bool quantized;
    };
    const Case cases[] = {
        {GGML_TYPE_F32, 32, false},        {GGML_TYPE_F16, 16, false},
        {GGML_TYPE_Q4_0, 4.5, true},       {GGML_TYPE_Q4_1, 5, true},
        {GGML_TYPE_Q5_0, 5.5, true},       {GGML_TYPE_Q5_1, 6, true},
        {GGML_TYPE_Q8_0, 8.5, true},       {GGML_TYPE_Q8_1, 9, true},
        {GGML_TYPE_Q2_K, 2.625, true},     {GGML_TYPE_Q3_K, 3.4375, true},
        {GGML_TYPE_Q4_K, 4.5, true},       {GGML_TYPE_Q5_K, 5.5, true},
        {GGML_TYPE_Q6_K, 6.5625, true},    {GGML_TYPE_Q8_K, 9.125, true},
        {GGML_TYPE_IQ2_XXS, 2.0625, true}, {GGML_TYPE_IQ2_XS, 2.3125, true},
        {GGML_TYPE_IQ3_XXS, 3.0625, true}, {GGML_TYPE_IQ1_S, 1.5625, true},
        {GGML_TYPE_IQ4_NL, 4.5, true},     {GGML_TYPE_IQ3_S, 3.4375, true},
        {GGML_TYPE_IQ2_S, 2.5625, true},   {GGML_TYPE_IQ4_XS, 4.25, true},
        {GGML_TYPE_I8, 8, false},          {GGML_TYPE_I16, 16, false},
        {GGML_TYPE_I32, 32, false},        {GGML_TYPE_I64, 64, false},
        {GGML_TYPE_F64, 64, false},        {GGML_TYPE_IQ1_M, 1.75, true},
        {GGML_TYPE_BF16, 16, false},       {GGML_TYPE_TQ1_0, 1.6875, true},
        {GGML_TYPE_TQ2_0, 2.0625, true},   {GGML_TYPE_MXFP4, 4.25, true},
        {GGML_TYPE_NVFP4, 4.5, true},      {GGML_TYPE_Q1_0, 1.125, true},
        {GGML_TYPE_Q2_0, 2.25, true},
    };
    EXPECT_EQ(std::size(cases), 35u);
    for (const Case& c : cases) {
        EXPECT_DOUBLE_EQ(static_cast<double>(ggml_type_size(c.type)) * 8 /
                             static_cast<double>(ggml_blck_size(c.type)),
                         c.bits)
            << ggml_type_name(c.type);
        EXPECT_EQ(ggml_is_quantized(c.type), c.quantized) << ggml_type_name(c.type);
        EXPECT_EQ(ggml_row_size(c.type, ggml_blck_size(c.type) * 3), ggml_type_size(c.type) * 3);
    }
}

TEST(Types, RowsAreWholeBlocks) {
    tenon_clear_error();
    EXPECT_EQ(ggml_row_size(GGML_TYPE_F16, 7), 14u);
    EXPECT_EQ(ggml_row_size(GGML_TYPE_Q4_0, 0), 0u);
    EXPECT_STREQ(tenon_last_error(), "");
    EXPECT_EQ(ggml_row_size(GGML_TYPE_Q4_0, 33), 0u);
    EXPECT_STREQ(tenon_last_error(),
                 "a row of 33 elements is no whole number of q4_0 blocks of 32");
    EXPECT_EQ(ggml_row_size(GGML_TYPE_F32, -1), 0u);
    EXPECT_EQ(ggml_row_size(GGML_TYPE_F64, INT64_MAX), 0u);
    EXPECT_EQ(ggml_row_size(static_cast<ggml_type>(4), 32), 0u);
    EXPECT_EQ(ggml_row_size(static_cast<ggml_type>(77), 32), 0u);
}

TEST(Types, FileTypesStandForTensorTypes) {
    EXPECT_EQ(ggml_ftype_to_ggml_type(GGML_FTYPE_ALL_F32), GGML_TYPE_F32);
    EXPECT_EQ(ggml_ftype_to_ggml_type(GGML_FTYPE_MOSTLY_Q8_0), GGML_TYPE_Q8_0);
    EXPECT_EQ(ggml_ftype_to_ggml_type(GGML_FTYPE_MOSTLY_IQ1_M), GGML_TYPE_IQ1_M);
    EXPECT_EQ(ggml_ftype_to_ggml_type(GGML_FTYPE_MOSTLY_Q2_0), GGML_TYPE_Q2_0);
    tenon_clear_error();
    EXPECT_EQ(ggml_ftype_to_ggml_type(GGML_FTYPE_UNKNOWN), GGML_TYPE_COUNT);
    EXPECT_STREQ(tenon_last_error(), "file type -1 stands for no tensor type");
    EXPECT_EQ(ggml_ftype_to_ggml_type(GGML_FTYPE_MOSTLY_Q4_1_SOME_F16), GGML_TYPE_COUNT);
    EXPECT_EQ(ggml_ftype_to_ggml_type(static_cast<ggml_ftype>(29)), GGML_TYPE_COUNT);
}

}  // namespace
