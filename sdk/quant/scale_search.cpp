// Scale searches over the elements of one block.

#include "sdk/quant/scale_search.h"

#include <algorithm>
#include <cassert>

#include "sdk/quant/lanes.h"

namespace tenon::quant {
namespace {

constexpr int kSweepCandidates = 19;
constexpr int kPaddedCandidates = 20;

// -levels / m first, then the scales around it, nearest below last.
void sweep_candidates(float m, int levels, float* inv) {
    int n = 0;
    inv[n++] = -static_cast<float>(levels) / m;
    for (int s = -9; s <= 9; ++s) {
        if (s == 0) continue;
        inv[n++] = -(static_cast<float>(levels) + 0.1f * static_cast<float>(s)) / m;
    }
    while (n < kPaddedCandidates) inv[n++] = inv[0];
}

// a = sum w x l, b = sum w l l for kLanes inverse scales.
void symmetric_sums(const float* x, const float* w, const float* wx, int n, float lo, float hi,
                    const float* inv_scales, float* a_out, float* b_out) {
    const Lanes inv = load(inv_scales), los = splat(lo), his = splat(hi);
    Lanes a{}, b{};
    for (int i = 0; i < n; ++i) {
        const Lanes l = nearest_lanes(inv * x[i], los, his);
        a += wx[i] * l;
        b += w[i] * l * l;
    }
    store(a_out, a);
    store(b_out, b);
}

// Moves single codes of a fit with sums a, b while that raises a * a / b. `lo`, `hi` bound the
// codes; `both_positive`: also the sum b without the element must be positive.
struct Descent {
    const float* x;
    const float* w;
    const float* wx;
    int n;
    int lo, hi;
    bool both_positive;
};

float descend(const Descent& d, int* l, float a, float b) {
    for (int round = 0; round < 5; ++round) {
        bool changed = false;
        for (int i = 0; i < d.n; ++i) {
            const float li = static_cast<float>(l[i]);
            float a1 = a - d.wx[i] * li;
            float b1 = b - d.w[i] * li * li;
            if (!(a1 > 0) || (d.both_positive && !(b1 > 0))) continue;
            const int l1 = nearest_int(d.x[i] * b1 / a1, d.lo, d.hi);
            if (l1 == l[i]) continue;
            const float lf = static_cast<float>(l1);
            a1 += d.wx[i] * lf;
            b1 += d.w[i] * lf * lf;
            if (b1 > 0 && a1 * a1 * b > a * a * b1) {
                l[i] = l1;
                a = a1;
                b = b1;
                changed = true;
            }
        }
        if (!changed) break;
    }
    return b > 0 ? a / b : 0.0f;
}

}  // namespace

float first_largest(const float* x, int n) {
    float magnitude = 0, value = 0;
    for (int i = 0; i < n; ++i) {
        const float a = std::fabs(x[i]);
        if (a > magnitude) {
            magnitude = a;
            value = x[i];
        }
    }
    return value;
}

float sum_of(const float* x, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i];
    return sum;
}

float mean_square(const float* x, int64_t n) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
    return sum / static_cast<float>(n);
}

void importance_weights(const float* x, const float* importance, float sigma2, int n,
                        float* weights) {
    for (int i = 0; i < n; ++i) weights[i] = importance[i] * std::sqrt(sigma2 + x[i] * x[i]);
}

