/* tenon/blocks.h - the bytes of one block of every quantised tensor type, header-only.
 * Rows are whole blocks back to back; every field is little-endian. Fields named d, m, s, dmin are
 * IEEE binary16 as bits unless they say otherwise. How many bytes and elements a block has stands
 * in tenon/types.h, how bytes become values in sdk/quant. */
#ifndef TENON_BLOCKS_H
#define TENON_BLOCKS_H

#include <stdint.h>

#include "tenon/types.h"

/* elements per block */
enum {
    TENON_QK_Q1_0 = TENON_BLOCK_Q1_0,
    TENON_QK_Q2_0 = TENON_BLOCK_Q2_0,
    TENON_QK_LEGACY = TENON_BLOCK_Q4_0, /* q4_0 q4_1 q5_0 q5_1 q8_0 q8_1 */
    TENON_QK_IQ4_NL = TENON_BLOCK_IQ4_NL,
    TENON_QK_MXFP4 = TENON_BLOCK_MXFP4,
    TENON_QK_NVFP4 = TENON_BLOCK_NVFP4,
    TENON_QK_NVFP4_SUB = 16,      /* elements per scale of nvfp4 */
    TENON_QK_K = TENON_BLOCK_Q2_K /* q2_K … q8_K, tq1_0, tq2_0, iq1 … iq3, iq4_xs */
};

/* ---- one scale per block --------------------------------------------------------------------- */

typedef struct tenon_block_q1_0 {
    uint16_t d;
    uint8_t qs[TENON_QK_Q1_0 / 8]; /* bit i % 8 of byte i / 8: set +d, clear -d */
} tenon_block_q1_0;

typedef struct tenon_block_q2_0 {
    uint16_t d;
    uint8_t qs[TENON_QK_Q2_0 / 4]; /* 2 bits each, in order */
} tenon_block_q2_0;

typedef struct tenon_block_q4_0 {
    uint16_t d;
    uint8_t qs[TENON_QK_LEGACY / 2]; /* low nibbles: elements 0 … 15, high: 16 … 31 */
} tenon_block_q4_0;

typedef struct tenon_block_q4_1 {
    uint16_t d;
    uint16_t m; /* minimum */
    uint8_t qs[TENON_QK_LEGACY / 2];
} tenon_block_q4_1;

typedef struct tenon_block_q5_0 {
    uint16_t d;
    uint8_t qh[4]; /* u32: bit i is the fifth bit of element i */
    uint8_t qs[TENON_QK_LEGACY / 2];
} tenon_block_q5_0;

typedef struct tenon_block_q5_1 {
    uint16_t d;
    uint16_t m;
    uint8_t qh[4];
    uint8_t qs[TENON_QK_LEGACY / 2];
} tenon_block_q5_1;

typedef struct tenon_block_q8_0 {
    uint16_t d;
    int8_t qs[TENON_QK_LEGACY];
} tenon_block_q8_0;

/* only as the other operand of a dot product with q4_1, q5_1 */
typedef struct tenon_block_q8_1 {
    uint16_t d;
    uint16_t s; /* d * sum of qs */
    int8_t qs[TENON_QK_LEGACY];
} tenon_block_q8_1;

typedef struct tenon_block_mxfp4 {
    uint8_t e; /* e8m0 */
    uint8_t qs[TENON_QK_MXFP4 / 2];
} tenon_block_mxfp4;

typedef struct tenon_block_nvfp4 {
    uint8_t d[TENON_QK_NVFP4 / TENON_QK_NVFP4_SUB]; /* ue4m3, one per 16 elements */
    uint8_t qs[TENON_QK_NVFP4 / 2]; /* 8 bytes per 16 elements: low nibbles 0 … 7, high 8 … 15 */
} tenon_block_nvfp4;

typedef struct tenon_block_tq1_0 {
    uint8_t qs[48]; /* five ternary digits per byte */
    uint8_t qh[4];  /* four */
    uint16_t d;
} tenon_block_tq1_0;

typedef struct tenon_block_tq2_0 {
    uint8_t qs[TENON_QK_K / 4];
    uint16_t d;
} tenon_block_tq2_0;

/* ---- 256 elements, scales of scales ---------------------------------------------------------- */

typedef struct tenon_block_q2_K {
    uint8_t scales[TENON_QK_K / 16]; /* low nibble scale, high nibble minimum */
    uint8_t qs[TENON_QK_K / 4];
    uint16_t d;
    uint16_t dmin;
} tenon_block_q2_K;

