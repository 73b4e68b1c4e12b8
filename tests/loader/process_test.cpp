// Loading as a whole: by itself, twice, from many threads, many plugins, and taking one out again.

#include <chrono>

#include "tests/loader/fixture.h"

namespace tenon::test {
namespace {

using Process = LoaderTest;

TEST_F(Process, FirstUseOfTheRegistryLoads) {
    put("good");
    EXPECT_EQ(run({"devices"}).devices(), std::vector<std::string>{"fake0"});
}

TEST_F(Process, AutoloadCanBeTurnedOff) {
    put("good");
    env_["TENON_AUTOLOAD"] = "0";
    EXPECT_TRUE(run({"devices"}).devices().empty());
    EXPECT_EQ(run({"all", "devices"}).devices().size(), 1u);
}

TEST_F(Process, LoadingTwiceChangesNothing) {
    const std::string file = put("good");
    put("no_driver");
    const Outcome o = run({"all", "all", "load=" + file, "devices", "report", "log"});
    EXPECT_EQ(o.devices().size(), 1u);
    EXPECT_EQ(o.all("load").at(0)["status"], TENON_OK);
    EXPECT_EQ(o.all("plugin").size(), 2u);
}

TEST_F(Process, FileThatFailedIsNotStartedAgainByASecondLoad) {
    put("init_fails");
    EXPECT_EQ(run({"all", "all", "log"}).warnings("init-failed: internal"), 1u);
}

TEST_F(Process, PluginThatArrivesLaterIsFound) {
    const std::string first = put("good");
    const std::string later = put("good", "later", new_directory("second"));
    rename_plugin(later, "other", nullptr, "org.example.other");
    const Outcome o = run({"all", "dir=" + root_ + "/second", "devices"});
    EXPECT_EQ(o.devices(), (std::vector<std::string>{"fake0", "other0"}));
}

TEST_F(Process, ManyThreadsLoadOnce) {
    put("good");
    const Outcome o = run({"threads=8", "devices", "report"});
    EXPECT_EQ(o.devices().size(), 1u);
    EXPECT_EQ(o.state("good.so"), "loaded");
}

TEST_F(Process, TwoHundredPluginsLoadQuicklyWithoutLosingDescriptors) {
    for (int i = 0; i < 200; ++i) {
        const std::string name = "p" + std::to_string(i);
        rename_plugin(put("good", name), name.c_str(), nullptr, ("org.example." + name).c_str());
    }
    const auto begin = std::chrono::steady_clock::now();
    const Outcome o = run({"descriptors", "all", "descriptors", "devices"});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(o.devices().size(), 200u);
    EXPECT_LT(took.count(), 10.0);  // a second on an idle machine; the test machine may be busy
    const auto descriptors = o.all("descriptors");
    EXPECT_EQ(descriptors.at(0)["count"], descriptors.at(1)["count"]);
}

TEST_F(Process, UnloadTakesDevicesOutAndLoadBringsThemBack) {
    for (const char* fake : {"good", "unloadable"}) {
        const std::string file = put(fake);
        const Outcome o =
            run({"load=" + file, "unload=fake", "devices", "report", "load=" + file, "devices"});
        EXPECT_EQ(o.all("unload").at(0)["status"], TENON_OK);
        EXPECT_EQ(o.all("plugin").at(0)["state"], "unloaded");
        EXPECT_EQ(o.all("load").at(1)["status"], TENON_OK);
        EXPECT_EQ(o.devices().size(), 1u) << fake;
        env_["TENON_AUTOLOAD"] = "0";
    }
}

TEST_F(Process, UnloadIsRefusedWhileAStreamLives) {
    put("good");
    const Outcome o = run({"all", "stream=fake0", "unload=fake", "devices"});
    EXPECT_EQ(o.all("stream").at(0)["open"], true);
    EXPECT_EQ(o.all("unload").at(0)["status"], TENON_E_BUSY);
    EXPECT_EQ(o.devices().size(), 1u);
}

TEST_F(Process, UnloadOfAStrangerIsNotFound) {
    EXPECT_EQ(run({"unload=nobody"}).all("unload").at(0)["status"], TENON_E_NOT_FOUND);
}

TEST_F(Process, LinkedInPluginRegisters) {
    env_["TENON_AUTOLOAD"] = "0";
    const Outcome o = run({"builtin", "builtin", "devices", "report"});
    EXPECT_EQ(o.all("builtin").at(0)["status"], TENON_OK);
    EXPECT_EQ(o.all("builtin").at(1)["status"], TENON_OK);
    EXPECT_EQ(o.devices(), std::vector<std::string>{"fake0"});
    EXPECT_EQ(o.all("plugin").at(0)["state"], "loaded");
    EXPECT_EQ(o.all("plugin").at(0)["file"], "");
}

TEST_F(Process, LinkedInPluginShadowsAFileOfItsId) {
    put("good");
    const Outcome o = run({"builtin", "all", "report"});
    EXPECT_EQ(o.state("good.so"), "shadowed");
    EXPECT_EQ(o.message("good.so"),
              "id org.example.fake, variant v1, already found in the program");
}

TEST_F(Process, SettingsTellTheirOrigin) {
    env_["TENON_PLUGINS_DISABLE"] = "x";
    env_["GGML_DISABLE_VULKAN"] = "1";
    env_["TENON_NONSENSE"] = "1";
    const Outcome o = run({"set=probe=off", "settings", "log"});
    std::map<std::string, Json> settings;
    for (const Json& s : o.all("setting")) settings[s["key"]] = s;
    EXPECT_EQ(settings["probe"]["origin"], "application");
    EXPECT_EQ(settings["disable"]["value"], "x,vulkan");
    EXPECT_EQ(settings["duplicates"]["origin"], "default");
    EXPECT_EQ(settings["nonsense"]["known"], false);
    EXPECT_EQ(o.warnings("unknown variable TENON_NONSENSE"), 1u);
}

}  // namespace
}  // namespace tenon::test
