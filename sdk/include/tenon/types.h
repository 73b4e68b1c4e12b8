/* tenon/types.h - every tensor type, told once: its number, its name, and the size of a block.
 *
 * A row of a tensor is whole blocks back to back. Who needs the size of a type reads it here: by
 * number (tenon_type_of, tenon_row_bytes), as a constant that device code can use too
 * (TENON_BLOCK_Q4_K, TENON_BYTES_Q4_K), or as a table of its own made from the list. What the bytes
 * of a block mean: tenon/blocks.h. */
#ifndef TENON_TYPES_H
#define TENON_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml.h" /* enum ggml_type */
#include "tenon/static_assert.h"

/* In order of enum ggml_type, one per line, for compilers and for scripts that read this text:
 *   TYPE(number, id, name, elements per block, bytes per block, 1: quantized)
 *   RETIRED(number, name)   no tensor of this type can exist
 * Applications compare the names of all numbers, so retired ones keep their published texts. */
/* clang-format off */
#define TENON_TYPES(TYPE, RETIRED)                                                                \
    /*   number id       name       block bytes quantized */                                      \
    TYPE( 0, F32,     "f32",        1,   4, 0)                                                    \
    TYPE( 1, F16,     "f16",        1,   2, 0)                                                    \
    TYPE( 2, Q4_0,    "q4_0",      32,  18, 1)                                                    \
    TYPE( 3, Q4_1,    "q4_1",      32,  20, 1)                                                    \
    RETIRED(4, "DEPRECATED")                                                                      \
    RETIRED(5, "DEPRECATED")                                                                      \
    TYPE( 6, Q5_0,    "q5_0",      32,  22, 1)                                                    \
    TYPE( 7, Q5_1,    "q5_1",      32,  24, 1)                                                    \
    TYPE( 8, Q8_0,    "q8_0",      32,  34, 1)                                                    \
    TYPE( 9, Q8_1,    "q8_1",      32,  36, 1)                                                    \
    TYPE(10, Q2_K,    "q2_K",     256,  84, 1)                                                    \
    TYPE(11, Q3_K,    "q3_K",     256, 110, 1)                                                    \
    TYPE(12, Q4_K,    "q4_K",     256, 144, 1)                                                    \
    TYPE(13, Q5_K,    "q5_K",     256, 176, 1)                                                    \
    TYPE(14, Q6_K,    "q6_K",     256, 210, 1)                                                    \
    TYPE(15, Q8_K,    "q8_K",     256, 292, 1)                                                    \
    TYPE(16, IQ2_XXS, "iq2_xxs",  256,  66, 1)                                                    \
    TYPE(17, IQ2_XS,  "iq2_xs",   256,  74, 1)                                                    \
    TYPE(18, IQ3_XXS, "iq3_xxs",  256,  98, 1)                                                    \
    TYPE(19, IQ1_S,   "iq1_s",    256,  50, 1)                                                    \
    TYPE(20, IQ4_NL,  "iq4_nl",    32,  18, 1)                                                    \
    TYPE(21, IQ3_S,   "iq3_s",    256, 110, 1)                                                    \
    TYPE(22, IQ2_S,   "iq2_s",    256,  82, 1)                                                    \
    TYPE(23, IQ4_XS,  "iq4_xs",   256, 136, 1)                                                    \
    TYPE(24, I8,      "i8",         1,   1, 0)                                                    \
    TYPE(25, I16,     "i16",        1,   2, 0)                                                    \
    TYPE(26, I32,     "i32",        1,   4, 0)                                                    \
    TYPE(27, I64,     "i64",        1,   8, 0)                                                    \
    TYPE(28, F64,     "f64",        1,   8, 0)                                                    \
    TYPE(29, IQ1_M,   "iq1_m",    256,  56, 1)                                                    \
    TYPE(30, BF16,    "bf16",       1,   2, 0)                                                    \
    RETIRED(31, "TYPE_Q4_0_4_4 REMOVED, use Q4_0 with runtime repacking")                         \
    RETIRED(32, "TYPE_Q4_0_4_8 REMOVED, use Q4_0 with runtime repacking")                         \
    RETIRED(33, "TYPE_Q4_0_8_8 REMOVED, use Q4_0 with runtime repacking")                         \
    TYPE(34, TQ1_0,   "tq1_0",    256,  54, 1)                                                    \
    TYPE(35, TQ2_0,   "tq2_0",    256,  66, 1)                                                    \
    RETIRED(36, "TYPE_IQ4_NL_4_4 REMOVED, use IQ4_NL with runtime repacking")                     \
    RETIRED(37, "TYPE_IQ4_NL_4_8 REMOVED, use IQ4_NL with runtime repacking")                     \
    RETIRED(38, "TYPE_IQ4_NL_8_8 REMOVED, use IQ4_NL with runtime repacking")                     \
    TYPE(39, MXFP4,   "mxfp4",     32,  17, 1)                                                    \
    TYPE(40, NVFP4,   "nvfp4",     64,  36, 1)                                                    \
    TYPE(41, Q1_0,    "q1_0",     128,  18, 1)                                                    \
    TYPE(42, Q2_0,    "q2_0",      64,  18, 1)
