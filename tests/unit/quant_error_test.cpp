// Errors of conversion and of dot products on a cosine row, against the figures of the reference.

#include <cmath>

#include "core/tensor/types.h"
#include "quant_golden.h"

namespace tenon {
namespace {

constexpr int64_t kN = 4096;

std::vector<float> cosine(float offset) {
    std::vector<float> x(kN);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = 0.1f + 2 * std::cos(static_cast<float>(i) + offset);
    }
    return x;
}

const quant::Format* find_by_name(const std::string& name) {
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        if (name == kTypes[t].name) return quant::find_format(t);
    }
    return nullptr;
}

std::vector<uint8_t> convert(const quant::Format& format, const std::vector<float>& x) {
    std::vector<uint8_t> blocks(static_cast<size_t>(kN / format.block) * format.bytes);
    format.from_float(x.data(), blocks.data(), kN);
    return blocks;
}

// The figures are sqrt(sum of squares) / n and |difference| / n, printed with six digits.
TEST(QuantError, EqualsTheFiguresOfTheReference) {
    const auto x = cosine(0), y = cosine(1);
    double exact = 0;
    for (size_t i = 0; i < x.size(); ++i) exact += static_cast<double>(x[i]) * y[i];
    const auto rows = golden::read_table("upstream_test_figures.tsv");
    ASSERT_EQ(rows.size(), 20u);
    for (const auto& row : rows) {
        const quant::Format* format = find_by_name(row[0]);
        ASSERT_NE(format, nullptr) << row[0];
        if (!format->from_float) continue;
        const auto blocks = convert(*format, x);
        std::vector<float> got(kN);
        format->to_float(blocks.data(), got.data(), kN);
        double sum = 0;
        for (size_t i = 0; i < x.size(); ++i) sum += (got[i] - x[i]) * (got[i] - x[i]);
        EXPECT_NEAR(std::sqrt(sum) / kN, std::stod(row[1]), 1e-6) << row[0];

        const auto partner = convert(*quant::find_format(format->partner), y);
        const double dot = format->dot(blocks.data(), partner.data(), kN);
        EXPECT_NEAR(std::fabs(dot - exact) / kN, std::stod(row[5]), 2e-6) << row[0];
    }
}

}  // namespace
}  // namespace tenon
