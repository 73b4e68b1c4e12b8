// The table of settings from given sources.

#include "core/base/settings.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace tenon {
namespace {

class Settings : public ::testing::Test {
protected:
    std::string file(const std::string& name, const std::string& content) {
        const std::string path = ::testing::TempDir() + "tenon-settings-" + name;
        std::ofstream(path) << content;
        return path;
    }
    static std::string value(const SettingsTable& table, const std::string& key) {
        const Setting* s = table.find(key);
        return s ? s->value : "(unset)";
    }
};

TEST_F(Settings, LaterSourcesWin) {
    SettingsSources sources;
    sources.system_file = file("a", "probe = always\nduplicates = show # both\ncuda.graphs = on\n");
    sources.user_file = file("b", "duplicates = hide\n");
    sources.environment = {{"TENON_CUDA_GRAPHS", "off"}};
    SettingsTable table(sources);
    EXPECT_EQ(value(table, "probe"), "always");
    EXPECT_EQ(value(table, "duplicates"), "hide");
    EXPECT_EQ(value(table, "cuda.graphs"), "off");
    table.set_application("cuda.graphs", "maybe");
    EXPECT_EQ(value(table, "cuda.graphs"), "maybe");
    table.set_application("cuda.graphs", nullptr);
    EXPECT_EQ(value(table, "cuda.graphs"), "off");
}

TEST_F(Settings, OriginsNameFileAndLine) {
    SettingsSources sources;
    sources.system_file = file("c", "# comment\n\nprobe = off\n");
    sources.environment = {{"TENON_CPU_VARIANT", "avx2"}};
    const SettingsTable table(sources);
    EXPECT_EQ(table.find("probe")->origin, sources.system_file + ":3");
    EXPECT_EQ(table.find("variant.cpu")->origin, "TENON_CPU_VARIANT");
    EXPECT_EQ(table.find("autoload")->origin, "default");
    EXPECT_EQ(table.files().at(0).n_keys, 1u);
}

TEST_F(Settings, ElevatedProcessesReadOnlyTheSystemFile) {
    SettingsSources sources;
    sources.system_file = file("d", "probe = off\n");
    sources.user_file = file("e", "duplicates = show\n");
    sources.environment = {{"TENON_PLUGIN_PATH", "/evil"}};
    sources.elevated = true;
    const SettingsTable table(sources);
    EXPECT_EQ(value(table, "probe"), "off");
    EXPECT_EQ(value(table, "duplicates"), "hide");
    EXPECT_EQ(value(table, "plugin_path"), "(unset)");
    EXPECT_EQ(table.files().at(1).state, "ignored");
}

TEST_F(Settings, FilesCannotSetWhatBelongsToTheEnvironment) {
    SettingsSources sources;
    sources.system_file = file("f", "allow_unsafe_plugins = 1\nplugin_path = /x\n");
    const SettingsTable table(sources);
    EXPECT_EQ(table.find("allow_unsafe_plugins"), nullptr);
    EXPECT_EQ(table.find("plugin_path"), nullptr);
}

TEST_F(Settings, UnknownKeysAreKeptAsUnknown) {
    SettingsSources sources;
    sources.system_file = file("g", "prob = off\nno equals sign\n = 3\n");
    sources.environment = {{"TENON_PROB", "x"}, {"PATH", "/bin"}};
    size_t unknown = 0;
    for (const Setting& s : SettingsTable(sources).all()) unknown += !s.known;
    EXPECT_EQ(unknown, 2u);
}

TEST_F(Settings, NamesOfGgmlAreUnderstood) {
    SettingsSources sources;
    sources.system_file = file("h", "disable = acme\n");
    sources.environment = {{"GGML_DISABLE_VULKAN", "1"},
                           {"GGML_VK_VISIBLE_DEVICES", "0,1"},
                           {"GGML_CPU_DISABLE_FUSION", "1"},
                           {"GGML_CUDA_DISABLE_GRAPHS", "1"}};
    const SettingsTable table(sources);
    EXPECT_EQ(value(table, "disable"), "acme,vulkan");
    EXPECT_EQ(value(table, "vulkan.visible_devices"), "0,1");
    EXPECT_EQ(value(table, "cuda.graphs"), "off");
    EXPECT_EQ(table.find("cuda.graphs")->origin, "GGML_CUDA_DISABLE_GRAPHS");
    EXPECT_EQ(table.find("cpu.fusion")->value, "off");
}

TEST_F(Settings, FamiliesWithHyphensHaveVariablesWithUnderscores) {
    SettingsSources sources;
    sources.environment = {{"TENON_MY_NPU_VISIBLE_DEVICES", "1"}, {"TENON_MY_NPU_VARIANT", "n1"}};
    const SettingsTable table(sources);
    EXPECT_EQ(value(table, "my-npu.visible_devices"), "1");
    EXPECT_EQ(value(table, "variant.my-npu"), "n1");
}

TEST_F(Settings, MissingFilesAreNoError) {
    SettingsSources sources;
    sources.system_file = "/nowhere/tenon.conf";
    const SettingsTable table(sources);
    EXPECT_EQ(table.files().at(0).state, "missing");
    EXPECT_EQ(value(table, "probe"), "auto");
}

}  // namespace
}  // namespace tenon
