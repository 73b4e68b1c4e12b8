// A look at the heap from a test: how many allocations, the largest so far, and one that fails on
// demand.
// Link allocations.cpp; it replaces operator new of the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tenon::test {

extern std::atomic<size_t> g_largest_allocation;      // bytes; set it to 0 before
extern std::atomic<int64_t> g_allocations_until_bad;  // that one throws bad_alloc; negative: never

size_t allocations_of_this_thread();

}  // namespace tenon::test
