// Products of bf16 with bf16 and with f32, of the variant and of every level; which levels there
// are.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/dot/panels.h"
#include "plugins/cpu/simd/half.h"
#include "tests/cpu/dot_levels.h"

namespace tenon::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class DotBfloat : public PerLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, DotBfloat, testing::ValuesIn(level_sets()), level_set_name);

const DotType& bfloat() { return *find_dot_type(GGML_TYPE_BF16); }

using Row = std::vector<ggml_bf16_t>;

Row random_row(int64_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> value;
    Row out(static_cast<size_t>(n));
    for (ggml_bf16_t& x : out) x = float_to_bfloat(value(random));
    return out;
}

float dot(const Row& a, const Row& b) {
    float got = 12345;
    bfloat().vec_dot(static_cast<int>(a.size()), &got, 0, a.data(), 0, b.data(), 0, 1);
    return got;
}

float dot_by_tile(const Row& a, const Row& b) {
    float got = 12345;
    float* dst = &got;
    const auto *w = reinterpret_cast<const char*>(a.data()),
               *y = reinterpret_cast<const char*>(b.data());
    bfloat().partner_tile({static_cast<int64_t>(a.size()), w, 2 * a.size(), 1, &y, &dst, 1});
    return got;
}

// The product and the sum of magnitudes, in double.
struct Product {
    double value = 0, size = 0;
    Product(const Row& a, const Row& b) {
        for (size_t i = 0; i < a.size(); ++i) {
            const double product =
                static_cast<double>(bfloat_to_float(a[i])) * bfloat_to_float(b[i]);
            value += product;
            size += std::fabs(product);
        }
    }
};

TEST_P(DotBfloat, EveryLengthAgrees) {
    for (int64_t n = 0; n < 300; n += n < 140 ? 1 : 37) {
        const Row a = random_row(n, 1), b = random_row(n, 2);
        const Product want(a, b);
        EXPECT_NEAR(dot(a, b), want.value, 1e-6 * want.size) << n;
    }
}

// Tiles of rows of bf16 as they are: every row and column, whatever the cut, has the same bits as
// alone.
TEST_P(DotBfloat, TilesDoNotDependOnTheirCut) {
    for (int64_t k : {1, 31, 32, 33, 64, 100, 515}) {
        const int64_t n_rows = 7, n_cols = 11;
        const Row weights = random_row(n_rows * k, 3), columns = random_row(n_cols * k, 4);
        const size_t stride = static_cast<size_t>(k) * sizeof(ggml_bf16_t);
        const auto* w = reinterpret_cast<const char*>(weights.data());
        std::vector<float> got(static_cast<size_t>(n_rows * n_cols), 777.0f);
        std::vector<const char*> b;
        std::vector<float*> dst;
        for (int64_t c = 0; c < n_cols; ++c) {
            b.push_back(reinterpret_cast<const char*>(&columns[static_cast<size_t>(c * k)]));
            dst.push_back(&got[static_cast<size_t>(c * n_rows)]);
        }
        bfloat().partner_tile({k, w, stride, n_rows, b.data(), dst.data(), n_cols});
        for (int64_t c = 0; c < n_cols; ++c) {
            for (int64_t r = 0; r < n_rows; ++r) {
                float alone = 777.0f;
                float* one = &alone;
                bfloat().partner_tile({k, w + static_cast<size_t>(r) * stride, stride, 1,
                                       &b[static_cast<size_t>(c)], &one, 1});
                const float value = got[static_cast<size_t>(c * n_rows + r)];
                ASSERT_EQ(value, alone) << k << ", " << r << ", " << c;
                const Row x(weights.begin() + r * k, weights.begin() + (r + 1) * k);
                const Row y(columns.begin() + c * k, columns.begin() + (c + 1) * k);
                const Product want(x, y);
                ASSERT_NEAR(value, want.value, 1e-6 * want.size) << k << ", " << r << ", " << c;
            }
        }
    }
}

void expect_both(const Row& a, const Row& b, float want) {
    for (const float got : {dot(a, b), dot_by_tile(a, b)}) {
        EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << got << ", " << want;
    }
}

TEST_P(DotBfloat, SpecialValuesGoThrough) {
    for (int64_t n : {3, 40, 300}) {
        for (int64_t at : {int64_t{0}, int64_t{1}, n / 2, n - 1}) {
            Row a = random_row(n, 5), b = random_row(n, 6);
            const auto i = static_cast<size_t>(at);
            b[i] = float_to_bfloat(2.0f);
            a[i] = float_to_bfloat(kInf);
            expect_both(a, b, kInf);
            a[i] = float_to_bfloat(-kInf);
            expect_both(a, b, -kInf);
            b[i] = float_to_bfloat(0.0f);
            expect_both(a, b, kNan);
            a[i] = float_to_bfloat(kNan);
            expect_both(a, b, kNan);
            expect_both(b, a, kNan);
        }
    }
    expect_both({float_to_bfloat(kInf), float_to_bfloat(-kInf)},
                {float_to_bfloat(1.0f), float_to_bfloat(1.0f)}, kNan);
}

