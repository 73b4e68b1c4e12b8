// The conversion functions of the ggml API: what they accept, what they refuse and how.

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "core/tensor/types.h"
#include "ggml.h"
#include "gtest/gtest.h"
#include "tenon/quant.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

class QuantApi : public testing::Test {
protected:
    void SetUp() override { tenon_clear_error(); }
    void TearDown() override { tenon_clear_error(); }

    // The text of the error, which is gone then.
    static std::string take_error() {
        const char* text = tenon_last_error();
        std::string copy = text ? text : "";
        tenon_clear_error();
        return copy;
    }

    static size_t quantize(ggml_type type, int64_t start, int64_t rows, int64_t n,
                           const float* imatrix = nullptr) {
        std::vector<float> x(4096, 1.0f);
        std::vector<char> out(4 * 4096);
        return ggml_quantize_chunk(type, x.data(), out.data(), start, rows, n, imatrix);
    }
};

TEST_F(QuantApi, EveryTypeHasAFormatAtItsNumber) {
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        const quant::Format* format = quant::find_format(t);
        ASSERT_EQ(format != nullptr, tenon_types[t].block != 0) << t;
        if (!format) continue;
        EXPECT_EQ(format->type, t);
    }
    EXPECT_EQ(quant::find_format(-1), nullptr);
    EXPECT_EQ(quant::find_format(GGML_TYPE_COUNT), nullptr);
}

TEST_F(QuantApi, TraitsHaveARowForEveryNumber) {
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        const ggml_type_traits* traits = ggml_get_type_traits(static_cast<ggml_type>(t));
        ASSERT_NE(traits, nullptr);
        EXPECT_STREQ(traits->type_name, ggml_type_name(static_cast<ggml_type>(t)));
        EXPECT_EQ(traits->blck_size, tenon_types[t].block);
        EXPECT_EQ(traits->type_size, tenon_types[t].bytes);
        EXPECT_EQ(traits->is_quantized, tenon_types[t].quantized);
        EXPECT_EQ(traits->blck_size_interleave, 0);
    }
    EXPECT_NE(ggml_get_type_traits(static_cast<ggml_type>(63))->type_name, nullptr);
    EXPECT_EQ(ggml_get_type_traits(GGML_TYPE_COUNT)->to_float, nullptr);
}

TEST_F(QuantApi, TraitsHideTheDecodersOfOperands) {
    for (ggml_type t : {GGML_TYPE_F32, GGML_TYPE_Q8_1, GGML_TYPE_Q8_K, GGML_TYPE_I32}) {
        EXPECT_EQ(ggml_get_type_traits(t)->to_float, nullptr) << ggml_type_name(t);
    }
    EXPECT_EQ(ggml_get_type_traits(GGML_TYPE_F32)->from_float_ref, nullptr);
    EXPECT_EQ(ggml_get_type_traits(GGML_TYPE_Q8_K)->from_float_ref, nullptr);
    EXPECT_NE(ggml_get_type_traits(GGML_TYPE_Q8_1)->from_float_ref, nullptr);
    EXPECT_NE(ggml_get_type_traits(GGML_TYPE_F16)->to_float, nullptr);
}

TEST_F(QuantApi, ChunkWritesAtTheRowOfItsStart) {
    const int64_t n = 64, rows = 4;
    std::vector<float> x(static_cast<size_t>(n * rows));
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    const size_t row = ggml_row_size(GGML_TYPE_Q4_0, n);
    std::vector<char> whole(row * rows), parts(row * rows);
    EXPECT_EQ(ggml_quantize_chunk(GGML_TYPE_Q4_0, x.data(), whole.data(), 0, rows, n, nullptr),
              row * rows);
    for (int64_t r = rows - 1; r >= 0; --r) {
        EXPECT_EQ(ggml_quantize_chunk(GGML_TYPE_Q4_0, x.data(), parts.data(), r * n, 1, n, nullptr),
                  row);
    }
    EXPECT_EQ(whole, parts);
    EXPECT_EQ(take_error(), "");
}

