// Errors as values: Error (a status and a text), Result<T>, and guard() for the C boundary.
#pragma once

#include <cassert>
#include <cstdarg>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "tenon/forced_unwind.hpp"
#include "tenon/plugin.h"

namespace tenon {

// A status and its text. The text lies in a fixed array: reporting "out of memory" must not
// allocate. Text: lower case, no full stop, names the thing and both numbers.
struct Error {
    tenon_status code = TENON_E_INTERNAL;
    char text[512] = {};
};

// Makes an Error; a longer text is cut at a character boundary.
[[nodiscard]] Error fail(tenon_status code, const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);
[[nodiscard]] Error fail_v(tenon_status code, const char* fmt, va_list args);

// Keeps the error for tenon_last_error() of this thread and logs it at ERROR level. The first error
// that nobody has read yet stays: later ones are usually its echo.
void report(const Error& error);

// Whether this thread has an error nobody has read.
bool has_unread_error();

// Text of a status: "out of device memory".
const char* status_text(tenon_status code);

// The status the ggml API uses for a tenon_status.
ggml_status to_ggml_status(tenon_status code);

template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, error) {}

    explicit operator bool() const { return state_.index() == 0; }
    T& operator*() & { return value(); }
    const T& operator*() const& { return std::get<0>(state_); }
    T&& operator*() && { return std::move(value()); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &std::get<0>(state_); }
    const Error& error() const { return std::get<1>(state_); }

private:
    T& value() {
        assert(state_.index() == 0);
        return std::get<0>(state_);
    }
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(error) {}

    explicit operator bool() const { return !error_; }
    const Error& error() const { return *error_; }

private:
    std::optional<Error> error_;  // not 500 bytes to clear for every success
};

// Calls a function of the application in the middle of our work. What it throws becomes an Error
// that names it: "the evaluation callback threw an exception: bad luck". It may end its thread.
template <class Function, class... Arguments>
auto call_application(const char* what, Function&& function, Arguments... arguments)
    -> Result<std::invoke_result_t<Function, Arguments...>> {
    using Answer = Result<std::invoke_result_t<Function, Arguments...>>;
    return catch_all([&]() -> Answer { return function(arguments...); },
                     [&](bool, const char* text) -> Answer {
                         return fail(TENON_E_INTERNAL, "%s threw an exception%s%s", what,
                                     text ? ": " : "", text ? text : "");
                     });
}

// The Error for what catch_all() caught at a C boundary.
inline Error error_of_exception(bool out_of_memory, const char* text) {
    if (out_of_memory) return fail(TENON_E_NO_HOST_MEMORY, "out of host memory");
    return fail(TENON_E_INTERNAL, "%s", text ? text : "unknown exception");
}

// Runs `body` at a C boundary. Errors and exceptions become the thread's message and the value
// `failed`, which is what the API documents for failure. `body` returns T, Result<T> or void. Not
// noexcept: a thread may be ended in the middle of a call, which leaves everything usable by
// others.
template <class T, class Body>
T guard(T failed, Body&& body) {
    const auto checked = [&]() -> T {
        using Got = std::invoke_result_t<Body>;
        if constexpr (std::is_same_v<Got, Result<T>>) {
            auto result = body();
            if (result) return std::move(*result);
            report(result.error());
            return failed;
        } else if constexpr (std::is_same_v<Got, Result<void>>) {
            auto result = body();
            if (result) return T{};
            report(result.error());
            return failed;
        } else {
            return body();
        }
    };
    return catch_all(checked, [&](bool out_of_memory, const char* text) -> T {
        report(error_of_exception(out_of_memory, text));
        return failed;
    });
}

// The same for functions that return nothing.
template <class Body>
void guard_void(Body&& body) {
    (void)guard<int>(0, [&]() -> Result<int> {
        if constexpr (std::is_same_v<std::invoke_result_t<Body>, Result<void>>) {
            auto result = body();
            if (!result) return result.error();
        } else {
            body();
        }
        return 0;
    });
}

}  // namespace tenon