// The tile's instruction may take subnormal numbers for zero, but nothing else; the dot product
// not.
TEST_P(DotBfloat, SubnormalNumbersAreExactOrZero) {
    const float tiny = 0x1p-130f, least = 0x1p-126f;
    for (float factor : {1.0f, 0x1p100f}) {
        const Row x(64, float_to_bfloat(tiny)), y(64, float_to_bfloat(factor));
        EXPECT_EQ(dot(x, y), 64 * tiny * factor);
        const float got = dot_by_tile(x, y);
        EXPECT_TRUE(got == 0 || got == 64 * tiny * factor) << got;
        EXPECT_EQ(dot_by_tile(Row(64, float_to_bfloat(least)), y), 64 * least * factor);
    }
}

// Panels of pairs, where a level has them, hold odd numbers of elements too.
TEST_P(DotBfloat, PanelsOfPairsComputeEveryRowAndColumn) {
    if (!bfloat().pair_panels) GTEST_SKIP() << "no panels of pairs at this level";
    for (int64_t k : {1, 2, 31, 64, 1025, 2100}) {
        const int64_t n_rows = kPanelRows + 3, words = (k + 1) / 2;
        for (int64_t n_cols : {int64_t{1}, kStripCols}) {
            const Row weights = random_row(n_rows * k, 7), columns = random_row(n_cols * k, 8);
            std::vector<float> band(kBandFloats), strip(static_cast<size_t>(words * kStripCols));
            std::vector<float> packed(static_cast<size_t>(n_cols * words), NAN);
            std::vector<float> got(static_cast<size_t>(n_rows * n_cols), NAN);
            const float* rows[kStripCols];
            float* dst[kStripCols];
            for (int64_t c = 0; c < n_cols; ++c) {
                float* room = &packed[static_cast<size_t>(c * words)];
                copy_pairs(&columns[static_cast<size_t>(c * k)], k, 0, words, room);
                rows[c] = room;
                dst[c] = &got[static_cast<size_t>(c * n_rows)];
            }
            pack_strip(rows, n_cols, 0, words, strip.data());
            for (int64_t k0 = 0; k0 < words; k0 += kDepth) {
                const int64_t depth = std::min(kDepth, words - k0);
                pack_pairs_band(reinterpret_cast<const char*>(weights.data()),
                                static_cast<size_t>(2 * k), n_rows, k, k0, depth, band.data());
                bfloat().pair_panels(band.data(), n_rows, strip.data() + k0 * kStripCols, n_cols,
                                     depth, dst, k0 > 0);
            }
            for (int64_t c = 0; c < n_cols; ++c) {
                for (int64_t r = 0; r < n_rows; ++r) {
                    const Row x(weights.begin() + r * k, weights.begin() + (r + 1) * k);
                    const Row y(columns.begin() + c * k, columns.begin() + (c + 1) * k);
                    const Product want(x, y);
                    ASSERT_NEAR(dst[c][r], want.value, 1e-6 * want.size)
                        << k << ", " << r << ", " << c;
                }
            }
        }
    }
}

TEST(DotLevels, AListOfFeaturesTakesThemAway) {
    EXPECT_LE(dot_levels().size(), 8u);
    const uint32_t all = (1u << dot_levels().size()) - 1;
    EXPECT_EQ(dot_levels_without(nullptr), all);
    EXPECT_EQ(dot_levels_without("-sse43,-avx"), all);
    for (size_t i = 0; i < dot_levels().size(); ++i) {
        const DotLevel& level = dot_levels()[i];
        for (const char* isa : level.isa) {
            if (!isa) continue;
            const std::string name = isa;
            EXPECT_FALSE(dot_levels_without(("-" + name).c_str()) >> i & 1);
            EXPECT_FALSE(dot_levels_without(("-other,-" + name + ",-more").c_str()) >> i & 1);
            EXPECT_TRUE(dot_levels_without(("-" + name + "x").c_str()) >> i & 1);
            EXPECT_TRUE(dot_levels_without(name.c_str()) >> i & 1);
        }
    }
}

TEST(DotLevels, LimitsHoldUntilTheNext) {
    const uint32_t usable = dot_levels_in_use();
    limit_dot_levels(0);
    EXPECT_EQ(dot_levels_in_use(), 0u);
    EXPECT_EQ(find_level_dot(GGML_TYPE_BF16), nullptr);
    EXPECT_EQ(find_level_dot(GGML_TYPE_Q4_K), nullptr);
    limit_dot_levels(~0u);
    EXPECT_EQ(dot_levels_in_use(), usable);
    for (size_t i = 0; i < dot_levels().size(); ++i) {
        if (!(usable >> i & 1)) continue;
        const bool bfloat = std::string_view(dot_levels()[i].feature).ends_with("BF16");
        const ggml_type type = bfloat ? GGML_TYPE_BF16 : GGML_TYPE_Q4_0;
        limit_dot_levels(1u << i);
        EXPECT_NE(find_level_dot(type), nullptr);
        EXPECT_EQ(find_level_dot(type), find_dot_type(type));
        EXPECT_EQ(find_level_dot(type), dot_levels()[i].find(type));
        EXPECT_EQ(find_level_dot(GGML_TYPE_F32), nullptr);
    }
    limit_dot_levels(~0u);
}

}  // namespace
}  // namespace tenon::cpu
