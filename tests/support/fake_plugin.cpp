// Devices of the fake plugin and its plugin table.

#include "tests/support/fake_plugin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tenon/ext/cost.h"
#include "tenon/ext/features.h"
#include "tenon/tenon.h"
#include "tests/support/fake_plugin_parts.h"

struct tenon_plugin_ctx {
    tenon::test::FakePlugin* plugin;
};

namespace tenon::test {
namespace {

// ---- devices ----------------------------------------------------------------------------------

FakeHandle& of(tenon_device* device) { return *reinterpret_cast<FakeHandle*>(device); }

void device_close(tenon_device* device) {
    ++of(device).fake->n_closed;
    delete &of(device);
}
tenon_status device_memory(tenon_device* device, tenon_memory_info* out, tenon_error* error) {
    out->total = 1000;
    out->free = 600;
    return failed(error, of(device).fake->memory_status, "the driver does not tell");
}
tenon_status query_ops_of(tenon_device* device, const tenon_op_query* query, tenon_error*) {
    FakeDevice& fake = *of(device).fake;
    for (uint32_t i = 0; i < query->n; ++i) {
        ++fake.n_queried;
        auto& verdict = *reinterpret_cast<tenon_op_verdict*>(static_cast<char*>(query->verdicts) +
                                                             size_t{i} * query->stride);
        const char* why = fake.refuses ? fake.refuses(*query->ops[i]) : nullptr;
        if (!why && !computes(*query->ops[i])) why = "it has no kernel";
        verdict.support = why ? TENON_SUPPORT_NO : TENON_SUPPORT_YES;
        verdict.reason = why ? TENON_REASON_NOT_IMPLEMENTED : TENON_REASON_NONE;
        verdict.detail = why;
        verdict.flags = fake.verdict_flags | (fake.cacheable ? 1u : 0u) * TENON_VERDICT_CACHEABLE;
        if (query->want & 1) continue;
        verdict.workspace = fake.workspace;
        verdict.time_ns = fake.time_ns;
        verdict.confidence = fake.confidence;
    }
    return TENON_OK;
}
uint32_t buft_count(tenon_device* device) {
    return static_cast<uint32_t>(of(device).fake->bufts.size());
}
tenon_status buft_info(tenon_device* device, uint32_t i, tenon_buft_info* out, tenon_error*) {
    const FakeBuft& buft = of(device).fake->bufts[i];
    out->flags = buft.flags;
    out->name = buft.name.c_str();
    out->alignment = buft.alignment;
    out->max_size = buft.max_size;
    return TENON_OK;
}
int32_t buft_accepts(tenon_device* device, const tenon_buft_info*, const tenon_device_info*) {
    return of(device).fake->accepts_all_bufts;
}
uint64_t tensor_bytes(tenon_device* device, uint32_t buft, const ggml_tensor* t) {
    return ggml_nbytes(t) + of(device).fake->bufts[buft].extra_bytes;
}
void* address_of(const FakeBuffer& buffer, char* memory) {
    return buffer.host ? memory
                       : reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory) | kHidden);
}
tenon_status buffer_alloc(tenon_device* device, uint32_t buft, uint64_t size, uint32_t,
                          tenon_buffer** out, void** base, tenon_error* error) {
    FakeDevice& fake = *of(device).fake;
    if (fake.alloc_status != TENON_OK) return failed(error, fake.alloc_status, "no memory left");
    const uint64_t alignment = std::max<uint64_t>(fake.bufts[buft].alignment, 64);
    const bool host = fake.bufts[buft].flags & TENON_BUFT_HOST;
    auto* memory = static_cast<char*>(
        std::aligned_alloc(alignment, (size + 2 * alignment - 1) / alignment * alignment));
    auto* buffer = new FakeBuffer{{&kFakeBufferTable}, &fake, memory, host, nullptr, size};
    *base = buffer->start = address_of(*buffer, memory + (fake.misaligned_base ? 1 : 0));
    *out = &buffer->base;
    return TENON_OK;
}
tenon_status buffer_wrap(tenon_device* device, void* host, uint64_t size, uint64_t,
                         tenon_buffer** out, void** base, tenon_error*) {
    auto* buffer =
        new FakeBuffer{{&kFakeBufferTable}, of(device).fake, nullptr, false, nullptr, size};
    *base = buffer->start = address_of(*buffer, static_cast<char*>(host));
    *out = &buffer->base;
    return TENON_OK;
}
tenon_status stream_open(tenon_device* device, const tenon_open_params*, tenon_stream** out,
                         tenon_error* error) {
    FakeDevice& fake = *of(device).fake;
    if (fake.stream_status != TENON_OK) return failed(error, fake.stream_status, "no stream left");
    *out = &(new FakeStream{{&kFakeStreamTable}, &fake, {}})->base;
    return TENON_OK;
}
tenon_status event_new(tenon_device*, tenon_event** out, tenon_error*) {
    *out = &(new FakeEvent{{&kFakeEventTable}})->base;
    return TENON_OK;
}
tenon_status cost_model(tenon_device* device, tenon_cost_model* out, tenon_error* error) {
    *out = *of(device).fake->rates;
    return failed(error, of(device).fake->rates_status, "the clock is not known");
}
constexpr tenon_ext_cost kCost{sizeof(tenon_ext_cost), 0, cost_model, nullptr};
const void* device_extension_of(tenon_device* device, const char* id) {
    const bool asked = std::strcmp(id, TENON_EXT_COST) == 0;
    return asked && of(device).fake->rates ? &kCost : nullptr;
}

