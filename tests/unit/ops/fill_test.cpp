// Nodes and errors of the builders in fill.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

namespace {

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
