/* tenon/work_rules.h - how the work of a node is counted, one rule for ops of one kind. Part of
 * tenon/work.h, which says which op has which rule: include that. */
#ifndef TENON_WORK_RULES_H
#define TENON_WORK_RULES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "ggml.h" /* types only */
#include "tenon/op_params.h"
#include "tenon/tensor.h"
#include "tenon/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the operations are, as far as it decides how fast a device is at them. */
enum tenon_work_kind {
    TENON_WORK_NOTHING = 0,     /* a view, or an empty result */
    TENON_WORK_VECTOR = 1,      /* elements or rows on their own; also copies */
    TENON_WORK_PRODUCT_F32 = 2, /* products of matrices; the weights (or keys) are f32 */
    TENON_WORK_PRODUCT_F16 = 3, /* ... f16 or bf16 */
    TENON_WORK_PRODUCT_I8 = 4,  /* ... quantized */
    TENON_WORK_RECURRENT = 5,   /* steps that wait for each other */
    TENON_WORK_SORT = 6,        /* comparisons */
    TENON_WORK_UNKNOWN = 7,     /* a function of the application, or an op this header lacks */
    TENON_WORK_KINDS = 8
};

typedef struct tenon_work {
    double ops;
    double bytes_read, bytes_written;
    uint32_t kind; /* TENON_WORK_* */
    uint32_t reserved0;
} tenon_work;

/* What steps that are no arithmetic of their own count as. */
#define TENON_WORK_FUNCTION 16 /* exp, log, sin, tanh, erf … in single precision */
#define TENON_WORK_DECODE 4    /* an element of a quantized type to a float */
#define TENON_WORK_ENCODE 32   /* a float to an element of a quantized type */

/* ---- sizes ---------------------------------------------------------------------------------- */

/* ne[k]; 0 for no tensor. */
static inline double tenon_work_dim(const struct ggml_tensor* t, int k) {
    return t && t->ne[k] > 0 ? (double)t->ne[k] : 0;
}
static inline double tenon_work_rows(const struct ggml_tensor* t) {
    return tenon_work_dim(t, 1) * tenon_work_dim(t, 2) * tenon_work_dim(t, 3);
}
static inline double tenon_work_elements(const struct ggml_tensor* t) {
    return tenon_work_dim(t, 0) * tenon_work_rows(t);
}
/* Of the elements, wherever they lie. */
static inline double tenon_work_bytes(const struct ggml_tensor* t) {
    const tenon_type* type = t ? tenon_type_of(t->type) : NULL;
    return type ? tenon_work_elements(t) * (double)type->bytes / (double)type->block : 0;
}
static inline double tenon_work_least(double a, double b) { return a < b ? a : b; }
/* part / whole, at most 1; 1 of nothing. */
static inline double tenon_work_share(double part, double whole) {
    return part < whole ? part / whole : 1;
}

static inline bool tenon_work_is_quantized(enum ggml_type t) {
    const tenon_type* type = tenon_type_of(t);
    return type && type->quantized;
}
/* Operations for an element that changes its type. */
static inline double tenon_work_convert(enum ggml_type from, enum ggml_type to) {
    if (from == to) return 0;
    const double decode = tenon_work_is_quantized(from) ? TENON_WORK_DECODE : 0;
    const double encode = tenon_work_is_quantized(to) ? TENON_WORK_ENCODE : 0;
    return decode + encode > 0 ? decode + encode : 1;
}
/* The kind of a product whose larger operand, weights or keys, is of this type. */
static inline uint32_t tenon_work_product_kind(const struct ggml_tensor* weights) {
    if (!weights) return TENON_WORK_PRODUCT_F32;
    if (tenon_work_is_quantized(weights->type)) return TENON_WORK_PRODUCT_I8;
    return weights->type == GGML_TYPE_F16 || weights->type == GGML_TYPE_BF16
               ? TENON_WORK_PRODUCT_F16
               : TENON_WORK_PRODUCT_F32;
}

/* ---- rules ---------------------------------------------------------------------------------- */

/* A row of the table below. A rule starts from work with the bytes of result and sources, and no
 * operations. */
typedef struct tenon_work_rule {
    enum ggml_op op;
    void (*count)(const struct ggml_tensor* node, const struct tenon_work_rule* rule,
                  tenon_work* work);
    double per;    /* operations for each of what the rule counts */
    int source;    /* the source whose elements count */
    uint32_t rest; /* sources that are not read, or not all of them: bit k is src[k] */
} tenon_work_rule;