typedef struct tenon_block_q3_K {
    uint8_t hmask[TENON_QK_K / 8]; /* third bits */
    uint8_t qs[TENON_QK_K / 4];
    uint8_t scales[12]; /* sixteen numbers of 6 bits */
    uint16_t d;
} tenon_block_q3_K;

typedef struct tenon_block_q4_K {
    uint16_t d;
    uint16_t dmin;
    uint8_t scales[12]; /* eight scales and eight minimums of 6 bits */
    uint8_t qs[TENON_QK_K / 2];
} tenon_block_q4_K;

typedef struct tenon_block_q5_K {
    uint16_t d;
    uint16_t dmin;
    uint8_t scales[12];
    uint8_t qh[TENON_QK_K / 8]; /* fifth bits */
    uint8_t qs[TENON_QK_K / 2];
} tenon_block_q5_K;

typedef struct tenon_block_q6_K {
    uint8_t ql[TENON_QK_K / 2]; /* low four bits */
    uint8_t qh[TENON_QK_K / 4]; /* high two bits */
    int8_t scales[TENON_QK_K / 16];
    uint16_t d;
} tenon_block_q6_K;

/* only as the other operand of a dot product with a type of 256 elements */
typedef struct tenon_block_q8_K {
    float d;
    int8_t qs[TENON_QK_K];
    int16_t bsums[TENON_QK_K / 16]; /* sums of 16 codes */
} tenon_block_q8_K;

/* ---- code books ------------------------------------------------------------------------------ */

typedef struct tenon_block_iq2_xxs {
    uint16_t d;
    uint16_t
        qs[TENON_QK_K / 8]; /* per 32 elements: four index bytes, then a u32 of signs and scale */
} tenon_block_iq2_xxs;

typedef struct tenon_block_iq2_xs {
    uint16_t d;
    uint16_t qs[TENON_QK_K / 8]; /* nine bits index, seven bits signs */
    uint8_t scales[TENON_QK_K / 32];
} tenon_block_iq2_xs;

typedef struct tenon_block_iq2_s {
    uint16_t d;
    uint8_t qs[TENON_QK_K / 8];    /* low index bytes */
    uint8_t signs[TENON_QK_K / 8]; /* one byte per 8 elements */
    uint8_t qh[TENON_QK_K / 32];
    uint8_t scales[TENON_QK_K / 32];
} tenon_block_iq2_s;

typedef struct tenon_block_iq3_xxs {
    uint16_t d;
    uint8_t qs[TENON_QK_K / 4];  /* index per 4 elements */
    uint8_t gas[TENON_QK_K / 8]; /* eight u32 of signs and scale, one per 32 elements */
} tenon_block_iq3_xxs;

typedef struct tenon_block_iq3_s {
    uint16_t d;
    uint8_t qs[TENON_QK_K / 4]; /* low index bytes, one per 4 elements */
    uint8_t qh[TENON_QK_K / 32];
    uint8_t signs[TENON_QK_K / 8];
    uint8_t scales[TENON_QK_K / 64];
} tenon_block_iq3_s;

typedef struct tenon_block_iq1_s {
    uint16_t d;
    uint8_t qs[TENON_QK_K / 8];   /* low index bytes, one per 8 elements */
    uint16_t qh[TENON_QK_K / 32]; /* 4 x 3 index bits, 3 bits scale, 1 bit sign of delta */
} tenon_block_iq1_s;

typedef struct tenon_block_iq1_m {
    uint8_t qs[TENON_QK_K / 8];
    uint8_t qh[TENON_QK_K / 16]; /* a nibble per 8 elements: 3 index bits, 1 bit sign of delta */
    uint16_t scales[TENON_QK_K / 64]; /* 4 x 3 bits scale; the top nibbles are the binary16 scale */
} tenon_block_iq1_m;

typedef struct tenon_block_iq4_nl {
    uint16_t d;
    uint8_t qs[TENON_QK_IQ4_NL / 2];
} tenon_block_iq4_nl;

typedef struct tenon_block_iq4_xs {
    uint16_t d;
    uint16_t scales_h;                 /* high two bits of eight scales */
    uint8_t scales_l[TENON_QK_K / 64]; /* low four bits */
    uint8_t qs[TENON_QK_K / 2];
} tenon_block_iq4_xs;

