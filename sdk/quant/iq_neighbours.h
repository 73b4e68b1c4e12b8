// From any tuple of levels to a point of a code book: the point itself, or the points around it.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sdk/quant/iq_grids.h"

namespace tenon::quant {

// Tuples and points are packed digits as in CodeBook::points.
class Neighbours {
public:
    // shells: how many of the smallest distinct distances a list of neighbours takes in. Throws
    // bad_alloc. The largest, iq1s, takes 0.9 MB and 15 ms; all six together 2.6 MB.
    Neighbours(const CodeBook& book, int shells);

    bool is_point(uint32_t tuple) const { return places_[tuple] >= 0; }

    // The index of a point in the code book.
    int index_of(uint32_t point) const { return places_[point]; }

    // Of a tuple that is no point: points by distance, those of equal distance by index. Not empty.
    std::span<const uint16_t> near(uint32_t tuple) const {
        const uint16_t* list = lists_.data() + (-1 - places_[tuple]);
        return {list + 1, list[0]};
    }

private:
    std::vector<int32_t> places_;  // >= 0: an index; else -1 - position in lists_
    std::vector<uint16_t> lists_;  // the number of points, then the points
};

// Neighbours built when first asked for. Any thread; but release() only while no result of get() is
// in use.
class LazyNeighbours {
public:
    constexpr LazyNeighbours(const CodeBook& book, int shells) : book_(book), shells_(shells) {}

    // NULL: out of memory.
    const Neighbours* get();
    void release();

private:
    const CodeBook& book_;
    const int shells_;
    std::atomic<const Neighbours*> built_{nullptr};
    std::mutex building_;
};

// Costs of the levels of each element of a group.
template <int kElems, int kBits>
using LevelCosts = float[kElems][1 << kBits];

// The first point with the smallest cost, which is summed in the order of the elements.
template <int kElems, int kBits>
uint16_t cheapest(std::span<const uint16_t> points, const LevelCosts<kElems, kBits>& costs) {
    uint16_t best = points[0];
    float lowest = std::numeric_limits<float>::infinity();
    for (const uint16_t point : points) {
        float cost = 0;
        for (int i = 0; i < kElems; ++i) cost += costs[i][point >> kBits * i & ((1 << kBits) - 1)];
        if (cost < lowest) {
            lowest = cost;
            best = point;
        }
    }
    return best;
}

}  // namespace tenon::quant
