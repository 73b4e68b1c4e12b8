// The terminal and descriptor 1 on POSIX; declared in cli.h.

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "tools/cli/cli.h"

namespace tenon::cli {
namespace {

size_t columns_of(int descriptor) {
    winsize size{};
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    const char* text = std::getenv("COLUMNS");
    size_t columns = 0;
    if (text) std::from_chars(text, text + std::strlen(text), columns);
    return columns > 0 && columns < 10000 ? columns : 80;
}

bool wants_color() {
    const char* no_color = std::getenv("NO_COLOR");
    if (no_color && *no_color) return false;
    const char* term = std::getenv("TERM");
    return term && std::strcmp(term, "dumb") != 0;
}

std::FILE* move_stdout() {
    std::fflush(stdout);
    const int answer = dup(STDOUT_FILENO);
    if (answer < 0) return stdout;
    std::FILE* file = fdopen(answer, "w");
    if (!file) {
        close(answer);
        return stdout;
    }
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return file;
}

}  // namespace

Terminal terminal_of(std::FILE* file, ColorWhen when) {
    Terminal terminal;
    const int descriptor = fileno(file);
    terminal.is_terminal = descriptor >= 0 && isatty(descriptor) == 1;
    if (terminal.is_terminal) terminal.width = columns_of(descriptor);
    terminal.color = when == ColorWhen::kAlways ||
                     (when == ColorWhen::kAuto && terminal.is_terminal && wants_color());
    return terminal;
}

void fill_closed_descriptors() {
    for (int fd = 0; fd <= 2; ++fd) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        const int null = open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
        if (null >= 0 && null != fd) {
            dup2(null, fd);
            close(null);
        }
    }
}

std::FILE* answer_stream() {
    static std::FILE* const stream = move_stdout();
    return stream;
}

}  // namespace tenon::cli
