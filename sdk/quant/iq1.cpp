// iq1_s iq1_m: eight elements are a point of a code book with the levels -1 0 1, all shifted by the
// same eighth up or down.
//
// The quantizers sort the elements of a sub-block; a fit is then two places where the level goes
// up. All pairs of places are tried. Results are specified to the bit, and so is the order of sums.

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "sdk/quant/formats.h"
#include "sdk/quant/iq_rows.h"
#include "sdk/quant/lanes.h"
#include "sdk/quant/scale_search.h"
#include "tenon/kit/half.h"

namespace tenon::quant {
namespace {

constexpr int kN = TENON_QK_K;
constexpr int kGroups = kN / 8;
constexpr int kSubS = 32;  // elements per scale of iq1_s
constexpr int kSubM = 16;  // of iq1_m
constexpr int kMaxGroups = kSubS / 8;

constinit LazyNeighbours g_near{kBookIq1s, 3};

// Values of the digits 0 1 2 with the shift up [0] and down [1].
constexpr float kShifted[2][4] = {{-1 + kIq1Delta, kIq1Delta, 1 + kIq1Delta, 0},
                                  {-1 - kIq1Delta, -kIq1Delta, 1 - kIq1Delta, 0}};

constexpr uint32_t kAllTop = 0xaaaa;  // all digits 2

int digit(uint32_t point, int i) { return static_cast<int>(point >> 2 * i & 3); }

// Of one sub-block; a zero one has scale 0 and the point of digits 0.
struct Fit {
    float scale = 0;
    uint16_t points[kMaxGroups] = {};
    uint8_t down[kMaxGroups] = {};  // per group: 1 where the shift is down
};

// The elements of a sub-block, by value; equal ones stay in order.
struct Sorted {
    uint8_t at[kSubS];

    Sorted(const float* x, int n) {
        for (int i = 0; i < n; ++i) {
            int place = i;
            for (; place > 0 && x[at[place - 1]] > x[i]; --place) at[place] = at[place - 1];
            at[place] = static_cast<uint8_t>(i);
        }
    }
};

// The first `low` of the sorted elements get digit 0, those up to `high` digit 1, the rest 2.
struct Split {
    int low = 0, high = 0;
    int shifts = 0;
    float scale = 0;
};

// The split with the largest a * a / b so far, the first of equals.
struct Winner {
    Split split;
    float score = -FLT_MAX;

    void offer(float a, float b, int low, int high, int shifts) {
        if (!(b > 0 && a * a > score * b)) return;
        split = {low, high, shifts, a / b};
        score = split.scale * a;
    }

    // The lane is the number of the shifts. Most splits fail in all lanes.
    void offer_lanes(Lanes a, Lanes b, int low, int high) {
        if (!any((b > 0) & (a * a > score * b))) return;
        for (int lane = 0; lane < kLanes; ++lane) offer(a[lane], b[lane], low, high, lane);
    }
};

void set_points(const Sorted& sorted, const Split& split, int n, Fit& fit) {
    uint32_t points[kMaxGroups] = {};
    for (int j = 0; j < n; ++j) {
        const uint32_t level = j < split.low ? 0 : j < split.high ? 1 : 2;
        points[sorted.at[j] / 8] |= level << 2 * (sorted.at[j] % 8);
    }
    for (int k = 0; k < n / 8; ++k) fit.points[k] = static_cast<uint16_t>(points[k]);
}

// A negative scale becomes positive by mirroring everything else.
void mirror(int n_groups, Fit& fit) {
    fit.scale = -fit.scale;
    for (int k = 0; k < n_groups; ++k) {
        fit.points[k] = static_cast<uint16_t>(kAllTop - fit.points[k]);
        fit.down[k] ^= 1;
    }
}

// Groups off the code book move to their neighbour of least error; the scale follows.
void snap(const Neighbours& neighbours, const float* x, const float* w, int n_groups, Fit& fit) {
    bool moved = false;
    for (int k = 0; k < n_groups; ++k) {
        if (neighbours.is_point(fit.points[k])) continue;
        moved = true;
        LevelCosts<8, 2> costs;
        for (int i = 0; i < 8; ++i) {
            for (int l = 0; l < 3; ++l) {
                const float d = fit.scale * kShifted[fit.down[k]][l] - x[8 * k + i];
                costs[i][l] = w[8 * k + i] * d * d;
            }
        }
        fit.points[k] = cheapest<8, 2>(neighbours.near(fit.points[k]), costs);
    }
    if (!moved) return;
    float a = 0, b = 0;
    for (int i = 0; i < 8 * n_groups; ++i) {
        const float q = kShifted[fit.down[i / 8]][digit(fit.points[i / 8], i % 8)];
        a += w[i] * q * x[i];
        b += w[i] * q * q;
    }
    if (a > 0 && b > 0) fit.scale = a / b;
}

// Sums over the elements before a place of the sorted order.
struct Prefix {
    // A vector may be read from every place.
    float wx[kSubS + kLanes], w[kSubS + kLanes];

