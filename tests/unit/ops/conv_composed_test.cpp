// Nodes and errors of the builders in conv_composed.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::line_of;
using tenon::test::Maker;

namespace {

// The nodes of a context in order of creation, without views of metadata.
std::vector<std::string> nodes_of(const Maker& m) {
    std::vector<std::string> lines;
    for (ggml_tensor* t = ggml_get_first_tensor(m.ctx); t; t = ggml_get_next_tensor(m.ctx, t)) {
        if (t->op == GGML_OP_NONE) continue;
        ggml_tensor shown = *t;
        std::memset(shown.src, 0, sizeof shown.src);
        shown.view_src = nullptr;
        shown.name[0] = '\0';
        lines.push_back(line_of(shown));
    }
    return lines;
}

using Lines = std::vector<std::string>;

TEST(OpsConvComposed, OneDimension) {
    Maker m;
    ggml_tensor* out = ggml_conv_1d(m.ctx, m.f16("k", 3, 10, 7), m.f32("x", 8, 10), 1, 1, 1);
    EXPECT_EQ(nodes_of(m),
              (Lines{"IM2COL f16 [30,8,1,1] {1,0,1,0,1}", "RESHAPE f16 [30,8,1,1]",
                     "RESHAPE f16 [30,7,1,1]", "MUL_MAT f32 [8,7,1,1]", "RESHAPE f32 [8,7,1,1]"}));
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(out->src[0]->src[0]->src[0]->op, GGML_OP_IM2COL);  // the patches come first
    EXPECT_STREQ(out->src[0]->src[1]->name, "k (reshaped)");

    Maker half;
    ggml_conv_1d_ph(half.ctx, half("k", GGML_TYPE_BF16, 5, 10, 7), half.f32("x", 8, 10), 2, 1);
    EXPECT_EQ(nodes_of(half)[0], "IM2COL f32 [50,4,1,1] {2,0,2,0,1}");
}

TEST(OpsConvComposed, OneDimensionDepthwise) {
    Maker m;
    ggml_conv_1d_dw(m.ctx, m.f16("k", 3, 1, 2), m.f32("x", 6, 2), 1, 1, 1);
    EXPECT_EQ(nodes_of(m), (Lines{"RESHAPE f32 [6,1,2,1]", "IM2COL f16 [3,6,2,1] {1,0,1,0,1}",
                                  "MUL_MAT f32 [6,1,2,1]", "RESHAPE f32 [6,2,1,1]"}));
    Maker half;
    ggml_conv_1d_dw_ph(half.ctx, half.f16("k", 5, 1, 2), half.f32("x", 6, 2), 1, 1);
    EXPECT_EQ(nodes_of(half)[1], "IM2COL f16 [5,6,2,1] {1,0,2,0,1}");
}

TEST(OpsConvComposed, TwoDimensions) {
    Maker m;
    ggml_conv_2d(m.ctx, m.f16("k", 3, 3, 10, 7), m.f32("x", 8, 6, 10, 2), 1, 1, 1, 1, 1, 1);
    EXPECT_EQ(nodes_of(m),
              (Lines{"IM2COL f16 [90,8,6,2] {1,1,1,1,1,1,1}", "RESHAPE f16 [90,96,1,1]",
                     "RESHAPE f16 [90,7,1,1]", "MUL_MAT f32 [96,7,1,1]", "RESHAPE f32 [8,6,2,7]",
                     "PERMUTE f32 [8,6,7,2] {0,1,3,2} |4,32,384,192", "CONT f32 [8,6,7,2]"}));
    Maker patches;
    ggml_tensor* out =
        ggml_conv_2d_sk_p0(patches.ctx, patches.f16("k", 4, 2, 3, 7), patches.f32("x", 8, 6, 3));
    EXPECT_EQ(nodes_of(patches)[0], "IM2COL f16 [24,2,3,1] {4,2,0,0,1,1,1}");
    EXPECT_EQ(line_of(*out),
              "CONT f32 [2,3,7,1] < (reshaped) (permuted)> "
              "' (reshaped) (permuted) (cont)'");
    Maker half;
    out = ggml_conv_2d_s1_ph(half.ctx, half.f16("k", 5, 3, 3, 7), half.f32("x", 8, 6, 3));
    EXPECT_EQ(nodes_of(half)[0], "IM2COL f16 [45,8,6,1] {1,1,2,1,1,1,1}");
}

TEST(OpsConvComposed, TwoDimensionsDepthwise) {
    Maker m;
    ggml_conv_2d_dw(m.ctx, m.f16("k", 3, 3, 1, 4), m.f32("x", 8, 6, 4, 2), 2, 1, 1, 1, 1, 1);
    EXPECT_EQ(nodes_of(m),
              (Lines{"RESHAPE f16 [3,3,1,4]", "RESHAPE f32 [8,6,1,8]",
                     "IM2COL f16 [9,4,6,8] {2,1,1,1,1,1,1}", "RESHAPE f16 [9,24,4,2]",
                     "RESHAPE f16 [9,1,4,1]", "MUL_MAT f32 [1,24,4,2]", "RESHAPE f32 [4,6,4,2]"}));
}

TEST(OpsConvComposed, ThreeDimensions) {
    Maker m;
    ggml_conv_3d(m.ctx, m.f16("k", 3, 3, 3, 10), m.f32("x", 8, 6, 5, 4), 2, 1, 1, 1, 1, 1, 1, 1, 1,
                 1);
    EXPECT_EQ(nodes_of(m),
              (Lines{"IM2COL_3D f16 [54,8,6,10] {1,1,1,1,1,1,1,1,1,2}", "RESHAPE f16 [54,480,1,1]",
                     "RESHAPE f16 [54,5,1,1]", "MUL_MAT f32 [480,5,1,1]", "RESHAPE f32 [48,5,2,5]",
                     "PERMUTE f32 [48,5,5,2] {0,1,3,2} |4,192,1920,960", "CONT f32 [48,5,5,2]",
                     "RESHAPE f32 [8,6,5,10]"}));
}

TEST(OpsConvComposed, ErrorsComeFromTheNodeThatCannotBeMade) {
    expect_errors({
        {[](const Maker& m) {
             return ggml_conv_2d(m.ctx, m.f16("k", 3, 3, 4, 7), m.f32("x", 8, 6, 5), 1, 1, 1, 1, 1,
                                 1);
         },
         "IM2COL: src0 'k' has ne[2] = 4, src1 'x' has ne[2] = 5"},
        {[](const Maker& m) {
             return ggml_conv_1d_dw(m.ctx, m.f16("k", 3, 1, 2), m.transposed("x", 6, 2), 1, 1, 1);
         },
         "RESHAPE: src0 'x' is not contiguous: shape [6, 2, 1, 1], strides [8, 4, 48, 48]"},
        {[](const Maker& m) {
             return ggml_conv_3d(m.ctx, m.f16("k", 3, 3, 3, 2), m.f32("x", 8, 6, 5, 1), 2, 1, 1, 1,
                                 1, 1, 1, 1, 1, 1);
         },
         "IM2COL_3D: src1 has ne[3] = 1, must be at least 2"},
        {[](const Maker& m) {
             return ggml_conv_3d(m.ctx, m.f16("k", 3, 3, 3, 2), m.f32("x", 8, 6, 5, 2), 0, 1, 1, 1,
                                 1, 1, 1, 1, 1, 1);
         },
         "IM2COL_3D: channels is 0, must be 1 to 2147483647"},
    });
}

}  // namespace
