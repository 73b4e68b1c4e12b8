// A directory of fake plugins, an environment, and a process that loads them.

#include "tests/loader/fixture.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tenon::test {
namespace fs = std::filesystem;

std::vector<Json> Outcome::all(const std::string& what) const {
    std::vector<Json> found;
    for (const Json& line : lines) {
        if (line["what"] == what) found.push_back(line);
    }
    return found;
}

Json Outcome::plugin(const std::string& file_name) const {
    Json last;
    for (const Json& line : all("plugin")) {
        if (fs::path(line["file"].get<std::string>()).filename() == file_name) last = line;
    }
    return last;
}

std::string Outcome::state(const std::string& file_name) const {
    const Json report = plugin(file_name);
    return report.is_null() ? "(no report)" : report["state"].get<std::string>();
}

std::string Outcome::message(const std::string& file_name) const {
    const Json report = plugin(file_name);
    return report.is_null() ? "(no report)" : report["message"].get<std::string>();
}

std::vector<std::string> Outcome::devices() const {
    std::vector<std::string> names;
    for (const Json& line : all("device")) names.push_back(line["name"]);
    return names;
}

size_t Outcome::warnings(const std::string& text) const {
    size_t n = 0;
    for (const Json& line : all("log")) {
        n += line["level"] >= 3 && line["text"].get<std::string>().find(text) != std::string::npos;
    }
    return n;
}

std::string Outcome::log_text() const {
    std::string text;
    for (const Json& line : all("log")) text += line["text"].get<std::string>();
    return text;
}

LoaderTest::LoaderTest() {
    ::umask(022);
    std::string name = ::testing::TempDir() + "tenon-loader-XXXXXX";
    root_ = ::mkdtemp(name.data()) ? name : "";
    fs::permissions(root_, fs::perms(0755));
    dir_ = new_directory("plugins");
    env_["TENON_PLUGIN_PATH"] = dir_;
    env_["HOME"] = root_;
}

LoaderTest::~LoaderTest() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
}

std::string LoaderTest::new_directory(const std::string& name) {
    const std::string made = root_ + "/" + name;
    fs::create_directories(made);
    fs::permissions(made, fs::perms(0755));
    return made;
}

std::string LoaderTest::put(const std::string& fake, const std::string& name,
                            const std::string& directory) {
    const std::string to =
        (directory.empty() ? dir_ : directory) + "/" + (name.empty() ? fake : name) + ".so";
    fs::copy_file(std::string(TENON_BUILD_DIR) + "/tests/fakes/" + fake + ".so", to,
                  fs::copy_options::overwrite_existing);
    fs::permissions(to, fs::perms(0644));
    return to;
}

Outcome LoaderTest::run(const Commands& commands) {
    const std::string program = std::string(TENON_BUILD_DIR) + "/tests/plugin-report";
    const std::string out = root_ + "/report.jsonl", printed = root_ + "/printed";
    std::vector<std::string> words = {program, out}, settings;
    words.insert(words.end(), commands.begin(), commands.end());
    for (const auto& [key, value] : env_) settings.push_back(key + "=" + value);
    const auto pointers = [](std::vector<std::string>& strings) {
        std::vector<char*> p;
        for (std::string& s : strings) p.push_back(s.data());
        p.push_back(nullptr);
        return p;
    };
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, printed.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0666);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    Outcome outcome;
    pid_t child = -1;
    int status = 0;
    if (::posix_spawn(&child, program.c_str(), &actions, nullptr, pointers(words).data(),
                      pointers(settings).data()) == 0 &&
        ::waitpid(child, &status, 0) == child && WIFEXITED(status)) {
        outcome.exit_code = WEXITSTATUS(status);
    }
    posix_spawn_file_actions_destroy(&actions);
    outcome.printed_bytes = fs::file_size(printed);
    std::ifstream lines(out);
    for (std::string line; std::getline(lines, line);) outcome.lines.push_back(Json::parse(line));
    EXPECT_TRUE(outcome.finished())
        << "exit code " << outcome.exit_code << ", printed: " << read_file(printed).substr(0, 2000);
    return outcome;
}

void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    fs::permissions(path, fs::perms(0644));
}

std::string read_file(const std::string& path) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
}

void patch(const std::string& path, size_t offset, const std::string& bytes) {
    std::string all = read_file(path);
    ASSERT_LE(offset + bytes.size(), all.size());
    all.replace(offset, bytes.size(), bytes);
    write_file(path, all);
}

size_t note_offset(const std::string& bytes) {
    // namesz 6, descsz, type 0x101, "Tenon\0" padded to 8.
    const std::string head{"\x01\x01\0\0Tenon\0\0\0", 12};
    const size_t at = bytes.find(head);
    return at == std::string::npos ? 0 : at + head.size();
}

void patch_note(const std::string& path, const std::function<void(tenon_note_desc&)>& change) {
    const std::string all = read_file(path);
    const size_t at = note_offset(all);
    ASSERT_NE(at, 0u);
    tenon_note_desc desc;
    std::memcpy(&desc, all.data() + at, sizeof desc);
    change(desc);
    patch(path, at, std::string(reinterpret_cast<const char*>(&desc), sizeof desc));
}

void rename_plugin(const std::string& path, const char* family, const char* variant, const char* id,
                   uint32_t rank) {
    patch_note(path, [&](tenon_note_desc& d) {
        if (family) std::snprintf(d.family, sizeof d.family, "%s", family);
        if (variant) std::snprintf(d.variant, sizeof d.variant, "%s", variant);
        if (id) std::snprintf(d.id, sizeof d.id, "%s", id);
        d.rank = rank;
    });
}

bool is_root() { return ::geteuid() == 0; }

}  // namespace tenon::test
