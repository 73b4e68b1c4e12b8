// References: state-space and linear-attention recurrences, hyper-connections.

#include <algorithm>
#include <cmath>

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

// d[i, t, s] = sum over k of x[t + k, i, s] * c[k, i]
void ssm_conv(const ggml_tensor& node, Result& out) {
    const Values x = source(node, 0), c = source(node, 1);
    for_each_index(out, [&](int64_t i, int64_t t, int64_t s, int64_t) {
        double sum = 0;
        for (int64_t k = 0; k < c.ne[0]; ++k) sum += x(t + k, i, s) * c(k, i);
        out(i, t, s) = sum;
    });
}

double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

// Where state slots lie in a result: slot k holds the states as they were k tokens before the last.
// Slots that no token has a state for are zero.
template <class State>
void keep_state(Result& out, int64_t first, int64_t slot_size, int64_t slots, int64_t tokens_left,
                int64_t at, const State& state) {
    if (tokens_left < slots) {
        std::copy(state.begin(), state.end(), out.v.begin() + first + tokens_left * slot_size + at);
    }
}

// Per sequence s, head h, channel p: m[n] = m[n]*e^(d*A[n, h]) + B[n, g]*x*d, y = m . C
void ssm_scan(const ggml_tensor& node, Result& out) {
    const Values s0 = source(node, 0), x = source(node, 1), dt = source(node, 2),
                 a = source(node, 3), b = source(node, 4), c = source(node, 5),
                 ids = source(node, 6);
    const int64_t slots = params_of<tenon_ssm_scan_params>(node).n_states;
    const int64_t n = s0.ne[0], n_p = x.ne[0], n_h = x.ne[1], n_t = x.ne[2], n_s = x.ne[3];
    const int64_t outputs = n_p * n_h * n_t * n_s, slot_size = n * n_p * n_h * n_s;
    std::fill(out.v.begin(), out.v.end(), 0.0);
    for (int64_t s = 0; s < n_s; ++s) {
        const auto id = static_cast<int64_t>(ids(s));
        for (int64_t h = 0; h < n_h; ++h) {
            const int64_t g = h / (n_h / b.ne[1]);
            for (int64_t p = 0; p < n_p; ++p) {
                std::vector<double> m(n);
                for (int64_t i = 0; i < n; ++i) m[i] = s0(i, p, h, id);
                for (int64_t t = 0; t < n_t; ++t) {
                    const double d = softplus(dt(h, t, s));
                    double y = 0;
                    for (int64_t i = 0; i < n; ++i) {
                        m[i] = m[i] * std::exp(d * a(i % a.ne[0], h)) +
                               b(i, g, t, s) * x(p, h, t, s) * d;
                        y += m[i] * c(i, g, t, s);
                    }
                    out.v[p + n_p * (h + n_h * (t + n_t * s))] = y;
                    keep_state(out, outputs, slot_size, slots, n_t - 1 - t,
                               n * (p + n_p * (h + n_h * s)), m);
                }
            }
        }
    }
}

// RWKV_WKV6, RWKV_WKV7, GATED_LINEAR_ATTN: fn(m, at, o) computes one token of one head, where m is
// the head's state, at(i) the element of a [size, heads, tokens] source at index i of this head and
// token, and o the outputs.
template <class Fn>
void heads(Result& out, const Values& k, const Values& state, Fn&& fn) {
    const int64_t size = k.ne[0], n_h = k.ne[1], n_s = state.ne[1], n_t = k.ne[2] / n_s;
    const int64_t outputs = size * n_h * n_t * n_s, state_size = size * size;
    for (int64_t s = 0; s < n_s; ++s) {
        for (int64_t h = 0; h < n_h; ++h) {
            const auto begin = state.v.begin() + state_size * (h + n_h * s);
            std::vector<double> m(begin, begin + state_size);
            for (int64_t t = 0; t < n_t; ++t) {
                const int64_t at = size * (h + n_h * (t + n_t * s));
                fn(m, at, size * h, out.v.data() + at);
            }
            std::copy(m.begin(), m.end(), out.v.begin() + outputs + state_size * (h + n_h * s));
        }
    }
}

