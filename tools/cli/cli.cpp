// Options, the frame of a tool, and JSON; declared in cli.h.

#include "tools/cli/cli.h"

#include <new>
#include <nlohmann/json.hpp>

#include "tools/cli/files.h"

namespace tenon::cli {
namespace {

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

int run_tool(const char* name, const std::function<int()>& body) {
    fill_closed_descriptors();
    explain_lost_files(name);
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

ColorWhen parse_color(const std::string& word) {
    static const std::vector<std::string> valid{"auto", "always", "never"};
    for (size_t i = 0; i < valid.size(); ++i) {
        if (word == valid[i]) return static_cast<ColorWhen>(i);
    }
    throw unknown_name("value of --color", word, valid, kUsage);
}

void print_json(std::FILE* out, const nlohmann::ordered_json& document) {
    using nlohmann::ordered_json;
    const std::string text =
        document.dump(2, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
    std::fwrite(text.data(), 1, text.size(), out);
    std::fputc('\n', out);
}

}  // namespace tenon::cli
