// Where plugins are looked for, and what is said about places without any.

#include <sys/stat.h>

#include <filesystem>

#include "tests/loader/fixture.h"

namespace tenon::test {
namespace {

using Discovery = LoaderTest;

Json directory(const Outcome& o, const std::string& path) {
    for (const Json& d : o.all("directory")) {
        if (d["path"] == path) return d;
    }
    return {};
}

TEST_F(Discovery, MissingDirectoryIsReportedAndNoError) {
    env_["TENON_PLUGIN_PATH"] = root_ + "/nowhere";
    const Outcome o = run({"all", "directories", "devices", "log"});
    EXPECT_EQ(directory(o, root_ + "/nowhere")["state"], "missing");
    EXPECT_TRUE(o.devices().empty());
    EXPECT_EQ(o.warnings("TENON_PLUGIN_PATH: directory " + root_ + "/nowhere: does not exist"), 1u)
        << o.log_text();
}

TEST_F(Discovery, FileInThePlaceOfADirectoryIsCalledSo) {
    const std::string file = put("good");
    for (const char* variable : {"TENON_PLUGIN_PATH", "TENON_PLUGIN_ADD_PATH"}) {
        env_.erase("TENON_PLUGIN_PATH");
        env_[variable] = file;
        const Outcome o = run({"all", "directories", "log"});
        EXPECT_EQ(directory(o, file)["state"], "unreadable");
        EXPECT_EQ(directory(o, file)["detail"], "is not a directory");
        EXPECT_EQ(o.warnings(variable + (": directory " + file) + ": is not a directory"), 1u)
            << o.log_text();
    }
    const Outcome o = run({"dir=" + file, "log"});
    EXPECT_EQ(o.warnings("application: directory " + file + ": is not a directory"), 1u)
        << o.log_text();
}

TEST_F(Discovery, DefaultPlacesThatDoNotExistAreNoWarning) {
    env_.erase("TENON_PLUGIN_PATH");
    EXPECT_EQ(run({"all", "log"}).warnings("directory"), 0u);
}

TEST_F(Discovery, UnreadableDirectoryIsReportedAndNoError) {
    put("good", "", new_directory("second"));
    ::chmod(dir_.c_str(), 0);
    env_["TENON_PLUGIN_PATH"] = dir_ + ":" + root_ + "/second";
    Commands commands = {"all", "directories", "report", "log"};
    if (is_root()) commands.insert(commands.begin(), "user=4242");
    const Outcome o = run(commands);
    EXPECT_EQ(directory(o, dir_)["state"], "unreadable");
    EXPECT_EQ(o.state("good.so"), "loaded");
    EXPECT_GE(o.warnings("Permission denied"), 1u);
    ::chmod(dir_.c_str(), 0755);
}

TEST_F(Discovery, DirectoryThatDisappearsIsSurvived) {
    put("good");
    const Outcome o = run({"scan", "remove=" + dir_, "all", "report"});
    EXPECT_EQ(o.state("good.so"), "candidate");  // as it was when last looked at
}

TEST_F(Discovery, RelativeAndEmptyEntriesAreSkippedWithAWarning) {
    put("good");
    env_["TENON_PLUGIN_PATH"] = "plugins::" + dir_;
    const Outcome o = run({"all", "report", "log", "directories"});
    EXPECT_EQ(o.state("good.so"), "loaded");
    EXPECT_EQ(o.warnings("entry 'plugins' skipped"), 1u);  // although the places were listed too
    EXPECT_EQ(o.warnings("entry '' skipped"), 1u);
    EXPECT_EQ(directory(o, "plugins")["state"], "relative");
}

TEST_F(Discovery, WorkingDirectoryIsNeverSearched) {
    put("good");
    env_.erase("TENON_PLUGIN_PATH");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(dir_);
    const Outcome o = run({"all", "dir=", "report"});
    std::filesystem::current_path(before);
    EXPECT_TRUE(o.plugin("good.so").is_null());
}

TEST_F(Discovery, AddedDirectoriesComeBeforeTheDefaults) {
    put("good");
    env_.erase("TENON_PLUGIN_PATH");
    env_["TENON_PLUGIN_ADD_PATH"] = dir_;
    const Outcome o = run({"all", "report", "directories"});
    EXPECT_EQ(o.state("good.so"), "loaded");
    EXPECT_EQ(o.plugin("good.so")["origin"], "TENON_PLUGIN_ADD_PATH");
    const auto directories = o.all("directory");
    ASSERT_GE(directories.size(), 3u);
    EXPECT_EQ(directories[0]["path"], dir_);
    EXPECT_EQ(directories[1]["origin"], "beside-library");
    EXPECT_EQ(directories[2]["origin"], "built-in");
}

TEST_F(Discovery, OnlyTheGivenDirectoryIsLoaded) {
    put("good");
    rename_plugin(put("good", "other", new_directory("second")), "other", nullptr, "org.example.o");
    const Outcome o = run({"dir=" + root_ + "/second", "report", "devices"});
    EXPECT_TRUE(o.plugin("good.so").is_null());
    EXPECT_EQ(o.devices(), std::vector<std::string>{"other0"});
}

TEST_F(Discovery, BackendPathIsLoadedToo) {
    put("good");
    env_["GGML_BACKEND_PATH"] = put("good", "extra", new_directory("second"));
    rename_plugin(env_["GGML_BACKEND_PATH"], "extra", nullptr, "org.example.extra");
    const Outcome o = run();
    EXPECT_EQ(o.state("extra.so"), "loaded");
    EXPECT_EQ(o.plugin("extra.so")["origin"], "GGML_BACKEND_PATH");
}

TEST_F(Discovery, BackendPathThatIsNotAbsoluteIsRefused) {
    put("good", "here");
    env_["TENON_PLUGIN_PATH"] = new_directory("empty");
    for (const char* relative : {"here.so", "./here.so", "../plugins/here.so"}) {
        env_["GGML_BACKEND_PATH"] = relative;
        const auto before = std::filesystem::current_path();
        std::filesystem::current_path(dir_);
        const Outcome o = run();
        std::filesystem::current_path(before);
        EXPECT_TRUE(o.devices().empty()) << relative;
        EXPECT_TRUE(o.plugin("here.so").is_null());
        EXPECT_EQ(o.warnings("GGML_BACKEND_PATH: '" + std::string(relative) +
                             "' skipped: not an absolute path"),
                  1u);
    }
}

TEST_F(Discovery, UserDirectoryThatIsNotAbsoluteIsRefused) {
    env_.erase("TENON_PLUGIN_PATH");
    env_["XDG_DATA_HOME"] = "share";
    const Outcome o = run({"set=user_plugins=1", "all", "log"});
    EXPECT_EQ(o.warnings("XDG_DATA_HOME: 'share' skipped: not an absolute path"), 1u);
}

TEST_F(Discovery, RefusalOfTheBackendPathIsAnError) {
    env_["GGML_BACKEND_PATH"] = root_ + "/text.so";
    write_file(root_ + "/text.so", "no plugin");
    const Outcome o = run();
    EXPECT_EQ(o.state("text.so"), "not-elf");
    for (const Json& line : o.all("log")) {
        if (line["text"].get<std::string>().find("not-elf") != std::string::npos) {
            EXPECT_EQ(line["level"], GGML_LOG_LEVEL_ERROR);
            return;
        }
    }
    FAIL() << "nothing logged";
}

TEST_F(Discovery, WarningsAreNotRepeatedByLaterLoads) {
    put("good");
    put("init_fails");
    write_file(path("half.so"), std::string("\x7f"
                                            "ELF",
                                            4));
    ::chmod(put("good", "open").c_str(), 0666);
    env_["TENON_PLUGIN_PATH"] = "plugins:" + dir_ + ":" + root_ + "/nowhere";
    env_["TENON_FAKE_VARIANT"] = "gigantic";
    env_["TENON_DEVICES"] = "fake0,nobody";
    const Outcome o = run({"scan", "all", "scan", "all", "directories", "log"});
    std::map<std::string, int> times;
    for (const Json& line : o.all("log")) {
        if (line["level"] >= 3) ++times[line["text"]];
    }
    EXPECT_GE(times.size(), 6u) << o.log_text();
    for (const auto& [text, n] : times) EXPECT_EQ(n, 1) << text;
}

TEST_F(Discovery, FilesAreTakenInByteOrderAndOnlySharedObjects) {
    for (const char* name : {"b", "a", "B"}) put("good", name);
    write_file(path("readme.txt"), "no plugin");
    write_file(path(".so"), "hidden");
    const Outcome o = run({"scan", "report"});
    EXPECT_EQ(o.all("plugin").size(), 3u);
    EXPECT_EQ(o.state("B.so"), "candidate");
    EXPECT_EQ(o.state("a.so"), "shadowed");
}

TEST_F(Discovery, ScanLoadsNothing) {
    put("prints");
    rename_plugin(put("good"), nullptr, "small", nullptr, 5);
    const Outcome o = run({"scan", "report"});
    EXPECT_EQ(o.state("prints.so"), "candidate");
    EXPECT_EQ(o.state("good.so"), "variant-not-chosen");
    EXPECT_EQ(o.printed_bytes, 0u);
}

}  // namespace
}  // namespace tenon::test
