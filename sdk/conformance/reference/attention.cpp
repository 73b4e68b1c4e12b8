// References: softmax, rotary embedding, attention.

#include <algorithm>
#include <cmath>

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

struct Shape4 {
    int64_t ne[GGML_MAX_DIMS];
};

// ---- softmax ----------------------------------------------------------------------------------

// ALiBi: what a head's mask is multiplied by.
double slope(int64_t head, int64_t n_heads, double max_bias) {
    if (max_bias <= 0) return 1;
    const double n = std::exp2(std::floor(std::log2(static_cast<double>(n_heads))));
    const auto h = static_cast<double>(head);
    return h < n ? std::exp2(-max_bias / n * (h + 1))
                 : std::exp2(-max_bias / 2 / n * (2 * (h - n) + 1));
}

// Scores become weights. A sink takes part in the sum only. Nothing but -inf and no sink: zeros.
void softmax(std::vector<double>& z, const double* sink) {
    double most = -INFINITY, sum = 0;
    for (double x : z) most = std::max(most, x);
    if (sink) most = std::max(most, *sink);
    const bool sees_nothing = std::ranges::all_of(z, [](double x) { return x == -INFINITY; });
    if (sees_nothing && most == -INFINITY) return std::fill(z.begin(), z.end(), 0.0);
    for (double& x : z) sum += x = std::exp(x - most);
    if (sink) sum += std::exp(*sink - most);
    for (double& x : z) x /= sum;
}

void soft_max(const ggml_tensor& node, Result& out) {
    const Values x = source(node, 0);
    const Values mask = has_source(node, 1) ? source(node, 1) : Values();
    const Values sinks = has_source(node, 2) ? source(node, 2) : Values();
    const auto p = params_of<tenon_soft_max_params>(node);
    std::vector<double> z(x.ne[0]);
    for_each_index(Shape4{{1, x.ne[1], x.ne[2], x.ne[3]}},
                   [&](int64_t, int64_t i1, int64_t i2, int64_t i3) {
                       const double m = slope(i2, x.ne[2], p.max_bias);
                       for (int64_t i = 0; i < x.ne[0]; ++i) {
                           z[i] = p.scale * x(i, i1, i2, i3);
                           if (!mask.v.empty())
                               z[i] += m * mask(i, i1, i2 % mask.ne[2], i3 % mask.ne[3]);
                       }
                       softmax(z, sinks.v.empty() ? nullptr : &sinks.v[i2]);
                       for (int64_t i = 0; i < x.ne[0]; ++i) out(i, i1, i2, i3) = z[i];
                   });
}

// scale*y*(dy - sum of y*dy)
void soft_max_back(const ggml_tensor& node, Result& out) {
    const Values dy = source(node, 0), y = source(node, 1);
    const double scale = params_of<tenon_soft_max_back_params>(node).scale;
    const int64_t n = dy.ne[0];
    for (size_t row = 0; row + 1 <= dy.v.size(); row += n) {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += y.v[row + i] * dy.v[row + i];
        for (int64_t i = 0; i < n; ++i)
            out.v[row + i] = scale * y.v[row + i] * (dy.v[row + i] - sum);
    }
}

// ---- rotary embedding -------------------------------------------------------------------------

struct Rope {
    tenon_rope_params p;
    bool multi, vision;
    int64_t pairs, start[4], total;
    double low, high;

    Rope(const ggml_tensor& node)
        : p(params_of<tenon_rope_params>(node)),
          multi(p.mode & TENON_ROPE_MULTI),
          vision(p.mode == TENON_ROPE_VISION),
          pairs(vision ? node.ne[0] / 2 : p.n_dims / 2),
          start{},
          total(0) {
        for (int i = 0; i < 4; ++i) {
            start[i] = total;
            total += p.sections[i];
        }
        const auto pair = [&](double rotations) {
            return p.n_dims * std::log(p.n_ctx_orig / (rotations * 2 * M_PI)) /
                   (2 * std::log(static_cast<double>(p.freq_base)));
        };
        low = std::max(0.0, std::floor(pair(p.beta_fast)));
        high = std::min(p.n_dims - 1.0, std::ceil(pair(p.beta_slow)));
    }

    // Which positions pair j follows: 0 … 3.
    int section(int64_t j) const {
        if (!multi) return 0;
        const int64_t q = j % total;
        if (p.mode == TENON_ROPE_IMROPE) {
            for (int s : {1, 2, 0}) {
                if (q % 3 == s && q < 3 * int64_t{p.sections[s]}) return s;
            }
            return 3;
        }
        return q < start[1] ? 0 : q < start[2] ? 1 : q < start[3] ? 2 : 3;
    }

    double angle(int64_t j, double position, double factor) const {
        const double exponent =
            static_cast<double>(vision ? j % total - start[section(j)] : j) * -2 / p.n_dims;
        const double theta =
            position * std::pow(static_cast<double>(p.freq_base), exponent) / factor;
        const double scaled = p.freq_scale * theta;
        if (p.ext_factor == 0) return scaled;
        const double y = (static_cast<double>(j) - low) / std::max(0.001, high - low);
        const double r = p.ext_factor * (1 - std::min(1.0, std::max(0.0, y)));
        return scaled * (1 - r) + theta * r;
    }

