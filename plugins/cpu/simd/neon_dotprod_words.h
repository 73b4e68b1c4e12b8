// The SIMD words for NEON with the dot product instructions of Armv8.2, all but products of bf16
// and of pairs of rows, which neon_dotprod.h and neon_i8mm.h add.
#pragma once

#include "plugins/cpu/simd/neon_words.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

inline int32x4_t dot16(int8x16_t w, int8x16_t y) { return vdotq_s32(vdupq_n_s32(0), w, y); }
inline i32x8 dot(i8x32 w, i8x32 y) { return {dot16(w.lo, y.lo), dot16(w.hi, y.hi)}; }
inline i32x8 dot_unsigned(i8x32 w, i8x32 y) { return dot(w, y); }

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd
