// The registry: names, order, what is refused or hidden, and leaving again.

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "core/device/registry.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "tenon/tenon.h"
#include "tests/support/fake_plugin.h"

using namespace tenon;
using namespace tenon::test;

namespace {

FakeDevice gpu(const std::string& name) {
    FakeDevice device;
    device.name = name;
    device.kind = TENON_DEVICE_GPU;
    device.bufts = {{.name = name}};
    return device;
}

size_t place(const char* name) {
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        if (std::strcmp(ggml_backend_dev_name(ggml_backend_dev_get(i)), name) == 0) return i;
    }
    return SIZE_MAX;
}

TEST(Registry, FindsByNameWithoutRegardToCase) {
    auto& plugin = FakePlugin::make("ACME", {gpu("Acme0")});
    ggml_backend_reg_t reg = plugin.load();
    EXPECT_EQ(ggml_backend_reg_by_name("acme"), reg);
    EXPECT_EQ(ggml_backend_dev_by_name("aCME0"), plugin.device(0));
    EXPECT_EQ(ggml_backend_dev_by_name("acme"), nullptr);  // the whole name
    EXPECT_EQ(ggml_backend_dev_by_name(nullptr), nullptr);
    EXPECT_EQ(ggml_backend_reg_by_name(nullptr), nullptr);
    EXPECT_STREQ(ggml_backend_reg_name(reg), "ACME");
    EXPECT_EQ(ggml_backend_dev_backend_reg(plugin.device(0)), reg);
    EXPECT_TRUE(plugin.unload());
    EXPECT_EQ(ggml_backend_reg_by_name("acme"), nullptr);
    EXPECT_EQ(ggml_backend_dev_by_name("acme0"), nullptr);
}

TEST(Registry, OutOfRangeAndNullAnswerWithoutHarm) {
    EXPECT_EQ(ggml_backend_reg_get(ggml_backend_reg_count()), nullptr);
    EXPECT_EQ(ggml_backend_dev_get(SIZE_MAX), nullptr);
    EXPECT_NE(std::strstr(tenon_last_error(), "of"), nullptr);
    EXPECT_EQ(ggml_backend_reg_dev_count(nullptr), 0u);
    EXPECT_EQ(ggml_backend_reg_dev_get(nullptr, 0), nullptr);
    EXPECT_STREQ(ggml_backend_reg_name(nullptr), "NULL");
    EXPECT_STREQ(ggml_backend_dev_name(nullptr), "NULL");
    EXPECT_STREQ(ggml_backend_dev_description(nullptr), "NULL");
    EXPECT_EQ(ggml_backend_dev_type(nullptr), GGML_BACKEND_DEVICE_TYPE_CPU);
    EXPECT_EQ(ggml_backend_dev_init(nullptr, nullptr), nullptr);
    tenon_clear_error();
    EXPECT_EQ(ggml_backend_init_by_name("no such device", nullptr), nullptr);
    EXPECT_NE(std::strstr(tenon_last_error(), "no device is named 'no such device'; devices: "),
              nullptr);
    EXPECT_EQ(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_META, nullptr), nullptr);
    EXPECT_NE(std::strstr(tenon_last_error(), "no device is of kind meta; devices: "), nullptr);
    EXPECT_EQ(ggml_backend_dev_buffer_type(nullptr), nullptr);
    EXPECT_FALSE(ggml_backend_dev_supports_op(nullptr, nullptr));
    size_t free = 1, total = 1;
    ggml_backend_dev_memory(nullptr, &free, &total);
    EXPECT_EQ(free + total, 0u);
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(nullptr, &props);
    EXPECT_STREQ(props.name, "NULL");
    ggml_backend_register(nullptr);
    ggml_backend_device_register(nullptr);
    tenon_clear_error();
}

TEST(Registry, SortsOneLoadAndAppendsLaterOnes) {
    FakeDevice cpu_like = gpu("OrderCpu"), accel = gpu("OrderAccel"), igpu = gpu("OrderIgpu");
    FakeDevice soft = gpu("OrderSoft"), best = gpu("OrderBest");
    cpu_like.kind = TENON_DEVICE_CPU;
    accel.kind = TENON_DEVICE_ACCEL;
    igpu.kind = TENON_DEVICE_IGPU;
    soft.caps |= TENON_CAP_SOFTWARE;
    best.preference = 100;
    auto& first = FakePlugin::make("ORDER", {cpu_like, soft, igpu, gpu("OrderGpu"), best, accel});
    first.table.family = "cpu";
    first.load();
    auto& second = FakePlugin::make("LATER", {gpu("LaterGpu")});
    second.load();
    const char* expected[] = {"OrderAccel", "OrderBest", "OrderGpu", "OrderIgpu",
                              "OrderSoft",  "OrderCpu",  "LaterGpu"};
    for (size_t i = 0; i + 1 < std::size(expected); ++i) {
        EXPECT_LT(place(expected[i]), place(expected[i + 1])) << expected[i];
    }
    EXPECT_EQ(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_IGPU),
              ggml_backend_dev_by_name("OrderIgpu"));
    EXPECT_TRUE(first.unload());
    EXPECT_TRUE(second.unload());
}