    double magnitude() const {
        return p.ext_factor == 0
                   ? p.attn_factor
                   : p.attn_factor * (1 + 0.1 * std::log(1 / static_cast<double>(p.freq_scale)));
    }

    // The two elements of pair j.
    std::pair<int64_t, int64_t> elements(int64_t j) const {
        if (vision) return {j, j + p.n_dims};
        if (p.mode == TENON_ROPE_NORMAL) return {p.n_offs + 2 * j, p.n_offs + 2 * j + 1};
        return {p.n_offs + j, p.n_offs + j + p.n_dims / 2};
    }
};

void rope(const ggml_tensor& node, Result& out) {
    const Values x = source(node, 0), positions = source(node, 1);
    const Values factors = has_source(node, 2) ? source(node, 2) : Values();
    const Rope r(node);
    const double sign = node.op == GGML_OP_ROPE_BACK ? -1 : 1;
    out.v = x.v;
    for (int64_t t = 0; t < x.ne[2]; ++t) {
        for (int64_t j = 0; j < r.pairs; ++j) {
            const double phi = r.angle(j, positions(t + x.ne[2] * r.section(j)),
                                       factors.v.empty() ? 1 : factors(j));
            const double c = r.magnitude() * std::cos(phi);
            const double s = sign * r.magnitude() * std::sin(phi);
            const auto [e0, e1] = r.elements(j);
            for (int64_t b = 0; b < x.ne[3]; ++b) {
                for (int64_t h = 0; h < x.ne[1]; ++h) {
                    const double x0 = x(e0, h, t, b), x1 = x(e1, h, t, b);
                    out(e0, h, t, b) = x0 * c - x1 * s;
                    out(e1, h, t, b) = x0 * s + x1 * c;
                }
            }
        }
    }
}

// ---- attention --------------------------------------------------------------------------------

void flash_attn_ext(const ggml_tensor& node, Result& out) {
    const Values q = source(node, 0), k = source(node, 1), v = source(node, 2);
    const Values mask = has_source(node, 3) ? source(node, 3) : Values();
    const Values sinks = has_source(node, 4) ? source(node, 4) : Values();
    const auto p = params_of<tenon_flash_attn_ext_params>(node);
    const int64_t n_heads = q.ne[2], n_keys = k.ne[1];
    std::vector<double> z(n_keys);
    for_each_index(Shape4{{1, q.ne[1], n_heads, q.ne[3]}},
                   [&](int64_t, int64_t n, int64_t h, int64_t b) {
                       const int64_t hk = h / (n_heads / k.ne[2]), hv = h / (n_heads / v.ne[2]);
                       const double m = slope(h, n_heads, p.max_bias);
                       for (int64_t j = 0; j < n_keys; ++j) {
                           double u = p.scale * dot(row(q, n, h, b), row(k, j, hk, b), q.ne[0]);
                           if (p.logit_softcap != 0)
                               u = p.logit_softcap * std::tanh(u / p.logit_softcap);
                           if (has_source(node, 3))
                               u += m * mask(j, n, h % mask.ne[2], b % mask.ne[3]);
                           z[j] = u;
                       }
                       softmax(z, sinks.v.empty() ? nullptr : &sinks.v[h]);
                       double* sums = &out(0, h, n, b);
                       std::fill(sums, sums + v.ne[0], 0.0);
                       for (int64_t j = 0; j < n_keys; ++j) {
                           const double* y = row(v, j, hv, b);
                           for (int64_t c = 0; c < v.ne[0] && z[j] != 0; ++c)
                               sums[c] += z[j] * y[c];
                       }
                   });
}

// d[j, t, 0, s] = sum over h of max(0, q[h, t, s] . k[j, s])*weights[h, t, s] + mask[j, t]
void lightning_indexer(const ggml_tensor& node, Result& out) {
    const Values q = source(node, 0), k = source(node, 1), weights = source(node, 2),
                 mask = source(node, 3);
    for_each_index(out, [&](int64_t j, int64_t t, int64_t, int64_t s) {
        double sum = mask(j, t, 0, s % mask.ne[3]);
        for (int64_t h = 0; h < q.ne[1]; ++h) {
            const double u = dot(row(q, h, t, s), row(k, 0, j, s), q.ne[0]);
            sum += std::max(0.0, u) * weights(h, t, 0, s);
        }
        out(j, t, 0, s) = sum;
    });
}

constexpr Reference kTable[] = {
    {GGML_OP_SOFT_MAX, soft_max},
    {GGML_OP_SOFT_MAX_BACK, soft_max_back},
    {GGML_OP_ROPE, rope},
    {GGML_OP_ROPE_BACK, rope},
    {GGML_OP_FLASH_ATTN_EXT, flash_attn_ext},
    {GGML_OP_LIGHTNING_INDEXER, lightning_indexer},
};

}  // namespace

const std::span<const Reference> kAttentionReferences{kTable};

}  // namespace tenon::conformance
