// Windows: the services of os.h.

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
// after windows.h
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/base/bits.h"
#include "core/base/os.h"

namespace tenon::os {
namespace {

struct HandleCloser {
    HANDLE handle;
    ~HandleCloser() {
        if (handle && handle != INVALID_HANDLE_VALUE) ::CloseHandle(handle);
    }
};

std::wstring to_wide(const char* utf8) {
    const int n = ::MultiByteToWideChar(CP_UTF8, 0, utf8, -1, nullptr, 0);
    if (n <= 1) return {};
    std::wstring wide(static_cast<size_t>(n), L'\0');
    ::MultiByteToWideChar(CP_UTF8, 0, utf8, -1, wide.data(), n);
    wide.resize(static_cast<size_t>(n) - 1);
    return wide;
}

std::string to_utf8(const wchar_t* wide) {
    const int n = ::WideCharToMultiByte(CP_UTF8, 0, wide, -1, nullptr, 0, nullptr, nullptr);
    if (n <= 1) return {};
    std::string utf8(static_cast<size_t>(n), '\0');
    ::WideCharToMultiByte(CP_UTF8, 0, wide, -1, utf8.data(), n, nullptr, nullptr);
    utf8.resize(static_cast<size_t>(n) - 1);
    return utf8;
}

tenon_status status_of_code(DWORD code) {
    switch (code) {
        case ERROR_FILE_NOT_FOUND:
        case ERROR_PATH_NOT_FOUND:
            return TENON_E_NOT_FOUND;
        case ERROR_ACCESS_DENIED:
            return TENON_E_PERMISSION;
        case ERROR_NOT_ENOUGH_MEMORY:
        case ERROR_COMMITMENT_LIMIT:
            return TENON_E_NO_HOST_MEMORY;
        default:
            return TENON_E_IO;
    }
}

Error file_error(const char* path, const char* what) {
    const DWORD code = ::GetLastError();
    return fail(status_of_code(code), "%s '%s': windows error %lu", what, path, code);
}

}  // namespace

void* alloc_aligned(size_t size_bytes, size_t alignment) noexcept {
    if (size_bytes > PTRDIFF_MAX || !is_power_of_two(alignment)) return nullptr;
    return ::_aligned_malloc(std::max<size_t>(size_bytes, 1), alignment);
}

void free_aligned(void* p, size_t, size_t) noexcept { ::_aligned_free(p); }

Result<MappedFile> MappedFile::open(const char* path, bool writable) {
    if (!path) return fail(TENON_E_INVALID, "cannot open a file: the path is null");
    const HandleCloser file{::CreateFileW(to_wide(path).c_str(), GENERIC_READ, FILE_SHARE_READ,
                                          nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr)};
    if (file.handle == INVALID_HANDLE_VALUE) return file_error(path, "cannot open");
    if (::GetFileType(file.handle) != FILE_TYPE_DISK) {
        return fail(TENON_E_IO, "'%s' is not a regular file", path);
    }
    LARGE_INTEGER size;
    if (!::GetFileSizeEx(file.handle, &size)) return file_error(path, "cannot examine");

    MappedFile mapped;
    if (size.QuadPart == 0) return mapped;
    const HandleCloser mapping{::CreateFileMappingW(
        file.handle, nullptr, writable ? PAGE_WRITECOPY : PAGE_READONLY, 0, 0, nullptr)};
    if (!mapping.handle) return file_error(path, "cannot map");
    void* p = ::MapViewOfFile(mapping.handle, writable ? FILE_MAP_COPY : FILE_MAP_READ, 0, 0, 0);
    if (!p) return file_error(path, "cannot map");
    mapped.data_ = static_cast<uint8_t*>(p);
    mapped.size_ = static_cast<size_t>(size.QuadPart);
    return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_) ::UnmapViewOfFile(data_);
}

// Threads of Windows are not cancelled.
NoCancel::NoCancel() : before_(0) {}
NoCancel::~NoCancel() = default;

std::FILE* open_file(const char* path, const char* mode) {
    // N: not inherited by child processes.
    return ::_wfopen(to_wide(path).c_str(), (to_wide(mode) + L"N").c_str());
}

uint64_t now_ns() {
    static const LARGE_INTEGER frequency = [] {
        LARGE_INTEGER f;
        ::QueryPerformanceFrequency(&f);
        return f;
    }();
    LARGE_INTEGER ticks;
    ::QueryPerformanceCounter(&ticks);
    // In two parts: ticks * 10^9 would overflow within days.
    const uint64_t hz = static_cast<uint64_t>(frequency.QuadPart);
    const uint64_t t = static_cast<uint64_t>(ticks.QuadPart);
    return t / hz * 1000000000u + t % hz * 1000000000u / hz;
}

