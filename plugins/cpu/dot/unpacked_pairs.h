// Columns that meet unpacked blocks, two rows with two columns at a time: one number for each of
// their four products. What is missing to make pairs is a repetition of the last.
#pragma once

#include "plugins/cpu/dot/unpacked_block.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::unpacked {

using simd::f32x4;
using simd::i8x32x2;

// acc[r][c] += rows 2r and 2r+1 of w . columns 2c and 2c+1 of y, over `n_groups` groups of 32.
template <Shape kShape, int R, int C>
void multiply_pairs(const Unpacked* const (*w)[2], const Q8Row (*y)[2], int n_groups,
                    f32x4 (*acc)[C]) {
    constexpr int kScales = 32 / kShape.per_scale;  // of a group
    const i8x32x2 ones = simd::pair(simd::splat_i8(1), simd::splat_i8(1));
    for (int g = 0; g < n_groups; ++g) {
        i8x32x2 x[C];
        f32x4 y_scales[C], totals[C][kScales];
        TENON_UNROLL
        for (int c = 0; c < C; ++c) {
            const Q8Row &a = y[c][0], &b = y[c][1];
            x[c] = simd::pair(simd::load_i8(a.codes + 32 * g), simd::load_i8(b.codes + 32 * g));
            y_scales[c] = simd::of_second(a.scales[g], b.scales[g]);
            if constexpr (kShape.has_minima && kScales == 1) {
                totals[c][0] = simd::of_second(a.sums[g], b.sums[g]);
            } else if constexpr (kShape.has_minima) {
                totals[c][0] = simd::mul(simd::dot_half<0>(ones, x[c]), y_scales[c]);
                totals[c][1] = simd::mul(simd::dot_half<1>(ones, x[c]), y_scales[c]);
            }
        }
        TENON_UNROLL
        for (int r = 0; r < R; ++r) {
            const Unpacked &a = *w[r][0], &b = *w[r][1];
            const i8x32x2 codes =
                simd::pair(simd::load_i8(a.codes + 32 * g), simd::load_i8(b.codes + 32 * g));
            TENON_UNROLL
            for (int s = 0; s < kScales; ++s) {
                const int at = kScales * g + s;
                const f32x4 scales = simd::of_first(a.scales[at], b.scales[at]);
                f32x4 minima{};
                if constexpr (kShape.has_minima)
                    minima = simd::of_first(a.minima[at], b.minima[at]);
                TENON_UNROLL
                for (int c = 0; c < C; ++c) {
                    const f32x4 products = kScales == 1 ? simd::dot(codes, x[c])
                                           : s == 0     ? simd::dot_half<0>(codes, x[c])
                                                        : simd::dot_half<1>(codes, x[c]);
                    acc[r][c] = simd::fma(products, simd::mul(scales, y_scales[c]), acc[r][c]);
                    if constexpr (kShape.has_minima) {
                        acc[r][c] = simd::fma(minima, totals[c][s], acc[r][c]);
                    }
                }
            }
        }
    }
}

// In register tiles of 4 columns, the rest of 2.
template <class B, int R>
struct PairColumns {
    static constexpr int kPairs = (R + 1) / 2;  // of rows

    int n_cols;
    Q8Row y[kMaxCols];
    f32x4 wide[kMaxCols / 4][kPairs][2] = {};
    f32x4 narrow[2][kPairs][1] = {};

    PairColumns(const Tile& tile, int64_t col, int n) : n_cols(n) {
        for (int c = 0; c < n; ++c) y[c] = Q8Row::at(tile.b[col + c], tile.k);
    }
    void add(const Unpacked* w, int64_t group, int n_groups) {
        const Unpacked* rows[kPairs][2];
        for (int r = 0; r < kPairs; ++r) {
            rows[r][0] = w + 2 * r;
            rows[r][1] = w + std::min(2 * r + 1, R - 1);
        }
        Q8Row at[2][2];
        const auto take = [&](int pair, int c) {
            at[pair][0] = from_group(y[c], group);
            at[pair][1] = from_group(y[std::min(c + 1, n_cols - 1)], group);
        };
        int c = 0;
        for (; c + 4 <= n_cols; c += 4) {
            take(0, c);
            take(1, c + 2);
            multiply_pairs<B::kShape, kPairs, 2>(rows, at, n_groups, wide[c / 4]);
        }
        for (; c < n_cols; c += 2) {
            take(0, c);
            multiply_pairs<B::kShape, kPairs, 1>(rows, at, n_groups, narrow[c % 4 / 2]);
        }
    }
    float total(int r, int c) const {
        float four[4];
        const bool in_wide = c < n_cols / 4 * 4;
        simd::store4(four, in_wide ? wide[c / 4][r / 2][c % 4 / 2] : narrow[c % 4 / 2][r / 2][0]);
        return four[2 * (r % 2) + c % 2];
    }
};

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::unpacked
