// The bits of q2_K … q6_K: codes and scales of a block as plain arrays, and back.
//
// pack() expects codes and scales in range and writes every byte of the fields it names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "tenon/blocks.h"

namespace tenon::quant {

// Fields of kBits bits: element (8 / kBits) * 32 h + 32 p + l has field p of byte 32 h + l.
template <int kBits>
void unpack_fields(const uint8_t* qs, uint8_t* codes) {
    constexpr int kPerByte = 8 / kBits, kMask = (1 << kBits) - 1;
    for (int h = 0; h < TENON_QK_K / 32; h += kPerByte) {
        for (int p = 0; p < kPerByte; ++p) {
            for (int l = 0; l < 32; ++l) codes[l] = qs[l] >> kBits * p & kMask;
            codes += 32;
        }
        qs += 32;
    }
}
template <int kBits>
void pack_fields(const uint8_t* codes, uint8_t* qs) {
    constexpr int kPerByte = 8 / kBits, kMask = (1 << kBits) - 1;
    for (int h = 0; h < TENON_QK_K / 32; h += kPerByte) {
        std::fill_n(qs, 32, uint8_t{0});
        for (int p = 0; p < kPerByte; ++p) {
            for (int l = 0; l < 32; ++l)
                qs[l] |= static_cast<uint8_t>((codes[l] & kMask) << kBits * p);
            codes += 32;
        }
        qs += 32;
    }
}

// One bit each: element 32 p + l has bit p of byte l, worth 1 << kShift in the code.
template <int kShift>
void unpack_high_bit(const uint8_t* qh, uint8_t* codes) {
    for (int p = 0; p < TENON_QK_K / 32; ++p) {
        for (int l = 0; l < 32; ++l) {
            codes[32 * p + l] |= static_cast<uint8_t>((qh[l] >> p & 1) << kShift);
        }
    }
}
template <int kShift>
void pack_high_bit(const uint8_t* codes, uint8_t* qh) {
    std::fill_n(qh, TENON_QK_K / 8, uint8_t{0});
    for (int p = 0; p < TENON_QK_K / 32; ++p) {
        for (int l = 0; l < 32; ++l) {
            qh[l] |= static_cast<uint8_t>((codes[32 * p + l] >> kShift & 1) << p);
        }
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

// q6_K: element 128 h + 32 g + l has four bits in ql, two runs of 32 per 64 bytes, and two in qh.
inline void unpack_q6(const tenon_block_q6_K& block, uint8_t* codes) {
    for (int h = 0; h < 2; ++h) {
        for (int g = 0; g < 4; ++g) {
            const uint8_t* ql = block.ql + 64 * h + 32 * (g % 2);
            const uint8_t* qh = block.qh + 32 * h;
            for (int l = 0; l < 32; ++l) {
                codes[l] =
                    static_cast<uint8_t>((ql[l] >> 4 * (g / 2) & 15) | (qh[l] >> 2 * g & 3) << 4);
            }
            codes += 32;
        }
    }
}
inline void pack_q6(const uint8_t* codes, tenon_block_q6_K& block) {
    std::fill(std::begin(block.ql), std::end(block.ql), uint8_t{0});
    std::fill(std::begin(block.qh), std::end(block.qh), uint8_t{0});
    for (int h = 0; h < 2; ++h) {
        for (int g = 0; g < 4; ++g) {
            uint8_t* ql = block.ql + 64 * h + 32 * (g % 2);
            uint8_t* qh = block.qh + 32 * h;
            for (int l = 0; l < 32; ++l) {
                ql[l] |= static_cast<uint8_t>((codes[l] & 15) << 4 * (g / 2));
                qh[l] |= static_cast<uint8_t>(codes[l] >> 4 << 2 * g);
            }
            codes += 32;
        }
    }
}

}  // namespace tenon::quant
