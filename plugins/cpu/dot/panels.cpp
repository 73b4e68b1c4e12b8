// Packing and the register tile of the product by panels.

#include "plugins/cpu/dot/panels.h"

#include <algorithm>
#include <cstring>

#include "plugins/cpu/dot/panels_tile.h"
#include "tenon/quant.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {
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
    format.to_float(row + tenon_row_bytes(format.type, k0), out, depth);
    return out;
}

struct Floats {
    static f32 load(const float* p) { return simd::load(p); }
    static f32 splat(const float* p) { return simd::splat(*p); }
    static f32 add(f32 w, f32 x, f32 acc) { return simd::fma(w, x, acc); }
};

// Rows [0, n_rows) into panels; row_of(r, room): `depth` words of a row, where they are or in
// `room`.
template <class RowOf>
void pack_rows(int64_t n_rows, int64_t depth, float* band, RowOf&& row_of) {
    alignas(64) float room[kLanes][kDepth];
    alignas(64) static constexpr float kZeros[kDepth] = {};
    const int64_t n_padded = (n_rows + kPanelRows - 1) / kPanelRows * kPanelRows;
    for (int64_t row = 0; row < n_padded; row += kLanes) {
        const float* rows[kLanes];
        for (int r = 0; r < kLanes; ++r) {
            rows[r] = row + r < n_rows ? row_of(row + r, room[r]) : kZeros;
        }
        float* panel = band + row / kPanelRows * kPanelRows * depth;
        pack_lanes(rows, depth, panel, static_cast<int>(row % kPanelRows));
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
    pack_rows(n_rows, depth, band, [&](int64_t r, float* room) {
        return decode(type, weights + static_cast<size_t>(r) * row_stride, k0, depth, room);
    });
}

void copy_pairs(const ggml_bf16_t* row, int64_t n, int64_t word0, int64_t n_words, float* out) {
    const auto bytes = [](int64_t words) { return static_cast<size_t>(words) * sizeof(float); };
    const int64_t whole = std::min(n_words, n / 2 - word0);
    std::memcpy(out, row + 2 * word0, bytes(whole));
    if (whole < n_words) {
        const ggml_bf16_t last[2] = {row[n - 1], {0}};
        std::memcpy(out + whole, last, sizeof last);
    }
}

void pack_pairs_band(const char* weights, size_t row_stride, int64_t n_rows, int64_t n,
                     int64_t word0, int64_t depth, float* band) {
    pack_rows(n_rows, depth, band, [&](int64_t r, float* room) {
        const char* row = weights + static_cast<size_t>(r) * row_stride;
        copy_pairs(reinterpret_cast<const ggml_bf16_t*>(row), n, word0, depth, room);
        return room;
    });
}

void multiply(const float* band, int64_t n_rows, const float* strip, int64_t n_cols, int64_t depth,
              float* const* dst, bool add) {
    multiply_panels<Floats>(band, n_rows, strip, n_cols, depth, dst, add);
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
