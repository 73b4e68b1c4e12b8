// Sizes, contiguity and broadcasting, against definitions by addresses.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/tensor/shape.h"
#include "ggml.h"

using namespace tenon;

namespace {

ggml_tensor make(ggml_type type, std::initializer_list<int64_t> ne) {
    ggml_tensor t{};
    t.type = type;
    std::fill_n(t.ne, 4, 1);
    std::copy(ne.begin(), ne.end(), t.ne);
    t.nb[0] = tenon_types[type].bytes;
    t.nb[1] = t.nb[0] * static_cast<size_t>(t.ne[0] / tenon_types[type].block);
    t.nb[2] = t.nb[1] * static_cast<size_t>(t.ne[1]);
    t.nb[3] = t.nb[2] * static_cast<size_t>(t.ne[2]);
    return t;
}

ggml_tensor permute(const ggml_tensor& t, int a, int b, int c, int d) {
    ggml_tensor p = t;
    const int axes[] = {a, b, c, d};
    for (int k = 0; k < 4; ++k) {
        p.ne[axes[k]] = t.ne[k];
        p.nb[axes[k]] = t.nb[k];
    }
    return p;
}

// Calls f(linear index, byte offset) for every block in order.
template <class F>
void for_each_block(const ggml_tensor& t, F f) {
    int64_t index = 0;
    for (int64_t i3 = 0; i3 < t.ne[3]; ++i3) {
        for (int64_t i2 = 0; i2 < t.ne[2]; ++i2) {
            for (int64_t i1 = 0; i1 < t.ne[1]; ++i1) {
                for (int64_t i0 = 0; i0 < t.ne[0] / tenon_types[t.type].block; ++i0) {
                    f(index++,
                      static_cast<size_t>(i0) * t.nb[0] + static_cast<size_t>(i1) * t.nb[1] +
                          static_cast<size_t>(i2) * t.nb[2] + static_cast<size_t>(i3) * t.nb[3]);
                }
            }
        }
    }
}

TEST(Shape, ContiguityMeansThatElementsFollowEachOther) {
    std::mt19937 random(7);
    int contiguous = 0;
    for (int i = 0; i < 20000; ++i) {
        const auto extent = [&] { return static_cast<int64_t>(1 + random() % 3); };
        const ggml_type type = i % 2 ? GGML_TYPE_F32 : GGML_TYPE_Q4_0;
        ggml_tensor t =
            make(type, {extent() * tenon_types[type].block, extent(), extent(), extent()});
        // The distance of blocks in a row is not free.
        const size_t lowest = type == GGML_TYPE_F32 ? 0 : 1;
        if (random() % 2) t.nb[lowest + random() % 3] += tenon_types[type].bytes * (random() % 3);
        if (random() % 3 == 0 && type == GGML_TYPE_F32) t = permute(t, 1, 0, 2, 3);
        if (random() % 3 == 0) t = permute(t, 0, 2, 1, 3);

        bool in_sequence = true;
        size_t end = 0;
        for_each_block(t, [&](int64_t index, size_t offset) {
            in_sequence &= offset == static_cast<size_t>(index) * tenon_types[type].bytes;
            end = std::max(end, offset + tenon_types[type].bytes);
        });
        ASSERT_EQ(ggml_is_contiguous(&t), in_sequence);
        ASSERT_EQ(nbytes(t), end);
        contiguous += in_sequence;
    }
    EXPECT_GT(contiguous, 2000);
    EXPECT_LT(contiguous, 18000);
}

TEST(Shape, OuterDimensionsMayFollowAFreeRowStride) {
    ggml_tensor t = make(GGML_TYPE_F32, {4, 3, 2, 2});
    t.nb[1] += 16;  // padded rows
    t.nb[2] = t.nb[1] * 3;
    t.nb[3] = t.nb[2] * 2;
    EXPECT_FALSE(ggml_is_contiguous(&t));
    EXPECT_FALSE(ggml_is_contiguous_0(&t));
    EXPECT_TRUE(ggml_is_contiguous_1(&t));
    EXPECT_TRUE(ggml_is_contiguous_2(&t));
    EXPECT_TRUE(ggml_is_contiguous_to_1(&t));
    EXPECT_FALSE(ggml_is_contiguous_to_2(&t));
    EXPECT_TRUE(is_padded_1d(t));
    EXPECT_TRUE(ggml_is_contiguous_rows(&t));

    t.nb[2] += 64;
    EXPECT_FALSE(ggml_is_contiguous_1(&t));
    EXPECT_FALSE(ggml_is_contiguous_2(&t));
    t.nb[3] = t.nb[2] * 2;
    EXPECT_TRUE(ggml_is_contiguous_2(&t));
    EXPECT_FALSE(is_padded_1d(t));
}

TEST(Shape, TransposedAndPermutedAreSeenFromStrides) {
    const ggml_tensor t = make(GGML_TYPE_F32, {4, 3, 2, 5});
    EXPECT_FALSE(ggml_is_transposed(&t));
    EXPECT_FALSE(ggml_is_permuted(&t));
    const ggml_tensor transposed = permute(t, 1, 0, 2, 3);
    EXPECT_TRUE(ggml_is_transposed(&transposed));
    EXPECT_TRUE(ggml_is_permuted(&transposed));
    EXPECT_FALSE(ggml_is_contiguous_rows(&transposed));
    EXPECT_TRUE(ggml_is_contiguously_allocated(&transposed));
    const ggml_tensor swapped = permute(t, 0, 2, 1, 3);
    EXPECT_FALSE(ggml_is_transposed(&swapped));
    EXPECT_TRUE(ggml_is_permuted(&swapped));
    const ggml_tensor channels = permute(t, 2, 0, 1, 3);
    EXPECT_TRUE(ggml_is_contiguous_channels(&channels));
    EXPECT_FALSE(ggml_is_contiguous_channels(&t));
}

TEST(Shape, EmptyTensorsHaveNoBytes) {
    const ggml_tensor t = make(GGML_TYPE_F32, {4, 0, 2, 1});
    EXPECT_TRUE(ggml_is_empty(&t));
    EXPECT_EQ(ggml_nelements(&t), 0);
    EXPECT_EQ(ggml_nbytes(&t), 0u);
    EXPECT_EQ(ggml_n_dims(&t), 3);
    const ggml_tensor all_zero = make(GGML_TYPE_F32, {0, 0, 0, 0});
    EXPECT_EQ(ggml_n_dims(&all_zero), 1);
}

TEST(Shape, CountsDimensions) {
    const ggml_tensor scalar = make(GGML_TYPE_F32, {1}), vector = make(GGML_TYPE_F32, {5}),
                      matrix = make(GGML_TYPE_F32, {5, 2}), cube = make(GGML_TYPE_F32, {1, 1, 2}),
                      four = make(GGML_TYPE_F32, {1, 1, 1, 2});
    EXPECT_EQ(ggml_n_dims(&scalar), 1);
    EXPECT_EQ(ggml_n_dims(&matrix), 2);
    EXPECT_EQ(ggml_n_dims(&cube), 3);
    EXPECT_EQ(ggml_n_dims(&four), 4);
    EXPECT_TRUE(ggml_is_scalar(&scalar) && ggml_is_vector(&scalar) && ggml_is_matrix(&scalar));
    EXPECT_TRUE(ggml_is_vector(&vector) && !ggml_is_scalar(&vector));
    EXPECT_TRUE(ggml_is_matrix(&matrix) && !ggml_is_vector(&matrix));
    EXPECT_TRUE(ggml_is_3d(&cube) && !ggml_is_matrix(&cube));
    EXPECT_FALSE(ggml_is_3d(&four));
    EXPECT_EQ(ggml_nrows(&four), 2);
}

TEST(Shape, RepetitionNeedsMultiples) {
    const ggml_tensor x = make(GGML_TYPE_F32, {2, 1, 3}), y = make(GGML_TYPE_F32, {4, 7, 3, 5}),
                      z = make(GGML_TYPE_F32, {4, 7, 4}), empty = make(GGML_TYPE_F32, {0, 7, 3}),
                      row = make(GGML_TYPE_F32, {4, 1, 3});
    EXPECT_TRUE(ggml_can_repeat(&x, &y));
    EXPECT_FALSE(ggml_can_repeat(&y, &x));
    EXPECT_FALSE(ggml_can_repeat(&x, &z));
    EXPECT_TRUE(ggml_can_repeat(&x, &empty));  // nothing is zero times x
    EXPECT_FALSE(ggml_can_repeat(&empty, &y));
    EXPECT_TRUE(ggml_can_repeat(&empty, &empty));
    EXPECT_TRUE(can_repeat_rows(row, y));
    EXPECT_FALSE(can_repeat_rows(x, y));
}

TEST(Shape, PaddedBytesAreAMultipleOfTheAlignment) {
    const ggml_tensor t = make(GGML_TYPE_I8, {17});
    EXPECT_EQ(ggml_nbytes(&t), 17u);
    EXPECT_EQ(ggml_nbytes_pad(&t), 32u);
    EXPECT_EQ(ggml_element_size(&t), 1u);
}

TEST(Shape, AbsurdStridesSaturate) {
    ggml_tensor t = make(GGML_TYPE_F32, {4, 3});
    t.nb[1] = SIZE_MAX / 2;
    t.ne[1] = 4;
    EXPECT_EQ(ggml_nbytes(&t), SIZE_MAX);
    ggml_tensor q = make(GGML_TYPE_Q4_0, {64, 3});
    q.nb[0] = SIZE_MAX / 2;
    EXPECT_EQ(ggml_nbytes(&q), SIZE_MAX);
}

TEST(Shape, NullIsNoTensor) {
    EXPECT_EQ(ggml_nelements(nullptr), 0);
    EXPECT_EQ(ggml_nrows(nullptr), 0);
    EXPECT_EQ(ggml_nbytes(nullptr), 0u);
    EXPECT_EQ(ggml_nbytes_pad(nullptr), 0u);
    EXPECT_EQ(ggml_element_size(nullptr), 0u);
    EXPECT_FALSE(ggml_is_contiguous(nullptr));
    EXPECT_FALSE(ggml_is_contiguous_rows(nullptr));
    EXPECT_FALSE(ggml_is_contiguously_allocated(nullptr));
    EXPECT_FALSE(ggml_is_view(nullptr));
    EXPECT_FALSE(ggml_is_empty(nullptr));
    const ggml_tensor t = make(GGML_TYPE_F32, {1});
    EXPECT_FALSE(ggml_are_same_shape(&t, nullptr));
    EXPECT_FALSE(ggml_are_same_stride(nullptr, &t));
    EXPECT_FALSE(ggml_can_repeat(nullptr, nullptr));
}

}  // namespace
