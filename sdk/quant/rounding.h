// Float to integer, defined for every input: NaN and everything below `lo` give `lo`, everything
// above `hi` gives `hi`. |lo|, |hi| < 2^22.
//
// Written so that loops over them vectorise; branches and library calls would not.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tenon::quant {

// In this order of comparisons NaN becomes lo, and each line is one min or max instruction.
inline float clamp(float v, float lo, float hi) {
    v = v > lo ? v : lo;
    return v < hi ? v : hi;
}

// 1.5 * 2^23: a sum with it has no room for a fraction.
inline constexpr float kRoundingShift = 12582912.0f;

// Nearest integer, ties to even, as a float.
inline float nearest(float v, float lo, float hi) {
    return (clamp(v, lo, hi) + kRoundingShift) - kRoundingShift;
}
inline int nearest_int(float v, int lo, int hi) {
    return static_cast<int>(nearest(v, static_cast<float>(lo), static_cast<float>(hi)));
}

// Nearest integer, ties away from zero. The largest float below one half, not one half: the sum
// with 0.49999997f would round up to 1.
inline int nearest_away(float v, int lo, int hi) {
    const float c = clamp(v, static_cast<float>(lo), static_cast<float>(hi));
    return static_cast<int>(c + std::copysign(0.49999997f, c));
}

// Towards zero.
inline int truncate(float v, int lo, int hi) {
    return static_cast<int>(clamp(v, static_cast<float>(lo), static_cast<float>(hi)));
}

}  // namespace tenon::quant
