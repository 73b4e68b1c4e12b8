// The SIMD words without an instruction set: this header defines what each word means. It uses the
// compiler's portable vectors of four, which become SSE on x86-64 and NEON on arm64.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "plugins/cpu/simd/half.h"
#include "plugins/cpu/simd/panels_from.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

typedef float v4f __attribute__((vector_size(16)));
typedef int32_t v4i __attribute__((vector_size(16)));
typedef uint32_t v4u __attribute__((vector_size(16)));
typedef uint16_t v4h __attribute__((vector_size(8)));
typedef double v2d __attribute__((vector_size(16)));

struct f32 {
    v4f v;
    static constexpr int lanes = 4;
};
constexpr int kRegisters = 16;  // vectors that fit the register file: sizes register tiles
// Measured, rows of 4096 elements; of the quantised types the middle one.
constexpr PanelsFrom kPanelsFrom = {
    .f32 = kNeverPanels, .f16 = 6, .bf16 = 24, .blocks = 18, .minima = 18};
struct i32 {
    v4i v;
};
struct mask {  // every lane all ones or all zeros
    v4i v;
};
struct f64x {  // the lanes of an f32, widened
    v2d lo, hi;
};

// ---- memory: no alignment needed --------------------------------------------------------------

inline f32 load(const float* p) {
    f32 r;
    std::memcpy(&r.v, p, sizeof r.v);
    return r;
}
// half.h has the arithmetic of halves one value at a time; these are the same steps on four.
inline v4u load_u16(const void* p) {
    v4h h;
    std::memcpy(&h, p, sizeof h);
    return __builtin_convertvector(h, v4u);
}
inline void store_u16(void* p, v4u a) {
    const v4h h = __builtin_convertvector(a, v4h);
    std::memcpy(p, &h, sizeof h);
}
inline f32 load(const ggml_fp16_t* p) {
    const v4u h = load_u16(p);
    const v4u magnitude = h & 0x7fff;
    const v4u finite = reinterpret_cast<v4u>(reinterpret_cast<v4f>(magnitude << 13) * 0x1p112f);
    const v4u quiet = magnitude > 0x7c00 ? v4u{} + 0x400000u : v4u{};
    const v4u special = magnitude << 13 | 0x7f800000u | quiet;
    const v4u value = magnitude >= 0x7c00 ? special : finite;
    return {reinterpret_cast<v4f>(value | (h & 0x8000) << 16)};
}
inline f32 load(const ggml_bf16_t* p) { return {reinterpret_cast<v4f>(load_u16(p) << 16)}; }
inline void store(float* p, f32 a) { std::memcpy(p, &a.v, sizeof a.v); }
inline void store(ggml_fp16_t* p, f32 a) {
    const v4u u = reinterpret_cast<v4u>(a.v);
    const v4u magnitude = u & 0x7fffffffu;
    const v4u normal = (magnitude + 0xfffu + (magnitude >> 13 & 1) - 0x38000000u) >> 13;
    const v4u subnormal =
        reinterpret_cast<v4u>(reinterpret_cast<v4f>(magnitude) + 0.5f) - 0x3f000000u;
    const v4u special = magnitude > 0x7f800000u ? v4u{} + 0x7e00u : v4u{} + 0x7c00u;
    const v4u finite = magnitude < 0x38800000u ? subnormal : normal;
    const v4u value = magnitude >= 0x477ff000u ? special : finite;
    store_u16(p, value | (u >> 16 & 0x8000u));
}
inline void store(ggml_bf16_t* p, f32 a) {
    const v4u u = reinterpret_cast<v4u>(a.v);
    const v4u rounded = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    const v4u quiet = u >> 16 | 0x40u;
    store_u16(p, (u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
// The first n lanes, 0 <= n <= lanes; nothing beyond them is touched. The others read as 0.
inline f32 load_some(const float* p, int n) {
    f32 r{};
    for (int k = 0; k < n; ++k) r.v[k] = p[k];
    return r;
}
inline void store_some(float* p, f32 a, int n) {
    for (int k = 0; k < n; ++k) p[k] = a.v[k];
}

// One value.
inline float to_f32(ggml_fp16_t x) { return half_to_float(x); }
inline void set_f32(ggml_fp16_t* p, float x) { *p = float_to_half(x); }

// ---- lanes ------------------------------------------------------------------------------------

inline f32 splat(float x) { return {v4f{x, x, x, x}}; }
inline i32 splat(int32_t x) { return {v4i{x, x, x, x}}; }

inline f32 add(f32 a, f32 b) { return {a.v + b.v}; }
inline f32 sub(f32 a, f32 b) { return {a.v - b.v}; }
inline f32 mul(f32 a, f32 b) { return {a.v * b.v}; }
inline f32 div(f32 a, f32 b) { return {a.v / b.v}; }
inline f32 fma(f32 a, f32 b, f32 c) { return {a.v * b.v + c.v}; }   // a*b + c; one rounding or two
inline f32 fnma(f32 a, f32 b, f32 c) { return {c.v - a.v * b.v}; }  // c - a*b
// When one is NaN the result is b, as in (a < b ? a : b).
inline f32 min(f32 a, f32 b) { return {a.v < b.v ? a.v : b.v}; }
inline f32 max(f32 a, f32 b) { return {a.v > b.v ? a.v : b.v}; }

inline i32 add(i32 a, i32 b) {
    return {reinterpret_cast<v4i>(reinterpret_cast<v4u>(a.v) + reinterpret_cast<v4u>(b.v))};
}
inline i32 sub(i32 a, i32 b) {
    return {reinterpret_cast<v4i>(reinterpret_cast<v4u>(a.v) - reinterpret_cast<v4u>(b.v))};
}
inline i32 bit_and(i32 a, i32 b) { return {a.v & b.v}; }
inline i32 bit_or(i32 a, i32 b) { return {a.v | b.v}; }
inline i32 bit_xor(i32 a, i32 b) { return {a.v ^ b.v}; }
template <int n>
i32 shift_left(i32 a) {
    return {reinterpret_cast<v4i>(reinterpret_cast<v4u>(a.v) << n)};
}
template <int n>
i32 shift_right(i32 a) {  // arithmetic
    return {a.v >> n};
}

inline i32 bits(f32 a) { return {reinterpret_cast<v4i>(a.v)}; }
inline f32 from_bits(i32 a) { return {reinterpret_cast<v4f>(a.v)}; }
inline f32 to_float(i32 a) { return {__builtin_convertvector(a.v, v4f)}; }
inline i32 to_int_trunc(f32 a) { return {__builtin_convertvector(a.v, v4i)}; }

inline f32 abs(f32 a) { return from_bits(bit_and(bits(a), splat(0x7fffffff))); }
inline f32 neg(f32 a) { return from_bits(bit_xor(bits(a), splat(INT32_MIN))); }
inline f32 copy_sign(f32 magnitude, f32 sign) {
    return from_bits(
        bit_or(bit_and(bits(magnitude), splat(0x7fffffff)), bit_and(bits(sign), splat(INT32_MIN))));
}
inline f32 sqrt(f32 a) {
    for (int k = 0; k < 4; ++k) a.v[k] = std::sqrt(a.v[k]);
    return a;
}

// ---- comparison: false when either is NaN -----------------------------------------------------

inline mask less(f32 a, f32 b) { return {a.v < b.v}; }
inline mask less_equal(f32 a, f32 b) { return {a.v <= b.v}; }
inline mask equal(f32 a, f32 b) { return {a.v == b.v}; }
inline f32 select(mask m, f32 yes, f32 no) { return {m.v ? yes.v : no.v}; }
inline bool any(mask m) { return (m.v[0] | m.v[1] | m.v[2] | m.v[3]) != 0; }

// ---- rounding to whole numbers ----------------------------------------------------------------

inline f32 round_even(f32 a) {  // nearest, ties to even
    // Beyond 2^23 every f32 is whole; below, adding 2^23 leaves no room for a fraction.
    const f32 big = copy_sign(splat(0x1p23f), a);
    const f32 rounded = copy_sign(sub(add(a, big), big), a);
    return select(less(abs(a), splat(0x1p23f)), rounded, a);
}
inline f32 trunc(f32 a) {
    const f32 whole =
        copy_sign(to_float(to_int_trunc(select(less(abs(a), splat(0x1p23f)), a, splat(0.0f)))), a);
    return select(less(abs(a), splat(0x1p23f)), whole, a);
}
inline f32 floor(f32 a) {
    const f32 t = trunc(a);
    return select(less(a, t), sub(t, splat(1.0f)), t);
}
inline f32 ceil(f32 a) {
    const f32 t = trunc(a);
    return select(less(t, a), copy_sign(add(t, splat(1.0f)), a), t);
}
inline i32 to_int(f32 a) { return to_int_trunc(round_even(a)); }  // nearest even; |a| < 2^31

// a*2^n for whole n in [-252, 254]; exact up to one rounding of a subnormal result.
inline f32 scale_by_power_of_two(f32 a, f32 n) {
    // Two factors, since 2^n alone may be infinite or subnormal while the product is neither.
    const i32 whole = to_int(n);
    const i32 half = shift_right<1>(whole);
    const i32 bias = splat(int32_t{127});
    const f32 x = from_bits(shift_left<23>(add(half, bias)));
    const f32 y = from_bits(shift_left<23>(add(sub(whole, half), bias)));
    return mul(mul(a, x), y);
}

// ---- across lanes -----------------------------------------------------------------------------

inline float sum(f32 a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }
inline float max_of(f32 a) {
    const float x = a.v[0] > a.v[2] ? a.v[0] : a.v[2];
    const float y = a.v[1] > a.v[3] ? a.v[1] : a.v[3];
    return x > y ? x : y;
}
inline f32 swap_neighbours(f32 a) { return {v4f{a.v[1], a.v[0], a.v[3], a.v[2]}}; }
// Lane j of vector i becomes lane i of vector j.
inline void transpose(f32 (&a)[4]) {
    const v4f r0 = a[0].v, r1 = a[1].v, r2 = a[2].v, r3 = a[3].v;
    for (int k = 0; k < 4; ++k) a[k].v = v4f{r0[k], r1[k], r2[k], r3[k]};
}
inline f64x add_wide(f64x acc, f32 a) {
    return {acc.lo + v2d{a.v[0], a.v[1]}, acc.hi + v2d{a.v[2], a.v[3]}};
}
inline f64x add(f64x a, f64x b) { return {a.lo + b.lo, a.hi + b.hi}; }
inline double sum(f64x a) { return (a.lo[0] + a.hi[0]) + (a.lo[1] + a.hi[1]); }

// ---- blocks of 32 bytes, for the dot products of quantised rows ---------------------------------

typedef int8_t v16b __attribute__((vector_size(16)));
typedef uint8_t v16ub __attribute__((vector_size(16)));
typedef int16_t v8s __attribute__((vector_size(16)));
typedef uint16_t v8us __attribute__((vector_size(16)));
typedef uint64_t v2ul __attribute__((vector_size(16)));

struct i8x32 {
    v16b lo, hi;
};
struct i32x8 {
    v4i lo, hi;
};
struct f32x8 {
    v4f lo, hi;
};
template <class T>
T load_bytes(const void* p) {  // sizeof(T) of them, at any address
    T r;
    std::memcpy(&r, p, sizeof r);
    return r;
}

inline i8x32 load_i8(const void* lo, const void* hi) {  // 16 bytes each
    return {load_bytes<v16b>(lo), load_bytes<v16b>(hi)};
}
inline i8x32 load_i8(const void* p) { return load_i8(p, static_cast<const int8_t*>(p) + 16); }
inline void store_i8(int8_t* p, i8x32 a) { std::memcpy(p, &a, 32); }
inline i8x32 splat_i8(int8_t x) { return {x | v16b{}, x | v16b{}}; }
// 16 bytes are 32 codes 0 … 15: the low nibbles are elements 0 … 15, the high ones 16 … 31.
inline i8x32 load_u4(const void* p) {
    const auto bytes = load_bytes<v16ub>(p);
    return {reinterpret_cast<v16b>(bytes & 15), reinterpret_cast<v16b>(bytes >> 4)};
}
// 8 bytes are 32 codes 0 … 3, in order from the low bits on.
inline i8x32 load_u2(const void* p) {
    const auto spread = [](v4u x) {  // a byte per lane
        x |= x << 12;
        x |= x << 6;
        return reinterpret_cast<v16b>(x) & 3;
    };
    const uint8_t* q = static_cast<const uint8_t*>(p);
    return {spread(v4u{q[0], q[1], q[2], q[3]}), spread(v4u{q[4], q[5], q[6], q[7]})};
}
inline i8x32 pack(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {  // `a` becomes the first bytes
    return {reinterpret_cast<v16b>(v2ul{a, b}), reinterpret_cast<v16b>(v2ul{c, d})};
}
inline i8x32 pack(const uint32_t (&x)[8]) { return load_i8(x); }

// Modulo 256.
inline v16b add(v16b a, v16b b) {
    return reinterpret_cast<v16b>(reinterpret_cast<v16ub>(a) + reinterpret_cast<v16ub>(b));
}
inline v16b sub(v16b a, v16b b) {
    return reinterpret_cast<v16b>(reinterpret_cast<v16ub>(a) - reinterpret_cast<v16ub>(b));
}
inline i8x32 add(i8x32 a, i8x32 b) { return {add(a.lo, b.lo), add(a.hi, b.hi)}; }
inline i8x32 sub(i8x32 a, int8_t b) {
    const i8x32 all = splat_i8(b);
    return {sub(a.lo, all.lo), sub(a.hi, all.hi)};
}
inline i8x32 bit_or(i8x32 a, i8x32 b) { return {a.lo | b.lo, a.hi | b.hi}; }
// Bits at … at+n-1 of every byte, moved to bit `to`; the rest is zero.
template <int at, int n, int to = 0>
i8x32 field(i8x32 a) {
    const auto half = [](v16b x) {
        constexpr uint8_t kMask = (1 << n) - 1;
        return reinterpret_cast<v16b>((reinterpret_cast<v16ub>(x) >> at & kMask) << to);
    };
    return {half(a.lo), half(a.hi)};
}
#if __has_builtin(__builtin_shuffle)
inline v16b look_up(v16b table, v16b codes) { return __builtin_shuffle(table, codes); }
#else  // clang
inline v16b look_up(v16b table, v16b codes) {
    for (int k = 0; k < 16; ++k) codes[k] = table[codes[k]];
    return codes;
}
#endif
inline i8x32 look_up(const int8_t table[16], i8x32 codes) {  // codes 0 … 15
    const auto t = load_bytes<v16b>(table);
    return {look_up(t, codes.lo), look_up(t, codes.hi)};
}
// -1 where the byte, unsigned, is at least `least`, else 0.
inline i8x32 at_least(i8x32 a, uint8_t least) {
    return {reinterpret_cast<v16b>(reinterpret_cast<v16ub>(a.lo) >= least),
            reinterpret_cast<v16b>(reinterpret_cast<v16ub>(a.hi) >= least)};
}
inline i8x32 bytes_of_bits(uint32_t bits) {  // byte k is -1 where bit k is set, else 0
    const auto eight = [&](int at) { return (bits >> at & 255) * uint64_t{0x0101010101010101}; };
    const i8x32 all = pack(eight(0), eight(8), eight(16), eight(24));
    const v16b one = {1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128};
    return {reinterpret_cast<v16b>((all.lo & one) == one),
            reinterpret_cast<v16b>((all.hi & one) == one)};
}
// Byte k follows bit k.
inline i8x32 select_bits(uint32_t bits, int8_t set, int8_t clear) {
    const i8x32 m = bytes_of_bits(bits);
    return {(m.lo & set) | (~m.lo & clear), (m.hi & set) | (~m.hi & clear)};
}
inline i8x32 negate(i8x32 a, uint32_t bits) {  // bytes whose bit is set
    const i8x32 m = bytes_of_bits(bits);
    return {sub(a.lo ^ m.lo, m.lo), sub(a.hi ^ m.hi, m.hi)};
}
// Runs of eight bytes 0 1 2 3 become 0 2 1 3.
inline i8x32 swap_middle(i8x32 a) {
    const auto lo = reinterpret_cast<v2ul>(a.lo), hi = reinterpret_cast<v2ul>(a.hi);
    return pack(lo[0], hi[0], lo[1], hi[1]);
}

// Lane l is the sum of w[k]*y[k] over k = 4l … 4l+3, exactly. y must not contain -128.
inline i32x8 dot(i8x32 w, i8x32 y) {
    const auto even = [](v16b x) {
        return reinterpret_cast<v8s>(reinterpret_cast<v8us>(x) << 8) >> 8;
    };
    const auto odd = [](v16b x) { return reinterpret_cast<v8s>(x) >> 8; };
    const auto half = [&](v16b a, v16b b) {
        const v8s pairs = even(a) * even(b) + odd(a) * odd(b);  // at most 2*128*127 < 2^15
        return (reinterpret_cast<v4i>(reinterpret_cast<v4u>(pairs) << 16) >> 16) +
               (reinterpret_cast<v4i>(pairs) >> 16);
    };
    return {half(w.lo, y.lo), half(w.hi, y.hi)};
}
inline i32x8 dot_unsigned(i8x32 w, i8x32 y) { return dot(w, y); }  // w: 0 … 127

inline f32x8 splat8(float lo, float hi) { return {v4f{lo, lo, lo, lo}, v4f{hi, hi, hi, hi}}; }
inline f32x8 splat8(float x) { return splat8(x, x); }
inline f32x8 load8(const float* p) { return {load(p).v, load(p + 4).v}; }
inline void store8(float* p, f32x8 a) {
    store(p, f32{a.lo});
    store(p + 4, f32{a.hi});
}
inline f32x8 to_float(i32x8 a) {
    return {__builtin_convertvector(a.lo, v4f), __builtin_convertvector(a.hi, v4f)};
}
inline f32x8 u8_to_float(uint64_t bytes) {  // eight unsigned bytes, the lowest first
    const auto x = [&](int k) { return static_cast<int32_t>(bytes >> 8 * k & 255); };
    return to_float({v4i{x(0), x(1), x(2), x(3)}, v4i{x(4), x(5), x(6), x(7)}});
}
inline f32x8 mul(f32x8 a, f32x8 b) { return {a.lo * b.lo, a.hi * b.hi}; }
inline f32x8 fma(f32x8 a, f32x8 b, f32x8 c) { return {a.lo * b.lo + c.lo, a.hi * b.hi + c.hi}; }
inline f32x8 fma(i32x8 a, float scale, f32x8 acc) {  // acc + a*scale
    return fma(to_float(a), splat8(scale), acc);
}
inline float sum(f32x8 a) { return sum(f32{a.lo + a.hi}); }
// Stores lanes 0 … 31 of 8 vectors, given as f32 values already scaled, as signed bytes: nearest
// even. |x| <= 127. Writes 32 bytes; returns their sum.
inline int32_t store_i8(int8_t* p, const float* x, float scale) {
    v4i total{};
    for (int k = 0; k < 32; k += 4) {
        const v4i whole = to_int(mul(load(x + k), splat(scale))).v;
        total += whole;
        for (int l = 0; l < 4; ++l) p[k + l] = static_cast<int8_t>(whole[l]);
    }
    return total[0] + total[1] + total[2] + total[3];
}

// Always inline: gcc drops calls of functions that do nothing but prefetch.
[[gnu::always_inline]] inline void prefetch(const void* p) { __builtin_prefetch(p); }

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd

#include "plugins/cpu/simd/bf16_pairs_fallback.h"
#include "plugins/cpu/simd/row_pairs_fallback.h"
