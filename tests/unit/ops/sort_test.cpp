// Nodes and errors of the builders in sort.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::line_of;
using tenon::test::Maker;

namespace {

TEST(OpsSort, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) {
             return ggml_argsort(m.ctx, m.f32("a", 4, 3, 2), GGML_SORT_ORDER_DESC);
         },
         "ARGSORT i32 [4,3,2,1] <a> {1}"},
        {[](const Maker& m) { return ggml_argsort_top_k(m.ctx, m.f32("a", 4, 3, 2), 2); },
         "VIEW i32 [2,3,2,1] <> = |4,16,48,96 ' (view)'"},
        {[](const Maker& m) { return ggml_top_k(m.ctx, m.f32("a", 4, 3, 2), 2); },
         "TOP_K i32 [2,3,2,1] <a>"},
        {[](const Maker& m) { return ggml_top_k(m.ctx, m.f32("a", 4, 3), 4); },
         "TOP_K i32 [4,3,1,1] <a>"},
    });
    const Maker m;
    EXPECT_EQ(line_of(*ggml_argsort_top_k(m.ctx, m.f32("a", 4), 2)->src[0]),
              "ARGSORT i32 [4,1,1,1] <a> {1}");
}

TEST(OpsSort, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) {
             return ggml_argsort(m.ctx, m.f32("a", int64_t{1} << 31), GGML_SORT_ORDER_ASC);
         },
         "ARGSORT: row length is 2147483648, must be 0 to 2147483647"},
        {[](const Maker& m) { return ggml_argsort(m.ctx, m.f32("a", 4), (ggml_sort_order)2); },
         "ARGSORT: order is 2, must be 0 to 1"},
        {[](const Maker& m) { return ggml_argsort_top_k(m.ctx, m.f32("a", 4), 5); },
         "ARGSORT: k is 5, must be 0 to 4"},
        {[](const Maker& m) { return ggml_top_k(m.ctx, m.f32("a", 4), 5); },
         "TOP_K: k is 5, must be 0 to 4"},
        {[](const Maker& m) { return ggml_top_k(m.ctx, m.f32("a", 4), -1); },
         "TOP_K: k is -1, must be 0 to 4"},
    });
}

}  // namespace
