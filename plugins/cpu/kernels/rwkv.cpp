// RWKV_WKV6, RWKV_WKV7: the recurrences of RWKV models, a size x size state M per head.

#include "plugins/cpu/kernels/recurrent.h"

namespace tenon::cpu {
namespace {

using simd::f32;

// ---- WKV6: M[key][value]; o = r . (tf*k*v + M), then M = M*td + k*v -----------------------------

Verdict supports_wkv6(const ggml_tensor& node) { return check_recurrent(node, 6); }

void run_wkv6(const Task& task, const ggml_tensor& node) {
    const Recurrence a(node, *node.src[0], *node.src[5], {task, node.src[0]->ne[0], 5});
    const auto make_step = [&](int64_t h, int64_t t, int64_t s) {
        return [k = a.source(0, h, t, s), r = a.source(2, h, t, s), tf = a.source(3, h, 0, 0),
                td = a.source(4, h, t, s)](int64_t i, f32& m, f32 v, f32 sum) {
            const f32 kv = simd::splat(k[i]) * v;
            sum = simd::fma(simd::splat(r[i]), simd::fma(simd::splat(tf[i]), kv, m), sum);
            m = simd::fma(m, simd::splat(td[i]), kv);
            return sum;
        };
    };
    run_by_columns(task, a, 1, *node.src[5], make_step);
}

size_t wkv6_workspace(const ggml_tensor& node, int n_threads) {
    return recurrent_workspace(node, node.src[0]->ne[0], 5, n_threads);
}

// ---- WKV7: M[value][key]; sa = M a; M = M*w + v k + sa b; o = M r -------------------------------

Verdict supports_wkv7(const ggml_tensor& node) { return check_recurrent(node, 7); }

void run_wkv7(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& state = *node.src[6];
    const Recurrence a(node, *node.src[2], state, {task, node.src[2]->ne[0], 6});
    const int64_t parts = (a.size + kStateRows - 1) / kStateRows;
    const Range range = share(task, parts * a.heads * a.seqs);
    for (int64_t item = range.begin; item < range.end; ++item) {
        const int64_t begin = item % parts * kStateRows;
        const int64_t end = std::min(begin + kStateRows, a.size);
        const int64_t h = item / parts % a.heads, s = item / (parts * a.heads);
        a.start(state, begin, end - begin, 0, a.size, h, s);
        for (int64_t t = 0; t < a.tokens; ++t) {
            const auto source = [&](int i) { return a.source(i, h, t, s); };
            const RowToken token{source(4), source(1), source(2), source(5), source(0), 1.0f};
            step_row_range<true>(token, begin, end, a.state(begin, h, s), a.size, a.output(h, t, s),
                                 [v = source(3)](int64_t i, float sa) {
                                     return RowFactors{v[i], sa};
                                 });
        }
    }
}

size_t wkv7_workspace(const ggml_tensor& node, int n_threads) {
    return recurrent_workspace(node, node.src[2]->ne[0], 6, n_threads);
}

}  // namespace

extern constinit const Kernel kRwkvWkv6{supports_wkv6, run_wkv6, wkv6_workspace};
extern constinit const Kernel kRwkvWkv7{supports_wkv7, run_wkv7, wkv7_workspace};

}  // namespace tenon::cpu