TEST(Registry, RegisteringAgainAddsNothing) {
    auto& plugin = FakePlugin::make("AGAIN", {gpu("Again0")});
    ggml_backend_reg_t reg = plugin.load();
    const size_t regs = ggml_backend_reg_count(), devices = ggml_backend_dev_count();
    ggml_backend_register(reg);
    ggml_backend_device_register(plugin.device(0));
    EXPECT_EQ(ggml_backend_reg_count(), regs);
    EXPECT_EQ(ggml_backend_dev_count(), devices);
    EXPECT_TRUE(plugin.unload());
}

TEST(Registry, RefusesBrokenDevicesAndKeepsTheOthers) {
    FakeDevice nameless = gpu("Broken1"), not_text = gpu("Bro\xffken"), closed = gpu("Broken3");
    FakeDevice incomplete = gpu("Broken4"), homeless = gpu("Broken5"), odd = gpu("Broken6");
    FakeDevice two_defaults = gpu("Broken7"), steals = gpu("Broken8");
    nameless.null_name = true;
    closed.open_status = TENON_E_NO_DRIVER;
    incomplete.incomplete = true;
    homeless.bufts.clear();
    odd.bufts[0].alignment = 48;
    two_defaults.bufts.push_back({.name = "Broken7b"});
    steals.bufts[0].name = "CPU";
    auto& plugin =
        FakePlugin::make("BROKEN", {gpu("Good0"), nameless, not_text, closed, incomplete, homeless,
                                    odd, two_defaults, steals, gpu("GOOD0"), gpu("Good9")});
    plugin.load();
    const char* reasons[] = {"",
                             "no name",
                             "not UTF-8",
                             "it is switched off",
                             "incomplete",
                             "no default",
                             "no power of two",
                             "both claim",
                             "belongs to the core",
                             "taken by",
                             ""};
    ASSERT_EQ(plugin.outcomes.size(), std::size(reasons));
    for (size_t i = 0; i < std::size(reasons); ++i) {
        const std::string& refused = plugin.outcomes[i].refused;
        EXPECT_EQ(refused.empty(), *reasons[i] == 0) << i << ": " << refused;
        EXPECT_NE(refused.find(reasons[i]), std::string::npos) << i << ": " << refused;
    }
    EXPECT_NE(plugin.device(0), nullptr);
    EXPECT_NE(plugin.device(10), nullptr);
    EXPECT_EQ(ggml_backend_dev_by_name("Broken7"), nullptr);
    EXPECT_EQ(plugin.fake(7).n_closed, 1);  // opened, found broken, closed
    EXPECT_TRUE(plugin.unload());

    // The names are free again.
    auto& next = FakePlugin::make("NEXT", {gpu("Good0"), gpu("Broken7")});
    next.load();
    EXPECT_NE(next.device(0), nullptr);
    EXPECT_NE(next.device(1), nullptr);
    EXPECT_TRUE(next.unload());
}

// Programs look for the CPU by name and by kind.
TEST(Registry, OnlyTheCpuFamilyIsCalledCpu) {
    FakeDevice by_name = gpu("cPu"), by_kind = gpu("Pretends0"), by_memory = gpu("Pretends1");
    by_name.bufts[0].name = "Pretends2";
    by_kind.kind = TENON_DEVICE_CPU;
    by_memory.bufts[0].name = "cpu_Repack";
    auto& plugin = FakePlugin::make("PRETENDS", {by_name, by_kind, by_memory, gpu("Honest0")});
    plugin.load();
    ASSERT_EQ(plugin.outcomes.size(), 4u);
    EXPECT_EQ(plugin.outcomes[0].refused,
              "device name 'cPu' belongs to the family cpu, not to family 'fake'");
    EXPECT_NE(plugin.outcomes[1].refused.find("of kind CPU"), std::string::npos);
    EXPECT_EQ(plugin.outcomes[2].refused,
              "buffer type name 'cpu_Repack' belongs to the family cpu, not to family 'fake'");
    EXPECT_EQ(plugin.outcomes[3].refused, "");
    EXPECT_TRUE(plugin.unload());

    auto& whole = FakePlugin::make("Cpu", {gpu("Whole0")});
    EXPECT_EQ(whole.load(), nullptr);
    fake_cpu();
    EXPECT_STREQ(
        ggml_backend_dev_name(ggml_backend_reg_dev_get(ggml_backend_reg_by_name("CPU"), 0)), "CPU");
}