    Prefix(const float* x, const float* weights, const Sorted& sorted) {
        std::fill_n(wx, kSubS + kLanes, 0.0f);
        std::fill_n(w, kSubS + kLanes, 0.0f);
        for (int j = 0; j < kSubS; ++j) {
            const int i = sorted.at[j];
            wx[j + 1] = wx[j] + weights[i] * x[i];
            w[j + 1] = w[j] + weights[i];
        }
    }
};

// a = sum w q x, b = sum w q q for one place `low`, kLanes places from `high` on and one shift.
struct SplitSums {
    Lanes a, b;
};

SplitSums split_sums(const Prefix& before, int low, int high, const float* q) {
    const Lanes wx = load(before.wx + high), w = load(before.w + high);
    const float low_wx = before.wx[low] * q[0], low_w = before.w[low] * q[0] * q[0];
    return {low_wx + (wx - before.wx[low]) * q[1] + (before.wx[kSubS] - wx) * q[2],
            low_w + (w - before.w[low]) * q[1] * q[1] + (before.w[kSubS] - w) * q[2] * q[2]};
}

// One shift for all 32 elements.
Split best_split_s(const Prefix& before) {
    Winner winner;
    for (int low = 0; low <= kSubS; ++low) {
        for (int high = low; high <= kSubS; high += kLanes) {
            const SplitSums up = split_sums(before, low, high, kShifted[0]);
            const SplitSums down = split_sums(before, low, high, kShifted[1]);
            if (!any(((up.b > 0) & (up.a * up.a > winner.score * up.b)) |
                     ((down.b > 0) & (down.a * down.a > winner.score * down.b)))) {
                continue;
            }
            for (int lane = 0; lane < kLanes && high + lane <= kSubS; ++lane) {
                winner.offer(up.a[lane], up.b[lane], low, high + lane, 0);
                winner.offer(down.a[lane], down.b[lane], low, high + lane, 1);
            }
        }
    }
    return winner.split;
}

// The terms of a and b of each sorted element at each level. Each of two groups has its shift: the
// lanes are up up, up down, down up, down down.
struct Terms {
    Lanes a[kSubM][3], b[kSubM][3];

