// Products of the types with blocks of 32 and one scale: weights are unpacked to signed bytes once
// and multiplied with the 8-bit codes of several columns.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "plugins/cpu/dot/tiling.h"
#include "plugins/cpu/dot/types.h"
#include "plugins/cpu/simd/simd.h"
#include "tenon/blocks.h"
#include "tenon/codebooks.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {
namespace {

using simd::f32x4;
using simd::f32x8;
using simd::i8x32;
using simd::i8x32x2;

// value = code*scale, plus `minimum` where there is one
template <ggml_type type>
struct Block;

template <>
struct Block<GGML_TYPE_Q8_0> {
    using Bytes = tenon_block_q8_0;
    using Partner = tenon_block_q8_0;
    static i8x32 codes(const Bytes& b) { return simd::load_i8(b.qs); }
    static float scale(const Bytes& b) { return simd::to_f32(b.d); }
};

template <>
struct Block<GGML_TYPE_Q4_0> {
    using Bytes = tenon_block_q4_0;
    using Partner = tenon_block_q8_0;
    static i8x32 codes(const Bytes& b) { return simd::sub(simd::load_u4(b.qs), int8_t{8}); }
    static float scale(const Bytes& b) { return simd::to_f32(b.d); }
};

template <>
struct Block<GGML_TYPE_Q4_1> {
    using Bytes = tenon_block_q4_1;
    using Partner = tenon_block_q8_1;
    static i8x32 codes(const Bytes& b) { return simd::load_u4(b.qs); }
    static float scale(const Bytes& b) { return simd::to_f32(b.d); }
    static float minimum(const Bytes& b) { return simd::to_f32(b.m); }
};

// The fifth bits of 32 elements.
uint32_t high_bits(const uint8_t* qh) {
    uint32_t bits;
    std::memcpy(&bits, qh, sizeof bits);
    return bits;
}

template <>
struct Block<GGML_TYPE_Q5_0> {
    using Bytes = tenon_block_q5_0;
    using Partner = tenon_block_q8_0;
    static i8x32 codes(const Bytes& b) {  // less 16
        return simd::add(simd::load_u4(b.qs), simd::select_bits(high_bits(b.qh), 0, -16));
    }
    static float scale(const Bytes& b) { return simd::to_f32(b.d); }
};

template <>
struct Block<GGML_TYPE_Q5_1> {
    using Bytes = tenon_block_q5_1;
    using Partner = tenon_block_q8_1;
    static i8x32 codes(const Bytes& b) {
        return simd::add(simd::load_u4(b.qs), simd::select_bits(high_bits(b.qh), 16, 0));
    }
    static float scale(const Bytes& b) { return simd::to_f32(b.d); }
    static float minimum(const Bytes& b) { return simd::to_f32(b.m); }
};

template <>
struct Block<GGML_TYPE_IQ4_NL> {
    using Bytes = tenon_block_iq4_nl;
    using Partner = tenon_block_q8_0;
    static constexpr int8_t kValues[16] = {TENON_IQ4_LEVELS};
    static i8x32 codes(const Bytes& b) { return simd::look_up(kValues, simd::load_u4(b.qs)); }
    static float scale(const Bytes& b) { return simd::to_f32(b.d); }
};

template <>
struct Block<GGML_TYPE_MXFP4> {
    using Bytes = tenon_block_mxfp4;
    using Partner = tenon_block_q8_0;
    // e2m1 doubled; the scale is halved
    static constexpr int8_t kValues[16] = {TENON_E2M1_TWICE};
    static i8x32 codes(const Bytes& b) { return simd::look_up(kValues, simd::load_u4(b.qs)); }
    // 2^(e-128)
    static constexpr auto kHalfScales = [] {
        std::array<float, 256> scales{};
        for (uint32_t e = 0; e < 256; ++e) {
            scales[e] = std::bit_cast<float>(e < 2 ? 0x200000u << e : (e - 1) << 23);
        }
        return scales;
    }();
    static float scale(const Bytes& b) { return kHalfScales[b.e]; }
};

template <class B>
constexpr bool kHasMinimum = requires(const typename B::Bytes& b) {
    B::minimum(b);
};

template <class B>
struct Q8Tile {
    static constexpr int kRows = simd::kRegisters >= 32 ? 4 : 2;
    static constexpr int kCols = 4;

