// Buffers and placing tensors: the core's host memory, dummies, memory of plugins, misuse.

#include <gtest/gtest.h>

#include <cstring>

#include "core/device/buffer.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"
#include "tests/support/fake_plugin.h"

using namespace tenon;
using namespace tenon::test;

namespace {

// A device with private memory and a pinned host type.
FakePlugin& discrete() {
    static FakePlugin& plugin = [&]() -> FakePlugin& {
        FakeDevice device;
        device.name = "BufDev0";
        device.caps |= TENON_CAP_PINNED_HOST | TENON_CAP_WRAP_HOST_PTR;
        device.bufts = {{.name = "BufDev0", .alignment = 128, .extra_bytes = 16},
                        {.name = "BufDev_Host",
                         .flags = TENON_BUFT_HOST | TENON_BUFT_HOST_LAYOUT | TENON_BUFT_PINNED}};
        FakePlugin& made = FakePlugin::make("BUFDEV", {device});
        made.load();
        return made;
    }();
    return plugin;
}
ggml_backend_buffer_type_t device_type() {
    return ggml_backend_dev_buffer_type(discrete().device(0));
}

bool last_error_names(const char* text) {
    const std::string error = tenon_last_error();
    const bool named = error.find(text) != std::string::npos;
    EXPECT_TRUE(named) << "'" << text << "' not in '" << error << "'";
    return named;
}

TEST(BufferType, CpuIsTheCoresOwn) {
    ggml_backend_buffer_type_t cpu = ggml_backend_cpu_buffer_type();
    EXPECT_STREQ(ggml_backend_buft_name(cpu), "CPU");
    EXPECT_EQ(ggml_backend_buft_get_alignment(cpu), 32u);
    EXPECT_EQ(ggml_backend_buft_get_max_size(cpu), SIZE_MAX);
    EXPECT_TRUE(ggml_backend_buft_is_host(cpu));
    EXPECT_EQ(ggml_backend_buft_get_device(cpu), nullptr);
    fake_cpu();
    EXPECT_EQ(ggml_backend_dev_buffer_type(ggml_backend_dev_by_name("CPU")), cpu);

    EXPECT_STREQ(ggml_backend_buft_name(nullptr), "NULL");
    EXPECT_EQ(ggml_backend_buft_alloc_buffer(nullptr, 1), nullptr);
    EXPECT_FALSE(ggml_backend_buft_is_host(nullptr));
    tenon_clear_error();
}

TEST(Buffer, CpuBufferIsAlignedAndCleared) {
    ggml_backend_buffer_ptr buffer(
        ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 1000));
    auto* base = static_cast<uint8_t*>(ggml_backend_buffer_get_base(buffer.get()));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(base) % 64, 0u);
    EXPECT_EQ(ggml_backend_buffer_get_size(buffer.get()), 1000u);
    EXPECT_EQ(ggml_backend_buffer_get_usage(buffer.get()), GGML_BACKEND_BUFFER_USAGE_ANY);
    ggml_backend_buffer_set_usage(buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    EXPECT_EQ(ggml_backend_buffer_get_usage(buffer.get()), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    ggml_backend_buffer_clear(buffer.get(), 0x5a);
    EXPECT_EQ(base[0], 0x5a);
    EXPECT_EQ(base[999], 0x5a);
    EXPECT_EQ(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), SIZE_MAX / 2),
              nullptr);
    EXPECT_TRUE(last_error_names("cannot allocate"));
}

TEST(Buffer, DummyStandsForItsTypeAndHasNoMemory) {
    for (ggml_backend_buffer_type_t type : {ggml_backend_cpu_buffer_type(), device_type()}) {
        ggml_backend_buffer_ptr dummy(ggml_backend_buft_alloc_buffer(type, 0));
        ASSERT_NE(dummy, nullptr);
        EXPECT_EQ(ggml_backend_buffer_get_base(dummy.get()), nullptr);
        EXPECT_EQ(ggml_backend_buffer_get_size(dummy.get()), 0u);
        EXPECT_EQ(ggml_backend_buffer_get_type(dummy.get()), type);
        EXPECT_STREQ(ggml_backend_buffer_name(dummy.get()), ggml_backend_buft_name(type));
        ggml_backend_buffer_clear(dummy.get(), 1);
        ggml_backend_buffer_reset(dummy.get());
        ggml_backend_buffer_set_usage(dummy.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        EXPECT_EQ(ggml_backend_buffer_get_usage(dummy.get()), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);

        // As planning runs use it: views follow, nothing is read or written.
        const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
        ggml_tensor* weight = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8);
        weight->buffer = dummy.get();
        ggml_tensor* view = ggml_view_1d(ctx.get(), weight, 4, 16);
        view->buffer = nullptr;
        EXPECT_EQ(ggml_backend_view_init(view), GGML_STATUS_SUCCESS);
        EXPECT_EQ(view->data, nullptr);
        float x = 1;
        ggml_backend_tensor_set(weight, &x, 0, sizeof x);
        EXPECT_TRUE(last_error_names("has no memory"));
        ggml_backend_tensor_memset(weight, 0, 0, 4);
        EXPECT_TRUE(last_error_names("has no memory"));
    }
    ggml_backend_buffer_free(nullptr);
}

