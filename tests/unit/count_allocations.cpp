// operator new that counts; in a file of its own because a program can replace it only once.

#include "count_allocations.h"

#include <cstdlib>
#include <new>

namespace {
thread_local size_t t_count = 0;
}

namespace tenon::test {
size_t allocations_of_this_thread() { return t_count; }
}  // namespace tenon::test

void* operator new(size_t size) {
    ++t_count;
    if (void* p = std::malloc(size ? size : 1)) return p;
    throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
    ++t_count;
    return std::malloc(size ? size : 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