TEST_F(QuantApi, ChunkCopiesPlainFloats) {
    const float x[3] = {1, -2.5f, 65504};
    float f32[3];
    ggml_fp16_t f16[3];
    EXPECT_EQ(ggml_quantize_chunk(GGML_TYPE_F32, x, f32, 0, 1, 3, nullptr), sizeof f32);
    EXPECT_EQ(std::memcmp(x, f32, sizeof x), 0);
    EXPECT_EQ(ggml_quantize_chunk(GGML_TYPE_F16, x, f16, 0, 1, 3, nullptr), sizeof f16);
    EXPECT_EQ(ggml_fp16_to_fp32(f16[2]), 65504);
}

TEST_F(QuantApi, ChunkRefusesWhatIsNoWholeBlock) {
    EXPECT_EQ(quantize(GGML_TYPE_Q4_0, 0, 1, 33), 0u);
    EXPECT_EQ(take_error(), "rows of 33 elements are not whole blocks of 32 of type q4_0");
    EXPECT_EQ(quantize(GGML_TYPE_Q4_K, 0, 1, 128), 0u);
    EXPECT_EQ(take_error(), "rows of 128 elements are not whole blocks of 256 of type q4_K");
    EXPECT_EQ(quantize(GGML_TYPE_Q8_0, 0, 1, 0), 0u);
    EXPECT_NE(take_error(), "");
    EXPECT_EQ(quantize(GGML_TYPE_Q8_0, 32, 1, 64), 0u);
    EXPECT_EQ(take_error(), "start 32 is not at a row of 64 elements");
    EXPECT_EQ(quantize(GGML_TYPE_Q8_0, -64, 1, 64), 0u);
    EXPECT_NE(take_error(), "");
    EXPECT_EQ(quantize(GGML_TYPE_Q8_0, 0, -1, 64), 0u);
    EXPECT_NE(take_error(), "");
}

TEST_F(QuantApi, ChunkRefusesTypesThatAreNotForFiles) {
    for (int t : {int{GGML_TYPE_Q8_1}, int{GGML_TYPE_Q8_K}, int{GGML_TYPE_I32}, int{GGML_TYPE_F64},
                  4, 31, 36, 43, 63}) {
        EXPECT_EQ(quantize(static_cast<ggml_type>(t), 0, 1, 256), 0u) << t;
        EXPECT_NE(take_error(), "") << t;
    }
}

TEST_F(QuantApi, ChunkRefusesSizesBeyondTheAddressSpace) {
    const int64_t huge = int64_t{1} << 62;
    EXPECT_EQ(quantize(GGML_TYPE_F16, 0, huge, 256), 0u);
    EXPECT_NE(take_error().find("exceed the address space"), std::string::npos);
    EXPECT_EQ(quantize(GGML_TYPE_F16, huge, 1, 1 << 20), 0u);
    EXPECT_NE(take_error(), "");
}

TEST_F(QuantApi, ChunkOfNoRowsIsNothing) {
    EXPECT_EQ(quantize(GGML_TYPE_Q4_0, 64, 0, 64), 0u);
    EXPECT_EQ(ggml_quantize_chunk(GGML_TYPE_Q4_0, nullptr, nullptr, 0, 0, 64, nullptr), 0u);
    EXPECT_EQ(take_error(), "");
    EXPECT_EQ(ggml_quantize_chunk(GGML_TYPE_Q4_0, nullptr, nullptr, 0, 1, 64, nullptr), 0u);
    EXPECT_NE(take_error(), "");
}

TEST_F(QuantApi, OnlyQuantizersThatNeedWeightsAskForThem) {
    for (int t = 0; t <= GGML_TYPE_COUNT; ++t) {
        const quant::Format* format = quant::find_format(t);
        const bool required = ggml_quantize_requires_imatrix(static_cast<ggml_type>(t));
        EXPECT_EQ(required, format && format->requires_importance);
        if (!required || !format->quantize) continue;
        EXPECT_EQ(quantize(format->type, 0, 1, 256), 0u);
        EXPECT_EQ(take_error(),
                  std::string("type ") + tenon_types[t].name + " needs an importance matrix");
    }
}

TEST_F(QuantApi, InitAndFreeMayBeRepeated) {
    for (int round = 0; round < 2; ++round) {
        for (int t = 0; t <= GGML_TYPE_COUNT; ++t) ggml_quantize_init(static_cast<ggml_type>(t));
        ggml_quantize_free();
        ggml_quantize_free();
    }
    EXPECT_EQ(take_error(), "");
}

