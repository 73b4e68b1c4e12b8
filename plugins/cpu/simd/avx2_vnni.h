// The SIMD words for AVX2 with AVX-VNNI.
#pragma once

#include "plugins/cpu/simd/avx2_words.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

// Measured, rows of 4096 elements; of the quantised types the middle one.
constexpr PanelsFrom kPanelsFrom = {
    .f32 = 12, .f16 = 20, .bf16 = 20, .blocks = kNeverPanels, .minima = 48};

inline i32x8 dot_unsigned(i8x32 w, i8x32 y) {
    return {_mm256_dpbusd_avx_epi32(_mm256_setzero_si256(), w.v, y.v)};
}
inline i32x8 dot(i8x32 w, i8x32 y) {
    return dot_unsigned({_mm256_abs_epi8(w.v)}, {_mm256_sign_epi8(y.v, w.v)});
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd

#include "plugins/cpu/simd/bf16_pairs_fallback.h"
#include "plugins/cpu/simd/row_pairs_fallback.h"
