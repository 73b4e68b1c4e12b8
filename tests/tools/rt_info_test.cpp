// rt-info as a program, over the fake plugins of the loader's tests.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/loader/fixture.h"

namespace tenon::test {
namespace {

struct Answer {
    int code = -1;  // exit code; -1: ended by a signal
    std::string out, err;
};

// What of a JSON document breaks the schema: the subset of JSON Schema that ours uses.
std::string violation(const Json& value, const Json& schema, const std::string& where) {
    const auto is_type = [&](const std::string& type) {
        return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
               (type == "string" && value.is_string()) || (type == "null" && value.is_null()) ||
               (type == "boolean" && value.is_boolean()) ||
               (type == "number" && value.is_number()) ||
               (type == "integer" && value.is_number_integer());
    };
    if (schema.contains("const") && value != schema["const"]) return where + " is " + value.dump();
    if (schema.contains("enum")) {
        bool any = false;
        for (const Json& word : schema["enum"]) any = any || word == value;
        if (!any) return where + " is " + value.dump();
    }
    if (schema.contains("type")) {
        const Json types =
            schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
        bool any = false;
        for (const Json& type : types) any = any || is_type(type);
        if (!any) return where + " is " + value.dump() + ", not " + types.dump();
    }
    if (value.is_object() && schema.contains("required")) {
        for (const Json& key : schema["required"]) {
            if (!value.contains(key.get<std::string>())) return where + " lacks " + key.dump();
        }
    }
    if (value.is_object() && schema.contains("properties")) {
        for (const auto& [key, sub] : schema["properties"].items()) {
            if (!value.contains(key)) continue;
            if (std::string no = violation(value[key], sub, where + "." + key); !no.empty())
                return no;
        }
    }
    if (value.is_array() && schema.contains("items")) {
        for (size_t i = 0; i < value.size(); ++i) {
            const std::string at = where + "[" + std::to_string(i) + "]";
            if (std::string no = violation(value[i], schema["items"], at); !no.empty()) return no;
        }
    }
    return "";
}

class RtInfo : public LoaderTest {
protected:
    // Runs a shell command line in which "rt-info" is the program.
    Answer shell(const std::string& line) {
        const std::string out = root_ + "/out", err = root_ + "/err";
        std::string command = "env -i";
        for (const auto& [key, value] : env_) command += " '" + key + "=" + value + "'";
        command += " sh -c 'rt_info=\"" TENON_RT_INFO "\"; " + line + "' >" + out + " 2>" + err;
        const int status = std::system(command.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
    }
    Answer rt_info(const std::string& arguments = "") { return shell("\"$rt_info\" " + arguments); }

    Json json(const std::string& arguments = "") {
        const Answer a = rt_info("--json " + arguments);
        const Json doc = Json::parse(a.out, nullptr, /*allow_exceptions=*/false);
        EXPECT_FALSE(doc.is_discarded()) << a.out << a.err;
        const Json schema = Json::parse(read_file(TENON_RT_INFO_SCHEMA));
        EXPECT_EQ(violation(doc, schema, "document"), "") << arguments;
        EXPECT_TRUE(a.out.ends_with("}\n"));
        return doc;
    }
    std::string put_family(const std::string& fake, const std::string& family) {
        const std::string file = put(fake);
        rename_plugin(file, family.c_str(), nullptr, ("org.example." + family).c_str());
        return file;
    }
};

void expect_has(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
}

void expect_clean(const std::string& text) {
    EXPECT_EQ(text.find(" \n"), std::string::npos) << "trailing blank in:\n" << text;
    for (const char c : text) {
        EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
    }
}

TEST_F(RtInfo, PrintsATableOfDevices) {
    put("good");
    const Answer a = rt_info();
    EXPECT_EQ(a.code, 0);
    EXPECT_EQ(a.out,
              "NAME   KIND   DEVICE         MEMORY        DRIVER    PLUGIN\n"
              "fake0  accel  a fake device  ~1.0/2.0 GiB  fake 1.0  fake 1.0\n");
    EXPECT_EQ(a.err, "");
}

TEST_F(RtInfo, ListsDevicesAsLlamaDoes) {
    put("good");
    EXPECT_EQ(rt_info("-L").out, "fake0: a fake device (2048 MiB, 1024 MiB free)\n");
}

TEST_F(RtInfo, SaysWhereItLookedWhenThereIsNothing) {
    for (const std::string& directory : {dir_, root_ + "/nowhere"}) {
        env_["TENON_PLUGIN_PATH"] = directory;
        const Answer a = rt_info();
        EXPECT_EQ(a.code, 3);
        expect_has(a.out, "no usable device");
        expect_has(a.out, directory + "   (TENON_PLUGIN_PATH)   ");
    }
    expect_has(rt_info().out, "does not exist");
}

TEST_F(RtInfo, LossesHaveALineThatNamesTheNextCommand) {
    put("good");
    put_family("no_driver", "hip");
    expect_has(rt_info().out, "\n1 plugin failed: hip, no-driver (rt-info --explain hip)\n");
    put_family("one_fails", "npu");
    expect_has(rt_info().out, "\n1 device refused (rt-info --explain)\n");
}

TEST_F(RtInfo, HiddenDevicesAreCountedAndShownByAll) {
    put("gpus");
    put_family("same_gpu", "portable");
    expect_has(rt_info().out, "1 device hidden (rt-info --all)");
    EXPECT_EQ(rt_info().out.find("portable0"), std::string::npos);
    expect_has(rt_info("--all").out, "portable0");
    expect_has(rt_info("--all").out, "hidden: the same hardware as fake0");
}

TEST_F(RtInfo, PluginsShowStateAndReason) {
    put("good");
    put_family("no_driver", "hip");
    write_file(path("text.so"), "no plugin");
    const Answer a = rt_info("--plugins");
    EXPECT_EQ(a.code, 0);
    expect_has(a.out, "STATE      FAMILY  VARIANT  VERSION  ABI  FILE");
    expect_has(a.out, "no-driver  hip     v1       1.0      1.0  " + path("no_driver.so"));
    expect_has(a.out, "not-elf    -       -        -        -    " + path("text.so"));
    expect_has(a.out, "libfakedriver.so.7: cannot open shared object file");
    expect_has(a.out, "directories: " + dir_ + " (3 files, from TENON_PLUGIN_PATH)");
}

TEST_F(RtInfo, UnusedVariantsCollapseIntoOneLine) {
    put("good", "a");
    for (const char* name : {"b", "c"}) rename_plugin(put("good", name), nullptr, name, nullptr, 5);
    const Answer a = rt_info("--plugins");
    expect_has(a.out, "2 other fake variants: b, c\n");
    EXPECT_EQ(a.out.find("variant-not-chosen"), std::string::npos);
    expect_has(rt_info("--plugins --all").out, "v1 has a higher rank");
}

TEST_F(RtInfo, NoLoadOnlyLooks) {
    put("prints");
    const Answer a = rt_info("--no-load --plugins");
    EXPECT_EQ(a.code, 0);
    expect_has(a.out, "candidate  fake");
    EXPECT_EQ(a.err, "");
}

TEST_F(RtInfo, OnePluginFileShowsOneRow) {
    put("good");
    const std::string file = put("entry_fails", "other", new_directory("second"));
    const Answer a = rt_info("--plugins --plugin " + file);
    EXPECT_EQ(a.code, 3);
    expect_has(a.out, "entry-failed");
    EXPECT_EQ(a.out.find("good.so"), std::string::npos);
    EXPECT_EQ(rt_info("--plugin " + root_ + "/none.so").code, 5);
    EXPECT_EQ(json("--no-load --plugin " + file)["plugins"].size(), 1u);
}

TEST_F(RtInfo, ExplainPrintsTheStepsUpToTheOneThatFailed) {
    put_family("no_driver", "hip");
    const Answer a = rt_info("--explain HIP");
    expect_has(a.out, "  1 file            ok    ");
    expect_has(a.out, "  8 probe           --    skipped: this version does not probe\n");
    expect_has(a.out, " 13 init            NO    no-driver: libfakedriver.so.7");
    expect_has(a.out, " 14 devices         --    not reached\n");
    expect_has(a.out, " what helps         install the driver");
    EXPECT_EQ(a.out.find("15 registered"), std::string::npos);
    expect_has(rt_info("--explain").out, "NO    no-driver");
    expect_has(rt_info("--explain no_driver.so").out, "NO    no-driver");
}

TEST_F(RtInfo, ExplainWithNothingLostSaysSo) {
    put("good");
    EXPECT_EQ(rt_info("--explain").out, "everything found is in use\n");
    expect_has(rt_info("--explain fake0").out, " 15 registered      ok    as fake\n");
}

TEST_F(RtInfo, EveryFailureHasHelp) {
    for (const char* fake : {"no_entry", "undefined", "entry_fails", "null_table", "mismatch",
                             "score_zero", "no_driver", "no_device", "init_fails", "idle"}) {
        const std::string file = put(fake);
        expect_has(rt_info("--explain --plugin " + file).out, " what helps         ");
    }
}

TEST_F(RtInfo, OpsMatrixCountsWhatTheDeviceAccepts) {
    put("gpus");
    const Answer a = rt_info("--ops");
    expect_has(a.out, "fake0-7\n");
    expect_has(a.out, " supported at least in part");
    const Json ops = json("--ops")["ops"];
    EXPECT_EQ(ops["columns"].size(), 1u);
    for (const Json& row : ops["rows"]) {
        if (row["op"] != "ADD") continue;
        size_t yes = 0;
        for (const Json& call : row["calls"]) yes += call["verdicts"][0]["support"] == "yes";
        EXPECT_GT(yes, 0u);
        EXPECT_LT(yes, row["calls"].size());
        return;
    }
    FAIL() << "no row ADD";
}

TEST_F(RtInfo, OneOpShowsReasonsAndEstimates) {
    put("good");
    const Answer a = rt_info("--op add");
    EXPECT_EQ(a.code, 0);
    expect_has(a.out, "ADD               a + b\n");
    expect_has(a.out, "no: only f32 is added");
    expect_has(a.out, "yes ~1.5 µs");
    expect_has(a.out, "operations");
    for (const Json& row : json("--op add")["ops"]["rows"]) {
        for (const Json& call : row["calls"]) {
            EXPECT_GT(call["operations"], 0);
            EXPECT_GT(call["bytes_read"], call["bytes_written"]);
            const Json& verdict = call["verdicts"][0];
            if (verdict["support"] == "no") {
                EXPECT_TRUE(verdict["estimate"].is_null());
            } else {
                EXPECT_EQ(verdict["estimate"]["source"], "plugin");
                EXPECT_EQ(verdict["estimate"]["time_ns"], 1500);
            }
        }
    }
    expect_has(rt_info("--op GELU").out, "UNARY:GELU");
    EXPECT_EQ(rt_info("--op NOPE").code, 5);
}

TEST_F(RtInfo, OneOpIsDescribedWithoutAnyPlugin) {
    const Answer a = rt_info("--op MUL_MAT");
    EXPECT_EQ(a.code, 3);
    expect_has(a.out, "MUL_MAT");
    expect_has(a.out, "sources");
}

TEST_F(RtInfo, TypesAndDifferencesRestrictTheMatrix) {
    put("good");
    put_family("gpus", "other");
    EXPECT_EQ(json("--ops --diff fake0,other0")["ops"]["rows"].size(), 0u);
    const Json of_type = json("--ops --type q4_K");
    for (const Json& row : of_type["ops"]["rows"]) {
        for (const Json& call : row["calls"]) {
            expect_has(call["call"].get<std::string>(), "q4_K");
        }
    }
    EXPECT_EQ(rt_info("--ops --diff fake0").code, 2);
    EXPECT_EQ(rt_info("--ops --diff fake0,nobody").code, 5);
}

TEST_F(RtInfo, PathsShowSettingsWithOrigin) {
    env_["TENON_PROBE"] = "off";
    env_["TENON_PLUGIN_PAHT"] = "/x";
    env_["CUDA_VISIBLE_DEVICES"] = "1";
    const Answer a = rt_info("--paths");
    EXPECT_EQ(a.code, 0);
    expect_has(a.out, "probe                  = off          from TENON_PROBE");
    expect_has(a.out, "unknown variable, nearest is TENON_PLUGIN_PATH");
    expect_has(a.out, "CUDA_VISIBLE_DEVICES=1 (acts inside the vendor's runtime)");
    expect_has(a.out, "directories    1 " + dir_);
    expect_clean(a.out);
}

TEST_F(RtInfo, VersionHasFourLinesAndLoadsNothing) {
    put("prints");
    const Answer a = rt_info("--version");
    EXPECT_EQ(a.code, 0);
    EXPECT_EQ(std::count(a.out.begin(), a.out.end(), '\n'), 4);
    EXPECT_EQ(a.err, "");
}

TEST_F(RtInfo, HelpFitsAScreenAndNamesEveryOption) {
    const Answer a = rt_info("--help");
    EXPECT_EQ(a.code, 0);
    EXPECT_LE(std::count(a.out.begin(), a.out.end(), '\n'), 50);
    for (const char* option : {"--list",    "--plugins", "--explain", "--ops",     "--op ",
                               "--paths",   "--version", "--all",     "--verbose", "--json",
                               "--device",  "--type",    "--diff",    "--no-load", "--plugin-path",
                               "--plugin ", "--strict",  "--require", "--color",   "--timeout"}) {
        expect_has(a.out, option);
    }
}

TEST_F(RtInfo, MistakesAreUsageErrors) {
    const Answer a = rt_info("--plugn");
    EXPECT_EQ(a.code, 2);
    expect_has(a.err, "nearest is '--plugin'");
    for (const char* later : {"--hardware", "--probe", "--why x"})
        EXPECT_EQ(rt_info(later).code, 2) << later;
    EXPECT_EQ(rt_info("--ops --plugins").code, 2);
    EXPECT_EQ(rt_info("--color sometimes").code, 2);
    EXPECT_EQ(rt_info("--timeout 0").code, 2);
    EXPECT_EQ(rt_info("nonsense").code, 2);
}

TEST_F(RtInfo, UnknownNamesListTheValidOnes) {
    put("good");
    for (const char* arguments : {"--device 9", "--device nonsense", "--explain nonsense"}) {
        const Answer a = rt_info(arguments);
        EXPECT_EQ(a.code, 5) << arguments;
        expect_has(a.err, "fake0");
        EXPECT_EQ(a.out, "");
    }
    EXPECT_EQ(rt_info("--device FAKE*").code, 0);
    const Answer type = rt_info("--ops --type q4_K,zzz*");
    EXPECT_EQ(type.code, 5);
    expect_has(type.err, "unknown type 'zzz*'");
    expect_has(type.err, "q4_0");
    EXPECT_EQ(rt_info("--ops --type q4_K,iq*").code, 0);
}

TEST_F(RtInfo, DevicesThatAreAllHiddenAreNoDevices) {
    put("good");
    env_["TENON_DEVICES"] = "nonsense";
    const Answer a = rt_info();
    EXPECT_EQ(a.code, 3);
    expect_has(a.out, "every device is hidden (rt-info --all says why)");
    expect_has(a.err, "fake0");
    EXPECT_EQ(a.out.find("no plugin that could run"), std::string::npos);
}

TEST_F(RtInfo, ASwitchWithANonsensicalValueKeepsItsDefault) {
    put("good");
    env_["TENON_AUTOLOAD"] = "maybe";
    const Answer a = rt_info();
    EXPECT_EQ(a.code, 0);
    expect_has(a.out, "fake0");
}

TEST_F(RtInfo, RequireAndStrictAreVerdicts) {
    put("gpus");
    EXPECT_EQ(rt_info("--require gpu --require fake --require 0000:41:00.0 --require fake3").code,
              0);
    EXPECT_EQ(rt_info("--require cpu").code, 5);
    EXPECT_EQ(rt_info("--strict").code, 0);
    put_family("no_driver", "hip");
    EXPECT_EQ(rt_info("--strict").code, 0);
    put_family("entry_fails", "broken");
    EXPECT_EQ(rt_info("--strict").code, 4);
    EXPECT_EQ(rt_info("").code, 0);
    EXPECT_EQ(rt_info("--strict --require cpu").code, 5);
}

TEST_F(RtInfo, RefusedDevicesAreStrictFailures) {
    put("one_fails");
    EXPECT_EQ(rt_info("--strict --plugins").code, 4);
}

TEST_F(RtInfo, JsonIsCompleteForEveryQuestion) {
    put("good");
    put_family("gpus", "other");
    put_family("no_driver", "hip");
    for (const char* what :
         {"", "-L", "--plugins", "--explain", "--explain hip", "--ops", "--op ADD", "--paths",
          "--version", "--all", "--no-load", "-v", "--device other3"}) {
        json(what);
    }
    const Json doc = json("-v");
    EXPECT_EQ(doc["devices"].size(), 9u);
    EXPECT_EQ(doc["devices"][1]["identity"]["pci"], "0000:41:00.0");
    EXPECT_EQ(doc["devices"][0]["memory"]["free"], 1u << 30);
    EXPECT_EQ(doc["devices"][0]["ops"]["any"].is_number(), true);
    EXPECT_EQ(doc["plugins"][0]["steps"].size(), 15u);
    EXPECT_EQ(doc["problems"][0]["about"], "hip");
}

TEST_F(RtInfo, PluginThatPrintsDoesNotSpoilTheAnswer) {
    put("prints");
    EXPECT_EQ(json()["devices"].size(), 1u);
    EXPECT_EQ(rt_info("-L").out, "fake0: a fake device (2048 MiB, 1024 MiB free)\n");
}

TEST_F(RtInfo, NastyNamesAreTamed) {
    put("nasty_name");
    const Answer a = rt_info();
    expect_clean(a.out);
    expect_has(a.out, "a\"b\\c?d?[31me");
    expect_clean(rt_info("-v").out);
    EXPECT_EQ(json()["devices"][0]["name"], "a\"b\\c\nd\x1b[31me");
}

TEST_F(RtInfo, HangingPluginEndsWithWhatIsKnown) {
    put("good", "a");
    put_family("hangs", "zzz");
    const Answer a = rt_info("--plugins --timeout 1");
    EXPECT_EQ(a.code, 124);
    expect_has(a.out, "loading…");
    expect_has(a.out, path("a.so"));
    expect_has(a.err, "hangs.so did not finish within 1 s");
}

// A site install of another administrator, and one whose owner has no number in a sandbox.
TEST_F(RtInfo, TreeOfAnotherOwnerIsTrustedBelowItsOwnLibrary) {
    if (!is_root()) GTEST_SKIP() << "only root can give files away";
    const std::string site = new_directory("site"), plugins = site + "/lib/tenon/plugins-1";
    env_["site"] = site;
    ASSERT_EQ(shell("mkdir -p $site/bin $site/lib/tenon/plugins-1 && cp \"$rt_info\" $site/bin && "
                    "cp -P \"$(dirname \"$rt_info\")\"/../lib/libtenon.so* $site/lib")
                  .code,
              0);
    put("good", "good", plugins);
    ASSERT_EQ(shell("chmod -R go-w $site && chown -R 4242:4242 $site").code, 0);
    env_.erase("TENON_PLUGIN_PATH");
    expect_has(shell("$site/bin/rt-info --list").out, "fake0");
    if (shell("unshare --user --map-root-user true").code != 0) {
        GTEST_SKIP() << "no user namespaces here";
    }
    expect_has(shell("unshare --user --map-root-user $site/bin/rt-info --list").out, "fake0");
    ASSERT_EQ(shell("chown 4343 $site/lib/tenon/plugins-1").code, 0);
    expect_has(shell("$site/bin/rt-info --plugins").out, "unsafe-dir");
}

// The dynamic linker is busy with it, and what needs the dynamic linker would wait.
TEST_F(RtInfo, PluginThatIsStuckInAnInitialiserEndsWithWhatIsKnown) {
    put("good", "a");
    put_family("stuck", "zzz");
    for (const char* arguments : {"--plugins --timeout 1", "--json --timeout 1"}) {
        const Answer a = rt_info(arguments);
        EXPECT_EQ(a.code, 124);
        expect_has(a.out, "loading");
        expect_has(a.err, "stuck.so did not finish within 1 s");
    }
}

TEST_F(RtInfo, FullDiskIsAnErrorAndClosedDescriptorsAreNone) {
    put("good");
    EXPECT_EQ(shell("\"$rt_info\" >/dev/full").code, 1);
    EXPECT_EQ(shell("\"$rt_info\" <&- 2>&-").code, 0);
    EXPECT_EQ(shell("\"$rt_info\" <&- >&- 2>&-").code, 0);
    EXPECT_EQ(shell("\"$rt_info\" | head -c 1").err, "");
}

TEST_F(RtInfo, VerboseDescribesADevice) {
    put("gpus");
    const Answer a = rt_info("-v --device fake2");
    expect_has(a.out, "fake2\n  description        a fake device\n  kind               gpu\n");
    expect_has(a.out, "  identity           pci 0000:43:00.0 (1e52:401e)   partition -\n");
    expect_has(a.out, "  attributes         color=red\n");
    expect_has(a.out, "at least in part");
}

TEST_F(RtInfo, UnknownVariantIsWarnedAboutOnStderr) {
    put("good");
    env_["TENON_FAKE_VARIANT"] = "nope";
    const Answer a = rt_info();
    EXPECT_EQ(a.code, 0);
    expect_has(a.err, "variant 'nope' of family fake is unknown or unusable here; valid: v1");
}

TEST_F(RtInfo, WorksWithoutAHome) {
    put("good");
    env_.erase("HOME");
    EXPECT_EQ(rt_info().code, 0);
}

TEST_F(RtInfo, DefaultTableFitsEightyColumns) {
    put("good");
    env_["COLUMNS"] = "80";
    const Answer a = rt_info();
    for (size_t begin = 0; begin < a.out.size();) {
        const size_t end = a.out.find('\n', begin);
        EXPECT_LE(end - begin, 80u);
        begin = end + 1;
    }
}

}  // namespace
}  // namespace tenon::test
