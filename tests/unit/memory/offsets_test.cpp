// The offset allocator: holes first, growth last, neighbours merged, nothing overlaps.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/memory/offsets.h"

using namespace tenon;

namespace {

using Place = OffsetAllocator::Place;

Place allocate(OffsetAllocator& offsets, size_t size) {
    Place place;
    EXPECT_TRUE(offsets.allocate(size, &place));
    return place;
}

TEST(Offsets, RoundsToTheAlignment) {
    OffsetAllocator offsets(16, SIZE_MAX);
    EXPECT_EQ(allocate(offsets, 1).offset, 0u);
    EXPECT_EQ(allocate(offsets, 17).offset, 16u);
    EXPECT_EQ(allocate(offsets, 0).offset, 48u);  // an address of its own
    EXPECT_EQ(allocate(offsets, 1).offset, 64u);
    EXPECT_EQ(offsets.high_water(0), 80u);
}

TEST(Offsets, TakesTheSmallestHoleThatFits) {
    OffsetAllocator offsets(8, SIZE_MAX);
    Place blocks[6];
    const size_t sizes[] = {32, 8, 16, 8, 24, 8};
    for (int i = 0; i < 6; ++i) blocks[i] = allocate(offsets, sizes[i]);
    for (const int i : {0, 2, 4}) offsets.free(blocks[i], sizes[i]);
    EXPECT_EQ(allocate(offsets, 16).offset, blocks[2].offset);
    EXPECT_EQ(allocate(offsets, 16).offset, blocks[4].offset);
    EXPECT_EQ(allocate(offsets, 8).offset, blocks[4].offset + 16);
    EXPECT_EQ(allocate(offsets, 40).offset, 96u);  // no hole fits
}

TEST(Offsets, MergesNeighbours) {
    for (const auto& order :
         {std::array{0, 1, 2}, std::array{2, 1, 0}, std::array{0, 2, 1}, std::array{1, 0, 2}}) {
        OffsetAllocator offsets(8, SIZE_MAX);
        Place blocks[3];
        for (auto& block : blocks) block = allocate(offsets, 8);
        const Place guard = allocate(offsets, 8);
        for (const int i : order) offsets.free(blocks[i], 8);
        EXPECT_EQ(allocate(offsets, 24).offset, 0u);
        offsets.free(guard, 8);
        EXPECT_EQ(allocate(offsets, 100).offset, 24u);  // and with the open end
    }
}

TEST(Offsets, StartsANewChunkBeyondTheLargestSize) {
    OffsetAllocator offsets(8, 32);
    EXPECT_EQ(allocate(offsets, 24).chunk, 0u);
    EXPECT_EQ(allocate(offsets, 16).chunk, 1u);
    EXPECT_EQ(allocate(offsets, 8).chunk, 0u);
    EXPECT_EQ(allocate(offsets, 100).chunk, 2u);  // one block may exceed it
    EXPECT_EQ(offsets.n_chunks(), 3u);
    EXPECT_EQ(offsets.high_water(0), 32u);
    EXPECT_EQ(offsets.high_water(1), 16u);
    EXPECT_EQ(offsets.high_water(2), 100u / 8 * 8 + 8);
    offsets.clear();
    EXPECT_EQ(offsets.n_chunks(), 0u);
    for (int i = 0; i < 40; ++i) allocate(offsets, 32);
    EXPECT_EQ(offsets.n_chunks(), 40u);  // as many as it takes
}

TEST(Offsets, PrefersMemoryThatIsThereAnyway) {
    OffsetAllocator offsets(4, 32);
    const Place large = allocate(offsets, 28);
    allocate(offsets, 8);  // chunk 1
    offsets.free(large, 28);
    // Chunk 1 would grow, chunk 0 has 28 bytes below its mark.
    EXPECT_EQ(allocate(offsets, 24).chunk, 0u);
    EXPECT_EQ(offsets.high_water(0) + offsets.high_water(1), 36u);
}

TEST(Offsets, RefusesSizesThatOverflow) {
    OffsetAllocator offsets(64, SIZE_MAX);
    Place place;
    EXPECT_FALSE(offsets.allocate(SIZE_MAX, &place));
    EXPECT_FALSE(offsets.allocate(SIZE_MAX - 62, &place));
    EXPECT_TRUE(offsets.allocate(64, &place));
    size_t bytes = 5;
    EXPECT_FALSE(offsets.rounded(SIZE_MAX - 1, &bytes));
}

TEST(Offsets, NothingOverlapsInAnyOrder) {
    std::mt19937 random(7);
    for (const size_t max_size : {size_t{256}, SIZE_MAX}) {
        OffsetAllocator offsets(8, max_size);
        std::map<std::pair<uint32_t, size_t>, size_t> live;  // place -> size
        for (int step = 0; step < 5000; ++step) {
            if (!live.empty() && random() % 2) {
                auto it = std::next(live.begin(), random() % live.size());
                offsets.free({it->first.first, it->first.second}, it->second);
                live.erase(it);
                continue;
            }
            const size_t size = 8 * (1 + random() % 12);
            const Place place = allocate(offsets, size);
            const auto [it, fresh] = live.emplace(std::pair(place.chunk, place.offset), size);
            ASSERT_TRUE(fresh);
            if (it != live.begin()) {
                const auto before = std::prev(it);
                ASSERT_TRUE(before->first.first != place.chunk ||
                            before->first.second + before->second <= place.offset);
            }
            if (const auto after = std::next(it); after != live.end()) {
                ASSERT_TRUE(after->first.first != place.chunk ||
                            place.offset + size <= after->first.second);
            }
            ASSERT_LE(place.offset + size, std::max<size_t>(offsets.high_water(place.chunk), 1));
        }
    }
}

}  // namespace
