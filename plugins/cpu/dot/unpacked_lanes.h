// Columns that meet unpacked blocks, one product of a row with a column at a time: a vector of
// partial sums for each.
#pragma once

#include "plugins/cpu/dot/unpacked_block.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::unpacked {

using simd::f32x8;
using simd::i32x8;
using simd::i8x32;

template <Shape kShape>
f32x8 lanes_of(const float* scales, int64_t group) {
    if constexpr (kShape.per_scale == 32) {
        return simd::splat8(scales[group]);
    } else {
        return simd::splat8(scales[2 * group], scales[2 * group + 1]);
    }
}

// acc[r][c] += w[r] . y[c] over `n_groups` groups of 32, those that y points at.
template <Shape kShape, int R, int C>
void multiply(const Unpacked* w, const Q8Row* y, int n_groups, f32x8 (*acc)[C]) {
    f32x8 sum[R][C];
    TENON_UNROLL
    for (int r = 0; r < R; ++r) {
        TENON_UNROLL
        for (int c = 0; c < C; ++c) {
            sum[r][c] = acc[r][c];
            if constexpr (kShape.has_minima && kShape.per_scale == 32) {
                sum[r][c] = simd::fma(simd::load8(w[r].minima), simd::load8(y[c].sums), sum[r][c]);
            }
        }
    }
    for (int g = 0; g < n_groups; ++g) {
        i8x32 codes[R];
        f32x8 scales[R], minima[R];
        TENON_UNROLL
        for (int r = 0; r < R; ++r) {
            codes[r] = simd::load_i8(w[r].codes + 32 * g);
            scales[r] = lanes_of<kShape>(w[r].scales, g);
            if constexpr (kShape.has_minima && kShape.per_scale == 16) {
                minima[r] = lanes_of<kShape>(w[r].minima, g);
            }
        }
        TENON_UNROLL
        for (int c = 0; c < C; ++c) {
            const i8x32 x = simd::load_i8(y[c].codes + 32 * g);
            const f32x8 y_scale = simd::splat8(y[c].scales[g]);
            f32x8 totals;  // of four elements
            if constexpr (kShape.has_minima && kShape.per_scale == 16) {
                totals =
                    simd::mul(simd::to_float(simd::dot_unsigned(simd::splat_i8(1), x)), y_scale);
            }
            TENON_UNROLL
            for (int r = 0; r < R; ++r) {
                const i32x8 products =
                    kShape.is_signed ? simd::dot(codes[r], x) : simd::dot_unsigned(codes[r], x);
                sum[r][c] =
                    simd::fma(simd::to_float(products), simd::mul(scales[r], y_scale), sum[r][c]);
                if constexpr (kShape.has_minima && kShape.per_scale == 16) {
                    sum[r][c] = simd::fma(minima[r], totals, sum[r][c]);
                }
            }
        }
    }
    TENON_UNROLL
    for (int r = 0; r < R; ++r) {
        TENON_UNROLL
        for (int c = 0; c < C; ++c) acc[r][c] = sum[r][c];
    }
}

// In register tiles of 4 columns, the rest of 1.
template <class B, int R>
struct LaneColumns {
    int n_cols;
    Q8Row y[kMaxCols];
    f32x8 wide[kMaxCols / 4][R][4] = {};
    f32x8 narrow[3][R][1] = {};

    LaneColumns(const Tile& tile, int64_t col, int n) : n_cols(n) {
        for (int c = 0; c < n; ++c) y[c] = Q8Row::at(tile.b[col + c], tile.k);
    }
    void add(const Unpacked* w, int64_t group, int n_groups) {
        Q8Row at[4];
        int c = 0;
        for (; c + 4 <= n_cols; c += 4) {
            for (int i = 0; i < 4; ++i) at[i] = from_group(y[c + i], group);
            multiply<B::kShape, R, 4>(w, at, n_groups, wide[c / 4]);
        }
        for (; c < n_cols; ++c) {
            at[0] = from_group(y[c], group);
            multiply<B::kShape, R, 1>(w, at, n_groups, narrow[c % 4]);
        }
    }
    float total(int r, int c) const {
        return simd::sum(c < n_cols / 4 * 4 ? wide[c / 4][r][c % 4] : narrow[c % 4][r][0]);
    }
};

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::unpacked
