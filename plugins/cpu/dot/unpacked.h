// Products of the types whose blocks need more than a shift to become bytes. A block of each of a
// few weight rows is unpacked once, into bytes and scales that stay in the first-level cache, and
// multiplied with all columns; only unpacking differs per type.
#pragma once

#include <type_traits>

#include "plugins/cpu/dot/tiling.h"
#include "plugins/cpu/dot/types.h"
#include "plugins/cpu/dot/unpacked_lanes.h"
#include "plugins/cpu/dot/unpacked_pairs.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

namespace unpacked {

template <class B, int R>
using Columns = std::conditional_t<simd::kRowPairs, PairColumns<B, R>, LaneColumns<B, R>>;

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
    constexpr size_t kBytes = sizeof(typename B::Bytes);
    const int64_t n_blocks = tile.k / B::kElems;
    const Prefetch<R> prefetch(tile, col, n_blocks * kBytes);
    for (int64_t i = 0; i < n_blocks; i += kBlocks<B>) {
        const int n = static_cast<int>(std::min<int64_t>(kBlocks<B>, n_blocks - i));
        for (int r = 0; r < R; ++r) {
            prefetch(blocks[r] + i, i * kBytes, kBlocks<B> * kBytes);
            unpack<B>(blocks[r] + i, n, w[r]);
        }
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

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
