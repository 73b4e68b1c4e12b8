// Dot products of blocks with arbitrary bytes, and tiles, exact for the operand they are given.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "plugins/cpu/dot/dot.h"
#include "tenon/quant.h"
#include "tests/cpu/dot_levels.h"

namespace tenon::cpu {
namespace {

class DotBlocks : public PerLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, DotBlocks, testing::ValuesIn(level_sets()), level_set_name);

int64_t block_of(ggml_type type) { return tenon_types[type].block; }
size_t row_size(ggml_type type, int64_t n) { return tenon_row_bytes(type, n); }

std::vector<const DotType*> block_types() {
    std::vector<const DotType*> types;
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const DotType* dot = find_dot_type(static_cast<ggml_type>(i));
        if (dot && block_of(dot->type) > 1) types.push_back(dot);
    }
    return types;
}

// Rows of any bytes. `valid`: with finite scales.
struct Rows {
    Rows(ggml_type type, int64_t n, uint32_t seed)
        : format(*quant::find_format(type)), k(n), random(seed) {}

    std::vector<char> next(bool valid) {
        const int64_t n_blocks = k / tenon_types[format.type].block;
        std::vector<char> row(static_cast<size_t>(n_blocks) * tenon_types[format.type].bytes);
        for (int64_t i = 0; i < n_blocks; ++i) {
            char* block = row.data() + i * static_cast<int64_t>(tenon_types[format.type].bytes);
            do {
                for (size_t b = 0; b < tenon_types[format.type].bytes; ++b)
                    block[b] = static_cast<char>(random());
            } while (valid && !format.validate(block, 1));
        }
        return row;
    }

    const quant::Format& format;
    int64_t k;
    std::mt19937 random;
};

std::vector<float> normal(int64_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> value;
    std::vector<float> out(static_cast<size_t>(n));
    for (float& x : out) x = value(random);
    return out;
}

// Decoded partner values: code*scale.
void decode_partner(ggml_type type, const void* row, float* out, int64_t n) {
    if (type == GGML_TYPE_Q8_0) return quant::find_format(type)->to_float(row, out, n);
    if (type == GGML_TYPE_Q8_1) return quant::decode_q8_1(row, out, n);
    quant::decode_q8_K(row, out, n);
}

TEST_P(DotBlocks, EveryWeightTypeHasOne) {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const quant::Format* format = quant::find_format(i);
        const DotType* dot = find_dot_type(static_cast<ggml_type>(i));
        if (i == GGML_TYPE_F32 || (format && format->dot)) {
            ASSERT_NE(dot, nullptr) << "type " << i;
            EXPECT_EQ(dot->type, i);
            if (i != GGML_TYPE_F32) {
                EXPECT_EQ(dot->partner, format->partner) << "type " << i;
            }
        } else {
            EXPECT_EQ(dot, nullptr) << "type " << i;
        }
    }
    EXPECT_EQ(block_types().size(), 25u);
}

TEST_P(DotBlocks, TypesThatNeedASearchAreNoDestinations) {
    for (ggml_type type : {GGML_TYPE_IQ1_S, GGML_TYPE_IQ1_M, GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS,
                           GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S}) {
        EXPECT_EQ(from_float(type), nullptr) << "type " << type;
        EXPECT_NE(find_dot_type(type), nullptr) << "type " << type;
    }
    int n_destinations = 0;  // of the others with blocks, and the partners
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const quant::Format* format = quant::find_format(i);
        if (format && tenon_types[format->type].block > 1 && from_float(static_cast<ggml_type>(i)))
            ++n_destinations;
    }
    EXPECT_EQ(n_destinations, 25 - 7 + 2);
}

