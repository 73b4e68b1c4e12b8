// Nodes and errors of the builders in activation.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

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

}  // namespace