float symmetric_sweep(const float* x, const float* weights, int n, int levels, uint8_t* codes) {
    assert(n <= kMaxElems);
    const float m = first_largest(x, n);
    if (std::fabs(m) < kTinyMagnitude) {
        std::fill_n(codes, n, uint8_t{0});
        return 0;
    }
    float w[kMaxElems], wx[kMaxElems];
    for (int i = 0; i < n; ++i) {
        w[i] = weights ? weights[i] : x[i] * x[i];
        wx[i] = w[i] * x[i];
    }
    float inv[kPaddedCandidates], a[kPaddedCandidates], b[kPaddedCandidates];
    sweep_candidates(m, levels, inv);
    const float lo = static_cast<float>(-levels), hi = static_cast<float>(levels - 1);
    for (int k = 0; k < kPaddedCandidates; k += kLanes) {
        symmetric_sums(x, w, wx, n, lo, hi, inv + k, a + k, b + k);
    }
    int winner = 0;
    float scale = b[0] != 0 ? a[0] / b[0] : 0.0f;
    float best = scale * a[0];
    for (int k = 1; k < kSweepCandidates; ++k) {
        if (b[k] > 0 && a[k] * a[k] > best * b[k]) {
            winner = k;
            scale = a[k] / b[k];
            best = scale * a[k];
        }
    }
    for (int i = 0; i < n; ++i) {
        codes[i] =
            static_cast<uint8_t>(nearest_int(inv[winner] * x[i], -levels, levels - 1) + levels);
    }
    return scale;
}

