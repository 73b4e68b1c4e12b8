// The SIMD words for Armv8.0 NEON.
#pragma once

#include "plugins/cpu/simd/neon_words.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

// Estimated from the number of instructions.
constexpr PanelsFrom kPanelsFrom = {.f32 = 24, .f16 = 24, .bf16 = 24, .blocks = 24, .minima = 24};

inline int32x4_t dot16(int8x16_t w, int8x16_t y) {
    const int16x8_t lo = vmull_s8(vget_low_s8(w), vget_low_s8(y));
    const int16x8_t hi = vmull_high_s8(w, y);
    return vpaddq_s32(vpaddlq_s16(lo), vpaddlq_s16(hi));
}
inline i32x8 dot(i8x32 w, i8x32 y) { return {dot16(w.lo, y.lo), dot16(w.hi, y.hi)}; }
inline i32x8 dot_unsigned(i8x32 w, i8x32 y) { return dot(w, y); }

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd

#include "plugins/cpu/simd/bf16_pairs_fallback.h"
#include "plugins/cpu/simd/row_pairs_fallback.h"
