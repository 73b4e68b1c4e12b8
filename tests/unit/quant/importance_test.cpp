// Importance that is zero, next to nothing, or no number: weights that are not zero survive it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tenon/quant.h"
#include "tenon/tenon.h"

namespace {

using namespace tenon;
using quant::Format;

constexpr int kN = 512;  // two blocks of the largest formats
constexpr int kBlock = 256;

using Row = std::vector<float>;

Row gauss(uint32_t seed = 3) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 0.05f);
    Row row(kN);
    for (float& v : row) v = normal(random);
    return row;
}

Row importance_where(const std::function<bool(int)>& seen, float value = 1, float otherwise = 0) {
    Row row(kN);
    for (int i = 0; i < kN; ++i)
        row[i] = seen(i) ? value * static_cast<float>(i % 7 + 1) : otherwise;
    return row;
}

std::vector<int> types() {
    std::vector<int> all;
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        const Format* format = quant::find_format(t);
        if (format && format->uses_importance) all.push_back(t);
    }
    return all;
}

double dot(const Row& a, const Row& b, int from, int n) {
    double sum = 0;
    for (int i = from; i < from + n; ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

double cosine(const Row& a, const Row& b, int from, int n) {
    return dot(a, b, from, n) / std::sqrt(dot(a, a, from, n) * dot(b, b, from, n));
}

class QuantImportance : public testing::TestWithParam<int> {
protected:
    const Format& format() const { return *quant::find_format(GetParam()); }

    // As the API does it; importance NULL only where the type can do without.
    std::vector<uint8_t> bytes(const Row& x, const float* importance) const {
        std::vector<uint8_t> out(tenon_row_bytes(format().type, kN));
        EXPECT_EQ(ggml_quantize_chunk(format().type, x.data(), out.data(), 0, 1, kN, importance),
                  out.size())
            << tenon_last_error();
        return out;
    }
    std::vector<uint8_t> without(const Row& x) const {
        const Row even(kN, 1.0f);
        return bytes(x, format().requires_importance ? even.data() : nullptr);
    }
    Row decoded(const std::vector<uint8_t>& blocks) const {
        Row out(kN);
        format().to_float(blocks.data(), out.data(), kN);
        return out;
    }
    size_t block_bytes() const { return tenon_row_bytes(format().type, kBlock); }
};

TEST_P(QuantImportance, OfZeroIsNone) {
    const Row x = gauss(), zero(kN, 0.0f);
    EXPECT_EQ(bytes(x, zero.data()), without(x));
}

TEST_P(QuantImportance, OfZeroInOneBlockIsNoneThere) {
    const Row x = gauss(), half = importance_where([](int i) { return i >= kBlock; });
    const auto got = bytes(x, half.data()), plain = without(x);
    const auto middle = static_cast<ptrdiff_t>(block_bytes());
    EXPECT_TRUE(std::equal(got.begin(), got.begin() + middle, plain.begin()));
    // The other block is what it is under importance everywhere.
    const Row all = importance_where([](int) { return true; });
    const auto weighted = bytes(x, all.data());
    EXPECT_TRUE(std::equal(got.begin() + middle, got.end(), weighted.begin() + middle));
}

TEST_P(QuantImportance, PositiveImportanceIsTakenAsItIs) {
    Row x = gauss(), importance = importance_where([](int) { return true; });
    const auto got = bytes(x, importance.data());
    for (float& v : importance) v *= 0x1p-90f;  // out of the range of moderate numbers
    EXPECT_EQ(bytes(x, importance.data()), got);
    for (float& v : importance) v *= 0x1p90f * 0x1p90;
    EXPECT_EQ(bytes(x, importance.data()), got);
}

struct Pattern {
    const char* name;
    std::function<bool(int)> seen;
};

// In every pattern each sub-block of 16 decodes to something that points where its weights do.
TEST_P(QuantImportance, WhereverItIsZeroTheWeightsStay) {
    const Pattern patterns[] = {
        {"every other column", [](int i) { return i % 2 == 0; }},
        {"every other sub-block", [](int i) { return i / 32 % 2 == 0; }},
        {"every other half sub-block", [](int i) { return i / 16 % 2 == 0; }},
        {"one sub-block of a block", [](int i) { return i % kBlock < 32; }},
        {"one column of a sub-block", [](int i) { return i % 16 == 5; }},
        {"one column of a block", [](int i) { return i % kBlock == 77; }},
        {"one column", [](int i) { return i == 300; }},
        {"no column", [](int) { return false; }},
    };
    const Row x = gauss();
    const Row plain = decoded(without(x));
    for (const Pattern& p : patterns) {
        for (const float otherwise : {0.0f, 1e-45f, 1e-30f}) {
            for (const float value : {1e-38f, 1.0f, 1e30f}) {
                if (otherwise > value * 1e-7f) continue;
                const Row importance = importance_where(p.seen, value, otherwise);
                const Row got = decoded(bytes(x, importance.data()));
                for (int at = 0; at < kN; at += 32) {
                    const double size = std::sqrt(dot(got, got, at, 32) / dot(x, x, at, 32));
                    EXPECT_GT(size, 0.2) << p.name << " x " << value << " at " << at;
                    EXPECT_LT(size, 5.0) << p.name << " x " << value << " at " << at;
                }
                EXPECT_GT(cosine(got, x, 0, kN), cosine(plain, x, 0, kN) - 0.25)
                    << p.name << " x " << value;
            }
        }
    }
}

// What was seen is zero, or next to it; all that counts was not.
TEST_P(QuantImportance, OfZeroWeightsOnlyIsNone) {
    for (const float small : {0.0f, 1e-9f, -1e-6f}) {
        Row x = gauss();
        for (int i = 0; i < kN; i += 4) x[i] = small;
        const Row importance = importance_where([](int i) { return i % 4 == 0; });
        EXPECT_EQ(bytes(x, importance.data()), without(x)) << small;
    }
}

// The largest element of each sub-block was not seen, a small one was.
TEST_P(QuantImportance, OfSmallWeightsOnlyKeepsTheLarge) {
    Row x(kN, 0.0f);
    for (int at = 0; at < kN; at += 16) {
        x[at] = at % 32 ? -1.0f : 1.0f;
        x[at + 1] = 0.01f;
    }
    const Row importance = importance_where([](int i) { return i % 16 == 1; });
    const Row got = decoded(bytes(x, importance.data()));
    for (int at = 0; at < kN; at += 32) EXPECT_GT(dot(got, got, at, 32), 1e-3) << at;
}

TEST_P(QuantImportance, ThatIsNoNumberIsRefused) {
    const Row x = gauss();
    for (const float bad : {NAN, INFINITY, -INFINITY, -1.0f}) {
        Row importance(kN, 1.0f);
        importance[300] = bad;
        std::vector<uint8_t> out(tenon_row_bytes(format().type, kN), 0xa5);
        const auto before = out;
        EXPECT_EQ(
            ggml_quantize_chunk(format().type, x.data(), out.data(), 0, 1, kN, importance.data()),
            0u);
        EXPECT_NE(std::string(tenon_last_error()).find("importance of column 300 is "),
                  std::string::npos)
            << tenon_last_error();
        EXPECT_EQ(out, before);
    }
}

INSTANTIATE_TEST_SUITE_P(All, QuantImportance, testing::ValuesIn(types()), [](const auto& type) {
    return std::string(ggml_type_name(static_cast<ggml_type>(type.param)));
});

}  // namespace
