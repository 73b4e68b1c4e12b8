/* tenon/op_params.h - what stands in op_params of a node, one struct per op that has parameters.
 *
 * The layouts are part of the plugin ABI: fixed, and appended to within the 64 bytes. op_params is
 * only 4-aligned, so copy a struct out (memcpy) and never cast the pointer. Words beyond the struct
 * are 0. Ops that share a layout have a typedef of their own, so every op's struct is called
 * tenon_<op in lower case>_params.
 *
 * Numbers that choose something are named: by an enum of ggml.h where it has one (the comment of
 * the field says which), else by an enum beside the struct.
 */
#ifndef TENON_OP_PARAMS_H
#define TENON_OP_PARAMS_H

#include <stdint.h>

#include "ggml.h" /* enums that parameters have the values of */
#include "tenon/static_assert.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arithmetic, copies, rows --------------------------------------------------------------- */

typedef struct tenon_acc_params { /* where b goes inside the result, in bytes */
    int32_t nb1, nb2, nb3, offset;
    int32_t inplace; /* 1: the result is src0's memory, so it is there already */
} tenon_acc_params;
typedef tenon_acc_params tenon_set_params;

typedef struct tenon_scale_params {
    float scale, bias;
} tenon_scale_params;

typedef struct tenon_clamp_params {
    float min, max;
} tenon_clamp_params;

typedef struct tenon_concat_params {
    int32_t dim; /* 0..3 */
} tenon_concat_params;

typedef struct tenon_view_params {
    uint64_t offset; /* bytes, relative to src0 */
} tenon_view_params;

typedef struct tenon_permute_params {
    int32_t axis[4]; /* dimension k of src0 is dimension axis[k] of the result */
} tenon_permute_params;

typedef struct tenon_roll_params {
    int32_t shift[4];
} tenon_roll_params;

typedef struct tenon_pad_params { /* elements before (left) and after (right) each dimension */
    int32_t left0, right0, left1, right1, left2, right2, left3, right3;
    int32_t circular; /* 1: wrap around, 0: zeros */
} tenon_pad_params;

typedef struct tenon_pad_reflect_1d_params {
    int32_t left, right;
} tenon_pad_reflect_1d_params;

/* ---- filling -------------------------------------------------------------------------------- */

typedef struct tenon_fill_params {
    float value;
} tenon_fill_params;

typedef struct tenon_arange_params {
    float start, stop, step;
} tenon_arange_params;

typedef struct tenon_timestep_embedding_params {
    int32_t dim, max_period;
} tenon_timestep_embedding_params;

typedef struct tenon_diag_mask_inf_params {
    int32_t n_past;
} tenon_diag_mask_inf_params;
typedef tenon_diag_mask_inf_params tenon_diag_mask_zero_params;

typedef struct tenon_tri_params {
    int32_t type; /* enum ggml_tri_type */
} tenon_tri_params;

/* ---- activations ---------------------------------------------------------------------------- */

typedef struct tenon_unary_params {
    int32_t op; /* enum ggml_unary_op */
    /* XIELU only: x > 0 ? p*x*x + beta*x : (expm1(min(x, eps)) - x)*n + beta*x */
    float xielu_n, xielu_p, xielu_beta, xielu_eps;
} tenon_unary_params;

typedef struct tenon_leaky_relu_params {
    float negative_slope;
} tenon_leaky_relu_params;

typedef struct tenon_glu_params {
    int32_t op;      /* enum ggml_glu_op */
    int32_t swapped; /* one source only: 1 when its second half is the activated one */
    float alpha;     /* SWIGLU_OAI */
    float limit;     /* SWIGLU_OAI, SWIGLU_CLAMP */
} tenon_glu_params;

/* ---- normalisation -------------------------------------------------------------------------- */

typedef struct tenon_norm_params {
    float eps;
} tenon_norm_params;
typedef tenon_norm_params tenon_rms_norm_params;
typedef tenon_norm_params tenon_rms_norm_back_params;
typedef tenon_norm_params tenon_l2_norm_params;