    template <int R, int C>
    static void run(const Tile& tile, int64_t row, int64_t col) {
        const typename B::Bytes* w[R];
        Q8Row y[C];
        TENON_UNROLL
        for (int r = 0; r < R; ++r) {
            w[r] = reinterpret_cast<const typename B::Bytes*>(tile.weights +
                                                              (row + r) * tile.row_stride);
        }
        TENON_UNROLL
        for (int c = 0; c < C; ++c) y[c] = Q8Row::at(tile.b[col + c], tile.k);

        const Prefetch<R> prefetch(tile, col, tile.k / 32 * sizeof(typename B::Bytes));
        f32x8 acc[R][C] = {};
        float minima[R][C] = {};
        for (int64_t i = 0; i < tile.k / 32; ++i) {
            i8x32 codes[R];
            float scale[R];
            TENON_UNROLL
            for (int r = 0; r < R; ++r) {
                prefetch(&w[r][i], i * sizeof(typename B::Bytes));
                codes[r] = B::codes(w[r][i]);
                scale[r] = B::scale(w[r][i]);
            }
            TENON_UNROLL
            for (int c = 0; c < C; ++c) {
                const i8x32 x = simd::load_i8(y[c].codes + 32 * i);
                TENON_UNROLL
                for (int r = 0; r < R; ++r) {
                    acc[r][c] =
                        simd::fma(simd::dot(codes[r], x), scale[r] * y[c].scales[i], acc[r][c]);
                    if constexpr (kHasMinimum<B>)
                        minima[r][c] += B::minimum(w[r][i]) * y[c].sums[i];
                }
            }
        }
        TENON_UNROLL
        for (int c = 0; c < C; ++c) {
            TENON_UNROLL
            for (int r = 0; r < R; ++r) {
                tile.dst[col + c][row + r] = simd::sum(acc[r][c]) + minima[r][c];
            }
        }
    }
};

// The same, two rows with two columns at a time (simd/row_pairs_fallback.h). What is missing to
// make pairs is a repetition of the last.
template <class B>
struct Q8PairTile {
    static constexpr int kRows = 4;
    static constexpr int kCols = 4;

    template <int R, int C>
    static void run(const Tile& tile, int64_t row, int64_t col) {
        constexpr int kRowPairs = (R + 1) / 2, kColPairs = (C + 1) / 2;
        const typename B::Bytes* w[R];
        Q8Row y[C];
        TENON_UNROLL
        for (int r = 0; r < R; ++r) {
            w[r] = reinterpret_cast<const typename B::Bytes*>(tile.weights +
                                                              (row + r) * tile.row_stride);
        }
        TENON_UNROLL
        for (int c = 0; c < C; ++c) y[c] = Q8Row::at(tile.b[col + c], tile.k);

        const Prefetch<R> prefetch(tile, col, tile.k / 32 * sizeof(typename B::Bytes));
        f32x4 acc[kRowPairs][kColPairs] = {};
        for (int64_t i = 0; i < tile.k / 32; ++i) {
            i8x32x2 codes[kRowPairs];
            f32x4 scales[kRowPairs], minima[kRowPairs];
            TENON_UNROLL
            for (int r = 0; r < kRowPairs; ++r) {
                const auto &a = w[2 * r][i], &b = w[std::min(2 * r + 1, R - 1)][i];
                prefetch(&a, i * sizeof(typename B::Bytes));
                prefetch(&b, i * sizeof(typename B::Bytes));
                codes[r] = simd::pair(B::codes(a), B::codes(b));
                scales[r] = simd::of_first(B::scale(a), B::scale(b));
                if constexpr (kHasMinimum<B>) {
                    minima[r] = simd::of_first(B::minimum(a), B::minimum(b));
                }
            }
            TENON_UNROLL
            for (int c = 0; c < kColPairs; ++c) {
                const Q8Row &a = y[2 * c], &b = y[std::min(2 * c + 1, C - 1)];
                const i8x32x2 x =
                    simd::pair(simd::load_i8(a.codes + 32 * i), simd::load_i8(b.codes + 32 * i));
                const f32x4 x_scales = simd::of_second(a.scales[i], b.scales[i]);
                TENON_UNROLL
                for (int r = 0; r < kRowPairs; ++r) {
                    acc[r][c] = simd::fma(simd::dot(codes[r], x), simd::mul(scales[r], x_scales),
                                          acc[r][c]);
                    if constexpr (kHasMinimum<B>) {
                        acc[r][c] =
                            simd::fma(minima[r], simd::of_second(a.sums[i], b.sums[i]), acc[r][c]);
                    }
                }
            }
        }
        for (int c = 0; c < C; ++c) {
            for (int r = 0; r < R; ++r) {
                float four[4];
                simd::store4(four, acc[r / 2][c / 2]);
                tile.dst[col + c][row + r] = four[2 * (r % 2) + c % 2];
            }
        }
    }
};

}  // namespace