// m[key][value]: o = sum over keys of r*(tf*k*v + m); m = m*td + k*v
void rwkv_wkv6(const ggml_tensor& node, Result& out) {
    const Values k = source(node, 0), v = source(node, 1), r = source(node, 2),
                 tf = source(node, 3), td = source(node, 4), state = source(node, 5);
    const int64_t size = k.ne[0];
    heads(out, k, state, [&](std::vector<double>& m, int64_t at, int64_t of_head, double* o) {
        for (int64_t j = 0; j < size; ++j) {
            o[j] = 0;
            for (int64_t i = 0; i < size; ++i) {
                const double kv = k.v[at + i] * v.v[at + j];
                double& x = m[i * size + j];
                o[j] += r.v[at + i] * (tf.v[of_head + i] * kv + x);
                x = x * td.v[at + i] + kv;
            }
        }
    });
}

// m[key][value] = m*g + k*v; o = sum over keys of scale*q*m
void gated_linear_attn(const ggml_tensor& node, Result& out) {
    const Values k = source(node, 0), v = source(node, 1), q = source(node, 2), g = source(node, 3),
                 state = source(node, 4);
    const double scale = params_of<tenon_gated_linear_attn_params>(node).scale;
    const int64_t size = k.ne[0];
    heads(out, k, state, [&](std::vector<double>& m, int64_t at, int64_t, double* o) {
        for (int64_t j = 0; j < size; ++j) {
            o[j] = 0;
            for (int64_t i = 0; i < size; ++i) {
                double& x = m[i * size + j];
                x = x * g.v[at + i] + k.v[at + i] * v.v[at + j];
                o[j] += scale * q.v[at + i] * x;
            }
        }
    });
}

// m[value][key]: sa = sum over keys of a*m; m = m*w + v*k + sa*b; o = sum over keys of m*r
void rwkv_wkv7(const ggml_tensor& node, Result& out) {
    const Values r = source(node, 0), w = source(node, 1), k = source(node, 2), v = source(node, 3),
                 a = source(node, 4), b = source(node, 5), state = source(node, 6);
    const int64_t size = k.ne[0];
    heads(out, k, state, [&](std::vector<double>& m, int64_t at, int64_t, double* o) {
        for (int64_t i = 0; i < size; ++i) {
            double sa = 0;
            for (int64_t j = 0; j < size; ++j) sa += a.v[at + j] * m[i * size + j];
            o[i] = 0;
            for (int64_t j = 0; j < size; ++j) {
                double& x = m[i * size + j];
                x = x * w.v[at + j] + v.v[at + i] * k.v[at + j] + sa * b.v[at + j];
                o[i] += x * r.v[at + j];
            }
        }
    });
}

// m[value][key] *= e^g; d = (v - m . k)*beta; m += d*k; o = m . q / sqrt(size)
void gated_delta_net(const ggml_tensor& node, Result& out) {
    const Values q = source(node, 0), k = source(node, 1), v = source(node, 2), g = source(node, 3),
                 beta = source(node, 4), state = source(node, 5);
    const int64_t slots = params_of<tenon_gated_delta_net_params>(node).n_states;
    const int64_t size = v.ne[0], n_h = v.ne[1], n_t = v.ne[2], n_b = v.ne[3];
    const int64_t outputs = size * n_h * n_t * n_b, slot_size = size * size * n_h * n_b;
    std::fill(out.v.begin(), out.v.end(), 0.0);
    for (int64_t b = 0; b < n_b; ++b) {
        for (int64_t h = 0; h < n_h; ++h) {
            const int64_t qh = h % q.ne[1], qb = b / (n_b / q.ne[3]);
            const auto begin = state.v.begin() + size * size * (h + n_h * b);
            std::vector<double> m(begin, begin + size * size);
            for (int64_t t = 0; t < n_t; ++t) {
                for (int64_t j = 0; j < size; ++j) {
                    double* row = m.data() + j * size;
                    double known = 0, o = 0;
                    for (int64_t i = 0; i < size; ++i) {
                        row[i] *= std::exp(g(i % g.ne[0], h, t, b));
                        known += row[i] * k(i, qh, t, qb);
                    }
                    const double d = (v(j, h, t, b) - known) * beta(0, h, t, b);
                    for (int64_t i = 0; i < size; ++i) {
                        row[i] += k(i, qh, t, qb) * d;
                        o += row[i] * q(i, qh, t, qb);
                    }
                    out.v[j + size * (h + n_h * (t + n_t * b))] =
                        o / std::sqrt(static_cast<double>(size));
                }
                keep_state(out, outputs, slot_size, slots, n_t - 1 - t, size * size * (h + n_h * b),
                           m);
            }
        }
    }
}

