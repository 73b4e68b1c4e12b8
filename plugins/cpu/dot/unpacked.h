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

// A block: element i is codes[i]*scales[i/kPerScale], plus minima where the type has them, one per
// scale.
struct Unpacked {
    alignas(64) int8_t codes[256];
    alignas(32) float scales[16];
    alignas(32) float minima[16];

    void set(int group, simd::i8x32 group_codes) {  // of 32 elements
        simd::store_i8(codes + 32 * group, group_codes);
    }
};

// What `multiply` must know of a type.
struct Shape {
    int per_scale;  // elements: 32 or 16
    bool is_signed;
    bool has_minima;  // with 32 elements per scale: eight groups a block
};

// What the file of a family says of each of its types, as static members:
//   Bytes                the block
//   Partner              tenon_block_q8_0 or tenon_block_q8_K
//   kElems               of a block, a multiple of 32
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
    void add(const Unpacked* w, int64_t group) {
        constexpr int kGroups = B::kElems / 32;
        Q8Row at[4];
        int c = 0;
        for (; c + 4 <= n_cols; c += 4) {
            for (int i = 0; i < 4; ++i) at[i] = from_group(y[c + i], group);
            multiply<B::kShape, R, 4>(w, at, kGroups, wide[c / 4]);
        }
        for (; c < n_cols; ++c) {
            at[0] = from_group(y[c], group);
            multiply<B::kShape, R, 1>(w, at, kGroups, narrow[c % 4]);
        }
    }
    float total(int r, int c) const {
        return simd::sum(c < n_cols / 4 * 4 ? wide[c / 4][r][c % 4] : narrow[c % 4][r][0]);
    }
};

template <class B, int R>
void rows_times_columns(const Tile& tile, int64_t row, int64_t col, int n_cols) {
    const typename B::Bytes* blocks[R];
    for (int r = 0; r < R; ++r) {
        blocks[r] = reinterpret_cast<const typename B::Bytes*>(
            tile.weights + static_cast<size_t>(row + r) * tile.row_stride);
    }
    Columns<B, R> columns(tile, col, n_cols);
    Unpacked w[R];
    for (int64_t i = 0; i < tile.k / B::kElems; ++i) {
        for (int r = 0; r < R; ++r) B::unpack(blocks[r][i], w[r]);
        columns.add(w, i * (B::kElems / 32));
    }
    for (int c = 0; c < n_cols; ++c) {
        for (int r = 0; r < R; ++r) tile.dst[col + c][row + r] = columns.total(r, c);
    }
}

// Block i of a row that is as long as whole blocks of B, as the part of a Q8Row.
struct PartnerBlock {
    alignas(32) int8_t codes[256];
    float scales[8];
    float sums[8];
};
template <class B>
Q8Row partner_block(const tenon_block_q8_K* row, int64_t i, PartnerBlock& room) {
    const tenon_block_q8_K& b = row[i];
    for (int g = 0; g < 8; ++g) {
        room.scales[g] = b.d;
        room.sums[g] = b.d * static_cast<float>(b.bsums[2 * g] + b.bsums[2 * g + 1]);
    }
    return {b.qs, room.scales, room.sums};
}
template <class B>
Q8Row partner_block(const tenon_block_q8_0* row, int64_t i, PartnerBlock& room) {
    static_assert(!B::kShape.has_minima, "q8_0 rows do not know their sums");
    constexpr int kGroups = B::kElems / 32;
    for (int g = 0; g < kGroups; ++g) {
        const tenon_block_q8_0& b = row[i * kGroups + g];
        std::memcpy(room.codes + 32 * g, b.qs, 32);
        room.scales[g] = simd::to_f32(b.d);
    }
    return {room.codes, room.scales, nullptr};
}

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
    unpacked::PartnerBlock room;
    Unpacked w;
    for (int i = 0; i < n / B::kElems; ++i) {
        B::unpack(blocks[i], w);
        const Q8Row row = unpacked::partner_block<B>(partner, i, room);
        unpacked::multiply<B::kShape, 1, 1>(&w, &row, B::kElems / 32, acc);
    }
    *s = simd::sum(acc[0][0]);
}

}  // namespace tenon::cpu
