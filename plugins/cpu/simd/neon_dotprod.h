// The SIMD words for NEON with the dot product instructions of Armv8.2.
#pragma once

#include "plugins/cpu/simd/neon_dotprod_words.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

// Estimated from the number of instructions.
constexpr PanelsFrom kPanelsFrom = {.f32 = 24, .f16 = 24, .bf16 = 24, .blocks = 96, .minima = 48};

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd

#include "plugins/cpu/simd/bf16_pairs_fallback.h"
#include "plugins/cpu/simd/row_pairs_fallback.h"
