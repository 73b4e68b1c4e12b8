// What plugins hand over: counts, texts, numbers and addresses beyond what they may be.

#include "core/device/plugin_checks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "tenon/ext/features.h"
#include "tests/support/fake_plugin.h"

namespace tenon {
namespace {

std::string fault(const Result<void>& result) { return result ? "" : result.error().text; }

TEST(PluginChecks, TextsHaveAnEnd) {
    const std::string longest(kMaxTextBytes, 'x');
    EXPECT_EQ(fault(check_text("driver", nullptr)), "");
    EXPECT_EQ(fault(check_text("driver", "")), "");
    EXPECT_EQ(fault(check_text("driver", longest.c_str())), "");
    EXPECT_EQ(fault(check_text("driver", (longest + "x").c_str())),
              "driver has more than the 4096 bytes allowed");
    EXPECT_EQ(fault(check_text("driver", "a\xff")), "driver is not UTF-8");
    EXPECT_NE(fault(check_text("driver", reinterpret_cast<const char*>(8))), "");
}

// Not one byte beyond the limit is read.
TEST(PluginChecks, TextWithoutNulIsReadToTheLimitOnly) {
    const std::vector<char> unending(kMaxNameBytes + 1, 'x');
    EXPECT_EQ(fault(check_name("name", unending.data())),
              "name has more than the 128 bytes allowed");
}

TEST(PluginChecks, CountsAreLookedAtBeforeWhatTheyCount) {
    const tenon_kv one[] = {{"key", "value"}};
    EXPECT_EQ(fault(check_pairs("features", one, 1, 4)), "");
    EXPECT_EQ(fault(check_pairs("features", nullptr, 0, 4)), "");
    EXPECT_EQ(fault(check_pairs("features", one, 0xffffffffu, 4)),
              "4294967295 features, at most 4");
    EXPECT_NE(fault(check_pairs("features", nullptr, 3, 4)), "");
    const tenon_kv bad[] = {{"key", "value"}, {nullptr, "value"}};
    EXPECT_EQ(fault(check_pairs("features", bad, 2, 4)), "features: number 1: without a key");
}

TEST(PluginChecks, BuffersEndBeforeTheAddressSpaceDoes) {
    const auto base = [](uint64_t address) { return reinterpret_cast<const void*>(address); };
    EXPECT_EQ(fault(check_base(base(0x10000), 4096, 64)), "");
    EXPECT_EQ(fault(check_base(base(UINT64_MAX - 4095), 4095, 64)), "");
    EXPECT_NE(fault(check_base(base(UINT64_MAX - 4095), 4096, 64)), "");  // the end would be 0
    EXPECT_NE(fault(check_base(base(UINT64_MAX - 63), 4096, 64)), "");
    EXPECT_NE(fault(check_base(nullptr, 0, 64)), "");
    EXPECT_NE(fault(check_base(base(65), 64, 64)), "");
}

TEST(PluginChecks, BufferTypesHaveSizesOneCanWorkWith) {
    tenon_buft_info info{sizeof info, TENON_BUFT_DEVICE, "X0", 64, UINT64_MAX};
    EXPECT_EQ(fault(check_buffer_type(info, 0)), "");
    for (const uint64_t alignment : {uint64_t{0}, uint64_t{3}, uint64_t{1} << 63}) {
        info.alignment = alignment;
        EXPECT_NE(fault(check_buffer_type(info, 0)), "") << alignment;
    }
    info.alignment = 64;
    info.max_size = 0;
    EXPECT_EQ(fault(check_buffer_type(info, 0)), "buffer type 'X0': buffers of at most 0 bytes");
}

TEST(PluginChecks, MemoryIsNeverMoreThanThereIs) {
    tenon_memory_info info{sizeof info, 0, 1000, 2000};
    correct(&info);
    EXPECT_EQ(info.free, 1000u);
    info = {sizeof info, 0, UINT64_MAX, UINT64_MAX - 5};
    correct(&info);
    EXPECT_EQ(info.total, 0u);
    EXPECT_EQ(info.free, 0u);
}

TEST(PluginChecks, VerdictsAskForWhatThereCanBe) {
    tenon_op_verdict verdict{};
    verdict.support = TENON_SUPPORT_YES;
    verdict.workspace = UINT64_MAX;
    verdict.confidence = 5000;
    correct(&verdict);
    EXPECT_EQ(verdict.support, uint32_t{TENON_SUPPORT_NO});
    EXPECT_EQ(verdict.reason, uint32_t{TENON_REASON_WORKSPACE});
    EXPECT_EQ(verdict.confidence, 100u);
    verdict = {};
    verdict.support = 77;
    verdict.detail = "\xff";
    correct(&verdict);
    EXPECT_EQ(verdict.support, uint32_t{TENON_SUPPORT_NO});
    EXPECT_STREQ(verdict.detail, "(a text that cannot be shown)");
}

TEST(PluginChecks, TextsOfFailuresBecomeOneLineOfUtf8) {
    EXPECT_STREQ(Readable<64>("gone \x1b[31m\n\xff\xe2\x98\x83\n").text,
                 "gone  [31m ?\xe2\x98\x83");
    EXPECT_STREQ(Readable<4>("abcdef").text, "abc");
    EXPECT_STREQ(Readable<64>(nullptr).text, "");
    char unending[8];
    std::memset(unending, 'A', sizeof unending);
    EXPECT_STREQ(Readable<64>(unending, sizeof unending).text, "AAAAAAAA");
}

const void* countless_features(tenon_plugin_ctx*, const char* id) {
    static const tenon_kv items[] = {{"A", "1"}};
    static const tenon_ext_features features{sizeof features, 0xffffffffu, items};
    return std::strcmp(id, TENON_EXT_FEATURES) == 0 ? &features : nullptr;
}
const void* no_address(tenon_plugin_ctx*, const char*) { return reinterpret_cast<const void*>(16); }

TEST(PluginChecks, PluginWithABrokenExtensionIsLoadedWithoutIt) {
    for (auto* extension : {countless_features, no_address}) {
        test::FakeDevice device;
        device.name = "Countless0";
        device.caps |= TENON_CAP_READS_HOST;
        auto& plugin = test::FakePlugin::make("COUNTLESS", {device});
        plugin.table.extension = extension;
        ggml_backend_reg_t reg = plugin.load();
        ASSERT_NE(reg, nullptr);
        EXPECT_NE(plugin.device(0), nullptr);
        EXPECT_EQ(ggml_backend_reg_get_proc_address(reg, "ggml_backend_get_features"), nullptr);
        EXPECT_TRUE(plugin.unload());
    }
}

}  // namespace
}  // namespace tenon
