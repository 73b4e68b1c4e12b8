// From a plugin's tables to registrations, devices and buffer types; rejects broken answers.

#include "core/device/plugin_adapter.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "core/base/bits.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/device/names.h"
#include "core/device/plugin_checks.h"
#include "core/stream/threads.h"
#include "tenon/ext/features.h"

namespace tenon {
namespace {

constexpr ggml_guid kCpuGuid = {0xaa, 0x67, 0xc7, 0x43, 0x96, 0xe6, 0xa3, 0x8a,
                                0xe3, 0xaf, 0xea, 0x92, 0x36, 0xbc, 0xfc, 0x89};

// The last field of minor 0 tells that a table is whole; later fields are asked for one by one.
bool is_complete(const tenon_device_vtbl* v) {
    return v && TENON_FITS(v, tenon_device_vtbl, extension) && v->close && v->memory &&
           v->query_ops && v->buft_count && v->stream_open;
}
bool is_complete(const tenon_buffer_vtbl* v) {
    return v && TENON_FITS(v, tenon_buffer_vtbl, set_usage) && v->free && v->tensor_set &&
           v->tensor_get && v->tensor_fill && v->clear;
}
bool is_complete(const tenon_stream_vtbl* v) {
    return v && TENON_FITS(v, tenon_stream_vtbl, extension) && v->close && v->synchronize &&
           v->graph_run;
}
bool is_complete(const tenon_event_vtbl* v) {
    return v && TENON_FITS(v, tenon_event_vtbl, synchronize) && v->free && v->synchronize;
}

// Gives an object back whose table is too short for anything else.
void discard(tenon_device* device) {
    if (TENON_HAS(device->v, tenon_device_vtbl, close))
        tell_plugin("plugin", "close", device->v->close, device);
}
void discard(tenon_buffer* buffer) {
    if (TENON_HAS(buffer->v, tenon_buffer_vtbl, free))
        tell_plugin("plugin", "free", buffer->v->free, buffer);
}
void discard(tenon_stream* stream) {
    if (TENON_HAS(stream->v, tenon_stream_vtbl, close))
        tell_plugin("plugin", "close", stream->v->close, stream);
}
void discard(tenon_event* event) {
    if (TENON_HAS(event->v, tenon_event_vtbl, free))
        tell_plugin("plugin", "free", event->v->free, event);
}

// Checks what a plugin's constructor-like function answered.
template <class Object>
Result<Object*> checked(tenon_status status, Object* object, const PluginError& error,
                        const std::string& who, const char* what) {
    if (status != TENON_OK) return error.as_error(status, who.c_str(), what);
    if (!is_table_address(object)) {
        return fail(TENON_E_INTERNAL, "device '%s': %s: success without a result", who.c_str(),
                    what);
    }
    if (!is_table_address(object->v)) {
        return fail(TENON_E_INTERNAL, "device '%s': %s: no function table", who.c_str(), what);
    }
    if (!is_complete(object->v)) {
        discard(object);
        return fail(TENON_E_INTERNAL, "device '%s': %s: incomplete function table", who.c_str(),
                    what);
    }
    return object;
}

std::string device_id_of(const tenon_device_identity& id) {
    if (!(id.valid & TENON_ID_PCI)) return {};
    char text[32];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", id.pci_domain, id.pci_bus, id.pci_device,
                  id.pci_function);
    std::string result = text;
    if (id.valid & TENON_ID_PARTITION) {
        const std::string partition(id.partition, ::strnlen(id.partition, sizeof id.partition));
        if (!partition.empty()) result += "/" + partition;
    }
    return result;
}

// A type of the same plugin under the same name: `CUDA_Host` is one type, listed by every device.
ggml_backend_buffer_type* shared_type(const ggml_backend_reg& reg, const tenon_buft_info& info) {
    if (info.flags & TENON_BUFT_DEVICE) return nullptr;
    for (const auto& device : reg.devices) {
        for (const auto& type : device->bufts) {
            if (type->name == info.name && type->flags == info.flags) return type.get();
        }
    }
    return nullptr;
}

Result<void> add_buffer_type(ggml_backend_device& device, uint32_t index) {
    const auto* v = device.handle->v;
    tenon_buft_info info{};
    info.struct_size = sizeof info;
    PluginError error;
    const tenon_status status = call_plugin(error, v->buft_info, device.handle, index, &info);
    if (status != TENON_OK) {
        return error.as_error(status, device.name.c_str(), "cannot describe a buffer type");
    }
    if (auto ok = check_buffer_type(info, index); !ok) return ok;

    ggml_backend_buffer_type* type = shared_type(*device.reg, info);
    if (!type) {
        if (auto ok = claim_buffer_type_name(info.name, device); !ok) return ok;
        auto made = std::make_unique<ggml_backend_buffer_type>();
        made->device = &device;
        made->index = index;
        made->name = info.name;
        made->flags = info.flags;
        made->alignment = info.alignment;
        made->max_size = info.max_size;
        type = made.get();
        device.bufts.push_back(std::move(made));
    }
    if (info.flags & TENON_BUFT_DEFAULT) {
        if (device.default_buft) {
            return fail(TENON_E_INVALID, "buffer types '%s' and '%s' both claim to be the default",
                        device.default_buft->name.c_str(), info.name);
        }
        device.default_buft = type;
    }
    const uint32_t pinned = TENON_BUFT_HOST_LAYOUT | TENON_BUFT_PINNED;
    if (!device.host_buft && (info.flags & pinned) == pinned) device.host_buft = type;
    if (info.flags & TENON_BUFT_REPACK) device.extra_bufts.push_back(type);
    return {};
}

// Programs take a device of kind CPU for the one that ggml-cpu.h is about.
Result<void> check_kind(const ggml_backend_device& device) {
    if (device.info.kind != TENON_DEVICE_CPU || is_of_cpu_family(*device.reg)) return {};
    return fail(TENON_E_INVALID,
                "device '%s' is of kind CPU, which belongs to the family cpu; family '%s' may say "
                "ACCEL",
                device.name.c_str(), device.reg->table->family);
}

Result<void> add_buffer_types(ggml_backend_device& device) {
    const auto* v = device.handle->v;
    const uint32_t n =
        ask_plugin(device.name.c_str(), "buft_count", UINT32_MAX, v->buft_count, device.handle);
    if (n == UINT32_MAX) return fail(TENON_E_INTERNAL, "cannot count its buffer types");
    if (n > kMaxBufferTypes) {
        return fail(TENON_E_INVALID, "%u buffer types, at most %u", n, kMaxBufferTypes);
    }
    if (n > 0 && !(v->buft_info && v->buffer_alloc)) {
        return fail(TENON_E_INVALID, "%u buffer types, but no function to use them", n);
    }
    for (uint32_t i = 0; i < n; ++i) {
        if (auto ok = add_buffer_type(device, i); !ok) return ok;
    }
    device.extra_bufts.push_back(nullptr);
    if (device.default_buft) return {};
    if (!device.can(TENON_CAP_READS_HOST)) {
        return fail(TENON_E_INVALID, "no default buffer type, and it does not read host memory");
    }
    device.default_buft = ggml_backend_cpu_buffer_type();
    return {};
}

// The plugin's record with texts of our own: nobody reads the plugin's again.
void keep_texts(ggml_backend_device& device) {
    tenon_device_info& info = device.info;
    info.struct_size = sizeof info;  // whatever the plugin made of it
    device.name = info.name;
    device.description = info.description ? info.description : "";
    device.driver = info.driver ? info.driver : "";
    device.device_id = device_id_of(info.identity);
    for (uint32_t i = 0; i < info.n_attributes; ++i) {
        const tenon_kv& item = info.attributes[i];
        device.attributes.push_back({keep(item.key), item.value ? keep(item.value) : nullptr});
    }
    info.name = device.name.c_str();
    info.description = device.description.c_str();
    info.driver = device.driver.c_str();
    info.attributes = device.attributes.data();
}

Result<void> fill_device(ggml_backend_device& device, std::string* name) {
    const tenon_plugin& table = *device.reg->table;
    tenon_device_info& info = device.info;
    info.struct_size = sizeof info;
    PluginError error;
    tenon_status status =
        call_plugin(error, table.device_info, device.reg->ctx, device.index, &info);
    if (status != TENON_OK) {
        return error.as_error(status, device.reg->name.c_str(), "no device info");
    }
    if (check_name("device name", info.name)) *name = info.name;
    if (auto ok = check_device_info(info); !ok) return ok;
    keep_texts(device);
    if (auto ok = check_kind(device); !ok) return ok;
    if (auto ok = claim_device_name(device); !ok) return ok;

    tenon_open_params params{sizeof params, 0, nullptr};
    tenon_device* handle = nullptr;
    status = call_plugin(error, table.device_open, device.reg->ctx, device.index, &params, &handle);
    auto opened = checked(status, handle, error, device.name, "cannot open");
    if (!opened) return opened.error();
    device.handle = *opened;
    return add_buffer_types(device);
}

// Adds a device to its registration, or closes it again, whatever happens to this thread meanwhile.
Result<void> take_device(ggml_backend_reg& reg, std::unique_ptr<ggml_backend_device> device,
                         std::string* name) {
    struct Closing {
        ggml_backend_device* device;
        ~Closing() noexcept(false) {
            if (device) close_device(*device);
        }
    } closing{device.get()};
    if (auto ok = fill_device(*device, name); !ok) return ok;
    reg.devices.push_back(std::move(device));
    closing.device = nullptr;
    return {};
}

void fill_features(ggml_backend_reg& reg) {
    const auto* features =
        static_cast<const tenon_ext_features*>(plugin_extension(reg, TENON_EXT_FEATURES));
    if (!TENON_HAS(features, tenon_ext_features, items)) return;
    if (auto ok = check_pairs("features", features->items, features->n, kMaxFeatures); !ok) {
        log(GGML_LOG_LEVEL_WARN, "plugin '%s': %s: %s; left out", reg.name.c_str(),
            TENON_EXT_FEATURES, ok.error().text);
        return;
    }
    for (uint32_t i = 0; i < features->n; ++i) {
        const tenon_kv& item = features->items[i];
        if (item.value) reg.features.push_back({keep(item.key), keep(item.value)});
    }
    reg.features.push_back({nullptr, nullptr});
}

void fill_guid(ggml_backend_reg& reg) {
    if (reg.is_cpu()) {
        std::copy(std::begin(kCpuGuid), std::end(kCpuGuid), reg.guid);
        return;
    }
    // Two FNV-1a hashes of the plugin's id, which is unique by its nature.
    uint64_t halves[2] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};
    for (uint64_t& hash : halves) {
        for (const char* c = reg.table->id; *c; ++c) {
            hash = (hash ^ static_cast<uint8_t>(*c)) * 0x100000001b3u;
        }
    }
    std::memcpy(reg.guid, halves, sizeof reg.guid);
}

}  // namespace

