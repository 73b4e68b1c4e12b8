// Building the lists of neighbours of a code book.

#include "sdk/quant/iq_neighbours.h"

#include <algorithm>
#include <new>

namespace tenon::quant {
namespace {

constexpr int kMaxPoints = 2048;
constexpr int kMaxDistance = 4 * 7 * 7;

// Squared distances of all pairs of half tuples. The distance of two tuples is the sum of those of
// their halves, which makes it two look-ups.
class HalfDistances {
public:
    explicit HalfDistances(const CodeBook& book)
        : bits_(book.bits * book.elems / 2), distances_(size_t{1} << 2 * bits_) {
        for (size_t i = 0; i < distances_.size(); ++i) {
            uint32_t a = static_cast<uint32_t>(i) >> bits_, b = static_cast<uint32_t>(i) & mask();
            int sum = 0;
            for (const uint32_t digit = (1u << book.bits) - 1; a | b;
                 a >>= book.bits, b >>= book.bits) {
                const int d = static_cast<int>(a & digit) - static_cast<int>(b & digit);
                sum += d * d;
            }
            distances_[i] = static_cast<uint8_t>(sum);
        }
    }

    void from(uint32_t tuple, const CodeBook& book, uint8_t* out) const {
        const uint8_t* low = &distances_[static_cast<size_t>(tuple & mask()) << bits_];
        const uint8_t* high = &distances_[static_cast<size_t>(tuple >> bits_) << bits_];
        for (int p = 0; p < book.size; ++p) {
            const uint32_t point = book.points[p];
            out[p] = static_cast<uint8_t>(low[point & mask()] + high[point >> bits_]);
        }
    }

private:
    uint32_t mask() const { return (1u << bits_) - 1; }

    int bits_;
    std::vector<uint8_t> distances_;  // row: one half; column: the other
};

bool is_tuple(uint32_t bits, const CodeBook& book) {
    for (int i = 0; i < book.elems; ++i, bits >>= book.bits) {
        if (static_cast<int>(bits & ((1u << book.bits) - 1)) >= book.levels) return false;
    }
    return true;
}

// Appends a list: a counting sort by distance keeps the order of indices.
void append_nearest(const CodeBook& book, const uint8_t* distances, int shells,
                    std::vector<uint16_t>& lists) {
    int counts[kMaxDistance + 1] = {};
    for (int p = 0; p < book.size; ++p) ++counts[distances[p]];
    size_t starts[kMaxDistance + 1];
    size_t total = 0;
    int limit = 0;
    for (int d = 0; d <= kMaxDistance && shells > 0; ++d) {
        starts[d] = total;
        total += static_cast<size_t>(counts[d]);
        shells -= counts[d] > 0;
        limit = d;
    }
    const size_t at = lists.size();
    lists.resize(at + 1 + total);
    lists[at] = static_cast<uint16_t>(total);
    for (int p = 0; p < book.size; ++p) {
        if (distances[p] <= limit) lists[at + 1 + starts[distances[p]]++] = book.points[p];
    }
}

}  // namespace

Neighbours::Neighbours(const CodeBook& book, int shells)
    : places_(size_t{1} << book.bits * book.elems, -1) {
    for (int p = 0; p < book.size; ++p) places_[book.points[p]] = p;
    const HalfDistances halves(book);
    uint8_t distances[kMaxPoints];
    for (uint32_t tuple = 0; tuple < places_.size(); ++tuple) {
        if (is_point(tuple) || !is_tuple(tuple, book)) continue;
        places_[tuple] = -1 - static_cast<int32_t>(lists_.size());
        halves.from(tuple, book, distances);
        append_nearest(book, distances, shells, lists_);
    }
    lists_.shrink_to_fit();
}

const Neighbours* LazyNeighbours::get() {
    if (const Neighbours* built = built_.load(std::memory_order_acquire)) return built;
    const std::lock_guard lock(building_);
    if (const Neighbours* built = built_.load(std::memory_order_relaxed)) return built;
    try {
        const auto* built = new Neighbours(book_, shells_);
        built_.store(built, std::memory_order_release);
        return built;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void LazyNeighbours::release() {
    const std::lock_guard lock(building_);
    delete built_.exchange(nullptr);
}

}  // namespace tenon::quant
