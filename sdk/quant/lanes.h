// Four floats side by side, for searches that try several candidates in one pass: each lane has its
// own sums over the elements in order, which is the specified order of additions.
//
// A compiler extension instead of loops over the lanes: GCC's vectoriser finds slower shapes of
// those.
#pragma once

#include <cstdint>
#include <cstring>

#include "sdk/quant/rounding.h"

namespace tenon::quant {

inline constexpr int kLanes = 4;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));
typedef int32_t Mask __attribute__((vector_size(kLanes * sizeof(int32_t))));

inline Lanes splat(float v) { return v - Lanes{}; }
inline Lanes load(const float* p) {
    Lanes v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline void store(float* p, Lanes v) { std::memcpy(p, &v, sizeof v); }

inline bool any(Mask m) {
    uint64_t halves[2];
    std::memcpy(halves, &m, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

// nearest() of rounding.h, lane by lane.
inline Lanes nearest_lanes(Lanes v, Lanes lo, Lanes hi) {
    v = v > lo ? v : lo;
    v = v < hi ? v : hi;
    return (v + kRoundingShift) - kRoundingShift;
}
inline Lanes abs_lanes(Lanes v) { return v < 0 ? -v : v; }

}  // namespace tenon::quant