TEST_F(QuantApi, ThreadsQuantizeDisjointRows) {
    const int64_t n = 256, rows = 32;
    std::vector<float> x(static_cast<size_t>(n * rows)), w(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) * 0.7f);
    for (size_t i = 0; i < w.size(); ++i) w[i] = 0.1f + static_cast<float>(i % 7);
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        const auto type = static_cast<ggml_type>(t);
        const quant::Format* format = quant::find_format(t);
        if (!format || !format->quantize) continue;
        ggml_quantize_free();
        const size_t row = ggml_row_size(type, n);
        std::vector<char> whole(row * rows), parts(row * rows);
        std::vector<std::thread> threads;
        std::atomic<int64_t> next{0};
        for (int k = 0; k < 4; ++k) {
            threads.emplace_back([&] {
                for (int64_t r; (r = next++) < rows;) {
                    ggml_quantize_chunk(type, x.data(), parts.data(), r * n, 1, n, w.data());
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        ggml_quantize_chunk(type, x.data(), whole.data(), 0, rows, n, w.data());
        EXPECT_EQ(whole, parts) << ggml_type_name(type);
    }
    ggml_quantize_free();
}

TEST_F(QuantApi, ValidationFindsInfiniteAndMissingNumbers) {
    for (float bad : {kInf, -kInf, std::nanf("")}) {
        const float f32[3] = {1, 2, bad};
        EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_F32, f32, sizeof f32));
        const uint16_t f16[2] = {0, ggml_fp32_to_fp16(bad)};
        EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_F16, f16, sizeof f16));
        const uint16_t bf16[2] = {0, ggml_fp32_to_bf16(bad).bits};
        EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_BF16, bf16, sizeof bf16));
        const double f64[1] = {bad};
        EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_F64, f64, sizeof f64));
    }
    const double huge = 1e300;
    EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_F64, &huge, sizeof huge));
    const double largest = static_cast<double>(std::numeric_limits<float>::max());
    EXPECT_TRUE(ggml_validate_row_data(GGML_TYPE_F64, &largest, sizeof largest));
    EXPECT_NE(take_error().find("infinite or not a number"), std::string::npos);
}

TEST_F(QuantApi, ValidationLooksAtEveryScale) {
    tenon_block_q4_1 q4_1[2] = {};
    EXPECT_TRUE(ggml_validate_row_data(GGML_TYPE_Q4_1, q4_1, sizeof q4_1));
    q4_1[1].m = 0x7c00;
    EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_Q4_1, q4_1, sizeof q4_1));
    tenon_block_q5_K q5_K = {};
    q5_K.dmin = 0xfe00;
    EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_Q5_K, &q5_K, sizeof q5_K));
    tenon_block_q8_K q8_K = {};
    q8_K.d = kInf;
    EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_Q8_K, &q8_K, sizeof q8_K));
    tenon_block_mxfp4 mxfp4 = {};
    mxfp4.e = 254;
    EXPECT_TRUE(ggml_validate_row_data(GGML_TYPE_MXFP4, &mxfp4, sizeof mxfp4));
    mxfp4.e = 255;
    EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_MXFP4, &mxfp4, sizeof mxfp4));
    tenon_block_nvfp4 nvfp4;
    std::memset(&nvfp4, 0xff, sizeof nvfp4);
    EXPECT_TRUE(ggml_validate_row_data(GGML_TYPE_NVFP4, &nvfp4, sizeof nvfp4));
    EXPECT_TRUE(ggml_validate_row_data(GGML_TYPE_I32, &nvfp4, sizeof nvfp4));
}

TEST_F(QuantApi, ValidationRefusesWhatIsNoData) {
    const char bytes[64] = {};
    EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_Q4_0, bytes, 17));
    EXPECT_EQ(take_error(), "17 bytes are not whole blocks of 18 bytes of type q4_0");
    EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_Q8_1, bytes, 36));
    EXPECT_FALSE(ggml_validate_row_data(static_cast<ggml_type>(4), bytes, 0));
    EXPECT_FALSE(ggml_validate_row_data(static_cast<ggml_type>(43), bytes, 0));
    EXPECT_FALSE(ggml_validate_row_data(GGML_TYPE_F32, nullptr, 4));
    EXPECT_TRUE(ggml_validate_row_data(GGML_TYPE_F32, nullptr, 0));
}

}  // namespace
}  // namespace tenon
