// Steps of a product by panels that MUL_MAT and MUL_MAT_ID share: strips of columns are packed,
// then every band of weight rows meets them.
#pragma once

#include <algorithm>

#include "plugins/cpu/dot/panels.h"
#include "plugins/cpu/kernels/mul_mat.h"

namespace tenon::cpu {

constexpr int64_t kPassStrips = 84;  // that bands meet in a go: 1008 or 504 columns

// How the rows of a product lie in panels: k words, floats or pairs of bf16.
struct PanelWords {
    PanelsFn pairs;  // NULL: floats
    int64_t n, k;    // elements and words of a row

    explicit PanelWords(const ggml_tensor& node)
        : pairs(find_dot_type(node.src[0]->type)->pair_panels),
          n(node.src[0]->ne[0]),
          k(pairs ? (n + 1) / 2 : n) {}

    // Strips lie as [strip][k][kStripCols], k without gaps between depths.
    size_t strip_floats() const { return static_cast<size_t>(k) * kStripCols; }

    // Scratch of a member: a band, and the columns of a strip unless they are used in place.
    size_t member_bytes(const ggml_tensor& node) const {
        const bool in_place = !pairs && node.src[1]->type == GGML_TYPE_F32;
        const size_t columns = in_place ? 0 : strip_floats();
        return ((static_cast<size_t>(kBandFloats) + columns) * sizeof(float) + 63) / 64 * 64;
    }

    // A row of b in words: where it is, or in `room`.
    const float* column(const ggml_tensor& b, const void* src, float* room) const {
        if (!pairs) {
            if (b.type == GGML_TYPE_F32) return static_cast<const float*>(src);
            decode_operand_row(b, src, room);
        } else if (b.type == GGML_TYPE_F32) {
            if (k > 0) room[k - 1] = 0.0f;  // the last of an odd number has a zero beside it
            simd::convert(reinterpret_cast<ggml_bf16_t*>(room), static_cast<const float*>(src), n);
        } else {
            copy_pairs(static_cast<const ggml_bf16_t*>(src), n, 0, k, room);
        }
        return room;
    }
};

inline int64_t strips_of(int64_t n_cols) { return (n_cols + kStripCols - 1) / kStripCols; }

// Packs n_cols columns, at most kStripCols; row_of(c): the row of b that column c is.
template <class RowOf>
void pack_columns(const PanelWords& words, const ggml_tensor& b, int64_t n_cols, RowOf&& row_of,
                  float* strip, float* member_scratch) {
    const float* rows[kStripCols];
    for (int64_t c = 0; c < n_cols; ++c) {
        rows[c] = words.column(b, row_of(c), member_scratch + kBandFloats + c * words.k);
    }
    pack_strip(rows, n_cols, 0, words.k, strip);
}

// Rows [row0, row0 + kBandRows) of a weight matrix, as far as there are any, times n_cols columns
// in strips that follow each other; dst_of(c): the column of the result.
template <class DstOf>
void multiply_band(const PanelWords& words, const ggml_tensor& a, const char* matrix, int64_t row0,
                   const float* strips, int64_t n_cols, DstOf&& dst_of, float* member_scratch) {
    const int64_t k = words.k, n_rows = std::min(kBandRows, a.ne[1] - row0);
    const char* weights = matrix + static_cast<size_t>(row0) * a.nb[1];
    const PanelsFn multiply_words = words.pairs ? words.pairs : multiply;
    for (int64_t k0 = 0; k0 < k || k0 == 0; k0 += kDepth) {
        const int64_t depth = std::min(kDepth, k - k0);
        if (words.pairs) {
            pack_pairs_band(weights, a.nb[1], n_rows, words.n, k0, depth, member_scratch);
        } else {
            pack_band(a.type, weights, a.nb[1], n_rows, k0, depth, member_scratch);
        }
        for (int64_t col = 0; col < n_cols; col += kStripCols) {
            const int64_t width = std::min(kStripCols, n_cols - col);
            float* dst[kStripCols];
            for (int64_t c = 0; c < width; ++c) dst[c] = dst_of(col + c) + row0;
            multiply_words(member_scratch, n_rows, strips + (col * k + k0 * kStripCols), width,
                           depth, dst, /*add=*/k0 > 0);
        }
    }
}

}  // namespace tenon::cpu
