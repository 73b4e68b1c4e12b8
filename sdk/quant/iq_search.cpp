// Searching scales and points of a code book, for iq2 and iq3.
//
// Results are specified to the bit; what scale_search.h says about sums holds here too.

#include "sdk/quant/iq_search.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sdk/quant/scale_search.h"
#include "tenon/kit/half.h"

namespace tenon::quant {

using kit::f32_to_f16;
namespace {

constexpr int kN = TENON_QK_K;
constexpr int kMaxGroups = kMaxElems / 4;
constexpr uint32_t kAll = ~0u;

// Level l stands for the magnitude 2 l + 1.
constexpr float kOdd[8] = {1, 3, 5, 7, 9, 11, 13, 15};

struct SubBlock {
    int n;
    float v[kMaxElems];   // magnitudes; negative where a sign was changed
    float w[kMaxElems];   // weights
    float wv[kMaxElems];  // w * v
    float u[kMaxElems];   // square roots of the weights: they choose among neighbours
};

struct Fit {
    float scale = 0;
    uint32_t off_grid = 0;             // bit k: group k has a neighbour instead of its levels
    uint16_t points[kMaxGroups] = {};  // the point of all levels 0 is in every code book
};

// a = sum w v q, b = sum w q q
struct Sums {
    float a = 0, b = 0;
};

template <int kGroup>
class Search {
public:
    Search(const Neighbours& neighbours, const SubBlock& sub) : near_(neighbours), sub_(sub) {}

    Fit run(const LatticeShape& shape, float reference) const {
        Fit fit;
        float best = 0;
        for (int s = -shape.steps; s <= shape.steps; ++s) {
            const float inv = (2 * kLevels - 1 + static_cast<float>(s) * shape.step) / reference;
            Fit now;
            round_groups(inv, 1 / inv, kAll, now);
            const auto [a, b] = sums(now);
            if (b > 0 && a * a > best * b) {
                fit = now;
                fit.scale = a / b;
                best = fit.scale * a;
            }
        }
        refit(shape.refit, fit);
        return fit;
    }

private:
    static constexpr int kBits = kGroup == 8 ? 2 : 3;
    static constexpr int kLevels = kGroup == 8 ? 3 : 8;
    static constexpr uint32_t kDigit = (1u << kBits) - 1;

    // The groups in `groups` as points for 1 / scale = inv.
    void round_groups(float inv, float scale, uint32_t groups, Fit& fit) const {
        uint32_t off_grid = 0;
        for (int k = 0; k < sub_.n / kGroup; ++k) {
            if (!(groups >> k & 1)) continue;
            const float* v = sub_.v + k * kGroup;
            uint32_t tuple = 0;
            for (int i = 0; i < kGroup; ++i) {
                const int level = nearest_int(0.5f * (inv * v[i] - 1), 0, kLevels - 1);
                tuple |= static_cast<uint32_t>(level) << kBits * i;
            }
            fit.points[k] = static_cast<uint16_t>(tuple);
            if (near_.is_point(tuple)) continue;
            off_grid |= 1u << k;
            fit.points[k] = nearest_point(tuple, v, sub_.u + k * kGroup, scale);
        }
        fit.off_grid = off_grid;
    }

    uint16_t nearest_point(uint32_t tuple, const float* v, const float* u, float scale) const {
        LevelCosts<kGroup, kBits> costs;
        for (int i = 0; i < kGroup; ++i) {
            for (int l = 0; l < kLevels; ++l) {
                const float d = scale * kOdd[l] - v[i];
                costs[i][l] = u[i] * d * d;
            }
        }
        return cheapest<kGroup, kBits>(near_.near(tuple), costs);
    }

    Sums sums(const Fit& fit) const {
        Sums sum;
        for (int k = 0; k < sub_.n / kGroup; ++k) {
            const float* w = sub_.w + k * kGroup;
            const float* wv = sub_.wv + k * kGroup;
            for (int i = 0; i < kGroup; ++i) {
                const float q = kOdd[fit.points[k] >> kBits * i & kDigit];
                sum.a += wv[i] * q;
                sum.b += w[i] * q * q;
            }
        }
        return sum;
    }

    void refit(Refit which, Fit& fit) const {
        if (!(fit.scale > 0) || (which != Refit::kAllGroups && !fit.off_grid)) return;
        round_groups(1 / fit.scale, fit.scale, which == Refit::kOffGrid ? fit.off_grid : kAll, fit);
        const auto [a, b] = sums(fit);
        if (b > 0) fit.scale = a / b;
    }