TEST(Registry, NamesOfRegistrationsAreUnique) {
    auto& first = FakePlugin::make("Unique", {gpu("Unique0")});
    ggml_backend_reg_t reg = first.load();
    ASSERT_NE(reg, nullptr);
    auto& second = FakePlugin::make("UNIQUE", {gpu("Unique1")});
    EXPECT_EQ(second.load(), nullptr);
    EXPECT_EQ(ggml_backend_reg_by_name("unique"), reg);
    EXPECT_EQ(ggml_backend_dev_by_name("Unique1"), nullptr);

    second.note_flags = TENON_NOTE_COEXISTS;  // beside others of its family
    ggml_backend_reg_t beside = second.load();
    ASSERT_NE(beside, nullptr);
    EXPECT_STREQ(ggml_backend_reg_name(beside), "UNIQUE-fake");
    EXPECT_TRUE(second.unload());
    EXPECT_TRUE(first.unload());
    second.note_flags = 0;
    EXPECT_NE(second.load(), nullptr);  // the name is free again
    EXPECT_TRUE(second.unload());
}

TEST(Registry, HidesTheSameHardwareShownTwice) {
    FakeDevice native = gpu("Native0"), portable = gpu("Portable0"), other = gpu("Portable1");
    native.preference = 100;
    native.identity.valid = portable.identity.valid = other.identity.valid = TENON_ID_PCI;
    native.identity.pci_bus = portable.identity.pci_bus = 7;
    other.identity.pci_bus = 8;
    auto& first = FakePlugin::make("NATIVE", {native});
    first.load();
    auto& second = FakePlugin::make("PORTABLE", {portable, other});
    ggml_backend_reg_t reg = second.load();
    EXPECT_EQ(place("Portable0"), SIZE_MAX);
    EXPECT_NE(place("Portable1"), SIZE_MAX);
    EXPECT_EQ(ggml_backend_dev_by_name("portable0"), second.device(0));  // by exact name still
    EXPECT_EQ(ggml_backend_reg_dev_count(reg), 1u);
    EXPECT_EQ(ggml_backend_reg_dev_get(reg, 0), second.device(1));
    EXPECT_NE(second.device(0)->hidden_because.find("Native0"), std::string::npos);
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(first.device(0), &props);
    EXPECT_STREQ(props.device_id, "0000:07:00.0");
    EXPECT_TRUE(second.unload());
    EXPECT_TRUE(first.unload());
}

TEST(Registry, KeepsAPluginWhoseObjectsLive) {
    auto& plugin = FakePlugin::make("BUSY", {gpu("Busy0")});
    plugin.load();
    const ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(plugin.device(0));
    for (const size_t size : {size_t{100}, size_t{0}}) {
        ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(type, size));
        EXPECT_FALSE(plugin.unload());
    }
    {
        ggml_backend_ptr stream(ggml_backend_dev_init(plugin.device(0), nullptr));
        EXPECT_FALSE(plugin.unload());
    }
    {
        ggml_backend_event_ptr event(ggml_backend_event_new(plugin.device(0)));
        EXPECT_FALSE(plugin.unload());
    }
    EXPECT_TRUE(plugin.unload());
    EXPECT_EQ(plugin.fake(0).n_closed, 1);
}

TEST(Registry, PropsSayWhatThePluginSaid) {
    FakeDevice device = gpu("Props0");
    device.caps |= TENON_CAP_WRAP_HOST_PTR | TENON_CAP_MMAP_FRIENDLY;
    auto& plugin = FakePlugin::make("PROPS", {device});
    plugin.load();
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(plugin.device(0), &props);
    EXPECT_STREQ(props.name, "Props0");
    EXPECT_STREQ(props.description, "a device for tests");
    EXPECT_EQ(props.memory_free, 600u);
    EXPECT_EQ(props.memory_total, 1000u);
    EXPECT_EQ(props.type, GGML_BACKEND_DEVICE_TYPE_GPU);
    EXPECT_EQ(props.device_id, nullptr);
    EXPECT_TRUE(props.caps.async && props.caps.events && props.caps.buffer_from_host_ptr);
    EXPECT_TRUE(props.caps.mmap_support);
    EXPECT_FALSE(props.caps.host_buffer);
    // A driver that cannot tell: nothing to report, no error.
    plugin.fake(0).memory_status = TENON_E_INTERNAL;
    size_t free = 1, total = 1;
    ggml_backend_dev_memory(plugin.device(0), &free, &total);
    EXPECT_EQ(free + total, 0u);
    ggml_backend_dev_memory(plugin.device(0), nullptr, nullptr);
    EXPECT_TRUE(plugin.unload());
}

