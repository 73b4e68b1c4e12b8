// The heap of a test program, where the allocation of one's choice fails. Link failing_malloc.cpp:
// it stands before the C library's malloc for the program and every shared object in it.
#pragma once

#include <cstdint>

namespace tenon::test {

// Allocation number n of the calling thread, from 0 on, fails from now on; -1: none does. The
// allocations since the last call are counted anew.
void fail_allocation(int64_t n);

int64_t allocations();   // of the calling thread since then
int64_t blocks_alive();  // of all threads

}  // namespace tenon::test
