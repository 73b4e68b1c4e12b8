// Conversion of single numbers: edges of f16 and bf16, scales of the 4-bit floats, rounding.

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "sdk/quant/rounding.h"
#include "tenon/kit/half.h"
#include "tests/unit/quant/golden.h"

namespace tenon {
namespace {

using golden::hex;

TEST(QuantConvert, WidensEveryF16Exactly) {
    const std::vector<uint8_t> bytes = golden::read_bytes("f16_to_f32.bin");
    ASSERT_EQ(bytes.size(), 65536 * sizeof(uint32_t));
    std::vector<uint32_t> want(65536), got(65536);
    std::memcpy(want.data(), bytes.data(), bytes.size());
    std::vector<uint16_t> all(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    std::vector<float> values(65536);
    quant::find_format(GGML_TYPE_F16)->to_float(all.data(), values.data(), 65536);
    for (size_t i = 0; i < all.size(); ++i) got[i] = std::bit_cast<uint32_t>(values[i]);
    EXPECT_EQ(got, want);
}

TEST(QuantConvert, NarrowsEdgesToF16AndBf16) {
    const auto rows = golden::read_table("f32_edges.tsv");
    ASSERT_GT(rows.size(), 1800u);
    for (const auto& row : rows) {
        const float f = std::bit_cast<float>(hex(row[0]));
        uint16_t f16, bf16;
        quant::find_format(GGML_TYPE_F16)->from_float(&f, &f16, 1);
        quant::find_format(GGML_TYPE_BF16)->from_float(&f, &bf16, 1);
        // The columns differ in the payloads of NaN; either is conforming.
        EXPECT_TRUE(f16 == hex(row[1]) || f16 == hex(row[2])) << row[0];
        EXPECT_EQ(bf16, hex(row[3])) << row[0];
    }
}

TEST(QuantConvert, ChoosesTheScaleOfMxfp4) {
    const auto rows = golden::read_table("mxfp4_scale_encode.tsv");
    ASSERT_GT(rows.size(), 300u);
    for (const auto& row : rows) {
        float x[TENON_QK_MXFP4] = {std::bit_cast<float>(hex(row[0]))};
        tenon_block_mxfp4 block;
        quant::find_format(GGML_TYPE_MXFP4)->from_float(x, &block, TENON_QK_MXFP4);
        EXPECT_EQ(block.e, std::stoul(row[2])) << row[0];
    }
}

TEST(QuantConvert, ChoosesTheScaleOfNvfp4) {
    const auto rows = golden::read_table("nvfp4_scale_encode.tsv");
    ASSERT_GT(rows.size(), 400u);
    for (const auto& row : rows) {
        float x[TENON_QK_NVFP4] = {std::bit_cast<float>(hex(row[0]))};
        tenon_block_nvfp4 block;
        quant::find_format(GGML_TYPE_NVFP4)->from_float(x, &block, TENON_QK_NVFP4);
        EXPECT_EQ(block.d[0], hex(row[3])) << row[0];
    }
}

// The plain definition: the nearest value, the lowest code of equals.
int nearest_by_search(float x, float half_scale) {
    constexpr float kDoubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    int best = 0;
    for (int c = 1; c < 16; ++c) {
        const float now = std::fabs(kDoubled[c] * half_scale - x);
        if (now < std::fabs(kDoubled[best] * half_scale - x)) best = c;
    }
    return best;
}

TEST(QuantConvert, PicksTheNearestFourBitFloat) {
    std::mt19937 random(7);
    const auto& format = *quant::find_format(GGML_TYPE_MXFP4);
    for (int round = 0; round < 20000; ++round) {
        float x[TENON_QK_MXFP4];
        // Exponents over the whole range of float; half of the values on middles between codes.
        const int exponent = static_cast<int>(random() % 250) - 124;
        for (float& v : x) {
            const float unit = random() % 2 ? static_cast<float>(random() % 33) / 2
                                            : static_cast<float>(random() % 1000001) * 8e-6f;
            v = std::ldexp(random() % 2 ? unit : -unit, exponent - 3);
        }
        tenon_block_mxfp4 block;
        format.from_float(x, &block, TENON_QK_MXFP4);
        const float half_scale = std::ldexp(1.0f, block.e - 128);
        for (int i = 0; i < TENON_QK_MXFP4; ++i) {
            const int code = block.qs[i % 16] >> 4 * (i / 16) & 15;
            ASSERT_EQ(code, nearest_by_search(x[i], half_scale)) << x[i] << " in " << half_scale;
        }
    }
}

TEST(QuantConvert, RoundsAsTheLibraryDoes) {
    std::mt19937 random(11);
    for (int i = 0; i < 2000000; ++i) {
        const float v = std::bit_cast<float>(static_cast<uint32_t>(random()));
        if (!(std::fabs(v) < 4e6f)) continue;
        ASSERT_EQ(quant::nearest_int(v, -4000000, 4000000), std::lrint(v)) << v;
        ASSERT_EQ(quant::nearest_away(v, -4000000, 4000000), std::lround(v)) << v;
    }
    for (float half = -1000.5f; half <= 1000; half += 0.5f) {
        for (float v : {std::nextafter(half, -2000.0f), half, std::nextafter(half, 2000.0f)}) {
            ASSERT_EQ(quant::nearest_int(v, -2000, 2000), std::lrint(v)) << v;
            ASSERT_EQ(quant::nearest_away(v, -2000, 2000), std::lround(v)) << v;
        }
    }
}

TEST(QuantConvert, RoundingIsDefinedForEveryInput) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    EXPECT_EQ(quant::nearest_int(std::nanf(""), -8, 7), -8);
    EXPECT_EQ(quant::nearest_int(kInf, -8, 7), 7);
    EXPECT_EQ(quant::nearest_away(-kInf, -8, 7), -8);
    EXPECT_EQ(quant::nearest_away(3e38f, -8, 7), 7);
    EXPECT_EQ(quant::truncate(std::nanf(""), 0, 15), 0);
    EXPECT_EQ(quant::truncate(-3e38f, 0, 15), 0);
}

}  // namespace
}  // namespace tenon