TEST(Buffer, WrapsAlignedMemoryOfTheApplication) {
    alignas(32) static char memory[256];
    ggml_backend_buffer_ptr buffer(ggml_backend_cpu_buffer_from_ptr(memory, sizeof memory));
    EXPECT_STREQ(ggml_backend_buffer_name(buffer.get()), "CPU_Mapped");
    EXPECT_EQ(ggml_backend_buffer_get_base(buffer.get()), memory);
    EXPECT_EQ(ggml_backend_cpu_buffer_from_ptr(memory + 8, 64), nullptr);
    EXPECT_TRUE(last_error_names("aligned to 32"));
    EXPECT_EQ(ggml_backend_cpu_buffer_from_ptr(nullptr, 64), nullptr);
    tenon_clear_error();

    ggml_backend_dev_t device = discrete().device(0);
    ggml_backend_buffer_ptr wrapped(
        ggml_backend_dev_buffer_from_host_ptr(device, memory, sizeof memory, 64));
    EXPECT_EQ(ggml_backend_buffer_get_type(wrapped.get()), device_type());
    wrapped.reset();  // the memory stays
    memory[0] = 1;
    ggml_backend_dev_t cpu = (fake_cpu(), ggml_backend_dev_by_name("CPU"));
    wrapped.reset(ggml_backend_dev_buffer_from_host_ptr(cpu, memory, sizeof memory, 64));
    EXPECT_STREQ(ggml_backend_buffer_name(wrapped.get()), "CPU_Mapped");
}

TEST(Buffer, RefusesToWrapWhereTheDeviceCannot) {
    FakeDevice device{.name = "NoWrap0", .bufts = {{"NoWrap0"}}};
    auto& plugin = FakePlugin::make("NOWRAP", {device});
    plugin.load();
    alignas(32) char memory[64];
    EXPECT_EQ(ggml_backend_dev_buffer_from_host_ptr(plugin.device(0), memory, 64, 64), nullptr);
    EXPECT_TRUE(last_error_names("NoWrap0"));
    EXPECT_TRUE(plugin.unload());
}

TEST(Buffer, FailuresOfThePluginAreErrors) {
    FakeDevice& fake = discrete().fake(0);
    fake.alloc_status = TENON_E_NO_DEVICE_MEMORY;
    EXPECT_EQ(ggml_backend_buft_alloc_buffer(device_type(), 100), nullptr);
    EXPECT_TRUE(last_error_names("no memory left"));

    // Pinned memory is a wish: plain memory serves, and the buffer says so.
    ggml_backend_buffer_type_t pinned = ggml_backend_dev_host_buffer_type(discrete().device(0));
    ASSERT_NE(pinned, nullptr);
    ggml_backend_buffer_ptr plain(ggml_backend_buft_alloc_buffer(pinned, 100));
    ASSERT_NE(plain, nullptr);
    EXPECT_EQ(ggml_backend_buffer_get_type(plain.get()), ggml_backend_cpu_buffer_type());
    fake.alloc_status = TENON_OK;
    ggml_backend_buffer_ptr real(ggml_backend_buft_alloc_buffer(pinned, 100));
    EXPECT_EQ(ggml_backend_buffer_get_type(real.get()), pinned);

    fake.misaligned_base = true;
    EXPECT_EQ(ggml_backend_buft_alloc_buffer(device_type(), 100), nullptr);
    EXPECT_TRUE(last_error_names("not aligned to 128"));
    fake.misaligned_base = false;
}

