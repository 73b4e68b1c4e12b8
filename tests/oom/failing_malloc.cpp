// malloc and its relatives, and mmap, with a failure on demand; see failing_malloc.h.

#include "tests/oom/failing_malloc.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

// No destructors, in the executable: touching them takes no memory.
thread_local int64_t t_count = 0, t_fails_at = -1;
std::atomic<int64_t> g_alive{0};

bool fails() {
    if (t_count++ != t_fails_at) return false;
    errno = ENOMEM;
    return true;
}

void* counted(void* block) {
    if (block) g_alive.fetch_add(1, std::memory_order_relaxed);
    return block;
}

}  // namespace

namespace tenon::test {

void fail_allocation(int64_t n) {
    t_count = 0;
    t_fails_at = n;
}
int64_t allocations() { return t_count; }
int64_t blocks_alive() { return g_alive.load(); }

}  // namespace tenon::test

extern "C" {

void* malloc(size_t size) { return fails() ? nullptr : counted(__libc_malloc(size)); }
void* calloc(size_t n, size_t size) { return fails() ? nullptr : counted(__libc_calloc(n, size)); }
void* realloc(void* block, size_t size) {
    if (fails()) return nullptr;
    void* moved = __libc_realloc(block, size);
    return block ? moved : counted(moved);
}
void* memalign(size_t alignment, size_t size) {
    return fails() ? nullptr : counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** block, size_t alignment, size_t size) {
    void* got = memalign(alignment, size);
    if (!got) return ENOMEM;
    *block = got;
    return 0;
}
void free(void* block) {
    if (block) g_alive.fetch_sub(1, std::memory_order_relaxed);
    __libc_free(block);
}

void* mmap(void* address, size_t size, int access, int flags, int fd, off_t offset) {
    if (fails()) return MAP_FAILED;
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, access, flags, fd, offset));
}

}  // extern "C"
