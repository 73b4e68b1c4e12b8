// Waiting at a barrier: spin, then sleep.

#include "plugins/cpu/team.h"

#include "plugins/cpu/kernel.h"

namespace tenon::cpu {

void Barrier::wait_for_next(uint32_t round) {
    constexpr int kSpins = 2000;  // about 30 us
    for (int k = 0; k < kSpins; ++k) {
        if (round_.load(std::memory_order_acquire) != round) return;
        relax();
    }
    round_.wait(round, std::memory_order_acquire);
}

void Task::barrier() const {
    if (nth > 1) team_barrier->wait(nth);
}

}  // namespace tenon::cpu
