// Nodes and errors of the builders in window.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

namespace {

TEST(OpsWindow, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_win_part(m.ctx, m.f32("a", 3, 9, 8), 4); },
         "WIN_PART f32 [3,4,4,6] <a> {3,2,4}"},
        {[](const Maker& m) { return ggml_win_unpart(m.ctx, m.f32("a", 3, 4, 4, 6), 9, 8, 4); },
         "WIN_UNPART f32 [3,9,8,1] <a> {4}"},
        {[](const Maker& m) { return ggml_get_rel_pos(m.ctx, m.f16("a", 3, 7), 4, 4); },
         "GET_REL_POS f16 [3,4,4,1] <a>"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 9, 8, 5), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS f32 [9,8,5,1] <a,w,h>"},
        {[](const Maker& m) {
             return ggml_add_rel_pos_inplace(m.ctx, m.f32("a", 9, 8, 5), m.f32("w", 3, 4, 2, 5),
                                             m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS f32 [9,8,5,1] <a,w,h> {1} =a 'a (view)'"},
    });
}

TEST(OpsWindow, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_win_part(m.ctx, m.f32("a", 3, 9, 8, 2), 4); },
         "WIN_PART: src0 'a' of shape [3, 9, 8, 2] has more than 3 dimensions"},
        {[](const Maker& m) { return ggml_win_part(m.ctx, m.f16("a", 3, 9, 8), 4); },
         "WIN_PART: src0 'a' is f16, must be f32"},
        {[](const Maker& m) { return ggml_win_part(m.ctx, m.f32("a", 3, 9, 8), 0); },
         "WIN_PART: window is 0, must be at least 1"},
        {[](const Maker& m) { return ggml_win_unpart(m.ctx, m.f16("a", 3, 4, 4, 6), 9, 8, 4); },
         "WIN_UNPART: src0 'a' is f16, must be f32"},
        {[](const Maker& m) { return ggml_win_unpart(m.ctx, m.f32("a", 3, 4, 4, 6), 9, 8, -4); },
         "WIN_UNPART: window is -4, must be at least 1"},
        {[](const Maker& m) { return ggml_win_unpart(m.ctx, m.f32("a", 3, 4, 4, 6), -9, 8, 4); },
         "WIN_UNPART: width is -9, must be at least 0"},
        {[](const Maker& m) { return ggml_win_unpart(m.ctx, m.f32("a", 3, 4, 4, 6), 13, 8, 4); },
         "WIN_UNPART: src0 'a' has ne[3] = 6, must be 8"},
        {[](const Maker& m) { return ggml_get_rel_pos(m.ctx, m.f16("a", 3, 7), 4, 3); },
         "GET_REL_POS: qh is 4, kh is 3"},
        {[](const Maker& m) { return ggml_get_rel_pos(m.ctx, m.f16("a", 3, 8), 4, 4); },
         "GET_REL_POS: src0 'a' has ne[1] = 8, must be 7"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 9, 8, 5), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 2, 4, 5));
         },
         "ADD_REL_POS: src1 'w' has shape [3, 4, 2, 5], src2 'h' has [3, 2, 4, 5]"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.padded("a", 9, 8, 5), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS: src0 'a' is not contiguous: shape [9, 8, 5, 1], strides "
         "[4, 72, 576, 2880]"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 9, 8, 5), m.f16("w", 3, 4, 2, 5),
                                     m.f16("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS: src1 'w' is f16, must be f32"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 9, 8, 4), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS: src1 'w' has ne[3] = 5, src0 'a' has ne[2] = 4"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 8, 8, 5), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS: src0 'a' has ne[0] = 8, must be 9"},
        {[](const Maker& m) {
             return ggml_add_rel_pos(m.ctx, m.f32("a", 9, 7, 5), m.f32("w", 3, 4, 2, 5),
                                     m.f32("h", 3, 4, 2, 5));
         },
         "ADD_REL_POS: src0 'a' has ne[1] = 7, must be 8"},
    });
}

}  // namespace