TEST_P(DotBlocks, ArbitraryCodesAgreeWithTheReference) {
    for (const DotType* dot : block_types()) {
        const int64_t k = 5 * block_of(dot->type);  // no whole pieces of 256 for small blocks
        Rows rows(dot->type, k, static_cast<uint32_t>(dot->type));
        const quant::Format& partner = *quant::find_format(dot->partner);
        std::vector<char> y(row_size(dot->partner, k));
        std::vector<float> w(static_cast<size_t>(k)), v(static_cast<size_t>(k));
        int compared = 0;
        for (uint32_t round = 0; round < 40; ++round) {
            const std::vector<char> x = rows.next(/*valid=*/true);
            partner.from_float(normal(k, round).data(), y.data(), k);
            rows.format.to_float(x.data(), w.data(), k);
            decode_partner(dot->partner, y.data(), v.data(), k);
            double size = 0;
            for (int64_t i = 0; i < k; ++i) size += std::fabs(static_cast<double>(w[i]) * v[i]);
            if (!(size < 1e36)) continue;  // scales of fp4 types reach 2^127
            float got = NAN;
            dot->vec_dot(static_cast<int>(k), &got, 0, x.data(), 0, y.data(), 0, 1);
            EXPECT_NEAR(got, rows.format.dot(x.data(), y.data(), k), 1e-6 * size)
                << "type " << dot->type << ", round " << round;
            ++compared;
        }
        EXPECT_GE(compared, 20) << "type " << dot->type;
    }
}

TEST_P(DotBlocks, ScalesThatAreNotFiniteDoNoHarm) {
    for (const DotType* dot : block_types()) {
        const int64_t k = 3 * block_of(dot->type);
        Rows rows(dot->type, k, 77), partners(dot->partner, k, 78);
        for (int round = 0; round < 200; ++round) {
            const std::vector<char> x = rows.next(/*valid=*/false), y = partners.next(false);
            float got = 0;
            dot->vec_dot(static_cast<int>(k), &got, 0, x.data(), 0, y.data(), 0, 1);
        }
        float none = NAN;
        dot->vec_dot(0, &none, 0, nullptr, 0, nullptr, 0, 1);
        EXPECT_EQ(none, 0.0f) << "type " << dot->type;
    }
}

TEST_P(DotBlocks, TilesAreExactForTheirOperand) {
    for (const DotType* dot : block_types()) {
        ASSERT_EQ(dot->operand, Operand::kQ8) << "type " << dot->type;
        const int64_t k = 5 * block_of(dot->type), n_rows = 9, n_cols = 22;
        Rows rows(dot->type, k, 5);
        std::vector<char> weights;
        std::vector<float> w(static_cast<size_t>(n_rows * k));
        while (static_cast<int64_t>(weights.size()) <
               n_rows * static_cast<int64_t>(row_size(dot->type, k))) {
            const std::vector<char> row = rows.next(/*valid=*/true);
            weights.insert(weights.end(), row.begin(), row.end());
        }
        rows.format.to_float(weights.data(), w.data(), n_rows * k);
        std::vector<std::vector<char>> b;
        std::vector<const char*> b_rows;
        for (uint32_t c = 0; c < n_cols; ++c) {
            quantize_q8_row(normal(k, c).data(), b.emplace_back(Q8Row::bytes(k)).data(), k);
        }
        for (const auto& row : b) b_rows.push_back(row.data());
        for (int64_t cols : {1, 3, 4, 7, 16, 22}) {
            std::vector<float> got(static_cast<size_t>(n_rows * cols), NAN);
            std::vector<float*> dst;
            for (int64_t c = 0; c < cols; ++c) dst.push_back(&got[static_cast<size_t>(c * n_rows)]);
            dot->tile({k, weights.data(), row_size(dot->type, k), n_rows, b_rows.data(), dst.data(),
                       cols});
            for (int64_t c = 0; c < cols; ++c) {
                const Q8Row y = Q8Row::at(b_rows[static_cast<size_t>(c)], k);
                for (int64_t r = 0; r < n_rows; ++r) {
                    double want = 0, size = 0;
                    for (int64_t i = 0; i < k; ++i) {
                        const double product =
                            static_cast<double>(w[static_cast<size_t>(r * k + i)]) * y.codes[i] *
                            static_cast<double>(y.scales[i / 32]);
                        want += product;
                        size += std::fabs(product);
                    }
                    if (!(size < 1e36)) continue;
                    ASSERT_NEAR(dst[static_cast<size_t>(c)][r], want, 1e-6 * size)
                        << "type " << dot->type << ", row " << r << ", column " << c << " of "
                        << cols;
                }
            }
        }
    }
}

}  // namespace
}  // namespace tenon::cpu