/* Elements of the result. */
static inline void tenon_work_map(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                  tenon_work* work) {
    double per = rule->per;
    if (tenon_work_is_quantized(node->type)) per += TENON_WORK_DECODE + TENON_WORK_ENCODE;
    work->ops = per * tenon_work_elements(node);
}

/* Elements of a source. */
static inline void tenon_work_reduce(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                     tenon_work* work) {
    work->ops = rule->per * tenon_work_elements(node->src[rule->source]);
}

/* Elements that go elsewhere, perhaps in another type. */
static inline void tenon_work_move(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                   tenon_work* work) {
    (void)rule;
    if (node->src[0])
        work->ops = tenon_work_convert(node->src[0]->type, node->type) * tenon_work_elements(node);
}

/* The rows of src0 that the ids in src1 pick. */
static inline void tenon_work_get_rows(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                       tenon_work* work) {
    tenon_work_move(node, rule, work);
    const double rows = tenon_work_rows(node->src[0]);
    if (rows > 0)
        work->bytes_read +=
            tenon_work_bytes(node->src[0]) / rows * tenon_work_elements(node->src[1]);
}

/* src0 into rows of the result, which is a larger tensor. */
static inline void tenon_work_set_rows(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                       tenon_work* work) {
    (void)rule;
    const struct ggml_tensor* rows = node->src[0];
    if (!rows) return;
    work->ops = tenon_work_convert(rows->type, node->type) * tenon_work_elements(rows);
    work->bytes_written *= tenon_work_share(tenon_work_elements(rows), tenon_work_elements(node));
}

/* ACC, SET: src1 into a part of src0, which is the result itself or is copied. */
static inline void tenon_work_region(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                     tenon_work* work) {
    tenon_acc_params p;
    memcpy(&p, node->op_params, sizeof p);
    work->ops = rule->per * tenon_work_elements(node->src[1]);
    if (!p.inplace) return;
    const double part = tenon_work_bytes(node->src[1]);
    work->bytes_read = rule->per > 0 ? 2 * part : part;
    work->bytes_written = part;
}

/* a + rows of b that ids pick. */
static inline void tenon_work_add_id(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                     tenon_work* work) {
    tenon_work_map(node, rule, work);
    work->bytes_read +=
        tenon_work_bytes(node->src[1]) *
        tenon_work_share(tenon_work_elements(node->src[2]), tenon_work_rows(node->src[1]));
}

/* Operations of one element. */
static inline double tenon_work_unary(int32_t op) {
    switch (op) {
        case GGML_UNARY_OP_EXP:
        case GGML_UNARY_OP_EXPM1:
        case GGML_UNARY_OP_TANH:
            return TENON_WORK_FUNCTION;
        case GGML_UNARY_OP_ELU:
        case GGML_UNARY_OP_SIGMOID:
        case GGML_UNARY_OP_SILU:
        case GGML_UNARY_OP_GELU_QUICK:
            return TENON_WORK_FUNCTION + 3;
        case GGML_UNARY_OP_GELU:
        case GGML_UNARY_OP_GELU_ERF:
        case GGML_UNARY_OP_XIELU:
            return TENON_WORK_FUNCTION + 8;
        case GGML_UNARY_OP_SOFTPLUS:
            return 2 * TENON_WORK_FUNCTION + 2;
        case GGML_UNARY_OP_HARDSWISH:
        case GGML_UNARY_OP_HARDSIGMOID:
            return 5;
        default:
            return 1;
    }
}
static inline void tenon_work_of_unary(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                       tenon_work* work) {
    (void)rule;
    work->ops = tenon_work_unary(node->op_params[0]) * tenon_work_elements(node);
}
static inline void tenon_work_of_glu(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                     tenon_work* work) {
    const double per = node->op_params[0] == GGML_GLU_OP_REGLU ? 2 : rule->per;
    work->ops = per * tenon_work_elements(node);
}

/* Rotations, and the cosines and sines of each position, which all heads share. */
static inline void tenon_work_rope(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                   tenon_work* work) {
    tenon_rope_params p;
    memcpy(&p, node->op_params, sizeof p);
    const double pairs = p.n_dims > 0 ? p.n_dims / 2 : 0;
    work->ops = rule->per * tenon_work_elements(node) +
                pairs * tenon_work_dim(node, 2) * (2 * TENON_WORK_FUNCTION + 4);
}