float symmetric_descent(const float* x, int n, int levels, uint8_t* codes) {
    assert(n <= kMaxElems);
    const float m = first_largest(x, n);
    if (std::fabs(m) < kTinyMagnitude) {
        std::fill_n(codes, n, uint8_t{0});
        return 0;
    }
    float w[kMaxElems], wx[kMaxElems];
    int l[kMaxElems];
    const float inv = -static_cast<float>(levels) / m;
    float a = 0, b = 0;
    for (int i = 0; i < n; ++i) {
        w[i] = x[i] * x[i];
        wx[i] = w[i] * x[i];
        l[i] = nearest_int(inv * x[i], -levels, levels - 1);
        const float lf = static_cast<float>(l[i]);
        a += wx[i] * lf;
        b += w[i] * lf * lf;
    }
    const float scale = descend({x, w, wx, n, -levels, levels - 1, false}, l, a, b);
    for (int i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(l[i] + levels);
    return scale;
}

namespace {

struct AffineProblem {
    const float* x;
    const float* w;
    int n;
    float top;  // the largest code
    float sum_w, sum_x;
    ErrorNorm norm;
};

struct AffineLanes {
    Lanes scale, min, error;
};

Lanes affine_errors(const AffineProblem& p, const Lanes* codes, Lanes scale, Lanes min) {
    Lanes error{};
    for (int i = 0; i < p.n; ++i) {
        const Lanes d = scale * codes[i] + min - p.x[i];
        error += p.w[i] * (p.norm == ErrorNorm::kAbsolute ? abs_lanes(d) : d * d);
    }
    return error;
}

// kLanes candidates of an affine sweep over the same minimum: least-squares scale and minimum of
// each, and its error. A candidate without a solution has an infinite error.
AffineLanes affine_candidates(const AffineProblem& p, Lanes inv, float lo) {
    const Lanes zero{}, top = splat(p.top);
    Lanes codes[kMaxElems];
    Lanes s1{}, s2{}, sxl{};
    for (int i = 0; i < p.n; ++i) {
        const Lanes l = nearest_lanes(inv * (p.x[i] - lo), zero, top);
        const Lanes wl = p.w[i] * l;
        codes[i] = l;
        s1 += wl;
        s2 += wl * l;
        sxl += wl * p.x[i];
    }
    const Lanes det = p.sum_w * s2 - s1 * s1;
    AffineLanes r;
    r.scale = (p.sum_w * sxl - p.sum_x * s1) / det;
    r.min = (s2 * p.sum_x - s1 * sxl) / det;
    const Mask above = r.min > 0;
    r.scale = above ? sxl / s2 : r.scale;
    r.min = above ? zero : r.min;
    r.error = affine_errors(p, codes, r.scale, r.min);
    r.error = det > 0 ? r.error : splat(HUGE_VALF);
    return r;
}

// Error of the code that maps the range from lo on to 0 … top.
float affine_start_error(const AffineProblem& p, float inv, float lo) {
    const float scale = 1 / inv;
    float error = 0;
    for (int i = 0; i < p.n; ++i) {
        const float d = scale * nearest(inv * (p.x[i] - lo), 0, p.top) + lo - p.x[i];
        error += p.w[i] * (p.norm == ErrorNorm::kAbsolute ? std::fabs(d) : d * d);
    }
    return error;
}

}  // namespace

AffineFit affine_sweep(const float* x, const float* weights, int n, int levels, const Sweep& sweep,
                       uint8_t* codes) {
    assert(n <= kMaxElems);
    float lo = x[0], hi = x[0], sum_w = 0, sum_x = 0;
    for (int i = 0; i < n; ++i) {
        if (x[i] < lo) lo = x[i];
        if (x[i] > hi) hi = x[i];
        sum_w += weights[i];
        sum_x += weights[i] * x[i];
    }
    if (lo > 0) lo = 0;
    if (!(hi > lo)) {
        std::fill_n(codes, n, uint8_t{0});
        return {0, -lo};
    }
    const float top = static_cast<float>(levels);
    const AffineProblem p{x, weights, n, top, sum_w, sum_x, sweep.norm};
    float best_inv = top / (hi - lo), best_lo = lo;
    float scale = 1 / best_inv, best = affine_start_error(p, best_inv, lo);

    // A winner moves the minimum that later candidates start from, so the lanes after it are void
    // and computed again. Winners are few.
    for (int k = 0; k <= sweep.last;) {
        Lanes inv{};
        for (int j = 0; j < kLanes; ++j) {
            inv[j] = (sweep.first + sweep.step * static_cast<float>(k + j) + top) / (hi - lo);
        }
        const AffineLanes r = affine_candidates(p, inv, lo);
        const int in_range = std::min(kLanes, sweep.last + 1 - k);
        int j = 0;
        while (j < in_range && !(r.error[j] < best)) ++j;
        if (j == in_range) {
            k += in_range;
            continue;
        }
        best_inv = inv[j];
        best_lo = lo;
        best = r.error[j];
        scale = r.scale[j];
        lo = r.min[j];
        k += j + 1;
    }
    for (int i = 0; i < n; ++i) {
        codes[i] = static_cast<uint8_t>(nearest_int(best_inv * (x[i] - best_lo), 0, levels));
    }
    return {scale, -lo};
}

float positive_fit(const float* x, const float* weights, int n, int levels, uint8_t* codes) {
    assert(n <= kMaxElems);
    float largest = 0;
    for (int i = 0; i < n; ++i) largest = std::max(largest, x[i]);
    if (largest < kTinyMagnitude) {
        std::fill_n(codes, n, uint8_t{0});
        return 0;
    }
    const float top = static_cast<float>(levels);
    float best_inv = 0, best = 0;
    // s = 0 comes first, then the scales around it.
    for (int t = 0; t < 9; ++t) {
        const int s = t == 0 ? 0 : t <= 4 ? t - 5 : t - 4;
        const float inv = (0.1f * static_cast<float>(s) + top) / largest;
        const float scale = 1 / inv;
        float error = 0;
        for (int i = 0; i < n; ++i) {
            const float d = x[i] - scale * nearest(inv * x[i], 0, top);
            error += weights[i] * d * d;
        }
        if (t == 0 || error < best) {
            best = error;
            best_inv = inv;
        }
    }
    float wx[kMaxElems];
    int l[kMaxElems];
    float a = 0, b = 0;
    for (int i = 0; i < n; ++i) {
        wx[i] = weights[i] * x[i];
        l[i] = nearest_int(best_inv * x[i], 0, levels);
        const float lf = static_cast<float>(l[i]);
        a += wx[i] * lf;
        b += weights[i] * lf * lf;
    }
    const float scale = descend({x, weights, wx, n, 0, levels, true}, l, a, b);
    for (int i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(l[i]);
    return scale;
}

}  // namespace tenon::quant
