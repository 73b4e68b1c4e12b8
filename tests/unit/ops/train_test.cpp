// Nodes and errors of the builders in train.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

namespace {

ggml_tensor* param(const Maker& m) {
    ggml_tensor* w = m.f32("w", 4, 3);
    ggml_set_param(w);
    return w;
}

TEST(OpsTrain, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) {
             return ggml_cross_entropy_loss(m.ctx, m.f32("a", 4, 3), m.f32("b", 4, 3));
         },
         "CROSS_ENTROPY_LOSS f32 [1,1,1,1] <a,b>"},
        {[](const Maker& m) {
             return ggml_cross_entropy_loss_back(m.ctx, m.f32("g", 1), m.f32("a", 4, 3),
                                                 m.f32("b", 4, 3));
         },
         "CROSS_ENTROPY_LOSS_BACK f32 [4,3,1,1] <g,a,b>"},
        {[](const Maker& m) {
             return ggml_opt_step_adamw(m.ctx, param(m), m.f32("g", 4, 3), m.f32("m", 4, 3),
                                        m.f32("v", 4, 3), m.f32("p", 7));
         },
         "OPT_STEP_ADAMW f32 [4,3,1,1] <w,g,m,v,p> =w 'w (view)'"},
        {[](const Maker& m) {
             return ggml_opt_step_sgd(m.ctx, param(m), m.f32("g", 4, 3), m.f32("p", 2));
         },
         "OPT_STEP_SGD f32 [4,3,1,1] <w,g,p> =w 'w (view)'"},
    });
}

TEST(OpsTrain, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) {
             return ggml_cross_entropy_loss(m.ctx, m.f32("a", 4, 3), m.f32("b", 4, 2));
         },
         "CROSS_ENTROPY_LOSS: src0 'a' has shape [4, 3, 1, 1], src1 'b' has [4, 2, 1, 1]"},
        {[](const Maker& m) {
             return ggml_cross_entropy_loss_back(m.ctx, m.f32("g", 2), m.f32("a", 4, 3),
                                                 m.f32("b", 4, 3));
         },
         "CROSS_ENTROPY_LOSS_BACK: src0 'g' of shape [2, 1, 1, 1] has more than 0 dimensions"},
        {[](const Maker& m) {
             return ggml_cross_entropy_loss_back(m.ctx, m.f32("g", 1), m.f32("a", 4, 3),
                                                 m.f32("b", 4, 2));
         },
         "CROSS_ENTROPY_LOSS_BACK: src1 'a' has shape [4, 3, 1, 1], src2 'b' has [4, 2, 1, 1]"},
        {[](const Maker& m) {
             return ggml_opt_step_sgd(m.ctx, m.f32("w", 4, 3), m.f32("g", 4, 3), m.f32("p", 2));
         },
         "OPT_STEP_SGD: src0 'w' is no parameter (ggml_set_param)"},
        {[](const Maker& m) {
             return ggml_opt_step_sgd(m.ctx, param(m), m.f32("g", 3, 4), m.f32("p", 2));
         },
         "OPT_STEP_SGD: src1 'g' has shape [3, 4, 1, 1], src0 'w' has [4, 3, 1, 1]"},
        {[](const Maker& m) {
             return ggml_opt_step_sgd(m.ctx, param(m), m.f32("g", 4, 3), m.f32("p", 3));
         },
         "OPT_STEP_SGD: src2 'p' of shape [3, 1, 1, 1] has 3 elements, must have 2"},
        {[](const Maker& m) {
             return ggml_opt_step_sgd(m.ctx, param(m), m.f32("g", 4, 3), m.f16("p", 2));
         },
         "OPT_STEP_SGD: src2 'p' is f16, must be f32"},
        {[](const Maker& m) {
             return ggml_opt_step_adamw(m.ctx, param(m), m.f32("g", 4, 3), m.f32("m", 4, 3),
                                        m.f32("v", 4, 2), m.f32("p", 7));
         },
         "OPT_STEP_ADAMW: src3 'v' has shape [4, 2, 1, 1], src0 'w' has [4, 3, 1, 1]"},
        {[](const Maker& m) {
             return ggml_opt_step_adamw(m.ctx, param(m), m.f32("g", 4, 3), m.f32("m", 4, 3),
                                        m.f32("v", 4, 3), m.f32("p", 6));
         },
         "OPT_STEP_ADAMW: src4 'p' of shape [6, 1, 1, 1] has 6 elements, must have 7"},
    });
}

}  // namespace
