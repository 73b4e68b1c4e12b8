// A function of the application and its data, set by one thread while others call it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon {

// get() gives a function with the data it was set with, never a mixture of two settings. Readers
// wait only while a setter is between its stores; nothing in here blocks, allocates or unwinds.
template <class Function>
class SharedCallback {
public:
    struct Pair {
        Function function;
        void* data;
    };

    constexpr SharedCallback() = default;
    constexpr SharedCallback(Function function, void* data) : function_(function), data_(data) {}

    void set(Function function, void* data) {
        uint32_t version = version_.load(std::memory_order_relaxed);
        do {
            version &= ~1u;  // odd: another thread is setting
        } while (!version_.compare_exchange_weak(version, version + 1, std::memory_order_acquire,
                                                 std::memory_order_relaxed));
        function_.store(function, std::memory_order_release);
        data_.store(data, std::memory_order_release);
        version_.store(version + 2, std::memory_order_release);
    }

    // Who reads a value of a setter that is not done reads its odd version afterwards: the stores
    // of the values release it, the loads here acquire it.
    Pair get() const {
        while (true) {
            const uint32_t before = version_.load(std::memory_order_acquire);
            const Pair pair{function_.load(std::memory_order_acquire),
                            data_.load(std::memory_order_acquire)};
            if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before) return pair;
        }
    }

private:
    std::atomic<uint32_t> version_{0};
    std::atomic<Function> function_{nullptr};
    std::atomic<void*> data_{nullptr};
};

}  // namespace tenon
