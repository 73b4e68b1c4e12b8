// Step 14: plugins whose devices are wrong, and devices that two plugins show.

#include "tests/loader/fixture.h"

namespace tenon::test {
namespace {

using Devices = LoaderTest;

std::vector<std::string> usable(const Json& plugin) {
    std::vector<std::string> names;
    for (const Json& device : plugin["devices"]) {
        if (device["usable"]) names.push_back(device["name"]);
    }
    return names;
}

TEST_F(Devices, PluginWithoutAnyIsIdle) {
    put("idle");
    const Outcome o = run();
    EXPECT_EQ(o.state("idle.so"), "loaded-idle");
    EXPECT_EQ(o.message("idle.so"), "reports no device");
    EXPECT_TRUE(o.devices().empty());
}

TEST_F(Devices, OneThatFailsDoesNotDisturbTheOthers) {
    put("one_fails");
    const Outcome o = run();
    EXPECT_EQ(o.state("one_fails.so"), "loaded");
    EXPECT_EQ(usable(o.plugin("one_fails.so")), (std::vector<std::string>{"fake0", "fake2"}));
    const std::string why = o.plugin("one_fails.so")["devices"][1]["refused"];
    EXPECT_NE(why.find("device 1 does not answer"), std::string::npos) << why;
    EXPECT_EQ(o.warnings("bad-device"), 1u);
    EXPECT_EQ(o.message("one_fails.so"), "2 devices, 1 refused");
}

TEST_F(Devices, NamelessAndUnreadableNamesAreRefused) {
    put("null_name");
    rename_plugin(put("bad_name"), "other", nullptr, "org.example.other");
    const Outcome o = run();
    EXPECT_EQ(usable(o.plugin("null_name.so")), std::vector<std::string>{"fake1"});
    EXPECT_EQ(usable(o.plugin("bad_name.so")), std::vector<std::string>{"other1"});
}

TEST_F(Devices, SecondOfAnEqualNameIsRefused) {
    put("same_name");
    const Outcome o = run();
    EXPECT_EQ(usable(o.plugin("same_name.so")), std::vector<std::string>{"fake0"});
    EXPECT_EQ(o.devices(), std::vector<std::string>{"fake0"});
}

TEST_F(Devices, TenThousandAreSurvived) {
    put("many");
    const Outcome o = run();
    EXPECT_EQ(o.state("many.so"), "loaded");
    EXPECT_EQ(o.devices().size(), 16u);  // the fake has 16 names, equal ones are refused
}

TEST_F(Devices, EqualHardwareOfAnotherPluginIsHidden) {
    put("gpus");
    rename_plugin(put("same_gpu"), "portable", nullptr, "org.example.portable");
    const Outcome o = run();
    EXPECT_EQ(o.devices().size(), 8u);
    EXPECT_EQ(o.state("same_gpu.so"), "loaded");
    const std::string hidden = o.plugin("same_gpu.so")["devices"][0]["hidden"];
    EXPECT_NE(hidden.find("fake0"), std::string::npos) << hidden;
    env_["TENON_DUPLICATES"] = "show";
    EXPECT_EQ(run().devices().size(), 9u);
}

TEST_F(Devices, ListChoosesAndOrders) {
    put("gpus");
    env_["TENON_DEVICES"] = "fake3,fake1";
    EXPECT_EQ(run().devices(), (std::vector<std::string>{"fake3", "fake1"}));
    env_["TENON_DEVICES"] = "fake77";
    const Outcome none = run({"all", "devices", "log"});
    EXPECT_TRUE(none.devices().empty());
    EXPECT_EQ(none.warnings("no device is named 'fake77'; valid: fake"), 1u) << none.log_text();
}

TEST_F(Devices, UnknownNamesOfAListAreToldOnceAndTheOthersCount) {
    put("gpus");
    env_["TENON_DEVICES"] = "fake3,fake77, 0000:99:00.0 ,fake1";
    const Outcome o = run({"all", "all", "devices", "log"});
    EXPECT_EQ(o.devices(), (std::vector<std::string>{"fake3", "fake1"}));
    EXPECT_EQ(o.warnings("no device is named 'fake77'; valid: fake3, fake1, fake0"), 1u)
        << o.log_text();
    EXPECT_EQ(o.warnings("no device is named '0000:99:00.0'; valid: "), 1u) << o.log_text();
    EXPECT_EQ(o.warnings("no device"), 2u);
}

TEST_F(Devices, UnknownWordForDuplicatesIsToldAndTheDefaultCounts) {
    put("gpus");
    rename_plugin(put("same_gpu"), "portable", nullptr, "org.example.portable");
    env_["TENON_DUPLICATES"] = "shwo";
    const Outcome o = run();
    EXPECT_EQ(o.devices().size(), 8u);
    EXPECT_EQ(o.warnings("setting 'duplicates' is 'shwo'; valid: hide, show; hide is used"), 1u);
}

}  // namespace
}  // namespace tenon::test
