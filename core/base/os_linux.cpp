// Linux: memory, processors, thread placement, futexes.

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "core/base/bits.h"
#include "core/base/os.h"

namespace tenon::os {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// From here on a block is mapped on its own and asks for huge pages: fewer TLB misses over weights.
constexpr size_t kMapFrom = size_t{8} << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMapLargeBlocks = false;  // the sanitizer watches only what malloc gave
#else
constexpr bool kMapLargeBlocks = true;
#endif

bool is_mapped(size_t size_bytes, size_t alignment) {
    return kMapLargeBlocks && size_bytes >= kMapFrom && alignment <= kHugePage;
}

size_t mapped_size(size_t size_bytes) { return align_up(size_bytes, kHugePage); }

void* map_huge(size_t size_bytes) {
    const size_t size = mapped_size(size_bytes);
    void* raw = ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    // Cut what lies before and after the aligned part.
    const uintptr_t start = reinterpret_cast<uintptr_t>(raw);
    const uintptr_t aligned = align_up(start, kHugePage);
    if (aligned > start) ::munmap(raw, aligned - start);
    const size_t tail = start + kHugePage - aligned;
    if (tail) ::munmap(reinterpret_cast<void*>(aligned + size), tail);
    void* p = reinterpret_cast<void*>(aligned);
    ::madvise(p, size, MADV_HUGEPAGE);
    return p;
}

// Reads the start of a small file; the text is terminated. False when it cannot be read.
bool read_text(const char* path, char* text, size_t capacity) {
    const NoCancel held_back;
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t n = ::read(fd, text, capacity - 1);
    ::close(fd);
    if (n <= 0) return false;
    text[n] = 0;
    return true;
}

cpu_set_t* alloc_set(size_t n_cpus, size_t* size) {
    *size = CPU_ALLOC_SIZE(n_cpus);
    cpu_set_t* set = CPU_ALLOC(n_cpus);
    if (set) CPU_ZERO_S(*size, set);
    return set;
}

constexpr size_t kMaxCpus = 8192;  // more than any kernel is configured for

}  // namespace

void* alloc_aligned(size_t size_bytes, size_t alignment) noexcept {
    if (size_bytes > PTRDIFF_MAX - 2 * kHugePage || !is_power_of_two(alignment)) return nullptr;
    if (is_mapped(size_bytes, alignment)) return map_huge(size_bytes);
    void* p = nullptr;
    const size_t at_least = std::max(alignment, sizeof(void*));
    return ::posix_memalign(&p, at_least, std::max<size_t>(size_bytes, 1)) == 0 ? p : nullptr;
}

void free_aligned(void* p, size_t size_bytes, size_t alignment) noexcept {
    if (!p) return;
    if (is_mapped(size_bytes, alignment)) {
        ::munmap(p, mapped_size(size_bytes));
    } else {
        std::free(p);
    }
}

bool elevated() { return ::getauxval(AT_SECURE) != 0; }

std::string cpu_brand() {
    char text[4096];
    if (!read_text("/proc/cpuinfo", text, sizeof text)) return "CPU";
    const char* at = std::strstr(text, "model name");
    if (!at || !(at = std::strchr(at, ':'))) return "CPU";
    ++at;
    while (*at == ' ') ++at;
    return {at, std::strcspn(at, "\n")};
}

bool request_amx_tiles() {
#if defined(__x86_64__)
    constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
    return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

uint64_t hardware_capabilities(int word) { return ::getauxval(word == 0 ? AT_HWCAP : AT_HWCAP2); }

int sve_vector_bytes() {
    constexpr int kGetVectorLength = 51;  // PR_SVE_GET_VL
    const int length = ::prctl(kGetVectorLength);
    return length < 0 ? 0 : length & 0xFFFF;
}

bool set_thread_affinity(const bool* mask, size_t n_cpus) {
    size_t size;
    cpu_set_t* set = alloc_set(n_cpus, &size);
    if (!set) return false;
    for (size_t i = 0; i < n_cpus; ++i) {
        if (mask[i]) CPU_SET_S(i, size, set);
    }
    const int rc = ::pthread_setaffinity_np(::pthread_self(), size, set);
    CPU_FREE(set);
    errno = rc;
    return rc == 0;
}

bool get_thread_affinity(bool* mask, size_t n_cpus) {
    size_t size;
    cpu_set_t* set = alloc_set(std::max(n_cpus, kMaxCpus), &size);
    if (!set) return false;
    const bool ok = ::pthread_getaffinity_np(::pthread_self(), size, set) == 0;
    for (size_t i = 0; i < n_cpus; ++i) mask[i] = ok && CPU_ISSET_S(i, size, set);
    CPU_FREE(set);
    return ok;
}

bool set_thread_priority(int prio) {
    struct Policy {
        int policy, priority;
    };
    Policy p{};
    switch (prio) {
        case GGML_SCHED_PRIO_LOW:
            p = {SCHED_BATCH, 0};
            break;
        case GGML_SCHED_PRIO_NORMAL:
            return true;  // as the process
        case GGML_SCHED_PRIO_MEDIUM:
            p = {SCHED_FIFO, 40};
            break;
        case GGML_SCHED_PRIO_HIGH:
            p = {SCHED_FIFO, 80};
            break;
        case GGML_SCHED_PRIO_REALTIME:
            p = {SCHED_FIFO, 90};
            break;
        default:
            errno = EINVAL;
            return false;
    }
    sched_param param{};
    param.sched_priority = p.priority;
    const int rc = ::pthread_setschedparam(::pthread_self(), p.policy, &param);
    errno = rc;
    return rc == 0;
}

void set_thread_name(const char* name) {
    char shortened[16];  // what the kernel keeps
    std::strncpy(shortened, name, sizeof shortened - 1);
    shortened[sizeof shortened - 1] = 0;
    ::pthread_setname_np(::pthread_self(), shortened);
}

void wait_on(const void* word, uint32_t expected) {
    ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void wake_all(const void* word) {
    ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}
void wake_one(const void* word) {
    ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace tenon::os
