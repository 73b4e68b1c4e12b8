// The shape rules that rows of the op table name. Rules shared by several ops are defined in
// shape_rules.cpp, the others beside the builder of their op.
#pragma once

#include "core/ops/op_table.h"

namespace tenon {

using ShapeRule = Result<NodeShape>(const OpCall& call);

// shared
ShapeRule same_as_src0;
ShapeRule same_as_both;         // two sources of one shape
ShapeRule padded_same_as_src0;  // src0 with rows at a constant distance
ShapeRule f32_same_as_src0;
ShapeRule row_reduced_to_f32;

// arithmetic
ShapeRule add_shape, broadcast_shape, add_id_shape, add1_shape, acc_shape, set_shape;
// reduce
ShapeRule sum_shape, sum_rows_shape, argmax_shape, count_equal_shape;
// activation
ShapeRule unary_shape, glu_shape;
// norm
ShapeRule norm_shape, rms_norm_back_shape, group_norm_shape;
// matmul
ShapeRule mul_mat_shape, mul_mat_id_shape, out_prod_shape, solve_tri_shape;
// layout
ShapeRule cpy_shape, cont_shape, repeat_shape, repeat_back_shape, concat_shape;
ShapeRule pad_shape, pad_reflect_1d_shape, roll_shape;
// views
ShapeRule reshape_shape, view_shape, permute_shape, transpose_shape;
// rows
ShapeRule get_rows_shape, get_rows_back_shape, set_rows_shape;
// fill
ShapeRule diag_shape, diag_mask_shape, tri_shape, fill_shape, arange_shape;
ShapeRule timestep_embedding_shape;
// attention
ShapeRule soft_max_shape, soft_max_back_shape, flash_attn_ext_shape, flash_attn_back_shape;
ShapeRule lightning_indexer_shape;
// rope
ShapeRule rope_shape;
// window
ShapeRule win_part_shape, win_unpart_shape, get_rel_pos_shape, add_rel_pos_shape;
// conv
ShapeRule conv_2d_shape, conv_3d_shape, conv_2d_dw_shape;
ShapeRule conv_transpose_1d_shape, conv_transpose_2d_shape;
ShapeRule im2col_shape, im2col_back_shape, im2col_3d_shape, col2im_1d_shape;
// pool
ShapeRule pool_1d_shape, pool_2d_shape, pool_2d_back_shape, upscale_shape;
// sort
ShapeRule argsort_shape, top_k_shape;
// recurrent
ShapeRule ssm_conv_shape, ssm_scan_shape, rwkv_wkv6_shape, rwkv_wkv7_shape;
ShapeRule gated_linear_attn_shape, gated_delta_net_shape;
ShapeRule dsv4_hc_comb_shape, dsv4_hc_pre_shape, dsv4_hc_post_shape;
// custom
ShapeRule map_custom_shape, custom_shape;
// train
ShapeRule cross_entropy_loss_shape, cross_entropy_loss_back_shape;
ShapeRule opt_step_adamw_shape, opt_step_sgd_shape;

}  // namespace tenon
