// Counts forks: what a parent's threads and drivers did is lost in the child.

#include <pthread.h>

#include "core/stream/threads.h"

namespace tenon {
namespace {

std::atomic<uint32_t> g_generation{0};

}  // namespace

uint32_t fork_generation() {
    static const int registered = ::pthread_atfork(
        nullptr, nullptr, [] { g_generation.fetch_add(1, std::memory_order_relaxed); });
    (void)registered;
    return g_generation.load(std::memory_order_relaxed);
}

}  // namespace tenon
