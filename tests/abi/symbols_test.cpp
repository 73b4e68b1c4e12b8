// What the built files export and import, read with the linker's own tools.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ggml.h"
#include "tenon/plugin.h"

namespace {

std::vector<std::string> lines_of(const std::string& command) {
    std::vector<std::string> lines;
    std::FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) return lines;
    char line[4096];
    while (std::fgets(line, sizeof line, pipe)) {
        std::string text = line;
        text.erase(text.find_last_not_of('\n') + 1);
        lines.push_back(text);
    }
    EXPECT_EQ(pclose(pipe), 0) << command;
    return lines;
}

// Last words of the lines nm prints: the symbols, without their versions.
std::set<std::string> symbols(const std::string& file, const std::string& which) {
    std::set<std::string> names;
    for (const std::string& line :
         lines_of(std::string(TENON_NM) + " -D " + which + " '" + file + "'")) {
        std::string name = line.substr(line.rfind(' ') + 1);
        names.insert(name.substr(0, name.find('@')));
    }
    return names;
}

std::vector<std::string> parts(const std::string& list, char between = ':') {
    std::vector<std::string> files;
    std::stringstream items(list);
    for (std::string file; std::getline(items, file, between);) files.push_back(file);
    return files;
}

std::vector<std::string> plugins() { return parts(TENON_PLUGIN_FILES); }

std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Names declared with GGML_API or GGML_BACKEND_API in a public header.
std::set<std::string> declared(const std::string& header) {
    std::string text =
        std::regex_replace(read(header), std::regex("/\\*[^]*?\\*/|//[^\n]*|#[^\n]*"), "");
    std::set<std::string> names;
    const std::regex function("GGML_(?:BACKEND_)?API\\s[^;()]*?\\b(\\w+)\\s*\\(");
    for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) {
        names.insert((*it)[1]);
    }
    return names;
}

TEST(Plugin, ExportsOneSymbolOnly) {
    ASSERT_FALSE(plugins().empty());
    for (const std::string& file : plugins()) {
        EXPECT_EQ(symbols(file, "--defined-only"), std::set<std::string>{"tenon_plugin_entry_v1"})
            << file;
    }
}

TEST(Plugin, NeedsNoSymbolOfTheCore) {
    const std::set<std::string> core = symbols(TENON_LIBRARY, "--defined-only");
    for (const std::string& file : plugins()) {
        for (const std::string& name : symbols(file, "--undefined-only")) {
            EXPECT_FALSE(core.count(name)) << file << " needs " << name;
            EXPECT_FALSE(std::regex_search(name, std::regex("^(ggml|gguf|tenon)_")))
                << file << " needs " << name;
        }
    }
}

// An empty or relative element is the working directory, or below it.
TEST(RunPath, NothingBuiltLooksForLibrariesInTheWorkingDirectory) {
    size_t n_seen = 0;
    for (const char* directory : {"/bin", "/lib", "/lib/tenon/plugins-1"}) {
        for (const auto& entry :
             std::filesystem::directory_iterator(std::string(TENON_BUILD_DIR) + directory)) {
            const std::string file = entry.path();
            const bool is_elf = entry.is_regular_file() && read(file).substr(0, 4) ==
                                                               "\x7f"
                                                               "ELF";
            if (!is_elf) continue;
            ++n_seen;
            for (const std::string& line : lines_of(TENON_READELF " -dW '" + file + "'")) {
                std::smatch path;
                if (!std::regex_search(line, path, std::regex("\\(R(?:UN)?PATH\\).*\\[(.*)\\]")))
                    continue;
                std::stringstream elements(path[1].str() + ":end");
                for (std::string one; std::getline(elements, one, ':');) {
                    EXPECT_TRUE(one == "end" || one.starts_with("/") || one.starts_with("$ORIGIN"))
                        << file << ": '" << one << "' in [" << path[1] << "]";
                }
            }
        }
    }
    EXPECT_GT(n_seen, 1u);
}

TEST(Plugin, NeedsNoLibraryBeyondTheLanguageRuntime) {
#ifdef TENON_SANITIZED
    GTEST_SKIP() << "a sanitizer build links the sanitizer's runtime";
#endif
    const std::regex allowed("lib(c|m|stdc\\+\\+|gcc_s|pthread|dl)\\.so\\.[0-9]+|ld-linux.*");
    for (const std::string& file : plugins()) {
        for (const std::string& line :
             lines_of(std::string(TENON_READELF) + " -d '" + file + "'")) {
            std::smatch match;
            if (std::regex_search(line, match, std::regex("\\(NEEDED\\).*\\[(.*)\\]"))) {
                EXPECT_TRUE(std::regex_match(match[1].str(), allowed))
                    << file << " needs " << match[1];
            }
            EXPECT_EQ(line.find("(SONAME)"), std::string::npos) << file;
            EXPECT_EQ(line.find("(RUNPATH)"), std::string::npos) << file;
        }
    }
}

TEST(Plugin, HasNoExecutableStackAndNoUniqueSymbols) {
    for (const std::string& file : plugins()) {
        for (const std::string& line :
             lines_of(std::string(TENON_READELF) + " -lW '" + file + "'")) {
            if (line.find("GNU_STACK") != std::string::npos) {
                EXPECT_EQ(line.find("RWE"), std::string::npos) << file;
            }
        }
        for (const std::string& line :
             lines_of(std::string(TENON_NM) + " '" + file + "' 2>/dev/null")) {
            EXPECT_EQ(line.find(" u "), std::string::npos) << file << ": " << line;
        }
    }
}

