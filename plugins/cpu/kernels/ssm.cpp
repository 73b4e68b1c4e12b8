// SSM_CONV, SSM_SCAN: the causal convolution and the selective scan of Mamba models.

#include <cmath>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/row_buffer.h"
#include "plugins/cpu/kernels/words.h"
#include "plugins/cpu/simd/vmath.h"

namespace tenon::cpu {
namespace {

using simd::f32;

constexpr int kLanes = f32::lanes;

// ---- SSM_CONV ---------------------------------------------------------------------------------
// dst[i, t, s] = sum over k of x[t + k, i, s] * kernel[k, i]. Sources run along time, the result
// along channels: a vector's worth of channels is transposed into [time][channel] pieces of kTimes
// results.

constexpr int64_t kTimes = 64;

Verdict supports_conv(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const ggml_tensor& kernel = *node.src[1];
    if (!is_float_type(x.type) || !is_float_type(kernel.type)) {
        return no(TENON_REASON_TYPE, "src0 and src1 must be f32, f16 or bf16");
    }
    if (!has_dense_rows(x) || !has_dense_rows(kernel) || !has_dense_rows(node)) {
        return no(TENON_REASON_STRIDES, "rows are not dense");
    }
    return yes();
}

int64_t conv_floats(const ggml_tensor& node) {  // kernel and piece of one member
    return (2 * node.src[1]->ne[0] + kTimes) * kLanes;
}

size_t conv_workspace(const ggml_tensor& node, int n_threads) {
    return static_cast<size_t>(conv_floats(node) * n_threads) * sizeof(float);
}

// Columns [at, at + n) of up to kLanes rows from `first` on -> out[column][lane]; other lanes 0.
template <class T>
void transpose(const ggml_tensor& t, int64_t first, int64_t seq, int64_t at, int64_t n,
               float* out) {
    const int64_t n_rows = std::min<int64_t>(kLanes, t.ne[1] - first);
    int64_t i = 0;
    if (n_rows == kLanes) {
        for (; i + kLanes <= n; i += kLanes) {
            f32 block[kLanes];
            TENON_UNROLL
            for (int r = 0; r < kLanes; ++r) {
                block[r] = simd::load(row<const T>(t, first + r, seq) + at + i);
            }
            simd::transpose(block);
            TENON_UNROLL
            for (int r = 0; r < kLanes; ++r) simd::store(out + (i + r) * kLanes, block[r]);
        }
    }
    for (int64_t r = 0; r < kLanes; ++r) {
        const T* src = r < n_rows ? row<const T>(t, first + r, seq) + at : nullptr;
        for (int64_t c = i; c < n; ++c) out[c * kLanes + r] = src ? simd::to_f32(src[c]) : 0.0f;
    }
}

void convolve(const ggml_tensor& node, int64_t channel, int64_t seq, float* scratch) {
    const ggml_tensor& x = *node.src[0];
    const int64_t width = node.src[1]->ne[0], n_tokens = node.ne[1];
    const int n_channels = static_cast<int>(std::min<int64_t>(kLanes, node.ne[0] - channel));
    float *kernel = scratch, *piece = scratch + width * kLanes;
    with_float_type(node.src[1]->type,
                    [&]<class T>() { transpose<T>(*node.src[1], channel, 0, 0, width, kernel); });
    for (int64_t t0 = 0; t0 < n_tokens; t0 += kTimes) {
        const int64_t n = std::min(kTimes, n_tokens - t0);
        with_float_type(
            x.type, [&]<class T>() { transpose<T>(x, channel, seq, t0, n + width - 1, piece); });
        for (int64_t t = 0; t < n; ++t) {
            f32 sum = simd::splat(0.0f);
            for (int64_t k = 0; k < width; ++k) {
                sum = simd::fma(simd::load(piece + (t + k) * kLanes),
                                simd::load(kernel + k * kLanes), sum);
            }
            float* dst = row<float>(node, t0 + t, seq) + channel;
            if (n_channels == kLanes) {
                simd::store(dst, sum);
            } else {
                simd::store_some(dst, sum, n_channels);
            }
        }
    }
}

void run_conv(const Task& task, const ggml_tensor& node) {
    float* scratch = static_cast<float*>(task.workspace) + conv_floats(node) * task.ith;
    const int64_t words = (node.ne[0] + kLanes - 1) / kLanes;
    const Range r = share(task, words * node.ne[2]);
    for (int64_t i = r.begin; i < r.end; ++i) {
        convolve(node, i % words * kLanes, i / words, scratch);
    }
}

// Windows lie across the rows of the result.
double conv_slowness(const ggml_tensor&) { return 4; }

// ---- SSM_SCAN ---------------------------------------------------------------------------------
// Per sequence, head and channel a state M of n numbers, which is a row of the head's state:
// d = softplus(dt); M = M*e^(d*A) + B*(x*d); y = M . C. The state of the last token is slot 0 of
// the states behind the outputs and serves as M meanwhile.

constexpr int64_t kRows = 16;  // of the state, that one piece of work keeps in step

Verdict supports_scan(const ggml_tensor& node) {
    for (int i = 0; i < 6; ++i) {
        if (!is_float_type(node.src[i]->type)) {
            return no(TENON_REASON_TYPE, "all sources but the ids must be f32, f16 or bf16");
        }
    }
    return yes();
}

struct Scan {
    const ggml_tensor& node;
    const ggml_tensor &s, &x, &dt, &A, &B, &C, &ids;
    int64_t n, channels, heads, tokens, seqs, n_states;

