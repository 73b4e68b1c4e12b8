// Nodes and errors of the builders in pool.

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // ggml_upscale_ext

namespace {

TEST(OpsPool, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) {
             return ggml_pool_1d(m.ctx, m.f16("a", 10, 2), GGML_OP_POOL_AVG, 3, 3, 1);
         },
         "POOL_1D f32 [4,2,1,1] <a> {1,3,3,1}"},
        {[](const Maker& m) {
             return ggml_pool_2d(m.ctx, m.f32("a", 10, 9, 2, 3), GGML_OP_POOL_MAX, 3, 4, 1, 2, 0.0f,
                                 1.0f);
         },
         "POOL_2D f32 [8,4,2,3] <a> {0,3,4,1,2,0,1}"},
        // a fraction of a padding counts for the size only
        {[](const Maker& m) {
             return ggml_pool_2d(m.ctx, m.f32("a", 4, 4), GGML_OP_POOL_MAX, 2, 2, 1, 1, 1.5f, 1.5f);
         },
         "POOL_2D f32 [6,6,1,1] <a> {0,2,2,1,1,1,1}"},
        {[](const Maker& m) {
             return ggml_pool_2d_back(m.ctx, m.f32("g", 8, 4, 2, 3), m.f16("x", 10, 9, 2, 3),
                                      GGML_OP_POOL_MAX, 3, 4, 1, 2, 0.0f, 1.0f);
         },
         "POOL_2D_BACK f32 [10,9,2,3] <g,x> {0,3,4,1,2,0,1}"},
        {[](const Maker& m) {
             return ggml_upscale(m.ctx, m.f32("a", 4, 3, 2), 3, GGML_SCALE_MODE_NEAREST);
         },
         "UPSCALE f32 [12,9,2,1] <a>"},
        {[](const Maker& m) {
             return ggml_upscale_ext(m.ctx, m.f32("a", 4, 3, 2), 5, 6, 2, 1,
                                     GGML_SCALE_MODE_BICUBIC);
         },
         "UPSCALE f32 [5,6,2,1] <a> {2}"},
        {[](const Maker& m) {
             return ggml_interpolate(m.ctx, m.transposed("a", 4, 3), 2, 2, 1, 1, 1 | 256 | 512);
         },
         "UPSCALE f32 [2,2,1,1] <a> {769}"},
    });
}

TEST(OpsPool, ErrorsNameTheOpTheSourceAndBothNumbers) {
    const auto pool_2d = [](const Maker& m, float padding) {
        return ggml_pool_2d(m.ctx, m.f32("a", 4, 4), GGML_OP_POOL_MAX, 5, 5, 1, 1, padding,
                            padding);
    };
    for (float padding : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), 1e12f}) {
        const Maker m;
        tenon_clear_error();
        EXPECT_EQ(pool_2d(m, padding), nullptr) << padding;
        EXPECT_STREQ(tenon_last_error(), "POOL_2D: k0 5 and s0 1 leave no window");
    }
    expect_errors({
        {[](const Maker& m) {
             return ggml_pool_1d(m.ctx, m.f32("a", 10), (ggml_op_pool)2, 3, 3, 0);
         },
         "POOL_1D: pool op is 2, must be 0 to 1"},
        {[](const Maker& m) {
             return ggml_pool_1d(m.ctx, m.f32("a", 10), GGML_OP_POOL_AVG, 11, 3, 0);
         },
         "POOL_1D: k0 11 and s0 3 leave no window"},
        {[](const Maker& m) {
             return ggml_pool_1d(m.ctx, m.f32("a", 10), GGML_OP_POOL_AVG, 3, 0, 0);
         },
         "POOL_1D: s0 is 0, must be at least 1"},
        {[](const Maker& m) {
             return ggml_pool_1d(m.ctx, m.f32("a", 10), GGML_OP_POOL_AVG, 0, 1, 0);
         },
         "POOL_1D: k0 is 0, must be at least 1"},
        {[](const Maker& m) {
             return ggml_pool_2d_back(m.ctx, m.f32("g", 8, 4), m.f32("x", 10, 10), GGML_OP_POOL_MAX,
                                      3, 4, 1, 2, 0.0f, 1.0f);
         },
         "POOL_2D_BACK: src0 'g' has ne[1] = 4, must be 5"},
        {[](const Maker& m) {
             return ggml_pool_2d_back(m.ctx, m.f32("g", 8, 5, 2), m.f32("x", 10, 10, 3),
                                      GGML_OP_POOL_MAX, 3, 4, 1, 2, 0.0f, 1.0f);
         },
         "POOL_2D_BACK: src0 'g' has ne[2] = 2, src1 'x' has ne[2] = 3"},
        {[](const Maker& m) {
             return ggml_upscale(m.ctx, m.f32("a", 4), 1, GGML_SCALE_MODE_NEAREST);
         },
         "UPSCALE: the factor is 1, must be at least 2"},
        {[](const Maker& m) {
             return ggml_upscale(m.ctx, m.f32("a", 4), 2, GGML_SCALE_MODE_COUNT);
         },
         "UPSCALE: mode is 3, must be 0 to 2"},
        {[](const Maker& m) { return ggml_interpolate(m.ctx, m.f32("a", 4), 2, 2, 1, 1, 2 | 512); },
         "UPSCALE: mode 2 cannot antialias, only 1 (bilinear) can"},
        {[](const Maker& m) {
             return ggml_upscale(m.ctx, m.f16("a", 4), 2, GGML_SCALE_MODE_NEAREST);
         },
         "UPSCALE: src0 'a' is f16, must be f32"},
        {[](const Maker& m) { return ggml_interpolate(m.ctx, m.f32("a", 4), -2, 1, 1, 1, 0); },
         "UPSCALE: tensor of f32, shape [-2, 1, 1, 1]: an extent is negative"},
    });
}

}  // namespace
