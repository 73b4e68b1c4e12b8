// tenon/quant.h - conversion of rows for every tensor type: one table, one Format per type.
//
// A static library with hidden symbols: link tenon::quant (find_package(tenon)) into a plugin, and
// the plugin computes what the core computes, bit for bit. It imports nothing from the core. No
// function here allocates, locks or reports, except Format::init of the types with code books.
//
// The functions are the reference: written for any processor and for results. A plugin that wants
// speed writes its own and tests it against these. How large blocks are: tenon/types.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ggml.h"
#include "tenon/blocks.h"

namespace tenon::quant {

// n elements, a multiple of the block size, as one run of blocks. Sources and destinations are
// aligned like the block structs of tenon/blocks.h and do not overlap. A remainder of n is ignored.
using ToFloat = ggml_to_float_t;
using FromFloat = ggml_from_float_t;

// One row of n elements. Some types take statistics over the whole row. `importance` has n weights,
// finite and >= 0, one per column; NULL if there are none and the type does not require them. Where
// all weights of elements that are not zero are zero, they are taken for missing (importance.h).
// Whatever the input (NaN and infinity included), a row of well-formed blocks comes out.
using QuantizeRow = void (*)(const float* src, void* dst, int64_t n, const float* importance);

// Whether all scales (for plain float types: all elements) of n_blocks blocks are finite. Codes are
// never looked at: every code is a value.
using ValidateBlocks = bool (*)(const void* data, int64_t n_blocks);

// Scalar dot product of n elements of a type with n elements of its partner, accumulated in double:
// the measure that fast dot products are held against.
using Dot = double (*)(const void* x, const void* partner, int64_t n);

// What one type can do. A null function says: no such conversion.
struct Format {
    ggml_type type;
    ToFloat to_float = nullptr;           // exact
    FromFloat from_float_ref = nullptr;   // reference quantizer without importance
    FromFloat from_float = nullptr;       // for conversion at run time; null: never a destination
    QuantizeRow quantize = nullptr;       // best quantizer, what ggml_quantize_chunk runs
    ValidateBlocks validate = nullptr;    // null: never valid as stored data
    ggml_type partner = GGML_TYPE_COUNT;  // what the other operand of dot is converted to
    Dot dot = nullptr;                    // null: not an operand of matrix products
    bool uses_importance = false;         // quantize looks at weights it is given
    bool requires_importance = false;     // quantize needs weights
    // Types that search a code book: builds the lookup tables that from_float_ref and quantize use.
    // Idempotent, any thread; false: out of memory. release frees them; no quantizer may be
    // running.
    bool (*init)() = nullptr;
    void (*release)() = nullptr;
};

// The format of a type; NULL for retired and unknown numbers.
const Format* find_format(int64_t type);

// Quantizes n_rows rows of n_per_row elements (a multiple of the block size) one after the other;
// the same weights apply to every row. format.init, if any, has returned true.
void quantize_rows(const Format& format, const float* src, void* dst, int64_t n_rows,
                   int64_t n_per_row, const float* importance);

// q8_1 and q8_K exist only as operands and the API shows no decoder for them.
void decode_q8_1(const void* src, float* dst, int64_t n);
void decode_q8_K(const void* src, float* dst, int64_t n);

}  // namespace tenon::quant