const char* environment(const char* name) { return std::getenv(name); }
const char* environment_unsafe(const char* name) { return std::getenv(name); }
bool elevated() { return false; }  // a program never runs with rights its starter did not give

std::string cpu_brand() {
    char text[128] = "";
    DWORD size = sizeof text;
    const LSTATUS rc =
        ::RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                       "ProcessorNameString", RRF_RT_REG_SZ, nullptr, text, &size);
    return rc == ERROR_SUCCESS && text[0] ? text : "CPU";
}

static std::string path_of_this_code() {
    HMODULE module;
    if (!::GetModuleHandleExW(
            GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
            reinterpret_cast<LPCWSTR>(&path_of_this_code), &module)) {
        return {};
    }
    std::wstring path(32768, L'\0');
    const DWORD n = ::GetModuleFileNameW(module, path.data(), static_cast<DWORD>(path.size()));
    path.resize(n);
    return to_utf8(path.c_str());
}

const std::string& library_path() {
    static const auto* path = new std::string(path_of_this_code());  // never destroyed
    return *path;
}

uint32_t unmapped_owner() { return 0; }

void print_backtrace() {
    void* frames[64];
    const USHORT n = ::CaptureStackBackTrace(0, 64, frames, nullptr);
    for (USHORT i = 0; i < n; ++i) std::fprintf(stderr, "  %p\n", frames[i]);
}

bool request_amx_tiles() {
    constexpr DWORD64 kTileData = DWORD64{1} << 18;
    using Enable = BOOL(WINAPI*)(DWORD64);  // absent before Windows 11
    const HMODULE kernel = ::GetModuleHandleW(L"kernel32.dll");
    const auto enable = reinterpret_cast<Enable>(
        reinterpret_cast<void*>(::GetProcAddress(kernel, "EnableProcessOptionalXStateFeatures")));
    return enable && enable(kTileData);
}

uint64_t hardware_capabilities(int) { return 0; }  // no such words: arm64 runs the baseline
int sve_vector_bytes() { return 0; }

bool set_thread_affinity(const bool* mask, size_t n_cpus) {
    DWORD_PTR bits = 0;
    for (size_t i = 0; i < std::min<size_t>(n_cpus, 64); ++i) {
        if (mask[i]) bits |= DWORD_PTR{1} << i;
    }
    if (bits && ::SetThreadAffinityMask(::GetCurrentThread(), bits)) return true;
    errno = EINVAL;
    return false;
}

bool get_thread_affinity(bool* mask, size_t n_cpus) {
    // The only way to read a thread's mask is to set another and put the old one back.
    DWORD_PTR process = 0, system = 0;
    DWORD_PTR bits = 0;
    if (::GetProcessAffinityMask(::GetCurrentProcess(), &process, &system) && process) {
        bits = ::SetThreadAffinityMask(::GetCurrentThread(), process);
        if (bits) ::SetThreadAffinityMask(::GetCurrentThread(), bits);
    }
    for (size_t i = 0; i < n_cpus; ++i) mask[i] = i < 64 && (bits >> i & 1);
    return bits != 0;
}

bool set_thread_priority(int prio) {
    int priority;
    switch (prio) {
        case GGML_SCHED_PRIO_LOW:
            priority = THREAD_PRIORITY_BELOW_NORMAL;
            break;
        case GGML_SCHED_PRIO_NORMAL:
            return true;  // as the process
        case GGML_SCHED_PRIO_MEDIUM:
            priority = THREAD_PRIORITY_ABOVE_NORMAL;
            break;
        case GGML_SCHED_PRIO_HIGH:
            priority = THREAD_PRIORITY_HIGHEST;
            break;
        case GGML_SCHED_PRIO_REALTIME:
            priority = THREAD_PRIORITY_TIME_CRITICAL;
            break;
        default:
            errno = EINVAL;
            return false;
    }
    if (::SetThreadPriority(::GetCurrentThread(), priority)) return true;
    errno = EACCES;
    return false;
}

void set_thread_name(const char* name) {
    ::SetThreadDescription(::GetCurrentThread(), to_wide(name).c_str());
}

void wait_on(const void* word, uint32_t expected) {
    ::WaitOnAddress(const_cast<void*>(word), &expected, sizeof expected, INFINITE);
}
void wake_all(const void* word) { ::WakeByAddressAll(const_cast<void*>(word)); }
void wake_one(const void* word) { ::WakeByAddressSingle(const_cast<void*>(word)); }

}  // namespace tenon::os
