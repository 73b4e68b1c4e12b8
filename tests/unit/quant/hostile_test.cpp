// Rows nobody hopes for: every quantizer gives well-formed blocks, and good ones for good numbers.
// Sanitizers turn undefined behaviour in here into failures.

#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "tests/unit/quant/golden.h"

namespace tenon {
namespace {

using quant::Format;

constexpr int64_t kN = 512;
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Row {
    const char* name;
    bool finite;
    std::vector<float> x;
};

std::vector<float> filled(float v) { return std::vector<float>(kN, v); }

std::vector<float> with(std::vector<float> x, size_t at, float v) {
    x[at] = v;
    return x;
}

template <class Make>
std::vector<float> generated(Make make) {
    std::vector<float> x(kN);
    for (float& v : x) v = make();
    return x;
}

std::vector<Row> hostile_rows() {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    auto bits = [&] { return std::bit_cast<float>(static_cast<uint32_t>(random())); };
    auto finite_bits = [&] {
        for (;;) {
            const float v = bits();
            if (std::isfinite(v)) return v;
        }
    };
    auto gauss = [&] { return normal(random); };
    const auto g = generated(gauss);
    std::vector<Row> rows{
        {"zero", true, filled(0)},
        {"minus zero", true, filled(-0.0f)},
        {"one", true, filled(1)},
        {"minus one", true, filled(-1)},
        {"smallest subnormal", true, filled(FLT_TRUE_MIN)},
        {"smallest normal", true, filled(-FLT_MIN)},
        {"largest", true, filled(FLT_MAX)},
        {"largest negative", true, filled(-FLT_MAX)},
        {"both extremes", true, with(filled(FLT_MAX), 5, -FLT_MAX)},
        {"gauss", true, g},
        {"one outlier", true, with(filled(1e-20f), 77, 1e20f)},
        {"outlier in gauss", true, with(g, 255, -6e4f)},
        {"near the threshold of zero", true, filled(1e-15f)},
        {"reciprocal overflows", true, filled(2e-39f)},
        {"any finite number", true, generated(finite_bits)},
        {"any bits", false, generated(bits)},
        {"nan", false, filled(std::nanf(""))},
        {"one nan first", false, with(g, 0, std::nanf(""))},
        {"one nan inside", false, with(g, 100, std::nanf(""))},
        {"infinity", false, filled(kInf)},
        {"minus infinity", false, filled(-kInf)},
        {"one infinity", false, with(g, 33, kInf)},
        {"both infinities", false, with(with(g, 33, kInf), 34, -kInf)},
    };
    return rows;
}

std::vector<std::vector<float>> importance_rows() {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> uniform(0.0f, 4.0f);
    return {filled(1),
            filled(0),
            with(filled(0), 9, 1),
            filled(1e30f),
            filled(1e-38f),
            generated([&] { return uniform(random); }),
            generated([&] { return random() % 3 ? 0.0f : uniform(random); })};
}

std::vector<int> quantizable_types() {
    std::vector<int> types;
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        const Format* format = quant::find_format(t);
        if (format && (format->quantize || format->from_float)) types.push_back(t);
    }
    return types;
}

class HostileRows : public testing::TestWithParam<int> {
protected:
    const Format& format() const { return *quant::find_format(GetParam()); }
    size_t row_bytes() const { return tenon_row_bytes(format().type, kN); }

    std::vector<float> decode(const std::vector<uint8_t>& blocks) const {
        std::vector<float> values(kN);
        if (format().to_float) format().to_float(blocks.data(), values.data(), kN);
        if (format().type == GGML_TYPE_Q8_1) quant::decode_q8_1(blocks.data(), values.data(), kN);
        if (format().type == GGML_TYPE_Q8_K) quant::decode_q8_K(blocks.data(), values.data(), kN);
        return values;
    }

    // The same input twice into different garbage: every byte must be written, and equal.
    std::vector<uint8_t> quantize(const std::vector<float>& x, const float* importance) const {
        std::vector<uint8_t> a(row_bytes(), 0x55), b(row_bytes(), 0xaa);
        for (std::vector<uint8_t>* out : {&a, &b}) {
            if (format().quantize) {
                quant::quantize_rows(format(), x.data(), out->data(), 1, kN, importance);
            } else {
                format().from_float(x.data(), out->data(), kN);
            }
        }
        EXPECT_EQ(a, b);
        return a;
    }