/* clang-format on */

/* TENON_BLOCK_F32 …: elements per block. TENON_BYTES_F32 …: bytes per block. */
#define TENON_SIZES_OF_TYPE(number, id, name, block, bytes, quantized) \
    TENON_BLOCK_##id = (block), TENON_BYTES_##id = (bytes),
#define TENON_NOTHING_OF_RETIRED(number, name)
enum { TENON_TYPES(TENON_SIZES_OF_TYPE, TENON_NOTHING_OF_RETIRED) };
#undef TENON_SIZES_OF_TYPE

typedef struct tenon_type {
    enum ggml_type type;
    const char* name;
    int64_t block; /* elements per block; 0: retired */
    size_t bytes;  /* bytes per block; 0: retired */
    bool quantized;
} tenon_type;

#define TENON_ROW_OF_TYPE(number, id, name, block, bytes, quantized) \
    {GGML_TYPE_##id, name, block, bytes, (quantized) != 0},
#define TENON_ROW_OF_RETIRED(number, name) {(enum ggml_type)(number), name, 0, 0, false},
#ifdef __cplusplus
inline constexpr tenon_type
#else
static const tenon_type
#endif
    tenon_types[] = {TENON_TYPES(TENON_ROW_OF_TYPE, TENON_ROW_OF_RETIRED)};
#undef TENON_ROW_OF_TYPE
#undef TENON_ROW_OF_RETIRED

/* Each number is ggml's, and that of the row's place. */
#define TENON_PLACE_OF_TYPE(number, id, name, block, bytes, quantized) TENON_PLACE_##number,
#define TENON_PLACE_OF_RETIRED(number, name) TENON_PLACE_##number,
enum { TENON_TYPES(TENON_PLACE_OF_TYPE, TENON_PLACE_OF_RETIRED) TENON_TYPE_ROWS };
#undef TENON_PLACE_OF_TYPE
#undef TENON_PLACE_OF_RETIRED
#define TENON_CHECK_TYPE(number, id, name, block, bytes, quantized)                          \
    TENON_STATIC_ASSERT((int)GGML_TYPE_##id == (number) && TENON_PLACE_##number == (number), \
                        name ": its number is not ggml's or not that of its row");
#define TENON_CHECK_RETIRED(number, name) \
    TENON_STATIC_ASSERT(TENON_PLACE_##number == (number), name ": not the row of its number");
TENON_TYPES(TENON_CHECK_TYPE, TENON_CHECK_RETIRED)
TENON_STATIC_ASSERT((int)TENON_TYPE_ROWS == (int)GGML_TYPE_COUNT, "one row per ggml_type");
#undef TENON_CHECK_TYPE
#undef TENON_CHECK_RETIRED
#undef TENON_NOTHING_OF_RETIRED

#ifdef __cplusplus
extern "C" {
#define TENON_TYPES_FN static constexpr
#else
#define TENON_TYPES_FN static inline
#endif

/* The row of a type that tensors can have; NULL for retired and unknown numbers. */
TENON_TYPES_FN const tenon_type* tenon_type_of(int64_t type) {
    return type >= 0 && type < GGML_TYPE_COUNT && tenon_types[type].block ? &tenon_types[type]
                                                                          : NULL;
}

/* Bytes of n elements, whole blocks of a type that exists. No check: for tensors that exist. */
TENON_TYPES_FN size_t tenon_row_bytes(enum ggml_type type, int64_t n) {
    return (size_t)(n / tenon_types[type].block) * tenon_types[type].bytes;
}

#undef TENON_TYPES_FN
#ifdef __cplusplus
}
#endif
#endif /* TENON_TYPES_H */
