// What a platform must supply. Everything else in the tree is portable; the only files with system
// calls are os_<platform>.cpp and the loader's trust checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tenon::os {

// Memory of the host, aligned to `alignment` (a power of two). NULL when there is none.
void* alloc_aligned(size_t size_bytes, size_t alignment) noexcept;
void free_aligned(void* p, size_t size_bytes, size_t alignment) noexcept;

// A whole file, mapped for reading; copy on write when `writable`. Move-only, unmaps itself.
class MappedFile {
public:
    static Result<MappedFile> open(const char* path);
    MappedFile() = default;
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile();

    const uint8_t* data() const { return data_; }
    size_t size_bytes() const { return size_; }

private:
    uint8_t* data_ = nullptr;
    size_t size_ = 0;
};

// Opens a file by UTF-8 path.
std::FILE* open_file(const char* path, const char* mode);

uint64_t now_ns();                             // monotonic
const char* environment(const char* name);     // NULL when unset, or when privileges are elevated
const char* environment_unsafe(const char* name);  // also when elevated
bool elevated();                               // set-id or file capabilities
uint64_t memory_total();                       // bytes of RAM
uint64_t memory_available();                   // bytes
std::string cpu_brand();                       // "AMD EPYC 9004", "CPU" when unknown
uint32_t usable_cpus();                        // logical CPUs this process may use, at least 1
std::string library_path();                    // canonical path of the file this code was loaded from

// Threads: hints only, failures are reported but never fatal.
bool set_thread_affinity(const bool* mask, size_t n_cpus);
bool get_thread_affinity(bool* mask, size_t n_cpus);
bool set_thread_priority(int prio);            // enum ggml_sched_priority
void set_thread_name(const char* name);

// Blocks until *word != expected, a wake, or spuriously. Wakes by wake_all/wake_one.
void wait_on(const void* word, uint32_t expected);
void wake_all(const void* word);
void wake_one(const void* word);

}  // namespace tenon::os
