// Text the loader needs: strings that outlive their makers, globs, lists, UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// The text as a C string that stays valid until the process ends; equal texts share one. Any
// thread.
const char* keep(std::string_view text);

// printf into a string.
std::string text(const char* fmt, ...) __attribute__((format(printf, 1, 2)));

std::string lower(std::string_view s);  // ASCII
std::string upper(std::string_view s);
std::string_view trimmed(std::string_view s);

// The parts between separators, empty ones included.
std::vector<std::string> split(std::string_view list, char separator);

// '*' any run, '?' one byte; ASCII case ignored.
bool matches_glob(std::string_view glob, std::string_view name);

// Whether any non-empty glob of the comma list matches.
bool matches_any(std::string_view globs, std::string_view name);

// Well-formed UTF-8, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view s);

}  // namespace tenon
