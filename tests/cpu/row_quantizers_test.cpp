// The plugin's own row quantizers give the bytes of the reference for every input: ties, equal
// magnitudes, tiny values, infinities, NaN.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/kernel.h"
#include "tenon/quant.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kBlocks = 400, kN = 32 * kBlocks;

std::vector<float> normal(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> value;
    std::vector<float> out(kN);
    for (float& x : out) x = value(random);
    return out;
}

void expect_reference(const char* what, const std::vector<float>& x) {
    for (const ggml_type type : {GGML_TYPE_Q8_0, GGML_TYPE_Q4_0}) {
        std::vector<char> got(row_bytes(type, kN)), want(got.size());
        from_float(type)(x.data(), got.data(), kN);
        quant::find_format(type)->from_float_ref(x.data(), want.data(), kN);
        for (size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i], want[i]) << what << ", type " << type << ", byte " << i << ", block "
                                       << i / row_bytes(type, 32);
        }
    }
}

TEST(RowQuantizers, GiveTheBytesOfTheReference) {
    expect_reference("random", normal(21));

    // Half of the largest is a tie in every type; so are halves of steps of whole numbers.
    std::vector<float> ties = normal(22);
    for (int64_t i = 0; i < kN; ++i) ties[i] = std::trunc(ties[i] * 64);
    for (int64_t b = 0; b < kBlocks; ++b) {
        ties[32 * b + 3] = static_cast<float>(150 + b % 7);
        ties[32 * b + 9] = -ties[32 * b + 3] / 2;
        ties[32 * b + 20] = b % 3 ? ties[32 * b + 3] / 2 : -ties[32 * b + 3];
        for (int k = 24; k < 32; ++k) ties[32 * b + k] = (2 * k + 1) * ties[32 * b + 3] / 254;
    }
    expect_reference("ties", ties);

    for (const float size : {0.0f, 1e-37f, 1e-38f, 1e-40f, 1e-44f, 1e30f}) {
        std::vector<float> scaled = normal(23);
        for (float& x : scaled) x *= size;
        expect_reference("scaled", scaled);
    }

    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = INFINITY;
    for (const float special : {kNan, -kNan, kInf, -kInf}) {
        std::vector<float> x = normal(24);
        for (int64_t i = 0; i < kN; i += 37) x[i] = special;
        std::fill_n(x.begin() + 64, 32, special);
        expect_reference("special", x);
    }
}

}  // namespace
}  // namespace tenon::cpu
