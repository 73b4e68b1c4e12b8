// Products of types without code of their own here: weights are decoded to f32 in pieces that stay
// in the first-level cache, and multiplied with f32 activations.

#include "core/quant/quant.h"
#include "plugins/cpu/dot/types.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

using simd::f32;

constexpr int64_t kPiece = 512;  // elements, a multiple of every block size

// acc[c] += w . b[c] for up to kCols columns
constexpr int kCols = 8;
template <int C>
void add_products(const float* w, const float* const* b, int64_t n, f32* acc) {
    f32 sum[C];
    TENON_UNROLL
    for (int c = 0; c < C; ++c) sum[c] = acc[c];
    int64_t k = 0;
    for (; k + f32::lanes <= n; k += f32::lanes) {
        const f32 x = simd::load(w + k);
        TENON_UNROLL
        for (int c = 0; c < C; ++c) sum[c] = simd::fma(x, simd::load(b[c] + k), sum[c]);
    }
    if (const int rest = static_cast<int>(n - k)) {
        const f32 x = simd::load_some(w + k, rest);
        TENON_UNROLL
        for (int c = 0; c < C; ++c) sum[c] = simd::fma(x, simd::load_some(b[c] + k, rest), sum[c]);
    }
    TENON_UNROLL
    for (int c = 0; c < C; ++c) acc[c] = sum[c];
}

void row_times_columns(const quant::Format& format, const Tile& tile, int64_t row, int64_t col,
                       int n_cols) {
    f32 acc[kCols];
    for (f32& x : acc) x = simd::splat(0.0f);
    float w[kPiece];
    const char* weights = tile.weights + row * tile.row_stride;
    for (int64_t k = 0; k < tile.k; k += kPiece) {
        const int64_t n = tile.k - k < kPiece ? tile.k - k : kPiece;
        format.to_float(weights + k / format.block * format.bytes, w, n);
        const float* b[kCols];
        for (int c = 0; c < n_cols; ++c) b[c] = reinterpret_cast<const float*>(tile.b[col + c]) + k;
        switch (n_cols) {
            case kCols:
                add_products<kCols>(w, b, n, acc);
                break;
            case 4:
                add_products<4>(w, b, n, acc);
                break;
            case 1:
                add_products<1>(w, b, n, acc);
                break;
            default:
                for (int c = 0; c < n_cols; ++c) add_products<1>(w, b + c, n, acc + c);
        }
    }
    for (int c = 0; c < n_cols; ++c) tile.dst[col + c][row] = simd::sum(acc[c]);
}

}  // namespace

void tile_converted_any(ggml_type type, const Tile& tile) {
    const quant::Format& format = *quant::find_format(type);
    for (int64_t row = 0; row < tile.n_rows; ++row) {
        for (int64_t col = 0; col < tile.n_cols; col += kCols) {
            const int64_t rest = tile.n_cols - col;
            row_times_columns(format, tile, row, col,
                              static_cast<int>(rest < kCols ? rest : kCols));
        }
    }
}

float vec_dot_converted_any(ggml_type type, int64_t n, const void* x, const void* y) {
    return static_cast<float>(quant::find_format(type)->dot(x, y, n));
}

}  // namespace tenon::cpu
