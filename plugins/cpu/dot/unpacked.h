// Products of the types whose blocks need more than a shift to become bytes. A block of each of a
// few weight rows is unpacked once, into bytes and scales that stay in the first-level cache, and
// multiplied with all columns; only unpacking differs per type.
#pragma once

#include <algorithm>
#include <cstring>

#include "plugins/cpu/dot/types.h"
#include "plugins/cpu/simd/simd.h"
#include "tenon/blocks.h"

namespace tenon::cpu {

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

using simd::f32x8;
using simd::i32x8;
using simd::i8x32;

template <Shape kShape>
f32x8 lanes_of(const float* scales, int64_t group) {
    if constexpr (kShape.per_scale == 32) {
        return simd::splat8(scales[group]);
    } else {
        return simd::splat8(scales[2 * group], scales[2 * group + 1]);
    }
}

// acc[r][c] += w[r] . y[c] over `n_groups` groups of 32, those that y points at.
template <Shape kShape, int R, int C>
void multiply(const Unpacked* w, const Q8Row* y, int n_groups, f32x8 (*acc)[C]) {
    f32x8 sum[R][C];
    TENON_UNROLL
    for (int r = 0; r < R; ++r) {
        TENON_UNROLL
        for (int c = 0; c < C; ++c) {
            sum[r][c] = acc[r][c];
            if constexpr (kShape.has_minima && kShape.per_scale == 32) {
                sum[r][c] = simd::fma(simd::load8(w[r].minima), simd::load8(y[c].sums), sum[r][c]);
            }
        }
    }
    for (int g = 0; g < n_groups; ++g) {
        i8x32 codes[R];
        f32x8 scales[R], minima[R];
        TENON_UNROLL
        for (int r = 0; r < R; ++r) {
            codes[r] = simd::load_i8(w[r].codes + 32 * g);
            scales[r] = lanes_of<kShape>(w[r].scales, g);
            if constexpr (kShape.has_minima && kShape.per_scale == 16) {
                minima[r] = lanes_of<kShape>(w[r].minima, g);
            }
        }
        TENON_UNROLL
        for (int c = 0; c < C; ++c) {
            const i8x32 x = simd::load_i8(y[c].codes + 32 * g);
            const f32x8 y_scale = simd::splat8(y[c].scales[g]);
            f32x8 totals;  // of four elements
            if constexpr (kShape.has_minima && kShape.per_scale == 16) {
                totals =
                    simd::mul(simd::to_float(simd::dot_unsigned(simd::splat_i8(1), x)), y_scale);
            }
            TENON_UNROLL
            for (int r = 0; r < R; ++r) {
                const i32x8 products =
                    kShape.is_signed ? simd::dot(codes[r], x) : simd::dot_unsigned(codes[r], x);
                sum[r][c] =
                    simd::fma(simd::to_float(products), simd::mul(scales[r], y_scale), sum[r][c]);
                if constexpr (kShape.has_minima && kShape.per_scale == 16) {
                    sum[r][c] = simd::fma(minima[r], totals, sum[r][c]);
                }
            }
        }
    }
    TENON_UNROLL
    for (int r = 0; r < R; ++r) {
        TENON_UNROLL
        for (int c = 0; c < C; ++c) acc[r][c] = sum[r][c];
    }
}

inline Q8Row from_group(const Q8Row& row, int64_t group) {
    return {row.codes + 32 * group, row.scales + group, row.sums + group};
}

constexpr int kRows = simd::kRegisters >= 32 ? 4 : 2;
constexpr int kMaxCols = 16;

// The columns of a tile that meet one unpacking, in register tiles of 4 columns, the rest of 1.
template <class B, int R>
struct Columns {
    int n_cols;
    Q8Row y[kMaxCols];
    f32x8 wide[kMaxCols / 4][R][4] = {};
    f32x8 narrow[3][R][1] = {};

