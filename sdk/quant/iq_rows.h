// Rows of the formats that search a code book: their tables, and a row of zeros where there is no
// memory for those.
#pragma once

#include <algorithm>

#include "sdk/quant/dot.h"
#include "sdk/quant/importance.h"
#include "sdk/quant/iq_neighbours.h"
#include "sdk/quant/rows.h"

namespace tenon::quant {

// Four bytes of a point as magnitudes, bits of `signs` from bit 0.
inline void decode_quad(uint32_t point, uint32_t signs, float scale, float* dst) {
    for (int i = 0; i < 4; ++i) {
        const float sign = 1 - 2 * static_cast<float>(signs >> i & 1);
        dst[i] = sign * scale * static_cast<float>(point >> 8 * i & 255);
    }
}

// Where a type can be quantized without importance.
enum class Unweighted { kNowhere, kInChunks, kEverywhere };

template <class Block>
using SearchedEncode = void (*)(const Neighbours& neighbours, const float* x,
                                const float* importance, Block& block);

// The importance of one block of kElems<Block>; where it says nothing and the type cannot do
// without, all columns count the same.
template <class Block, int kSub, Unweighted kUnweighted>
const float* block_importance(const float* x, const float* importance, float* room) {
    constexpr int kN = kElems<Block>;
    const float* columns = telling_importance(x, importance, kN, kSub, room);
    if (columns || kUnweighted != Unweighted::kNowhere) return columns;
    std::fill_n(room, kN, 1.0f);
    return room;
}

template <class Block, int kSub, Unweighted kUnweighted, LazyNeighbours& kNeighbours,
          SearchedEncode<Block> kEncode>
void quantize_searched(const float* src, void* dst, int64_t n, const float* importance) {
    constexpr int kN = kElems<Block>;
    auto* blocks = static_cast<Block*>(dst);
    const Neighbours* neighbours = kNeighbours.get();
    if (!neighbours) {
        std::fill_n(blocks, n / kN, Block{});
        return;
    }
    for (int64_t b = 0; b < n / kN; ++b) {
        const float* x = src + b * kN;
        float room[kN];
        const float* columns = nullptr;
        if (importance) {
            columns = block_importance<Block, kSub, kUnweighted>(x, importance + b * kN, room);
        }
        kEncode(*neighbours, x, columns, blocks[b]);
    }
}

template <class Block, int kSub, Unweighted kUnweighted, LazyNeighbours& kNeighbours,
          SearchedEncode<Block> kEncode>
void from_float_searched(const float* src, void* dst, int64_t n) {
    quantize_searched<Block, kSub, kUnweighted, kNeighbours, kEncode>(src, dst, n, nullptr);
}

template <LazyNeighbours& kNeighbours>
bool init_neighbours() {
    return kNeighbours.get() != nullptr;
}

template <LazyNeighbours& kNeighbours>
void release_neighbours() {
    kNeighbours.release();
}

// kSub: elements that share a searched scale.
template <class Block, int kSub, Unweighted kUnweighted, Decode<Block> kDecode,
          LazyNeighbours& kNeighbours, SearchedEncode<Block> kEncode>
constexpr Format searched_format(ggml_type type, ValidateBlocks validate) {
    return {
        .type = type,
        .to_float = row_to_float<Block, kDecode>,
        .from_float_ref = kUnweighted == Unweighted::kEverywhere
                              ? from_float_searched<Block, kSub, kUnweighted, kNeighbours, kEncode>
                              : nullptr,
        .quantize = quantize_searched<Block, kSub, kUnweighted, kNeighbours, kEncode>,
        .validate = validate,
        .partner = GGML_TYPE_Q8_K,
        .dot = dot_with_q8_K<Block, kDecode>,
        .uses_importance = true,
        .requires_importance = kUnweighted == Unweighted::kNowhere,
        .init = init_neighbours<kNeighbours>,
        .release = release_neighbours<kNeighbours>};
}

}  // namespace tenon::quant
