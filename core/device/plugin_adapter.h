// Plugin tables on one side, the objects of device.h on the other. Everything a plugin answers is
// checked here before anybody relies on it.
#pragma once

#include "core/device/device.h"
#include "core/device/plugin_call.h"

namespace tenon {

// TENON_E_FORKED when the plugin was loaded before a fork and cannot live with that.
Result<void> may_enter(const ggml_backend_reg& reg);

// Closes the device's handle, if open, and gives back its names.
void close_device(ggml_backend_device& device);

// An object of the device goes, even where the plugin's function that frees it ends the thread.
struct Departing {
    ggml_backend_device* device;  // NULL: the object is the core's own
    ~Departing() {
        if (device) device->live_objects.fetch_sub(1, std::memory_order_release);
    }
};

// Opens a stream on the device; `params` may be NULL.
Result<tenon_stream*> open_plugin_stream(ggml_backend_device& device, const char* params);

// Allocates or wraps memory in a buffer type of a plugin; `host` NULL: allocate. `usage` ANY.
struct PluginBuffer {
    tenon_buffer* handle;
    void* base;
};
Result<PluginBuffer> alloc_plugin_buffer(ggml_backend_buffer_type& buft, size_t size);
Result<PluginBuffer> wrap_plugin_buffer(ggml_backend_device& device, void* host, size_t size,
                                        size_t max_tensor);

Result<tenon_event*> new_plugin_event(ggml_backend_device& device);

// An extension of the device, the plugin; NULL when it has none of this id.
const void* device_extension(const ggml_backend_device& device, const char* id);
const void* plugin_extension(const ggml_backend_reg& reg, const char* id);

}  // namespace tenon
