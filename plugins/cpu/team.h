// Barriers over the core's worker team.
#pragma once

#include <atomic>
#include <cstdint>

#include "plugins/cpu/hardware.h"

namespace tenon::cpu {

// A barrier for up to as many members as wait() is told; reusable at once. Waiters spin for some
// tens of microseconds, then sleep.
class Barrier {
public:
    // Returns when n members have called it. The last to arrive runs `last` while the others still
    // wait, so what it writes needs no further synchronisation.
    template <class Last>
    void wait(int32_t n, Last&& last) {
        const uint32_t round = round_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < n) {
            wait_for_next(round);
            return;
        }
        arrived_.store(0, std::memory_order_relaxed);
        last();
        round_.store(round + 1, std::memory_order_release);
        if (n > 1) round_.notify_all();
    }
    void wait(int32_t n) {
        wait(n, [] {});
    }

private:
    void wait_for_next(uint32_t round);

    alignas(64) std::atomic<int32_t> arrived_{0};
    alignas(64) std::atomic<uint32_t> round_{0};
};

}  // namespace tenon::cpu