typedef struct tenon_group_norm_params {
    int32_t n_groups;
    float eps;
} tenon_group_norm_params;

/* ---- matrix products ------------------------------------------------------------------------ */

typedef struct tenon_mul_mat_params {
    int32_t prec; /* enum ggml_prec of the accumulator; 0: free */
    int32_t hint; /* enum ggml_op_hint */
    int32_t reserved;
    int32_t src1_prec; /* enum ggml_prec to which src1 may be rounded; 0: free */
} tenon_mul_mat_params;
typedef tenon_mul_mat_params tenon_mul_mat_id_params; /* without hint */

/* ---- attention ------------------------------------------------------------------------------ */

typedef struct tenon_soft_max_params {
    float scale, max_bias;
} tenon_soft_max_params;
typedef tenon_soft_max_params tenon_soft_max_back_params;

/* What pairs of elements are made of, and which position turns them. */
enum tenon_rope_mode {
    TENON_ROPE_NORMAL = 0,  /* neighbours: 2j and 2j + 1 */
    TENON_ROPE_NEOX = 2,    /* half of n_dims apart: j and j + n_dims / 2 */
    TENON_ROPE_MROPE = 8,   /* as NEOX; pairs follow four streams of positions, in sections */
    TENON_ROPE_VISION = 24, /* as MROPE; n_dims apart, and angles start again with each section */
    TENON_ROPE_IMROPE = 40, /* as MROPE; sections interleaved: streams take turns pair by pair */
    TENON_ROPE_MULTI = 8    /* the bit of modes with four streams */
};
TENON_STATIC_ASSERT((int)TENON_ROPE_NORMAL == GGML_ROPE_TYPE_NORMAL, "numbers are ggml's");
TENON_STATIC_ASSERT((int)TENON_ROPE_NEOX == GGML_ROPE_TYPE_NEOX, "numbers are ggml's");
TENON_STATIC_ASSERT((int)TENON_ROPE_MROPE == GGML_ROPE_TYPE_MROPE, "numbers are ggml's");
TENON_STATIC_ASSERT((int)TENON_ROPE_VISION == GGML_ROPE_TYPE_VISION, "numbers are ggml's");
TENON_STATIC_ASSERT((int)TENON_ROPE_IMROPE == GGML_ROPE_TYPE_IMROPE, "numbers are ggml's");

typedef struct tenon_rope_params {
    int32_t reserved0;
    int32_t n_dims; /* elements of a row that are rotated */
    int32_t mode;   /* enum tenon_rope_mode */
    int32_t reserved1;
    int32_t n_ctx_orig;
    float freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow;
    int32_t sections[4]; /* modes with TENON_ROPE_MULTI: pairs per stream */
    int32_t n_offs;      /* first rotated element */
} tenon_rope_params;
typedef tenon_rope_params tenon_rope_back_params;

typedef struct tenon_flash_attn_ext_params {
    float scale, max_bias, logit_softcap; /* softcap 0: none */
    int32_t prec;                         /* enum ggml_prec */
    int32_t n_kv_max;                     /* most finite mask entries of a row; 0: unknown */
} tenon_flash_attn_ext_params;

typedef struct tenon_flash_attn_back_params {
    int32_t masked;
} tenon_flash_attn_back_params;

typedef struct tenon_win_part_params {
    int32_t n_windows_x, n_windows_y;
    int32_t window; /* its side, elements */
} tenon_win_part_params;

typedef struct tenon_win_unpart_params {
    int32_t window;
} tenon_win_unpart_params;

typedef struct tenon_add_rel_pos_params {
    int32_t inplace;
} tenon_add_rel_pos_params;

/* ---- convolution, pooling; axis 0 is width, 1 height, 2 depth ------------------------------- */

