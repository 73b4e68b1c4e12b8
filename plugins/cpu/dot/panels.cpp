// Packing and the register tile of the product by panels.

#include "plugins/cpu/dot/panels.h"

#include <algorithm>

#include "core/quant/quant.h"

namespace tenon::cpu {
namespace {

using simd::f32;

constexpr int kLanes = f32::lanes;

// rows[r][0 … lanes) for r < lanes -> out[k*kPanelRows + r]
void transpose_into(const float* const* rows, float* out) {
    f32 a[kLanes];
    TENON_UNROLL
    for (int r = 0; r < kLanes; ++r) a[r] = simd::load(rows[r]);
    simd::transpose(a);
    TENON_UNROLL
    for (int k = 0; k < kLanes; ++k) simd::store(out + k * kPanelRows, a[k]);
}

// Rows as f32, `depth` elements each, into lanes [first, first + lanes) of a panel.
void pack_lanes(const float* const* rows, int64_t depth, float* panel, int first) {
    int64_t k = 0;
    const float* at[kLanes];
    for (; k + kLanes <= depth; k += kLanes) {
        for (int r = 0; r < kLanes; ++r) at[r] = rows[r] + k;
        transpose_into(at, panel + k * kPanelRows + first);
    }
    for (; k < depth; ++k) {
        for (int r = 0; r < kLanes; ++r) panel[k * kPanelRows + first + r] = rows[r][k];
    }
}

// Elements [k0, k0 + depth) of a weight row as f32: in place, or decoded into `out`.
const float* decode(ggml_type type, const char* row, int64_t k0, int64_t depth, float* out) {
    switch (type) {
        case GGML_TYPE_F32:
            return reinterpret_cast<const float*>(row) + k0;
        case GGML_TYPE_F16:
            simd::convert(out, reinterpret_cast<const ggml_fp16_t*>(row) + k0, depth);
            return out;
        case GGML_TYPE_BF16:
            simd::convert(out, reinterpret_cast<const ggml_bf16_t*>(row) + k0, depth);
            return out;
        default:
            break;
    }
    const quant::Format& format = *quant::find_format(type);
    format.to_float(row + k0 / format.block * static_cast<int64_t>(format.bytes), out, depth);
    return out;
}

// One register tile: two vectors of rows x kStripCols columns.
template <bool kAdd>
void tile(const float* panel, const float* strip, int64_t depth, float* const* dst, int64_t row,
          int64_t n_rows, int64_t n_cols) {
    f32 acc0[kStripCols], acc1[kStripCols];
    TENON_UNROLL
    for (int c = 0; c < kStripCols; ++c) acc0[c] = acc1[c] = simd::splat(0.0f);
    for (int64_t k = 0; k < depth; ++k) {
        const f32 w0 = simd::load(panel), w1 = simd::load(panel + kLanes);
        TENON_UNROLL
        for (int c = 0; c < kStripCols; ++c) {
            const f32 x = simd::splat(strip[c]);
            acc0[c] = simd::fma(w0, x, acc0[c]);
            acc1[c] = simd::fma(w1, x, acc1[c]);
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

}  // namespace

void pack_strip(const float* const* b, int64_t n_cols, int64_t k0, int64_t depth, float* strip) {
    // A vector of columns at a time is transposed; lanes beyond the strip are overwritten by the
    // next k, the last of them fall into the padding that the caller leaves.
    for (int64_t c = 0; c < kStripCols; ++c) {
        if (c >= n_cols) {
            for (int64_t k = 0; k < depth; ++k) strip[k * kStripCols + c] = 0.0f;
            continue;
        }
        const float* src = b[c] + k0;
        for (int64_t k = 0; k < depth; ++k) strip[k * kStripCols + c] = src[k];
    }
}

void pack_band(ggml_type type, const char* weights, size_t row_stride, int64_t n_rows, int64_t k0,
               int64_t depth, float* band) {
    alignas(64) float decoded[kLanes][kDepth];
    alignas(64) static constexpr float kZeros[kDepth] = {};
    const int64_t n_padded = (n_rows + kPanelRows - 1) / kPanelRows * kPanelRows;
    for (int64_t row = 0; row < n_padded; row += kLanes) {
        const float* rows[kLanes];
        for (int r = 0; r < kLanes; ++r) {
            const int64_t i = row + r;
            rows[r] =
                i < n_rows ? decode(type, weights + i * row_stride, k0, depth, decoded[r]) : kZeros;
        }
        float* panel = band + row / kPanelRows * kPanelRows * depth;
        pack_lanes(rows, depth, panel, static_cast<int>(row % kPanelRows));
    }
}

void multiply(const float* band, int64_t n_rows, const float* strip, int64_t n_cols, int64_t depth,
              float* const* dst, bool add) {
    for (int64_t row = 0; row < n_rows; row += kPanelRows) {
        const int64_t rows = std::min(kPanelRows, n_rows - row);
        const float* panel = band + row * depth;
        if (add) {
            tile<true>(panel, strip, depth, dst, row, rows, n_cols);
        } else {
            tile<false>(panel, strip, depth, dst, row, rows, n_cols);
        }
    }
}

}  // namespace tenon::cpu
