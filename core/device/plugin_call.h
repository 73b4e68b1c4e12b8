// Calls into the tables of a plugin. A plugin must not let a C++ exception out of a function of a
// table (plugin-abi.md section 9); one that does so gets a failed call, and the process goes on.
// The thread may end inside one (cancellation, pthread_exit), so none of these is noexcept.
#pragma once

#include <cstdio>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/base/result.h"

namespace tenon {

// The record a plugin writes its reason into, and the Error that becomes of it.
struct PluginError : tenon_error {
    PluginError() : tenon_error{} { struct_size = sizeof(tenon_error); }

    // "device 'CUDA0': cannot allocate 4096 bytes: out of memory (cudaErrorMemoryAllocation)"
    [[nodiscard]] Error as_error(tenon_status status, const char* who, const char* what) const;

    // What became of a call that threw.
    void threw(const char* text) {
        if (!text) text = "unknown exception";
        code = TENON_E_INTERNAL;
        native_code = 0;
        native_name[0] = 0;
        std::snprintf(message, sizeof message, "threw an exception: %s", text);
    }
};

// A function that writes into `error`, its last argument; `otherwise` when it throws.
template <class Answer, class Function, class... Arguments>
Answer call_plugin_or(PluginError& error, Answer otherwise, Function* function,
                      Arguments... arguments) {
    return catch_all([&]() -> Answer { return function(arguments..., &error); },
                     [&](bool, const char* text) -> Answer {
                         error.threw(text);
                         return otherwise;
                     });
}

// The same for a function that answers a status.
template <class... Parameters, class... Arguments>
tenon_status call_plugin(PluginError& error, tenon_status (*function)(Parameters...),
                         Arguments... arguments) {
    return call_plugin_or<tenon_status>(error, TENON_E_INTERNAL, function, arguments...);
}

// A function that has no status: `otherwise` when it throws, which is logged as "WHO: WHAT threw".
template <class Answer, class Function, class... Arguments>
Answer ask_plugin(const char* who, const char* what, Answer otherwise, Function* function,
                  Arguments... arguments) {
    return catch_all([&]() -> Answer { return function(arguments...); },
                     [&](bool, const char* text) -> Answer {
                         log(GGML_LOG_LEVEL_WARN, "%s: %s threw an exception: %s", who, what,
                             text ? text : "unknown exception");
                         return otherwise;
                     });
}

// The same for a function that answers nothing. Those give something back or change it, mostly from
// destructors, the plugin's own included: a cancellation waits until they are done.
template <class Function, class... Arguments>
void tell_plugin(const char* who, const char* what, Function* function, Arguments... arguments) {
    const os::NoCancel held_back;
    ask_plugin(
        who, what, 0,
        +[](Function* f, Arguments... a) {
            f(a...);
            return 0;
        },
        function, arguments...);
}

}  // namespace tenon
