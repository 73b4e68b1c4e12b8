// Unpacked blocks of weights, and what the file of a family says of its types.
#pragma once

#include <algorithm>
#include <cstring>

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/simd/simd.h"
#include "tenon/blocks.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

// Where a block, or several that follow each other, is unpacked to: element i is
// codes[i]*scales[i/per_scale], plus minima where the type has them, one per scale.
struct Unpacked {
    alignas(64) int8_t codes[256];
    alignas(32) float scales[16];
    alignas(32) float minima[16];
};

// The place of one block there.
struct Out {
    int8_t* codes;
    float* scales;
    float* minima;

    void set(int group, simd::i8x32 group_codes) const {  // of 32 elements
        simd::store_i8(codes + 32 * group, group_codes);
    }
};

// Eight scales: unit*(the bytes of `numbers`, the lowest first, plus offset), exact for numbers of
// the few bits they have.
inline void set_eight(float* scales, uint64_t numbers, float unit, float offset) {
    simd::store8(scales, simd::fma(simd::u8_to_float(numbers), simd::splat8(unit),
                                   simd::splat8(unit * offset)));
}
// Eight numbers of four bits, the low ones first, to bytes; eight of two bits.
inline uint64_t spread_nibbles(uint32_t x) {
    uint64_t s = (x | uint64_t{x} << 16) & 0x0000ffff0000ffff;
    s = (s | s << 8) & 0x00ff00ff00ff00ff;
    return (s | s << 4) & 0x0f0f0f0f0f0f0f0f;
}
inline uint64_t spread_pairs(uint32_t x) {
    uint64_t s = (x | uint64_t{x} << 24) & 0x000000ff000000ff;
    s = (s | s << 12) & 0x000f000f000f000f;
    return (s | s << 6) & 0x0303030303030303;
}
// Numbers at any address.
template <class T>
T load_number(const void* p) {
    T x;
    std::memcpy(&x, p, sizeof x);
    return x;
}

// What `multiply` must know of a type.
struct Shape {
    int per_scale;  // elements: 32 or 16
    bool is_signed;
    bool has_minima;  // with 32 elements per scale: eight groups a block
};

// What the file of a family says of each of its types, as static members:
//   Bytes                the block
//   Partner              tenon_block_q8_0 or tenon_block_q8_K
//   kElems               of a block, a multiple of 32 that divides 256
//   kShape
//   unpack(bytes, out)   fills what kShape names
template <ggml_type type>
struct Layout;

template <class Block, class PartnerBlock, int n_elems>
struct LayoutOf {
    using Bytes = Block;
    using Partner = PartnerBlock;
    static constexpr int kElems = n_elems;
};
template <class Block>
using KLayout = LayoutOf<Block, tenon_block_q8_K, TENON_QK_K>;

constexpr Shape kSigned32 = {32, /*is_signed=*/true, /*has_minima=*/false};
constexpr Shape kSigned16 = {16, /*is_signed=*/true, /*has_minima=*/false};

namespace unpacked {

inline Q8Row from_group(const Q8Row& row, int64_t group) {
    return {row.codes + 32 * group, row.scales + group, row.sums + group};
}

constexpr int kRows = simd::kRegisters >= 32 ? 4 : 2;
constexpr int kMaxCols = 16;  // that meet one unpacking

}  // namespace unpacked

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
