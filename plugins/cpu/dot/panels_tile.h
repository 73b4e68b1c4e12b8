// The register tile of the product by panels, over what a word of a panel is: a float, or two bf16.
#pragma once

#include <algorithm>

#include "plugins/cpu/dot/panels.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

// One register tile: two vectors of rows x kStripCols columns.
template <class Product, bool kAdd>
void panel_tile(const float* panel, const float* strip, int64_t depth, float* const* dst,
                int64_t row, int64_t n_rows, int64_t n_cols) {
    using simd::f32;
    constexpr int kLanes = f32::lanes;
    f32 acc0[kStripCols], acc1[kStripCols];
    TENON_UNROLL
    for (int c = 0; c < kStripCols; ++c) acc0[c] = acc1[c] = simd::splat(0.0f);
    for (int64_t k = 0; k < depth; ++k) {
        const auto w0 = Product::load(panel), w1 = Product::load(panel + kLanes);
        TENON_UNROLL
        for (int c = 0; c < kStripCols; ++c) {
            const auto x = Product::splat(strip + c);
            acc0[c] = Product::add(w0, x, acc0[c]);
            acc1[c] = Product::add(w1, x, acc1[c]);
        }
        panel += kPanelRows;
        strip += kStripCols;
    }
    if (n_rows == kPanelRows && n_cols == kStripCols) {
        TENON_UNROLL
        for (int c = 0; c < kStripCols; ++c) {
            float* out = dst[c] + row;
            if constexpr (kAdd) {
                acc0[c] = acc0[c] + simd::load(out);
                acc1[c] = acc1[c] + simd::load(out + kLanes);
            }
            simd::store(out, acc0[c]);
            simd::store(out + kLanes, acc1[c]);
        }
        return;
    }
    float lanes[kStripCols][kPanelRows];
    TENON_UNROLL
    for (int c = 0; c < kStripCols; ++c) {
        simd::store(lanes[c], acc0[c]);
        simd::store(lanes[c] + kLanes, acc1[c]);
    }
    for (int64_t c = 0; c < n_cols; ++c) {
        float* out = dst[c] + row;
        for (int64_t r = 0; r < n_rows; ++r) out[r] = kAdd ? out[r] + lanes[c][r] : lanes[c][r];
    }
}

template <class Product>
void multiply_panels(const float* band, int64_t n_rows, const float* strip, int64_t n_cols,
                     int64_t depth, float* const* dst, bool add) {
    for (int64_t row = 0; row < n_rows; row += kPanelRows) {
        const int64_t rows = std::min(kPanelRows, n_rows - row);
        const float* panel = band + row * depth;
        if (add) {
            panel_tile<Product, true>(panel, strip, depth, dst, row, rows, n_cols);
        } else {
            panel_tile<Product, false>(panel, strip, depth, dst, row, rows, n_cols);
        }
    }
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
