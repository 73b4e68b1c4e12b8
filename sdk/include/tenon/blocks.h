/* tenon/blocks.h - the bytes of one block of every quantised tensor type, header-only.
 * Rows are whole blocks back to back; every field is little-endian. Fields named d, m, s, dmin are
 * IEEE binary16 as bits unless they say otherwise. How bytes become values: core/quant. */
#ifndef TENON_BLOCKS_H
#define TENON_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* elements per block */
enum {
    TENON_QK_Q1_0 = 128,
    TENON_QK_Q2_0 = 64,
    TENON_QK_LEGACY = 32, /* q4_0 q4_1 q5_0 q5_1 q8_0 q8_1 */
    TENON_QK_IQ4_NL = 32,
    TENON_QK_MXFP4 = 32,
    TENON_QK_NVFP4 = 64,
    TENON_QK_NVFP4_SUB = 16, /* elements per scale of nvfp4 */
    TENON_QK_K = 256         /* q2_K … q8_K, tq1_0, tq2_0, iq1 … iq3, iq4_xs */
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

#ifdef __cplusplus
#define TENON_BLOCK_IS(block, bytes, align)                              \
    static_assert(sizeof(block) == (bytes) && alignof(block) == (align), \
                  #block " must have the bytes of the format")
#else
#define TENON_BLOCK_IS(block, bytes, align)                                \
    _Static_assert(sizeof(block) == (bytes) && _Alignof(block) == (align), \
                   #block " must have the bytes of the format")
#endif

TENON_BLOCK_IS(tenon_block_q1_0, 18, 2);
TENON_BLOCK_IS(tenon_block_q2_0, 18, 2);
TENON_BLOCK_IS(tenon_block_q4_0, 18, 2);
TENON_BLOCK_IS(tenon_block_q4_1, 20, 2);
TENON_BLOCK_IS(tenon_block_q5_0, 22, 2);
TENON_BLOCK_IS(tenon_block_q5_1, 24, 2);
TENON_BLOCK_IS(tenon_block_q8_0, 34, 2);
TENON_BLOCK_IS(tenon_block_q8_1, 36, 2);
TENON_BLOCK_IS(tenon_block_mxfp4, 17, 1);
TENON_BLOCK_IS(tenon_block_nvfp4, 36, 1);
TENON_BLOCK_IS(tenon_block_tq1_0, 54, 2);
TENON_BLOCK_IS(tenon_block_tq2_0, 66, 2);
TENON_BLOCK_IS(tenon_block_q2_K, 84, 2);
TENON_BLOCK_IS(tenon_block_q3_K, 110, 2);
TENON_BLOCK_IS(tenon_block_q4_K, 144, 2);
TENON_BLOCK_IS(tenon_block_q5_K, 176, 2);
TENON_BLOCK_IS(tenon_block_q6_K, 210, 2);
TENON_BLOCK_IS(tenon_block_q8_K, 292, 4);
TENON_BLOCK_IS(tenon_block_iq2_xxs, 66, 2);
TENON_BLOCK_IS(tenon_block_iq2_xs, 74, 2);
TENON_BLOCK_IS(tenon_block_iq2_s, 82, 2);
TENON_BLOCK_IS(tenon_block_iq3_xxs, 98, 2);
TENON_BLOCK_IS(tenon_block_iq3_s, 110, 2);
TENON_BLOCK_IS(tenon_block_iq1_s, 50, 2);
TENON_BLOCK_IS(tenon_block_iq1_m, 56, 2);
TENON_BLOCK_IS(tenon_block_iq4_nl, 18, 2);
TENON_BLOCK_IS(tenon_block_iq4_xs, 136, 2);

#undef TENON_BLOCK_IS

#endif /* TENON_BLOCKS_H */
