// The SIMD words for AVX-512.
#pragma once

#include "plugins/cpu/simd/avx512_words.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

// Measured, rows of 4096 elements; of the quantised types the middle one.
constexpr PanelsFrom kPanelsFrom = {.f32 = 18, .f16 = 60, .bf16 = 60, .blocks = 36, .minima = 18};

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd

#include "plugins/cpu/simd/bf16_pairs_fallback.h"
#include "plugins/cpu/simd/row_pairs_fallback.h"
