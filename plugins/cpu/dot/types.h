// What stands behind find_dot_type, one set per family.
#pragma once

#include "plugins/cpu/dot/dot.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

// Rows of the table per family; NULL: another type. float.cpp has f32 and f16, bfloat.cpp bf16,
// blocks.cpp the quantised types.
const DotType* find_float_dot(ggml_type type);
const DotType* find_bfloat_dot(ggml_type type);
const DotType* find_block_dot(ggml_type type);

// q4_q5_q8.cpp
template <ggml_type type>
void tile_q8(const Tile& tile);
template <ggml_type type>
void vec_dot_q8(int n, float* s, size_t bs, const void* x, size_t bx, const void* y, size_t by,
                int nrc);

// k_quants.cpp, iq.cpp, ternary.cpp, fp4.cpp: types whose blocks are unpacked first (unpacked.h)
template <ggml_type type>
struct UnpackedDot {
    static void tile(const Tile& tile);
    static void vec_dot(int n, float* s, size_t bs, const void* x, size_t bx, const void* y,
                        size_t by, int nrc);
};

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
