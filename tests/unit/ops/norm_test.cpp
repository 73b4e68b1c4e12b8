// Nodes and errors of the builders in norm.

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

namespace {

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

}  // namespace
