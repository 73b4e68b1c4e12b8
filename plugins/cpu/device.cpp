// The device, stream and plugin tables. The CPU has no buffer types of its own: it works in the
// core's host memory.

#include <cstdio>
#include <new>

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/dot/levels.h"
#include "plugins/cpu/graph_run.h"
#include "plugins/cpu/hardware.h"
#include "plugins/cpu/kernel.h"
#include "plugins/cpu/plugin.h"
#include "plugins/cpu/rates.h"
#include "tenon/ext/cpu.h"
#include "tenon/ext/features.h"
#include "tenon/ext/limits.h"
#include "tenon/ext/threads.h"
#include "tenon/forced_unwind.hpp"

#include TENON_CPU_VARIANT_HEADER

struct tenon_plugin_ctx {
    const tenon_host* host;
    const tenon_ext_host_limits* limits;  // NULL: the host has none
    const tenon_ext_host_threads*
        threads;      // NULL: the host has none, everything runs on one thread
    uint32_t budget;  // threads that workspace is announced for
    tenon::cpu::RunnerOptions runner;
    char processor[64];
    tenon_cpu_dot_row dot_rows[GGML_TYPE_COUNT];
    tenon_ext_cpu_dot dot_extension;
    tenon_kv features[32];
    tenon_ext_features feature_extension;
};

namespace tenon::cpu {
namespace {

struct Device {
    tenon_device base;
    tenon_plugin_ctx* ctx;
};

struct Stream {
    tenon_stream base;
    GraphRunner runner;
};

void fill_dot_rows(tenon_plugin_ctx& ctx) {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = static_cast<ggml_type>(i);
        tenon_cpu_dot_row& row = ctx.dot_rows[i];
        row.from_float = from_float(type);
        if (const DotType* dot = find_dot_type(type)) {
            row.vec_dot = dot->vec_dot;
            row.vec_dot_type = dot->partner;
            row.nrows = 1;
        }
    }
    // Nobody multiplies with q8_1 rows, but the table says what they would meet.
    ctx.dot_rows[GGML_TYPE_Q8_1].vec_dot_type = GGML_TYPE_Q8_1;
    ctx.dot_rows[GGML_TYPE_Q8_1].nrows = 1;
    ctx.dot_extension = {sizeof(tenon_ext_cpu_dot), GGML_TYPE_COUNT, ctx.dot_rows};
}

// What the variant was built with, and the levels of dot products in use.
void fill_features(tenon_plugin_ctx& ctx) {
    uint32_t n = 0;
    for (const tenon_kv& feature : kFeatures) ctx.features[n++] = feature;
    const uint32_t in_use = dot_levels_in_use();
    for (size_t i = 0; i < dot_levels().size() && n < std::size(ctx.features); ++i) {
        if (in_use >> i & 1) ctx.features[n++] = {dot_levels()[i].feature, "1"};
    }
    ctx.feature_extension = {sizeof(tenon_ext_features), n, ctx.features};
}

bool same(const char* a, const char* b) { return a && std::strcmp(a, b) == 0; }

// An option that is on or off; anything else is said to be neither, and ignored.
bool flag(const tenon_host* host, const char* key, bool otherwise) {
    const char* value = TENON_HAS(host, tenon_host, option) ? host->option(host, key) : nullptr;
    if (!value) return otherwise;
    for (const char* yes : {"1", "on", "true", "yes"}) {
        if (same(value, yes)) return true;
    }
    for (const char* no : {"0", "off", "false", "no"}) {
        if (same(value, no)) return false;
    }
    char line[200];
    std::snprintf(line, sizeof line, "option cpu.%s is '%.60s', expected on or off; %s is used",
                  key, value, otherwise ? "on" : "off");
    if (host->log) host->log(host, GGML_LOG_LEVEL_WARN, "cpu", line);
    return otherwise;
}

// ---- stream -----------------------------------------------------------------------------------

void stream_close(tenon_stream* stream) { delete reinterpret_cast<Stream*>(stream); }

// Runs end before graph_run returns: there is never queued work.
tenon_status stream_synchronize(tenon_stream*, uint64_t, tenon_error*) { return TENON_OK; }

tenon_status stream_graph_run(tenon_stream* stream, const tenon_graph_view* graph,
                              const tenon_run_params* params, tenon_error* error) {
    return catch_all(
        [&] { return reinterpret_cast<Stream*>(stream)->runner.run(*graph, *params, error); },
        [&](bool out_of_memory, const char*) {
            return out_of_memory ? tenon_fail(error, TENON_E_NO_HOST_MEMORY, 0, nullptr,
                                              "no memory for the plan of a graph")
                                 : tenon_fail(error, TENON_E_INTERNAL, 0, nullptr,
                                              "unknown exception in a graph run");
        });
}

const void* no_extension(tenon_stream*, const char*) { return nullptr; }

constexpr tenon_stream_vtbl kStreamTable = {
    .struct_size = sizeof(tenon_stream_vtbl),
    .reserved0 = 0,
    .close = stream_close,
    .synchronize = stream_synchronize,
    .tensor_set = nullptr,
    .tensor_get = nullptr,
    .tensor_copy = nullptr,
    .graph_run = stream_graph_run,
    .event_record = nullptr,
    .event_wait = nullptr,
    .extension = no_extension,
};

// ---- device -----------------------------------------------------------------------------------

void device_close(tenon_device* device) { delete reinterpret_cast<Device*>(device); }

// What the process may have and may still take; zeros when the host cannot tell.
tenon_process_limits limits_of(const tenon_plugin_ctx& ctx) {
    tenon_process_limits limits = {};
    limits.struct_size = sizeof limits;
    if (ctx.limits && ctx.limits->limits(ctx.host, &limits) != TENON_OK) limits = {};
    return limits;
}

tenon_status device_memory(tenon_device* device, tenon_memory_info* out, tenon_error*) {
    const tenon_process_limits limits = limits_of(*reinterpret_cast<Device*>(device)->ctx);
    out->total = limits.memory_total;
    out->free = limits.memory_available;
    out->flags = 1u << 0;  // an estimate: what is free changes under our feet
    return TENON_OK;
}

tenon_status device_query_ops(tenon_device* device, const tenon_op_query* query, tenon_error*) {
    const tenon_plugin_ctx& ctx = *reinterpret_cast<Device*>(device)->ctx;
    char* verdicts = static_cast<char*>(query->verdicts);
    for (uint32_t i = 0; i < query->n; ++i) {
        judge(*query->ops[i], static_cast<int>(ctx.budget), query->want & 1u,
              *reinterpret_cast<tenon_op_verdict*>(verdicts + size_t{i} * query->stride));
    }
    return TENON_OK;
}

uint32_t no_buffer_types(tenon_device*) { return 0; }

tenon_status no_such_buffer_type(tenon_error* error) {
    return tenon_fail(error, TENON_E_INVALID, 0, nullptr, "the CPU has no buffer types of its own");
}
tenon_status device_buft_info(tenon_device*, uint32_t, tenon_buft_info*, tenon_error* error) {
    return no_such_buffer_type(error);
}
tenon_status device_buffer_alloc(tenon_device*, uint32_t, uint64_t, uint32_t, tenon_buffer**,
                                 void**, tenon_error* error) {
    return no_such_buffer_type(error);
}

tenon_status device_stream_open(tenon_device* device, const tenon_open_params*, tenon_stream** out,
                                tenon_error* error);

tenon_status cost_model(tenon_device* device, tenon_cost_model* out, tenon_error*) {
    fill_cost_model(reinterpret_cast<Device*>(device)->ctx->budget, *out);
    return TENON_OK;
}
constexpr tenon_ext_cost kCost = {sizeof(tenon_ext_cost), 0, cost_model, nullptr};

const void* device_extension(tenon_device*, const char* id) {
    return same(id, TENON_EXT_COST) ? &kCost : nullptr;
}

constexpr tenon_device_vtbl kDeviceTable = {
    .struct_size = sizeof(tenon_device_vtbl),
    .reserved0 = 0,
    .close = device_close,
    .memory = device_memory,
    .query_ops = device_query_ops,
    .buft_count = no_buffer_types,
    .buft_info = device_buft_info,
    .buft_accepts = nullptr,
    .tensor_bytes = nullptr,
    .buffer_alloc = device_buffer_alloc,
    .buffer_wrap = nullptr,
    .stream_open = device_stream_open,
    .event_new = nullptr,
    .extension = device_extension,
};

tenon_status device_stream_open(tenon_device* device, const tenon_open_params*, tenon_stream** out,
                                tenon_error* error) {
    const tenon_plugin_ctx& ctx = *reinterpret_cast<Device*>(device)->ctx;
    auto* stream = new (std::nothrow) Stream{{&kStreamTable}, {ctx.host, ctx.threads, ctx.runner}};
    if (!stream)
        return tenon_fail(error, TENON_E_NO_HOST_MEMORY, 0, nullptr, "no memory for a stream");
    *out = &stream->base;
    return TENON_OK;
}

}  // namespace

