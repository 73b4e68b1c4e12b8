// The SIMD words for Armv8 NEON: four lanes, all but products of bytes, of bf16 and of pairs
// of rows, which the headers that include it add. scalar.h says what each word means.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "plugins/cpu/simd/half.h"
#include "plugins/cpu/simd/panels_from.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

struct f32 {
    float32x4_t v;
    static constexpr int lanes = 4;
};
constexpr int kRegisters = 32;  // vectors that fit the register file: sizes register tiles
struct i32 {
    int32x4_t v;
};
struct mask {
    uint32x4_t v;
};
struct f64x {  // the lanes of an f32, widened
    float64x2_t lo, hi;
};

// ---- memory -----------------------------------------------------------------------------------

inline f32 load(const float* p) { return {vld1q_f32(p)}; }
inline f32 load(const ggml_fp16_t* p) { return {vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))}; }
inline f32 load(const ggml_bf16_t* p) {
    uint16x4_t h;
    std::memcpy(&h, p, sizeof h);
    return {vreinterpretq_f32_u32(vshll_n_u16(h, 16))};
}
inline void store(float* p, f32 a) { vst1q_f32(p, a.v); }
inline void store(ggml_fp16_t* p, f32 a) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a.v))); }
inline void store(ggml_bf16_t* p, f32 a) {
    const uint32x4_t u = vreinterpretq_u32_f32(a.v);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1));
    const uint32x4_t rounded = vshrq_n_u32(vaddq_u32(u, vaddq_u32(odd, vdupq_n_u32(0x7fff))), 16);
    const uint32x4_t quiet = vorrq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(0x40));
    const uint16x4_t h = vmovn_u32(vbslq_u32(vceqq_f32(a.v, a.v), rounded, quiet));
    std::memcpy(p, &h, sizeof h);
}
inline f32 load_some(const float* p, int n) {
    float lanes[4] = {};
    for (int k = 0; k < n; ++k) lanes[k] = p[k];
    return {vld1q_f32(lanes)};
}
inline void store_some(float* p, f32 a, int n) {
    float lanes[4];
    vst1q_f32(lanes, a.v);
    for (int k = 0; k < n; ++k) p[k] = lanes[k];
}

// One value.
inline float to_f32(ggml_fp16_t x) { return static_cast<float>(std::bit_cast<__fp16>(x)); }
inline void set_f32(ggml_fp16_t* p, float x) {
    *p = std::bit_cast<ggml_fp16_t>(static_cast<__fp16>(x));
}

// ---- lanes ------------------------------------------------------------------------------------

inline f32 splat(float x) { return {vdupq_n_f32(x)}; }
inline i32 splat(int32_t x) { return {vdupq_n_s32(x)}; }

