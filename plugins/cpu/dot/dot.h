// Products of weight rows with activation rows, per weight type: the dot product that the API
// shows, and the tile that matrix products are made of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ggml-cpu.h"
#include "ggml.h"
#include "plugins/cpu/level.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

// A row of n elements (a multiple of 32) in signed bytes: codes, then a scale and a scaled sum per
// block of 32. The one 8-bit format all quantised weights meet.
struct Q8Row {
    const int8_t* codes;  // [n]
    const float* scales;  // [n/32] value = code*scale
    const float* sums;    // [n/32] sum of the values of the block

    static constexpr size_t bytes(int64_t n) {  // a multiple of 64
        return (static_cast<size_t>(n) + static_cast<size_t>(n / 32) * 8 + 63) / 64 * 64;
    }
    static Q8Row at(const void* row, int64_t n) {
        const auto* codes = static_cast<const int8_t*>(row);
        const auto* scales = reinterpret_cast<const float*>(codes + n);
        return {codes, scales, scales + n / 32};
    }
};
}  // namespace tenon::cpu::inline TENON_CPU_LEVEL

namespace tenon::cpu {

// Activation rows as a weight type wants them.
enum class Operand : uint8_t {
    kF32,   // n floats
    kBf16,  // n ggml_bf16_t: partner_tile of bf16
    kQ8,    // see Q8Row
};

// Rows of the one 8-bit format that all quantised weights meet: Q8Row.
void quantize_q8_row(const float* src, void* q8_row, int64_t n);
// A row of type Q8_0, Q8_1 or Q8_K. False: another type.
bool repack_q8_row(ggml_type type, const void* src, void* q8_row, int64_t n);

// dst[c][r] = sum over k of weights[r][k] * b[c][k], for all r < n_rows, c < n_cols.
struct Tile {
    int64_t k;
    const char* weights;
    size_t row_stride;  // bytes between weight rows
    int64_t n_rows;
    const char* const* b;  // n_cols operand rows, in the form the function wants
    float* const* dst;     // n_cols columns
    int64_t n_cols;
};
using TileFn = void (*)(const Tile& tile);

// Like `multiply` of panels.h.
using PanelsFn = void (*)(const float* band, int64_t n_rows, const float* strip, int64_t n_cols,
                          int64_t depth, float* const* dst, bool add);

struct DotType {
    ggml_type type;
    ggml_type partner;       // what ggml's API names as the other operand
    ggml_vec_dot_t vec_dot;  // weights . partner
    int64_t panels_from;     // columns from which panels (panels.h) are faster than tiles
    Operand operand;         // that `tile` wants
    TileFn tile;
    TileFn partner_tile = nullptr;   // for rows of `partner` as they are; NULL: they are converted
    bool prefers_partner = false;    // f32 rows are worth rounding to `partner` for its tile
    PanelsFn pair_panels = nullptr;  // panels are of pairs of bf16 and multiplied by this
};

// NULL: this type is no operand of matrix products.
const DotType* find_dot_type(ggml_type type);

void quantize_q8_0(const float* src, void* dst, int64_t n);
void quantize_q4_0(const float* src, void* dst, int64_t n);

// Conversion at run time, for the type as a destination; NULL: never a destination.
ggml_from_float_t from_float(ggml_type type);

}  // namespace tenon::cpu
