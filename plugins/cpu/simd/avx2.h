// The SIMD words for AVX2 with FMA and F16C.
#pragma once

#include "plugins/cpu/simd/avx2_words.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

// Measured, rows of 4096 elements; of the quantised types the middle one.
constexpr PanelsFrom kPanelsFrom = {.f32 = 12, .f16 = 20, .bf16 = 20, .blocks = 72, .minima = 40};

inline i32x8 dot(i8x32 w, i8x32 y) {
    // |w| <= 128 and |y| <= 127, so that a pair of products stays below 2^15.
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w.v), _mm256_sign_epi8(y.v, w.v));
    return {_mm256_madd_epi16(pairs, _mm256_set1_epi16(1))};
}
inline i32x8 dot_unsigned(i8x32 w, i8x32 y) {
    return {_mm256_madd_epi16(_mm256_maddubs_epi16(w.v, y.v), _mm256_set1_epi16(1))};
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd

#include "plugins/cpu/simd/bf16_pairs_fallback.h"
#include "plugins/cpu/simd/row_pairs_fallback.h"
