// The fake plugin's tables.

#include "tests/unit/fake_plugin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "tenon/op_params.h"
#include "tenon/tenon.h"
#include "tenon/tensor.h"

struct tenon_plugin_ctx {
    tenon::test::FakePlugin* plugin;
};

namespace tenon::test {
namespace {

constexpr uintptr_t kHidden = uintptr_t{1} << 62;

struct Device {
    tenon_device base;
    tenon_device_vtbl table;
    FakeDevice* fake;
    tenon_ext_host_memory host_memory;
};
struct Buffer {
    tenon_buffer base;
    FakeDevice* fake;
    char* memory;  // NULL: wraps what is not ours
    bool host;
    void* start;  // as the core knows it
    uint64_t size;
};
// Work that is done when somebody waits for it.
struct Stream {
    tenon_stream base;
    FakeDevice* fake;
    std::deque<std::function<void()>> queue;
    uint64_t n_queued = 0, n_done = 0;

    void push(std::function<void()> work) {
        ++n_queued;
        queue.push_back(std::move(work));
        if (!(fake->caps & TENON_CAP_ASYNC)) drain(n_queued);
    }
    void drain(uint64_t until) {
        while (n_done < until) {
            auto work = std::move(queue.front());
            queue.pop_front();
            ++n_done;
            work();
        }
    }
};
struct Event {
    tenon_event base;
    Stream* stream = nullptr;
    uint64_t position = 0;
};

tenon_status failed(tenon_error* error, tenon_status status, const char* text) {
    return status == TENON_OK ? TENON_OK : tenon_fail(error, status, 0, nullptr, text);
}

// ---- buffers
// -------------------------------------------------------------------------------------

Buffer& of(tenon_buffer* buffer) { return *reinterpret_cast<Buffer*>(buffer); }

void buffer_free(tenon_buffer* buffer) {
    std::free(of(buffer).memory);
    delete &of(buffer);
}
tenon_status tensor_init(tenon_buffer* buffer, ggml_tensor*, tenon_error* error) {
    return failed(error, of(buffer).fake->tensor_init_status, "no room for this tensor");
}
tenon_status tensor_set(tenon_buffer*, ggml_tensor* t, const void* src, const tenon_region* r,
                        tenon_error*) {
    for (uint64_t i = 0; i < r->n; ++i) {
        std::memcpy(static_cast<char*>(visible(t->data)) + r->offset + i * r->tensor_stride,
                    static_cast<const char*>(src) + i * r->host_stride, r->size);
    }
    return TENON_OK;
}
tenon_status tensor_get(tenon_buffer*, const ggml_tensor* t, void* dst, const tenon_region* r,
                        tenon_error*) {
    for (uint64_t i = 0; i < r->n; ++i) {
        std::memcpy(static_cast<char*>(dst) + i * r->host_stride,
                    static_cast<char*>(visible(t->data)) + r->offset + i * r->tensor_stride,
                    r->size);
    }
    return TENON_OK;
}
tenon_status tensor_fill(tenon_buffer* buffer, ggml_tensor* t, uint8_t value, uint64_t offset,
                         uint64_t size, tenon_error* error) {
    if (of(buffer).fake->cannot_fill) return failed(error, TENON_E_UNSUPPORTED, "cannot fill");
    std::memset(static_cast<char*>(visible(t->data)) + offset, value, size);
    return TENON_OK;
}
tenon_status tensor_copy(tenon_buffer* buffer, const ggml_tensor* src, ggml_tensor* dst,
                         tenon_error*) {
    if (!of(buffer).fake->copies_on_device) return TENON_E_UNSUPPORTED;
    std::memcpy(visible(dst->data), visible(src->data), ggml_nbytes(src));
    return TENON_OK;
}
tenon_status clear(tenon_buffer* buffer, uint8_t value, tenon_error*) {
    std::memset(visible(of(buffer).start), value, of(buffer).size);
    return TENON_OK;
}

constexpr tenon_buffer_vtbl kBufferTable{sizeof(tenon_buffer_vtbl),
                                         0,
                                         buffer_free,
                                         tensor_init,
                                         tensor_set,
                                         tensor_get,
                                         tensor_fill,
                                         tensor_copy,
                                         clear,
                                         nullptr,
                                         nullptr};

// ---- computing
// -----------------------------------------------------------------------------------

float* floats(const ggml_tensor* t) { return static_cast<float*>(visible(t->data)); }

// The share of one member in an elementwise node.
void compute_share(const ggml_tensor& node, int64_t begin, int64_t end) {
    float* dst = floats(&node);
    const float* a = floats(node.src[0]);
    const float* b = node.src[1] ? floats(node.src[1]) : nullptr;
    tenon_scale_params scale;
    std::memcpy(&scale, node.op_params, sizeof scale);
    for (int64_t i = begin; i < end; ++i) {
        switch (node.op) {
            case GGML_OP_ADD:
                dst[i] = a[i] + b[i];
                break;
            case GGML_OP_MUL:
                dst[i] = a[i] * b[i];
                break;
            case GGML_OP_SCALE:
                dst[i] = a[i] * scale.scale + scale.bias;
                break;
            case GGML_OP_SQR:
                dst[i] = a[i] * a[i];
                break;
            default:
                break;
        }
    }
}

void compute(const ggml_tensor& node, tenon_team* team, const tenon_ext_host_threads* threads) {
    if (!team) return compute_share(node, 0, ggml_nelements(&node));
    threads->team_run(
        team,
        [](void* arg, uint32_t member, uint32_t members) {
            const auto& shared = *static_cast<const ggml_tensor*>(arg);
            const int64_t n = ggml_nelements(&shared);
            compute_share(shared, n * member / members, n * (member + 1) / members);
        },
        const_cast<ggml_tensor*>(&node));
}

bool computes(const ggml_tensor& node) {
    switch (node.op) {
        case GGML_OP_ADD:
        case GGML_OP_MUL:
            return node.type == GGML_TYPE_F32 && ggml_are_same_shape(node.src[0], node.src[1]);
        case GGML_OP_SCALE:
        case GGML_OP_SQR:
            return node.type == GGML_TYPE_F32;
        default:
            return tenon_is_view_op(node.op);
    }
}

// ---- streams
// -------------------------------------------------------------------------------------

Stream& of(tenon_stream* stream) { return *reinterpret_cast<Stream*>(stream); }

void stream_close(tenon_stream* stream) {
    of(stream).drain(of(stream).n_queued);
    delete &of(stream);
}
tenon_status stream_synchronize(tenon_stream* stream, uint64_t, tenon_error* error) {
    of(stream).drain(of(stream).n_queued);
    return failed(error, std::exchange(of(stream).fake->sync_status, TENON_OK),
                  "the queued work failed");
}
tenon_status stream_set(tenon_stream* stream, ggml_tensor* t, const void* src,
                        const tenon_region* r, tenon_error*) {
    of(stream).push([=, r = *r] { tensor_set(nullptr, t, src, &r, nullptr); });
    return TENON_OK;
}
tenon_status stream_get(tenon_stream* stream, const ggml_tensor* t, void* dst,
                        const tenon_region* r, tenon_error*) {
    of(stream).push([=, r = *r] { tensor_get(nullptr, t, dst, &r, nullptr); });
    return TENON_OK;
}
tenon_status stream_copy(tenon_stream* to, tenon_stream* from, const ggml_tensor* src,
                         ggml_tensor* dst, tenon_error*) {
    if (!of(to).fake->copies_on_device) return TENON_E_UNSUPPORTED;
    Stream* other = &of(from);
    of(to).push([=, until = other->n_queued] {
        other->drain(until);
        std::memcpy(visible(dst->data), visible(src->data), ggml_nbytes(src));
    });
    return TENON_OK;
}
tenon_status graph_run(tenon_stream* stream, const tenon_graph_view* graph,
                       const tenon_run_params* params, tenon_error* error) {
    FakeDevice& fake = *of(stream).fake;
    ++fake.n_runs;
    fake.last_threads = params->n_threads;
    fake.last_flags = params->flags;
    fake.last_graph_flags = graph->flags;
    fake.last_uid = graph->uid;
    fake.last_workspace_size = params->workspace_size;
    fake.last_use_counts.assign(graph->use_counts, graph->use_counts + graph->n_nodes);
    if (fake.run_status != TENON_OK) return failed(error, fake.run_status, "the kernel failed");
    if (params->workspace) std::memset(visible(params->workspace), 0xee, params->workspace_size);
    const auto* host = host_table("fake");
    const auto* threads =
        static_cast<const tenon_ext_host_threads*>(host->extension(host, TENON_EXT_THREADS));
    for (uint32_t i = 0; i < graph->n_nodes; ++i) {
        const ggml_tensor* node = graph->nodes[i];
        if (fake.caps & TENON_CAP_ASYNC) {
            of(stream).push([=] { compute(*node, nullptr, nullptr); });
        } else {
            compute(*node, params->team, threads);
        }
        if (fake.ran.capacity() > fake.ran.size()) fake.ran.emplace_back(node->name);
        if (params->should_cancel && params->should_cancel(params->cancel_arg)) {
            return failed(error, TENON_E_CANCELLED, "cancelled");
        }
    }
    return TENON_OK;
}
tenon_status event_record(tenon_stream* stream, tenon_event* event, tenon_error*) {
    auto& e = *reinterpret_cast<Event*>(event);
    e.stream = &of(stream);
    e.position = of(stream).n_queued;
    return TENON_OK;
}
tenon_status event_wait(tenon_stream* stream, tenon_event* event, tenon_error*) {
    const Event e = *reinterpret_cast<Event*>(event);
    if (e.stream) of(stream).push([e] { e.stream->drain(e.position); });
    return TENON_OK;
}
const void* no_stream_extension(tenon_stream*, const char*) { return nullptr; }

constexpr tenon_stream_vtbl kStreamTable{sizeof(tenon_stream_vtbl),
                                         0,
                                         stream_close,
                                         stream_synchronize,
                                         stream_set,
                                         stream_get,
                                         stream_copy,
                                         graph_run,
                                         event_record,
                                         event_wait,
                                         no_stream_extension};

void event_free(tenon_event* event) { delete reinterpret_cast<Event*>(event); }
tenon_status event_query(tenon_event*) { return TENON_OK; }
tenon_status event_synchronize(tenon_event* event, uint64_t, tenon_error*) {
    const auto& e = *reinterpret_cast<Event*>(event);
    if (e.stream) e.stream->drain(e.position);
    return TENON_OK;
}
constexpr tenon_event_vtbl kEventTable{sizeof(tenon_event_vtbl), 0, event_free, event_query,
                                       event_synchronize};

// ---- devices
// -------------------------------------------------------------------------------------

Device& of(tenon_device* device) { return *reinterpret_cast<Device*>(device); }

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
        if (!(query->want & 1)) verdict.workspace = fake.workspace;
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
void* address_of(const Buffer& buffer, char* memory) {
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
    auto* buffer = new Buffer{{&kBufferTable}, &fake, memory, host, nullptr, size};
    *base = buffer->start = address_of(*buffer, memory + (fake.misaligned_base ? 1 : 0));
    *out = &buffer->base;
    return TENON_OK;
}
tenon_status buffer_wrap(tenon_device* device, void* host, uint64_t size, uint64_t,
                         tenon_buffer** out, void** base, tenon_error*) {
    auto* buffer = new Buffer{{&kBufferTable}, of(device).fake, nullptr, false, nullptr, size};
    *base = buffer->start = address_of(*buffer, static_cast<char*>(host));
    *out = &buffer->base;
    return TENON_OK;
}
tenon_status stream_open(tenon_device* device, const tenon_open_params*, tenon_stream** out,
                         tenon_error* error) {
    FakeDevice& fake = *of(device).fake;
    if (fake.stream_status != TENON_OK) return failed(error, fake.stream_status, "no stream left");
    *out = &(new Stream{{&kStreamTable}, &fake, {}})->base;
    return TENON_OK;
}
tenon_status event_new(tenon_device*, tenon_event** out, tenon_error*) {
    *out = &(new Event{{&kEventTable}})->base;
    return TENON_OK;
}
const void* no_device_extension(tenon_device*, const char*) { return nullptr; }

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
                                         no_device_extension};

// ---- plugin
// --------------------------------------------------------------------------------------

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
    auto* device = new Device{{nullptr}, kDeviceTable, &fake, {}};
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
    plugin.table.family = plugin.table.variant = "fake";
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
    loaded.path = "/test/" + display_name_ + ".so";
    features.struct_size = sizeof features;
    features.n = static_cast<uint32_t>(feature_items.size());
    features.items = feature_items.data();
    auto adopted = adopt_plugin(loaded);
    if (!adopted) return nullptr;
    outcomes = adopted->devices;
    std::vector<std::unique_ptr<ggml_backend_reg>> regs;
    regs.push_back(std::move(adopted->reg));
    return reg_ = registry_publish(std::move(regs))[0];
}

ggml_backend_dev_t FakePlugin::device(size_t i) const {
    for (const auto& device : reg_->devices) {
        if (device->index == i) return device.get();
    }
    return nullptr;
}

bool FakePlugin::unload() {
    auto removed = registry_remove(reg_);
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
