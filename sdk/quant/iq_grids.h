// The code books of iq1, iq2 and iq3: points that a block names by index.
//
// Also for plugins: tables are constants, functions need nothing else of this room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tenon/codebooks.h"

namespace tenon::quant {

// Points as signed bytes, element 0 in the low byte. Bytes of iq2: 8 25 43; of iq3xxs: 4 12 … 52
// 62; of iq3s: 1 3 … 15; of iq1s, which iq1_m shares: -1 0 1.
extern const std::array<uint64_t, 256> kGridIq2xxs;
extern const std::array<uint64_t, 512> kGridIq2xs;
extern const std::array<uint64_t, 1024> kGridIq2s;
extern const std::array<uint32_t, 256> kGridIq3xxs;
extern const std::array<uint32_t, 512> kGridIq3s;
extern const std::array<uint64_t, 2048> kGridIq1s;

// iq1 adds or subtracts this to all elements of a group.
inline constexpr float kIq1Delta = TENON_IQ1_DELTA;

// The same points as digits of their levels 0 … levels - 1, element 0 in the low bits: what
// quantizers search. Ascending and without repetition.
struct CodeBook {
    const uint16_t* points;
    int size;
    int elems;   // 8 or 4
    int bits;    // per digit, 2 or 3
    int levels;  // 3 or 8
};

extern const CodeBook kBookIq2xxs, kBookIq2xs, kBookIq2s, kBookIq3xxs, kBookIq3s, kBookIq1s;

// Signs of 8 elements from seven bits: the eighth makes the number of minus signs even.
inline constexpr std::array<uint8_t, 128> kEvenSigns{TENON_IQ_EVEN_SIGNS};

// Levels of iq4_nl and iq4_xs by code.
inline constexpr int8_t kIq4Levels[16] = {TENON_IQ4_LEVELS};

}  // namespace tenon::quant