template <ggml_type type>
void tile_q8(const Tile& tile) {
    using B = Block<type>;
    tile_all<std::conditional_t<simd::kRowPairs, Q8PairTile<B>, Q8Tile<B>>>(tile);
}

template <ggml_type type>
void vec_dot_q8(int n, float* s, size_t, const void* x, size_t, const void* y, size_t, int) {
    using B = Block<type>;
    const auto* w = static_cast<const typename B::Bytes*>(x);
    const auto* p = static_cast<const typename B::Partner*>(y);
    f32x8 acc{};
    float minima = 0;
    for (int i = 0; i < n / 32; ++i) {
        const float scale = B::scale(w[i]) * simd::to_f32(p[i].d);
        acc = simd::fma(simd::dot(B::codes(w[i]), simd::load_i8(p[i].qs)), scale, acc);
        if constexpr (kHasMinimum<B>) minima += B::minimum(w[i]) * simd::to_f32(p[i].s);
    }
    *s = simd::sum(acc) + minima;
}

template void tile_q8<GGML_TYPE_Q8_0>(const Tile&);
template void tile_q8<GGML_TYPE_Q4_0>(const Tile&);
template void tile_q8<GGML_TYPE_Q4_1>(const Tile&);
template void tile_q8<GGML_TYPE_Q5_0>(const Tile&);
template void tile_q8<GGML_TYPE_Q5_1>(const Tile&);
template void tile_q8<GGML_TYPE_IQ4_NL>(const Tile&);
template void tile_q8<GGML_TYPE_MXFP4>(const Tile&);
template void vec_dot_q8<GGML_TYPE_Q8_0>(int, float*, size_t, const void*, size_t, const void*,
                                         size_t, int);
template void vec_dot_q8<GGML_TYPE_Q4_0>(int, float*, size_t, const void*, size_t, const void*,
                                         size_t, int);
template void vec_dot_q8<GGML_TYPE_Q4_1>(int, float*, size_t, const void*, size_t, const void*,
                                         size_t, int);
template void vec_dot_q8<GGML_TYPE_Q5_0>(int, float*, size_t, const void*, size_t, const void*,
                                         size_t, int);
template void vec_dot_q8<GGML_TYPE_Q5_1>(int, float*, size_t, const void*, size_t, const void*,
                                         size_t, int);
template void vec_dot_q8<GGML_TYPE_IQ4_NL>(int, float*, size_t, const void*, size_t, const void*,
                                           size_t, int);
template void vec_dot_q8<GGML_TYPE_MXFP4>(int, float*, size_t, const void*, size_t, const void*,
                                          size_t, int);

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
