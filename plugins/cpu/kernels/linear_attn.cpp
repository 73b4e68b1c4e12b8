// GATED_LINEAR_ATTN, GATED_DELTA_NET: linear attention with a decaying state M per head.

#include <cmath>

#include "plugins/cpu/kernels/recurrent.h"
#include "plugins/cpu/simd/vmath.h"

namespace tenon::cpu {
namespace {

using simd::f32;

// ---- GATED_LINEAR_ATTN: M[key][value] = M*g + k*v; o = scale*q . M ------------------------------

Verdict supports_gla(const ggml_tensor& node) { return check_recurrent(node, 5); }

void run_gla(const Task& task, const ggml_tensor& node) {
    const Recurrence a(node, *node.src[0], *node.src[4], {task, node.src[0]->ne[0], 4});
    const float scale = params_of<tenon_gated_linear_attn_params>(node).scale;
    const auto make_step = [&](int64_t h, int64_t t, int64_t s) {
        return [k = a.source(0, h, t, s), q = a.source(2, h, t, s), g = a.source(3, h, t, s),
                scale](int64_t i, f32& m, f32 v, f32 sum) {
            m = simd::fma(m, simd::splat(g[i]), simd::splat(k[i]) * v);
            return simd::fma(simd::splat(scale * q[i]), m, sum);
        };
    };
    run_by_columns(task, a, 1, *node.src[4], make_step);
}

size_t gla_workspace(const ggml_tensor& node, int n_threads) {
    return recurrent_workspace(node, node.src[0]->ne[0], 4, n_threads);
}

// ---- GATED_DELTA_NET --------------------------------------------------------------------------
// M[value][key] *= e^g; d = (v - M k)*beta; M += d k; o = M q / sqrt(size). Slot 0 of the states
// behind the outputs serves as M.

Verdict supports_delta(const ggml_tensor&) { return yes(); }

struct DeltaNet {
    const ggml_tensor& node;
    const ggml_tensor &q, &k, &v, &g, &beta, &first;
    int64_t size, heads, tokens, batch, n_states;

    explicit DeltaNet(const ggml_tensor& t)
        : node(t),
          q(*t.src[0]),
          k(*t.src[1]),
          v(*t.src[2]),
          g(*t.src[3]),
          beta(*t.src[4]),
          first(*t.src[5]),
          size(v.ne[0]),
          heads(v.ne[1]),
          tokens(v.ne[2]),
          batch(v.ne[3]),
          n_states(params_of<tenon_gated_delta_net_params>(t).n_states) {}

    float* output(int64_t h, int64_t t, int64_t b) const {
        return static_cast<float*>(node.data) + size * (h + heads * (t + tokens * b));
    }
    float* state(int64_t slot, int64_t j, int64_t h, int64_t b) const {
        return static_cast<float*>(node.data) + size * heads * tokens * batch +
               size * (j + size * (h + heads * (b + batch * slot)));
    }
};

// Of one token and head: e^g for each key, and k times that, with which M k is taken from the M
// before it has decayed.
constexpr int kDeltaBuffers = 2;

size_t delta_workspace(const ggml_tensor& node, int n_threads) {
    return row_buffers_bytes(node.src[2]->ne[0], n_threads, kDeltaBuffers);
}

// Rows [begin, end) of the state of one head over all tokens.
void delta_rows(const DeltaNet& a, int64_t begin, int64_t end, int64_t h, int64_t b,
                const RowBuffers& buffers) {
    float *decays = buffers[0], *decayed_k = buffers[1];
    const int64_t head = h % a.q.ne[1], from = b / (a.batch / a.q.ne[3]);
    const float scale = 1.0f / std::sqrt(static_cast<float>(a.size));
    const size_t bytes = static_cast<size_t>((end - begin) * a.size) * sizeof(float);
    std::memcpy(a.state(0, begin, h, b), row<const float>(a.first, begin, h, b), bytes);
    for (int64_t t = 0; t < a.tokens; ++t) {
        const float* gates = row<const float>(a.g, h, t, b);
        if (a.g.ne[0] == 1) {
            simd::fill(decays, a.size, std::exp(gates[0]));
        } else {
            simd::map(decays, gates, a.size, [](f32 x) { return simd::exp(x); });
        }
        const float* k = row<const float>(a.k, head, t, from);
        simd::map(decayed_k, k, decays, a.size, [](f32 x, f32 decay) { return x * decay; });
        const RowToken token{decayed_k, decays, k, nullptr, row<const float>(a.q, head, t, from),
                             scale};
        step_row_range<false>(token, begin, end, a.state(0, begin, h, b), a.size, a.output(h, t, b),
                              [v = row<const float>(a.v, h, t, b),
                               beta = *row<const float>(a.beta, h, t, b)](int64_t j, float mk) {
                                  return RowFactors{(v[j] - mk) * beta, 0.0f};
                              });
        const int64_t slot = a.tokens - 1 - t;
        if (slot > 0 && slot < a.n_states) {
            std::memcpy(a.state(slot, begin, h, b), a.state(0, begin, h, b), bytes);
        }
    }
    // Slots that no token has a state for.
    for (int64_t slot = std::max<int64_t>(a.tokens, 1); slot < a.n_states; ++slot) {
        std::memset(a.state(slot, begin, h, b), 0, bytes);
    }
}

void run_delta(const Task& task, const ggml_tensor& node) {
    const DeltaNet a(node);
    const RowBuffers buffers(task, a.size, kDeltaBuffers);
    const int64_t parts = (a.size + kStateRows - 1) / kStateRows;
    const Range r = share(task, parts * a.heads * a.batch);
    for (int64_t i = r.begin; i < r.end; ++i) {
        const int64_t begin = i % parts * kStateRows;
        delta_rows(a, begin, std::min(begin + kStateRows, a.size), i / parts % a.heads,
                   i / (parts * a.heads), buffers);
    }
}

}  // namespace

extern constinit const Kernel kGatedLinearAttn{supports_gla, run_gla, gla_workspace};
extern constinit const Kernel kGatedDeltaNet{supports_delta, run_delta, delta_workspace};

}  // namespace tenon::cpu
