// The SIMD words for AVX-512 with BF16 instructions.
#pragma once

#include "plugins/cpu/simd/avx512_words.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

// Measured, rows of 4096 elements; of the quantised types the middle one.
constexpr PanelsFrom kPanelsFrom = {.f32 = 18, .f16 = 60, .bf16 = 32, .blocks = 36, .minima = 18};

constexpr bool kBf16Dot = true;

struct bf16x2 {
    __m512bh v;
};
inline bf16x2 load_pairs(const ggml_bf16_t* p) {
    return {reinterpret_cast<__m512bh>(_mm512_loadu_si512(p))};
}
inline bf16x2 splat_pair(const ggml_bf16_t* p) {
    int32_t both;
    std::memcpy(&both, p, sizeof both);
    return {reinterpret_cast<__m512bh>(_mm512_set1_epi32(both))};
}
// Takes subnormal numbers for zero, makes none, and rounds to nearest even whatever the mode.
inline f32 dot(bf16x2 a, bf16x2 b, f32 acc) { return {_mm512_dpbf16_ps(acc.v, a.v, b.v)}; }

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd

#include "plugins/cpu/simd/row_pairs_fallback.h"
