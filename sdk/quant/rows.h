// From functions over one block to functions over rows.
#pragma once

#include <cstdint>

#include "sdk/quant/quant.h"

namespace tenon::quant {

// Elements in a block of this struct.
template <class Block>
inline constexpr int kElems = TENON_QK_K;
template <>
inline constexpr int kElems<tenon_block_q1_0> = TENON_QK_Q1_0;
template <>
inline constexpr int kElems<tenon_block_q2_0> = TENON_QK_Q2_0;
template <>
inline constexpr int kElems<tenon_block_q4_0> = TENON_QK_LEGACY;
template <>
inline constexpr int kElems<tenon_block_q4_1> = TENON_QK_LEGACY;
template <>
inline constexpr int kElems<tenon_block_q5_0> = TENON_QK_LEGACY;
template <>
inline constexpr int kElems<tenon_block_q5_1> = TENON_QK_LEGACY;
template <>
inline constexpr int kElems<tenon_block_q8_0> = TENON_QK_LEGACY;
template <>
inline constexpr int kElems<tenon_block_q8_1> = TENON_QK_LEGACY;
template <>
inline constexpr int kElems<tenon_block_mxfp4> = TENON_QK_MXFP4;
template <>
inline constexpr int kElems<tenon_block_nvfp4> = TENON_QK_NVFP4;
template <>
inline constexpr int kElems<tenon_block_iq4_nl> = TENON_QK_IQ4_NL;

template <class Block>
using Decode = void (*)(const Block& block, float* dst);
template <class Block>
using Encode = void (*)(const float* src, Block& block);

template <class Block, Decode<Block> kDecode>
void row_to_float(const void* src, float* dst, int64_t n) {
    const auto* blocks = static_cast<const Block*>(src);
    for (int64_t b = 0; b < n / kElems<Block>; ++b) kDecode(blocks[b], dst + b * kElems<Block>);
}

template <class Block, Encode<Block> kEncode>
void row_from_float(const float* src, void* dst, int64_t n) {
    auto* blocks = static_cast<Block*>(dst);
    for (int64_t b = 0; b < n / kElems<Block>; ++b) kEncode(src + b * kElems<Block>, blocks[b]);
}

// A quantizer that has no use for weights.
template <FromFloat kFromFloat>
void ignore_importance(const float* src, void* dst, int64_t n, const float*) {
    kFromFloat(src, dst, n);
}

constexpr bool is_finite_f16(uint16_t bits) { return (bits & 0x7c00) != 0x7c00; }

// Validates blocks whose scales are the given binary16 fields.
template <class Block, uint16_t Block::*... kFields>
bool finite_fields(const void* data, int64_t n_blocks) {
    const auto* blocks = static_cast<const Block*>(data);
    for (int64_t b = 0; b < n_blocks; ++b) {
        if (!(is_finite_f16(blocks[b].*kFields) && ...)) return false;
    }
    return true;
}

inline bool always_valid(const void*, int64_t) { return true; }

}  // namespace tenon::quant
