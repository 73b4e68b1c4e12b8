// Kernels of convolutions, pooling, resampling and windows: values worked out by hand or recorded
// elsewhere, and what they refuse.

#include <gtest/gtest.h>

#include <limits>

#include "plugins/cpu/simd/half.h"
#include "tests/cpu/node.h"

namespace tenon::cpu {
namespace {

// first, first + 1, … in memory order
Tensor& count_from(Tensor& t, float first) {
    for (int64_t i = 0; i < tenon_nelements(&t); ++i) {
        const float x = first + static_cast<float>(i);
        if (t.type == GGML_TYPE_F16) {
            static_cast<ggml_fp16_t*>(t.data)[i] = float_to_half(x);
        } else {
            t.f32()[i] = x;
        }
    }
    return t;
}

Tensor& assign(Tensor& t, const std::vector<float>& values) {
    std::copy(values.begin(), values.end(), t.f32());
    return t;
}

// The node's first elements, after it has run.
void expect_values(Node& node, const std::vector<float>& want, float tolerance = 0) {
    ASSERT_EQ(node.run(), "");
    for (size_t i = 0; i < want.size(); ++i)
        EXPECT_NEAR(node.f32()[i], want[i], tolerance) << "element " << i;
}

// ---- values -----------------------------------------------------------------------------------

TEST(ConvKernels, TransposedConvolutionSpreadsKernels) {
    Tensor data(GGML_TYPE_F32, {3, 2, 1, 1}), kernel(GGML_TYPE_F16, {2, 3, 2, 1});
    count_from(data, 0), count_from(kernel, 0);
    const auto expect = [&](int stride, int64_t n, const std::vector<float>& want) {
        SCOPED_TRACE(stride);
        Node node(GGML_OP_CONV_TRANSPOSE_1D, GGML_TYPE_F32, {n, 3, 1, 1}, {&kernel, &data});
        node.with(tenon_conv_transpose_1d_params{stride, 0, 1});
        expect_values(node, want);
    };
    expect(1, 4, {18, 45, 59, 37, 24, 61, 83, 51, 30, 77, 107, 65});
    expect(2, 6, {18, 21, 24, 29, 30, 37, 24, 27, 34, 39, 44, 51, 30, 33, 44, 49, 58, 65});
    expect(3, 8, {18, 21, 0,  24, 29, 0,  30, 37, 24, 27, 0,  34,
                  39, 0,  44, 51, 30, 33, 0,  44, 49, 0,  58, 65});
}

TEST(ConvKernels, TransposedConvolutionInTwoDimensions) {
    Tensor data(GGML_TYPE_F32, {3, 2, 2, 1}), kernel(GGML_TYPE_F16, {2, 2, 3, 2});
    count_from(data, 0), count_from(kernel, 0);
    Node near(GGML_OP_CONV_TRANSPOSE_2D, GGML_TYPE_F32, {4, 3, 3, 1}, {&kernel, &data});
    near.with(tenon_conv_transpose_2d_params{1});
    expect_values(near, {72, 162, 188, 106, 192, 430, 490, 274, 132, 292, 326, 180});
    Node apart(GGML_OP_CONV_TRANSPOSE_2D, GGML_TYPE_F32, {6, 4, 3, 1}, {&kernel, &data});
    apart.with(tenon_conv_transpose_2d_params{2});
    expect_values(apart, {72,  78,  84,  92,  96,  106, 84,  90,  100, 108, 116, 126,
                          108, 120, 120, 134, 132, 148, 132, 144, 148, 162, 164, 180});
}

TEST(ConvKernels, PoolingOfWholeWindows) {
    Tensor data(GGML_TYPE_F32, {10, 10, 2, 1});
    count_from(data, 1);
    const auto expect = [&](ggml_op_pool op, const std::vector<float>& want) {
        Node node(GGML_OP_POOL_2D, GGML_TYPE_F32, {3, 2, 2, 1}, {&data});
        node.with(tenon_pool_2d_params{op, 3, 4, 3, 4, 0, 0});
        expect_values(node, want);
    };
    expect(GGML_OP_POOL_AVG, {17, 20, 23, 57, 60, 63, 117, 120, 123, 157, 160, 163});
    expect(GGML_OP_POOL_MAX, {33, 36, 39, 73, 76, 79, 133, 136, 139, 173, 176, 179});
}

TEST(ConvKernels, PoolingSkipsWhatIsNoNumber) {
    Tensor data(GGML_TYPE_F32, {40, 1, 1, 1});
    data.fill(std::numeric_limits<float>::quiet_NaN());
    data.f32()[20] = 3;
    Node node(GGML_OP_POOL_1D, GGML_TYPE_F32, {38, 1, 1, 1}, {&data});
    node.with(tenon_pool_1d_params{GGML_OP_POOL_MAX, 3, 1, 0});
    ASSERT_EQ(node.run(), "");
    EXPECT_EQ(node.f32()[17], -std::numeric_limits<float>::max());
    for (int i : {18, 19, 20}) EXPECT_EQ(node.f32()[i], 3.0f) << i;
}

TEST(ConvKernels, ResamplingToOtherSizes) {
    constexpr int32_t kCorners = GGML_SCALE_MODE_BILINEAR | int32_t{GGML_SCALE_FLAG_ALIGN_CORNERS};
    Tensor a(GGML_TYPE_F32, {2, 2, 1, 1}), b(GGML_TYPE_F32, {4, 3, 2, 1});
    assign(a, {0, 1, 2, 4});
    assign(b, {0, -1, -2, 0, 1, 2, 4, 4, 2, 2, 1, 1, 1, 2, 3, 4, 2, 2, 2, 2, -2, 2, -4, 4});
    const auto expect = [](Tensor& from, Extents to, int32_t mode, const std::vector<float>& want) {
        SCOPED_TRACE("mode " + std::to_string(mode) + " to " + std::to_string(to[0]));
        Node node(GGML_OP_UPSCALE, GGML_TYPE_F32, to, {&from});
        node.with(tenon_upscale_params{mode});
        expect_values(node, want, 1e-4f);
    };
    expect(a, {4, 4, 1, 1}, GGML_SCALE_MODE_NEAREST,
           {0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 4, 4, 2, 2, 4, 4});
    expect(a, {4, 4, 1, 1}, GGML_SCALE_MODE_BILINEAR,
           {0, .25f, .75f, 1, .5f, .8125f, 1.4375f, 1.75f, 1.5f, 1.9375f, 2.8125f, 3.25f, 2, 2.5f,
            3.5f, 4});
    expect(a, {4, 4, 1, 1}, kCorners,
           {0, .3333f, .6667f, 1, .6667f, 1.1111f, 1.5556f, 2, 1.3333f, 1.8889f, 2.4444f, 3, 2,
            2.6667f, 3.3333f, 4});
    expect(a, {2, 3, 1, 1}, kCorners, {0, 1, 1, 2.5f, 2, 4});
    expect(b, {2, 1, 2, 1}, GGML_SCALE_MODE_NEAREST, {0, -2, 1, 3});
    expect(
        b, {3, 2, 2, 1}, GGML_SCALE_MODE_BILINEAR,
        {.1667f, -.375f, .75f, 1.7917f, 1.875f, 1.75f, 1.375f, 2.375f, 3.375f, -.5f, -.25f, 2.5f});
    expect(b, {3, 2, 2, 1}, kCorners, {0, -1.5f, 0, 2, 1.5f, 1, 1, 2.5f, 4, -2, -1, 4});
}

// [3, 2, 2] of f32 from a table of f16
void spread_positions(float first, Tensor& out) {
    Tensor table(GGML_TYPE_F16, {3, 3, 1, 1});
    count_from(table, first);
    Node node(GGML_OP_GET_REL_POS, GGML_TYPE_F16, {3, 2, 2, 1}, {&table});
    ASSERT_EQ(node.run(), "");
    for (int i = 0; i < 12; ++i)
        out.f32()[i] = half_to_float(static_cast<ggml_fp16_t*>(node.data)[i]);
}

TEST(ConvKernels, RelativePositionsAreAdded) {
    Tensor scores(GGML_TYPE_F32, {9, 4, 1, 1}), across(GGML_TYPE_F32, {3, 2, 2, 1}),
        down(GGML_TYPE_F32, {3, 2, 2, 1});
    scores.fill(1);
    spread_positions(0, across);
    spread_positions(1, down);
    Node node(GGML_OP_ADD_REL_POS, GGML_TYPE_F32, {9, 4, 1, 1}, {&scores, &across, &down});
    expect_values(node, {8,  9,  10, 9,  10, 11, 10, 11, 12, 2, 3, 4,  3, 4,  5,  4,  5,  6,
                         14, 15, 16, 15, 16, 17, 16, 17, 18, 8, 9, 10, 9, 10, 11, 10, 11, 12});
}

TEST(ConvKernels, WindowsCoverThePictureAndItsEdges) {
    Tensor picture(GGML_TYPE_F32, {1, 3, 3, 1});
    count_from(picture, 1);
    Node parts(GGML_OP_WIN_PART, GGML_TYPE_F32, {1, 2, 2, 4}, {&picture});
    parts.with(tenon_win_part_params{2, 2, 2});
    expect_values(parts, {1, 2, 4, 5, 3, 0, 6, 0, 7, 8, 0, 0, 9, 0, 0, 0});
    Node whole(GGML_OP_WIN_UNPART, GGML_TYPE_F32, {1, 3, 3, 1}, {&parts});
    whole.with(tenon_win_unpart_params{2});
    expect_values(whole, {1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST(ConvKernels, PatchesAndTheirTranspose) {
    Tensor kernel(GGML_TYPE_F32, {2, 2, 1, 1}), data(GGML_TYPE_F32, {2, 2, 1, 1});
    count_from(data, 1);
    const tenon_im2col_params params{1, 1, 1, 0, 1, 1, 1};
    Node patches(GGML_OP_IM2COL, GGML_TYPE_F32, {4, 3, 1, 1}, {&kernel, &data});
    patches.with(params);
    expect_values(patches, {0, 1, 0, 3, 1, 2, 3, 4, 2, 0, 4, 0});
    Node back(GGML_OP_IM2COL_BACK, GGML_TYPE_F32, {2, 2, 1, 1}, {&patches, &kernel});
    back.with(params);
    expect_values(back, {2, 4, 6, 8});  // each element is in two patches
}

// ---- refusals ---------------------------------------------------------------------------------

TEST(ConvKernels, ConvolutionsRefuseWhatTheyCannotCompute) {
    Tensor kernel(GGML_TYPE_F32, {3, 3, 2, 4}), data(GGML_TYPE_F32, {8, 8, 2, 1});
    Tensor quantized(GGML_TYPE_Q4_0, {32, 3, 2, 4});
    const tenon_conv_2d_params params{1, 1, 1, 1, 1, 1};
    const auto node = [&](Tensor& a, Tensor& b) -> Node {
        return Node(GGML_OP_CONV_2D, GGML_TYPE_F32, {8, 8, 4, 1}, {&a, &b});
    };
    Node good = node(kernel, data), types = node(quantized, data);
    EXPECT_EQ(good.with(params).refusal(), TENON_REASON_NONE);
    EXPECT_EQ(types.with(params).refusal(), TENON_REASON_TYPE);
    good.nb[1] *= 2;
    EXPECT_EQ(good.refusal(), TENON_REASON_STRIDES);
}

TEST(ConvKernels, RelativePositionsMustBeF16) {
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F32}) {
        Tensor table(type, {3, 3, 1, 1});
        const Node node(GGML_OP_GET_REL_POS, GGML_TYPE_F16, {3, 2, 2, 1}, {&table});
        EXPECT_EQ(node.refusal(), type == GGML_TYPE_F16 ? TENON_REASON_NONE : TENON_REASON_TYPE);
    }
}

}  // namespace
}  // namespace tenon::cpu
