// Buffer types and buffers: the core's own host memory (`CPU`, `CPU_Mapped`) and memory of plugins.

#include "core/device/buffer.h"

#include <algorithm>
#include <cstring>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/device/plugin_adapter.h"
#include "core/tensor/shape.h"

namespace tenon {
namespace {

constexpr size_t kHostAlignment = 64;  // of memory the core allocates, bytes

ggml_backend_buffer_type* core_type(const char* name) {
    auto* type = new ggml_backend_buffer_type;  // lives as long as the process
    type->name = name;
    type->flags = TENON_BUFT_HOST | TENON_BUFT_HOST_LAYOUT;
    type->alignment = kWrapAlignment;
    return type;
}

ggml_backend_buffer_type* mapped_type() {
    static ggml_backend_buffer_type* type = core_type("CPU_Mapped");
    return type;
}

}  // namespace

void BufferGivenUp::operator()(ggml_backend_buffer* buffer) const {
    if (ggml_backend_device* device = buffer->type->device) {
        device->live_objects.fetch_sub(1, std::memory_order_release);
    }
    delete buffer;
}

NewBuffer new_buffer(ggml_backend_buffer_type& type) {
    auto* buffer = new ggml_backend_buffer;
    buffer->type = &type;
    buffer->head.struct_size = sizeof buffer->head;
    buffer->head.buft_flags = type.flags;
    buffer->head.buft_index = type.index;
    buffer->head.usage = GGML_BACKEND_BUFFER_USAGE_ANY;
    if (type.device) {
        buffer->head.plugin_serial = type.device->reg->serial;
        buffer->head.device_index = type.device->index;
        type.device->live_objects.fetch_add(1, std::memory_order_relaxed);
    }
    return NewBuffer(buffer);
}

namespace {

// Gives back memory and count; the object itself is the caller's.
void release(ggml_backend_buffer& buffer) {
    const Departing counted{buffer.type->device};
    for (auto* part : buffer.parts) ggml_backend_buffer_free(part);
    if (buffer.head.buffer) {
        tenon_buffer* handle = buffer.head.buffer;
        if (may_enter(*buffer.type->device->reg)) {
            tell_plugin(buffer.type->name.c_str(), "free", handle->v->free, handle);
        }
    } else if (!buffer.wrapped && is_core_memory(buffer)) {
        os::free_aligned(buffer.head.base, buffer.head.size, kHostAlignment);
    }
}

Result<ggml_backend_buffer*> alloc_host(ggml_backend_buffer_type& type, size_t size) {
    auto buffer = new_buffer(type);
    buffer->head.base = os::alloc_aligned(size, kHostAlignment);
    if (!buffer->head.base) {
        return fail(TENON_E_NO_HOST_MEMORY, "%s: cannot allocate %zu bytes", type.name.c_str(),
                    size);
    }
    buffer->head.size = size;
    return buffer.release();
}

bool is_out_of_memory(tenon_status status) {
    return status == TENON_E_NO_HOST_MEMORY || status == TENON_E_NO_DEVICE_MEMORY ||
           status == TENON_E_UNSUPPORTED;
}

Result<ggml_backend_buffer*> alloc_buffer(ggml_backend_buffer_type& type, size_t size) {
    if (size == 0) return new_buffer(type).release();  // stands for the type, has no memory
    if (!type.device) return alloc_host(type, size);
    auto buffer = new_buffer(type);
    auto memory = alloc_plugin_buffer(type, size);
    if (!memory) {
        // Memory that cannot be pinned is still good, only slower; the buffer's type tells.
        if ((type.flags & TENON_BUFT_PINNED) && is_out_of_memory(memory.error().code)) {
            log(GGML_LOG_LEVEL_DEBUG, "%s; taking plain host memory", memory.error().text);
            return alloc_host(*ggml_backend_cpu_buffer_type(), size);
        }
        return memory.error();
    }
    buffer->head.buffer = memory->handle;
    buffer->head.base = memory->base;
    buffer->head.size = size;
    return buffer.release();
}

Result<ggml_backend_buffer*> wrap_host(void* ptr, size_t size) {
    if (!ptr || reinterpret_cast<uintptr_t>(ptr) % kWrapAlignment != 0) {
        return fail(TENON_E_INVALID, "cannot use memory at %p: it must be aligned to %zu bytes",
                    ptr, kWrapAlignment);
    }
    auto buffer = new_buffer(*mapped_type());
    buffer->wrapped = true;
    buffer->head.base = ptr;
    buffer->head.size = size;
    return buffer.release();
}

Result<ggml_backend_buffer*> wrap_for_device(ggml_backend_device& device, void* ptr, size_t size,
                                             size_t max_tensor_size) {
    if (!device.default_buft->device) return wrap_host(ptr, size);
    if (!device.can(TENON_CAP_WRAP_HOST_PTR)) {
        return fail(TENON_E_UNSUPPORTED, "device '%s' cannot use memory of the application",
                    device.name.c_str());
    }
    if (!ptr || reinterpret_cast<uintptr_t>(ptr) % kWrapAlignment != 0) {
        return fail(TENON_E_INVALID, "cannot use memory at %p: it must be aligned to %zu bytes",
                    ptr, kWrapAlignment);
    }
    auto buffer = new_buffer(*device.default_buft);
    auto memory = wrap_plugin_buffer(device, ptr, size, max_tensor_size);
    if (!memory) return memory.error();
    buffer->wrapped = true;
    buffer->head.buffer = memory->handle;
    buffer->head.base = memory->base;
    buffer->head.size = size;
    return buffer.release();
}

Result<void> clear(ggml_backend_buffer* buffer, uint8_t value) {
    if (!buffer) return fail(TENON_E_INVALID, "buffer is null");
    for (auto* part : buffer->parts) {
        if (auto ok = clear(part, value); !ok) return ok;
    }
    if (tenon_buffer* handle = buffer->head.buffer) {
        if (auto ok = may_enter(*buffer->type->device->reg); !ok) return ok;
        PluginError error;
        const tenon_status status = call_plugin(error, handle->v->clear, handle, value);
        if (status == TENON_OK) return {};
        return error.as_error(status, buffer->type->name.c_str(), "cannot clear a buffer");
    }
    if (buffer->head.base) std::memset(buffer->head.base, value, buffer->head.size);
    return {};
}

void set_usage(ggml_backend_buffer& buffer, uint32_t usage) {
    buffer.head.usage = usage;
    for (auto* part : buffer.parts) set_usage(*part, usage);
    tenon_buffer* handle = buffer.head.buffer;
    if (!handle || !handle->v->set_usage) return;
    tell_plugin(buffer.type->name.c_str(), "set_usage", handle->v->set_usage, handle, usage);
}

void reset(ggml_backend_buffer& buffer) {
    for (auto* part : buffer.parts) reset(*part);
    tenon_buffer* handle = buffer.head.buffer;
    if (!handle || !handle->v->reset) return;
    tell_plugin(buffer.type->name.c_str(), "reset", handle->v->reset, handle);
}

}  // namespace

size_t alloc_size(ggml_backend_buffer_type_t buft, const ggml_tensor* tensor) {
    const size_t natural = nbytes(*tensor);
    const ggml_backend_device* device = buft->device;
    if (!device || !device->handle || !device->handle->v->tensor_bytes) return natural;
    // Less than the tensor has would be a bug of the plugin; its tensors then stay readable.
    return std::max<size_t>(natural, ask_plugin<uint64_t>(buft->name.c_str(), "tensor_bytes", 0,
                                                          device->handle->v->tensor_bytes,
                                                          device->handle, buft->index, tensor));
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_backend_buffer_type_t ggml_backend_cpu_buffer_type(void) {
    static ggml_backend_buffer_type* type = core_type("CPU");
    return type;
}

ggml_backend_buffer_t ggml_backend_cpu_buffer_from_ptr(void* ptr, size_t size) {
    return guard<ggml_backend_buffer_t>(nullptr, [&] { return wrap_host(ptr, size); });
}

ggml_backend_buffer_t ggml_backend_dev_buffer_from_host_ptr(ggml_backend_dev_t device, void* ptr,
                                                            size_t size, size_t max_tensor_size) {
    return guard<ggml_backend_buffer_t>(nullptr, [&]() -> Result<ggml_backend_buffer_t> {
        if (!device) return fail(TENON_E_INVALID, "device is null");
        return wrap_for_device(*device, ptr, size, max_tensor_size);
    });
}

const char* ggml_backend_buft_name(ggml_backend_buffer_type_t buft) {
    return buft ? buft->name.c_str() : "NULL";
}

ggml_backend_buffer_t ggml_backend_buft_alloc_buffer(ggml_backend_buffer_type_t buft, size_t size) {
    return guard<ggml_backend_buffer_t>(nullptr, [&]() -> Result<ggml_backend_buffer_t> {
        if (!buft) return fail(TENON_E_INVALID, "buffer type is null");
        return alloc_buffer(*buft, size);
    });
}

size_t ggml_backend_buft_get_alignment(ggml_backend_buffer_type_t buft) {
    return buft ? buft->alignment : 0;
}

size_t ggml_backend_buft_get_max_size(ggml_backend_buffer_type_t buft) {
    return buft ? buft->max_size : 0;
}

size_t ggml_backend_buft_get_alloc_size(ggml_backend_buffer_type_t buft,
                                        const ggml_tensor* tensor) {
    return buft && tensor ? alloc_size(buft, tensor) : 0;
}

bool ggml_backend_buft_is_host(ggml_backend_buffer_type_t buft) { return buft && buft->is_host(); }

ggml_backend_dev_t ggml_backend_buft_get_device(ggml_backend_buffer_type_t buft) {
    return buft ? buft->device : nullptr;
}

const char* ggml_backend_buffer_name(ggml_backend_buffer_t buffer) {
    return buffer ? buffer->type->name.c_str() : "NULL";
}

void ggml_backend_buffer_free(ggml_backend_buffer_t buffer) {
    if (!buffer) return;
    guard_void([&] {
        const std::unique_ptr<ggml_backend_buffer> owned(buffer);
        release(*buffer);
    });
}

void* ggml_backend_buffer_get_base(ggml_backend_buffer_t buffer) {
    return buffer ? buffer->head.base : nullptr;
}

size_t ggml_backend_buffer_get_size(ggml_backend_buffer_t buffer) {
    return buffer ? buffer->head.size : 0;
}

size_t ggml_backend_buffer_get_alignment(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_get_alignment(ggml_backend_buffer_get_type(buffer));
}

size_t ggml_backend_buffer_get_max_size(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_get_max_size(ggml_backend_buffer_get_type(buffer));
}

size_t ggml_backend_buffer_get_alloc_size(ggml_backend_buffer_t buffer, const ggml_tensor* tensor) {
    return ggml_backend_buft_get_alloc_size(ggml_backend_buffer_get_type(buffer), tensor);
}

void ggml_backend_buffer_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    guard_void([&] { return clear(buffer, value); });
}

bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_is_host(ggml_backend_buffer_get_type(buffer));
}

void ggml_backend_buffer_set_usage(ggml_backend_buffer_t buffer, ggml_backend_buffer_usage usage) {
    guard_void([&]() -> Result<void> {
        if (!buffer) return fail(TENON_E_INVALID, "buffer is null");
        set_usage(*buffer, usage);
        return {};
    });
}

ggml_backend_buffer_usage ggml_backend_buffer_get_usage(ggml_backend_buffer_t buffer) {
    return buffer ? static_cast<ggml_backend_buffer_usage>(buffer->head.usage)
                  : GGML_BACKEND_BUFFER_USAGE_ANY;
}

ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer) {
    return buffer ? buffer->type : nullptr;
}

void ggml_backend_buffer_reset(ggml_backend_buffer_t buffer) {
    guard_void([&]() -> Result<void> {
        if (!buffer) return fail(TENON_E_INVALID, "buffer is null");
        reset(*buffer);
        return {};
    });
}

}  // extern "C"
