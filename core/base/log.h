// The log: one callback for the process. Without one, lines go to stderr only if TENON_LOG asks.
//
// The callback is the application's code. One that throws loses its line and nothing else: the
// library may be in the middle of anything when it logs, also on a path that must not fail. One
// that ends its thread is not called again while that thread's stack unwinds.
#pragma once

#include "ggml.h"

namespace tenon {

// One line, without newline, to the callback set with ggml_log_set. Any thread.
void log(ggml_log_level level, const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);

// The same, but each text once per process: complaints about what stays as it is, such as a
// setting.
void log_once(ggml_log_level level, const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);

// Whether a line of this level would reach anybody; guards work done only for the log.
bool log_wants(ggml_log_level level);

// Whether TENON_LOG asks for lines of this level: for lines that are many, and that would look like
// trouble to somebody who did not ask.
bool log_asked_for(ggml_log_level level);

}  // namespace tenon