Error PluginError::as_error(tenon_status status, const char* who, const char* what) const {
    const Readable<sizeof message> said(message);
    const Readable<sizeof native_name> name(native_name);
    const char* text = said.text[0] ? said.text : status_text(status);
    if (name.text[0]) return fail(status, "%s: %s: %s (%s)", who, what, text, name.text);
    return fail(status, "%s: %s: %s", who, what, text);
}

Result<void> may_enter(const ggml_backend_reg& reg) {
    if (reg.fork_safe || reg.generation == fork_generation()) return {};
    return fail(TENON_E_FORKED, "plugin '%s' was loaded in the parent of this forked process",
                reg.name.c_str());
}

Result<MadeDevices> make_devices(const LoadedPlugin& plugin) {
    MadeDevices adopted;
    adopted.reg = std::make_unique<ggml_backend_reg>();
    ggml_backend_reg& reg = *adopted.reg;
    reg.table = plugin.table;
    reg.ctx = plugin.ctx;
    reg.serial = plugin.serial;
    reg.name = plugin.table->display_name;
    reg.path = plugin.path;
    reg.generation = fork_generation();
    reg.fork_safe = plugin.note_flags & TENON_NOTE_FORK_SAFE;
    if (auto ok = claim_registration_name(reg, plugin.note_flags & TENON_NOTE_COEXISTS); !ok) {
        return ok.error();
    }
    fill_guid(reg);
    fill_features(reg);

    const uint32_t n = ask_plugin(reg.name.c_str(), "device_count", UINT32_MAX,
                                  plugin.table->device_count, plugin.ctx);
    if (n == UINT32_MAX) return fail(TENON_E_INTERNAL, "cannot count its devices");
    if (n > kMaxDevices) {
        log(GGML_LOG_LEVEL_WARN, "plugin '%s': %u devices, the first %u are used", reg.name.c_str(),
            n, kMaxDevices);
    }
    for (uint32_t i = 0; i < std::min(n, kMaxDevices); ++i) {
        auto device = std::make_unique<ggml_backend_device>();
        device->reg = &reg;
        device->index = i;
        DeviceOutcome outcome{i, {}, {}, {}};
        if (auto ok = take_device(reg, std::move(device), &outcome.name); !ok) {
            outcome.refused = ok.error().text;
        }
        adopted.devices.push_back(std::move(outcome));
    }
    return adopted;
}

