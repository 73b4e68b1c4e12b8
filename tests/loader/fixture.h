// A directory of fake plugins, an environment, and a process that loads them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::test {

using Json = nlohmann::json;
using Commands = std::vector<std::string>;  // of plugin_report.cpp

// What a run of plugin-report said.
struct Outcome {
    int exit_code = -1;  // -1: ended by a signal or not at all
    std::vector<Json> lines;
    size_t printed_bytes = 0;  // on stdout and stderr together

    bool finished() const {
        return exit_code == 0 && !lines.empty() && lines.back()["what"] == "end";
    }
    std::vector<Json> all(const std::string& what) const;
    Json plugin(const std::string& file_name) const;  // its report; null: none
    std::string state(const std::string& file_name) const;
    std::string message(const std::string& file_name) const;
    std::vector<std::string> devices() const;  // names, as "devices" printed them
    // The log lines of at least WARN level (3) that contain `text`.
    size_t warnings(const std::string& text) const;
    std::string log_text() const;
};

class LoaderTest : public ::testing::Test {
protected:
    LoaderTest();
    ~LoaderTest() override;

    // Copies a built fake into the plugin directory (or another one) as NAME.so, "" for its own
    // name; returns the path.
    std::string put(const std::string& fake, const std::string& name = "",
                    const std::string& directory = "");
    std::string new_directory(const std::string& name);  // beside the plugin directory, mode 0755
    std::string path(const std::string& name) const { return dir_ + "/" + name; }

    Outcome run(const Commands& commands = {"all", "report", "devices", "log"});

    std::string root_, dir_;                  // dir_ is the plugin directory, below root_
    std::map<std::string, std::string> env_;  // of the process; TENON_PLUGIN_PATH is dir_
};

// Changes of a file, as a test's way of making broken ones.
void write_file(const std::string& path, const std::string& bytes);
std::string read_file(const std::string& path);
void patch(const std::string& path, size_t offset, const std::string& bytes);
void patch_note(const std::string& path, const std::function<void(tenon_note_desc&)>& change);
size_t note_offset(const std::string& bytes);  // of the descriptor

// Another plugin of the same code: its own family, variant, id and rank. NULL: as it is.
void rename_plugin(const std::string& path, const char* family, const char* variant,
                   const char* id = nullptr, uint32_t rank = 10);

bool is_root();

}  // namespace tenon::test
