// The log: where lines go, and which of them reach stderr when the application set no callback.

#include "core/base/log.h"

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>

#include "core/base/os.h"
#include "core/base/per_thread.h"
#include "core/base/shared_callback.h"
#include "tenon/forced_unwind.hpp"

namespace tenon {
namespace {

constexpr int kSilent = GGML_LOG_LEVEL_ERROR + 1;
constexpr int kUnknown = -1;

struct Level {
    const char* name;
    int level;
};
constexpr Level kLevels[] = {{"error", GGML_LOG_LEVEL_ERROR},
                             {"warn", GGML_LOG_LEVEL_WARN},
                             {"info", GGML_LOG_LEVEL_INFO},
                             {"debug", GGML_LOG_LEVEL_DEBUG}};

// The level of that name, kUnknown for a word that is none.
int level_named(std::string_view name) {
    for (const Level& row : kLevels) {
        if (name == row.name) return row.level;
    }
    return kUnknown;
}

// The threshold of TENON_LOG, read once. Entries "topic=level" of the list are not for this sink.
// Whoever misspells a level wants to see something: warnings, and what is wrong.
int threshold_from_environment() {
    const char* list = os::environment("TENON_LOG");
    if (!list) return kSilent;
    int threshold = kSilent;
    for (std::string_view rest = list; !rest.empty();) {
        const std::string_view entry = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
        const size_t equals = entry.find('=');
        const bool has_topic = equals != std::string_view::npos;
        const std::string_view word = has_topic ? entry.substr(equals + 1) : entry;
        const int level = level_named(word);
        if (level == kUnknown && !word.empty()) {
            std::fprintf(stderr,
                         "TENON_LOG: no level is named '%.*s'; valid: error, warn, info, "
                         "debug\n",
                         static_cast<int>(word.size()), word.data());
            if (threshold == kSilent) threshold = GGML_LOG_LEVEL_WARN;
        } else if (!has_topic && level != kUnknown) {
            return level;
        }
    }
    return threshold;
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

constinit SharedCallback<ggml_log_callback> g_sink{default_sink, nullptr};

// The sink ended this thread: it is not called again while the stack unwinds.
TENON_PER_THREAD bool t_ended = false;

void call_sink(ggml_log_level level, const char* line) {
    if (t_ended) return;
    try {
        const auto sink = g_sink.get();
        catch_all([&] { sink.function(level, line, sink.data); },
                  [](bool, const char*) {});  // said in log.h: the line is lost
    } catch (const ForcedUnwind&) {
        t_ended = true;
        throw;
    }
}

// One line of a fixed size, so that logging does not allocate.
struct LogLine {
    char text[2048];
    bool write(const char* fmt, va_list args) {
        int n = std::vsnprintf(text, sizeof text - 1, fmt, args);  // one byte for the newline
        if (n < 0) return false;
        if (n > static_cast<int>(sizeof text) - 2) n = sizeof text - 2;
        text[n] = '\n';
        text[n + 1] = 0;
        return true;
    }
};

bool is_first_time(const char* line) {
    static constinit std::mutex mutex;
    static constinit std::set<std::string>* told = nullptr;  // never destroyed: plugins log at exit
    const std::lock_guard lock(mutex);
    try {
        if (!told) told = new std::set<std::string>;
        return told->insert(line).second;
    } catch (const std::bad_alloc&) {
        return true;  // rather twice than never
    }
}

}  // namespace

bool log_wants(ggml_log_level level) {
    return g_sink.get().function != default_sink || level >= threshold();
}

bool log_asked_for(ggml_log_level level) { return level >= threshold(); }

void log(ggml_log_level level, const char* fmt, ...) {
    if (!log_wants(level)) return;
    LogLine line;
    va_list args;
    va_start(args, fmt);
    const bool written = line.write(fmt, args);
    va_end(args);
    if (written) call_sink(level, line.text);
}

void log_once(ggml_log_level level, const char* fmt, ...) {
    if (!log_wants(level)) return;
    LogLine line;
    va_list args;
    va_start(args, fmt);
    const bool written = line.write(fmt, args);
    va_end(args);
    if (written && is_first_time(line.text)) call_sink(level, line.text);
}

}  // namespace tenon

extern "C" void ggml_log_set(ggml_log_callback log_callback, void* user_data) {
    tenon::g_sink.set(log_callback ? log_callback : tenon::default_sink, user_data);
}

extern "C" void ggml_log_get(ggml_log_callback* log_callback, void** user_data) {
    const auto sink = tenon::g_sink.get();
    if (log_callback) *log_callback = sink.function;
    if (user_data) *user_data = sink.data;
}
