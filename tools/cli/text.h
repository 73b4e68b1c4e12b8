// Words and numbers of the tools, without the rest of cli.h: errors, names and their misspellings,
// globs, sizes and times for people.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ggml.h"

namespace tenon::cli {

// ---- ending the program -----------------------------------------------------------------------

enum ExitCode : int {
    kAnswered = 0,
    kFailed = 1,       // the work could not be done
    kUsage = 2,        // a mistake in the options
    kUnknownName = 5,  // a device, type, plugin … that does not exist
};

// Ends the program with one line on stderr and an exit code.
class Stop : public std::runtime_error {
public:
    Stop(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
    int code() const { return code_; }

private:
    int code_;
};

// A Stop with a text made like printf does.
[[nodiscard]] Stop stop(int code, const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);

// The candidate closest to `word` (case ignored), "" when none is close enough to be meant.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "a, b, c"; "none" for an empty list.
std::string joined(std::span<const std::string> words);

// Stop: "unknown device 'CUDA9', nearest is 'CUDA0'; valid: CPU, CUDA0".
[[nodiscard]] Stop unknown_name(const char* what, std::string_view word,
                                std::span<const std::string> valid, int code = kUnknownName);

// The number in [min, max] that `text` is; throws Stop(kUsage) naming `option` otherwise.
int64_t parse_integer(const char* option, const std::string& text, int64_t min, int64_t max);

// The type called `name` (case ignored, retired types excluded); throws unknown_name otherwise.
ggml_type parse_type(const std::string& name);
std::vector<std::string> type_names();

// The first glob of a comma list that matches no type's name, "" when all do.
std::string unmatched_type(const std::string& globs);

// Whether `text` matches `glob` ('*' any run, '?' one character), case ignored, '.' is plain.
bool glob_match(std::string_view glob, std::string_view text);

// ---- numbers ----------------------------------------------------------------------------------

std::string bytes_text(uint64_t bytes);  // "138.2 GiB", "512 B"
std::string count_text(uint64_t n);      // "1 234 567"
std::string time_text(double seconds);   // "2.1 ms"
std::string format(const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(1, 2);

}  // namespace tenon::cli
