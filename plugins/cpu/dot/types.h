// The functions behind the table in dot.cpp, one set per family.
#pragma once

#include "plugins/cpu/dot/dot.h"

namespace tenon::cpu {

// float.cpp
void tile_f32(const Tile& tile);
void tile_f16_f32(const Tile& tile);
void tile_bf16_f32(const Tile& tile);
void vec_dot_f32(int n, float* s, size_t bs, const void* x, size_t bx, const void* y, size_t by,
                 int nrc);
void vec_dot_f16(int n, float* s, size_t bs, const void* x, size_t bx, const void* y, size_t by,
                 int nrc);
void vec_dot_bf16(int n, float* s, size_t bs, const void* x, size_t bx, const void* y, size_t by,
                  int nrc);

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

}  // namespace tenon::cpu
