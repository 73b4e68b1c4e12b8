// Errors: making one, the thread's message, texts of statuses, and the fatal handler of ggml_abort.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/base/per_thread.h"
#include "core/base/result.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

struct ThreadMessage {
    char text[sizeof(Error::text)];
    bool unread;
};
TENON_PER_THREAD ThreadMessage t_message{};

constinit std::atomic<ggml_abort_callback_t> g_abort_callback{nullptr};

struct StatusRow {
    tenon_status code;
    const char* text;
};
constexpr StatusRow kStatusTexts[] = {
    {TENON_OK, "ok"},
    {TENON_E_UNSUPPORTED, "not supported"},
    {TENON_E_INVALID, "invalid argument"},
    {TENON_E_NO_HOST_MEMORY, "out of host memory"},
    {TENON_E_NO_DEVICE_MEMORY, "out of device memory"},
    {TENON_E_DEVICE_LOST, "device lost"},
    {TENON_E_NOT_FOUND, "not found"},
    {TENON_E_BUSY, "busy"},
    {TENON_E_TIMEOUT, "timed out"},
    {TENON_E_CANCELLED, "cancelled"},
    {TENON_E_VERSION, "version out of range"},
    {TENON_E_NO_DRIVER, "no driver"},
    {TENON_E_PERMISSION, "permission denied"},
    {TENON_E_INTERNAL, "internal error"},
    {TENON_E_FORKED, "object belongs to the parent process"},
    {TENON_E_IO, "input/output error"},
};

// Shortens `text`, whose buffer was too small for it, to whole UTF-8 characters.
void drop_partial_character(char* text) {
    size_t end = std::strlen(text);
    size_t lead = end;
    while (lead > 0 && (text[lead - 1] & 0xC0) == 0x80) --lead;
    if (lead == 0) return;
    const unsigned char first = static_cast<unsigned char>(text[lead - 1]);
    const size_t want = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (end - (lead - 1) < want) text[lead - 1] = 0;
}

bool aborts_on_error() {
    const char* value = os::environment("TENON_ABORT_ON_ERROR");
    return value && std::strcmp(value, "1") == 0;
}

[[noreturn]] void die(const char* text) {
    std::fflush(stdout);
    if (const ggml_abort_callback_t callback = g_abort_callback.load()) {
        callback(text);  // may leave by throwing or longjmp
    } else {
        std::fprintf(stderr, "%s\n", text);
        os::print_backtrace();
    }
    std::abort();
}

}  // namespace

Error fail_v(tenon_status code, const char* fmt, va_list args) {
    Error error;
    error.code = code;
    const int n = std::vsnprintf(error.text, sizeof error.text, fmt, args);
    if (n < 0) error.text[0] = 0;
    if (n >= static_cast<int>(sizeof error.text)) drop_partial_character(error.text);
    return error;
}

Error fail(tenon_status code, const char* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    Error error = fail_v(code, fmt, args);
    va_end(args);
    return error;
}

void report(const Error& error) {
    if (!t_message.unread) {
        std::memcpy(t_message.text, error.text, sizeof t_message.text);
        t_message.text[sizeof t_message.text - 1] = 0;
        if (!t_message.text[0]) {
            std::snprintf(t_message.text, sizeof t_message.text, "%s", status_text(error.code));
        }
        t_message.unread = true;
    }
    const char* text = error.text[0] ? error.text : status_text(error.code);
    log(GGML_LOG_LEVEL_ERROR, "%s", text);
    if (aborts_on_error()) die(text);
}

bool has_unread_error() { return t_message.unread; }

const char* status_text(tenon_status code) {
    for (const StatusRow& row : kStatusTexts) {
        if (row.code == code) return row.text;
    }
    return "unknown status";
}

ggml_status to_ggml_status(tenon_status code) {
    switch (code) {
        case TENON_OK:
            return GGML_STATUS_SUCCESS;
        case TENON_E_NO_HOST_MEMORY:
        case TENON_E_NO_DEVICE_MEMORY:
            return GGML_STATUS_ALLOC_FAILED;
        case TENON_E_CANCELLED:
            return GGML_STATUS_ABORTED;
        default:
            return GGML_STATUS_FAILED;
    }
}

}  // namespace tenon

extern "C" const char* tenon_last_error() {
    tenon::t_message.unread = false;
    return tenon::t_message.text;
}

extern "C" void tenon_clear_error() {
    tenon::t_message.unread = false;
    tenon::t_message.text[0] = 0;
}

extern "C" const char* ggml_status_to_string(ggml_status status) {
    switch (status) {
        case GGML_STATUS_ALLOC_FAILED:
            return "GGML status: error (failed to allocate memory)";
        case GGML_STATUS_FAILED:
            return "GGML status: error (operation failed)";
        case GGML_STATUS_SUCCESS:
            return "GGML status: success";
        case GGML_STATUS_ABORTED:
            return "GGML status: warning (operation aborted)";
    }
    return "GGML status: unknown";
}

extern "C" ggml_abort_callback_t ggml_set_abort_callback(ggml_abort_callback_t callback) {
    return tenon::g_abort_callback.exchange(callback);
}

extern "C" void ggml_abort(const char* file, int line, const char* fmt, ...) {
    char text[2048];
    int n = std::snprintf(text, sizeof text, "%s:%d: ", file ? file : "?", line);
    if (n < 0) n = 0;
    if (n < static_cast<int>(sizeof text)) {
        va_list args;
        va_start(args, fmt);
        std::vsnprintf(text + n, sizeof text - static_cast<size_t>(n), fmt, args);
        va_end(args);
    }
    tenon::die(text);
}
