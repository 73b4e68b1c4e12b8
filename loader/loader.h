// Loading plugins: all, one, none; and the report of what happened to every file.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "ggml-backend.h"
#include "loader/candidate.h"

namespace tenon {

// Loads the default set unless that, or a load of another directory, has happened or
// TENON_AUTOLOAD=0. Every function of the registry and of ggml-cpu.h calls it first; once done it
// costs one atomic load. Returns at once on a thread that is inside a load. Any thread.
void ensure_loaded();

// Loads every plugin of the default directories, or of `directory` only. Never fails as a whole:
// what happened to each file stands in the reports. Idempotent; any thread.
void load_all(const char* directory);

// Loads one file and gives its registration; the error's text begins with the state word.
Result<ggml_backend_reg_t> load_file(const char* path);

// Registers a plugin that is linked into the program.
Result<ggml_backend_reg_t> load_builtin(tenon_plugin_entry_fn entry);

// TENON_E_BUSY while an object of the plugin lives, TENON_E_NOT_FOUND for a stranger.
Result<void> unload(ggml_backend_reg_t reg);

// Steps 1 to 7 only: usable files become "candidate".
void scan(const char* directory);

// Reports of every file seen, as tenon_plugin_count() orders them. Waits for no load.
size_t report_count();
bool report_at(size_t index, Report* out);

}  // namespace tenon
