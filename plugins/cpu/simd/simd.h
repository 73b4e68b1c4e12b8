// Loops over rows, written once over the words of the header the build chose (TENON_SIMD_HEADER).
//
// Words (scalar.h defines them): f32 (f32::lanes floats), i32, mask, f64x; load store load_some
// store_some splat add sub mul div fma fnma min max abs neg sqrt … Element types T are float,
// ggml_fp16_t and ggml_bf16_t; arithmetic is f32 always. All loops accept n = 0, any alignment, and
// dst equal to a source.
#pragma once

#include TENON_SIMD_HEADER

#include <cstdint>
#include <cstring>

#include "plugins/cpu/simd/half.h"

// Before a loop of constant count over an array of vectors: unrolled, its elements live in
// registers.
#define TENON_UNROLL _Pragma("GCC unroll 16")

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

inline f32 operator+(f32 a, f32 b) { return add(a, b); }
inline f32 operator-(f32 a, f32 b) { return sub(a, b); }
inline f32 operator*(f32 a, f32 b) { return mul(a, b); }
inline f32 operator/(f32 a, f32 b) { return div(a, b); }
inline f32 operator-(f32 a) { return neg(a); }

// ---- single values (of halves: words of the ISA header) -----------------------------------------

inline float to_f32(float x) { return x; }
inline float to_f32(ggml_bf16_t x) { return bfloat_to_float(x); }
inline void set_f32(float* p, float x) { *p = x; }
inline void set_f32(ggml_bf16_t* p, float x) { *p = float_to_bfloat(x); }

// ---- partial vectors of halves: through a buffer ----------------------------------------------

template <class Half>
f32 load_some(const Half* p, int n) {
    Half lanes[f32::lanes] = {};
    for (int k = 0; k < n && k < f32::lanes; ++k) lanes[k] = p[k];
    return load(lanes);
}
template <class Half>
void store_some(Half* p, f32 a, int n) {
    Half lanes[f32::lanes];
    store(lanes, a);
    for (int k = 0; k < n && k < f32::lanes; ++k) p[k] = lanes[k];
}

inline bf16x2 load_some_pairs(const ggml_bf16_t* p, int n) {
    ggml_bf16_t both[2 * f32::lanes] = {};
    for (int k = 0; k < n && k < 2 * f32::lanes; ++k) both[k] = p[k];
    return load_pairs(both);
}

// ---- loops that make a row --------------------------------------------------------------------

// dst[i] = fn(a[i]); fn: f32 -> f32. The last, partial vector is computed like the others.
template <class D, class A, class Fn>
void map(D* dst, const A* a, int64_t n, Fn&& fn) {
    int64_t i = 0;
    for (; i + f32::lanes <= n; i += f32::lanes) store(dst + i, fn(load(a + i)));
    if (const int rest = static_cast<int>(n - i)) {
        store_some(dst + i, fn(load_some(a + i, rest)), rest);
    }
}

// dst[i] = fn(a[i], b[i])
template <class D, class A, class B, class Fn>
void map(D* dst, const A* a, const B* b, int64_t n, Fn&& fn) {
    int64_t i = 0;
    for (; i + f32::lanes <= n; i += f32::lanes) store(dst + i, fn(load(a + i), load(b + i)));
    if (const int rest = static_cast<int>(n - i)) {
        store_some(dst + i, fn(load_some(a + i, rest), load_some(b + i, rest)), rest);
    }
}

template <class D, class A>
void scale(D* dst, const A* a, int64_t n, float factor) {
    const f32 s = splat(factor);
    map(dst, a, n, [=](f32 x) { return mul(x, s); });
}

template <class D, class A>
void convert(D* dst, const A* a, int64_t n) {
    map(dst, a, n, [](f32 x) { return x; });
}

template <class D>
void fill(D* dst, int64_t n, float value) {
    const f32 v = splat(value);
    int64_t i = 0;
    for (; i + f32::lanes <= n; i += f32::lanes) store(dst + i, v);
    if (const int rest = static_cast<int>(n - i)) store_some(dst + i, v, rest);
}

// acc[i] += a[i]*factor
template <class A>
void add_scaled(float* acc, const A* a, int64_t n, float factor) {
    const f32 s = splat(factor);
    map(acc, acc, a, n, [=](f32 x, f32 y) { return fma(y, s, x); });
}

// ---- loops that make a number -----------------------------------------------------------------

// Sum of fn(a[i]) in f64: f32 values are added up in 16 f64 partial sums or more. fn(0) must be 0.
template <class A, class Fn>
double sum_of(const A* a, int64_t n, Fn&& fn) {
    f64x acc0{}, acc1{};
    int64_t i = 0;
    for (; i + 2 * f32::lanes <= n; i += 2 * f32::lanes) {
        acc0 = add_wide(acc0, fn(load(a + i)));
        acc1 = add_wide(acc1, fn(load(a + i + f32::lanes)));
    }
    for (; i + f32::lanes <= n; i += f32::lanes) acc0 = add_wide(acc0, fn(load(a + i)));
    if (const int rest = static_cast<int>(n - i)) {
        acc1 = add_wide(acc1, fn(load_some(a + i, rest)));
    }
    return sum(add(acc0, acc1));
}

template <class A>
double sum(const A* a, int64_t n) {
    return sum_of(a, n, [](f32 x) { return x; });
}
template <class A>
double sum_of_squares(const A* a, int64_t n) {  // f32 squares, f64 sum
    return sum_of(a, n, [](f32 x) { return mul(x, x); });
}

// Largest element; `least` when n is 0 or all are smaller. NaN is skipped.
template <class A>
float max_of(const A* a, int64_t n, float least) {
    f32 m0 = splat(least), m1 = m0;
    int64_t i = 0;
    for (; i + 2 * f32::lanes <= n; i += 2 * f32::lanes) {
        m0 = max(load(a + i), m0);
        m1 = max(load(a + i + f32::lanes), m1);
    }
    for (; i + f32::lanes <= n; i += f32::lanes) m0 = max(load(a + i), m0);
    float best = max_of(max(m0, m1));
    for (; i < n; ++i) {
        const float x = to_f32(a[i]);
        best = x > best ? x : best;
    }
    return best;
}

// Sum of a[i]*b[i] in f32, four accumulators: one chain of fma is bound by its latency.
template <class A, class B>
float dot(const A* a, const B* b, int64_t n) {
    f32 acc[4] = {splat(0.0f), splat(0.0f), splat(0.0f), splat(0.0f)};
    int64_t i = 0;
    for (; i + 4 * f32::lanes <= n; i += 4 * f32::lanes) {
        TENON_UNROLL
        for (int k = 0; k < 4; ++k) {
            const int64_t at = i + k * f32::lanes;
            acc[k] = fma(load(a + at), load(b + at), acc[k]);
        }
    }
    for (; i + f32::lanes <= n; i += f32::lanes) acc[0] = fma(load(a + i), load(b + i), acc[0]);
    if (const int rest = static_cast<int>(n - i)) {
        acc[1] = fma(load_some(a + i, rest), load_some(b + i, rest), acc[1]);
    }
    return sum(add(add(acc[0], acc[1]), add(acc[2], acc[3])));
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd
