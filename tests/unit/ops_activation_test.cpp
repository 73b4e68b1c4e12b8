// Nodes and errors of the builders in activation, norm and fill.

#include <gtest/gtest.h>

#include <limits>

#include "op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::line_of;
using tenon::test::Maker;

namespace {

TEST(OpsActivation, EveryUnaryOpHasItsBuilders) {
    using Builder = ggml_tensor* (*)(ggml_context*, ggml_tensor*);
    const struct {
        ggml_unary_op op;
        Builder fresh, inplace;
    } rows[] = {
        {GGML_UNARY_OP_ABS, ggml_abs, ggml_abs_inplace},
        {GGML_UNARY_OP_SGN, ggml_sgn, ggml_sgn_inplace},
        {GGML_UNARY_OP_NEG, ggml_neg, ggml_neg_inplace},
        {GGML_UNARY_OP_STEP, ggml_step, ggml_step_inplace},
        {GGML_UNARY_OP_TANH, ggml_tanh, ggml_tanh_inplace},
        {GGML_UNARY_OP_ELU, ggml_elu, ggml_elu_inplace},
        {GGML_UNARY_OP_RELU, ggml_relu, ggml_relu_inplace},
        {GGML_UNARY_OP_SIGMOID, ggml_sigmoid, ggml_sigmoid_inplace},
        {GGML_UNARY_OP_GELU, ggml_gelu, ggml_gelu_inplace},
        {GGML_UNARY_OP_GELU_QUICK, ggml_gelu_quick, ggml_gelu_quick_inplace},
        {GGML_UNARY_OP_SILU, ggml_silu, ggml_silu_inplace},
        {GGML_UNARY_OP_HARDSWISH, ggml_hardswish, nullptr},
        {GGML_UNARY_OP_HARDSIGMOID, ggml_hardsigmoid, nullptr},
        {GGML_UNARY_OP_EXP, ggml_exp, ggml_exp_inplace},
        {GGML_UNARY_OP_EXPM1, ggml_expm1, ggml_expm1_inplace},
        {GGML_UNARY_OP_SOFTPLUS, ggml_softplus, ggml_softplus_inplace},
        {GGML_UNARY_OP_GELU_ERF, ggml_gelu_erf, ggml_gelu_erf_inplace},
        {GGML_UNARY_OP_FLOOR, ggml_floor, ggml_floor_inplace},
        {GGML_UNARY_OP_CEIL, ggml_ceil, ggml_ceil_inplace},
        {GGML_UNARY_OP_ROUND, ggml_round, ggml_round_inplace},
        {GGML_UNARY_OP_TRUNC, ggml_trunc, ggml_trunc_inplace},
    };
    EXPECT_EQ(std::size(rows), GGML_UNARY_OP_COUNT - 1u);  // XIELU has parameters
    for (const auto& row : rows) {
        const Maker m;
        const std::string params = row.op == 0 ? "" : " {" + std::to_string(row.op) + "}";
        ggml_tensor* node = row.fresh(m.ctx, m.f16("a", 4, 3));
        EXPECT_EQ(line_of(*node), "UNARY f16 [4,3,1,1] <a>" + params);
        EXPECT_EQ(ggml_get_unary_op(node), row.op);
        EXPECT_STREQ(ggml_op_desc(node), ggml_unary_op_name(row.op));
        if (row.inplace == nullptr) continue;
        EXPECT_EQ(line_of(*row.inplace(m.ctx, m.f32("a", 4, 3))),
                  "UNARY f32 [4,3,1,1] <a>" + params + " =a 'a (view)'");
    }
}

TEST(OpsActivation, EveryGluOpHasItsBuilders) {
    using One = ggml_tensor* (*)(ggml_context*, ggml_tensor*);
    using Two = ggml_tensor* (*)(ggml_context*, ggml_tensor*, ggml_tensor*);
    const struct {
        ggml_glu_op op;
        One plain, swapped;
        Two split;
    } rows[] = {
        {GGML_GLU_OP_REGLU, ggml_reglu, ggml_reglu_swapped, ggml_reglu_split},
        {GGML_GLU_OP_GEGLU, ggml_geglu, ggml_geglu_swapped, ggml_geglu_split},
        {GGML_GLU_OP_SWIGLU, ggml_swiglu, ggml_swiglu_swapped, ggml_swiglu_split},
        {GGML_GLU_OP_GEGLU_ERF, ggml_geglu_erf, ggml_geglu_erf_swapped, ggml_geglu_erf_split},
        {GGML_GLU_OP_GEGLU_QUICK, ggml_geglu_quick, ggml_geglu_quick_swapped,
         ggml_geglu_quick_split},
    };
    for (const auto& row : rows) {
        const Maker m;
        const std::string op = std::to_string(row.op);
        const std::string plain = row.op == 0 ? "" : " {" + op + "}";
        ggml_tensor* node = row.plain(m.ctx, m.f16("a", 7, 3));
        EXPECT_EQ(line_of(*node), "GLU f16 [3,3,1,1] <a>" + plain);
        EXPECT_EQ(ggml_get_glu_op(node), row.op);
        EXPECT_STREQ(ggml_op_desc(node), ggml_glu_op_name(row.op));
        EXPECT_EQ(line_of(*row.swapped(m.ctx, m.padded("a", 8, 3))),
                  "GLU f32 [4,3,1,1] <a> {" + op + ",1}");
        EXPECT_EQ(line_of(*row.split(m.ctx, m.f32("a", 8, 3), m.padded("b", 8, 3))),
                  "GLU f32 [8,3,1,1] <a,b>" + plain);
        tenon_clear_error();
        EXPECT_EQ(row.split(m.ctx, m.f32("a", 8, 3), nullptr), nullptr);
        EXPECT_STREQ(tenon_last_error(), "");
    }
}

TEST(OpsActivation, NodesWithParameters) {
    expect_nodes({
        {[](const Maker& m) { return ggml_xielu(m.ctx, m.f32("a", 4), 25.0f, 0.0f, 0.5f, -1.0f); },
         "UNARY f32 [4,1,1,1] <a> {17,25.5f,0.693147f,0.5f,-1f}"},
        {[](const Maker& m) { return ggml_unary(m.ctx, m.f32("a", 4), GGML_UNARY_OP_GELU); },
         "UNARY f32 [4,1,1,1] <a> {8}"},
        {[](const Maker& m) {
             return ggml_unary_inplace(m.ctx, m.f32("a", 4), GGML_UNARY_OP_GELU);
         },
         "UNARY f32 [4,1,1,1] <a> {8} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_leaky_relu(m.ctx, m.f32("a", 4), 0.25f, false); },
         "LEAKY_RELU f32 [4,1,1,1] <a> {0.25f}"},
        {[](const Maker& m) { return ggml_leaky_relu(m.ctx, m.f32("a", 4), 0.25f, true); },
         "LEAKY_RELU f32 [4,1,1,1] <a> {0.25f} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_silu_back(m.ctx, m.f32("g", 4), m.f32("x", 4)); },
         "SILU_BACK f32 [4,1,1,1] <g,x>"},
        {[](const Maker& m) { return ggml_glu(m.ctx, m.f32("a", 4), GGML_GLU_OP_GEGLU, true); },
         "GLU f32 [2,1,1,1] <a> {1,1}"},
        {[](const Maker& m) {
             return ggml_glu_split(m.ctx, m.f32("a", 4), m.f32("b", 4), GGML_GLU_OP_SWIGLU);
         },
         "GLU f32 [4,1,1,1] <a,b> {2}"},
        {[](const Maker& m) {
             return ggml_swiglu_oai(m.ctx, m.f32("a", 4), m.f32("b", 4), 1.5f, 7.0f);
         },
         "GLU f32 [4,1,1,1] <a,b> {3,0,1.5f,7f}"},
        {[](const Maker& m) {
             return ggml_swiglu_clamp(m.ctx, m.f32("a", 4), m.f32("b", 4), 7.0f);
         },
         "GLU f32 [4,1,1,1] <a,b> {6,0,0,7f}"},
    });
}

TEST(OpsActivation, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_relu(m.ctx, m.transposed("a", 4, 3)); },
         "UNARY: src0 'a' does not have contiguous rows: nb[0] = 12, must be 4"},
        {[](const Maker& m) {
             return ggml_unary(m.ctx, m.f32("a", 4), static_cast<ggml_unary_op>(22));
         },
         "UNARY: unary op is 22, must be 0 to 21"},
        {[](const Maker& m) {
             return ggml_glu(m.ctx, m.f32("a", 4), static_cast<ggml_glu_op>(-1), false);
         },
         "GLU: glu op is -1, must be 0 to 6"},
        {[](const Maker& m) { return ggml_reglu(m.ctx, m.gapped("a", 4, 3, 2)); },
         "GLU: src0 'a' does not have dense rows at one distance: shape [4, 3, 2, 1], strides "
         "[4, 16, 96, 192]"},
        {[](const Maker& m) {
             return ggml_reglu_split(m.ctx, m.f32("a", 4, 3, 2), m.gapped("b", 4, 3, 2));
         },
         "GLU: src1 'b' does not have dense rows at one distance: shape [4, 3, 2, 1], strides "
         "[4, 16, 96, 192]"},
        {[](const Maker& m) { return ggml_reglu_split(m.ctx, m.f32("a", 4), m.f32("b", 8)); },
         "GLU: src0 'a' has shape [4, 1, 1, 1], src1 'b' has [8, 1, 1, 1]"},
        {[](const Maker& m) { return ggml_reglu_split(m.ctx, m.f32("a", 4), m.f16("b", 4)); },
         "GLU: src0 'a' is f32, src1 'b' is f16"},
        {[](const Maker& m) { return ggml_silu_back(m.ctx, m.f32("g", 4), m.f32("x", 3)); },
         "SILU_BACK: src0 'g' has shape [4, 1, 1, 1], src1 'x' has [3, 1, 1, 1]"},
    });
}

TEST(OpsNorm, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_norm(m.ctx, m.f32("a", 4, 3), 1e-5f); },
         "NORM f32 [4,3,1,1] <a> {1e-05f}"},
        {[](const Maker& m) { return ggml_norm_inplace(m.ctx, m.f32("a", 4, 3), 1e-5f); },
         "NORM f32 [4,3,1,1] <a> {1e-05f} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_rms_norm(m.ctx, m.f32("a", 4, 3), 0.0f); },
         "RMS_NORM f32 [4,3,1,1] <a>"},
        {[](const Maker& m) { return ggml_rms_norm_inplace(m.ctx, m.f32("a", 4, 3), 1e-5f); },
         "RMS_NORM f32 [4,3,1,1] <a> {1e-05f} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_l2_norm(m.ctx, m.f32("a", 4, 3), 1e-5f); },
         "L2_NORM f32 [4,3,1,1] <a> {1e-05f}"},
        {[](const Maker& m) { return ggml_l2_norm_inplace(m.ctx, m.f32("a", 4, 3), 1e-5f); },
         "L2_NORM f32 [4,3,1,1] <a> {1e-05f} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_group_norm(m.ctx, m.f32("a", 4, 3, 6), 2, 1e-6f); },
         "GROUP_NORM f32 [4,3,6,1] <a> {2,1e-06f}"},
        {[](const Maker& m) {
             return ggml_group_norm_inplace(m.ctx, m.f32("a", 4, 3, 6), 2, 1e-6f);
         },
         "GROUP_NORM f32 [4,3,6,1] <a> {2,1e-06f} =a 'a (view)'"},
        {[](const Maker& m) {
             return ggml_rms_norm_back(m.ctx, m.f32("g", 4), m.f32("x", 4), 1e-5f);
         },
         "RMS_NORM_BACK f32 [4,1,1,1] <g,x> {1e-05f}"},
    });
}

TEST(OpsNorm, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_norm(m.ctx, m.f32("a", 4), -1.0f); },
         "NORM: eps is -1, must be at least 0"},
        {[](const Maker& m) {
             return ggml_rms_norm(m.ctx, m.f32("a", 4), std::numeric_limits<float>::quiet_NaN());
         },
         "RMS_NORM: eps is nan, must be at least 0"},
        {[](const Maker& m) { return ggml_group_norm(m.ctx, m.f32("a", 4), 0, 0.0f); },
         "GROUP_NORM: n_groups is 0, must be at least 1"},
        {[](const Maker& m) {
             return ggml_rms_norm_back(m.ctx, m.f32("g", 4), m.f32("x", 5), 1e-5f);
         },
         "RMS_NORM_BACK: src0 'g' has shape [4, 1, 1, 1], src1 'x' has [5, 1, 1, 1]"},
    });
}

TEST(OpsFill, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_fill(m.ctx, m.f16("a", 4, 3), 1.5f); },
         "FILL f16 [4,3,1,1] <a> {1.5f}"},
        {[](const Maker& m) { return ggml_fill_inplace(m.ctx, m.f32("a", 4, 3), 1.5f); },
         "FILL f32 [4,3,1,1] <a> {1.5f} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_arange(m.ctx, 1.0f, 4.5f, 0.5f); },
         "ARANGE f32 [7,1,1,1] {1f,4.5f,0.5f}"},
        {[](const Maker& m) { return ggml_arange(m.ctx, 0.0f, 3.0f, 2.0f); },
         "ARANGE f32 [2,1,1,1] {0,3f,2f}"},
        {[](const Maker& m) { return ggml_timestep_embedding(m.ctx, m.f32("t", 3), 321, 10000); },
         "TIMESTEP_EMBEDDING f32 [321,3,1,1] <t> {321,10000}"},
        {[](const Maker& m) { return ggml_diag(m.ctx, m.f32("a", 4, 1, 3, 2)); },
         "DIAG f32 [4,4,3,2] <a>"},
        {[](const Maker& m) { return ggml_diag_mask_inf(m.ctx, m.f32("a", 4, 3), 5); },
         "DIAG_MASK_INF f32 [4,3,1,1] <a> {5}"},
        {[](const Maker& m) { return ggml_diag_mask_inf_inplace(m.ctx, m.f32("a", 4, 3), 5); },
         "DIAG_MASK_INF f32 [4,3,1,1] <a> {5} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_diag_mask_zero(m.ctx, m.f32("a", 4, 3), 5); },
         "DIAG_MASK_ZERO f32 [4,3,1,1] <a> {5}"},
        {[](const Maker& m) { return ggml_diag_mask_zero_inplace(m.ctx, m.f32("a", 4, 3), 5); },
         "DIAG_MASK_ZERO f32 [4,3,1,1] <a> {5} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_tri(m.ctx, m.f32("a", 4, 4, 3), GGML_TRI_TYPE_LOWER); },
         "TRI f32 [4,4,3,1] <a> {3}"},
    });
}