constexpr tenon_device_vtbl kDeviceTable{sizeof(tenon_device_vtbl),
                                         0,
                                         device_close,
                                         device_memory,
                                         query_ops_of,
                                         buft_count,
                                         buft_info,
                                         buft_accepts,
                                         tensor_bytes,
                                         buffer_alloc,
                                         buffer_wrap,
                                         stream_open,
                                         event_new,
                                         device_extension_of};

// ---- plugin -----------------------------------------------------------------------------------

uint32_t device_count(tenon_plugin_ctx* ctx) {
    return static_cast<uint32_t>(ctx->plugin->n_devices());
}
tenon_status device_info(tenon_plugin_ctx* ctx, uint32_t i, tenon_device_info* out, tenon_error*) {
    const FakeDevice& fake = ctx->plugin->fake(i);
    out->kind = fake.kind;
    out->name = fake.null_name ? nullptr : fake.name.c_str();
    out->description = "a device for tests";
    out->driver = "fake 1.0";
    out->caps = fake.caps;
    out->identity = fake.identity;
    out->preference = fake.preference;
    return TENON_OK;
}
tenon_status device_open(tenon_plugin_ctx* ctx, uint32_t i, const tenon_open_params*,
                         tenon_device** out, tenon_error* error) {
    FakeDevice& fake = ctx->plugin->fake(i);
    if (fake.open_status != TENON_OK) return failed(error, fake.open_status, "it is switched off");
    auto* device = new FakeHandle{{nullptr}, kDeviceTable, &fake};
    if (fake.incomplete) device->table.struct_size = 16;
    device->base.v = &device->table;
    *out = &device->base;
    return TENON_OK;
}
const void* plugin_extension_of(tenon_plugin_ctx* ctx, const char* id) {
    const bool asked = std::strcmp(id, TENON_EXT_FEATURES) == 0;
    return asked && ctx->plugin->features.n ? &ctx->plugin->features : nullptr;
}

}  // namespace

void* visible(const void* address) {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) & ~kHidden);
}

FakePlugin& FakePlugin::make(const std::string& display_name, std::vector<FakeDevice> devices) {
    static std::vector<std::unique_ptr<FakePlugin>> all;
    all.push_back(std::make_unique<FakePlugin>());
    FakePlugin& plugin = *all.back();
    plugin.display_name_ = display_name;
    for (FakeDevice& device : devices) {
        device.ran.reserve(1000);
        device.last_use_counts.reserve(1000);
        plugin.devices_.push_back(std::make_unique<FakeDevice>(std::move(device)));
    }
    plugin.table.struct_size = sizeof plugin.table;
    plugin.table.abi_major = TENON_ABI_MAJOR;
    plugin.table.id = plugin.display_name_.c_str();
    plugin.table.family = display_name == "CPU" ? "cpu" : "fake";
    plugin.table.variant = "fake";
    plugin.table.version = "1.0";
    plugin.table.display_name = plugin.display_name_.c_str();
    plugin.table.device_count = device_count;
    plugin.table.device_info = device_info;
    plugin.table.device_open = device_open;
    plugin.table.extension = plugin_extension_of;
    return plugin;
}

ggml_backend_reg_t FakePlugin::load() {
    static uint32_t next_serial = 1000;
    LoadedPlugin loaded;
    loaded.table = &table;
    loaded.ctx = new tenon_plugin_ctx{this};
    loaded.serial = next_serial++;
    loaded.note_flags = note_flags;
    loaded.path = "/test/" + display_name_ + ".so";
    features.struct_size = sizeof features;
    features.n = static_cast<uint32_t>(feature_items.size());
    features.items = feature_items.data();
    auto adopted = make_devices(loaded);
    if (!adopted) return nullptr;
    outcomes = adopted->devices;
    std::vector<std::unique_ptr<ggml_backend_reg>> regs;
    regs.push_back(std::move(adopted->reg));
    return reg_ = register_plugins(std::move(regs))[0];
}

ggml_backend_dev_t FakePlugin::device(size_t i) const {
    for (const auto& device : reg_->devices) {
        if (device->index == i) return device.get();
    }
    return nullptr;
}

bool FakePlugin::unload() {
    auto removed = unregister_plugin(reg_);
    if (!removed) return false;
    delete (*removed)->ctx;
    reg_ = nullptr;
    return true;
}

FakePlugin& fake_cpu() {
    static FakePlugin& plugin = [&]() -> FakePlugin& {
        FakeDevice cpu;
        cpu.name = "CPU";
        cpu.kind = TENON_DEVICE_CPU;
        cpu.caps = TENON_CAP_READS_HOST | TENON_CAP_HOST_THREADS;
        FakePlugin& made = FakePlugin::make("CPU", {cpu});
        made.feature_items = {{"AVX2", "1"}, {"SVE_CNT", "32"}};
        made.load();
        return made;
    }();
    return plugin;
}

namespace {

// Every test begins without an error from the one before.
struct ClearErrors : testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo&) override { tenon_clear_error(); }
};
const bool kListening = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new ClearErrors);
    return true;
}();

}  // namespace

// The plugins of the build tree would bring a CPU of their own.
static const int kNoAutoload = ::setenv("TENON_AUTOLOAD", "0", 1);

}  // namespace tenon::test
