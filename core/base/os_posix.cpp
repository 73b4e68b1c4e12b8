// What all POSIX systems do alike: files, clock, environment, threads' names. The rest is in
// os_<system>.cpp.

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/base/os.h"

namespace tenon::os {
namespace {

struct Descriptor {
    int fd;
    ~Descriptor() {
        const NoCancel held_back;
        if (fd >= 0) ::close(fd);
    }
};

struct Freer {
    void operator()(char* text) const { std::free(text); }
};

tenon_status status_of_errno(int e) {
    switch (e) {
        case ENOENT:
        case ENOTDIR:
            return TENON_E_NOT_FOUND;
        case EACCES:
        case EPERM:
            return TENON_E_PERMISSION;
        case ENOMEM:
            return TENON_E_NO_HOST_MEMORY;
        default:
            return TENON_E_IO;
    }
}

Error file_error(const char* path, const char* what, int e) {
    char reason[128] = "";
    // Two signatures exist; both leave or return a text.
    const auto text = [&](auto r) -> const char* {
        if constexpr (std::is_same_v<decltype(r), char*>) return r;
        return reason;
    };
    return fail(status_of_errno(e), "%s '%s': %s", what, path,
                text(::strerror_r(e, reason, sizeof reason)));
}

}  // namespace

Result<MappedFile> MappedFile::open(const char* path, bool writable) {
    if (!path) return fail(TENON_E_INVALID, "cannot open a file: the path is null");
    const Descriptor file{::open(path, O_RDONLY | O_CLOEXEC)};
    if (file.fd < 0) return file_error(path, "cannot open", errno);

    struct stat info;
    if (::fstat(file.fd, &info) != 0) return file_error(path, "cannot examine", errno);
    if (!S_ISREG(info.st_mode)) return fail(TENON_E_IO, "'%s' is not a regular file", path);

    MappedFile mapped;
    if (info.st_size == 0) return mapped;
    const size_t size = static_cast<size_t>(info.st_size);
    const int access = PROT_READ | (writable ? PROT_WRITE : 0);
    void* p = ::mmap(nullptr, size, access, MAP_PRIVATE, file.fd, 0);
    if (p == MAP_FAILED) return file_error(path, "cannot map", errno);
    mapped.data_ = static_cast<uint8_t*>(p);
    mapped.size_ = size;
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
    if (data_) ::munmap(data_, size_);
}

NoCancel::NoCancel() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
NoCancel::~NoCancel() { ::pthread_setcancelstate(before_, nullptr); }

std::FILE* open_file(const char* path, const char* mode) {
    std::FILE* file = std::fopen(path, mode);
    if (file) ::fcntl(::fileno(file), F_SETFD, FD_CLOEXEC);
    return file;
}

uint64_t now_ns() {
    timespec t;
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

const char* environment(const char* name) { return elevated() ? nullptr : std::getenv(name); }
const char* environment_unsafe(const char* name) { return std::getenv(name); }

static std::string path_of_this_code() {
    Dl_info info;
    const void* here = reinterpret_cast<const void*>(&library_path);
    if (!::dladdr(here, &info) || !info.dli_fname) return {};
    const std::unique_ptr<char, Freer> canonical(::realpath(info.dli_fname, nullptr));
    return canonical ? canonical.get() : "";
}

const std::string& library_path() {
    static const auto* path = new std::string(path_of_this_code());  // never destroyed
    return *path;
}

uint32_t unmapped_owner() {
    uint32_t owner = 65534;
    if (std::FILE* file = open_file("/proc/sys/kernel/overflowuid", "r")) {
        if (std::fscanf(file, "%u", &owner) != 1) owner = 65534;
        std::fclose(file);
    }
    return owner;
}

void print_backtrace() {
    void* frames[64];
    const int n = ::backtrace(frames, 64);
    ::backtrace_symbols_fd(frames, n, STDERR_FILENO);
}

}  // namespace tenon::os