// ---- plugin -----------------------------------------------------------------------------------

tenon_status init(const tenon_host* host, const tenon_plugin_config*, tenon_plugin_ctx** out,
                  tenon_error* error) {
    auto* ctx = new (std::nothrow) tenon_plugin_ctx{};
    if (!ctx)
        return tenon_fail(error, TENON_E_NO_HOST_MEMORY, 0, nullptr, "no memory for the plugin");
    ctx->host = host;
    ctx->budget = 1;
    if (TENON_HAS(host, tenon_host, extension)) {
        ctx->threads =
            static_cast<const tenon_ext_host_threads*>(host->extension(host, TENON_EXT_THREADS));
        ctx->limits =
            static_cast<const tenon_ext_host_limits*>(host->extension(host, TENON_EXT_LIMITS));
    }
    if (ctx->threads) ctx->budget = std::max(ctx->threads->budget(host), 1u);
    ctx->runner.always_team = flag(host, "always_team", false);
    ctx->runner.fusion = flag(host, "fusion", true);
    if (TENON_HAS(host, tenon_host, option)) {
        limit_dot_levels(dot_levels_without(host->option(host, "features")));
    }
    fill_features(*ctx);
    fill_dot_rows(*ctx);
    processor_name(ctx->processor, sizeof ctx->processor);
    *out = ctx;
    return TENON_OK;
}

void shutdown(tenon_plugin_ctx* ctx) { delete ctx; }

uint32_t device_count(tenon_plugin_ctx*) { return 1; }

tenon_status device_info(tenon_plugin_ctx* ctx, uint32_t index, tenon_device_info* out,
                         tenon_error* error) {
    if (index != 0)
        return tenon_fail(error, TENON_E_INVALID, 0, nullptr, "there is one CPU device");
    out->kind = TENON_DEVICE_CPU;
    out->name = "CPU";
    out->description = ctx->processor;
    out->driver = kNote.variant;
    out->memory_total = limits_of(*ctx).memory_total;
    out->caps = TENON_CAP_READS_HOST | TENON_CAP_HOST_THREADS | TENON_CAP_MMAP_FRIENDLY;
    out->numa_node = -1;
    return TENON_OK;
}

tenon_status device_open(tenon_plugin_ctx* ctx, uint32_t index, const tenon_open_params*,
                         tenon_device** out, tenon_error* error) {
    if (index != 0)
        return tenon_fail(error, TENON_E_INVALID, 0, nullptr, "there is one CPU device");
    auto* device = new (std::nothrow) Device{{&kDeviceTable}, ctx};
    if (!device)
        return tenon_fail(error, TENON_E_NO_HOST_MEMORY, 0, nullptr, "no memory for a device");
    *out = &device->base;
    return TENON_OK;
}

const void* plugin_extension(tenon_plugin_ctx* ctx, const char* id) {
    if (same(id, TENON_EXT_FEATURES)) return &ctx->feature_extension;
    if (same(id, TENON_EXT_CPU_DOT)) return &ctx->dot_extension;
    return nullptr;
}

}  // namespace tenon::cpu
