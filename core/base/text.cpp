// Text the loader needs: strings that outlive their makers, globs, lists, UTF-8.

#include "core/base/text.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <set>

namespace tenon {

const char* keep(std::string_view s) {
    static auto* pool = new std::set<std::string, std::less<>>;  // never destroyed: see header
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    auto it = pool->find(s);
    if (it == pool->end()) it = pool->emplace(s).first;
    return it->c_str();
}

std::string text(const char* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    char buffer[1024];
    const int n = std::vsnprintf(buffer, sizeof buffer, fmt, args);
    va_end(args);
    if (n < 0) return {};
    return std::string(buffer, static_cast<size_t>(n) < sizeof buffer ? n : sizeof buffer - 1);
}

namespace {

char lower_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper_char(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::string lower(std::string_view s) {
    std::string out(s);
    for (char& c : out) c = lower_char(c);
    return out;
}

std::string upper(std::string_view s) {
    std::string out(s);
    for (char& c : out) c = upper_char(c);
    return out;
}

std::string_view trimmed(std::string_view s) {
    constexpr std::string_view kBlank = " \t\r\n";
    const size_t begin = s.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return s.substr(begin, s.find_last_not_of(kBlank) - begin + 1);
}

std::vector<std::string> split(std::string_view list, char separator) {
    std::vector<std::string> parts;
    for (size_t begin = 0;;) {
        const size_t end = list.find(separator, begin);
        parts.emplace_back(list.substr(begin, end - begin));
        if (end == std::string_view::npos) return parts;
        begin = end + 1;
    }
}

// Greedy with one point of return: the last '*' seen.
bool matches_glob(std::string_view glob, std::string_view name) {
    size_t g = 0, n = 0, star = std::string_view::npos, retry = 0;
    while (n < name.size()) {
        if (g < glob.size() && glob[g] == '*') {
            star = g++;
            retry = n;
        } else if (g < glob.size() &&
                   (glob[g] == '?' || lower_char(glob[g]) == lower_char(name[n]))) {
            ++g;
            ++n;
        } else if (star != std::string_view::npos) {
            g = star + 1;
            n = ++retry;
        } else {
            return false;
        }
    }
    while (g < glob.size() && glob[g] == '*') ++g;
    return g == glob.size();
}

bool matches_any(std::string_view globs, std::string_view name) {
    for (const std::string& part : split(globs, ',')) {
        const std::string_view glob = trimmed(part);
        if (!glob.empty() && matches_glob(glob, name)) return true;
    }
    return false;
}

bool is_utf8(std::string_view s) {
    for (size_t i = 0; i < s.size();) {
        const auto byte = [&](size_t k) { return static_cast<uint8_t>(s[k]); };
        const uint8_t first = byte(i);
        const size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || n > s.size() - i) return false;
        uint32_t code = n == 1 ? first : first & (0xffu >> (n + 1));
        for (size_t k = 1; k < n; ++k) {
            if ((byte(i + k) & 0xc0) != 0x80) return false;
            code = code << 6 | (byte(i + k) & 0x3f);
        }
        constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
        if (code < kLeast[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
        i += n;
    }
    return true;
}

}  // namespace tenon
