// Functions that applications ask a registration for by name: most are the core's own.

#include <algorithm>
#include <cstring>

#include "core/device/plugin_adapter.h"
#include "ggml-cpu.h"
#include "tenon/ext/host_memory.h"
#include "tenon/ext/proc.h"

namespace tenon {
namespace {

ggml_backend_buffer_type_t* extra_bufts(ggml_backend_dev_t device) {
    static ggml_backend_buffer_type_t none[] = {nullptr};
    return device && !device->extra_bufts.empty() ? device->extra_bufts.data() : none;
}

ggml_backend_feature* features(ggml_backend_reg_t reg) {
    static ggml_backend_feature none[] = {{nullptr, nullptr}};
    return reg && !reg->features.empty() ? reg->features.data() : none;
}

void set_n_threads(ggml_backend_t backend, int n_threads) {
    guard_void([&]() -> Result<void> {
        if (!backend) return fail(TENON_E_INVALID, "backend is null");
        backend->n_threads = n_threads;
        return {};
    });
}

void set_abort_callback(ggml_backend_t backend, ggml_abort_callback callback, void* data) {
    guard_void([&]() -> Result<void> {
        if (!backend) return fail(TENON_E_INVALID, "backend is null");
        backend->abort_callback.set(callback, data);
        return {};
    });
}

const tenon_ext_host_memory* host_memory_of(const ggml_backend_device& device) {
    const auto* memory = static_cast<const tenon_ext_host_memory*>(
        device_extension(device, TENON_EXT_HOST_MEMORY));
    const bool whole = TENON_HAS(memory, tenon_ext_host_memory, pin) &&
                       TENON_HAS(memory, tenon_ext_host_memory, unpin);
    return whole ? memory : nullptr;
}

// Memory is pinned by the first device that can: the functions applications call name no device.
template <class Use>
bool with_host_memory(Use&& use) {
    return guard<bool>(false, [&]() -> Result<bool> {
        for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
            ggml_backend_dev_t device = ggml_backend_dev_get(i);
            if (!device || !host_memory_of(*device)) continue;
            PluginError error;
            const tenon_status status = use(*host_memory_of(*device), device->handle, error);
            if (status == TENON_OK) return true;
            return error.as_error(status, device->name.c_str(), "cannot pin memory");
        }
        return fail(TENON_E_UNSUPPORTED, "no device can pin memory");
    });
}

bool register_host_buffer(void* p, size_t size) {
    return with_host_memory(
        [&](const tenon_ext_host_memory& memory, tenon_device* device, PluginError& error) {
            return call_plugin(error, memory.pin, device, p, size);
        });
}

void unregister_host_buffer(void* p) {
    (void)with_host_memory(
        [&](const tenon_ext_host_memory& memory, tenon_device* device, PluginError& error) {
            return call_plugin(error, memory.unpin, device, p);
        });
}

// ---- who offers what --------------------------------------------------------------------------

template <class Test>
bool any_device(const ggml_backend_reg& reg, Test&& test) {
    return std::any_of(reg.devices.begin(), reg.devices.end(),
                       [&](const auto& device) { return test(*device); });
}

bool has_host_threads(const ggml_backend_reg& reg) {
    return any_device(reg, [](const auto& device) { return device.can(TENON_CAP_HOST_THREADS); });
}
bool has_extra_bufts(const ggml_backend_reg& reg) {
    return any_device(reg, [](const auto& device) { return device.extra_bufts.size() > 1; });
}
bool has_host_memory(const ggml_backend_reg& reg) {
    return any_device(reg, [](const auto& device) { return host_memory_of(device) != nullptr; });
}
bool has_features(const ggml_backend_reg& reg) { return !reg.features.empty(); }
bool is_cpu(const ggml_backend_reg& reg) { return reg.is_cpu(); }
bool always(const ggml_backend_reg&) { return true; }

struct Proc {
    const char* name;
    bool (*offered)(const ggml_backend_reg& reg);
    void* function;
};

template <class Function>
void* address(Function* function) {
    return reinterpret_cast<void*>(function);
}

const Proc* find_proc(const char* name) {
    static const Proc kProcs[] = {
        {"ggml_backend_set_n_threads", has_host_threads, address(set_n_threads)},
        {"ggml_backend_dev_get_extra_bufts", has_extra_bufts, address(extra_bufts)},
        {"ggml_backend_set_abort_callback", always, address(set_abort_callback)},
        {"ggml_backend_get_features", has_features, address(features)},
        {"ggml_backend_register_host_buffer", has_host_memory, address(register_host_buffer)},
        {"ggml_backend_unregister_host_buffer", has_host_memory, address(unregister_host_buffer)},
        {"ggml_backend_cpu_numa_init", is_cpu, address(ggml_numa_init)},
        {"ggml_backend_cpu_is_numa", is_cpu, address(ggml_is_numa)},
        {"ggml_backend_cpu_set_use_ref", is_cpu, address(ggml_backend_cpu_set_use_ref)},
        {"ggml_backend_cpu_set_threadpool", is_cpu, address(ggml_backend_cpu_set_threadpool)},
        {"ggml_threadpool_new", is_cpu, address(ggml_threadpool_new)},
        {"ggml_threadpool_free", is_cpu, address(ggml_threadpool_free)},
        {"ggml_threadpool_pause", is_cpu, address(ggml_threadpool_pause)},
        {"ggml_threadpool_resume", is_cpu, address(ggml_threadpool_resume)},
    };
    const auto* found = std::find_if(std::begin(kProcs), std::end(kProcs), [&](const Proc& proc) {
        return std::strcmp(proc.name, name) == 0;
    });
    return found == std::end(kProcs) ? nullptr : found;
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" void* ggml_backend_reg_get_proc_address(ggml_backend_reg_t reg, const char* name) {
    return guard<void*>(nullptr, [&]() -> void* {
        if (!reg || !name) return nullptr;
        if (const Proc* proc = find_proc(name))
            return proc->offered(*reg) ? proc->function : nullptr;
        const auto* own =
            static_cast<const tenon_ext_proc*>(plugin_extension(*reg, TENON_EXT_PROC));
        return TENON_HAS(own, tenon_ext_proc, proc)
                   ? ask_plugin<void*>(reg->name.c_str(), "proc", nullptr, own->proc, reg->ctx,
                                       name)
                   : nullptr;
    });
}