// Per token a 4x4 matrix p[d][s]: softmax over d, then rows and columns are made to sum to 1 by
// turns.
void dsv4_hc_comb(const ggml_tensor& node, Result& out) {
    const Values mixes = source(node, 0), scale = source(node, 1), base = source(node, 2);
    const auto params = params_of<tenon_dsv4_hc_comb_params>(node);
    const double eps = params.eps;
    for (int64_t t = 0; t < out.ne[2]; ++t) {
        double p[4][4];
        for (int s = 0; s < 4; ++s) {
            double sum = 0, most = -INFINITY;
            for (int d = 0; d < 4; ++d) {
                p[d][s] = mixes(8 + d + 4 * s, t) * scale(2) + base(8 + d + 4 * s);
                most = std::max(most, p[d][s]);
            }
            for (int d = 0; d < 4; ++d) sum += p[d][s] = std::exp(p[d][s] - most);
            for (int d = 0; d < 4; ++d) p[d][s] = p[d][s] / sum + eps;
        }
        for (int32_t i = 0; i < params.n_iter; ++i) {
            for (int s = 0; s < 4 && i > 0; ++s) {
                const double sum = p[0][s] + p[1][s] + p[2][s] + p[3][s] + eps;
                for (int d = 0; d < 4; ++d) p[d][s] /= sum;
            }
            for (int d = 0; d < 4; ++d) {
                const double sum = p[d][0] + p[d][1] + p[d][2] + p[d][3] + eps;
                for (int s = 0; s < 4; ++s) p[d][s] /= sum;
            }
        }
        for (int s = 0; s < 4; ++s) {
            for (int d = 0; d < 4; ++d) out(d, s, t) = p[d][s];
        }
    }
}

// d[e, t] = sum over h of x[e, h, t] * weights[h, t]
void dsv4_hc_pre(const ggml_tensor& node, Result& out) {
    const Values x = source(node, 0), weights = source(node, 1);
    for_each_index(out, [&](int64_t e, int64_t t, int64_t, int64_t) {
        double sum = 0;
        for (int64_t h = 0; h < x.ne[1]; ++h) sum += x(e, h, t) * weights(h, t);
        out(e, t) = sum;
    });
}

// d[e, i, t] = x[e, t]*post[i, t] + sum over s of residual[e, s, t]*comb[i, s, t]
void dsv4_hc_post(const ggml_tensor& node, Result& out) {
    const Values x = source(node, 0), residual = source(node, 1), post = source(node, 2),
                 comb = source(node, 3);
    for_each_index(out, [&](int64_t e, int64_t i, int64_t t, int64_t) {
        double sum = x(e, t) * post(i, t);
        for (int64_t s = 0; s < residual.ne[1]; ++s) sum += residual(e, s, t) * comb(i, s, t);
        out(e, i, t) = sum;
    });
}

constexpr Reference kTable[] = {
    {GGML_OP_SSM_CONV, ssm_conv},         {GGML_OP_SSM_SCAN, ssm_scan},
    {GGML_OP_RWKV_WKV6, rwkv_wkv6},       {GGML_OP_GATED_LINEAR_ATTN, gated_linear_attn},
    {GGML_OP_RWKV_WKV7, rwkv_wkv7},       {GGML_OP_GATED_DELTA_NET, gated_delta_net},
    {GGML_OP_DSV4_HC_COMB, dsv4_hc_comb}, {GGML_OP_DSV4_HC_PRE, dsv4_hc_pre},
    {GGML_OP_DSV4_HC_POST, dsv4_hc_post},
};

}  // namespace

const std::span<const Reference> kRecurrentReferences{kTable};

}  // namespace tenon::conformance
