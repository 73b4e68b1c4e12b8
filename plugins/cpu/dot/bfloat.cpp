// Products of bf16 weights. With bf16 activations, pairs of products are added at a time. Where
// that is one instruction, f32 activations are rounded to bf16 for it; elsewhere they stay as they
// are.

#include "plugins/cpu/dot/float_tile.h"
#include "plugins/cpu/dot/panels_tile.h"
#include "plugins/cpu/dot/types.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {
namespace {

using simd::bf16x2;
using simd::f32;

constexpr int kPairs = 2 * f32::lanes;  // elements of a vector

struct PairTile {
    static constexpr int kRows = simd::kRegisters >= 32 ? 4 : 2;
    static constexpr int kCols = 4;

    template <int R, int C>
    static void run(const Tile& tile, int64_t row, int64_t col) {
        const ggml_bf16_t *a[R], *b[C];
        TENON_UNROLL
        for (int r = 0; r < R; ++r) {
            a[r] = reinterpret_cast<const ggml_bf16_t*>(tile.weights + (row + r) * tile.row_stride);
        }
        TENON_UNROLL
        for (int c = 0; c < C; ++c) b[c] = reinterpret_cast<const ggml_bf16_t*>(tile.b[col + c]);

        f32 acc[R][C];
        TENON_UNROLL
        for (auto& line : acc) {
            TENON_UNROLL
            for (f32& x : line) x = simd::splat(0.0f);
        }
        const Prefetch<R, 2048> prefetch(tile, col, tile.k * sizeof(ggml_bf16_t));
        const auto add = [&](auto load, int64_t k) {
            bf16x2 w[R];
            TENON_UNROLL
            for (int r = 0; r < R; ++r) {
                if constexpr (C > 1) prefetch(a[r] + k, k * sizeof(ggml_bf16_t));
                w[r] = load(a[r] + k);
            }
            TENON_UNROLL
            for (int c = 0; c < C; ++c) {
                const bf16x2 x = load(b[c] + k);
                TENON_UNROLL
                for (int r = 0; r < R; ++r) acc[r][c] = simd::dot(w[r], x, acc[r][c]);
            }
        };
        int64_t k = 0;
        for (; k + kPairs <= tile.k; k += kPairs) {
            add([](const ggml_bf16_t* p) { return simd::load_pairs(p); }, k);
        }
        if (const int rest = static_cast<int>(tile.k - k)) {
            add([=](const ggml_bf16_t* p) { return simd::load_some_pairs(p, rest); }, k);
        }
        TENON_UNROLL
        for (int c = 0; c < C; ++c) {
            TENON_UNROLL
            for (int r = 0; r < R; ++r) tile.dst[col + c][row + r] = simd::sum(acc[r][c]);
        }
    }
};

void tile_f32(const Tile& tile) { tile_all<FloatTile<ggml_bf16_t, float>>(tile); }
void tile_bf16(const Tile& tile) { tile_all<PairTile>(tile); }

struct Pairs {  // of panels
    static bf16x2 load(const float* p) {
        return simd::load_pairs(reinterpret_cast<const ggml_bf16_t*>(p));
    }
    static bf16x2 splat(const float* p) {
        return simd::splat_pair(reinterpret_cast<const ggml_bf16_t*>(p));
    }
    static f32 add(bf16x2 w, bf16x2 x, f32 acc) { return simd::dot(w, x, acc); }
};

// Exact products: the instruction would take subnormal numbers for zero.
void vec_dot(int n, float* s, size_t, const void* x, size_t, const void* y, size_t, int) {
    *s = simd::dot(static_cast<const ggml_bf16_t*>(x), static_cast<const ggml_bf16_t*>(y), n);
}

constexpr DotType kBf16 = {GGML_TYPE_BF16,
                           GGML_TYPE_BF16,
                           vec_dot,
                           simd::kPanelsFrom.bf16,
                           Operand::kF32,
                           tile_f32,
                           tile_bf16,
                           /*prefers_partner=*/simd::kBf16Dot,
                           simd::kBf16Dot ? multiply_panels<Pairs> : nullptr};

}  // namespace

const DotType* find_bfloat_dot(ggml_type type) { return type == GGML_TYPE_BF16 ? &kBf16 : nullptr; }

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
