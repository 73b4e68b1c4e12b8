/* tenon/work.h - how much there is to do for a node: operations on numbers, and bytes read and
 * written. Follows from op, types, shapes and parameters alone; data may be NULL. Header-only, for
 * plugins, the core and tools; divided by the rates of a device (tenon.cost/1) it is a time.
 *
 * What counts: a multiply-add is 2 operations, any other step of arithmetic 1, a function such as
 * exp or sin TENON_WORK_FUNCTION of them. Every source is read once and the result written once,
 * but for ops that touch less: rows that are picked, matrices of the experts in use. Counts are
 * doubles, so that no shape overflows them. Empty nodes and views are no work. */
#ifndef TENON_WORK_H
#define TENON_WORK_H

#include "tenon/work_rules.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rule of an op, in order of enum ggml_op; NULL for views and for ops this header lacks. */
static inline const tenon_work_rule* tenon_work_rule_of(enum ggml_op op) {
    /* clang-format off */
    static const tenon_work_rule rules[] = {
        {GGML_OP_NONE, NULL, 0, 0, 0},
        {GGML_OP_DUP, tenon_work_move, 0, 0, 0},
        {GGML_OP_ADD, tenon_work_map, 1, 0, 0},
        {GGML_OP_ADD_ID, tenon_work_add_id, 1, 0, 2},
        {GGML_OP_ADD1, tenon_work_map, 1, 0, 0},
        {GGML_OP_ACC, tenon_work_region, 1, 0, 0},
        {GGML_OP_SUB, tenon_work_map, 1, 0, 0},
        {GGML_OP_MUL, tenon_work_map, 1, 0, 0},
        {GGML_OP_DIV, tenon_work_map, 1, 0, 0},
        {GGML_OP_SQR, tenon_work_map, 1, 0, 0},
        {GGML_OP_SQRT, tenon_work_map, 1, 0, 0},
        {GGML_OP_LOG, tenon_work_map, TENON_WORK_FUNCTION, 0, 0},
        {GGML_OP_SIN, tenon_work_map, TENON_WORK_FUNCTION, 0, 0},
        {GGML_OP_COS, tenon_work_map, TENON_WORK_FUNCTION, 0, 0},
        {GGML_OP_SUM, tenon_work_reduce, 1, 0, 0},
        {GGML_OP_SUM_ROWS, tenon_work_reduce, 1, 0, 0},
        {GGML_OP_CUMSUM, tenon_work_map, 1, 0, 0},
        {GGML_OP_MEAN, tenon_work_reduce, 1, 0, 0},
        {GGML_OP_ARGMAX, tenon_work_reduce, 1, 0, 0},
        {GGML_OP_COUNT_EQUAL, tenon_work_reduce, 2, 0, 0},
        {GGML_OP_REPEAT, tenon_work_map, 0, 0, 0},
        {GGML_OP_REPEAT_BACK, tenon_work_reduce, 1, 0, 0},
        {GGML_OP_CONCAT, tenon_work_map, 0, 0, 0},
        {GGML_OP_SILU_BACK, tenon_work_map, TENON_WORK_FUNCTION + 7, 0, 0},
        {GGML_OP_NORM, tenon_work_map, 5, 0, 0},
        {GGML_OP_RMS_NORM, tenon_work_map, 3, 0, 0},
        {GGML_OP_RMS_NORM_BACK, tenon_work_map, 8, 0, 0},
        {GGML_OP_GROUP_NORM, tenon_work_map, 5, 0, 0},
        {GGML_OP_L2_NORM, tenon_work_map, 3, 0, 0},
        {GGML_OP_MUL_MAT, tenon_work_product, 2, 0, 0},
        {GGML_OP_MUL_MAT_ID, tenon_work_experts, 2, 0, 1},
        {GGML_OP_OUT_PROD, tenon_work_product, 2, 1, 0},
        {GGML_OP_SCALE, tenon_work_map, 2, 0, 0},
        {GGML_OP_SET, tenon_work_region, 0, 0, 0},
        {GGML_OP_CPY, tenon_work_move, 0, 0, 2},
        {GGML_OP_CONT, tenon_work_move, 0, 0, 0},
        {GGML_OP_RESHAPE, NULL, 0, 0, 0},
        {GGML_OP_VIEW, NULL, 0, 0, 0},
        {GGML_OP_PERMUTE, NULL, 0, 0, 0},
        {GGML_OP_TRANSPOSE, NULL, 0, 0, 0},
        {GGML_OP_GET_ROWS, tenon_work_get_rows, 0, 0, 1},
        {GGML_OP_GET_ROWS_BACK, tenon_work_reduce, 1, 0, 0},
        {GGML_OP_SET_ROWS, tenon_work_set_rows, 0, 0, 4},
        {GGML_OP_DIAG, tenon_work_map, 0, 0, 0},
        {GGML_OP_DIAG_MASK_INF, tenon_work_map, 0, 0, 0},
        {GGML_OP_DIAG_MASK_ZERO, tenon_work_map, 0, 0, 0},
        {GGML_OP_SOFT_MAX, tenon_work_map, TENON_WORK_FUNCTION + 6, 0, 0},
        {GGML_OP_SOFT_MAX_BACK, tenon_work_map, 5, 0, 0},
        {GGML_OP_ROPE, tenon_work_rope, 3, 0, 0},
        {GGML_OP_ROPE_BACK, tenon_work_rope, 3, 0, 0},
        {GGML_OP_CLAMP, tenon_work_map, 2, 0, 0},
        {GGML_OP_CONV_TRANSPOSE_1D, tenon_work_conv_transpose, 2, 0, 0},
        {GGML_OP_IM2COL, tenon_work_map, 0, 0, 1},
        {GGML_OP_IM2COL_BACK, tenon_work_reduce, 1, 0, 2},
        {GGML_OP_IM2COL_3D, tenon_work_map, 0, 0, 1},
        {GGML_OP_COL2IM_1D, tenon_work_reduce, 1, 0, 0},
        {GGML_OP_CONV_2D, tenon_work_conv, 2, 1 + 2 + 4, 0},
        {GGML_OP_CONV_3D, tenon_work_conv, 2, 1 + 2 + 4, 0},
        {GGML_OP_CONV_2D_DW, tenon_work_conv, 2, 1 + 2, 0},
        {GGML_OP_CONV_TRANSPOSE_2D, tenon_work_conv_transpose, 2, 0, 0},
        {GGML_OP_POOL_1D, tenon_work_pool, 1, 0, 0},
        {GGML_OP_POOL_2D, tenon_work_pool, 1, 0, 0},
        {GGML_OP_POOL_2D_BACK, tenon_work_pool, 1, 0, 0},
        {GGML_OP_UPSCALE, tenon_work_upscale, 2, 0, 0},
        {GGML_OP_PAD, tenon_work_map, 0, 0, 0},
        {GGML_OP_PAD_REFLECT_1D, tenon_work_map, 0, 0, 0},
        {GGML_OP_ROLL, tenon_work_map, 0, 0, 0},
        {GGML_OP_ARANGE, tenon_work_map, 2, 0, 0},
        {GGML_OP_TIMESTEP_EMBEDDING, tenon_work_map, TENON_WORK_FUNCTION + 2, 0, 0},
        {GGML_OP_ARGSORT, tenon_work_sort, 1, 0, 0},
        {GGML_OP_TOP_K, tenon_work_sort, 1, 0, 0},
        {GGML_OP_LEAKY_RELU, tenon_work_map, 3, 0, 0},
        {GGML_OP_TRI, tenon_work_map, 0, 0, 0},
        {GGML_OP_FILL, tenon_work_map, 0, 0, 1},
        {GGML_OP_FLASH_ATTN_EXT, tenon_work_attention, 1, 0, 2 + 4},
        {GGML_OP_FLASH_ATTN_BACK, tenon_work_attention, 2.5, 0, 0},
        {GGML_OP_SSM_CONV, tenon_work_ssm_conv, 2, 0, 0},
        {GGML_OP_SSM_SCAN, tenon_work_ssm_scan, 5, 0, 0},
        {GGML_OP_WIN_PART, tenon_work_map, 0, 0, 0},
        {GGML_OP_WIN_UNPART, tenon_work_map, 0, 0, 0},
        {GGML_OP_GET_REL_POS, tenon_work_map, 0, 0, 0},
        {GGML_OP_ADD_REL_POS, tenon_work_map, 2, 0, 0},
        {GGML_OP_RWKV_WKV6, tenon_work_recurrent, 7, 0, 0},
        {GGML_OP_GATED_LINEAR_ATTN, tenon_work_recurrent, 5, 0, 0},
        {GGML_OP_RWKV_WKV7, tenon_work_recurrent, 9, 2, 0},
        {GGML_OP_SOLVE_TRI, tenon_work_solve_tri, 1, 0, 0},
        {GGML_OP_GATED_DELTA_NET, tenon_work_recurrent, 7, 2, 0},
        {GGML_OP_LIGHTNING_INDEXER, tenon_work_indexer, 3, 0, 0},
        {GGML_OP_DSV4_HC_COMB, tenon_work_mixing, 4, 0, 0},
        {GGML_OP_DSV4_HC_PRE, tenon_work_streams, 2, 1, 0},
        {GGML_OP_DSV4_HC_POST, tenon_work_streams, 2, 2, 0},
        {GGML_OP_UNARY, tenon_work_of_unary, 0, 0, 0},
        {GGML_OP_MAP_CUSTOM1, tenon_work_custom, 1, 0, 0},
        {GGML_OP_MAP_CUSTOM2, tenon_work_custom, 1, 0, 0},
        {GGML_OP_MAP_CUSTOM3, tenon_work_custom, 1, 0, 0},
        {GGML_OP_CUSTOM, tenon_work_custom, 1, 0, 0},
        {GGML_OP_CROSS_ENTROPY_LOSS, tenon_work_reduce, TENON_WORK_FUNCTION + 6, 0, 0},
        {GGML_OP_CROSS_ENTROPY_LOSS_BACK, tenon_work_map, TENON_WORK_FUNCTION + 6, 0, 0},
        {GGML_OP_OPT_STEP_ADAMW, tenon_work_step, 16, 0, 0},
        {GGML_OP_OPT_STEP_SGD, tenon_work_step, 4, 0, 0},
        {GGML_OP_GLU, tenon_work_of_glu, TENON_WORK_FUNCTION + 8, 0, 0},
    };
    /* clang-format on */
    TENON_STATIC_ASSERT(sizeof rules / sizeof rules[0] == GGML_OP_COUNT,
                        "tenon/work.h needs one rule per ggml_op");
    return (uint32_t)op < (uint32_t)GGML_OP_COUNT && rules[op].count ? &rules[op] : NULL;
}

/* The work of one node. The required sources are there. */
static inline tenon_work tenon_node_work(const struct ggml_tensor* node) {
    tenon_work work = {0, 0, 0, TENON_WORK_NOTHING, 0};
    if (tenon_is_view_op(node->op) || tenon_work_elements(node) == 0) return work;
    const tenon_work_rule* rule = tenon_work_rule_of(node->op);
    const uint32_t rest = rule ? rule->rest : 0;
    work.kind = rule ? TENON_WORK_VECTOR : TENON_WORK_UNKNOWN;
    work.bytes_written = tenon_work_bytes(node);
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (node->src[i] && !(rest >> i & 1)) work.bytes_read += tenon_work_bytes(node->src[i]);
    }
    if (rule) rule->count(node, rule, &work);
    return work;
}

#ifdef __cplusplus
}
#endif
#endif /* TENON_WORK_H */