    Columns(const Tile& tile, int64_t col, int n) : n_cols(n) {
        for (int c = 0; c < n; ++c) y[c] = Q8Row::at(tile.b[col + c], tile.k);
    }
    void add(const Unpacked* w, int64_t group, int n_groups) {
        Q8Row at[4];
        int c = 0;
        for (; c + 4 <= n_cols; c += 4) {
            for (int i = 0; i < 4; ++i) at[i] = from_group(y[c + i], group);
            multiply<B::kShape, R, 4>(w, at, n_groups, wide[c / 4]);
        }
        for (; c < n_cols; ++c) {
            at[0] = from_group(y[c], group);
            multiply<B::kShape, R, 1>(w, at, n_groups, narrow[c % 4]);
        }
    }
    float total(int r, int c) const {
        return simd::sum(c < n_cols / 4 * 4 ? wide[c / 4][r][c % 4] : narrow[c % 4][r][0]);
    }
};

template <class B>
constexpr int kBlocks = 256 / B::kElems;  // that are unpacked at a time
template <class B>
constexpr int kGroups = B::kElems / 32;

template <class B>
void unpack(const typename B::Bytes* blocks, int n_blocks, Unpacked& to) {
    constexpr int kScales = B::kElems / B::kShape.per_scale;
    for (int i = 0; i < n_blocks; ++i) {
        B::unpack(blocks[i],
                  {to.codes + B::kElems * i, to.scales + kScales * i, to.minima + kScales * i});
    }
}

template <class B, int R>
void rows_times_columns(const Tile& tile, int64_t row, int64_t col, int n_cols) {
    const typename B::Bytes* blocks[R];
    for (int r = 0; r < R; ++r) {
        blocks[r] = reinterpret_cast<const typename B::Bytes*>(
            tile.weights + static_cast<size_t>(row + r) * tile.row_stride);
    }
    Columns<B, R> columns(tile, col, n_cols);
    Unpacked w[R];
    const int64_t n_blocks = tile.k / B::kElems;
    for (int64_t i = 0; i < n_blocks; i += kBlocks<B>) {
        const int n = static_cast<int>(std::min<int64_t>(kBlocks<B>, n_blocks - i));
        for (int r = 0; r < R; ++r) unpack<B>(blocks[r] + i, n, w[r]);
        columns.add(w, i * kGroups<B>, n * kGroups<B>);
    }
    for (int c = 0; c < n_cols; ++c) {
        for (int r = 0; r < R; ++r) tile.dst[col + c][row + r] = columns.total(r, c);
    }
}

// Groups [group, group + n_groups) of a partner's row as part of a Q8Row.
struct PartnerGroups {
    alignas(32) int8_t codes[256];
    float scales[8];
    float sums[8];

    Q8Row of(const tenon_block_q8_K* row, int64_t group, int) {
        const tenon_block_q8_K& b = row[group / 8];
        for (int g = 0; g < 8; ++g) {
            scales[g] = b.d;
            sums[g] = b.d * static_cast<float>(b.bsums[2 * g] + b.bsums[2 * g + 1]);
        }
        return {b.qs, scales, sums};
    }
    Q8Row of(const tenon_block_q8_0* row, int64_t group, int n_groups) {
        for (int g = 0; g < n_groups; ++g) {
            std::memcpy(codes + 32 * g, row[group + g].qs, 32);
            scales[g] = simd::to_f32(row[group + g].d);
        }
        return {codes, scales, /*sums=*/nullptr};  // types with minima have partners with sums
    }
};

}  // namespace unpacked

template <ggml_type type>
void UnpackedDot<type>::tile(const Tile& tile) {
    using namespace unpacked;
    using B = Layout<type>;
    for (int64_t col = 0; col < tile.n_cols; col += kMaxCols) {
        const int n = static_cast<int>(std::min<int64_t>(kMaxCols, tile.n_cols - col));
        int64_t row = 0;
        for (; row + kRows <= tile.n_rows; row += kRows) {
            rows_times_columns<B, kRows>(tile, row, col, n);
        }
        for (; row < tile.n_rows; ++row) rows_times_columns<B, 1>(tile, row, col, n);
    }
}

template <ggml_type type>
void UnpackedDot<type>::vec_dot(int n, float* s, size_t, const void* x, size_t, const void* y,
                                size_t, int) {
    using B = Layout<type>;
    const auto* blocks = static_cast<const typename B::Bytes*>(x);
    const auto* partner = static_cast<const typename B::Partner*>(y);
    unpacked::f32x8 acc[1][1] = {};
    unpacked::PartnerGroups room;
    Unpacked w;
    constexpr int kBlocks = unpacked::kBlocks<B>, kGroups = unpacked::kGroups<B>;
    const int n_blocks = n / B::kElems;
    for (int i = 0; i < n_blocks; i += kBlocks) {
        const int count = std::min(kBlocks, n_blocks - i);
        unpacked::unpack<B>(blocks + i, count, w);
        const Q8Row row = room.of(partner, int64_t{i} * kGroups, count * kGroups);
        unpacked::multiply<B::kShape, 1, 1>(&w, &row, count * kGroups, acc);
    }
    *s = simd::sum(acc[0][0]);
}

}  // namespace tenon::cpu
