// rt-gguf: looks at, checks, quantizes and compares model files.

#include <sstream>

#include "tenon/tenon.h"
#include "tools/rt_gguf/commands.h"

namespace tenon::rt_gguf {
namespace {

struct Command {
    const char* name;
    const char* summary;
    int (*run)(const Words& words);
};

constexpr Command kCommands[] = {
    {"show", "metadata, tensors and sizes per type", show},
    {"check", "validates a whole file, the data of every tensor included", check},
    {"quantize", "writes a copy with other tensor types", quantize},
    {"compare", "error of every tensor of a file against another file", compare},
};

void print_help() {
    std::printf("usage: rt-gguf COMMAND FILE… [options]\n\ncommands\n");
    for (const Command& command : kCommands) {
        std::printf("  %-10s %s\n", command.name, command.summary);
    }
    std::printf(
        "\n'rt-gguf COMMAND --help' lists the options of a command; --version prints the version.\n"
        "Text is for people and may change; --json is for programs and only grows.\n"
        "Exit code: 0 answered, 1 the file is bad or the work failed, 2 mistake in the options,\n"
        "5 unknown name.\n");
}

std::string help_of(const cli::po::options_description& options) {
    std::ostringstream text;
    text << options;
    return text.str();
}

int run(const Words& words) {
    if (words.empty()) throw cli::stop(cli::kUsage, "a command is missing");
    const std::string& first = words.front();
    if (first == "--help" || first == "-h") {
        print_help();
        return cli::kAnswered;
    }
    if (first == "--version") {
        std::printf("rt-gguf %s\n", tenon_version());
        return cli::kAnswered;
    }
    Words names;
    for (const Command& command : kCommands) {
        if (first == command.name) return command.run(Words(words.begin() + 1, words.end()));
        names.emplace_back(command.name);
    }
    throw cli::unknown_name("command", first, names, cli::kUsage);
}

}  // namespace

Parsed parse_command(const char* command, const char* summary, const Words& words,
                     cli::po::options_description& options, const Words& files) {
    options.add_options()("help,h", "this text");
    cli::po::options_description all;
    cli::po::positional_options_description positional;
    all.add(options);
    all.add_options()("file", cli::po::value<Words>());
    positional.add("file", -1);

    Parsed parsed{cli::parse(words, all, positional), {}, false};
    if (parsed.options.count("help")) {
        std::printf("usage: rt-gguf %s", command);
        for (const std::string& file : files) std::printf(" %s", file.c_str());
        std::printf(" [options]\n\n%s\n\n%s", summary, help_of(options).c_str());
        parsed.help = true;
        return parsed;
    }
    if (parsed.options.count("file")) parsed.files = parsed.options["file"].as<Words>();
    if (parsed.files.size() != files.size()) {
        throw cli::stop(cli::kUsage, "%s takes %zu file names (%s), not %zu", command, files.size(),
                        cli::joined(files).c_str(), parsed.files.size());
    }
    return parsed;
}

}  // namespace tenon::rt_gguf

int main(int argc, char** argv) {
    return tenon::cli::run_tool("rt-gguf", [&] {
        return tenon::rt_gguf::run({argv + (argc > 0), argv + argc});
    });
}
