// The table of states: every word is given somewhere and documented, and no other word is given.

#include "loader/states.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace tenon {
namespace {

std::string read(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

// All sources of the loader but the table itself.
std::string loader_sources() {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(TENON_SOURCE_DIR "/loader")) {
        if (entry.path().extension() == ".cpp" && entry.path().stem() != "states") {
            all += read(entry.path());
        }
    }
    return all;
}

std::vector<tenon_plugin_state> all_states() {
    std::vector<tenon_plugin_state> states;
    tenon_plugin_state state{};
    state.struct_size = sizeof state;
    for (size_t i = 0; tenon_plugin_state_get(i, &state); ++i) states.push_back(state);
    return states;
}

TEST(States, EveryWordIsGivenSomewhere) {
    const std::string sources = loader_sources();
    ASSERT_FALSE(sources.empty());
    for (const tenon_plugin_state& state : all_states()) {
        const std::string quoted = std::string("\"") + state.word;
        const bool given = sources.find(quoted + "\"") != std::string::npos ||
                           sources.find(quoted + ": ") != std::string::npos ||
                           sources.find(std::string(": ") + state.word + ": ") != std::string::npos;
        EXPECT_TRUE(given) << state.word;
    }
}

TEST(States, EveryWordThatIsGivenIsInTheTable) {
    const std::string sources = loader_sources();
    const std::regex given(
        "Refusal\\{\"([a-z-]+)\"|refuse\\(\\w+,\\s*\\{\"([a-z-]+)\"|"
        "return \\{\"([a-z-]+)\"|state = \"([a-z-]+)\"");
    std::set<std::string> words;
    for (std::sregex_iterator it(sources.begin(), sources.end(), given), end; it != end; ++it) {
        for (size_t i = 1; i < it->size(); ++i) {
            if ((*it)[i].matched) words.insert((*it)[i]);
        }
    }
    EXPECT_GT(words.size(), 25u);
    const std::set<std::string> of_directories{"ok", "missing"};
    for (const std::string& word : words) {
        EXPECT_TRUE(state_row(word) || of_directories.contains(word)) << word;
    }
}

TEST(States, WordsAreUniqueAndHaveHelpUnlessAllIsWell) {
    std::set<std::string> words;
    for (const tenon_plugin_state& state : all_states()) {
        EXPECT_TRUE(words.insert(state.word).second) << state.word;
        EXPECT_EQ(*state.help == 0,
                  std::string("loaded unloaded").find(state.word) != std::string::npos)
            << state.word;
        EXPECT_EQ(state.kind == TENON_STATE_FAULT, state.level == GGML_LOG_LEVEL_WARN)
            << state.word;
    }
}

// The page has one row per word: | `word` | step | level | status | what helps |
TEST(States, PageHasTheSameRows) {
    const std::string page = read(TENON_SOURCE_DIR "/docs/plugin-abi.md");
    const std::regex row("\n\\| `([a-z-]+)` \\| (\\d+) \\| (\\w+) \\| (\\d+) \\| ([^\n]*) \\|");
    std::map<std::string, std::string> rows;
    for (std::sregex_iterator it(page.begin(), page.end(), row), end; it != end; ++it) {
        rows[(*it)[1]] = it->str().substr(1);
    }
    const char* const levels[] = {"none", "debug", "info", "warn", "error"};
    const auto states = all_states();
    for (const tenon_plugin_state& s : states) {
        const std::string expected = "| `" + std::string(s.word) + "` | " + std::to_string(s.step) +
                                     " | " + levels[s.level] + " | " + std::to_string(s.status) +
                                     " | " + (*s.help ? s.help : "–") + " |";
        EXPECT_EQ(rows[s.word], expected);
    }
    EXPECT_EQ(rows.size(), states.size());
}

}  // namespace
}  // namespace tenon
