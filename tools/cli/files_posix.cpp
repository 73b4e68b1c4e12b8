// Files the tools read, on POSIX; declared in files.h.

#include "tools/cli/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "tenon/tenon.h"
#include "tools/cli/text.h"

namespace tenon::cli {
namespace {

// More metadata than any model has; a file full of holes may claim the size of a disk.
constexpr uint64_t kMostMetadata = 256 << 20;

const char* kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return "something else";
}

Stop failed(const char* to, const std::string& path, int number) {
    return stop(kFailed, "cannot %s '%s': %s", to, path.c_str(),
                std::generic_category().message(number).c_str());
}

// ---- mapped files that lose bytes -------------------------------------------------------------

// What the handler of SIGBUS looks at: ranges, and what to say when one of them is hit. A slot is
// in use while its text is set.
struct Mapped {
    std::atomic<const char*> text{nullptr};
    const char* begin = nullptr;
    size_t size = 0;
};
constinit std::array<Mapped, 16> g_mapped;
constinit const char* g_tool = "";

void say(const char* text) {
    for (size_t left = std::strlen(text); left > 0;) {
        const ssize_t n = ::write(STDERR_FILENO, text, left);
        if (n <= 0) return;
        text += n;
        left -= static_cast<size_t>(n);
    }
}

extern "C" void on_lost_bytes(int signal, siginfo_t* info, void*) {
    const auto* at = static_cast<const char*>(info->si_addr);
    for (const Mapped& mapped : g_mapped) {
        const char* text = mapped.text.load(std::memory_order_acquire);
        if (!text || at < mapped.begin || at >= mapped.begin + mapped.size) continue;
        say(g_tool);
        say(text);
        ::_exit(kFailed);
    }
    std::signal(signal, SIG_DFL);  // not ours: the instruction runs again and ends the program
}

// A line for the terminal, made while there still is memory.
char* lost_text(const std::string& path) {
    std::string name = path;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
    return ::strdup((": '" + name +
                     "' became shorter while it was in use, or its disk cannot be read: what was "
                     "mapped is gone\n")
                        .c_str());
}

void watch(const char* begin, size_t size, const std::string& path) {
    for (Mapped& mapped : g_mapped) {
        if (mapped.text.load(std::memory_order_relaxed)) continue;
        mapped.begin = begin;
        mapped.size = size;
        mapped.text.store(lost_text(path), std::memory_order_release);
        return;
    }
}

void forget(const char* begin) {
    for (Mapped& mapped : g_mapped) {
        if (mapped.begin != begin || !mapped.text.load(std::memory_order_relaxed)) continue;
        std::free(const_cast<char*>(mapped.text.exchange(nullptr)));
    }
}

// ---- metadata ---------------------------------------------------------------------------------

struct MetadataReader {
    const InputFile& file;
    bool too_much = false;
};

size_t read_some(void* user, void* out, uint64_t at, size_t n) {
    auto& reader = *static_cast<MetadataReader*>(user);
    reader.too_much |= at + n > kMostMetadata;
    return reader.too_much ? 0 : reader.file.read(at, out, n);
}

}  // namespace

// Without O_NONBLOCK a pipe that nobody writes to would hold us here.
InputFile::InputFile(const std::string& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {
    if (descriptor_ < 0) throw failed("open", path, errno);
    struct stat info;
    const bool known = ::fstat(descriptor_, &info) == 0;
    if (known && S_ISREG(info.st_mode)) {
        size_ = static_cast<uint64_t>(info.st_size);
        return;
    }
    const int number = errno;
    ::close(descriptor_);
    if (!known) throw failed("examine", path, number);
    throw stop(kFailed, "cannot read '%s': it is %s, not a regular file", path.c_str(),
               kind_of(info.st_mode));
}

InputFile::~InputFile() { ::close(descriptor_); }

size_t InputFile::read(uint64_t at, void* out, size_t n) const {
    size_t done = 0;
    while (done < n && at + done <= INT64_MAX) {
        const ssize_t got = ::pread(descriptor_, static_cast<char*>(out) + done, n - done,
                                    static_cast<off_t>(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<size_t>(got);
    }
    return done;
}

Metadata read_metadata(const InputFile& file) {
    MetadataReader reader{file};
    tenon_clear_error();
    ggml_context* tensors = nullptr;
    Metadata metadata;
    metadata.gguf.reset(
        gguf_init_from_callback(read_some, &reader, 0, file.size(), {/*no_alloc=*/true, &tensors}));
    metadata.tensors.reset(tensors);
    if (reader.too_much) {
        throw stop(kFailed, "'%s': its metadata has more than %" PRIu64 " bytes",
                   file.path().c_str(), kMostMetadata);
    }
    if (!metadata.gguf) throw stop(kFailed, "'%s': %s", file.path().c_str(), tenon_last_error());
    return metadata;
}

std::string read_text_file(const std::string& path, uint64_t limit) {
    const InputFile file(path);
    if (file.size() > limit) {
        throw stop(kFailed, "'%s' has %" PRIu64 " bytes, at most %" PRIu64 " are read",
                   path.c_str(), file.size(), limit);
    }
    std::string text(static_cast<size_t>(file.size()), '\0');
    text.resize(file.read(0, text.data(), text.size()));
    if (text.size() != file.size()) {
        throw stop(kFailed, "cannot read '%s': it ends at %zu of %" PRIu64 " bytes", path.c_str(),
                   text.size(), file.size());
    }
    return text;
}

MappedFile::MappedFile(const InputFile& file) : size_(static_cast<size_t>(file.size())) {
    if (size_ == 0) return;
    void* data = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (data == MAP_FAILED) {
        throw stop(kFailed, "cannot map '%s', %zu bytes: %s", file.path().c_str(), size_,
                   std::generic_category().message(errno).c_str());
    }
    data_ = static_cast<char*>(data);
    watch(data_, size_, file.path());
}

MappedFile::~MappedFile() {
    if (!data_) return;
    forget(data_);
    ::munmap(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

void explain_lost_files(const char* tool) {
    g_tool = tool;
    struct sigaction action {};
    action.sa_sigaction = on_lost_bytes;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, nullptr);
}

}  // namespace tenon::cli
