// Layouts, places in memory, rows and parameters.

#include "tenon/kit/layout.h"

#include <gtest/gtest.h>

#include <vector>

#include "tenon/kit/rows.h"
#include "tests/kit/tensors.h"

namespace tenon::kit {
namespace {

TEST(KitLayout, AContiguousTensorIsARowMatrixOfDenseRows) {
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_Q4_0}) {
        const ggml_tensor t = tensor(type, 64, 3, 2, 5);
        EXPECT_TRUE(has_dense_rows(t));
        EXPECT_TRUE(is_contiguous(t));
        EXPECT_TRUE(is_row_matrix(t));
    }
}

TEST(KitLayout, RowsAtAConstantDistanceAreARowMatrixWithGaps) {
    ggml_tensor t = tensor(GGML_TYPE_F32, 4, 3, 2);
    t.nb[1] = 20;  // four bytes of gap
    t.nb[2] = 60;
    EXPECT_TRUE(has_dense_rows(t));
    EXPECT_TRUE(is_row_matrix(t));
    EXPECT_FALSE(is_contiguous(t));
    t.nb[2] = 64;
    EXPECT_FALSE(is_row_matrix(t));
}

TEST(KitLayout, ATransposedTensorHasNoDenseRows) {
    ggml_tensor t = tensor(GGML_TYPE_F32, 3, 4);
    std::swap(t.nb[0], t.nb[1]);
    EXPECT_FALSE(has_dense_rows(t));
    EXPECT_FALSE(is_row_matrix(t));
    t.ne[0] = 1;  // rows of one element are dense whatever the stride says
    EXPECT_TRUE(has_dense_rows(t));
}

TEST(KitLayout, ASpanEndsWithTheLastElement) {
    ggml_tensor t = tensor(GGML_TYPE_F32, 4, 3, 2);
    EXPECT_EQ(span_bytes(t), 96u);
    t.nb[1] = 20;
    t.nb[2] = 100;
    EXPECT_EQ(span_bytes(t, 1), 16u);                // a row
    EXPECT_EQ(span_bytes(t, 2), 2 * 20u + 16u);      // three rows
    EXPECT_EQ(span_bytes(t), 100u + 2 * 20u + 16u);  // two matrices
    EXPECT_EQ(element_bytes(t), 96u);                // gaps do not count
    t.nb[0] = 8;
    EXPECT_EQ(span_bytes(t, 1), 3 * 8u + 4u);  // every other element
    t.ne[2] = 0;
    EXPECT_EQ(span_bytes(t), 0u);
    EXPECT_EQ(element_bytes(t), 0u);
    EXPECT_EQ(span_bytes(tensor(GGML_TYPE_Q8_0, 64, 2)), 2 * 68u);
}

TEST(KitLayout, TensorsOverlapWhereTheyShareAByte) {
    std::vector<float> memory(32);
    ggml_tensor a = tensor(GGML_TYPE_F32, 8), b = tensor(GGML_TYPE_F32, 8);
    a.data = memory.data();
    b.data = memory.data() + 8;  // right behind
    EXPECT_FALSE(overlap(extent_of(a), extent_of(b)));
    EXPECT_FALSE(overlap(extent_of(b), extent_of(a)));
    b.data = memory.data() + 7;
    EXPECT_TRUE(overlap(extent_of(a), extent_of(b)));
    EXPECT_TRUE(overlap(extent_of(b), extent_of(a)));
    b.ne[0] = 0;
    EXPECT_FALSE(overlap(extent_of(a), extent_of(b)));
}

TEST(KitLayout, TensorsLieAlikeWhenTheyDifferInNothingButTheirOp) {
    float memory[6];
    ggml_tensor a = tensor(GGML_TYPE_F32, 3, 2);
    a.data = memory;
    ggml_tensor b = a;
    b.op = GGML_OP_ADD;
    EXPECT_TRUE(lie_alike(a, b));
    b.type = GGML_TYPE_I32;
    EXPECT_FALSE(lie_alike(a, b));
    b = a;
    b.nb[1] += 4;
    EXPECT_FALSE(lie_alike(a, b));
    b = a;
    b.data = memory + 1;
    EXPECT_FALSE(lie_alike(a, b));
}

TEST(KitRows, ElementsAndRowsAreFoundByTheirStrides) {
    float memory[24];
    for (int i = 0; i < 24; ++i) memory[i] = static_cast<float>(i);
    ggml_tensor t = tensor(GGML_TYPE_F32, 2, 3, 4);
    t.data = memory;
    EXPECT_EQ(*row<float>(t, 2, 1), 10);  // 2 * 2 + 1 * 6
    EXPECT_EQ(row<float>(t, 2, 1)[1], 11);
    EXPECT_EQ(*element<float>(t, 1, 0, 3, 0), 19);
    EXPECT_EQ(offset_of(t, 1, 2, 3, 0), (1 + 2 * 2 + 3 * 6) * 4);
    std::swap(t.nb[0], t.nb[2]);
    EXPECT_EQ(*element<float>(t, 3, 0, 1, 0), 19);
    float elsewhere[24] = {};
    EXPECT_EQ(row_at<float>(elsewhere, tensor(GGML_TYPE_F32, 2, 3, 4), 1, 1), elsewhere + 8);
}

TEST(KitRows, RowsAreCountedAlongTheFirstDimensionFirst) {
    const ggml_tensor t = tensor(GGML_TYPE_F32, 1, 2, 3, 2);
    std::vector<int64_t> seen;
    for_rows(t, 3, 8,
             [&](int64_t i1, int64_t i2, int64_t i3) { seen.push_back(i1 + 10 * i2 + 100 * i3); });
    EXPECT_EQ(seen, (std::vector<int64_t>{11, 20, 21, 100, 101}));
    for_rows(t, 8, 8, [](int64_t, int64_t, int64_t) { FAIL() << "there are no such rows"; });
    for_rows(tensor(GGML_TYPE_F32, 1, 0), 0, 0,
             [](int64_t, int64_t, int64_t) { FAIL() << "there are no rows"; });
}

TEST(KitRows, ParametersAreTheBytesOfTheNode) {
    ggml_tensor t = tensor(GGML_TYPE_F32, 1);
    const float eps = 0.25f;
    std::memcpy(t.op_params, &eps, sizeof eps);
    EXPECT_EQ(params_of<tenon_rms_norm_params>(t).eps, 0.25f);
}

}  // namespace
}  // namespace tenon::kit