inline f32 add(f32 a, f32 b) { return {vaddq_f32(a.v, b.v)}; }
inline f32 sub(f32 a, f32 b) { return {vsubq_f32(a.v, b.v)}; }
inline f32 mul(f32 a, f32 b) { return {vmulq_f32(a.v, b.v)}; }
inline f32 div(f32 a, f32 b) { return {vdivq_f32(a.v, b.v)}; }
inline f32 fma(f32 a, f32 b, f32 c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
inline f32 fnma(f32 a, f32 b, f32 c) { return {vfmsq_f32(c.v, a.v, b.v)}; }
inline f32 min(f32 a, f32 b) { return {vbslq_f32(vcltq_f32(a.v, b.v), a.v, b.v)}; }
inline f32 max(f32 a, f32 b) { return {vbslq_f32(vcgtq_f32(a.v, b.v), a.v, b.v)}; }

inline i32 add(i32 a, i32 b) { return {vaddq_s32(a.v, b.v)}; }
inline i32 sub(i32 a, i32 b) { return {vsubq_s32(a.v, b.v)}; }
inline i32 bit_and(i32 a, i32 b) { return {vandq_s32(a.v, b.v)}; }
inline i32 bit_or(i32 a, i32 b) { return {vorrq_s32(a.v, b.v)}; }
inline i32 bit_xor(i32 a, i32 b) { return {veorq_s32(a.v, b.v)}; }
template <int n>
i32 shift_left(i32 a) {
    return {vshlq_n_s32(a.v, n)};
}
template <int n>
i32 shift_right(i32 a) {
    return {vshrq_n_s32(a.v, n)};
}

inline i32 bits(f32 a) { return {vreinterpretq_s32_f32(a.v)}; }
inline f32 from_bits(i32 a) { return {vreinterpretq_f32_s32(a.v)}; }
inline f32 to_float(i32 a) { return {vcvtq_f32_s32(a.v)}; }
inline i32 to_int(f32 a) { return {vcvtnq_s32_f32(a.v)}; }
inline i32 to_int_trunc(f32 a) { return {vcvtq_s32_f32(a.v)}; }

inline f32 abs(f32 a) { return {vabsq_f32(a.v)}; }
inline f32 neg(f32 a) { return {vnegq_f32(a.v)}; }
inline f32 copy_sign(f32 magnitude, f32 sign) {
    return {vbslq_f32(vdupq_n_u32(0x80000000u), sign.v, magnitude.v)};
}
inline f32 sqrt(f32 a) { return {vsqrtq_f32(a.v)}; }

// ---- comparison -------------------------------------------------------------------------------

inline mask less(f32 a, f32 b) { return {vcltq_f32(a.v, b.v)}; }
inline mask less_equal(f32 a, f32 b) { return {vcleq_f32(a.v, b.v)}; }
inline mask equal(f32 a, f32 b) { return {vceqq_f32(a.v, b.v)}; }
inline f32 select(mask m, f32 yes, f32 no) { return {vbslq_f32(m.v, yes.v, no.v)}; }
inline bool any(mask m) { return vmaxvq_u32(m.v) != 0; }

// ---- rounding to whole numbers ----------------------------------------------------------------

inline f32 round_even(f32 a) { return {vrndnq_f32(a.v)}; }
inline f32 trunc(f32 a) { return {vrndq_f32(a.v)}; }
inline f32 floor(f32 a) { return {vrndmq_f32(a.v)}; }
inline f32 ceil(f32 a) { return {vrndpq_f32(a.v)}; }

inline f32 scale_by_power_of_two(f32 a, f32 n) {
    const i32 whole = to_int(n);
    const i32 half = shift_right<1>(whole);
    const i32 bias = splat(int32_t{127});
    const f32 x = from_bits(shift_left<23>(add(half, bias)));
    const f32 y = from_bits(shift_left<23>(add(sub(whole, half), bias)));
    return mul(mul(a, x), y);
}

// ---- across lanes -----------------------------------------------------------------------------

inline float sum(f32 a) { return vaddvq_f32(a.v); }
inline float max_of(f32 a) {
    const float32x2_t x = vget_low_f32(a.v), y = vget_high_f32(a.v);
    const float32x2_t m = vbsl_f32(vcgt_f32(x, y), x, y);
    const float p = vget_lane_f32(m, 0), q = vget_lane_f32(m, 1);
    return p > q ? p : q;
}
inline f32 swap_neighbours(f32 a) { return {vrev64q_f32(a.v)}; }
inline void transpose(f32 (&a)[4]) {
    const float32x4_t t0 = vzip1q_f32(a[0].v, a[2].v), t1 = vzip2q_f32(a[0].v, a[2].v);
    const float32x4_t t2 = vzip1q_f32(a[1].v, a[3].v), t3 = vzip2q_f32(a[1].v, a[3].v);
    a[0].v = vzip1q_f32(t0, t2);
    a[1].v = vzip2q_f32(t0, t2);
    a[2].v = vzip1q_f32(t1, t3);
    a[3].v = vzip2q_f32(t1, t3);
}
inline f64x add_wide(f64x acc, f32 a) {
    return {vaddq_f64(acc.lo, vcvt_f64_f32(vget_low_f32(a.v))),
            vaddq_f64(acc.hi, vcvt_high_f64_f32(a.v))};
}
inline f64x add(f64x a, f64x b) { return {vaddq_f64(a.lo, b.lo), vaddq_f64(a.hi, b.hi)}; }
inline double sum(f64x a) { return vaddvq_f64(vaddq_f64(a.lo, a.hi)); }

// ---- blocks of 32 bytes -----------------------------------------------------------------------

struct i8x32 {
    int8x16_t lo, hi;
};
struct i32x8 {
    int32x4_t lo, hi;
};
struct f32x8 {
    float32x4_t lo, hi;
};

inline i8x32 load_i8(const void* p) {
    const int8_t* q = static_cast<const int8_t*>(p);
    return {vld1q_s8(q), vld1q_s8(q + 16)};
}
inline i8x32 load_u4(const void* p) {
    const uint8x16_t bytes = vld1q_u8(static_cast<const uint8_t*>(p));
    return {vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15))),
            vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4))};
}
inline i8x32 sub(i8x32 a, int8_t b) {
    return {vsubq_s8(a.lo, vdupq_n_s8(b)), vsubq_s8(a.hi, vdupq_n_s8(b))};
}
inline i8x32 look_up(const int8_t table[16], i8x32 codes) {
    const int8x16_t t = vld1q_s8(table);
    return {vqtbl1q_s8(t, vreinterpretq_u8_s8(codes.lo)),
            vqtbl1q_s8(t, vreinterpretq_u8_s8(codes.hi))};
}
inline f32x8 fma(i32x8 a, float scale, f32x8 acc) {
    return {vfmaq_n_f32(acc.lo, vcvtq_f32_s32(a.lo), scale),
            vfmaq_n_f32(acc.hi, vcvtq_f32_s32(a.hi), scale)};
}
inline float sum(f32x8 a) { return vaddvq_f32(vaddq_f32(a.lo, a.hi)); }
inline int32_t store_i8(int8_t* p, const float* x, float scale) {
    int32x4_t total = vdupq_n_s32(0);
    for (int k = 0; k < 32; k += 8) {
        const int32x4_t a = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + k), scale));
        const int32x4_t b = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + k + 4), scale));
        total = vaddq_s32(total, vaddq_s32(a, b));
        vst1_s8(p + k, vmovn_s16(vcombine_s16(vmovn_s32(a), vmovn_s32(b))));
    }
    return vaddvq_s32(total);
}

