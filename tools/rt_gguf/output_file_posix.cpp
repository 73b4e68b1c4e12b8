// Atomic creation of a file on POSIX; declared in output_file.h.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstring>
#include <system_error>

#include "tools/cli/cli.h"
#include "tools/rt_gguf/output_file.h"

namespace tenon::rt_gguf {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// What a signal handler may touch: the name of the temporary file, "" when there is none.
char g_temporary[4096];

extern "C" void remove_and_die(int signal) {
    if (g_temporary[0]) unlink(g_temporary);
    _exit(128 + signal);
}

void guard_against_signals(const std::string& temporary) {
    std::signal(SIGXFSZ, SIG_IGN);  // a size limit becomes an error of write
    if (temporary.size() >= sizeof g_temporary) return;
    std::memcpy(g_temporary, temporary.c_str(), temporary.size() + 1);
    for (int signal : kSignals) {
        // What was ignored when we started, under nohup for example, stays ignored.
        if (std::signal(signal, remove_and_die) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
}

void stop_guarding() {
    for (int signal : kSignals) {
        if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
    g_temporary[0] = 0;
}

std::string reason() { return std::generic_category().message(errno); }

cli::Stop exists_already(const std::string& path) {
    return cli::stop(cli::kFailed, "'%s' exists already and is not overwritten", path.c_str());
}

// Gives `from` the name `to` unless that is taken; false with errno.
bool rename_new(const std::string& from, const std::string& to) {
    if (link(from.c_str(), to.c_str()) == 0) return unlink(from.c_str()) == 0;
    if (errno == EEXIST) return false;
    // File systems without hard links: not atomic, but the name was free a moment ago.
    if (access(to.c_str(), F_OK) == 0) {
        errno = EEXIST;
        return false;
    }
    return rename(from.c_str(), to.c_str()) == 0;
}

// So that the name survives a power cut as well; best effort.
void sync_directory_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    (void)fsync(descriptor);
    close(descriptor);
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
    if (access(path.c_str(), F_OK) == 0) throw exists_already(path);
    int descriptor = -1;
    for (int i = 0; i < 100 && descriptor < 0; ++i) {
        temporary_ = cli::format("%s.part-%ld-%d", path.c_str(), static_cast<long>(getpid()), i);
        descriptor = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST) break;
    }
    if (descriptor >= 0) {
        file_ = fdopen(descriptor, "wb");
        if (!file_) close(descriptor);
    }
    if (!file_) {
        throw cli::stop(cli::kFailed, "cannot create '%s': %s", temporary_.c_str(),
                        reason().c_str());
    }
    guard_against_signals(temporary_);
}

OutputFile::~OutputFile() {
    if (!file_) return;
    std::fclose(file_);
    unlink(temporary_.c_str());
    stop_guarding();
}

void OutputFile::write(const void* data, size_t size) {
    if (size > 0 && std::fwrite(data, 1, size, file_) != size) {
        throw cli::stop(cli::kFailed, "writing '%s' fails after %" PRIu64 " bytes: %s",
                        temporary_.c_str(), written_, reason().c_str());
    }
    written_ += size;
}

void OutputFile::commit() {
    if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) {
        throw cli::stop(cli::kFailed, "writing '%s' fails after %" PRIu64 " bytes: %s",
                        temporary_.c_str(), written_, reason().c_str());
    }
    if (!rename_new(temporary_, path_)) {
        if (errno == EEXIST) throw exists_already(path_);
        throw cli::stop(cli::kFailed, "cannot rename '%s' to '%s': %s", temporary_.c_str(),
                        path_.c_str(), reason().c_str());
    }
    std::FILE* file = file_;
    file_ = nullptr;
    stop_guarding();
    sync_directory_of(path_);
    // Everything is on disk; an error here could only be about the descriptor.
    std::fclose(file);
}

}  // namespace tenon::rt_gguf