/* MUL_MAT, OUT_PROD: what is summed up is dimension `source` of src0. */
static inline void tenon_work_product(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                      tenon_work* work) {
    work->kind = tenon_work_product_kind(node->src[0]);
    work->ops = rule->per * tenon_work_elements(node) * tenon_work_dim(node->src[0], rule->source);
}

/* Of all experts' matrices no more are read than ids has entries. */
static inline void tenon_work_experts(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                      tenon_work* work) {
    tenon_work_product(node, rule, work);
    work->bytes_read +=
        tenon_work_bytes(node->src[0]) *
        tenon_work_share(tenon_work_elements(node->src[2]), tenon_work_dim(node->src[0], 2));
}

/* Each score is a product with a key, an exponential and a product with a value. With a limit of
 * finite mask entries per query, no more keys than that count. */
static inline void tenon_work_attention(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                        tenon_work* work) {
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2];
    double keys = tenon_work_dim(k, 1);
    if (node->op == GGML_OP_FLASH_ATTN_EXT) {
        tenon_flash_attn_ext_params p;
        memcpy(&p, node->op_params, sizeof p);
        const double most = p.n_kv_max > 0 ? p.n_kv_max : keys;
        work->bytes_read += (tenon_work_bytes(k) + tenon_work_bytes(v)) *
                            tenon_work_share(most * tenon_work_dim(q, 1), keys);
        keys = tenon_work_least(keys, most);
    }
    work->kind = tenon_work_product_kind(k);
    work->ops = rule->per * tenon_work_rows(q) * keys *
                (2 * tenon_work_dim(q, 0) + 2 * tenon_work_dim(v, 0) + TENON_WORK_FUNCTION + 4);
}

/* f32 [kv, tokens]: a product with each head's query, then relu and weight. */
static inline void tenon_work_indexer(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                      tenon_work* work) {
    const struct ggml_tensor* q = node->src[0];
    work->kind = tenon_work_product_kind(node->src[1]);
    work->ops =
        tenon_work_elements(node) * tenon_work_dim(q, 1) * (2 * tenon_work_dim(q, 0) + rule->per);
}

/* Convolutions over a kernel [kw, kh, ic, oc]: `source` says of which dimensions (bit k) the
 * product is the number of multiply-adds for one element of the result. */
static inline void tenon_work_conv(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                   tenon_work* work) {
    work->kind = tenon_work_product_kind(node->src[0]);
    work->ops = rule->per * tenon_work_elements(node);
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (rule->source >> i & 1) work->ops *= tenon_work_dim(node->src[0], i);
    }
    if (node->op == GGML_OP_CONV_3D) {
        tenon_conv_3d_params p;
        memcpy(&p, node->op_params, sizeof p);
        work->ops *= p.n_channels > 0 ? p.n_channels : 0;
    }
}

/* Each input meets the whole kernel [taps …, oc, ic] of its channel. */
static inline void tenon_work_conv_transpose(const struct ggml_tensor* node,
                                             const tenon_work_rule* rule, tenon_work* work) {
    const int channel = node->op == GGML_OP_CONV_TRANSPOSE_1D ? 2 : 3;
    const double channels = tenon_work_dim(node->src[0], channel);
    work->kind = tenon_work_product_kind(node->src[0]);
    if (channels > 0)
        work->ops = rule->per * tenon_work_elements(node->src[1]) *
                    tenon_work_elements(node->src[0]) / channels;
}

/* Elements of the window; of the gradient, of each element of dy. */
static inline void tenon_work_pool(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                   tenon_work* work) {
    const struct ggml_tensor* pooled = node->op == GGML_OP_POOL_2D_BACK ? node->src[0] : node;
    double taps; /* the first fields of both are op and the kernel */
    if (node->op == GGML_OP_POOL_1D) {
        tenon_pool_1d_params p;
        memcpy(&p, node->op_params, sizeof p);
        taps = p.k0;
    } else {
        tenon_pool_2d_params p;
        memcpy(&p, node->op_params, sizeof p);
        taps = (double)p.k0 * p.k1;
    }
    work->ops = taps > 0 ? rule->per * taps * tenon_work_elements(pooled) : 0;
}

