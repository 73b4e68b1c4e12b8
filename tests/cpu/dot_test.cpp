// Dot products, tiles and panels of every weight type against the scalar reference in double.

#include "plugins/cpu/dot/dot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "plugins/cpu/dot/panels.h"
#include "plugins/cpu/kernel.h"
#include "tenon/quant.h"
#include "tests/cpu/dot_levels.h"

namespace tenon::cpu {
namespace {

class Dot : public PerLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Dot, testing::ValuesIn(level_sets()), level_set_name);

std::vector<float> normal(size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> value;
    std::vector<float> out(n);
    for (float& x : out) x = value(random);
    return out;
}

// Rows of a type from random values; empty when the type cannot be written here.
std::vector<char> rows_of(ggml_type type, int64_t n_rows, int64_t k, std::vector<float>* values) {
    const quant::Format& format = *quant::find_format(type);
    const std::vector<float> random = normal(static_cast<size_t>(n_rows * k), type + 1);
    std::vector<char> bytes(static_cast<size_t>(n_rows) * row_bytes(type, k));
    values->resize(static_cast<size_t>(n_rows * k));
    if (type == GGML_TYPE_F32) {
        std::memcpy(bytes.data(), random.data(), bytes.size());
        *values = random;
        return bytes;
    }
    if (!format.quantize || (format.init && !format.init())) return {};
    const std::vector<float> importance(static_cast<size_t>(k), 1.0f);
    quant::quantize_rows(format, random.data(), bytes.data(), n_rows, k,
                         format.requires_importance ? importance.data() : nullptr);
    format.to_float(bytes.data(), values->data(), n_rows * k);
    return bytes;
}

std::vector<ggml_type> dot_types() {
    std::vector<ggml_type> types;
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        if (find_dot_type(static_cast<ggml_type>(i))) types.push_back(static_cast<ggml_type>(i));
    }
    return types;
}

TEST_P(Dot, EveryDecodableTypeHasAProduct) {
    EXPECT_GE(dot_types().size(), 20u);
    EXPECT_EQ(find_dot_type(GGML_TYPE_Q8_1), nullptr);
    EXPECT_EQ(find_dot_type(GGML_TYPE_I32), nullptr);
    EXPECT_EQ(find_dot_type(static_cast<ggml_type>(-1)), nullptr);
}

TEST_P(Dot, AgreesWithTheReference) {
    constexpr int64_t k = 512;
    for (ggml_type type : dot_types()) {
        const DotType& dot = *find_dot_type(type);
        std::vector<float> w;
        const std::vector<char> row = rows_of(type, 1, k, &w);
        if (row.empty()) continue;
        const std::vector<float> x = normal(k, 99);
        std::vector<char> partner(row_bytes(dot.partner, k));
        if (dot.partner == GGML_TYPE_F32) {
            std::memcpy(partner.data(), x.data(), partner.size());
        } else {
            quant::find_format(dot.partner)->from_float(x.data(), partner.data(), k);
        }
        double scale = 0;
        for (int64_t i = 0; i < k; ++i) scale += std::fabs(static_cast<double>(w[i]) * x[i]);
        const quant::Format& format = *quant::find_format(type);
        double want = 0;
        if (type == GGML_TYPE_F32) {
            for (int64_t i = 0; i < k; ++i) want += static_cast<double>(w[i]) * x[i];
        } else {
            want = format.dot(row.data(), partner.data(), k);
        }
        float got = 0;
        dot.vec_dot(k, &got, 0, row.data(), 0, partner.data(), 0, 1);
        EXPECT_NEAR(got, want, 1e-6 * scale) << "type " << type;
    }
}

// Operand rows in the form the tile wants.
std::vector<char> operands(Operand form, const std::vector<float>& x, int64_t k, size_t* stride) {
    const int64_t n = static_cast<int64_t>(x.size()) / k;
    *stride = form == Operand::kQ8 ? Q8Row::bytes(k) : static_cast<size_t>(k) * sizeof(float);
    std::vector<char> out(*stride * n);
    for (int64_t c = 0; c < n; ++c) {
        if (form == Operand::kQ8) {
            quantize_q8_row(&x[c * k], out.data() + c * *stride, k);
        } else {
            std::memcpy(out.data() + c * *stride, &x[c * k], *stride);
        }
    }
    return out;
}

double nmse(const std::vector<float>& got, const std::vector<double>& want) {
    double error = 0, size = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        error += (got[i] - want[i]) * (got[i] - want[i]);
        size += want[i] * want[i];
    }
    return error / size;
}

std::vector<double> products(const std::vector<float>& w, const std::vector<float>& x, int64_t k) {
    const int64_t rows = static_cast<int64_t>(w.size()) / k,
                  cols = static_cast<int64_t>(x.size()) / k;
    std::vector<double> out(static_cast<size_t>(rows * cols));
    for (int64_t c = 0; c < cols; ++c) {
        for (int64_t r = 0; r < rows; ++r) {
            double sum = 0;
            for (int64_t i = 0; i < k; ++i) sum += static_cast<double>(w[r * k + i]) * x[c * k + i];
            out[c * rows + r] = sum;
        }
    }
    return out;
}

