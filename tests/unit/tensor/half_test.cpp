// Numbers of 16 bits: every f16 value, the edges of f32, rows.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ggml.h"
#include "tenon/kit/half.h"
#include "tenon/tenon.h"

using namespace tenon::kit;

namespace {

const std::string kGolden = TENON_TEST_DATA "/golden/types/";

std::vector<uint32_t> all_f16_values() {
    std::ifstream in(kGolden + "f16_to_f32.bin", std::ios::binary);
    std::vector<uint32_t> values(65536);
    in.read(reinterpret_cast<char*>(values.data()), 65536 * 4);
    EXPECT_EQ(in.gcount(), 65536 * 4);
    return values;
}

TEST(Half, EveryF16ConvertsToItsF32) {
    const auto expected = all_f16_values();
    for (uint32_t h = 0; h < 65536; ++h) {
        const float got = f16_to_f32(static_cast<uint16_t>(h));
        ASSERT_EQ(std::bit_cast<uint32_t>(got), expected[h]) << std::hex << h;
    }
}

TEST(Half, EveryF16SurvivesTheWayThere) {
    for (uint32_t h = 0; h < 65536; ++h) {
        const bool is_nan = (h & 0x7FFF) > 0x7C00;
        const uint16_t back = f32_to_f16(f16_to_f32(static_cast<uint16_t>(h)));
        ASSERT_EQ(back, is_nan ? (h & 0x8000) | 0x7E00 : h) << std::hex << h;
    }
}

// Between each two neighbours: just below the middle, the middle, just above.
TEST(Half, EveryF16BoundaryRoundsToNearestEven) {
    for (uint32_t h = 0; h < 0x7C00; ++h) {
        const float low = f16_to_f32(static_cast<uint16_t>(h));
        const double high = h == 0x7BFF ? 65536.0 : f16_to_f32(static_cast<uint16_t>(h + 1));
        const float middle = static_cast<float>((static_cast<double>(low) + high) / 2);
        const uint32_t even = h % 2 == 0 ? h : h + 1;
        ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), h);
        ASSERT_EQ(f32_to_f16(middle), even);
        ASSERT_EQ(f32_to_f16(std::nextafter(middle, 1e30f)), h + 1);
        ASSERT_EQ(f32_to_f16(-middle), even | 0x8000);
    }
}

TEST(Half, EdgesOfF32MatchTheGoldenTable) {
    std::ifstream in(kGolden + "f32_edges.tsv");
    std::string line;
    std::getline(in, line);
    int rows = 0;
    while (std::getline(in, line)) {
        std::istringstream fields(line);
        uint32_t f32, f16, f16c, bf16;
        fields >> std::hex >> f32 >> f16 >> f16c >> bf16;
        ASSERT_TRUE(fields) << line;
        const float f = std::bit_cast<float>(f32);
        EXPECT_EQ(f32_to_f16(f), f16) << line;
        EXPECT_EQ(f32_to_bf16(f), bf16) << line;
        ++rows;
    }
    EXPECT_EQ(rows, 1830);
}

TEST(Half, Bf16IsTheUpperHalfOfF32) {
    for (uint32_t b = 0; b < 65536; ++b) {
        const float f = bf16_to_f32(static_cast<uint16_t>(b));
        ASSERT_EQ(std::bit_cast<uint32_t>(f), b << 16);
        const bool is_nan = (b & 0x7FFF) > 0x7F80;
        ASSERT_EQ(f32_to_bf16(f), is_nan ? b | 0x40 : b);
    }
}

TEST(Half, RowsGiveTheSameAsValues) {
    const int64_t n = 1003;
    std::vector<float> f(n), back(n);
    uint32_t seed = 1;
    for (float& x : f) {
        seed = seed * 1664525u + 1013904223u;
        x = std::bit_cast<float>(seed);
    }
    std::vector<ggml_fp16_t> h(n);
    std::vector<ggml_bf16_t> b(n), ref(n);
    ggml_fp32_to_fp16_row(f.data(), h.data(), n);
    ggml_fp32_to_bf16_row(f.data(), b.data(), n);
    ggml_fp32_to_bf16_row_ref(f.data(), ref.data(), n);
    for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(h[i], ggml_fp32_to_fp16(f[i]));
        EXPECT_EQ(b[i].bits, ggml_fp32_to_bf16(f[i]).bits);
        EXPECT_EQ(b[i].bits, ref[i].bits);
    }
    ggml_fp16_to_fp32_row(h.data(), back.data(), n);
    for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(std::bit_cast<uint32_t>(back[i]),
                  std::bit_cast<uint32_t>(ggml_fp16_to_fp32(h[i])));
    }
    ggml_bf16_to_fp32_row(b.data(), back.data(), n);
    for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(std::bit_cast<uint32_t>(back[i]),
                  std::bit_cast<uint32_t>(ggml_bf16_to_fp32(b[i])));
    }
}

TEST(Half, RowsAtNullAreAnErrorAndNotTouched) {
    float f[2] = {};
    ggml_fp16_t h[2] = {};
    tenon_clear_error();
    ggml_fp32_to_fp16_row(nullptr, h, 2);
    EXPECT_STREQ(tenon_last_error(), "2 elements to convert from null");
    ggml_fp16_to_fp32_row(h, nullptr, 2);
    EXPECT_STREQ(tenon_last_error(), "2 elements to convert to null");
    ggml_bf16_to_fp32_row(nullptr, f, 2);
    EXPECT_STREQ(tenon_last_error(), "2 elements to convert from null");
    ggml_fp32_to_bf16_row(f, nullptr, 2);
    EXPECT_STREQ(tenon_last_error(), "2 elements to convert to null");
    tenon_clear_error();
    ggml_fp32_to_fp16_row(nullptr, nullptr, 0);
    EXPECT_STREQ(tenon_last_error(), "");
}

}  // namespace
