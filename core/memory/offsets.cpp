// Online best fit: holes first, then the open ends, then a new chunk.

#include "core/memory/offsets.h"

#include <algorithm>

#include "core/base/bits.h"

namespace tenon {

OffsetAllocator::OffsetAllocator(size_t alignment, size_t max_size)
    : alignment_(alignment), max_size_(std::min(max_size, SIZE_MAX / 2) & ~(alignment - 1)) {}

void OffsetAllocator::clear() { n_chunks_ = 0; }

bool OffsetAllocator::rounded(size_t size, size_t* bytes) const {
    return align_up_size(std::max<size_t>(size, 1), alignment_, bytes) && *bytes <= SIZE_MAX / 2;
}

bool OffsetAllocator::allocate(size_t size, Place* place) {
    size_t bytes;
    if (!rounded(size, &bytes)) return false;
    Choice choice = best_inner_block(bytes);
    if (choice.chunk == kNone) choice = best_last_block(bytes);
    if (choice.chunk == kNone) choice = {add_chunk(bytes), 0};
    *place = take(choice, bytes);
    return true;
}

// The smallest hole that fits; of equals the later one.
OffsetAllocator::Choice OffsetAllocator::best_inner_block(size_t size) const {
    Choice best{kNone, 0};
    size_t best_size = SIZE_MAX;
    for (size_t c = 0; c < n_chunks_; ++c) {
        const auto& free = chunks_[c].free;
        for (size_t b = 0; b + 1 < free.size(); ++b) {
            if (free[b].size < size || free[b].size > best_size) continue;
            best = {c, b};
            best_size = free[b].size;
        }
    }
    return best;
}

// An open end: rather one that needs no growth (the tightest), else the one that grows least, since
// memory below the high-water mark will be allocated anyway.
OffsetAllocator::Choice OffsetAllocator::best_last_block(size_t size) const {
    Choice best{kNone, 0};
    size_t best_growth = SIZE_MAX, best_slack = SIZE_MAX;
    for (size_t c = 0; c < n_chunks_; ++c) {
        const Chunk& chunk = chunks_[c];
        if (chunk.free.empty() || chunk.free.back().size < size) continue;
        const size_t end = chunk.free.back().offset + size;
        const size_t growth = end > chunk.high_water ? end - chunk.high_water : 0;
        const size_t slack = growth == 0 ? chunk.high_water - end : 0;
        if (growth > best_growth || (growth == best_growth && slack >= best_slack)) continue;
        best = {c, chunk.free.size() - 1};
        best_growth = growth;
        best_slack = slack;
    }
    return best;
}

size_t OffsetAllocator::add_chunk(size_t size) {
    if (n_chunks_ == chunks_.size()) chunks_.emplace_back();
    Chunk& chunk = chunks_[n_chunks_];
    chunk.free.assign(1, Block{0, std::max(size, max_size_)});
    chunk.high_water = 0;
    return n_chunks_++;
}

OffsetAllocator::Place OffsetAllocator::take(Choice choice, size_t size) {
    Chunk& chunk = chunks_[choice.chunk];
    Block& block = chunk.free[choice.block];
    const Place place{static_cast<uint32_t>(choice.chunk), block.offset};
    block.offset += size;
    block.size -= size;
    chunk.high_water = std::max(chunk.high_water, block.offset);
    // An empty last block stays: it marks the end of the chunk.
    if (block.size == 0 && choice.block + 1 < chunk.free.size()) {
        chunk.free.erase(chunk.free.begin() + static_cast<ptrdiff_t>(choice.block));
    }
    return place;
}

void OffsetAllocator::free(Place place, size_t size) {
    size_t bytes;
    if (place.chunk >= n_chunks_ || !rounded(size, &bytes)) return;
    auto& free = chunks_[place.chunk].free;
    const auto after =
        std::upper_bound(free.begin(), free.end(), place.offset,
                         [](size_t offset, const Block& block) { return offset < block.offset; });
    const auto i = static_cast<size_t>(after - free.begin());
    // The chunk's end is a block too, so there always is one behind.
    Block& next = free[i];
    const bool joins_next = place.offset + bytes == next.offset;
    const bool joins_before = i > 0 && free[i - 1].offset + free[i - 1].size == place.offset;
    if (joins_before && joins_next) {
        next.size += bytes + free[i - 1].size;
        next.offset = free[i - 1].offset;
        free.erase(free.begin() + static_cast<ptrdiff_t>(i) - 1);
    } else if (joins_before) {
        free[i - 1].size += bytes;
    } else if (joins_next) {
        next.offset = place.offset;
        next.size += bytes;
    } else {
        free.insert(after, Block{place.offset, bytes});
    }
}

}  // namespace tenon
