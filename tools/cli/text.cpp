// Words and numbers of the tools: declared in text.h.

#include "tools/cli/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace tenon::cli {
namespace {

std::string format_v(const char* fmt, va_list args) {
    va_list again;
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, fmt, args);
    std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
    if (length > 0) std::vsnprintf(text.data(), text.size() + 1, fmt, again);
    va_end(again);
    return text;
}

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = lower(c);
    return out;
}

// Letters inserted, removed, replaced, or swapped with their neighbour.
size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        next[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
            next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + cost});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                next[j] = std::min(next[j], before[j - 2] + 1);
            }
        }
        before.swap(row);
        row.swap(next);
    }
    return row[b.size()];
}

}  // namespace

std::string format(const char* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    std::string text = format_v(fmt, args);
    va_end(args);
    return text;
}

Stop stop(int code, const char* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    std::string text = format_v(fmt, args);
    va_end(args);
    return Stop(code, text);
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
    const std::string wanted = lower(word);
    const std::string* best = nullptr;
    size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        const std::string have = lower(candidate);
        size_t distance = edit_distance(wanted, have);
        // A beginning of a long name is what somebody types who remembers half of it.
        if (wanted.size() >= 3 && have.starts_with(wanted))
            distance = std::min<size_t>(distance, 1);
        if (distance < best_distance && distance < have.size()) {
            best = &candidate;
            best_distance = distance;
        }
    }
    return best ? *best : std::string();
}

std::string joined(std::span<const std::string> words) {
    if (words.empty()) return "none";
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

Stop unknown_name(const char* what, std::string_view word, std::span<const std::string> valid,
                  int code) {
    std::string text =
        format("unknown %s '%.*s'", what, static_cast<int>(word.size()), word.data());
    const std::string near = nearest(word, valid);
    if (!near.empty()) text += ", nearest is '" + near + "'";
    return Stop(code, text + "; valid: " + joined(valid));
}

int64_t parse_integer(const char* option, const std::string& text, int64_t min, int64_t max) {
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc() || stopped != end || value < min || value > max) {
        throw stop(kUsage, "%s takes a number from %" PRId64 " to %" PRId64 ", not '%s'", option,
                   min, max, text.c_str());
    }
    return value;
}

std::vector<std::string> type_names() {
    std::vector<std::string> names;
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = static_cast<ggml_type>(i);
        if (ggml_blck_size(type) > 0) names.emplace_back(ggml_type_name(type));
    }
    return names;
}

ggml_type parse_type(const std::string& name) {
    const std::string wanted = lower(name);
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = static_cast<ggml_type>(i);
        if (ggml_blck_size(type) > 0 && lower(ggml_type_name(type)) == wanted) return type;
    }
    throw unknown_name("type", name, type_names());
}

std::string unmatched_type(const std::string& globs) {
    const std::vector<std::string> names = type_names();
    for (size_t at = 0; at < globs.size();) {
        const size_t end = std::min(globs.find(',', at), globs.size());
        const std::string glob = globs.substr(at, end - at);
        if (std::none_of(names.begin(), names.end(),
                         [&](const std::string& name) { return glob_match(glob, name); })) {
            return glob;
        }
        at = end + 1;
    }
    return {};
}

bool glob_match(std::string_view glob, std::string_view text) {
    size_t g = 0, t = 0;
    size_t star = std::string_view::npos, resume = 0;  // where to go back to after a mismatch
    while (t < text.size()) {
        if (g < glob.size() && glob[g] == '*') {
            star = g++;
            resume = t;
        } else if (g < glob.size() && (glob[g] == '?' || lower(glob[g]) == lower(text[t]))) {
            ++g;
            ++t;
        } else if (star != std::string_view::npos) {
            g = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (g < glob.size() && glob[g] == '*') ++g;
    return g == glob.size();
}

std::string bytes_text(uint64_t bytes) {
    static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) return format("%" PRIu64 " B", bytes);
    double value = static_cast<double>(bytes);
    size_t unit = 0;
    while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {  // never "1024.0 KiB"
        value /= 1024;
        ++unit;
    }
    return format("%.1f %s", value, kUnits[unit]);
}

std::string count_text(uint64_t n) {
    std::string text = std::to_string(n);
    for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ' ');
    return text;
}

std::string time_text(double seconds) {
    if (seconds >= 100) return format("%.0f s", seconds);
    if (seconds >= 1) return format("%.2f s", seconds);
    if (seconds >= 1e-3) return format("%.1f ms", seconds * 1e3);
    if (seconds >= 1e-6) return format("%.1f µs", seconds * 1e6);
    return format("%.0f ns", seconds * 1e9);
}

}  // namespace tenon::cli
