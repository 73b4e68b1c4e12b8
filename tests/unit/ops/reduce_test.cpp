// Nodes and errors of the builders in reduce.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

namespace {

TEST(OpsReduce, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_sum(m.ctx, m.f16("a", 4, 3, 2)); },
         "SUM f16 [1,1,1,1] <a>"},
        {[](const Maker& m) { return ggml_sum_rows(m.ctx, m.f32("a", 4, 3, 2, 5)); },
         "SUM_ROWS f32 [1,3,2,5] <a>"},
        {[](const Maker& m) { return ggml_cumsum(m.ctx, m.f32("a", 4, 3)); },
         "CUMSUM f32 [4,3,1,1] <a>"},
        {[](const Maker& m) { return ggml_mean(m.ctx, m.f16("a", 4, 3, 2, 5)); },
         "MEAN f32 [1,3,2,5] <a>"},
        {[](const Maker& m) { return ggml_argmax(m.ctx, m.f32("a", 4, 3)); },
         "ARGMAX i32 [3,1,1,1] <a>"},
        {[](const Maker& m) { return ggml_count_equal(m.ctx, m.i32("a", 4), m.i32("b", 4)); },
         "COUNT_EQUAL i64 [1,1,1,1] <a,b>"},
    });
}

TEST(OpsReduce, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_cumsum(m.ctx, m.f16("a", 4)); },
         "CUMSUM: src0 'a' is f16, must be f32"},
        {[](const Maker& m) { return ggml_argmax(m.ctx, m.f32("a", 4, 3, 2)); },
         "ARGMAX: src0 'a' of shape [4, 3, 2, 1] has more than 2 dimensions"},
        {[](const Maker& m) { return ggml_argmax(m.ctx, m.f32("a", int64_t{1} << 31)); },
         "ARGMAX: row length is 2147483648, must be 0 to 2147483647"},
        {[](const Maker& m) { return ggml_count_equal(m.ctx, m.i32("a", 4), m.i32("b", 5)); },
         "COUNT_EQUAL: src0 'a' has shape [4, 1, 1, 1], src1 'b' has [5, 1, 1, 1]"},
    });
}

}  // namespace
