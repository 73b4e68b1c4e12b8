// Matrix products by panels, for many columns: weights of any type are decoded into panels of f32
// that stay in the second-level cache, activations are packed into strips that stay in the first.
// A word of both is a float; or two neighbours in bf16, for a type with `pair_panels`: what is said
// of floats and k below then goes for words.
#pragma once

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

constexpr int64_t kPanelRows = 2 * simd::f32::lanes;  // rows of a panel, one register tile
constexpr int64_t kBandRows = 4 * kPanelRows;         // panels that one strip meets in a go
constexpr int64_t kStripCols = simd::kRegisters >= 32 ? 12 : 6;  // columns of a strip
constexpr int64_t kDepth = 512;  // of k, a multiple of every block size

// Room for a band of weights, kDepth deep, in floats; 64-byte aligned.
constexpr int64_t kBandFloats = kBandRows * kDepth;

// Packs rows of b, k elements [k0, k0 + depth) of each, into one strip: strip[k][c], zero beyond
// n_cols. b: rows of f32.
void pack_strip(const float* const* b, int64_t n_cols, int64_t k0, int64_t depth, float* strip);

// Decodes weight rows [0, n_rows) (at most kBandRows), elements [k0, k0 + depth), into panels:
// panel[k][r], zero beyond n_rows. The rows of a panel follow each other in memory.
void pack_band(ggml_type type, const char* weights, size_t row_stride, int64_t n_rows, int64_t k0,
               int64_t depth, float* band);

// Words [word0, word0 + n_words) of a row of n bf16; the last of an odd n has a zero beside it.
void copy_pairs(const ggml_bf16_t* row, int64_t n, int64_t word0, int64_t n_words, float* out);
// pack_band of bf16 in words: rows of n elements, words [word0, word0 + depth).
void pack_pairs_band(const char* weights, size_t row_stride, int64_t n_rows, int64_t n,
                     int64_t word0, int64_t depth, float* band);

// dst[c][r] (+)= band . strip for r < n_rows, c < n_cols; `add`: to what is there.
void multiply(const float* band, int64_t n_rows, const float* strip, int64_t n_cols, int64_t depth,
              float* const* dst, bool add);

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
