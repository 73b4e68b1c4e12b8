// The SIMD words for NEON with the dot product instructions for bf16, without products of bytes.
#pragma once

#include "plugins/cpu/simd/neon_words.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

// Estimated from the number of instructions.
constexpr PanelsFrom kPanelsFrom = {.f32 = 24, .f16 = 24, .bf16 = 24, .blocks = 24, .minima = 24};

constexpr bool kBf16Dot = true;

struct bf16x2 {
    bfloat16x8_t v;
};
inline bf16x2 load_pairs(const ggml_bf16_t* p) {
    return {vld1q_bf16(reinterpret_cast<const bfloat16_t*>(p))};
}
inline bf16x2 splat_pair(const ggml_bf16_t* p) {
    uint32_t both;
    std::memcpy(&both, p, sizeof both);
    return {vreinterpretq_bf16_u32(vdupq_n_u32(both))};
}
// Processors may take subnormal numbers for zero.
inline f32 dot(bf16x2 a, bf16x2 b, f32 acc) { return {vbfdotq_f32(acc.v, a.v, b.v)}; }

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd
