// The code books: every point once, with the values of its levels.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

#include "sdk/quant/iq_grids.h"

namespace tenon {
namespace {

using quant::CodeBook;

const CodeBook* const kBooks[] = {&quant::kBookIq2xxs, &quant::kBookIq2xs, &quant::kBookIq2s,
                                  &quant::kBookIq3xxs, &quant::kBookIq3s,  &quant::kBookIq1s};

int digit(const CodeBook& book, uint32_t tuple, int i) {
    return static_cast<int>(tuple >> book.bits * i & ((1u << book.bits) - 1));
}

bool is_tuple(const CodeBook& book, uint32_t tuple) {
    for (int i = 0; i < book.elems; ++i) {
        if (digit(book, tuple, i) >= book.levels) return false;
    }
    return true;
}

TEST(IqGrids, CodeBooksHaveEveryPointOnce) {
    for (const CodeBook* each : kBooks) {
        const CodeBook& book = *each;
        EXPECT_TRUE(std::is_sorted(book.points, book.points + book.size, std::less_equal<>()));
        for (int p = 0; p < book.size; ++p) EXPECT_TRUE(is_tuple(book, book.points[p]));
        EXPECT_EQ(book.points[0], 0);
    }
}

// values: of the levels, as the type multiplies them.
template <class Grid>
void expect_values(const CodeBook& book, const Grid& grid, const std::vector<int>& values) {
    ASSERT_EQ(grid.size(), static_cast<size_t>(book.size));
    for (size_t p = 0; p < grid.size(); ++p) {
        for (int i = 0; i < book.elems; ++i) {
            const auto level = static_cast<size_t>(digit(book, book.points[p], i));
            ASSERT_EQ(static_cast<int8_t>(grid[p] >> 8 * i), values[level]) << p << ", " << i;
        }
    }
}

TEST(IqGrids, GridsHaveTheValuesOfTheLevels) {
    expect_values(quant::kBookIq2xxs, quant::kGridIq2xxs, {8, 25, 43});
    expect_values(quant::kBookIq2xs, quant::kGridIq2xs, {8, 25, 43});
    expect_values(quant::kBookIq2s, quant::kGridIq2s, {8, 25, 43});
    expect_values(quant::kBookIq3xxs, quant::kGridIq3xxs, {4, 12, 20, 28, 36, 44, 52, 62});
    expect_values(quant::kBookIq3s, quant::kGridIq3s, {1, 3, 5, 7, 9, 11, 13, 15});
    expect_values(quant::kBookIq1s, quant::kGridIq1s, {-1, 0, 1});
}

TEST(IqGrids, SevenSignsBecomeAnEvenNumber) {
    for (uint32_t s = 0; s < 128; ++s) {
        EXPECT_EQ(quant::kEvenSigns[s] & 127u, s);
        EXPECT_EQ(std::popcount(quant::kEvenSigns[s]) % 2, 0);
    }
}

}  // namespace
}  // namespace tenon