    Terms(const float* x, const float* weights, const Sorted& sorted) {
        for (int j = 0; j < kSubM; ++j) {
            const int i = sorted.at[j];
            for (int l = 0; l < 3; ++l) {
                const float up = kShifted[0][l], down = kShifted[1][l];
                const Lanes q = i < 8 ? Lanes{up, up, down, down} : Lanes{up, down, up, down};
                const Lanes wq = weights[i] * q;
                a[j][l] = wq * x[i];
                b[j][l] = wq * q;
            }
        }
    }
};

Split best_split_m(const Terms& terms) {
    Winner winner;
    Lanes low_a{}, low_b{};
    for (int low = 0; low <= kSubM; ++low) {
        Lanes mid_a = low_a, mid_b = low_b;
        for (int high = low; high <= kSubM; ++high) {
            Lanes a = mid_a, b = mid_b;
            for (int j = high; j < kSubM; ++j) {
                a += terms.a[j][2];
                b += terms.b[j][2];
            }
            winner.offer_lanes(a, b, low, high);
            if (high == kSubM) break;
            mid_a += terms.a[high][1];
            mid_b += terms.b[high][1];
        }
        if (low == kSubM) break;
        low_a += terms.a[low][0];
        low_b += terms.b[low][0];
    }
    return winner.split;
}

bool is_zero(const float* x, int n, float tiny) { return std::fabs(first_largest(x, n)) < tiny; }

Fit fit_s(const Neighbours& neighbours, const float* x, const float* w) {
    Fit fit;
    if (is_zero(x, kSubS, 1e-12f)) return fit;
    const Sorted sorted(x, kSubS);
    const Split split = best_split_s(Prefix(x, w, sorted));
    if (split.scale == 0) return fit;
    fit.scale = split.scale;
    std::fill_n(fit.down, kMaxGroups, static_cast<uint8_t>(split.shifts));
    set_points(sorted, split, kSubS, fit);
    if (fit.scale < 0) mirror(kSubS / 8, fit);
    snap(neighbours, x, w, kSubS / 8, fit);
    return fit;
}

Fit fit_m(const Neighbours& neighbours, const float* x, const float* w) {
    Fit fit;
    if (is_zero(x, kSubM, 1e-7f)) return fit;
    const Sorted sorted(x, kSubM);
    const Split split = best_split_m(Terms(x, w, sorted));
    if (split.scale == 0) return fit;
    fit.scale = split.scale;
    fit.down[0] = static_cast<uint8_t>(split.shifts >> 1);
    fit.down[1] = static_cast<uint8_t>(split.shifts & 1);
    set_points(sorted, split, kSubM, fit);
    if (fit.scale < 0) mirror(kSubM / 8, fit);
    snap(neighbours, x, w, kSubM / 8, fit);
    return fit;
}

// Scales as odd multiples 1 … 15 of the unit.
int scale_code(float scale, float inv_unit) {
    return nearest_int(0.5f * (inv_unit * scale - 1), 0, 7);
}

float largest_scale(const Fit* fits, int n) {
    float largest = 0;
    for (int j = 0; j < n; ++j) largest = std::max(largest, fits[j].scale);
    return largest;
}

void decode_group(uint64_t point, float shift, float scale, float* dst) {
    for (int i = 0; i < 8; ++i) {
        dst[i] = scale * (static_cast<float>(static_cast<int8_t>(point >> 8 * i)) + shift);
    }
}

// ---- iq1_s --------------------------------------------------------------------------------------

void decode_s(const tenon_block_iq1_s& block, float* dst) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < kGroups; ++g) {
        const uint32_t h = block.qh[g / 4];
        const float scale = d * static_cast<float>(2 * (h >> 12 & 7) + 1);
        const uint32_t index = block.qs[g] | (h >> 3 * (g % 4) & 7) << 8;
        decode_group(kGridIq1s[index], h >> 15 ? -kIq1Delta : kIq1Delta, scale, dst + 8 * g);
    }
}

void encode_s(const Neighbours& neighbours, const float* x, const float* importance,
              tenon_block_iq1_s& block) {
    constexpr int kSubs = kN / kSubS;
    const float sigma2 = 2 * mean_square(x, kN);
    Fit fits[kSubs];
    for (int j = 0; j < kSubs; ++j) {
        float w[kSubS];
        importance_weights(x + kSubS * j, importance + kSubS * j, sigma2, kSubS, w);
        fits[j] = fit_s(neighbours, x + kSubS * j, w);
    }
    block = {};
    const float top = largest_scale(fits, kSubs);
    if (top == 0) return;
    const float d = top / 15, inv = 1 / d;
    block.d = f32_to_f16(d * 1.125f);
    for (int j = 0; j < kSubs; ++j) {
        uint32_t h = static_cast<uint32_t>(scale_code(fits[j].scale, inv)) << 12 |
                     static_cast<uint32_t>(fits[j].down[0]) << 15;
        for (int k = 0; k < 4; ++k) {
            const int index = neighbours.index_of(fits[j].points[k]);
            block.qs[4 * j + k] = static_cast<uint8_t>(index);
            h |= static_cast<uint32_t>(index >> 8) << 3 * k;
        }
        block.qh[j] = static_cast<uint16_t>(h);
    }
}

