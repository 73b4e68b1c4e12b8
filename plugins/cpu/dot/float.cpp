// Products of plain types: f32, f16 and bf16 weights with f32 activations or their own type. Values
// are widened to f32 in registers; sums are f32.

#include "plugins/cpu/dot/tiling.h"
#include "plugins/cpu/dot/types.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

using simd::f32;

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

        f32 acc[R][C];
        TENON_UNROLL
        for (auto& line : acc) {
            TENON_UNROLL
            for (f32& x : line) x = simd::splat(0.0f);
        }
        int64_t k = 0;
        for (; k + f32::lanes <= tile.k; k += f32::lanes) {
            f32 w[R];
            TENON_UNROLL
            for (int r = 0; r < R; ++r) w[r] = simd::load(a[r] + k);
            TENON_UNROLL
            for (int c = 0; c < C; ++c) {
                const f32 x = simd::load(b[c] + k);
                TENON_UNROLL
                for (int r = 0; r < R; ++r) acc[r][c] = simd::fma(w[r], x, acc[r][c]);
            }
        }
        if (const int rest = static_cast<int>(tile.k - k)) {
            TENON_UNROLL
            for (int c = 0; c < C; ++c) {
                const f32 x = simd::load_some(b[c] + k, rest);
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

template <class A>
void vec_dot(int n, float* s, const void* x, const void* y) {
    *s = simd::dot(static_cast<const A*>(x), static_cast<const A*>(y), n);
}

}  // namespace

void tile_f32(const Tile& tile) { tile_all<FloatTile<float, float>>(tile); }
void tile_f16_f32(const Tile& tile) { tile_all<FloatTile<ggml_fp16_t, float>>(tile); }
void tile_bf16_f32(const Tile& tile) { tile_all<FloatTile<ggml_bf16_t, float>>(tile); }
void tile_f16_f16(const Tile& tile) { tile_all<FloatTile<ggml_fp16_t, ggml_fp16_t>>(tile); }
void tile_bf16_bf16(const Tile& tile) { tile_all<FloatTile<ggml_bf16_t, ggml_bf16_t>>(tile); }

void vec_dot_f32(int n, float* s, size_t, const void* x, size_t, const void* y, size_t, int) {
    vec_dot<float>(n, s, x, y);
}
void vec_dot_f16(int n, float* s, size_t, const void* x, size_t, const void* y, size_t, int) {
    vec_dot<ggml_fp16_t>(n, s, x, y);
}
void vec_dot_bf16(int n, float* s, size_t, const void* x, size_t, const void* y, size_t, int) {
    vec_dot<ggml_bf16_t>(n, s, x, y);
}

}  // namespace tenon::cpu
