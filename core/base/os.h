// What a platform must supply. Everything else in the tree is portable; the only files with system
// calls are os_<platform>.cpp and the loader's trust checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace tenon::os {

// Memory of the host, aligned to `alignment` (a power of two), contents undefined. NULL when there
// is none. Large blocks ask for huge pages. Freed with the same size and alignment.
void* alloc_aligned(size_t size_bytes, size_t alignment) noexcept;
void free_aligned(void* p, size_t size_bytes, size_t alignment) noexcept;

// A whole file, mapped. Written pages are private to the process. Move-only, unmaps itself. Whoever
// shortens the file while it is mapped makes reading past its new end a fault.
class MappedFile {
public:
    static Result<MappedFile> open(const char* path, bool writable = false);
    MappedFile() = default;
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    const uint8_t* data() const { return data_; }  // NULL for an empty file
    uint8_t* writable_data() { return data_; }     // only when opened writable
    size_t size_bytes() const { return size_; }

private:
    uint8_t* data_ = nullptr;
    size_t size_ = 0;
};

// While one lives, a cancellation of the calling thread (pthread_cancel) waits: for what must be
// finished once begun, and for destructors, which a thread cannot leave that way.
class NoCancel {
public:
    NoCancel();
    ~NoCancel();
    NoCancel(const NoCancel&) = delete;
    NoCancel& operator=(const NoCancel&) = delete;

private:
    int before_;
};

// Closes a file; also in a deleter of unique_ptr.
struct FileCloser {
    void operator()(std::FILE* file) const {
        const NoCancel held_back;
        std::fclose(file);
    }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

// Opens a file by UTF-8 path; not inherited by child processes.
std::FILE* open_file(const char* path, const char* mode);

uint64_t now_ns();                          // monotonic
const char* environment(const char* name);  // NULL when unset, or when privileges are elevated
const char* environment_unsafe(const char* name);  // also when elevated
bool elevated();                                   // set-id or file capabilities
std::string cpu_brand();                           // "AMD EPYC 9004", "CPU" when unknown
// Canonical path of the file this code was loaded from, or "". Asks the dynamic linker once: later
// calls do not wait for a library that is being opened.
const std::string& library_path();
uint32_t unmapped_owner();  // user id the system shows for owners of no number here
void print_backtrace();      // of the calling thread to stderr, as well as the system can

// Asks the system to let this process use AMX tiles. False when it will not.
bool request_amx_tiles();

// Hardware capability words the kernel reports for all cores together (AT_HWCAP, AT_HWCAP2); 0
// where there are none.
uint64_t hardware_capabilities(int word);
int sve_vector_bytes();  // of the calling thread; 0 without SVE

// Threads: hints only, failures are never fatal. False leaves the reason in errno.
bool set_thread_affinity(const bool* mask, size_t n_cpus);
bool get_thread_affinity(bool* mask, size_t n_cpus);
bool set_thread_priority(int prio);  // enum ggml_sched_priority
void set_thread_name(const char* name);

// Blocks until *word != expected, a wake, or spuriously. `word` is a uint32_t of this process that
// is only accessed atomically. Wakes by wake_all/wake_one.
void wait_on(const void* word, uint32_t expected);
void wake_all(const void* word);
void wake_one(const void* word);

}  // namespace tenon::os