TEST(Registry, BestDeviceIsTheFirstGpuThatWorks) {
    fake_cpu();
    FakeDevice dead = gpu("Dead0"), soft = gpu("Soft0");
    dead.stream_status = TENON_E_DEVICE_LOST;
    soft.caps |= TENON_CAP_SOFTWARE;
    auto& plugin = FakePlugin::make("DEAD", {dead, soft});
    plugin.load();
    {
        ggml_backend_ptr best(ggml_backend_init_best());
        EXPECT_STREQ(ggml_backend_name(best.get()), "CPU");  // no software, nothing that fails
        plugin.fake(0).stream_status = TENON_OK;
        best.reset(ggml_backend_init_best());
        EXPECT_STREQ(ggml_backend_name(best.get()), "Dead0");
    }
    tenon_clear_error();
    EXPECT_TRUE(plugin.unload());
}

TEST(Registry, IsReadWhilePluginsComeAndGo) {
    fake_cpu();
    std::atomic<bool> stop{false};
    std::atomic<int> missing{0};
    std::thread reader([&] {
        while (!stop) {
            if (!ggml_backend_dev_by_name("cpu")) ++missing;
            for (size_t i = 0; i < ggml_backend_dev_count(); ++i) (void)ggml_backend_dev_get(i);
        }
    });
    for (int i = 0; i < 50; ++i) {
        auto& plugin = FakePlugin::make("COMES", {FakeDevice{.name = "Comes0", .bufts = {{"C"}}}});
        plugin.load();
        EXPECT_TRUE(plugin.unload());
    }
    stop = true;
    reader.join();
    EXPECT_EQ(missing, 0);
    tenon_clear_error();
}

TEST(Registry, AnswersForFunctionsByName) {
    ggml_backend_reg_t cpu = (fake_cpu(), ggml_backend_reg_by_name("CPU"));
    auto get = [](ggml_backend_reg_t reg, const char* name) {
        return ggml_backend_reg_get_proc_address(reg, name);
    };
    for (const char* name :
         {"ggml_backend_set_n_threads", "ggml_backend_set_abort_callback",
          "ggml_backend_get_features", "ggml_backend_cpu_numa_init", "ggml_backend_cpu_is_numa",
          "ggml_backend_cpu_set_use_ref", "ggml_backend_cpu_set_threadpool", "ggml_threadpool_new",
          "ggml_threadpool_free"}) {
        EXPECT_NE(get(cpu, name), nullptr) << name;
    }
    for (const char* name : {"ggml_backend_split_buffer_type", "ggml_backend_comm_init",
                             "ggml_backend_register_host_buffer", "GGML_THREADPOOL_NEW", ""}) {
        EXPECT_EQ(get(cpu, name), nullptr) << name;
    }
    EXPECT_EQ(get(nullptr, "ggml_threadpool_new"), nullptr);
    EXPECT_EQ(get(cpu, nullptr), nullptr);

    auto features =
        reinterpret_cast<ggml_backend_get_features_t>(get(cpu, "ggml_backend_get_features"))(cpu);
    EXPECT_STREQ(features[0].name, "AVX2");
    EXPECT_STREQ(features[0].value, "1");
    EXPECT_EQ(features[2].name, nullptr);

    FakeDevice device = gpu("Extra0");
    device.bufts.push_back({.name = "Extra_REPACK", .flags = TENON_BUFT_HOST | TENON_BUFT_REPACK});
    auto& plugin = FakePlugin::make("EXTRA", {device});
    ggml_backend_reg_t extra = plugin.load();
    EXPECT_EQ(get(extra, "ggml_threadpool_new"), nullptr);
    EXPECT_EQ(get(extra, "ggml_backend_set_n_threads"), nullptr);
    auto extra_bufts = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
        get(extra, "ggml_backend_dev_get_extra_bufts"))(plugin.device(0));
    EXPECT_STREQ(ggml_backend_buft_name(extra_bufts[0]), "Extra_REPACK");
    EXPECT_FALSE(ggml_backend_buft_is_host(extra_bufts[0]));
    EXPECT_EQ(extra_bufts[1], nullptr);
    EXPECT_TRUE(plugin.unload());
}

}  // namespace
