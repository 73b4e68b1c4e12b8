// The bits of q2_K … q6_K: codes and scales of a block as plain arrays, and back.
//
// pack() expects codes and scales in range and writes every byte of the fields it names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "tenon/blocks.h"

namespace tenon::quant {

// Codes of 2 bits, four per byte: element 128 h + 32 p + l has bits 2p of byte 32 h + l.
inline void unpack_2bit(const uint8_t* qs, uint8_t* codes) {
    for (int i = 0; i < TENON_QK_K; ++i) {
        codes[i] = qs[32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3;
    }
}
inline void pack_2bit(const uint8_t* codes, uint8_t* qs) {
    std::fill_n(qs, TENON_QK_K / 4, uint8_t{0});
    for (int i = 0; i < TENON_QK_K; ++i) {
        qs[32 * (i / 128) + i % 32] |= static_cast<uint8_t>((codes[i] & 3) << 2 * (i % 128 / 32));
    }
}

// Low four bits, two per byte: element 64 h + 32 p + l has nibble p of byte 32 h + l.
inline void unpack_4bit(const uint8_t* qs, uint8_t* codes) {
    for (int i = 0; i < TENON_QK_K; ++i)
        codes[i] = qs[32 * (i / 64) + i % 32] >> 4 * (i % 64 / 32) & 15;
}
inline void pack_4bit(const uint8_t* codes, uint8_t* qs) {
    std::fill_n(qs, TENON_QK_K / 2, uint8_t{0});
    for (int i = 0; i < TENON_QK_K; ++i) {
        qs[32 * (i / 64) + i % 32] |= static_cast<uint8_t>((codes[i] & 15) << 4 * (i % 64 / 32));
    }
}

// One bit each: element 32 p + l has bit p of byte l, worth 1 << kShift in the code.
template <int kShift>
void unpack_high_bit(const uint8_t* qh, uint8_t* codes) {
    for (int i = 0; i < TENON_QK_K; ++i) {
        codes[i] = static_cast<uint8_t>(codes[i] | (qh[i % 32] >> i / 32 & 1) << kShift);
    }
}
template <int kShift>
void pack_high_bit(const uint8_t* codes, uint8_t* qh) {
    std::fill_n(qh, TENON_QK_K / 8, uint8_t{0});
    for (int i = 0; i < TENON_QK_K; ++i) {
        qh[i % 32] |= static_cast<uint8_t>((codes[i] >> kShift & 1) << i / 32);
    }
}

// Eight scales and eight minimums of 6 bits in twelve bytes (q4_K, q5_K).
inline void unpack_pairs(const uint8_t* s, uint8_t* scales, uint8_t* mins) {
    for (int j = 0; j < 4; ++j) {
        scales[j] = s[j] & 63;
        mins[j] = s[j + 4] & 63;
        scales[j + 4] = static_cast<uint8_t>((s[j + 8] & 15) | s[j] >> 6 << 4);
        mins[j + 4] = static_cast<uint8_t>(s[j + 8] >> 4 | s[j + 4] >> 6 << 4);
    }
}
inline void pack_pairs(const uint8_t* scales, const uint8_t* mins, uint8_t* s) {
    for (int j = 0; j < 4; ++j) {
        s[j] = static_cast<uint8_t>(scales[j] | scales[j + 4] >> 4 << 6);
        s[j + 4] = static_cast<uint8_t>(mins[j] | mins[j + 4] >> 4 << 6);
        s[j + 8] = static_cast<uint8_t>((scales[j + 4] & 15) | (mins[j + 4] & 15) << 4);
    }
}

// Sixteen scales of 6 bits in twelve bytes (q3_K), biased by 32.
inline void unpack_sixteen(const uint8_t* s, uint8_t* scales) {
    for (int j = 0; j < 16; ++j) {
        const int low = j < 8 ? s[j] & 15 : s[j - 8] >> 4;
        scales[j] = static_cast<uint8_t>(low | (s[8 + j % 4] >> 2 * (j / 4) & 3) << 4);
    }
}
inline void pack_sixteen(const uint8_t* scales, uint8_t* s) {
    std::fill_n(s, 12, uint8_t{0});
    for (int j = 0; j < 16; ++j) {
        s[j % 8] |= static_cast<uint8_t>((scales[j] & 15) << 4 * (j / 8));
        s[8 + j % 4] |= static_cast<uint8_t>(scales[j] >> 4 << 2 * (j / 4));
    }
}

// q6_K: low four bits in ql, high two in qh; element 128 h + 32 g + l.
inline void unpack_q6(const tenon_block_q6_K& block, uint8_t* codes) {
    for (int i = 0; i < TENON_QK_K; ++i) {
        const int h = i / 128, g = i % 128 / 32, l = i % 32;
        const int low = block.ql[64 * h + 32 * (g % 2) + l] >> 4 * (g / 2) & 15;
        codes[i] = static_cast<uint8_t>(low | (block.qh[32 * h + l] >> 2 * g & 3) << 4);
    }
}
inline void pack_q6(const uint8_t* codes, tenon_block_q6_K& block) {
    std::fill(std::begin(block.ql), std::end(block.ql), uint8_t{0});
    std::fill(std::begin(block.qh), std::end(block.qh), uint8_t{0});
    for (int i = 0; i < TENON_QK_K; ++i) {
        const int h = i / 128, g = i % 128 / 32, l = i % 32;
        block.ql[64 * h + 32 * (g % 2) + l] |= static_cast<uint8_t>((codes[i] & 15) << 4 * (g / 2));
        block.qh[32 * h + l] |= static_cast<uint8_t>(codes[i] >> 4 << 2 * g);
    }
}

}  // namespace tenon::quant
