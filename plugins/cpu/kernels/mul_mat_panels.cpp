// MUL_MAT for many columns, by panels (dot/panels.h): weights are decoded once per pass over up to
// kPassCols columns instead of once per column, sums are f32 of unrounded activations.
//
// A pass packs its columns (all members, then a barrier) and then hands out bands of weight rows.

#include <algorithm>

#include "plugins/cpu/dot/panels.h"
#include "plugins/cpu/kernels/mul_mat.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kPassCols = 84 * kStripCols;  // 1008 or 504

// How the columns of one weight matrix are cut. Strips of a pass lie in the workspace as
// [strip][k][kStripCols], k from 0 to ne0 without gaps between depths.
struct Cut {
    int64_t k, n_cols, n_passes, pass_cols;

    explicit Cut(const ggml_tensor& node)
        : k(node.src[0]->ne[0]), n_cols(MulMatColumns::per_matrix(node)) {
        n_passes = (n_cols + kPassCols - 1) / kPassCols;
        const int64_t even = (n_cols + n_passes - 1) / n_passes;
        pass_cols = (even + kStripCols - 1) / kStripCols * kStripCols;
    }
    size_t strip_floats() const { return static_cast<size_t>(k) * kStripCols; }
    size_t strips_bytes() const {
        const size_t floats = strip_floats() * static_cast<size_t>(pass_cols / kStripCols);
        return (floats * sizeof(float) + 63) / 64 * 64;
    }
};

size_t member_bytes(const ggml_tensor& node) {  // a band, and the decoded rows of a strip
    const bool plain = node.src[1]->type == GGML_TYPE_F32;
    const size_t rows = plain ? 0 : static_cast<size_t>(node.src[0]->ne[0] * kStripCols);
    return ((static_cast<size_t>(kBandFloats) + rows) * sizeof(float) + 63) / 64 * 64;
}

Verdict supports(const ggml_tensor& node) {
    if (const Verdict verdict = supports_mul_mat(node); !verdict) return verdict;
    if (MulMatColumns::per_matrix(node) < find_dot_type(node.src[0]->type)->panels_from ||
        node.src[0]->ne[1] < kPanelRows) {
        return no(TENON_REASON_SHAPE, "too few rows or columns for panels");
    }
    return yes();
}

size_t workspace(const ggml_tensor& node, int n_threads) {
    return Cut(node).strips_bytes() + member_bytes(node) * static_cast<size_t>(n_threads);
}

// One pass over columns [col0, col0 + n_cols) of one weight matrix.
struct Pass {
    const ggml_tensor& node;
    const Cut& cut;
    MulMatColumns columns;
    int64_t col0, n_cols;
    float* strips;
    float* own;  // this member's scratch

    int64_t n_strips() const { return (n_cols + kStripCols - 1) / kStripCols; }
    int64_t strip_cols(int64_t strip) const {
        return std::min(kStripCols, n_cols - strip * kStripCols);
    }

    void pack(int64_t strip) const {
        const ggml_tensor& b = *node.src[1];
        const float* rows[kStripCols];
        for (int64_t c = 0; c < strip_cols(strip); ++c) {
            const auto at = columns.at(col0 + strip * kStripCols + c);
            const void* src = row<const void>(b, at.n, at.i2, at.i3);
            if (b.type == GGML_TYPE_F32) {
                rows[c] = static_cast<const float*>(src);
            } else {
                float* decoded = own + kBandFloats + c * cut.k;
                decode_operand_row(b, src, decoded);
                rows[c] = decoded;
            }
        }
        pack_strip(rows, strip_cols(strip), 0, cut.k, strips + cut.strip_floats() * strip);
    }

    void multiply_band(int64_t row0) const {
        const ggml_tensor& a = *node.src[0];
        const int64_t n_rows = std::min(kBandRows, a.ne[1] - row0);
        const char* weights = row<const char>(a, row0, columns.a2, columns.a3);
        for (int64_t k0 = 0; k0 < cut.k || k0 == 0; k0 += kDepth) {
            const int64_t depth = std::min(kDepth, cut.k - k0);
            pack_band(a.type, weights, a.nb[1], n_rows, k0, depth, own);
            for (int64_t strip = 0; strip < n_strips(); ++strip) {
                float* dst[kStripCols];
                for (int64_t c = 0; c < strip_cols(strip); ++c) {
                    const auto at = columns.at(col0 + strip * kStripCols + c);
                    dst[c] = row<float>(node, at.n, at.i2, at.i3) + row0;
                }
                multiply(own, n_rows, strips + cut.strip_floats() * strip + k0 * kStripCols,
                         strip_cols(strip), depth, dst, /*add=*/k0 > 0);
            }
        }
    }
};

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const Cut cut(node);
    const int64_t n_bands = (a.ne[1] + kBandRows - 1) / kBandRows;
    auto* base = static_cast<char*>(task.workspace);
    auto* own = reinterpret_cast<float*>(base + cut.strips_bytes() + member_bytes(node) * task.ith);

    // Bands of all passes are numbered through, so one counter serves them all.
    int64_t band = task.next_chunk(), first = 0;
    for (int64_t matrix = 0; matrix < a.ne[2] * a.ne[3]; ++matrix) {
        for (int64_t col0 = 0; col0 < cut.n_cols; col0 += cut.pass_cols) {
            const Pass pass{node,
                            cut,
                            {node, matrix % a.ne[2], matrix / a.ne[2]},
                            col0,
                            std::min(cut.pass_cols, cut.n_cols - col0),
                            reinterpret_cast<float*>(base),
                            own};
            if (first > 0) task.barrier();  // nobody reads the strips of the last pass any more
            for (int64_t s = task.ith; s < pass.n_strips(); s += task.nth) pass.pack(s);
            task.barrier();
            for (; band < first + n_bands; band = task.next_chunk()) {
                pass.multiply_band((band - first) * kBandRows);
            }
            first += n_bands;
        }
    }
}

}  // namespace

extern constinit const Kernel kMulMatPanels{GGML_OP_MUL_MAT, supports, run, workspace,
                                            mul_mat_cost_ns};

}  // namespace tenon::cpu