    explicit Scan(const ggml_tensor& t)
        : node(t),
          s(*t.src[0]),
          x(*t.src[1]),
          dt(*t.src[2]),
          A(*t.src[3]),
          B(*t.src[4]),
          C(*t.src[5]),
          ids(*t.src[6]),
          n(s.ne[0]),
          channels(x.ne[0]),
          heads(x.ne[1]),
          tokens(x.ne[2]),
          seqs(x.ne[3]),
          n_states(params_of<tenon_ssm_scan_params>(t).n_states) {}

    int64_t rows() const { return channels * heads; }  // of a state: row p + channels*h

    float* output(int64_t row, int64_t t, int64_t seq) const {
        return static_cast<float*>(node.data) + row + rows() * (t + tokens * seq);
    }
    float* state(int64_t slot, int64_t row, int64_t seq) const {
        return static_cast<float*>(node.data) + rows() * tokens * seqs +
               n * (row + rows() * (seq + seqs * slot));
    }
};

// What the channels of a head have in common at one token: the decay is one for all of M, or
// e^(delta*rate) where there are rates.
struct ScanToken {
    const float *b, *c, *rates;
    float delta, decay;
};

// Per row: M = M*decay + b*(x*delta), out = M . c. The rows share the loads of b and c, and their
// sums do not wait for each other.
template <int kTogether, bool kPerElement>
void step(const ScanToken& token, float* m, int64_t n, const float* x, float* out) {
    const f32 delta = simd::splat(token.delta), same = simd::splat(token.decay);
    f32 sums[kTogether], scaled_x[kTogether];
    TENON_UNROLL
    for (int r = 0; r < kTogether; ++r) {
        sums[r] = simd::splat(0.0f);
        scaled_x[r] = simd::splat(x[r] * token.delta);
    }
    for_each_word(n, [&](int64_t i, int some) {
        const f32 keep = kPerElement ? simd::exp(get(token.rates + i, some) * delta) : same;
        const f32 b = get(token.b + i, some), c = get(token.c + i, some);
        TENON_UNROLL
        for (int r = 0; r < kTogether; ++r) {
            const f32 next = simd::fma(get(m + r * n + i, some), keep, b * scaled_x[r]);
            put(m + r * n + i, next, some);
            sums[r] = simd::fma(next, c, sums[r]);
        }
    });
    TENON_UNROLL
    for (int r = 0; r < kTogether; ++r) out[r] = simd::sum(sums[r]);
}

template <bool kPerElement>
void step_rows(const ScanToken& token, float* m, int64_t n, int64_t n_rows, const float* x,
               float* out) {
    constexpr int kTogether = 4;
    int64_t r = 0;
    for (; r + kTogether <= n_rows; r += kTogether)
        step<kTogether, kPerElement>(token, m + r * n, n, x + r, out + r);
    for (; r < n_rows; ++r) step<1, kPerElement>(token, m + r * n, n, x + r, out + r);
}

// Row (i1, i2, i3) of a source as f32.
const float* scan_row(const ggml_tensor& t, int64_t i1, int64_t i2, int64_t i3, float* buffer) {
    return as_f32(t.type, row<const void>(t, i1, i2, i3), 0, t.ne[0], buffer);
}

// Rows of A, B, C and some of a row of x, where they are not f32.
constexpr int kScanBuffers = 4;
int64_t scan_floats(const ggml_tensor& node) { return std::max(node.src[0]->ne[0], kRows); }

size_t scan_workspace(const ggml_tensor& node, int n_threads) {
    return any_not_f32(node, 6) ? row_buffers_bytes(scan_floats(node), n_threads, kScanBuffers) : 0;
}

// d and e^(d*A) of some tokens, [token][head].
constexpr int64_t kSteps = 16;
struct Steps {
    float deltas[kSteps * kRows], decays[kSteps * kRows];
};

// Rows [begin, end) of the state of one sequence, at most kRows, which belong to heads
// [first, last).
struct ScanPiece {
    const Scan& a;
    int64_t begin, end, seq;
    const RowBuffers& buffers;
    int64_t first = begin / a.channels, last = (end - 1) / a.channels + 1;

