// Every SIMD word of this variant against the plain C++ it stands for.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu::simd {
namespace {

constexpr int kLanes = f32::lanes;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> hostile_values() {
    std::vector<float> values = {0.0f,       -0.0f,    1.0f,     -1.0f,    0.5f,       -0.5f,
                                 1.5f,       2.5f,     -2.5f,    1e-40f,   -1e-40f,    8388607.5f,
                                 8388609.0f, 3e9f,     -3e9f,    kInf,     -kInf,      kNan,
                                 65519.0f,   65520.0f, 5.96e-8f, 2.98e-8f, 0.4999999f, 3.4e38f};
    std::mt19937 random(7);
    for (int i = 0; i < 4000; ++i)
        values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    std::uniform_real_distribution<float> small(-100, 100);
    for (int i = 0; i < 4000; ++i) values.push_back(small(random));
    while (values.size() % kLanes) values.push_back(1.0f);
    return values;
}

bool same(float a, float b) {
    return (std::isnan(a) && std::isnan(b)) ||
           std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// word(x) against plain(x) for every value.
template <class Word, class Plain>
void expect_unary(Word word, Plain plain) {
    const std::vector<float> values = hostile_values();
    for (size_t i = 0; i < values.size(); i += kLanes) {
        float got[kLanes];
        store(got, word(load(&values[i])));
        for (int k = 0; k < kLanes; ++k) {
            const float want = plain(values[i + k]);
            ASSERT_TRUE(same(got[k], want)) << values[i + k] << ": " << got[k] << " for " << want;
        }
    }
}

template <class Word, class Plain>
void expect_binary(Word word, Plain plain) {
    const std::vector<float> a = hostile_values();
    std::vector<float> b = a;
    for (int shift : {1, 5, 17, 4001}) {
        std::rotate(b.begin(), b.begin() + shift % static_cast<int>(b.size()), b.end());
        for (size_t i = 0; i < a.size(); i += kLanes) {
            float got[kLanes];
            store(got, word(load(&a[i]), load(&b[i])));
            for (int k = 0; k < kLanes; ++k) {
                const float want = plain(a[i + k], b[i + k]);
                ASSERT_TRUE(same(got[k], want))
                    << a[i + k] << ", " << b[i + k] << ": " << got[k] << " for " << want;
            }
        }
    }
}

TEST(Words, ArithmeticRoundsOnce) {
    expect_binary([](f32 a, f32 b) { return a + b; }, [](float a, float b) { return a + b; });
    expect_binary([](f32 a, f32 b) { return a - b; }, [](float a, float b) { return a - b; });
    expect_binary([](f32 a, f32 b) { return a * b; }, [](float a, float b) { return a * b; });
    expect_binary([](f32 a, f32 b) { return a / b; }, [](float a, float b) { return a / b; });
    expect_unary([](f32 a) { return sqrt(a); }, [](float a) { return std::sqrt(a); });
}

TEST(Words, MinAndMaxGiveTheSecondWhenUnordered) {
    const auto zeros_apart = [](float a, float b) { return a == 0 && b == 0; };
    expect_binary([](f32 a, f32 b) { return min(a, b); },
                  [&](float a, float b) { return zeros_apart(a, b) ? b
                                                 : a < b           ? a
                                                                   : b; });
    expect_binary([](f32 a, f32 b) { return max(a, b); },
                  [&](float a, float b) { return zeros_apart(a, b) ? b
                                                 : a > b           ? a
                                                                   : b; });
}

TEST(Words, SignsAndComparisons) {
    expect_unary([](f32 a) { return abs(a); }, [](float a) { return std::fabs(a); });
    expect_unary([](f32 a) { return neg(a); }, [](float a) { return -a; });
    expect_binary([](f32 a, f32 b) { return copy_sign(a, b); },
                  [](float a, float b) { return std::copysign(a, b); });
    const f32 one = splat(1.0f), zero = splat(0.0f);
    expect_binary([=](f32 a, f32 b) { return select(less(a, b), one, zero); },
                  [](float a, float b) { return a < b ? 1.0f : 0.0f; });
    expect_binary([=](f32 a, f32 b) { return select(less_equal(a, b), one, zero); },
                  [](float a, float b) { return a <= b ? 1.0f : 0.0f; });
    expect_binary([=](f32 a, f32 b) { return select(equal(a, b), one, zero); },
                  [](float a, float b) { return a == b ? 1.0f : 0.0f; });
}

TEST(Words, RoundingKeepsSignsAndHugeValues) {
    expect_unary([](f32 a) { return round_even(a); }, [](float a) { return std::nearbyint(a); });
    expect_unary([](f32 a) { return trunc(a); }, [](float a) { return std::trunc(a); });
    expect_unary([](f32 a) { return floor(a); }, [](float a) { return std::floor(a); });
    expect_unary([](f32 a) { return ceil(a); }, [](float a) { return std::ceil(a); });
}

TEST(Words, IntegersComeAndGo) {
    const f32 x = splat(-1234567.5f);
    float got[kLanes];
    store(got, to_float(to_int(x)));
    EXPECT_EQ(got[0], -1234568.0f);  // to even
    store(got, to_float(to_int_trunc(x)));
    EXPECT_EQ(got[kLanes - 1], -1234567.0f);
    store(got, to_float(shift_right<1>(splat(int32_t{-3}))));
    EXPECT_EQ(got[0], -2.0f);
    store(got, to_float(add(shift_left<4>(splat(int32_t{3})),
                            bit_xor(splat(int32_t{6}), splat(int32_t{3})))));
    EXPECT_EQ(got[0], 53.0f);
}

TEST(Words, PowersOfTwoReachSubnormals) {
    for (float n : {-149.0f, -126.0f, -1.0f, 0.0f, 1.0f, 127.0f, 128.0f}) {
        float got[kLanes];
        store(got, scale_by_power_of_two(splat(0.75f), splat(n)));
        EXPECT_EQ(got[0], std::ldexp(0.75f, static_cast<int>(n))) << n;
    }
}

TEST(Words, PartialVectorsTouchNothingElse) {
    for (int n = 0; n <= kLanes; ++n) {
        std::vector<float> memory(3 * kLanes, 5.0f);
        float* p = memory.data() + kLanes;
        for (int k = 0; k < kLanes; ++k) p[k] = static_cast<float>(k + 1);
        float got[kLanes];
        store(got, load_some(p, n));
        for (int k = 0; k < kLanes; ++k) EXPECT_EQ(got[k], k < n ? k + 1.0f : 0.0f);
        store_some(p, splat(9.0f), n);
        for (int k = 0; k < kLanes; ++k) EXPECT_EQ(p[k], k < n ? 9.0f : k + 1.0f);
        EXPECT_EQ(p[-1], 5.0f);
        EXPECT_EQ(p[kLanes], 5.0f);
    }
}

TEST(Words, HalvesConvertExactlyBothWays) {
    for (uint32_t first = 0; first < 65536; first += kLanes) {
        ggml_fp16_t halves[kLanes], back[kLanes];
        ggml_bf16_t bfloats[kLanes], bback[kLanes];
        for (int k = 0; k < kLanes; ++k) {
            halves[k] = static_cast<uint16_t>(first + k);
            bfloats[k].bits = halves[k];
        }
        float wide[kLanes], bwide[kLanes];
        store(wide, load(halves));
        store(back, load(halves));
        store(bwide, load(bfloats));
        store(bback, load(bfloats));
        for (int k = 0; k < kLanes; ++k) {
            ASSERT_TRUE(same(wide[k], half_to_float(halves[k]))) << halves[k];
            ASSERT_TRUE(same(wide[k], to_f32(halves[k])));
            ASSERT_TRUE(same(bwide[k], bfloat_to_float(bfloats[k])));
            if (std::isnan(wide[k])) continue;
            ASSERT_EQ(back[k], halves[k]);
            ASSERT_EQ(bback[k].bits,
                      std::isnan(bwide[k]) ? bfloats[k].bits | 0x40 : bfloats[k].bits);
        }
    }
}

TEST(Words, HalvesRoundToNearestEven) {
    const std::vector<float> values = hostile_values();
    for (size_t i = 0; i < values.size(); i += kLanes) {
        ggml_fp16_t halves[kLanes];
        ggml_bf16_t bfloats[kLanes];
        store(halves, load(&values[i]));
        store(bfloats, load(&values[i]));
        for (int k = 0; k < kLanes; ++k) {
            ASSERT_EQ(bfloats[k].bits, float_to_bfloat(values[i + k]).bits) << values[i + k];
            if (std::isnan(values[i + k])) continue;
            ASSERT_EQ(halves[k], float_to_half(values[i + k])) << values[i + k];
        }
    }
}

TEST(Words, LanesAreAddedAndCompared) {
    float x[kLanes];
    double sum_of_x = 0;
    for (int k = 0; k < kLanes; ++k) sum_of_x += x[k] = static_cast<float>(1 << k);
    EXPECT_EQ(sum(load(x)), static_cast<float>(sum_of_x));
    EXPECT_EQ(sum(add_wide(f64x{}, load(x))), sum_of_x);
    EXPECT_EQ(max_of(load(x)), x[kLanes - 1]);
    EXPECT_TRUE(any(less(load(x), splat(1.5f))));
    EXPECT_FALSE(any(less(load(x), splat(0.5f))));
    float swapped[kLanes];
    store(swapped, swap_neighbours(load(x)));
    for (int k = 0; k < kLanes; ++k) EXPECT_EQ(swapped[k], x[k ^ 1]);
}

TEST(Words, SquaresAreTransposed) {
    f32 square[kLanes];
    for (int r = 0; r < kLanes; ++r) {
        float line[kLanes];
        for (int c = 0; c < kLanes; ++c) line[c] = static_cast<float>(100 * r + c);
        square[r] = load(line);
    }
    transpose(square);
    for (int r = 0; r < kLanes; ++r) {
        float line[kLanes];
        store(line, square[r]);
        for (int c = 0; c < kLanes; ++c) EXPECT_EQ(line[c], static_cast<float>(100 * c + r));
    }
}

TEST(Words, ByteProductsAreExact) {
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        int8_t w[32], y[32];
        for (int k = 0; k < 32; ++k) {
            w[k] = static_cast<int8_t>(round == 0 ? -128 : round == 1 ? 127 : random());
            y[k] = static_cast<int8_t>(
                round < 2 ? 127 : std::max<int>(static_cast<int8_t>(random()), -127));
        }
        int32_t want = 0;
        for (int k = 0; k < 32; ++k) want += w[k] * y[k];
        ASSERT_EQ(sum(fma(dot(load_i8(w), load_i8(y)), 1.0f, f32x8{})), static_cast<float>(want));
    }
}

TEST(Words, NibblesAndTables) {
    uint8_t packed[16];
    for (int k = 0; k < 16; ++k) packed[k] = static_cast<uint8_t>(k | (15 - k) << 4);
    int8_t table[16], ones[32];
    for (int k = 0; k < 16; ++k) table[k] = static_cast<int8_t>(7 * k - 50);
    const i8x32 values = look_up(table, sub(load_u4(packed), int8_t{0}));
    for (int at = 0; at < 32; ++at) {
        std::fill(ones, ones + 32, int8_t{0});
        ones[at] = 1;
        const float got = sum(fma(dot(values, load_i8(ones)), 1.0f, f32x8{}));
        EXPECT_EQ(got, static_cast<float>(table[at < 16 ? at : 31 - at])) << at;
    }
}

TEST(Words, RowsBecomeBytes) {
    float x[32];
    for (int k = 0; k < 32; ++k) x[k] = (k - 15.5f) * 8;
    int8_t bytes[34] = {};
    const int32_t total = store_i8(bytes + 1, x, 1.0f);
    int32_t want = 0;
    for (int k = 0; k < 32; ++k) {
        EXPECT_EQ(bytes[k + 1], static_cast<int8_t>(std::nearbyint(x[k])));
        want += bytes[k + 1];
    }
    EXPECT_EQ(total, want);
    EXPECT_EQ(bytes[0], 0);
    EXPECT_EQ(bytes[33], 0);
}

}  // namespace
}  // namespace tenon::cpu::simd