void close_device(ggml_backend_device& device) {
    release_names_of(device);
    tenon_device* handle = std::exchange(device.handle, nullptr);
    if (handle && may_enter(*device.reg)) {
        tell_plugin(device.name.c_str(), "close", handle->v->close, handle);
    }
}

Result<tenon_device*> open_device(ggml_backend_dev_t device) {
    if (!device || !device->handle) return fail(TENON_E_INVALID, "device is null or closed");
    if (auto ok = may_enter(*device->reg); !ok) return ok.error();
    return device->handle;
}

Result<tenon_stream*> open_plugin_stream(ggml_backend_device& device, const char* params) {
    auto handle = open_device(&device);
    if (!handle) return handle.error();
    const tenon_open_params open{sizeof open, 0, params};
    tenon_stream* stream = nullptr;
    PluginError error;
    const tenon_status status =
        call_plugin(error, (*handle)->v->stream_open, *handle, &open, &stream);
    return checked(status, stream, error, device.name, "cannot open a stream");
}

// A buffer whose memory is missing, misaligned or too long is given back: tensors in it could not
// be placed.
static Result<PluginBuffer> checked_buffer(tenon_status status, tenon_buffer* buffer, void* base,
                                           const PluginError& error, const std::string& who,
                                           const char* what, size_t size, size_t alignment) {
    auto ok = checked(status, buffer, error, who, what);
    if (!ok) return ok.error();
    if (auto good = check_base(base, size, alignment); !good) {
        discard(buffer);
        return fail(TENON_E_INTERNAL, "%s: %s: %s", who.c_str(), what, good.error().text);
    }
    return PluginBuffer{buffer, base};
}