TEST(Buffer, AHostTypeIsOneForAllDevicesOfAPlugin) {
    const FakeBuft host{.name = "Twin_Host",
                        .flags = TENON_BUFT_HOST | TENON_BUFT_HOST_LAYOUT | TENON_BUFT_PINNED};
    FakeDevice a{.name = "Twin0", .bufts = {{"Twin0"}, host}};
    FakeDevice b{.name = "Twin1", .bufts = {{"Twin1"}, host}};
    auto& plugin = FakePlugin::make("TWIN", {a, b});
    plugin.load();
    ggml_backend_buffer_type_t type = ggml_backend_dev_host_buffer_type(plugin.device(0));
    EXPECT_EQ(ggml_backend_dev_host_buffer_type(plugin.device(1)), type);
    EXPECT_TRUE(ggml_backend_dev_supports_buft(plugin.device(1), type));
    EXPECT_FALSE(ggml_backend_dev_supports_buft(plugin.device(1),
                                                ggml_backend_dev_buffer_type(plugin.device(0))));
    plugin.fake(1).accepts_all_bufts = true;
    EXPECT_TRUE(ggml_backend_dev_supports_buft(plugin.device(1),
                                               ggml_backend_dev_buffer_type(plugin.device(0))));
    EXPECT_TRUE(plugin.unload());
}

TEST(TensorAlloc, PlacesOrLeavesTheTensorAlone) {
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(device_type(), 256));
    char* base = static_cast<char*>(ggml_backend_buffer_get_base(buffer.get()));
    ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 16);  // 64 bytes and 16 more
    const auto fails = [&](void* at, const char* why) {
        EXPECT_EQ(ggml_backend_tensor_alloc(buffer.get(), t, at), GGML_STATUS_FAILED);
        EXPECT_TRUE(last_error_names(why));
        EXPECT_EQ(t->data, nullptr);
        EXPECT_EQ(t->buffer, nullptr);
    };
    fails(base + 64, "not aligned to 128");
    fails(base + 256, "outside");
    fails(base - 128, "outside");
    fails(nullptr, "outside");
    fails(reinterpret_cast<void*>(UINTPTR_MAX - 63), "outside");
    EXPECT_EQ(ggml_backend_tensor_alloc(nullptr, t, base), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_backend_tensor_alloc(buffer.get(), nullptr, base), GGML_STATUS_FAILED);
    tenon_clear_error();

    discrete().fake(0).tensor_init_status = TENON_E_NO_DEVICE_MEMORY;
    EXPECT_EQ(ggml_backend_tensor_alloc(buffer.get(), t, base), GGML_STATUS_ALLOC_FAILED);
    EXPECT_TRUE(last_error_names("no room for this tensor"));
    EXPECT_EQ(t->data, nullptr);
    EXPECT_EQ(t->buffer, nullptr);
    discrete().fake(0).tensor_init_status = TENON_OK;

    EXPECT_EQ(ggml_backend_tensor_alloc(buffer.get(), t, base + 128), GGML_STATUS_SUCCESS);
    EXPECT_EQ(t->data, base + 128);
    EXPECT_EQ(t->buffer, buffer.get());
    EXPECT_EQ(ggml_backend_tensor_alloc(buffer.get(), t, base), GGML_STATUS_FAILED);  // twice
    EXPECT_EQ(t->data, base + 128);
    tenon_clear_error();

    // The plugin's extra bytes count.
    ggml_tensor* large = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 30);  // 120 + 16 > 128
    EXPECT_EQ(ggml_backend_buft_get_alloc_size(device_type(), large), 136u);
    EXPECT_EQ(ggml_backend_tensor_alloc(buffer.get(), large, base + 128), GGML_STATUS_FAILED);
    tenon_clear_error();
}

TEST(TensorAlloc, WrappedMemoryNeedsOnlyTheAlignmentOfFiles) {
    alignas(128) static char memory[512];
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_backend_buffer_ptr buffer(
        ggml_backend_dev_buffer_from_host_ptr(discrete().device(0), memory, sizeof memory, 64));
    char* base = static_cast<char*>(ggml_backend_buffer_get_base(buffer.get()));
    ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8);
    EXPECT_EQ(ggml_backend_tensor_alloc(buffer.get(), t, base + 8), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_backend_tensor_alloc(buffer.get(), t, base + 32), GGML_STATUS_SUCCESS);
    tenon_clear_error();
}