    const Neighbours& near_;
    const SubBlock& sub_;
};

// Magnitudes and signs of a sub-block whose weights are set. The element that costs least is
// negated where the number of minus signs must be even.
void take_signs(const LatticeShape& shape, const float* x, SubBlock& sub, uint8_t* signs) {
    for (int g = 0; g < sub.n; g += 8) {
        uint32_t minus = 0;
        for (int i = g; i < g + 8; ++i) {
            sub.v[i] = x[i] < 0 ? -x[i] : x[i];
            minus |= static_cast<uint32_t>(x[i] < 0) << (i - g);
        }
        if (shape.even_signs && std::popcount(minus) % 2 != 0) {
            int flip = g;
            float lowest = sub.w[g] * x[g] * x[g];
            for (int i = g + 1; i < g + 8; ++i) {
                const float cost = sub.w[i] * x[i] * x[i];
                if (cost < lowest) {
                    lowest = cost;
                    flip = i;
                }
            }
            sub.v[flip] = -sub.v[flip];
            minus ^= 1u << (flip - g);
        }
        signs[g / 8] = static_cast<uint8_t>(minus);
    }
    for (int i = 0; i < sub.n; ++i) {
        sub.wv[i] = sub.w[i] * sub.v[i];
        sub.u[i] = std::sqrt(sub.w[i]);
    }
}

// The magnitude that the largest level should meet; 0 for a sub-block that counts as zero.
float reference_magnitude(const LatticeShape& shape, const SubBlock& sub) {
    float largest = 0;
    for (int i = 0; i < sub.n; ++i) largest = std::max(largest, sub.v[i]);
    if (largest < shape.tiny) return 0;
    if (!shape.fitted_reference) return largest;
    uint8_t codes[kMaxElems];
    return 3 * positive_fit(sub.v, sub.w, sub.n, 4, codes);
}

void quantize_scales(const LatticeShape& shape, const float* scales, LatticeBlock& block) {
    const int n_subs = kN / shape.sub;
    const float top = *std::max_element(scales, scales + n_subs);
    if (!(top > 0)) {
        block = {};
        return;
    }
    const float d = top / 31, inv = 1 / d;
    block.d = f32_to_f16(d * shape.correction);
    for (int j = 0; j < n_subs; ++j) {
        block.scales[j] = static_cast<uint8_t>(nearest_int(0.5f * (inv * scales[j] - 1), 0, 15));
    }
}

}  // namespace

template <int kGroup>
LatticeBlock search_lattice(const LatticeShape& shape, const Neighbours& neighbours, const float* x,
                            const float* importance) {
    const float sigma2 = shape.variance * mean_square(x, kN);
    LatticeBlock block{};
    float scales[kN / 16];
    for (int j = 0; j < kN / shape.sub; ++j) {
        const int at = j * shape.sub;
        uint8_t* signs = block.signs + at / 8;
        SubBlock sub;
        sub.n = shape.sub;
        if (importance) {
            importance_weights(x + at, importance + at, sigma2, sub.n, sub.w);
        } else {
            const float flat = shape.plain_variance * sigma2;
            for (int i = 0; i < sub.n; ++i) sub.w[i] = flat + x[at + i] * x[at + i];
        }
        take_signs(shape, x + at, sub, signs);
        const float reference = reference_magnitude(shape, sub);
        if (!(reference > 0)) {
            scales[j] = 0;
            std::fill_n(signs, sub.n / 8, uint8_t{0});
            continue;
        }
        const Fit fit = Search<kGroup>(neighbours, sub).run(shape, reference);
        scales[j] = std::fabs(fit.scale);
        for (int g = 0; g < sub.n / 8 && fit.scale < 0; ++g) signs[g] ^= 0xff;
        for (int k = 0; k < sub.n / kGroup; ++k) {
            block.indices[at / kGroup + k] =
                static_cast<uint16_t>(neighbours.index_of(fit.points[k]));
        }
    }
    quantize_scales(shape, scales, block);
    return block;
}

template LatticeBlock search_lattice<8>(const LatticeShape&, const Neighbours&, const float*,
                                        const float*);
template LatticeBlock search_lattice<4>(const LatticeShape&, const Neighbours&, const float*,
                                        const float*);

}  // namespace tenon::quant
