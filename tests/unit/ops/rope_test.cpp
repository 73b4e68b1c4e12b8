// Nodes and errors of the builders in rope.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // ggml_rope_custom

namespace {

// The builder with all arguments that come before the scaling, and this scaling.
template <class Build, class... Args>
ggml_tensor* scaled(Build build, Args... args) {
    return build(args..., /*n_ctx_orig=*/4096, /*freq_base=*/10000.0f, /*freq_scale=*/0.5f,
                 /*ext_factor=*/1.0f, /*attn_factor=*/1.25f, /*beta_fast=*/32.0f,
                 /*beta_slow=*/2.0f);
}
constexpr ggml_tensor* kNone = nullptr;

TEST(OpsRope, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 2);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,2,0,0,10000f,1f,0,1f}"},
        {[](const Maker& m) {
             return ggml_rope_inplace(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 0);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,0,0,0,10000f,1f,0,1f} =a 'a (view)'"},
        {[](const Maker& m) {
             return scaled(ggml_rope_ext, m.ctx, m.f16("a", 64, 8, 5), m.i32("p", 5),
                           m.f32("c", 16), 32, 2);
         },
         "ROPE f16 [64,8,5,1] <a,p,c> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f}"},
        {[](const Maker& m) {
             return scaled(ggml_rope_ext_inplace, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), kNone,
                           32, 2);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f} =a 'a (view)'"},
        {[](const Maker& m) {
             return scaled(ggml_rope_custom, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 2);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f}"},
        {[](const Maker& m) {
             return scaled(ggml_rope_custom_inplace, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32,
                           2);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f} =a 'a (view)'"},
        {[](const Maker& m) {
             return scaled(ggml_rope_ext_back, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5),
                           m.f32("c", 32), 32, 2);
         },
         "ROPE_BACK f32 [64,8,5,1] <a,p,c> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f}"},
        {[](const Maker& m) {
             int sections[] = {3, 4, 5, 6};
             return scaled(ggml_rope_multi, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 20), kNone, 32,
                           sections, GGML_ROPE_TYPE_MROPE);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,8,0,4096,10000f,0.5f,1f,1.25f,32f,2f,3,4,5,6}"},
        {[](const Maker& m) {
             int sections[] = {3, 4, 5, 6};
             return scaled(ggml_rope_multi_inplace, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 20),
                           kNone, 32, sections, GGML_ROPE_TYPE_IMROPE);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,40,0,4096,10000f,0.5f,1f,1.25f,32f,2f,3,4,5,6} =a "
         "'a (view)'"},
        {[](const Maker& m) {
             int sections[] = {3, 4, 5, 6};
             return scaled(ggml_rope_multi_back, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 20), kNone,
                           32, sections, GGML_ROPE_TYPE_VISION);
         },
         "ROPE_BACK f32 [64,8,5,1] <a,p> {0,32,24,0,4096,10000f,0.5f,1f,1.25f,32f,2f,3,4,5,6}"},
        {[](const Maker& m) {
             int sections[] = {3, 4, 5, 6};  // mode 2 has none
             return scaled(ggml_rope_multi, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), kNone, 32,
                           sections, GGML_ROPE_TYPE_NEOX);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,2,0,4096,10000f,0.5f,1f,1.25f,32f,2f}"},
        {[](const Maker& m) {
             return ggml_rope_set_offset(
                 ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 0), 16);
         },
         "ROPE f32 [64,8,5,1] <a,p> {0,32,0,0,0,10000f,1f,0,1f,0,0,0,0,0,0,16}"},
    });
}

TEST(OpsRope, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 1);
         },
         "ROPE: mode is 1, must be even"},
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), -2, 0);
         },
         "ROPE: n_dims is -2, must be at least 0"},
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5, 2), 32, 0);
         },
         "ROPE: src1 'p' of shape [5, 2, 1, 1] has more than 1 dimensions"},
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.f32("p", 5), 32, 0);
         },
         "ROPE: src1 'p' is f32, must be i32"},
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 4), 32, 0);
         },
         "ROPE: src1 'p' has ne[0] = 4, must be 5"},
        {[](const Maker& m) {
             return ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 8);
         },
         "ROPE: src1 'p' has ne[0] = 5, must be 20"},
        {[](const Maker& m) {
             return scaled(ggml_rope_ext_back, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5),
                           m.f16("c", 16), 32, 2);
         },
         "ROPE_BACK: src2 'c' is f16, must be f32"},
        {[](const Maker& m) {
             return scaled(ggml_rope_ext, m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5),
                           m.f32("c", 15), 32, 2);
         },
         "ROPE: src2 has ne[0] = 15, must be at least 16"},
        {[](const Maker& m) { return ggml_rope_set_offset(m.f32("a", 4), 2); },
         "ggml_rope_set_offset: the node is NONE, must be ROPE"},
        {[](const Maker& m) {
             return ggml_rope_set_offset(
                 ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 5), 32, 0), -2);
         },
         "ROPE: the offset is -2, must be at least 0"},
        {[](const Maker& m) {
             return ggml_rope_set_offset(
                 ggml_rope(m.ctx, m.f32("a", 64, 8, 5), m.i32("p", 20), 32, 24), 2);
         },
         "ROPE: mode 24 (vision) has no offset"},
    });
}

TEST(OpsRope, CorrectionRangeOfYarn) {
    float dims[2];
    ggml_rope_yarn_corr_dims(128, 4096, 10000.0f, 32.0f, 1.0f, dims);
    // 128 ln(4096 / (2 pi 32)) / (2 ln 10000) = 20.94…, with 1 in place of 32: 45.03…
    EXPECT_EQ(dims[0], 20.0f);
    EXPECT_EQ(dims[1], 46.0f);
    ggml_rope_yarn_corr_dims(128, 0, 10000.0f, 1.0f, 1.0f, dims);
    EXPECT_EQ(dims[0], 0.0f);
    EXPECT_TRUE(std::isinf(dims[1]) && dims[1] < 0);
    ggml_rope_yarn_corr_dims(16, 1 << 30, 2.0f, 1.0f, 1.0f, dims);
    EXPECT_EQ(dims[1], 15.0f);
    ggml_rope_yarn_corr_dims(16, 1, 2.0f, 1.0f, 1.0f, nullptr);
}

}  // namespace
