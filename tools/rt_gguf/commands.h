// The commands of rt-gguf. Each takes the words after its name and returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/cli.h"

namespace tenon::rt_gguf {

using Words = std::vector<std::string>;

int show(const Words& words);
int check(const Words& words);
int quantize(const Words& words);
int compare(const Words& words);

// Parses `options` and exactly the positional arguments named in `files` ("IN", "OUT"); prints the
// help and leaves `help` true when asked to.
struct Parsed {
    cli::po::variables_map options;
    std::vector<std::string> files;
    bool help = false;
};
Parsed parse_command(const char* command, const char* summary, const Words& words,
                     cli::po::options_description& options, const Words& files);

}  // namespace tenon::rt_gguf
