// SOLVE_TRI: X with A X = B, A lower triangular: X[c, r] = (B[c, r] - sum over t < r of
// A[t, r]*X[c, t]) / A[r, r]. Elements above the diagonal are not read. Columns are independent.

#include <algorithm>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

using simd::f32;

constexpr int kVectors = 4;
constexpr int64_t kColumns = kVectors * f32::lanes;  // solved side by side

Verdict supports(const ggml_tensor& node) {
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// V vectors of columns from c on; of the last vector `some` lanes count.
template <int V>
void solve(const ggml_tensor& node, int64_t c, int some, int64_t i2, int64_t i3) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const auto get = [&](const float* p, int v) {
        return V > 1 || some == f32::lanes ? simd::load(p + v * f32::lanes)
                                           : simd::load_some(p, some);
    };
    for (int64_t r = 0; r < a.ne[0]; ++r) {
        const float* factors = row<const float>(a, r, i2, i3);
        f32 acc[V];
        TENON_UNROLL
        for (int v = 0; v < V; ++v) acc[v] = get(row<const float>(b, r, i2, i3) + c, v);
        for (int64_t t = 0; t < r; ++t) {
            const f32 factor = simd::splat(factors[t]);
            const float* x = row<const float>(node, t, i2, i3) + c;
            TENON_UNROLL
            for (int v = 0; v < V; ++v) acc[v] = simd::fnma(factor, get(x, v), acc[v]);
        }
        const f32 pivot = simd::splat(factors[r]);
        float* dst = row<float>(node, r, i2, i3) + c;
        TENON_UNROLL
        for (int v = 0; v < V; ++v) {
            if (V > 1 || some == f32::lanes) {
                simd::store(dst + v * f32::lanes, acc[v] / pivot);
            } else {
                simd::store_some(dst, acc[v] / pivot, some);
            }
        }
    }
}

void run(const Task& task, const ggml_tensor& node) {
    const int64_t n_cols = node.ne[0];
    const int64_t n_chunks = (n_cols + kColumns - 1) / kColumns;
    const Range r = share(task, n_chunks * node.ne[2] * node.ne[3]);
    for (int64_t i = r.begin; i < r.end; ++i) {
        const int64_t i2 = i / n_chunks % node.ne[2], i3 = i / (n_chunks * node.ne[2]);
        const int64_t begin = i % n_chunks * kColumns, end = std::min(begin + kColumns, n_cols);
        if (end - begin == kColumns) {
            solve<kVectors>(node, begin, f32::lanes, i2, i3);
            continue;
        }
        for (int64_t c = begin; c < end; c += f32::lanes) {
            solve<1>(node, c, static_cast<int>(std::min<int64_t>(f32::lanes, end - c)), i2, i3);
        }
    }
}

}  // namespace

extern constinit const Kernel kSolveTri{supports, run};

}  // namespace tenon::cpu