    bool one_rate() const { return a.A.ne[0] == 1; }

    // For tokens [t, t + n_tokens): d = softplus(dt) of each head, and with one rate per head
    // e^(d*rate). Many at a time, for the functions' latency.
    void fill(int64_t t, int64_t n_tokens, Steps& steps) const {
        const int64_t n_heads = last - first, n = n_tokens * n_heads;
        float values[kRows];
        for (int64_t k = 0; k < n_tokens; ++k) {
            const float* dt = as_f32(a.dt.type, a.dt.data,
                                     first + a.heads * (t + k + a.tokens * seq), n_heads, values);
            std::copy(dt, dt + n_heads, steps.deltas + k * n_heads);
        }
        simd::map(steps.deltas, steps.deltas, n, [](f32 x) { return simd::softplus(x); });
        if (!one_rate()) return;
        const float* rates = as_f32(a.A.type, a.A.data, first, n_heads, values);
        for (int64_t i = 0; i < n; ++i) steps.decays[i] = steps.deltas[i] * rates[i % n_heads];
        simd::map(steps.decays, steps.decays, n, [](f32 x) { return simd::exp(x); });
    }

    void token(int64_t t, const float* deltas, const float* decays) const {
        int64_t group = -1;
        const float *b = nullptr, *c = nullptr;
        for (int64_t h = first; h < last; ++h) {
            if (const int64_t g = h / (a.heads / a.B.ne[1]); g != group) {
                group = g;
                b = scan_row(a.B, group, t, seq, buffers[1]);
                c = scan_row(a.C, group, t, seq, buffers[2]);
            }
            const int64_t r0 = std::max(begin, h * a.channels);
            const int64_t r1 = std::min(end, (h + 1) * a.channels);
            const float* x = as_f32(a.x.type, row<const void>(a.x, h, t, seq), r0 - h * a.channels,
                                    r1 - r0, buffers[3]);
            const float* rates = one_rate() ? nullptr : scan_row(a.A, h, 0, 0, buffers[0]);
            const ScanToken token{b, c, rates, deltas[h - first],
                                  one_rate() ? decays[h - first] : 0.0f};
            const auto step = one_rate() ? step_rows<false> : step_rows<true>;
            step(token, a.state(0, r0, seq), a.n, r1 - r0, x, a.output(r0, t, seq));
        }
    }

    void run(int64_t first_slot) const {
        const int64_t n = a.n * (end - begin);
        const size_t bytes = static_cast<size_t>(n) * sizeof(float);
        with_float_type(a.s.type, [&]<class T>() {
            const T* s = static_cast<const T*>(a.s.data);
            simd::convert(a.state(0, begin, seq), s + a.n * (begin + a.rows() * first_slot), n);
        });
        Steps steps;
        for (int64_t t = 0; t < a.tokens; ++t) {
            const int64_t at = t % kSteps * (last - first);
            if (at == 0) fill(t, std::min(kSteps, a.tokens - t), steps);
            token(t, steps.deltas + at, steps.decays + at);
            const int64_t slot = a.tokens - 1 - t;
            if (slot > 0 && slot < a.n_states)
                std::memcpy(a.state(slot, begin, seq), a.state(0, begin, seq), bytes);
        }
        // Slots that no token has a state for.
        for (int64_t slot = std::max<int64_t>(a.tokens, 1); slot < a.n_states; ++slot)
            std::memset(a.state(slot, begin, seq), 0, bytes);
    }
};

void run_scan(const Task& task, const ggml_tensor& node) {
    const Scan a(node);
    const RowBuffers buffers(task, scan_floats(node), kScanBuffers);
    const int64_t parts = (a.rows() + kRows - 1) / kRows;
    const Range r = share(task, parts * a.seqs);
    for (int64_t i = r.begin; i < r.end; ++i) {
        const int64_t begin = i % parts * kRows, seq = i / parts;
        const int32_t id = *element<const int32_t>(a.ids, seq, 0, 0, 0);
        if (id < 0 || id >= a.s.ne[3]) {
            task.fail_index("a state id is out of range", id, a.s.ne[3]);
            continue;
        }
        ScanPiece{a, begin, std::min(begin + kRows, a.rows()), seq, buffers}.run(id);
    }
}

}  // namespace

extern constinit const Kernel kSsmConv{supports_conv, run_conv, conv_workspace, conv_slowness};
extern constinit const Kernel kSsmScan{supports_scan, run_scan, scan_workspace};

}  // namespace tenon::cpu
