// Half precision in portable C++: one value at a time, exact in both directions as the format
// specification has it. Headers with conversion instructions use those for whole vectors.
#pragma once

#include <bit>
#include <cstdint>

#include "ggml.h"
#include "plugins/cpu/level.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

// f16 -> f32 is exact; a NaN becomes quiet and keeps its payload.
inline float half_to_float(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t magnitude = h & 0x7fffu;
    if (magnitude >= 0x7c00u) {  // infinity, NaN
        const uint32_t payload = (magnitude & 0x3ffu) << 13;
        return std::bit_cast<float>(sign | 0x7f800000u | payload | (payload ? 0x400000u : 0u));
    }
    // The bits, read as f32 exponent and mantissa, are 2^112 too small; subnormals come out right
    // because the multiplication normalises them.
    const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

// f32 -> f16: nearest, ties to even; from 65520 on infinity; subnormals are kept.
inline uint16_t float_to_half(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7e00u;
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
    if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 rounds to a multiple of 2^-24
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    }
    const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

inline float bfloat_to_float(ggml_bf16_t b) {
    return std::bit_cast<float>(static_cast<uint32_t>(b.bits) << 16);
}

// f32 -> bf16: nearest, ties to even; subnormals are kept; NaN stays NaN.
inline ggml_bf16_t float_to_bfloat(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>(bits >> 16 | 0x40u)};
    return {static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
