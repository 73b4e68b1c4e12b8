// What RWKV_WKV6, RWKV_WKV7, GATED_LINEAR_ATTN and GATED_DELTA_NET share: sizes, where outputs and
// states lie, and the two kinds of recurrence: over columns and over rows of the state.
#pragma once

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/row_buffer.h"
#include "plugins/cpu/kernels/words.h"

namespace tenon::cpu {

// Sources [0, n) are contiguous floats of any type, the result is contiguous f32.
inline Verdict check_recurrent(const ggml_tensor& node, int n) {
    for (int i = 0; i < n; ++i) {
        if (!is_float_type(node.src[i]->type)) {
            return no(TENON_REASON_TYPE, "all sources must be f32, f16 or bf16");
        }
    }
    if (!is_contiguous(node)) return no(TENON_REASON_STRIDES, "dst must be contiguous");
    return yes();
}

// k: [size, heads, tokens]; the last source holds a size x size state per head and sequence. The
// result has `tokens` rows of outputs, then the final states, which serve as M meanwhile.
struct Recurrence {
    const ggml_tensor& node;
    RowBuffers buffers;                 // one per source, for those that are not f32
    int64_t size, heads, seqs, tokens;  // tokens of one sequence

    Recurrence(const ggml_tensor& t, const ggml_tensor& k, const ggml_tensor& state,
               RowBuffers rows = {})
        : node(t),
          buffers(rows),
          size(k.ne[0]),
          heads(k.ne[1]),
          seqs(state.ne[1]),
          tokens(seqs > 0 ? k.ne[2] / seqs : 0) {}

    // Row of a source, or of the outputs, for token t of sequence s.
    int64_t at(int64_t h, int64_t t, int64_t s) const {
        return size * (h + heads * (t + tokens * s));
    }
    // As f32; valid until the same source is asked for another row.
    const float* source(int i, int64_t h, int64_t t, int64_t s) const {
        return as_f32(node.src[i]->type, node.src[i]->data, at(h, t, s), size, buffers[i]);
    }
    float* output(int64_t h, int64_t t, int64_t s) const {
        return static_cast<float*>(node.data) + at(h, t, s);
    }
    float* state(int64_t row, int64_t h, int64_t s) const {
        return static_cast<float*>(node.data) + size * heads * tokens * seqs +
               size * (row + size * (h + heads * s));
    }
    // Elements [begin, end) of rows [row, row + n_rows) of M before the first token.
    void start(const ggml_tensor& source, int64_t row, int64_t n_rows, int64_t begin, int64_t end,
               int64_t h, int64_t s) const {
        with_float_type(source.type, [&]<class T>() {
            const T* first = static_cast<const T*>(source.data) + size * size * (h + heads * s);
            for (int64_t i = row; i < row + n_rows; ++i) {
                simd::convert(state(i, h, s) + begin, first + size * i + begin, end - begin);
            }
        });
    }
};

// The workspace of a node whose last source, number n, is the state.
inline size_t recurrent_workspace(const ggml_tensor& node, int64_t size, int n, int n_threads) {
    return any_not_f32(node, n) ? row_buffers_bytes(size, n_threads, n) : 0;
}

// ---- columns ----------------------------------------------------------------------------------
// Recurrences whose state M[i][j] has keys i and values j: per token o[j] = sum over i of what
// `step(i, m, v)` adds, where v = v[j], m = M[i][j], which it updates. Columns are independent;
// V vectors of them from `column` on stay in registers, of the last `some` lanes count (V = 1).
template <int V, class MakeStep>
void run_columns(const Recurrence& a, int v_source, int64_t h, int64_t s, int64_t column, int some,
                 MakeStep&& make_step) {
    using simd::f32;
    const bool whole = V > 1 || some == f32::lanes;
    for (int64_t t = 0; t < a.tokens; ++t) {
        const auto step = make_step(h, t, s);
        const float* values = a.source(v_source, h, t, s) + column;
        f32 v[V], sum[V];
        TENON_UNROLL
        for (int c = 0; c < V; ++c) {
            v[c] = whole ? simd::load(values + c * f32::lanes) : simd::load_some(values, some);
            sum[c] = simd::splat(0.0f);
        }
        float* m = a.state(0, h, s) + column;
        for (int64_t i = 0; i < a.size; ++i, m += a.size) {
            TENON_UNROLL
            for (int c = 0; c < V; ++c) {
                float* p = m + c * f32::lanes;
                f32 element = whole ? simd::load(p) : simd::load_some(p, some);
                sum[c] = step(i, element, v[c], sum[c]);
                if (whole) {
                    simd::store(p, element);
                } else {
                    simd::store_some(p, element, some);
                }
            }
        }
        float* out = a.output(h, t, s) + column;
        TENON_UNROLL
        for (int c = 0; c < V; ++c) {
            if (whole) {
                simd::store(out + c * f32::lanes, sum[c]);
            } else {
                simd::store_some(out, sum[c], some);
            }
        }
    }
}

template <class MakeStep>
void run_by_columns(const Task& task, const Recurrence& a, int v_source, const ggml_tensor& state,
                    MakeStep&& make_step) {
    using simd::f32;
    constexpr int kVectors = 4;
    constexpr int64_t kColumns = kVectors * f32::lanes;
    const int64_t parts = (a.size + kColumns - 1) / kColumns;
    const Range r = share(task, parts * a.heads * a.seqs);
    for (int64_t item = r.begin; item < r.end; ++item) {
        const int64_t begin = item % parts * kColumns, end = std::min(begin + kColumns, a.size);
        const int64_t h = item / parts % a.heads, s = item / (parts * a.heads);
        a.start(state, 0, a.size, begin, end, h, s);
        if (end - begin == kColumns) {
            run_columns<kVectors>(a, v_source, h, s, begin, f32::lanes, make_step);
            continue;
        }
        for (int64_t c = begin; c < end; c += f32::lanes) {
            const int some = static_cast<int>(std::min<int64_t>(f32::lanes, end - c));
            run_columns<1>(a, v_source, h, s, c, some, make_step);
        }
    }
}

// ---- rows -------------------------------------------------------------------------------------
// Recurrences whose state M[i][j] has values i and keys j: per token c = M[i] . a, then
// M[i] = M[i]*w + u*k (+ x*b), and o[i] = M[i] . r * scale. Rows are independent.

constexpr int64_t kStateRows = 16;  // of one piece of work

// The vectors of one token and head, over the keys; b only where there is an x.
struct RowToken {
    const float *a, *w, *k, *b, *r;
    float scale;
};
struct RowFactors {
    float u, x;
};

// kRows rows of M from row i on, at m; factors(i, c) gives u and x of row i. The rows share the
// loads of the token's vectors, and their sums do not wait for each other.
template <int kRows, bool kTwo, class Factors>
void step_rows(const RowToken& token, int64_t i, float* m, int64_t n, float* out,
               const Factors& factors) {
    using simd::f32;
    f32 dots[kRows], sums[kRows], u[kRows], x[kRows];
    TENON_UNROLL
    for (int r = 0; r < kRows; ++r) dots[r] = sums[r] = simd::splat(0.0f);
    for_each_word(n, [&](int64_t j, int some) {
        const f32 a = get(token.a + j, some);
        TENON_UNROLL
        for (int r = 0; r < kRows; ++r) dots[r] = simd::fma(get(m + r * n + j, some), a, dots[r]);
    });
    TENON_UNROLL
    for (int r = 0; r < kRows; ++r) {
        const RowFactors f = factors(i + r, simd::sum(dots[r]));
        u[r] = simd::splat(f.u), x[r] = simd::splat(f.x);
    }
    for_each_word(n, [&](int64_t j, int some) {
        const f32 w = get(token.w + j, some), k = get(token.k + j, some);
        const f32 b = kTwo ? get(token.b + j, some) : w, read = get(token.r + j, some);
        TENON_UNROLL
        for (int r = 0; r < kRows; ++r) {
            const f32 added = kTwo ? simd::fma(x[r], b, u[r] * k) : u[r] * k;
            const f32 next = simd::fma(get(m + r * n + j, some), w, added);
            put(m + r * n + j, next, some);
            sums[r] = simd::fma(next, read, sums[r]);
        }
    });
    TENON_UNROLL
    for (int r = 0; r < kRows; ++r) out[i + r] = simd::sum(sums[r]) * token.scale;
}

// Rows [begin, end) of M; row `begin` is at m.
template <bool kTwo, class Factors>
void step_row_range(const RowToken& token, int64_t begin, int64_t end, float* m, int64_t n,
                    float* out, const Factors& factors) {
    constexpr int kTogether = 4;
    int64_t i = begin;
    for (; i + kTogether <= end; i += kTogether, m += kTogether * n)
        step_rows<kTogether, kTwo>(token, i, m, n, out, factors);
    for (; i < end; ++i, m += n) step_rows<1, kTwo>(token, i, m, n, out, factors);
}

}  // namespace tenon::cpu
