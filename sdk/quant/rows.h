// From functions over one block to functions over rows.
#pragma once

#include <cstdint>

#include "tenon/kit/half.h"
#include "tenon/quant.h"

namespace tenon::quant {

using kit::bf16_to_f32, kit::f16_to_f32, kit::f32_to_bf16, kit::f32_to_f16;

// Elements in a block of this struct.
template <class Block>
inline constexpr int kElems = 0;
#define TENON_ELEMS_OF_BLOCK(id, block, elems, align) \
    template <>                                       \
    inline constexpr int kElems<block> = TENON_BLOCK_##id;
TENON_BLOCK_STRUCTS(TENON_ELEMS_OF_BLOCK)
#undef TENON_ELEMS_OF_BLOCK

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