/* ---- the sizes are the format ---------------------------------------------------------------- */

/* BLOCK(id of the type in tenon/types.h, struct, elements that its arrays are made for, alignment)
 */
/* clang-format off */
#define TENON_BLOCK_STRUCTS(BLOCK)                                                                \
    BLOCK(Q1_0,    tenon_block_q1_0,    TENON_QK_Q1_0,   2)                                       \
    BLOCK(Q2_0,    tenon_block_q2_0,    TENON_QK_Q2_0,   2)                                       \
    BLOCK(Q4_0,    tenon_block_q4_0,    TENON_QK_LEGACY, 2)                                       \
    BLOCK(Q4_1,    tenon_block_q4_1,    TENON_QK_LEGACY, 2)                                       \
    BLOCK(Q5_0,    tenon_block_q5_0,    TENON_QK_LEGACY, 2)                                       \
    BLOCK(Q5_1,    tenon_block_q5_1,    TENON_QK_LEGACY, 2)                                       \
    BLOCK(Q8_0,    tenon_block_q8_0,    TENON_QK_LEGACY, 2)                                       \
    BLOCK(Q8_1,    tenon_block_q8_1,    TENON_QK_LEGACY, 2)                                       \
    BLOCK(MXFP4,   tenon_block_mxfp4,   TENON_QK_MXFP4,  1)                                       \
    BLOCK(NVFP4,   tenon_block_nvfp4,   TENON_QK_NVFP4,  1)                                       \
    BLOCK(TQ1_0,   tenon_block_tq1_0,   TENON_QK_K,      2)                                       \
    BLOCK(TQ2_0,   tenon_block_tq2_0,   TENON_QK_K,      2)                                       \
    BLOCK(Q2_K,    tenon_block_q2_K,    TENON_QK_K,      2)                                       \
    BLOCK(Q3_K,    tenon_block_q3_K,    TENON_QK_K,      2)                                       \
    BLOCK(Q4_K,    tenon_block_q4_K,    TENON_QK_K,      2)                                       \
    BLOCK(Q5_K,    tenon_block_q5_K,    TENON_QK_K,      2)                                       \
    BLOCK(Q6_K,    tenon_block_q6_K,    TENON_QK_K,      2)                                       \
    BLOCK(Q8_K,    tenon_block_q8_K,    TENON_QK_K,      4)                                       \
    BLOCK(IQ2_XXS, tenon_block_iq2_xxs, TENON_QK_K,      2)                                       \
    BLOCK(IQ2_XS,  tenon_block_iq2_xs,  TENON_QK_K,      2)                                       \
    BLOCK(IQ2_S,   tenon_block_iq2_s,   TENON_QK_K,      2)                                       \
    BLOCK(IQ3_XXS, tenon_block_iq3_xxs, TENON_QK_K,      2)                                       \
    BLOCK(IQ3_S,   tenon_block_iq3_s,   TENON_QK_K,      2)                                       \
    BLOCK(IQ1_S,   tenon_block_iq1_s,   TENON_QK_K,      2)                                       \
    BLOCK(IQ1_M,   tenon_block_iq1_m,   TENON_QK_K,      2)                                       \
    BLOCK(IQ4_NL,  tenon_block_iq4_nl,  TENON_QK_IQ4_NL, 2)                                       \
    BLOCK(IQ4_XS,  tenon_block_iq4_xs,  TENON_QK_K,      2)
/* clang-format on */

#ifdef __cplusplus
#define TENON_ALIGN_OF(type) alignof(type)
#else
#define TENON_ALIGN_OF(type) _Alignof(type)
#endif
#define TENON_CHECK_BLOCK(id, block, elems, align)                                                \
    TENON_STATIC_ASSERT(sizeof(block) == TENON_BYTES_##id, #block ": not the bytes of its type"); \
    TENON_STATIC_ASSERT((int)(elems) == (int)TENON_BLOCK_##id,                                    \
                        #block ": not the elements of its type");                                 \
    TENON_STATIC_ASSERT(TENON_ALIGN_OF(block) == (align), #block ": not the alignment of files");
TENON_BLOCK_STRUCTS(TENON_CHECK_BLOCK)
#undef TENON_CHECK_BLOCK
#undef TENON_ALIGN_OF

#endif /* TENON_BLOCKS_H */
