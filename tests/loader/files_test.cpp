// Step 1: which files may be opened at all.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/loader/fixture.h"

namespace tenon::test {
namespace {

namespace fs = std::filesystem;

using Files = LoaderTest;

TEST_F(Files, GoodPluginLoads) {
    put("good");
    const Outcome o = run();
    EXPECT_EQ(o.state("good.so"), "loaded");
    EXPECT_EQ(o.devices(), std::vector<std::string>{"fake0"});
    EXPECT_EQ(o.plugin("good.so")["step"], 15);
    EXPECT_EQ(o.printed_bytes, 0u);
}

TEST_F(Files, EveryStepOfALoadIsRecorded) {
    put("good");
    const Json steps = run().plugin("good.so")["steps"];
    ASSERT_EQ(steps.size(), 15u);
    for (const Json& step : steps) {
        EXPECT_EQ(step["outcome"], step["name"] == "probe" ? TENON_STEP_SKIPPED : TENON_STEP_OK)
            << step;
    }
}

TEST_F(Files, LaterStepsOfARefusedFileAreNotReached) {
    put("no_entry");
    const Json steps = run().plugin("no_entry.so")["steps"];
    EXPECT_EQ(steps[8]["outcome"], TENON_STEP_OK);
    EXPECT_EQ(steps[9]["outcome"], TENON_STEP_FAILED);
    EXPECT_EQ(steps[10]["outcome"], TENON_STEP_NOT_REACHED);
}

TEST_F(Files, EmptyAndTextFilesAreNotElf) {
    write_file(path("empty.so"), "");
    write_file(
        path("text.so"),
        "just words, many more than an ELF header has bytes: 0123456789012345678901234567890");
    const Outcome o = run();
    EXPECT_EQ(o.state("empty.so"), "not-elf");
    EXPECT_EQ(o.state("text.so"), "not-elf");
    EXPECT_EQ(o.warnings("not-elf"), 0u);  // normal in a directory of libraries
}

TEST_F(Files, WritableByOthersIsUnsafe) {
    ::chmod(put("good", "world").c_str(), 0646);
    ::chmod(put("good", "group").c_str(), 0664);
    const Outcome o = run();
    EXPECT_EQ(o.state("world.so"), "unsafe-mode");
    EXPECT_EQ(o.message("world.so"),
              "writable by others (mode 0646); chmod o-w " + path("world.so"));
    EXPECT_EQ(o.message("group.so"),
              "writable by group (mode 0664); chmod g-w " + path("group.so"));
    EXPECT_EQ(o.warnings("unsafe-mode"), 2u);
}

TEST_F(Files, OwnedByAStrangerIsUnsafe) {
    if (!is_root()) GTEST_SKIP() << "only root can give files away";
    ASSERT_EQ(::chown(put("good").c_str(), 4242, 0), 0);
    const Outcome o = run();
    EXPECT_EQ(o.state("good.so"), "unsafe-owner");
    EXPECT_EQ(o.message("good.so"), "owned by uid 4242, not by root or the user of this process");
}

TEST_F(Files, OwnedByTheUserOfTheProcessIsSafe) {
    if (!is_root()) GTEST_SKIP() << "only root can give files away";
    ASSERT_EQ(::chown(put("good").c_str(), 4242, 0), 0);
    EXPECT_EQ(run({"user=4242", "all", "report"}).state("good.so"), "loaded");
}

TEST_F(Files, WritableDirectoryIsUnsafe) {
    put("good");
    ::chmod(dir_.c_str(), 0777);
    const Outcome o = run();
    EXPECT_EQ(o.state("good.so"), "unsafe-dir");
    EXPECT_EQ(o.message("good.so"), "directory " + dir_ +
                                        " is writable by group and others (mode 0777); "
                                        "chmod go-w " +
                                        dir_);
}

TEST_F(Files, WritableDirectoryAboveIsUnsafe) {
    put("good");
    ::chmod(root_.c_str(), 0775);
    EXPECT_EQ(run().state("good.so"), "unsafe-dir");
}

TEST_F(Files, StickyDirectoryIsSafe) {
    put("good");
    ::chmod(dir_.c_str(), 01777);
    EXPECT_EQ(run().state("good.so"), "loaded");
}

TEST_F(Files, DirectoryOfAStrangerIsUnsafe) {
    if (!is_root()) GTEST_SKIP() << "only root can give directories away";
    put("good");
    ASSERT_EQ(::chown(dir_.c_str(), 4242, 0), 0);
    EXPECT_EQ(run().state("good.so"), "unsafe-dir");
}

TEST_F(Files, UnsafeFilesLoadWhenAllowedAndAreWarnedAbout) {
    ::chmod(put("good").c_str(), 0666);
    ::chmod(dir_.c_str(), 0777);
    env_["TENON_ALLOW_UNSAFE_PLUGINS"] = "1";
    const Outcome o = run();
    EXPECT_EQ(o.state("good.so"), "loaded");
    EXPECT_EQ(o.warnings("let pass by TENON_ALLOW_UNSAFE_PLUGINS"), 1u);
}

TEST_F(Files, LinkToAGoodFileLoads) {
    put("good", "target", new_directory("elsewhere"));
    fs::create_symlink(root_ + "/elsewhere/target.so", path("link.so"));
    EXPECT_EQ(run().state("link.so"), "loaded");
}

TEST_F(Files, LinkIntoAnUnsafeDirectoryIsRefused) {
    put("good", "target", new_directory("open"));
    ::chmod((root_ + "/open").c_str(), 0777);
    fs::create_symlink(root_ + "/open/target.so", path("link.so"));
    EXPECT_EQ(run().state("link.so"), "unsafe-dir");
}

TEST_F(Files, BrokenLinksAreUnreadable) {
    fs::create_symlink("b.so", path("a.so"));
    fs::create_symlink("a.so", path("b.so"));
    fs::create_symlink("nowhere", path("dangling.so"));
    const Outcome o = run();
    EXPECT_EQ(o.message("a.so"), "Too many levels of symbolic links");
    EXPECT_EQ(o.state("b.so"), "unreadable");
    EXPECT_EQ(o.message("dangling.so"), "No such file or directory");
}

TEST_F(Files, WhatIsNoRegularFileIsRefused) {
    ASSERT_EQ(::mkfifo(path("fifo.so").c_str(), 0644), 0);
    fs::create_directory(path("directory.so"));
    fs::create_symlink("/dev/null", path("device.so"));
    const Outcome o = run();
    EXPECT_EQ(o.message("fifo.so"), "a fifo, not a regular file");
    EXPECT_EQ(o.message("directory.so"), "a directory, not a regular file");
    EXPECT_EQ(o.message("device.so"), "a device, not a regular file");
    EXPECT_EQ(o.state("device.so"), "not-regular");
}

TEST_F(Files, FileWithoutReadPermissionIsUnreadable) {
    ::chmod(put("good").c_str(), 0);
    const Commands commands =
        is_root() ? Commands{"user=4242", "all", "report"} : Commands{"all", "report"};
    const Outcome o = run(commands);
    EXPECT_EQ(o.state("good.so"), "unreadable");
    EXPECT_EQ(o.message("good.so"), "Permission denied");
}

TEST_F(Files, OneFileThroughTwoDirectoriesLoadsOnce) {
    put("good");
    fs::create_hard_link(path("good.so"), new_directory("second") + "/again.so");
    env_["TENON_PLUGIN_PATH"] = dir_ + ":" + root_ + "/second";
    const Outcome o = run();
    EXPECT_EQ(o.state("good.so"), "loaded");
    EXPECT_EQ(o.state("again.so"), "shadowed");
    EXPECT_EQ(o.message("again.so"), "same file as " + path("good.so"));
}

TEST_F(Files, SameIdInAnotherFileIsShadowed) {
    put("good", "a");
    put("good", "b");
    const Outcome o = run();
    EXPECT_EQ(o.state("a.so"), "loaded");
    EXPECT_EQ(o.state("b.so"), "shadowed");
    EXPECT_EQ(o.message("b.so"),
              "id org.example.fake, variant v1, already found in " + path("a.so"));
}

TEST_F(Files, NamedFileThatDoesNotExistIsAnError) {
    const Outcome o = run({"load=" + path("none.so"), "report"});
    const Json call = o.all("load").at(0);
    EXPECT_EQ(call["status"], TENON_E_IO);
    EXPECT_EQ(call["error"], "unreadable: " + path("none.so") + ": No such file or directory");
}

}  // namespace
}  // namespace tenon::test
