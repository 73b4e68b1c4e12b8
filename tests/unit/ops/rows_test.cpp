// Nodes and errors of the builders in rows.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

namespace {

TEST(OpsRows, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) {
             return ggml_get_rows(m.ctx, m("a", GGML_TYPE_Q4_0, 64, 9, 2, 3), m.i32("i", 5, 2, 3));
         },
         "GET_ROWS f32 [64,5,2,3] <a,i>"},
        {[](const Maker& m) { return ggml_get_rows(m.ctx, m.i32("a", 4, 9), m.i32("i", 5)); },
         "GET_ROWS i32 [4,5,1,1] <a,i>"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f16("g", 4, 5), m.i32("i", 5), m.f16("c", 4, 9));
         },
         "GET_ROWS_BACK f32 [4,9,1,1] <g,i>"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m("a", GGML_TYPE_Q4_0, 64, 9, 4, 6),
                                  m.f32("b", 64, 5, 4, 6), m("i", GGML_TYPE_I64, 5, 2, 3));
         },
         "SET_ROWS q4_0 [64,9,4,6] <b,i,a> =a 'a (view)'"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.padded("a", 4, 9), m.f16("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS f32 [4,9,1,1] <b,i,a> =base |4,32,288,288 'a (view)'"},
    });
}

TEST(OpsRows, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) {
             return ggml_get_rows(m.ctx, m.f32("a", 4, 9), m("i", GGML_TYPE_I64, 5));
         },
         "GET_ROWS: src1 'i' is i64, must be i32"},
        {[](const Maker& m) { return ggml_get_rows(m.ctx, m.f32("a", 4, 9), m.i32("i", 5, 2)); },
         "GET_ROWS: src1 'i' has ne[1] = 2, src0 'a' has ne[2] = 1"},
        {[](const Maker& m) { return ggml_get_rows(m.ctx, m.f32("a", 4, 9, 1, 2), m.i32("i", 5)); },
         "GET_ROWS: src1 'i' has ne[2] = 1, src0 'a' has ne[3] = 2"},
        {[](const Maker& m) {
             return ggml_get_rows(m.ctx, m.f32("a", 4, 9), m.i32("i", 5, 1, 1, 2));
         },
         "GET_ROWS: src1 'i' of shape [5, 1, 1, 2] has more than 3 dimensions"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f32("g", 4, 5, 2), m.i32("i", 5), m.f32("c", 4));
         },
         "GET_ROWS_BACK: src0 'g' of shape [4, 5, 2, 1] has more than 2 dimensions"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f32("g", 4), m.i32("i", 5, 2), m.f32("c", 4));
         },
         "GET_ROWS_BACK: src1 'i' of shape [5, 2, 1, 1] has more than 1 dimensions"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f32("g", 4), m.f32("i", 5), m.f32("c", 4));
         },
         "GET_ROWS_BACK: src1 'i' is f32, must be i32"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f32("g", 4), m.i32("i", 5), m.f32("c", 4, 1, 2));
         },
         "GET_ROWS_BACK: the result has shape [4, 1, 2, 1], must be a matrix"},
        {[](const Maker& m) {
             return ggml_get_rows_back(m.ctx, m.f32("g", 4), m.i32("i", 5), m.f32("c", 3));
         },
         "GET_ROWS_BACK: src0 'g' has ne[0] = 4, must be 3"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9), m.i32("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS: src0 'b' is i32, must be f32 or f16"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9), m.f32("b", 4, 5), m.f32("i", 5));
         },
         "SET_ROWS: src1 'i' is f32, must be i64 or i32"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9), m.f32("b", 3, 5), m.i32("i", 5));
         },
         "SET_ROWS: src0 'b' has ne[0] = 3, src2 'a' has ne[0] = 4"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9, 2), m.f32("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS: src0 'b' has ne[2] = 1, src2 'a' has ne[2] = 2"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9, 1, 2), m.f32("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS: src0 'b' has ne[3] = 1, src2 'a' has ne[3] = 2"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9), m.f32("b", 4, 5), m.i32("i", 6));
         },
         "SET_ROWS: src1 'i' has ne[0] = 6, src0 'b' has ne[1] = 5"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9, 3), m.f32("b", 4, 5, 3),
                                  m.i32("i", 5, 2));
         },
         "SET_ROWS: src0 'b' has ne[2] = 3, no multiple of ne[1] = 2 of src1 'i'"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9, 1, 3), m.f32("b", 4, 5, 1, 3),
                                  m.i32("i", 5, 1, 2));
         },
         "SET_ROWS: src0 'b' has ne[3] = 3, no multiple of ne[2] = 2 of src1 'i'"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.transposed("a", 4, 9), m.f32("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS: src2 'a' does not have contiguous rows: nb[0] = 36, must be 4"},
        {[](const Maker& m) {
             return ggml_set_rows(m.ctx, m.f32("a", 4, 9), m.transposed("b", 4, 5), m.i32("i", 5));
         },
         "SET_ROWS: src0 'b' does not have contiguous rows: nb[0] = 20, must be 4"},
    });
}

}  // namespace
