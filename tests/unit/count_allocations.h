// Counts calls of operator new on this thread; link count_allocations.cpp into the test program.
#pragma once

#include <cstddef>

namespace tenon::test {

size_t allocations_of_this_thread();

}  // namespace tenon::test
