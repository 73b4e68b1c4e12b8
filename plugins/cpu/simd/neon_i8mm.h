// The SIMD words for NEON with the dot product and matrix instructions for bytes (I8MM).
#pragma once

#include "plugins/cpu/simd/neon_dotprod_words.h"

#include "plugins/cpu/simd/bf16_pairs_fallback.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

constexpr bool kRowPairs = true;
// Estimated from the number of instructions.
constexpr PanelsFrom kPanelsFrom = {
    .f32 = 24, .f16 = 24, .bf16 = 24, .blocks = kNeverPanels, .minima = kNeverPanels};

struct i8x32x2 {  // eight elements of one row, eight of the other, and so on
    int8x16_t v[4];
};
struct f32x4 {
    float32x4_t v;
};

inline i8x32x2 pair(i8x32 first, i8x32 second) {
    const auto zip = [](int8x16_t a, int8x16_t b, bool high) {
        const int64x2_t x = vreinterpretq_s64_s8(a), y = vreinterpretq_s64_s8(b);
        return vreinterpretq_s8_s64(high ? vzip2q_s64(x, y) : vzip1q_s64(x, y));
    };
    return {{zip(first.lo, second.lo, false), zip(first.lo, second.lo, true),
             zip(first.hi, second.hi, false), zip(first.hi, second.hi, true)}};
}
template <int half>
int32x4_t add_half(int32x4_t acc, i8x32x2 w, i8x32x2 y) {
    acc = vmmlaq_s32(acc, w.v[2 * half], y.v[2 * half]);
    return vmmlaq_s32(acc, w.v[2 * half + 1], y.v[2 * half + 1]);
}
template <int half>
f32x4 dot_half(i8x32x2 w, i8x32x2 y) {
    return {vcvtq_f32_s32(add_half<half>(vdupq_n_s32(0), w, y))};
}
inline f32x4 dot(i8x32x2 w, i8x32x2 y) {
    return {vcvtq_f32_s32(add_half<1>(add_half<0>(vdupq_n_s32(0), w, y), w, y))};
}

inline f32x4 of_first(float w0, float w1) { return {vcombine_f32(vdup_n_f32(w0), vdup_n_f32(w1))}; }
inline f32x4 of_second(float y0, float y1) {
    return {vzip1q_f32(vdupq_n_f32(y0), vdupq_n_f32(y1))};
}
inline f32x4 mul(f32x4 a, f32x4 b) { return {vmulq_f32(a.v, b.v)}; }
inline f32x4 fma(f32x4 a, f32x4 b, f32x4 c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
inline void store4(float* p, f32x4 a) { vst1q_f32(p, a.v); }

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd
