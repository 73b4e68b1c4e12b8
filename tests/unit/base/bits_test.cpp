// Size arithmetic: rounding, and overflow that is reported.

#include <gtest/gtest.h>

#include "core/base/bits.h"

using namespace tenon;

namespace {

TEST(Bits, OverflowLeavesTheResultAlone) {
    size_t out = 7;
    EXPECT_FALSE(add_size(SIZE_MAX, 1, &out));
    EXPECT_FALSE(mul_size(SIZE_MAX / 2 + 1, 2, &out));
    EXPECT_FALSE(align_up_size(SIZE_MAX - 3, 16, &out));
    EXPECT_EQ(out, 7u);
    EXPECT_TRUE(add_size(SIZE_MAX - 1, 1, &out));
    EXPECT_EQ(out, SIZE_MAX);
    EXPECT_TRUE(align_up_size(17, 16, &out));
    EXPECT_EQ(out, 32u);
}

TEST(Bits, RangesDoNotWrap) {
    EXPECT_TRUE(range_fits(0, 10, 10));
    EXPECT_TRUE(range_fits(10, 0, 10));
    EXPECT_FALSE(range_fits(11, 0, 10));
    EXPECT_FALSE(range_fits(1, 10, 10));
    EXPECT_FALSE(range_fits(SIZE_MAX, 2, 10));
    EXPECT_FALSE(range_fits(2, SIZE_MAX, 10));
}

TEST(Bits, Rounding) {
    EXPECT_EQ(align_up(0, 16), 0u);
    EXPECT_EQ(align_up(1, 16), 16u);
    EXPECT_EQ(ceil_div(7, 3), 3);
    EXPECT_TRUE(is_power_of_two(64));
    EXPECT_FALSE(is_power_of_two(0));
    EXPECT_FALSE(is_power_of_two(96));
}

}  // namespace
