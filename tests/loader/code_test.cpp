// Steps 9 to 13: what the code of a plugin does wrong.

#include <filesystem>

#include "tests/loader/fixture.h"

namespace tenon::test {
namespace {

// One wrong plugin beside a good one of another family, which must load whatever happens.
class Code : public LoaderTest {
protected:
    Outcome run_beside_good(const std::string& fake) {
        put(fake);
        rename_plugin(put("good"), "other", nullptr, "org.example.other");
        const Outcome o = run();
        EXPECT_EQ(o.state("good.so"), "loaded");
        return o;
    }
    void expect(const std::string& fake, const std::string& state,
                const std::string& message_part) {
        const Outcome o = run_beside_good(fake);
        EXPECT_EQ(o.state(fake + ".so"), state);
        EXPECT_NE(o.message(fake + ".so").find(message_part), std::string::npos)
            << o.message(fake + ".so");
    }
};

TEST_F(Code, UndefinedSymbolIsNamed) {
    expect("undefined", "dlopen-failed", "nobody_defines_this");
}

TEST_F(Code, MissingLibraryIsNamed) {
    expect("needs_gone", "dlopen-failed", "libfake_gone.so: cannot open shared object file");
    EXPECT_NE(
        run().message("needs_gone.so").find("(first missing library it needs: libfake_gone.so)"),
        std::string::npos);
}

TEST_F(Code, MissingEntry) { expect("no_entry", "no-entry", "tenon_plugin_entry_v1"); }

TEST_F(Code, EntryErrorIsPassedOn) {
    expect("entry_fails", "entry-failed", "this fake wants a younger host");
}

TEST_F(Code, NoTable) { expect("null_table", "bad-table", "no table"); }

TEST_F(Code, ShortTable) { expect("short_table", "bad-table", "table has 8 bytes"); }

TEST_F(Code, TableOfAnotherBuild) {
    expect("mismatch", "note-mismatch", "version is '9.9' in the table, '1.0' in the note");
}

TEST_F(Code, TableForgettingAFunction) { expect("null_pointer", "bad-table", "init is NULL"); }

TEST_F(Code, TableWithBrokenText) { expect("bad_text", "bad-table", "display_name is not UTF-8"); }

TEST_F(Code, ScoreZeroIsAVeto) {
    expect("score_zero", "score-zero", "driver 1.2 is older than 2.0");
    EXPECT_EQ(run().warnings("score-zero"), 0u);
}

TEST_F(Code, MissingDriverIsNormal) {
    expect("no_driver", "no-driver", "libfakedriver.so.7: cannot open shared object file");
    EXPECT_EQ(run().warnings("no-driver"), 0u);
}

TEST_F(Code, MissingDeviceIsNormal) {
    expect("no_device", "no-device", "no fake on the bus (fakeErrorNoDevice, 100)");
}

TEST_F(Code, FailureWithoutTextGetsOne) {
    const Outcome o = run_beside_good("init_fails");
    EXPECT_EQ(o.state("init_fails.so"), "init-failed");
    EXPECT_FALSE(o.message("init_fails.so").empty());
    EXPECT_EQ(o.warnings(": init-failed: "), 1u);
}

TEST_F(Code, PluginThatPrintsIsSurvived) {
    const Outcome o = run_beside_good("prints");
    EXPECT_EQ(o.state("prints.so"), "loaded");
    EXPECT_GE(o.printed_bytes, 2u << 20);
}

TEST_F(Code, OptionsReachThePlugin) {
    put("good");
    env_["TENON_FAKE_LABEL"] = "from the environment";
    EXPECT_EQ(run().all("device").at(0)["description"], "from the environment");
    EXPECT_EQ(run({"set=fake.label=from the program", "all", "devices"})
                  .all("device")
                  .at(0)["description"],
              "from the program");
}

TEST_F(Code, LoadingOneFileTellsItsState) {
    const std::string file = put("entry_fails");
    const Json call = run({"load=" + file}).all("load").at(0);
    EXPECT_EQ(call["error"], "entry-failed: " + file + ": this fake wants a younger host");
    EXPECT_NE(call["status"], TENON_OK);
}

TEST_F(Code, FileReplacedWhileLoadingIsLookedAtAgain) {
    const std::string file = put("replaces");
    put("good", "fresh");
    std::filesystem::rename(path("fresh.so"), file + ".1");
    env_["FAKE_FILE"] = file;
    const Outcome o = run();
    EXPECT_EQ(o.state("replaces.so"), "loaded");
    EXPECT_NE(
        o.plugin("replaces.so")["steps"][6]["detail"].get<std::string>().find("changed on disk"),
        std::string::npos);
}

TEST_F(Code, FileReplacedTwiceIsRefused) {
    const std::string file = put("replaces");
    put("replaces", "fresh");
    std::filesystem::rename(path("fresh.so"), file + ".1");
    put("replaces", "fresher");
    std::filesystem::rename(path("fresher.so"), file + ".2");
    env_["FAKE_FILE"] = file;
    EXPECT_EQ(run().state("replaces.so"), "changed-on-disk");
}

TEST_F(Code, FileThatBecameAnotherPluginIsRefused) {
    const std::string file = put("replaces");
    rename_plugin(put("good", "fresh"), "stranger", nullptr, "org.example.stranger");
    std::filesystem::rename(path("fresh.so"), file + ".1");
    env_["FAKE_FILE"] = file;
    const Outcome o = run();
    EXPECT_EQ(o.state("replaces.so"), "changed-on-disk");
    EXPECT_EQ(o.message("replaces.so"), "was org.example.fake, is now org.example.stranger");
}

}  // namespace
}  // namespace tenon::test
