// Options, error texts, numbers and JSON of the tools; declared in cli.h.

#include "tools/cli.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cinttypes>
#include <cstdarg>
#include <nlohmann/json.hpp>

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

// "--threads" of every option that has a long name.
std::vector<std::string> long_names(const po::options_description& options) {
    std::vector<std::string> names;
    for (const auto& option : options.options()) {
        const std::string& name = option->long_name();
        if (!name.empty()) names.push_back("--" + name);
    }
    return names;
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

int run_tool(const char* name, const std::function<int()>& body) {
    int code = kFailed;
    try {
        code = body();
    } catch (const Stop& e) {
        code = e.code();
        std::fprintf(stderr, "%s: %s\n", name, printable(e.what()).c_str());
        if (code == kUsage) std::fprintf(stderr, "try '%s --help'\n", name);
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "%s: out of host memory\n", name);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s: %s\n", name, printable(e.what()).c_str());
    }
    // A full disk or a closed pipe must not look like success.
    if (std::fflush(nullptr) != 0 && code == kAnswered) {
        std::fprintf(stderr, "%s: the output could not be written\n", name);
        code = kFailed;
    }
    return code;
}

// Called by Boost for each occurrence; found by argument-dependent lookup.
void validate(boost::any& value, const std::vector<std::string>&, Count*, int) {
    Count count = value.empty() ? Count{} : boost::any_cast<Count>(value);
    ++count.n;
    value = count;
}

po::typed_value<Count>* counter() { return po::value<Count>()->zero_tokens(); }

int count_of(const po::variables_map& options, const char* name) {
    return options.count(name) ? options[name].as<Count>().n : 0;
}

po::variables_map parse(int argc, const char* const* argv, const po::options_description& options,
                        const po::positional_options_description& positional) {
    return parse(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), options,
                 positional);
}

po::variables_map parse(const std::vector<std::string>& args,
                        const po::options_description& options,
                        const po::positional_options_description& positional) {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    try {
        po::variables_map map;
        po::store(po::command_line_parser(args)
                      .options(options)
                      .positional(positional)
                      .style(style)
                      .run(),
                  map);
        po::notify(map);
        return map;
    } catch (const po::unknown_option& e) {
        const std::string given = e.get_option_name();
        const std::string near = nearest(given, long_names(options));
        throw near.empty()
            ? stop(kUsage, "unknown option '%s'", given.c_str())
            : stop(kUsage, "unknown option '%s', nearest is '%s'", given.c_str(), near.c_str());
    } catch (const po::too_many_positional_options_error&) {
        throw stop(kUsage, "too many arguments");
    } catch (const po::error& e) {
        throw stop(kUsage, "%s", e.what());
    }
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

ColorWhen parse_color(const std::string& word) {
    static const std::vector<std::string> valid{"auto", "always", "never"};
    for (size_t i = 0; i < valid.size(); ++i) {
        if (word == valid[i]) return static_cast<ColorWhen>(i);
    }
    throw unknown_name("value of --color", word, valid, kUsage);
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

void print_json(std::FILE* out, const nlohmann::ordered_json& document) {
    using nlohmann::ordered_json;
    const std::string text =
        document.dump(2, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
    std::fwrite(text.data(), 1, text.size(), out);
    std::fputc('\n', out);
}

}  // namespace tenon::cli