// ---- more of blocks of 32 bytes: unpacking ------------------------------------------------------

inline i8x32 load_i8(const void* lo, const void* hi) {
    return {vld1q_s8(static_cast<const int8_t*>(lo)), vld1q_s8(static_cast<const int8_t*>(hi))};
}
inline void store_i8(int8_t* p, i8x32 a) {
    vst1q_s8(p, a.lo);
    vst1q_s8(p + 16, a.hi);
}
inline i8x32 splat_i8(int8_t x) { return {vdupq_n_s8(x), vdupq_n_s8(x)}; }
inline i8x32 load_u2(const void* p) {
    const auto spread = [](uint16x4_t bytes) {
        uint32x4_t x = vmovl_u16(bytes);
        x = vorrq_u32(x, vshlq_n_u32(x, 12));
        x = vorrq_u32(x, vshlq_n_u32(x, 6));
        return vandq_s8(vreinterpretq_s8_u32(x), vdupq_n_s8(3));
    };
    const uint16x8_t bytes = vmovl_u8(vld1_u8(static_cast<const uint8_t*>(p)));
    return {spread(vget_low_u16(bytes)), spread(vget_high_u16(bytes))};
}
inline i8x32 pack(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return {vreinterpretq_s8_u64(vcombine_u64(vcreate_u64(a), vcreate_u64(b))),
            vreinterpretq_s8_u64(vcombine_u64(vcreate_u64(c), vcreate_u64(d)))};
}
inline i8x32 pack(const uint32_t (&x)[8]) {
    const auto two = [&](int k) { return uint64_t{x[k + 1]} << 32 | x[k]; };
    return pack(two(0), two(2), two(4), two(6));
}
template <int at, int n, int to = 0>
i8x32 field(i8x32 a) {
    const auto half = [](int8x16_t h) {
        uint8x16_t x = vreinterpretq_u8_s8(h);
        if constexpr (at > to) x = vshrq_n_u8(x, at - to);
        if constexpr (at < to) x = vshlq_n_u8(x, to - at);
        return vreinterpretq_s8_u8(vandq_u8(x, vdupq_n_u8(((1 << n) - 1) << to)));
    };
    return {half(a.lo), half(a.hi)};
}
inline i8x32 bit_or(i8x32 a, i8x32 b) { return {vorrq_s8(a.lo, b.lo), vorrq_s8(a.hi, b.hi)}; }
inline i8x32 add(i8x32 a, i8x32 b) { return {vaddq_s8(a.lo, b.lo), vaddq_s8(a.hi, b.hi)}; }
inline i8x32 at_least(i8x32 a, uint8_t least) {
    const uint8x16_t bound = vdupq_n_u8(least);
    return {vreinterpretq_s8_u8(vcgeq_u8(vreinterpretq_u8_s8(a.lo), bound)),
            vreinterpretq_s8_u8(vcgeq_u8(vreinterpretq_u8_s8(a.hi), bound))};
}
struct u8x32 {  // all ones or zeros
    uint8x16_t lo, hi;
};
inline u8x32 bytes_of_bits(uint32_t bits) {
    const uint8x16_t one = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    const auto half = [&](uint32_t two_bytes) {
        const uint8x8_t first = vdup_n_u8(static_cast<uint8_t>(two_bytes));
        const uint8x8_t second = vdup_n_u8(static_cast<uint8_t>(two_bytes >> 8));
        return vtstq_u8(vcombine_u8(first, second), one);
    };
    return {half(bits), half(bits >> 16)};
}
inline i8x32 select_bits(uint32_t bits, int8_t set, int8_t clear) {
    const u8x32 m = bytes_of_bits(bits);
    return {vbslq_s8(m.lo, vdupq_n_s8(set), vdupq_n_s8(clear)),
            vbslq_s8(m.hi, vdupq_n_s8(set), vdupq_n_s8(clear))};
}
inline i8x32 negate(i8x32 a, uint32_t bits) {
    const u8x32 m = bytes_of_bits(bits);
    return {vbslq_s8(m.lo, vnegq_s8(a.lo), a.lo), vbslq_s8(m.hi, vnegq_s8(a.hi), a.hi)};
}
inline i8x32 swap_middle(i8x32 a) {
    const int64x2_t lo = vreinterpretq_s64_s8(a.lo), hi = vreinterpretq_s64_s8(a.hi);
    return {vreinterpretq_s8_s64(vzip1q_s64(lo, hi)), vreinterpretq_s8_s64(vzip2q_s64(lo, hi))};
}
inline f32x8 splat8(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
inline f32x8 splat8(float lo, float hi) { return {vdupq_n_f32(lo), vdupq_n_f32(hi)}; }
inline f32x8 load8(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
inline void store8(float* p, f32x8 a) {
    vst1q_f32(p, a.lo);
    vst1q_f32(p + 4, a.hi);
}
inline f32x8 u8_to_float(uint64_t bytes) {
    const uint16x8_t x = vmovl_u8(vcreate_u8(bytes));
    return {vcvtq_f32_u32(vmovl_u16(vget_low_u16(x))), vcvtq_f32_u32(vmovl_high_u16(x))};
}
inline f32x8 to_float(i32x8 a) { return {vcvtq_f32_s32(a.lo), vcvtq_f32_s32(a.hi)}; }
inline f32x8 mul(f32x8 a, f32x8 b) { return {vmulq_f32(a.lo, b.lo), vmulq_f32(a.hi, b.hi)}; }
inline f32x8 fma(f32x8 a, f32x8 b, f32x8 c) {
    return {vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi)};
}

// Always inline: gcc drops calls of functions that do nothing but prefetch.
[[gnu::always_inline]] inline void prefetch(const void* p) { __builtin_prefetch(p); }

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd
