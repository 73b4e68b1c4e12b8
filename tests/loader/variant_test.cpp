// Steps 3 and 7: filters, and which variant of a family is used.

#include "tests/loader/fixture.h"

namespace tenon::test {
namespace {

// Three variants of one family, best rank last in the alphabet.
class Variants : public LoaderTest {
protected:
    void put_three(const std::string& best = "good") {
        rename_plugin(put("good", "a"), nullptr, "small", nullptr, 10);
        rename_plugin(put("good", "b"), nullptr, "middle", nullptr, 20);
        rename_plugin(put(best, "c"), nullptr, "large", nullptr, 30);
    }
};

TEST_F(Variants, LargestRankWins) {
    put_three();
    const Outcome o = run();
    EXPECT_EQ(o.state("c.so"), "loaded");
    EXPECT_EQ(o.state("b.so"), "variant-not-chosen");
    EXPECT_EQ(o.message("a.so"), "large has a higher rank");
    EXPECT_EQ(o.devices().size(), 1u);
}

TEST_F(Variants, ReportsComeByRank) {
    put_three();
    std::vector<std::string> order;
    for (const Json& plugin : run().all("plugin")) order.push_back(plugin["variant"]);
    EXPECT_EQ(order, (std::vector<std::string>{"large", "middle", "small"}));
}

TEST_F(Variants, VetoGivesTheNextItsTurn) {
    put_three("score_zero");
    const Outcome o = run();
    EXPECT_EQ(o.state("c.so"), "score-zero");
    EXPECT_EQ(o.state("b.so"), "loaded");
    EXPECT_EQ(o.state("a.so"), "variant-not-chosen");
}

TEST_F(Variants, FailedStartGivesTheNextItsTurn) {
    for (const char* fake : {"no_driver", "init_fails", "no_entry", "undefined", "short_table"}) {
        put_three(fake);
        const Outcome o = run();
        EXPECT_EQ(o.state("b.so"), "loaded") << fake;
        EXPECT_EQ(o.message("a.so"), "middle has a higher rank");
    }
}

TEST_F(Variants, PreferenceWins) {
    put_three();
    env_["TENON_FAKE_VARIANT"] = "small";
    const Outcome o = run();
    EXPECT_EQ(o.state("a.so"), "loaded");
    EXPECT_EQ(o.message("c.so"), "small was asked for");
}

TEST_F(Variants, UnknownPreferenceIsWarnedAboutWithTheValidNames) {
    put_three();
    env_["TENON_FAKE_VARIANT"] = "gigantic";
    const Outcome o = run();
    EXPECT_EQ(o.state("c.so"), "loaded");
    EXPECT_EQ(
        o.warnings("variant 'gigantic' of family fake is unknown or unusable here; valid: large, "
                   "middle, small"),
        1u);
}

TEST_F(Variants, PreferenceTheProcessorCannotRunIsWarnedAbout) {
    put_three();
    patch_note(path("c.so"), [](tenon_note_desc& d) { d.isa_need[1] = 1; });
    env_["TENON_FAKE_VARIANT"] = "large";
    const Outcome o = run();
    EXPECT_EQ(o.state("c.so"), "cpu-features");
    EXPECT_EQ(o.state("b.so"), "loaded");
    EXPECT_EQ(o.warnings("valid: middle, small"), 1u);
}

TEST_F(Variants, CoexistingOnesLoadBeside) {
    rename_plugin(put("good"), nullptr, "main", nullptr, 10);
    rename_plugin(put("coexists"), nullptr, "extra", "org.example.extra", 5);
    const Outcome o = run();
    EXPECT_EQ(o.state("good.so"), "loaded");
    EXPECT_EQ(o.state("coexists.so"), "loaded");
    EXPECT_EQ(o.devices(), (std::vector<std::string>{"fake0", "beside0"}));
}

TEST_F(Variants, ExplicitLoadOfAnotherVariantIsRefused) {
    put_three();
    const Outcome o = run({"all", "load=" + path("a.so"), "report"});
    EXPECT_EQ(o.all("load").at(0)["status"], TENON_E_BUSY);
    EXPECT_EQ(o.state("c.so"), "loaded");
}

TEST_F(Variants, DisabledByFamilyIdOrFileName) {
    put_three();
    env_["TENON_PLUGINS_DISABLE"] = "C.so, nothing";
    EXPECT_EQ(run().state("c.so"), "disabled");
    EXPECT_EQ(run().state("b.so"), "loaded");
    for (const char* glob : {"fa*", "ORG.example.*"}) {
        env_["TENON_PLUGINS_DISABLE"] = glob;
        const Outcome o = run();
        EXPECT_EQ(o.state("a.so"), "disabled") << glob;
        EXPECT_TRUE(o.devices().empty());
    }
}

TEST_F(Variants, SelectReadmitsOrExcludes) {
    put_three();
    env_["TENON_PLUGINS_SELECT"] = "a.so";
    EXPECT_EQ(run().state("a.so"), "loaded");
    EXPECT_EQ(run().state("c.so"), "not-selected");
    env_["TENON_PLUGINS_DISABLE"] = "fake";
    EXPECT_EQ(run().state("a.so"), "loaded");
    EXPECT_EQ(run().state("c.so"), "disabled");
}

TEST_F(Variants, FiltersThatMatchNothingAreToldOnceAndTheOthersCount) {
    put_three();
    env_["TENON_PLUGINS_DISABLE"] = "c.so,vulkan,vulkn";  // vulkan: ours, only not installed
    env_["TENON_PLUGINS_SELECT"] = "a.so,vulkan";
    const Outcome o = run({"all", "all", "report", "log"});
    EXPECT_EQ(o.state("c.so"), "disabled");
    EXPECT_EQ(o.warnings("TENON_PLUGINS_DISABLE: no plugin matches 'vulkn'; found: a.so (family "
                         "fake), b.so (family fake), c.so (family fake)"),
              1u)
        << o.log_text();
    EXPECT_EQ(o.warnings("TENON_PLUGINS_SELECT: no plugin matches 'vulkan'"), 1u);
    EXPECT_EQ(o.warnings("no plugin matches"), 2u);
}

TEST_F(Variants, FamilyWithoutUsablePluginIsSaid) {
    put("init_fails");
    EXPECT_EQ(run().warnings("no usable plugin of family fake: v1 init-failed"), 1u);
}

}  // namespace
}  // namespace tenon::test