// ---- iq1_m: the nibbles of the block's scale are on top of four words of scales
// ------------------

uint16_t assembled_scale(const tenon_block_iq1_m& block) {
    uint32_t d = 0;
    for (int k = 0; k < 4; ++k) d |= static_cast<uint32_t>(block.scales[k] >> 12) << 4 * k;
    return static_cast<uint16_t>(d);
}

void decode_m(const tenon_block_iq1_m& block, float* dst) {
    const float d = f16_to_f32(assembled_scale(block));
    for (int g = 0; g < kGroups; ++g) {
        const uint32_t h = block.qh[g / 2] >> 4 * (g % 2) & 15u;
        const int s = block.scales[g / 8] >> 3 * (g / 2 % 4) & 7;
        decode_group(kGridIq1s[block.qs[g] | (h & 7) << 8], h & 8 ? -kIq1Delta : kIq1Delta,
                     d * static_cast<float>(2 * s + 1), dst + 8 * g);
    }
}

void weigh_m(const float* x, const float* importance, float sigma2, float* w) {
    if (importance) return importance_weights(x, importance, sigma2, kSubM, w);
    for (int i = 0; i < kSubM; ++i) w[i] = x[i] * x[i];
}

void encode_m(const Neighbours& neighbours, const float* x, const float* importance,
              tenon_block_iq1_m& block) {
    constexpr int kSubs = kN / kSubM;
    const float sigma2 = importance ? 2 * mean_square(x, kN) : 0;
    Fit fits[kSubs];
    float w[kN];
    for (int j = 0; j < kSubs; ++j) {
        const int at = kSubM * j;
        weigh_m(x + at, importance ? importance + at : nullptr, sigma2, w + at);
        fits[j] = fit_m(neighbours, x + at, w + at);
    }
    block = {};
    const float top = largest_scale(fits, kSubs);
    if (top == 0) return;
    float d = top / 15;
    const float inv = 1 / d;
    float a = 0, b = 0;  // the unit that fits best with all else as stored
    for (int j = 0; j < kSubs; ++j) {
        const Fit& fit = fits[j];
        const int s = scale_code(fit.scale, inv);
        block.scales[j / 4] |= static_cast<uint16_t>(s << 3 * (j % 4));
        for (int k = 0; k < 2; ++k) {
            const int g = 2 * j + k, index = neighbours.index_of(fit.points[k]);
            block.qs[g] = static_cast<uint8_t>(index);
            block.qh[g / 2] |= static_cast<uint8_t>((index >> 8 | fit.down[k] << 3) << 4 * k);
            for (int i = 8 * g; i < 8 * g + 8; ++i) {
                const float q = kShifted[fit.down[k]][digit(fit.points[k], i % 8)] *
                                static_cast<float>(2 * s + 1);
                a += w[i] * q * x[i];
                b += w[i] * q * q;
            }
        }
    }
    if (b > 0) d = a / b;
    const uint32_t stored = f32_to_f16(d * 1.1125f);
    for (int k = 0; k < 4; ++k) {
        block.scales[k] |= static_cast<uint16_t>((stored >> 4 * k & 15) << 12);
    }
}

bool validate_m(const void* data, int64_t n_blocks) {
    const auto* blocks = static_cast<const tenon_block_iq1_m*>(data);
    for (int64_t b = 0; b < n_blocks; ++b) {
        if (!is_finite_f16(assembled_scale(blocks[b]))) return false;
    }
    return true;
}

}  // namespace

constinit const Format kIq1_s =
    searched_format<tenon_block_iq1_s, kSubS, Unweighted::kNowhere, decode_s, g_near, encode_s>(
        GGML_TYPE_IQ1_S, finite_fields<tenon_block_iq1_s, &tenon_block_iq1_s::d>);
constinit const Format kIq1_m =
    searched_format<tenon_block_iq1_m, kSubM, Unweighted::kInChunks, decode_m, g_near, encode_m>(
        GGML_TYPE_IQ1_M, validate_m);

}  // namespace tenon::quant
