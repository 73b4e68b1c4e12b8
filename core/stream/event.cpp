// Events: points in a stream that the host or another stream can wait for.

#include "core/device/plugin_adapter.h"
#include "core/stream/stream.h"

namespace tenon {

Result<void> record_event(ggml_backend_event& event, ggml_backend& stream) {
    if (auto ok = may_enter(*event.device->reg); !ok) return ok;
    const auto* v = stream.handle->v;
    // A stream without events, or of another device, is emptied: then the event is complete.
    if (stream.device != event.device || !v->event_record) {
        event.recorded = false;
        return synchronize_stream(&stream);
    }
    PluginError error;
    const tenon_status status = call_plugin(error, v->event_record, stream.handle, event.handle);
    if (status != TENON_OK) {
        return error.as_error(status, event.device->name.c_str(), "cannot record an event");
    }
    event.recorded = true;
    return {};
}

Result<void> synchronize_event(ggml_backend_event& event) {
    if (!event.recorded) return {};
    if (auto ok = may_enter(*event.device->reg); !ok) return ok;
    PluginError error;
    const tenon_status status =
        call_plugin(error, event.handle->v->synchronize, event.handle, UINT64_MAX);
    if (status == TENON_OK) return {};
    return error.as_error(status, event.device->name.c_str(), "queued work failed");
}

Result<void> make_stream_wait(ggml_backend& stream, ggml_backend_event& event) {
    if (!event.recorded) return {};
    if (auto ok = may_enter(*event.device->reg); !ok) return ok;
    const auto* v = stream.handle->v;
    if (stream.device->reg != event.device->reg || !v->event_wait) return synchronize_event(event);
    PluginError error;
    const tenon_status status = call_plugin(error, v->event_wait, stream.handle, event.handle);
    if (status == TENON_OK) return {};
    return error.as_error(status, stream.device->name.c_str(), "cannot wait for an event");
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_backend_event_t ggml_backend_event_new(ggml_backend_dev_t device) {
    if (!device || !device->can(TENON_CAP_EVENTS)) return nullptr;  // no error: clients just ask
    return guard<ggml_backend_event_t>(nullptr, [&]() -> Result<ggml_backend_event_t> {
        auto event = std::make_unique<ggml_backend_event>();
        auto handle = new_plugin_event(*device);
        if (!handle) return handle.error();
        event->device = device;
        event->handle = *handle;
        device->live_objects.fetch_add(1, std::memory_order_relaxed);
        return event.release();
    });
}

void ggml_backend_event_free(ggml_backend_event_t event) {
    if (!event) return;
    const std::unique_ptr<ggml_backend_event> owned(event);
    const Departing counted{event->device};
    if (may_enter(*event->device->reg)) {
        tell_plugin(event->device->name.c_str(), "event.free", event->handle->v->free,
                    event->handle);
    }
}

void ggml_backend_event_record(ggml_backend_event_t event, ggml_backend_t backend) {
    guard_void([&]() -> Result<void> {
        if (!event || !backend) return fail(TENON_E_INVALID, "event or backend is null");
        return record_event(*event, *backend);
    });
}

void ggml_backend_event_synchronize(ggml_backend_event_t event) {
    guard_void([&]() -> Result<void> {
        if (!event) return fail(TENON_E_INVALID, "event is null");
        return synchronize_event(*event);
    });
}

void ggml_backend_event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
    guard_void([&]() -> Result<void> {
        if (!event || !backend) return fail(TENON_E_INVALID, "event or backend is null");
        return make_stream_wait(*backend, *event);
    });
}

}  // extern "C"
