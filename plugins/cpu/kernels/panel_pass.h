// Steps of a product by panels that MUL_MAT and MUL_MAT_ID share: strips of columns are packed,
// then every band of weight rows meets them.
#pragma once

#include <algorithm>

#include "plugins/cpu/dot/panels.h"
#include "plugins/cpu/kernels/mul_mat.h"

namespace tenon::cpu {

constexpr int64_t kPassStrips = 84;  // that bands meet in a go: 1008 or 504 columns

// Strips lie as [strip][k][kStripCols], k without gaps between depths.
inline size_t strip_floats(int64_t k) { return static_cast<size_t>(k) * kStripCols; }
inline int64_t strips_of(int64_t n_cols) { return (n_cols + kStripCols - 1) / kStripCols; }

// Scratch of a member: a band, and the decoded columns of a strip.
inline size_t panel_member_bytes(const ggml_tensor& node) {
    const ggml_tensor& b = *node.src[1];
    const size_t decoded = b.type == GGML_TYPE_F32 ? 0 : strip_floats(b.ne[0]);
    return ((static_cast<size_t>(kBandFloats) + decoded) * sizeof(float) + 63) / 64 * 64;
}

// Packs n_cols columns, at most kStripCols; row_of(c): the row of b that column c is.
template <class RowOf>
void pack_columns(const ggml_tensor& b, int64_t n_cols, RowOf&& row_of, float* strip,
                  float* member_scratch) {
    const int64_t k = b.ne[0];
    const float* rows[kStripCols];
    for (int64_t c = 0; c < n_cols; ++c) {
        const void* src = row_of(c);
        if (b.type == GGML_TYPE_F32) {
            rows[c] = static_cast<const float*>(src);
        } else {
            float* decoded = member_scratch + kBandFloats + c * k;
            decode_operand_row(b, src, decoded);
            rows[c] = decoded;
        }
    }
    pack_strip(rows, n_cols, 0, k, strip);
}

// Rows [row0, row0 + kBandRows) of a weight matrix, as far as there are any, times n_cols columns
// in strips that follow each other; dst_of(c): the column of the result.
template <class DstOf>
void multiply_band(const ggml_tensor& a, const char* matrix, int64_t row0, const float* strips,
                   int64_t n_cols, DstOf&& dst_of, float* member_scratch) {
    const int64_t k = a.ne[0], n_rows = std::min(kBandRows, a.ne[1] - row0);
    const char* weights = matrix + static_cast<size_t>(row0) * a.nb[1];
    for (int64_t k0 = 0; k0 < k || k0 == 0; k0 += kDepth) {
        const int64_t depth = std::min(kDepth, k - k0);
        pack_band(a.type, weights, a.nb[1], n_rows, k0, depth, member_scratch);
        for (int64_t col = 0; col < n_cols; col += kStripCols) {
            const int64_t width = std::min(kStripCols, n_cols - col);
            float* dst[kStripCols];
            for (int64_t c = 0; c < width; ++c) dst[c] = dst_of(col + c) + row0;
            multiply(member_scratch, n_rows, strips + (col * k + k0 * kStripCols), width, depth,
                     dst, /*add=*/k0 > 0);
        }
    }
}

}  // namespace tenon::cpu