TEST_P(Dot, TilesComputeEveryRowAndColumn) {
    for (ggml_type type : dot_types()) {
        const DotType& dot = *find_dot_type(type);
        const int64_t k = type_size(type).block == 1 ? 77 : 768, n_rows = 7;
        std::vector<float> w;
        const std::vector<char> weights = rows_of(type, n_rows, k, &w);
        if (weights.empty()) continue;
        for (int64_t n_cols : {1, 3, 4, 9, 15}) {
            const std::vector<float> x = normal(static_cast<size_t>(n_cols * k), 5);
            size_t stride = 0;
            const std::vector<char> b = operands(dot.operand, x, k, &stride);
            std::vector<float> got(static_cast<size_t>(n_rows * n_cols), -1.0f);
            std::vector<const char*> b_rows;
            std::vector<float*> dst;
            for (int64_t c = 0; c < n_cols; ++c) {
                b_rows.push_back(b.data() + c * stride);
                dst.push_back(&got[c * n_rows]);
            }
            dot.tile(
                {k, weights.data(), row_bytes(type, k), n_rows, b_rows.data(), dst.data(), n_cols});
            // Activations of 8 bits give 3e-5 on average; few outputs scatter around it.
            const double limit = dot.operand == Operand::kQ8 ? 2e-4 : 1e-12;
            EXPECT_LE(nmse(got, products(w, x, k)), limit) << "type " << type << ", " << n_cols;
        }
    }
}

TEST(DotRows, PanelsComputeEveryRowAndColumn) {
    for (ggml_type type : dot_types()) {
        const int64_t k = type_size(type).block == 1 ? 600 : 768, n_rows = kPanelRows + 3;
        std::vector<float> w;
        const std::vector<char> weights = rows_of(type, n_rows, k, &w);
        if (weights.empty()) continue;
        for (int64_t n_cols : {int64_t{1}, kStripCols - 1, kStripCols}) {
            const std::vector<float> x = normal(static_cast<size_t>(n_cols * k), 6);
            std::vector<float> band(kBandFloats), strip(static_cast<size_t>(k * kStripCols));
            std::vector<float> got(static_cast<size_t>(n_rows * n_cols), -1.0f);
            const float* rows[kStripCols];
            float* dst[kStripCols];
            for (int64_t c = 0; c < n_cols; ++c) rows[c] = &x[c * k], dst[c] = &got[c * n_rows];
            pack_strip(rows, n_cols, 0, k, strip.data());
            for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
                const int64_t depth = std::min(kDepth, k - k0);
                pack_band(type, weights.data(), row_bytes(type, k), n_rows, k0, depth, band.data());
                multiply(band.data(), n_rows, strip.data() + k0 * kStripCols, n_cols, depth, dst,
                         k0 > 0);
            }
            EXPECT_LE(nmse(got, products(w, x, k)), 1e-12) << "type " << type << ", " << n_cols;
        }
    }
}

TEST(DotRows, PartnersOfOtherTypesBecomeTheSameBytes) {
    constexpr int64_t k = 256;
    const std::vector<float> x = normal(k, 3);
    for (ggml_type type : {GGML_TYPE_Q8_0, GGML_TYPE_Q8_1, GGML_TYPE_Q8_K}) {
        std::vector<char> row(row_bytes(type, k)), q8(Q8Row::bytes(k));
        quant::find_format(type)->from_float(x.data(), row.data(), k);
        ASSERT_TRUE(repack_q8_row(type, row.data(), q8.data(), k));
        const Q8Row got = Q8Row::at(q8.data(), k);
        double error = 0, size = 0;
        for (int64_t i = 0; i < k; ++i) {
            const double d = got.codes[i] * static_cast<double>(got.scales[i / 32]) - x[i];
            error += d * d;
            size += static_cast<double>(x[i]) * x[i];
        }
        EXPECT_LE(error / size, 1e-4) << "type " << type;
    }
    std::vector<char> row(4096), q8(Q8Row::bytes(k));
    EXPECT_FALSE(repack_q8_row(GGML_TYPE_Q4_0, row.data(), q8.data(), k));
}

TEST(DotRows, RowsOf4BitsAreTheReferences) {
    constexpr int64_t k = 32 * 400;
    std::vector<float> x = normal(k, 21);
    for (int64_t i = 0; i < k; i += 64) x[i] = -x[i + 7];          // two of a magnitude
    for (int64_t i = 0; i < 320; ++i) x[i] = (i % 17 - 8.0f) / 4;  // many ties
    std::fill(x.begin() + 640, x.begin() + 672, 0.0f);
    std::vector<char> got(row_bytes(GGML_TYPE_Q4_0, k)), want(got.size());
    from_float(GGML_TYPE_Q4_0)(x.data(), got.data(), k);
    quant::find_format(GGML_TYPE_Q4_0)->from_float_ref(x.data(), want.data(), k);
    EXPECT_EQ(got, want);
}

TEST(DotRows, RowsOfZerosAndTinyValuesStayFinite) {
    for (float value : {0.0f, 1e-38f, 1e-44f}) {
        const std::vector<float> x(32, value);
        std::vector<char> q8(Q8Row::bytes(32));
        quantize_q8_row(x.data(), q8.data(), 32);
        const Q8Row row = Q8Row::at(q8.data(), 32);
        EXPECT_NEAR(row.codes[5] * row.scales[0], value, 1e-36);
        EXPECT_TRUE(std::isfinite(row.sums[0]));
    }
}

}  // namespace
}  // namespace tenon::cpu
