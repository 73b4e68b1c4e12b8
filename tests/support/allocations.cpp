// operator new of a test program; see allocations.h. In its own file, so that the compiler does not
// inline one half of a new/delete pair into the tests.

#include "tests/support/allocations.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tenon::test {

std::atomic<size_t> g_largest_allocation{0};
std::atomic<int64_t> g_allocations_until_bad{-1};

namespace {
thread_local size_t t_allocations = 0;
}

size_t allocations_of_this_thread() { return t_allocations; }

}  // namespace tenon::test

using namespace tenon::test;

namespace {

// False when it is this allocation's turn to fail.
bool allowed(size_t size) noexcept {
    ++t_allocations;
    if (size > g_largest_allocation.load()) g_largest_allocation = size;
    return g_allocations_until_bad.load() < 0 || g_allocations_until_bad.fetch_sub(1) != 0;
}

void* allocate(size_t size) noexcept {
    return allowed(size) ? std::malloc(size ? size : 1) : nullptr;
}

}  // namespace

void* operator new(size_t size) {
    if (void* p = allocate(size)) return p;
    throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new(size_t size, std::align_val_t alignment) {
    void* p = nullptr;
    const size_t at_least = std::max(static_cast<size_t>(alignment), sizeof(void*));
    if (allowed(size) && ::posix_memalign(&p, at_least, size ? size : 1) == 0) return p;
    throw std::bad_alloc();
}
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