TEST(OpsFill, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_fill(m.ctx, m.i32("a", 4), 1.0f); },
         "FILL: src0 'a' is i32, must be f32 or f16"},
        {[](const Maker& m) { return ggml_fill(m.ctx, m.transposed("a", 4, 3), 1.0f); },
         "FILL: src0 'a' is not contiguous: shape [4, 3, 1, 1], strides [12, 4, 48, 48]"},
        {[](const Maker& m) { return ggml_arange(m.ctx, 2.0f, 2.0f, 1.0f); },
         "ARANGE: stop is 2, must be above start, 2"},
        {[](const Maker& m) { return ggml_arange(m.ctx, 0.0f, 2.0f, 0.0f); },
         "ARANGE: step is 0, must be above 0"},
        {[](const Maker& m) { return ggml_arange(m.ctx, 0.0f, 1e30f, 1.0f); },
         "ARANGE: 0 to 1e+30 in steps of 1 has too many elements"},
        {[](const Maker& m) { return ggml_timestep_embedding(m.ctx, m.f32("t", 3), -1, 1); },
         "TIMESTEP_EMBEDDING: dim is -1, must be at least 0"},
        {[](const Maker& m) { return ggml_diag(m.ctx, m.f32("a", 4, 2)); },
         "DIAG: src0 'a' has ne[1] = 2, must be 1"},
        {[](const Maker& m) { return ggml_diag_mask_inf(m.ctx, m.f32("a", 4), -1); },
         "DIAG_MASK_INF: n_past is -1, must be at least 0"},
        {[](const Maker& m) { return ggml_tri(m.ctx, m.f16("a", 4, 4), GGML_TRI_TYPE_LOWER); },
         "TRI: src0 'a' is f16, must be f32"},
        {[](const Maker& m) { return ggml_tri(m.ctx, m.f32("a", 4, 3), GGML_TRI_TYPE_LOWER); },
         "TRI: src0 'a' has ne[0] = 4, src0 'a' has ne[1] = 3"},
        {[](const Maker& m) {
             return ggml_tri(m.ctx, m.transposed("a", 4, 4), GGML_TRI_TYPE_LOWER);
         },
         "TRI: src0 'a' is not contiguous: shape [4, 4, 1, 1], strides [16, 4, 64, 64]"},
        {[](const Maker& m) { return ggml_tri(m.ctx, m.f32("a", 4, 4), (ggml_tri_type)4); },
         "TRI: type is 4, must be 0 to 3"},
    });
}

}  // namespace