Result<PluginBuffer> alloc_plugin_buffer(ggml_backend_buffer_type& buft, size_t size) {
    ggml_backend_device& device = *buft.device;
    auto handle = open_device(&device);
    if (!handle) return handle.error();
    PluginError error;
    tenon_buffer* buffer = nullptr;
    void* base = nullptr;
    const tenon_status status = call_plugin(error, (*handle)->v->buffer_alloc, *handle, buft.index,
                                            size, GGML_BACKEND_BUFFER_USAGE_ANY, &buffer, &base);
    char what[64];
    std::snprintf(what, sizeof what, "cannot allocate %zu bytes", size);
    return checked_buffer(status, buffer, base, error, buft.name, what, size, buft.alignment);
}

Result<PluginBuffer> wrap_plugin_buffer(ggml_backend_device& device, void* host, size_t size,
                                        size_t max_tensor) {
    auto handle = open_device(&device);
    if (!handle) return handle.error();
    if (!(*handle)->v->buffer_wrap) {
        return fail(TENON_E_UNSUPPORTED, "device '%s' cannot use memory of the application",
                    device.name.c_str());
    }
    PluginError error;
    tenon_buffer* buffer = nullptr;
    void* base = nullptr;
    const tenon_status status = call_plugin(error, (*handle)->v->buffer_wrap, *handle, host, size,
                                            max_tensor, &buffer, &base);
    char what[64];
    std::snprintf(what, sizeof what, "cannot wrap %zu bytes of the application", size);
    return checked_buffer(status, buffer, base, error, device.name, what, size, 1);
}

Result<tenon_event*> new_plugin_event(ggml_backend_device& device) {
    auto handle = open_device(&device);
    if (!handle) return handle.error();
    if (!device.can(TENON_CAP_EVENTS) || !(*handle)->v->event_new) {
        return fail(TENON_E_UNSUPPORTED, "device '%s' has no events", device.name.c_str());
    }
    PluginError error;
    tenon_event* event = nullptr;
    const tenon_status status = call_plugin(error, (*handle)->v->event_new, *handle, &event);
    return checked(status, event, error, device.name, "cannot make an event");
}

// What an extension function answered, if it can be a table.
static const void* table_or_null(const void* answer, const std::string& who, const char* id) {
    if (!answer || is_table_address(answer)) return answer;
    log_once(GGML_LOG_LEVEL_WARN, "%s: extension %s is at address %p; left out", who.c_str(), id,
             answer);
    return nullptr;
}

const void* device_extension(const ggml_backend_device& device, const char* id) {
    if (!device.handle || !device.handle->v->extension || !may_enter(*device.reg)) return nullptr;
    return table_or_null(ask_plugin<const void*>(device.name.c_str(), "extension", nullptr,
                                                 device.handle->v->extension, device.handle, id),
                         device.name, id);
}

const void* plugin_extension(const ggml_backend_reg& reg, const char* id) {
    if (!TENON_HAS(reg.table, tenon_plugin, extension) || !may_enter(reg)) return nullptr;
    return table_or_null(ask_plugin<const void*>(reg.name.c_str(), "extension", nullptr,
                                                 reg.table->extension, reg.ctx, id),
                         reg.name, id);
}

}  // namespace tenon

bool ggml_backend_reg::is_cpu() const { return name == "CPU"; }

ggml_backend_reg::~ggml_backend_reg() {
    for (const auto& device : devices) tenon::close_device(*device);
    tenon::release_name_of(*this);
}
