// MUL_MAT for many columns, by panels (dot/panels.h): weights are decoded once per pass over up to
// kPassCols columns instead of once per column, sums are f32 of unrounded activations.
//
// A pass packs its columns (all members, then a barrier) and then hands out bands of weight rows.

#include <algorithm>

#include "plugins/cpu/kernels/panel_pass.h"

namespace tenon::cpu {
namespace {

// How the columns of one weight matrix are cut into passes.
struct Cut {
    PanelWords words;
    int64_t n_cols, n_passes, pass_cols;

    explicit Cut(const ggml_tensor& node) : words(node), n_cols(MulMatColumns::per_matrix(node)) {
        constexpr int64_t kPassCols = kPassStrips * kStripCols;
        n_passes = (n_cols + kPassCols - 1) / kPassCols;
        const int64_t even = (n_cols + n_passes - 1) / n_passes;
        pass_cols = strips_of(even) * kStripCols;
    }
    size_t strips_bytes() const {
        const size_t floats = words.strip_floats() * static_cast<size_t>(pass_cols / kStripCols);
        return (floats * sizeof(float) + 63) / 64 * 64;
    }
};

Verdict supports(const ggml_tensor& node) {
    if (const Verdict verdict = supports_mul_mat(node); !verdict) return verdict;
    if (MulMatColumns::per_matrix(node) < find_dot_type(node.src[0]->type)->panels_from ||
        node.src[0]->ne[1] < kPanelRows) {
        return no(TENON_REASON_SHAPE, "too few rows or columns for panels");
    }
    return yes();
}

size_t workspace(const ggml_tensor& node, int n_threads) {
    const Cut cut(node);
    return cut.strips_bytes() + cut.words.member_bytes(node) * static_cast<size_t>(n_threads);
}

// One pass over columns [col0, col0 + n_cols) of one weight matrix.
struct Pass {
    const ggml_tensor& node;
    const Cut& cut;
    MulMatColumns columns;
    int64_t col0, n_cols;
    float* strips;
    float* own;  // this member's scratch

    int64_t n_strips() const { return strips_of(n_cols); }

    void pack(int64_t strip) const {
        const ggml_tensor& b = *node.src[1];
        const int64_t first = strip * kStripCols;
        const auto row_of = [&](int64_t c) {
            const auto at = columns.at(col0 + first + c);
            return row<const void>(b, at.n, at.i2, at.i3);
        };
        pack_columns(cut.words, b, std::min(kStripCols, n_cols - first), row_of,
                     strips + cut.words.strip_floats() * static_cast<size_t>(strip), own);
    }

    void multiply_rows(int64_t row0) const {
        const ggml_tensor& a = *node.src[0];
        const auto dst_of = [&](int64_t c) {
            const auto at = columns.at(col0 + c);
            return row<float>(node, at.n, at.i2, at.i3);
        };
        multiply_band(cut.words, a, row<const char>(a, 0, columns.a2, columns.a3), row0, strips,
                      n_cols, dst_of, own);
    }
};

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const Cut cut(node);
    const int64_t n_bands = (a.ne[1] + kBandRows - 1) / kBandRows;
    auto* base = static_cast<char*>(task.workspace);
    auto* own = reinterpret_cast<float*>(base + cut.strips_bytes() +
                                         cut.words.member_bytes(node) * task.ith);

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
                pass.multiply_rows((band - first) * kBandRows);
            }
            first += n_bands;
        }
    }
}

}  // namespace

extern constinit const Kernel kMulMatPanels{supports, run, workspace, mul_mat_slowness};

}  // namespace tenon::cpu
