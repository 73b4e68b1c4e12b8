// The log: where lines go, and which of them reach stderr when the application set no callback.

#include "core/base/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/base/os.h"

namespace tenon {
namespace {

constexpr int kSilent = GGML_LOG_LEVEL_ERROR + 1;
constexpr int kUnknown = -1;

// The threshold of TENON_LOG, read once. Entries "topic=level" of the list are not for this sink.
int threshold_from_environment() {
    const char* list = os::environment("TENON_LOG");
    if (!list) return kSilent;
    struct Level {
        const char* name;
        int level;
    };
    constexpr Level kLevels[] = {{"error", GGML_LOG_LEVEL_ERROR},
                                 {"warn", GGML_LOG_LEVEL_WARN},
                                 {"info", GGML_LOG_LEVEL_INFO},
                                 {"debug", GGML_LOG_LEVEL_DEBUG}};
    for (const char* entry = list; *entry;) {
        const size_t length = std::strcspn(entry, ",");
        for (const Level& level : kLevels) {
            if (length == std::strlen(level.name) && std::strncmp(entry, level.name, length) == 0) {
                return level.level;
            }
        }
        entry += length;
        if (*entry == ',') ++entry;
    }
    return kSilent;
}

int threshold() {
    static constinit std::atomic<int> cached{kUnknown};
    int level = cached.load(std::memory_order_relaxed);
    if (level == kUnknown) {
        level = threshold_from_environment();
        cached.store(level, std::memory_order_relaxed);
    }
    return level;
}

// What runs while the application has set no callback. A continued line follows the line before it.
void default_sink(ggml_log_level level, const char* text, void*) {
    static constinit std::atomic<int> last_level{GGML_LOG_LEVEL_NONE};
    int effective = level;
    if (level == GGML_LOG_LEVEL_CONT) {
        effective = last_level.load(std::memory_order_relaxed);
    } else {
        last_level.store(level, std::memory_order_relaxed);
    }
    if (effective < threshold() || !text) return;
    std::fputs(text, stderr);
    std::fflush(stderr);
}

constinit std::atomic<ggml_log_callback> g_callback{default_sink};
constinit std::atomic<void*> g_user_data{nullptr};

}  // namespace

bool log_wants(ggml_log_level level) {
    return g_callback.load(std::memory_order_relaxed) != default_sink || level >= threshold();
}

void log(ggml_log_level level, const char* fmt, ...) {
    if (!log_wants(level)) return;
    char line[2048];
    va_list args;
    va_start(args, fmt);
    int n = std::vsnprintf(line, sizeof line - 1, fmt, args);  // one byte kept for the newline
    va_end(args);
    if (n < 0) return;
    if (n > static_cast<int>(sizeof line) - 2) n = sizeof line - 2;
    line[n] = '\n';
    line[n + 1] = 0;
    g_callback.load(std::memory_order_acquire)(level, line, g_user_data.load());
}

}  // namespace tenon

extern "C" void ggml_log_set(ggml_log_callback log_callback, void* user_data) {
    tenon::g_user_data.store(user_data);
    tenon::g_callback.store(log_callback ? log_callback : tenon::default_sink,
                            std::memory_order_release);
}

extern "C" void ggml_log_get(ggml_log_callback* log_callback, void** user_data) {
    if (log_callback) *log_callback = tenon::g_callback.load();
    if (user_data) *user_data = tenon::g_user_data.load();
}
