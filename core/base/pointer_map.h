// Pointer → index, with open addressing. Emptying it costs nothing, and it keeps its memory: one is
// filled for every graph that is split or judged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon {

class PointerMap {
public:
    void clear() {
        ++epoch_;
        size_ = 0;
        if (epoch_ == 0) {  // wrapped: marks of 2^32 fills ago would come back to life
            slots_.assign(slots_.size(), Slot{});
            epoch_ = 1;
        }
    }

    // Room for n keys without growing. Throws std::bad_alloc.
    void reserve(size_t n) {
        if (n * 2 > slots_.size()) grow(n * 2);
    }

    // The value of `key`, -1 when there is none.
    int32_t find(const void* key) const {
        if (slots_.empty()) return -1;
        const Slot& slot = slots_[position(key)];
        return slot.epoch == epoch_ ? slot.value : -1;
    }

    // Sets the value of `key`, which replaces an older one. Throws std::bad_alloc.
    void set(const void* key, int32_t value) {
        if ((size_ + 1) * 2 > slots_.size()) grow((size_ + 1) * 2);
        Slot& slot = slots_[position(key)];
        size_ += slot.epoch != epoch_;
        slot = {key, epoch_, value};
    }

    size_t size() const { return size_; }

private:
    struct Slot {
        const void* key = nullptr;
        uint32_t epoch = 0;
        int32_t value = -1;
    };

    // Where `key` is, or would go: at most half of the slots are taken, so there is a free one.
    size_t position(const void* key) const {
        const size_t mask = slots_.size() - 1;
        size_t i = (reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15ull >> 20) & mask;
        while (slots_[i].epoch == epoch_ && slots_[i].key != key) i = (i + 1) & mask;
        return i;
    }

    void grow(size_t wanted) {
        size_t n = 64;
        while (n < wanted) n *= 2;
        std::vector<Slot> old(n);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.epoch == epoch_) slots_[position(slot.key)] = slot;
        }
    }

    std::vector<Slot> slots_;
    uint32_t epoch_ = 1;
    size_t size_ = 0;
};

}  // namespace tenon