TEST(ViewInit, FollowsItsRoot) {
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_tensor* root = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 16);
    ggml_tensor* view = ggml_view_1d(ctx.get(), root, 4, 32);
    EXPECT_EQ(ggml_backend_view_init(view), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("no memory yet"));
    EXPECT_EQ(ggml_backend_view_init(root), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("no view"));
    EXPECT_EQ(ggml_backend_view_init(nullptr), GGML_STATUS_FAILED);
    tenon_clear_error();

    ggml_backend_buffer_ptr buffer(
        ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 64));
    char* base = static_cast<char*>(ggml_backend_buffer_get_base(buffer.get()));
    ASSERT_EQ(ggml_backend_tensor_alloc(buffer.get(), root, base), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_backend_view_init(view), GGML_STATUS_SUCCESS);
    EXPECT_EQ(view->data, base + 32);
    EXPECT_EQ(view->buffer, buffer.get());
    EXPECT_EQ(ggml_backend_view_init(view), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("memory already"));

    ggml_tensor* beyond = ggml_view_1d(ctx.get(), root, 4, 32);
    beyond->view_offs = 52;
    EXPECT_EQ(ggml_backend_view_init(beyond), GGML_STATUS_SUCCESS);
    EXPECT_EQ(beyond->data, base + 52);  // where nobody may read or write
    float values[4] = {};
    ggml_backend_tensor_get(beyond, values, 0, sizeof values);
    EXPECT_TRUE(last_error_names("outside"));
}

TEST(MultiBuffer, FansOut) {
    std::vector<ggml_backend_buffer_t> parts;
    for (const size_t size : {64, 128}) {
        parts.push_back(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), size));
    }
    auto made = make_multi_buffer(parts);
    ASSERT_TRUE(made);
    ggml_backend_buffer_ptr multi(*made);
    EXPECT_EQ(ggml_backend_buffer_get_base(multi.get()), nullptr);
    EXPECT_EQ(ggml_backend_buffer_get_size(multi.get()), 192u);
    EXPECT_STREQ(ggml_backend_buffer_name(multi.get()), "CPU");
    ggml_backend_buffer_clear(multi.get(), 7);
    ggml_backend_buffer_set_usage(multi.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    for (auto* part : parts) {
        const size_t size = ggml_backend_buffer_get_size(part);
        EXPECT_EQ(static_cast<char*>(ggml_backend_buffer_get_base(part))[size - 1], 7);
        EXPECT_EQ(ggml_backend_buffer_get_usage(part), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1);
    void* inside = ggml_backend_buffer_get_base(parts[0]);
    EXPECT_EQ(ggml_backend_tensor_alloc(multi.get(), t, inside), GGML_STATUS_FAILED);
    tenon_clear_error();
}

TEST(SupportsOp, HonoursWhereTheSourcesLie) {
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_tensor* a = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8);
    ggml_tensor* sum = ggml_add(ctx.get(), a, a);
    ggml_backend_dev_t cpu = (fake_cpu(), ggml_backend_dev_by_name("CPU"));
    ggml_backend_dev_t device = discrete().device(0);
    const auto answers = [&](ggml_backend_buffer_type_t type) {
        ggml_backend_buffer_ptr dummy(type ? ggml_backend_buft_alloc_buffer(type, 0) : nullptr);
        a->buffer = dummy.get();
        const std::pair<bool, bool> both{ggml_backend_dev_supports_op(cpu, sum),
                                         ggml_backend_dev_supports_op(device, sum)};
        a->buffer = nullptr;
        return both;
    };
    EXPECT_EQ(answers(nullptr), std::pair(true, true));
    EXPECT_EQ(answers(ggml_backend_cpu_buffer_type()), std::pair(true, true));
    EXPECT_EQ(answers(device_type()), std::pair(false, true));
    EXPECT_TRUE(ggml_backend_dev_supports_op(device, a));  // nothing to compute
    ggml_tensor* norm = ggml_rms_norm(ctx.get(), a, 1e-5f);
    EXPECT_FALSE(ggml_backend_dev_supports_op(device, norm));
    discrete().fake(0).verdict_flags = TENON_VERDICT_WANTS_OP;
    EXPECT_TRUE(ggml_backend_dev_offload_op(device, sum));
    EXPECT_FALSE(ggml_backend_dev_offload_op(device, norm));
    discrete().fake(0).verdict_flags = 0;
    EXPECT_FALSE(ggml_backend_dev_offload_op(device, sum));
    EXPECT_FALSE(ggml_backend_dev_offload_op(cpu, sum));
}

}  // namespace
