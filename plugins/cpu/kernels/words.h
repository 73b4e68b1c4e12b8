// A loop over the vectors of a row whose last one may be partial, for loops that simd::map() cannot
// express.
#pragma once

#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {

// fn(i, some) for each vector of [0, n): it starts at i, and `some` of its lanes count.
template <class Fn>
void for_each_word(int64_t n, Fn&& fn) {
    int64_t i = 0;
    for (; i + simd::f32::lanes <= n; i += simd::f32::lanes) fn(i, simd::f32::lanes);
    if (i < n) fn(i, static_cast<int>(n - i));
}

// Lanes that do not count are 0.
inline simd::f32 get(const float* p, int some) {
    return some == simd::f32::lanes ? simd::load(p) : simd::load_some(p, some);
}
inline void put(float* p, simd::f32 value, int some) {
    if (some == simd::f32::lanes) {
        simd::store(p, value);
    } else {
        simd::store_some(p, value, some);
    }
}

}  // namespace tenon::cpu