typedef struct tenon_im2col_params { /* stride, padding, dilation */
    int32_t s0, s1, p0, p1, d0, d1;
    int32_t is_2d; /* 0: only the values of axis 0 count */
} tenon_im2col_params;
typedef tenon_im2col_params tenon_im2col_back_params;

typedef struct tenon_im2col_3d_params {
    int32_t s0, s1, s2, p0, p1, p2, d0, d1, d2;
    int32_t n_channels;
} tenon_im2col_3d_params;

typedef struct tenon_col2im_1d_params {
    int32_t s0, n_channels_out, p0;
} tenon_col2im_1d_params;

typedef struct tenon_conv_2d_params {
    int32_t s0, s1, p0, p1, d0, d1;
} tenon_conv_2d_params;
typedef tenon_conv_2d_params tenon_conv_2d_dw_params;

typedef struct tenon_conv_3d_params {
    int32_t s0, s1, s2, p0, p1, p2, d0, d1, d2;
    int32_t n_channels, n_batch, n_channels_out;
} tenon_conv_3d_params;

typedef struct tenon_conv_transpose_1d_params {
    int32_t s0, p0, d0; /* p0 is 0, d0 is 1 */
} tenon_conv_transpose_1d_params;

typedef struct tenon_conv_transpose_2d_params {
    int32_t stride;
} tenon_conv_transpose_2d_params;

typedef struct tenon_pool_1d_params {
    int32_t op; /* enum ggml_op_pool */
    int32_t k0, s0, p0;
} tenon_pool_1d_params;

typedef struct tenon_pool_2d_params {
    int32_t op; /* enum ggml_op_pool */
    int32_t k0, k1, s0, s1, p0, p1;
} tenon_pool_2d_params;
typedef tenon_pool_2d_params tenon_pool_2d_back_params;

enum {
    TENON_UPSCALE_MODE = 0xff /* the bits of mode that are an enum ggml_scale_mode */
};
TENON_STATIC_ASSERT(((int)GGML_SCALE_MODE_COUNT & ~(int)TENON_UPSCALE_MODE) == 0 &&
                        (GGML_SCALE_FLAG_ALIGN_CORNERS & (int)TENON_UPSCALE_MODE) == 0 &&
                        (GGML_SCALE_FLAG_ANTIALIAS & (int)TENON_UPSCALE_MODE) == 0,
                    "modes are in the low byte, flags above");
typedef struct tenon_upscale_params {
    int32_t mode; /* an enum ggml_scale_mode in the bits of TENON_UPSCALE_MODE, enum ggml_scale_flag
                     above */
} tenon_upscale_params;

/* ---- sorting, recurrent ops, custom ops ----------------------------------------------------- */

typedef struct tenon_argsort_params {
    int32_t order; /* enum ggml_sort_order */
} tenon_argsort_params;

typedef struct tenon_ssm_scan_params {
    int32_t n_states; /* state slots written: after the last token, one token earlier, … */
} tenon_ssm_scan_params;
typedef tenon_ssm_scan_params tenon_gated_delta_net_params;

typedef struct tenon_gated_linear_attn_params {
    float scale;
} tenon_gated_linear_attn_params;

typedef struct tenon_dsv4_hc_comb_params {
    float eps;
    int32_t n_iter;
} tenon_dsv4_hc_comb_params;

typedef struct tenon_custom_params { /* addresses are of the host, meaningless on other devices */
    uint64_t fun;    /* ggml_custom_op_t, or ggml_custom1_op_t … for MAP_CUSTOM1 … */
    int32_t n_tasks; /* GGML_N_TASKS_MAX: as many as there are threads */
    int32_t reserved;
    uint64_t userdata;
} tenon_custom_params;
typedef tenon_custom_params tenon_map_custom1_params;
typedef tenon_custom_params tenon_map_custom2_params;
typedef tenon_custom_params tenon_map_custom3_params;

#ifdef __cplusplus
}
#endif
#endif /* TENON_OP_PARAMS_H */
