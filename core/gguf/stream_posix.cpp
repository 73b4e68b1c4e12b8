// Positions of C streams on POSIX; declared in input.h.

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "core/gguf/input.h"

namespace tenon::gguf {
namespace {

Error cannot_seek(int number) {
    return fail(TENON_E_IO, "the stream cannot seek: %s",
                std::generic_category().message(number).c_str());
}

}  // namespace

Result<uint64_t> stream_position(std::FILE* file) {
    const off_t at = ftello(file);
    if (at < 0) return cannot_seek(errno);
    return static_cast<uint64_t>(at);
}

Result<uint64_t> stream_end(std::FILE* file) {
    if (fseeko(file, 0, SEEK_END) != 0) return cannot_seek(errno);
    return stream_position(file);
}

bool stream_seek(std::FILE* file, uint64_t position) {
    return position <= INT64_MAX && fseeko(file, static_cast<off_t>(position), SEEK_SET) == 0;
}

bool is_directory(std::FILE* file) {
    struct stat status {};
    const int descriptor = fileno(file);  // -1 for streams over memory
    return descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace tenon::gguf
