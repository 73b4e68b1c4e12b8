// The register tile of plain types: values are widened to f32 in registers, sums are f32.
#pragma once

#include "plugins/cpu/dot/tiling.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

// Vectors run along k; one horizontal sum per output at the end.
template <class A, class B>
struct FloatTile {
    static constexpr int kRows = simd::kRegisters >= 32 ? 4 : 2;
    static constexpr int kCols = 4;

    template <int R, int C>
    static void run(const Tile& tile, int64_t row, int64_t col) {
        const A* a[R];
        const B* b[C];
        TENON_UNROLL
        for (int r = 0; r < R; ++r) {
            a[r] = reinterpret_cast<const A*>(tile.weights + (row + r) * tile.row_stride);
        }
        TENON_UNROLL
        for (int c = 0; c < C; ++c) b[c] = reinterpret_cast<const B*>(tile.b[col + c]);

        simd::f32 acc[R][C];
        TENON_UNROLL
        for (auto& line : acc) {
            TENON_UNROLL
            for (simd::f32& x : line) x = simd::splat(0.0f);
        }
        const Prefetch<R, 2048> prefetch(tile, col, tile.k * sizeof(A));
        int64_t k = 0;
        for (; k + simd::f32::lanes <= tile.k; k += simd::f32::lanes) {
            simd::f32 w[R];
            TENON_UNROLL
            for (int r = 0; r < R; ++r) {
                if constexpr (C > 1 || sizeof(A) * simd::f32::lanes < 64)
                    prefetch(a[r] + k, k * sizeof(A));  // one row of whole lines is seen through
                w[r] = simd::load(a[r] + k);
            }
            TENON_UNROLL
            for (int c = 0; c < C; ++c) {
                const simd::f32 x = simd::load(b[c] + k);
                TENON_UNROLL
                for (int r = 0; r < R; ++r) acc[r][c] = simd::fma(w[r], x, acc[r][c]);
            }
        }
        if (const int rest = static_cast<int>(tile.k - k)) {
            TENON_UNROLL
            for (int c = 0; c < C; ++c) {
                const simd::f32 x = simd::load_some(b[c] + k, rest);
                TENON_UNROLL
                for (int r = 0; r < R; ++r) {
                    acc[r][c] = simd::fma(simd::load_some(a[r] + k, rest), x, acc[r][c]);
                }
            }
        }
        TENON_UNROLL
        for (int c = 0; c < C; ++c) {
            TENON_UNROLL
            for (int r = 0; r < R; ++r) tile.dst[col + c][row + r] = simd::sum(acc[r][c]);
        }
    }
};

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