    void SetUp() override { ASSERT_TRUE(!format().init || format().init()); }
};

TEST_P(HostileRows, GiveBlocksThatAreWrittenWhole) {
    for (const Row& row : hostile_rows()) {
        SCOPED_TRACE(row.name);
        if (!format().requires_importance) decode(quantize(row.x, nullptr));
        for (const auto& w : importance_rows()) decode(quantize(row.x, w.data()));
        if (format().from_float_ref) {
            std::vector<uint8_t> blocks(row_bytes());
            format().from_float_ref(row.x.data(), blocks.data(), kN);
            decode(blocks);
        }
    }
}

// Far from the limits of binary16 no infinity and no NaN appears, and errors stay bounded.
TEST_P(HostileRows, KeepModerateNumbersInRange) {
    if (!format().to_float) GTEST_SKIP() << "no decoder";
    for (const Row& row : hostile_rows()) {
        float largest = 0;
        for (float v : row.x) largest = std::max(largest, std::fabs(v));
        if (!row.finite || largest > 60000 || (largest != 0 && largest < 1e-3f)) continue;
        for (const auto& w : importance_rows()) {
            if (w[0] > 1e6f) continue;  // its sums overflow
            const auto got = decode(quantize(row.x, w.data()));
            for (size_t i = 0; i < row.x.size(); ++i) {
                ASSERT_TRUE(std::isfinite(got[i])) << row.name << " at " << i;
                // What has no weight may land anywhere on the levels, and iq1 has 1/8 and 9/8.
                const float bound = w[i] > 0 ? 2.5f : 11.0f;
                ASSERT_LE(std::fabs(got[i] - row.x[i]), bound * largest) << row.name << " at " << i;
            }
            EXPECT_TRUE(format().validate(quantize(row.x, w.data()).data(),
                                          kN / tenon_types[format().type].block));
        }
    }
}

TEST_P(HostileRows, ZeroStaysZero) {
    if (!format().to_float) GTEST_SKIP() << "no decoder";
    const auto weights = filled(1);
    for (float v : decode(quantize(filled(0), weights.data()))) EXPECT_EQ(v, 0);
}

// Any bytes are a block: decoding them is defined, also when the scale is infinite.
TEST_P(HostileRows, AnyBytesDecode) {
    std::mt19937 random(9);
    std::vector<uint8_t> bytes(row_bytes());
    std::vector<float> partner_row(kN, 0.5f);
    for (int round = 0; round < 200; ++round) {
        for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
        decode(bytes);
        if (format().validate)
            (void)format().validate(bytes.data(), kN / tenon_types[format().type].block);
        if (!format().dot) continue;
        const Format& partner = *quant::find_format(format().partner);
        std::vector<uint8_t> other(tenon_row_bytes(partner.type, kN));
        partner.from_float(partner_row.data(), other.data(), kN);
        (void)format().dot(bytes.data(), other.data(), kN);
    }
}

TEST_P(HostileRows, ChunksOfRowsGiveTheBytesOfTheWhole) {
    if (!format().quantize) GTEST_SKIP() << "not a type of files";
    std::mt19937 random(13);
    std::normal_distribution<float> normal;
    constexpr int64_t kRows = 5;
    std::vector<float> x(kRows * kN);
    for (float& v : x) v = normal(random);
    const auto w = importance_rows()[5];
    std::vector<uint8_t> whole(kRows * row_bytes()), parts(kRows * row_bytes());
    quant::quantize_rows(format(), x.data(), whole.data(), kRows, kN, w.data());
    for (int64_t r = 0; r < kRows; ++r) {
        quant::quantize_rows(format(), &x[static_cast<size_t>(r * kN)],
                             &parts[static_cast<size_t>(r) * row_bytes()], 1, kN, w.data());
    }
    EXPECT_EQ(whole, parts);
}

INSTANTIATE_TEST_SUITE_P(All, HostileRows, testing::ValuesIn(quantizable_types()),
                         [](const auto& each) { return "type" + std::to_string(each.param); });

}  // namespace
}  // namespace tenon