/* Each element is a weighted sum of those around its place in the source. */
static inline void tenon_work_upscale(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                      tenon_work* work) {
    tenon_upscale_params p;
    memcpy(&p, node->op_params, sizeof p);
    const int mode = p.mode & 0xff;
    double taps = mode == GGML_SCALE_MODE_BILINEAR ? 4 : mode == GGML_SCALE_MODE_BICUBIC ? 16 : 0;
    if (p.mode & GGML_SCALE_FLAG_ANTIALIAS) { /* as many more as the source is larger */
        for (int i = 0; i < 2; i++) {
            const double from = tenon_work_dim(node->src[0], i), to = tenon_work_dim(node, i);
            if (from > to && to > 0) taps *= from / to;
        }
    }
    work->ops = rule->per * taps * tenon_work_elements(node);
}

/* Steps of n comparisons for each element, n the logarithm of what is kept in order. */
static inline void tenon_work_sort(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                   tenon_work* work) {
    const double kept = tenon_work_dim(node, 0);
    work->kind = TENON_WORK_SORT;
    work->ops = rule->per * tenon_work_elements(node) * (kept > 2 ? log2(kept) : 1);
    if (node->op == GGML_OP_TOP_K) work->ops += tenon_work_elements(node->src[0]);
}

/* A state [n, n] of each head, of which every token changes all: `source` is [n, heads, tokens]. */
static inline void tenon_work_recurrent(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                        tenon_work* work) {
    const struct ggml_tensor* x = node->src[rule->source];
    work->kind = TENON_WORK_RECURRENT;
    work->ops = rule->per * tenon_work_elements(x) * tenon_work_dim(x, 0);
}

/* States [n] of each channel of x; the decay is one exponential per state, or per head. */
static inline void tenon_work_ssm_scan(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                       tenon_work* work) {
    const double decay = tenon_work_dim(node->src[3], 0) > 1 ? TENON_WORK_FUNCTION + 1 : 0;
    work->kind = TENON_WORK_RECURRENT;
    work->ops = tenon_work_elements(node->src[1]) *
                (tenon_work_dim(node->src[0], 0) * (rule->per + decay) + 3 * TENON_WORK_FUNCTION);
}

static inline void tenon_work_ssm_conv(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                       tenon_work* work) {
    work->ops = rule->per * tenon_work_elements(node) * tenon_work_dim(node->src[1], 0);
}

/* Row i of X takes i rows that came before. */
static inline void tenon_work_solve_tri(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                        tenon_work* work) {
    work->kind = TENON_WORK_RECURRENT;
    work->ops = rule->per * tenon_work_elements(node) * tenon_work_dim(node, 1);
}

/* DSV4_HC_COMB: passes over a matrix [hc, hc] of each token, by rows and by columns. */
static inline void tenon_work_mixing(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                     tenon_work* work) {
    tenon_dsv4_hc_comb_params p;
    memcpy(&p, node->op_params, sizeof p);
    work->kind = TENON_WORK_RECURRENT;
    work->ops = tenon_work_elements(node) *
                (TENON_WORK_FUNCTION + 2 + rule->per * (p.n_iter > 0 ? p.n_iter : 0));
}

/* DSV4_HC_PRE, POST: weighted sums of hc streams, hc the first dimension of `source`. */
static inline void tenon_work_streams(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                      tenon_work* work) {
    const double extra = node->op == GGML_OP_DSV4_HC_POST ? 1 : 0;
    work->ops = rule->per * tenon_work_elements(node) *
                (tenon_work_dim(node->src[rule->source], 0) + extra);
}

/* w, and with AdamW both moments, in place; src0 is the result. */
static inline void tenon_work_step(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                   tenon_work* work) {
    work->ops = rule->per * tenon_work_elements(node);
    if (node->op == GGML_OP_OPT_STEP_ADAMW)
        work->bytes_written += tenon_work_bytes(node->src[2]) + tenon_work_bytes(node->src[3]);
}

static inline void tenon_work_custom(const struct ggml_tensor* node, const tenon_work_rule* rule,
                                     tenon_work* work) {
    tenon_work_map(node, rule, work);
    work->kind = TENON_WORK_UNKNOWN;
}

#ifdef __cplusplus
}
#endif
#endif /* TENON_WORK_RULES_H */