// The linker keeps one copy of an inline function: of a level's it must be no other's.
TEST(Level, DefinesFunctionsInItsOwnNamespaceOnly) {
    size_t n = 0;
    for (const std::string& item : parts(TENON_LEVEL_OBJECTS)) {
        const size_t equals = item.find('=');
        const std::string level = item.substr(0, equals);
        const std::string scope = "tenon::cpu::" + level + "::",
                          kit = "tenon::kit::" + level + "::";
        const std::string command =
            std::string(TENON_NM) + " -C --defined-only '" + item.substr(equals + 1) + "'";
        for (const std::string& line : lines_of(command)) {
            std::smatch match;
            if (!std::regex_match(line, match, std::regex("[0-9a-f]+ [TW] (.*)"))) continue;
            ++n;
            const std::string name = match[1].str();
            EXPECT_TRUE(name.find(scope) != name.npos || name.find(kit) != name.npos)
                << item << ": " << line;
        }
    }
    EXPECT_GT(n, 0u);
}

// Inline functions and instances of templates of all these objects, by their symbols.
std::set<std::string> inline_functions(const std::string& objects) {
    std::string command = std::string(TENON_NM) + " --defined-only";
    for (const std::string& object : parts(objects)) command += " '" + object + "'";
    std::set<std::string> names;
    for (const std::string& line : lines_of(command)) {
        std::smatch match;
        if (std::regex_match(line, match, std::regex("[0-9a-f]+ W (.*)"))) names.insert(match[1]);
    }
    return names;
}

std::vector<std::string> shared(const std::set<std::string>& a, const std::set<std::string>& b) {
    std::vector<std::string> names;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(names));
    return names;
}

// What runs before the processor was asked, the variant, and its levels.
TEST(InstructionSets, ShareNoInlineFunction) {
    size_t n = 0;
    for (const std::string& variant : parts(TENON_INSTRUCTION_SETS, '@')) {
        std::vector<std::set<std::string>> sets;
        for (const std::string& objects : parts(variant, '|'))
            sets.push_back(inline_functions(objects));
        for (size_t a = 0; a < sets.size(); ++a) {
            n += sets[a].size();
            for (size_t b = 0; b < a; ++b) {
                EXPECT_EQ(shared(sets[a], sets[b]), std::vector<std::string>{}) << variant;
            }
        }
    }
    EXPECT_GT(n, 0u);
}

TEST(InstructionSets, HaveFunctionsOfTheKitOfTheirOwnByItsTag) {
    const std::set<std::string> one = inline_functions(TENON_KIT_ONE);
    EXPECT_GT(one.size(), 20u);
    EXPECT_EQ(one, inline_functions(TENON_KIT_ONE_AGAIN)) << "one tag, one set of functions";
    for (const std::string& name : shared(one, inline_functions(TENON_KIT_TWO)))
        EXPECT_EQ(name.find("kit"), std::string::npos) << name;
}

// What links it gets no symbol to export, and needs nothing that a plugin may not need.
TEST(QuantLibrary, HidesItsSymbolsAndNeedsNothingOfTheCore) {
    std::set<std::string> defined, needed;
    for (const std::string& line :
         lines_of(std::string(TENON_READELF) + " -sW '" + TENON_QUANT_LIBRARY + "'")) {
        // Num: Value Size Type Bind Vis Ndx Name
        std::smatch match;
        if (!std::regex_search(line, match, std::regex("(GLOBAL|WEAK) +(\\w+) +(\\w+) (\\S+)$")))
            continue;
        const std::string visibility = match[2], name = match[4];
        if (match[3] == "UND") {
            needed.insert(name);
        } else {
            defined.insert(name);
            EXPECT_EQ(visibility, "HIDDEN") << name;
        }
    }
    EXPECT_GT(defined.size(), 50u);
    const std::set<std::string> core = symbols(TENON_LIBRARY, "--defined-only");
    for (const std::string& name : needed) {
        if (defined.count(name)) continue;
        EXPECT_FALSE(core.count(name)) << name;
        EXPECT_EQ(name.find("tenon"), std::string::npos) << name;
    }
}

TEST(Library, DefinesEveryFunctionItsHeadersDeclare) {
    const std::set<std::string> exported = symbols(TENON_LIBRARY, "--defined-only");
    size_t n = 0;
    for (const char* header :
         {"ggml.h", "ggml-alloc.h", "ggml-backend.h", "ggml-cpu.h", "gguf.h", "tenon/tenon.h"}) {
        for (const std::string& name : declared(std::string(TENON_HEADERS) + "/" + header)) {
            ++n;
            EXPECT_TRUE(exported.count(name)) << header << " declares " << name;
        }
    }
    EXPECT_GT(n, 600u);
}

TEST(Library, ExportsNothingButItsApi) {
    // Two functions have C++ linkage, as programs expect; TENON_0 is the version of the symbols.
    const std::regex api("^(ggml|gguf|tenon)_|^_Z[0-9]+gguf_(type_size|write_to_buf)|^TENON_0$");
    for (const std::string& name : symbols(TENON_LIBRARY, "--defined-only")) {
        EXPECT_TRUE(std::regex_search(name, api)) << name;
    }
}

TEST(Layout, OfATensorIsTheOneOfThePluginAbi) {
    // The assertions of tenon/plugin.h held when this was compiled; the numbers, for the reader:
    EXPECT_EQ(sizeof(ggml_tensor), 432u);
    EXPECT_EQ(offsetof(ggml_tensor, extra), 416u);
    EXPECT_EQ(GGML_MAX_NAME, 160);
}

}  // namespace
