// OUT_PROD: dst[m, n, i2, i3] = sum over k of a[m, k, i2/r2, i3/r3] * b[n, k, i2, i3].
//
// The rows of a are panels already (dot/panels.h: weights side by side, one k after the other), so
// a block of them is copied or decoded, strips of b are gathered, and register tiles do the rest.

#include <algorithm>

#include "plugins/cpu/dot/panels.h"
#include "plugins/cpu/kernel.h"
#include "tenon/quant.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kBlockRows = 256;   // of m; a multiple of every block size and of kPanelRows
constexpr int64_t kBlockDepth = 128;  // of k

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    if (!is_float_type(b.type)) return no(TENON_REASON_TYPE, "src1 must be f32, f16 or bf16");
    if (!is_float_type(a.type)) {
        const quant::Format* format = quant::find_format(a.type);
        if (!format || !format->to_float || type_size(a.type).block == 1) {
            return no(TENON_REASON_TYPE, "src0 has a type that cannot be decoded");
        }
    }
    if (!has_dense_rows(a)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// What one member works in.
struct Scratch {
    alignas(64) float band[kBlockRows * kBlockDepth];
    alignas(64) float strip[kBlockDepth * kStripCols + simd::f32::lanes];
};

size_t workspace(const ggml_tensor&, int n_threads) {
    return sizeof(Scratch) * static_cast<size_t>(n_threads);
}

// Elements [m0, m0 + n) of a row of a as f32: in place or decoded into `buffer`.
const float* decode(const ggml_tensor& a, const char* src, int64_t m0, int64_t n, float* buffer) {
    if (a.type == GGML_TYPE_F32) return reinterpret_cast<const float*>(src) + m0;
    const bool is_float = with_float_type(
        a.type, [&]<class T>() { simd::convert(buffer, reinterpret_cast<const T*>(src) + m0, n); });
    if (is_float) return buffer;
    const quant::Format& format = *quant::find_format(a.type);
    format.to_float(src + row_bytes(a.type, m0), buffer, n);
    return buffer;
}

// One block of rows of one result matrix, all columns of a range.
struct Block {
    const ggml_tensor& node;
    int64_t i2, i3, m0, n_rows;
    Scratch& scratch;

    void pack_band(int64_t k0, int64_t depth) const {
        const ggml_tensor &a = *node.src[0], &b = *node.src[1];
        const int64_t a2 = i2 / (b.ne[2] / a.ne[2]), a3 = i3 / (b.ne[3] / a.ne[3]);
        float buffer[kBlockRows];
        for (int64_t k = 0; k < depth; ++k) {
            const float* src = decode(a, row<const char>(a, k0 + k, a2, a3), m0, n_rows, buffer);
            for (int64_t m = 0; m < n_rows; m += kPanelRows) {
                float* dst = scratch.band + m * depth + k * kPanelRows;
                const int64_t n = std::min(kPanelRows, n_rows - m);
                simd::convert(dst, src + m, n);
                std::fill(dst + n, dst + kPanelRows, 0.0f);
            }
        }
    }

    template <class T>
    void pack_strip(int64_t n0, int64_t n_cols, int64_t k0, int64_t depth) const {
        const ggml_tensor& b = *node.src[1];
        for (int64_t c = 0; c < kStripCols; ++c) {
            const char* src = element<const char>(b, n0 + c, k0, i2, i3);
            for (int64_t k = 0; k < depth; ++k) {
                scratch.strip[k * kStripCols + c] =
                    c < n_cols ? simd::to_f32(*reinterpret_cast<const T*>(src + k * b.nb[1]))
                               : 0.0f;
            }
        }
    }

    template <class T>
    void compute(int64_t n_begin, int64_t n_end) const {
        const int64_t k_end = node.src[0]->ne[1];
        for (int64_t k0 = 0; k0 < k_end || k0 == 0; k0 += kBlockDepth) {
            const int64_t depth = std::min(kBlockDepth, k_end - k0);
            pack_band(k0, depth);
            for (int64_t n = n_begin; n < n_end; n += kStripCols) {
                const int64_t n_cols = std::min(kStripCols, n_end - n);
                pack_strip<T>(n, n_cols, k0, depth);
                float* dst[kStripCols];
                for (int64_t c = 0; c < n_cols; ++c) dst[c] = row<float>(node, n + c, i2, i3) + m0;
                multiply(scratch.band, n_rows, scratch.strip, n_cols, depth, dst, k0 > 0);
            }
        }
    }
};

void run(const Task& task, const ggml_tensor& node) {
    Scratch& scratch = static_cast<Scratch*>(task.workspace)[task.ith];
    const int64_t n_blocks = (node.ne[0] + kBlockRows - 1) / kBlockRows;
    const int64_t matrices = node.ne[2] * node.ne[3];
    // Columns are cut only when there are too few blocks, since every cut packs them again.
    const int64_t wanted = std::max<int64_t>(4 * task.nth / (n_blocks * matrices), 1);
    const int64_t strips = (node.ne[1] + kStripCols - 1) / kStripCols;
    const int64_t cols = (strips + wanted - 1) / wanted * kStripCols;
    const int64_t n_ranges = (node.ne[1] + cols - 1) / cols;

    with_float_type(node.src[1]->type, [&]<class T>() {
        for_each_chunk(task, matrices * n_blocks * n_ranges, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t matrix = i / (n_blocks * n_ranges);
                const int64_t m0 = i / n_ranges % n_blocks * kBlockRows;
                const int64_t n0 = i % n_ranges * cols;
                const Block block{node,
                                  matrix % node.ne[2],
                                  matrix / node.ne[2],
                                  m0,
                                  std::min(kBlockRows, node.ne[0] - m0),
                                  scratch};
                block.compute<T>(n0, std::min(n0 + cols, node.ne[1]));
            }
        });
    });
}

}  // namespace

extern constinit const Kernel kOutProd{supports, run, workspace};

}  // namespace tenon::cpu
