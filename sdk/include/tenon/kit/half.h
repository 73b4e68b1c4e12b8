// tenon/kit/half.h - numbers of 16 bits: f16 (IEEE 754 binary16) and bf16 (upper half of a
// binary32).
//
// No tables and no branches: loops over these functions vectorise. Rounding is to nearest, ties to
// even; subnormals are kept in both directions.
#pragma once

#include <cstdint>

#include "tenon/kit/tag.h"

namespace tenon::kit {
inline namespace TENON_KIT_TAG {

// Exact. NaN becomes a quiet NaN with its payload in the upper mantissa bits.
TENON_KIT_HD constexpr float f16_to_f32(uint16_t h) {
    const uint32_t magnitude = h & 0x7FFFu;
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    // Below 2^-14 the mantissa counts units of 2^-24; everything else gets a larger exponent bias,
    // inf and NaN twice.
    const float tiny = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
    const uint32_t normal = (magnitude << 13) + (112u << 23);
    const uint32_t special = (magnitude << 13) + (224u << 23);
    const uint32_t quiet = magnitude > 0x7C00u ? 0x00400000u : 0u;
    uint32_t bits = magnitude < 0x0400u ? __builtin_bit_cast(uint32_t, tiny) : normal;
    bits = magnitude >= 0x7C00u ? (special | quiet) : bits;
    return __builtin_bit_cast(float, sign | bits);
}

// From 65520 on the result is inf; NaN loses its payload but keeps its sign.
TENON_KIT_HD constexpr uint16_t f32_to_f16(float f) {
    const uint32_t u = __builtin_bit_cast(uint32_t, f);
    const uint32_t magnitude = u & 0x7FFFFFFFu;
    const uint32_t sign = (u >> 16) & 0x8000u;
    // Normal results: drop 13 bits with rounding; a carry runs into the exponent, up to inf.
    const uint32_t normal = (magnitude + 0x0FFFu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
    // Below 2^-14: in 0.5 + |f| the last bit is worth 2^-24, so the addition does the rounding.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    const uint32_t tiny = __builtin_bit_cast(uint32_t, shifted) - 0x3F000000u;
    uint32_t bits = magnitude < 0x38800000u ? tiny : normal;
    bits = magnitude >= 0x477FF000u ? 0x7C00u : bits;
    bits = magnitude > 0x7F800000u ? 0x7E00u : bits;
    return static_cast<uint16_t>(sign | bits);
}

// Exact; a signalling NaN stays one.
TENON_KIT_HD constexpr float bf16_to_f32(uint16_t b) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(b) << 16);
}

TENON_KIT_HD constexpr uint16_t f32_to_bf16(float f) {
    const uint32_t u = __builtin_bit_cast(uint32_t, f);
    const uint32_t rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
    const uint32_t quiet_nan = (u >> 16) | 0x40u;
    return static_cast<uint16_t>((u & 0x7FFFFFFFu) > 0x7F800000u ? quiet_nan : rounded);
}

}  // namespace TENON_KIT_TAG
}  // namespace tenon::kit
