// Offsets inside buffers that do not exist yet: best fit, neighbours merged, a high-water mark per
// chunk. A chunk becomes one buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon {

class OffsetAllocator {
public:
    struct Place {
        uint32_t chunk = 0;
        size_t offset = 0;  // bytes
    };

    // `alignment`: a power of two; `max_size`: the largest sensible chunk, which only a single
    // block may exceed.
    OffsetAllocator(size_t alignment, size_t max_size);

    // Forgets everything; memory for the bookkeeping is kept.
    void clear();

    // Sizes in bytes; they are rounded up to the alignment, and a block of 0 bytes takes one unit,
    // so that every place is an address of its own. False when no chunk could ever hold the size.
    bool allocate(size_t size, Place* place);

    // Gives back [place, place + size), which may be a tail of what was allocated.
    void free(Place place, size_t size);

    // Bytes a block of this size takes; false when that overflows.
    bool rounded(size_t size, size_t* bytes) const;

    size_t n_chunks() const { return n_chunks_; }
    size_t high_water(size_t chunk) const { return chunks_[chunk].high_water; }

private:
    struct Block {
        size_t offset, size;
    };
    // Free blocks by offset. The last one reaches to the end of the chunk: taking from it may raise
    // the high-water mark.
    struct Chunk {
        std::vector<Block> free;
        size_t high_water = 0;
    };
    struct Choice {
        size_t chunk, block;
    };
    static constexpr size_t kNone = SIZE_MAX;

    Choice best_inner_block(size_t size) const;
    Choice best_last_block(size_t size) const;
    size_t add_chunk(size_t size);
    Place take(Choice choice, size_t size);

    size_t alignment_, max_size_;
    std::vector<Chunk> chunks_;  // the first n_chunks_ are in use
    size_t n_chunks_ = 0;
};

}  // namespace tenon
