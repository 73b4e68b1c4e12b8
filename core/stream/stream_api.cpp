// ggml_backend_*: streams as applications see them.

#include <algorithm>

#include "core/stream/stream.h"

namespace tenon {
namespace {

// A graph of a stream that owns its lists, for repeated runs.
struct Plan {
    ggml_backend* stream = nullptr;
    std::vector<ggml_tensor*> nodes;
    std::vector<int32_t> use_counts;
    uint64_t uid = 0;
};

Result<void> compute_async(ggml_backend* stream, const ggml_cgraph* graph) {
    if (!stream) return fail(TENON_E_INVALID, "backend is null");
    auto list = nodes_of(graph);
    if (!list) return list.error();
    return run(*stream, *list, options_of(*stream));
}

Result<Plan*> make_plan(ggml_backend* stream, const ggml_cgraph* graph) {
    if (!stream) return fail(TENON_E_INVALID, "backend is null");
    auto list = nodes_of(graph);
    if (!list) return list.error();
    list->uid = 0;
    auto planned = plan_nodes(*stream, *list);
    if (!planned) return planned.error();
    auto plan = std::make_unique<Plan>();
    plan->stream = stream;
    plan->nodes = (*planned)->nodes;
    plan->use_counts = (*planned)->use_counts;
    plan->uid = fresh_graph_uid();
    return plan.release();
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_backend_t ggml_backend_dev_init(ggml_backend_dev_t device, const char* params) {
    return guard<ggml_backend_t>(nullptr, [&]() -> Result<ggml_backend_t> {
        if (!device) return fail(TENON_E_INVALID, "device is null");
        return open_stream(*device, params);
    });
}

ggml_guid_t ggml_backend_guid(ggml_backend_t backend) {
    return backend ? &backend->device->reg->guid : nullptr;
}

const char* ggml_backend_name(ggml_backend_t backend) {
    return backend ? backend->device->name.c_str() : "NULL";
}

void ggml_backend_free(ggml_backend_t backend) {
    if (!backend) return;
    guard_void([&]() -> Result<void> {
        auto finished = synchronize_stream(backend);
        delete backend;
        return finished;
    });
}

ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t backend) {
    return backend ? backend->device : nullptr;
}

ggml_backend_buffer_type_t ggml_backend_get_default_buffer_type(ggml_backend_t backend) {
    return backend ? backend->device->default_buft : nullptr;
}

ggml_backend_buffer_t ggml_backend_alloc_buffer(ggml_backend_t backend, size_t size) {
    return ggml_backend_buft_alloc_buffer(ggml_backend_get_default_buffer_type(backend), size);
}

size_t ggml_backend_get_alignment(ggml_backend_t backend) {
    return ggml_backend_buft_get_alignment(ggml_backend_get_default_buffer_type(backend));
}

size_t ggml_backend_get_max_size(ggml_backend_t backend) {
    return ggml_backend_buft_get_max_size(ggml_backend_get_default_buffer_type(backend));
}

void ggml_backend_synchronize(ggml_backend_t backend) {
    guard_void([&]() -> Result<void> {
        auto ok = synchronize_stream(backend);
        // This function has no way to say it; the next one that returns a status has.
        if (!ok && backend) backend->scratch->pending_error = ok.error();
        return ok;
    });
}

ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend, ggml_cgraph* cgraph) {
    return guard_status([&] { return compute_async(backend, cgraph); });
}

ggml_status ggml_backend_graph_compute(ggml_backend_t backend, ggml_cgraph* cgraph) {
    return guard_status([&]() -> Result<void> {
        auto computed = compute_async(backend, cgraph);
        if (!backend) return computed;
        auto finished = synchronize_stream(backend);
        return computed ? finished : computed;
    });
}

ggml_backend_graph_plan_t ggml_backend_graph_plan_create(ggml_backend_t backend,
                                                         ggml_cgraph* cgraph) {
    return guard<ggml_backend_graph_plan_t>(nullptr, [&]() -> Result<ggml_backend_graph_plan_t> {
        auto plan = make_plan(backend, cgraph);
        if (!plan) return plan.error();
        return static_cast<ggml_backend_graph_plan_t>(*plan);
    });
}

void ggml_backend_graph_plan_free(ggml_backend_t, ggml_backend_graph_plan_t plan) {
    delete static_cast<Plan*>(plan);
}

ggml_status ggml_backend_graph_plan_compute(ggml_backend_t backend,
                                            ggml_backend_graph_plan_t handle) {
    return guard_status([&]() -> Result<void> {
        const auto* plan = static_cast<const Plan*>(handle);
        if (!backend || !plan) return fail(TENON_E_INVALID, "backend or plan is null");
        if (plan->stream != backend) {
            return fail(TENON_E_INVALID, "the plan was made for another backend");
        }
        auto computed = run_nodes(backend, plan->nodes.data(), plan->use_counts.data(),
                                  plan->nodes.size(), plan->uid);
        auto finished = synchronize_stream(backend);
        return computed ? finished : computed;
    });
}

bool ggml_backend_supports_op(ggml_backend_t backend, const ggml_tensor* op) {
    return ggml_backend_dev_supports_op(ggml_backend_get_device(backend), op);
}

bool ggml_backend_supports_buft(ggml_backend_t backend, ggml_backend_buffer_type_t buft) {
    return ggml_backend_dev_supports_buft(ggml_backend_get_device(backend), buft);
}

bool ggml_backend_offload_op(ggml_backend_t backend, const ggml_tensor* op) {
    return ggml_backend_dev_offload_op(ggml_backend_get_device(backend), op);
}

}  // extern "C"
