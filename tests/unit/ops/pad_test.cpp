// Nodes and errors of the builders in pad.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

namespace {

TEST(OpsPad, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_pad(m.ctx, m.f32("a", 4, 3), 1, 2, 3, 4); },
         "PAD f32 [5,5,4,5] <a> {0,1,0,2,0,3,0,4}"},
        {[](const Maker& m) {
             return ggml_pad_ext(m.ctx, m.f32("a", 4, 3), 1, 2, 3, 4, 5, 6, 7, 8);
         },
         "PAD f32 [7,10,12,16] <a> {1,2,3,4,5,6,7,8}"},
        {[](const Maker& m) {
             return ggml_pad_ext(m.ctx, m.transposed("a", 4, 3), -1, -3, 0, 0, 0, 0, 0, 0);
         },
         "PAD f32 [0,3,1,1] <a> {-1,-3}"},
        {[](const Maker& m) { return ggml_pad_circular(m.ctx, m.f32("a", 4, 3), 1, 2, 0, 0); },
         "PAD f32 [5,5,1,1] <a> {0,1,0,2,0,0,0,0,1}"},
        {[](const Maker& m) {
             return ggml_pad_ext_circular(m.ctx, m.f32("a", 4, 3), 1, 0, 2, 0, 0, 0, 0, 0);
         },
         "PAD f32 [5,5,1,1] <a> {1,0,2,0,0,0,0,0,1}"},
        {[](const Maker& m) { return ggml_pad_reflect_1d(m.ctx, m.f32("a", 4, 3), 3, 2); },
         "PAD_REFLECT_1D f32 [9,3,1,1] <a> {3,2}"},
        {[](const Maker& m) { return ggml_roll(m.ctx, m.gapped("a", 4, 3, 2), 3, -2, 1, 0); },
         "ROLL f32 [4,3,2,1] <a> {3,-2,1}"},
    });
}

TEST(OpsPad, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_pad(m.ctx, m.f32("a", 4, 3), 0, -4, 0, 0); },
         "PAD: dimension 1 of 3 elements cannot be padded by 0, -4"},
        {[](const Maker& m) { return ggml_pad_reflect_1d(m.ctx, m.f32("a", 4), 4, 0); },
         "PAD_REFLECT_1D: left padding is 4, must be 0 to 3"},
        {[](const Maker& m) { return ggml_pad_reflect_1d(m.ctx, m.f32("a", 4), 0, -1); },
         "PAD_REFLECT_1D: right padding is -1, must be 0 to 3"},
        {[](const Maker& m) { return ggml_pad_reflect_1d(m.ctx, m.transposed("a", 4, 3), 1, 1); },
         "PAD_REFLECT_1D: src0 'a' is not contiguous: shape [4, 3, 1, 1], strides "
         "[12, 4, 48, 48]"},
        {[](const Maker& m) { return ggml_pad_reflect_1d(m.ctx, m.f16("a", 4), 1, 1); },
         "PAD_REFLECT_1D: src0 'a' is f16, must be f32"},
        {[](const Maker& m) { return ggml_roll(m.ctx, m.f32("a", 4, 3), 0, 3, 0, 0); },
         "ROLL: shift1 is 3, must be less than 3 either way"},
        {[](const Maker& m) { return ggml_roll(m.ctx, m.f32("a", 4, 3), INT32_MIN, 0, 0, 0); },
         "ROLL: shift0 is -2147483648, must be less than 4 either way"},
        {[](const Maker& m) { return ggml_roll(m.ctx, m.transposed("a", 4, 3), 1, 1, 0, 0); },
         "ROLL: src0 'a' has nb[0] = 12, must be 4"},
    });
}

}  // namespace
