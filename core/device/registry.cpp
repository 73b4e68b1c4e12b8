// Registrations and devices in order: publishing the result of a load, look-up, and the choice of a
// device to start with.

#include "core/device/registry.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>

#include "core/base/log.h"
#include "core/base/settings.h"
#include "core/device/names.h"
#include "core/device/plugin_adapter.h"
#include "core/stream/stream.h"

namespace tenon {
namespace {

// Never destroyed: at the end of the process nothing may touch a plugin.
struct Registry {
    std::mutex mutex;  // for writers
    std::atomic<const RegistrySnapshot*> snapshot{new RegistrySnapshot};
    std::vector<std::unique_ptr<const RegistrySnapshot>> old;  // a reader may still look at them
    std::vector<std::unique_ptr<ggml_backend_reg>> owned;
    std::vector<std::unique_ptr<ggml_backend_reg>> buried;

    void publish(std::unique_ptr<const RegistrySnapshot> next) {
        const RegistrySnapshot* before = snapshot.load(std::memory_order_relaxed);
        old.emplace_back(before);
        snapshot.store(next.release(), std::memory_order_release);
    }
};

Registry& state() {
    static Registry* all = new Registry;
    return *all;
}

// Software that plays a GPU never comes before a real one.
int shown_rank(const ggml_backend_device& device) {
    switch (device.info.kind) {
        case TENON_DEVICE_GPU:
            return device.can(TENON_CAP_SOFTWARE) ? 3 : 1;
        case TENON_DEVICE_IGPU:
            return device.can(TENON_CAP_SOFTWARE) ? 3 : 2;
        case TENON_DEVICE_CPU:
            return 4;
        default:
            return 0;
    }
}

// plugin-abi.md section 11: whether two plugins show the same hardware.
bool same_hardware(const ggml_backend_device& a, const ggml_backend_device& b) {
    if (a.reg == b.reg) return false;
    const tenon_device_identity& x = a.info.identity;
    const tenon_device_identity& y = b.info.identity;
    const uint32_t both = x.valid & y.valid;
    if (both & TENON_ID_PCI) {
        const bool same_address = x.pci_domain == y.pci_domain && x.pci_bus == y.pci_bus &&
                                  x.pci_device == y.pci_device && x.pci_function == y.pci_function;
        const bool both_partitioned = x.partition[0] && y.partition[0];
        return same_address && (!both_partitioned ||
                                std::strncmp(x.partition, y.partition, sizeof x.partition) == 0);
    }
    if (both & TENON_ID_UUID) return std::memcmp(x.uuid, y.uuid, sizeof x.uuid) == 0;
    if (both & TENON_ID_LUID) return std::memcmp(x.luid, y.luid, sizeof x.luid) == 0;
    return false;
}

// Whether an item of the user's list, a name or an address, means this device.
bool means(const std::string& item, const ggml_backend_device& device) {
    return same_name(item.c_str(), device.name.c_str()) ||
           (!device.device_id.empty() && same_name(item.c_str(), device.device_id.c_str()));
}

// Place of a device in the user's list, its length when the device is not in it.
size_t place_in(const std::vector<std::string>& list, const ggml_backend_device& device) {
    const auto it = std::find_if(list.begin(), list.end(),
                                 [&](const std::string& item) { return means(item, device); });
    return static_cast<size_t>(it - list.begin());
}

std::string names_of(const std::vector<ggml_backend_dev_t>& devices) {
    std::string names;
    for (const auto* device : devices) names += (names.empty() ? "" : ", ") + device->name;
    return names.empty() ? "none" : names;
}

// Devices of this load in the order they will be shown.
std::vector<ggml_backend_dev_t> sorted_devices(
    const std::vector<std::unique_ptr<ggml_backend_reg>>& regs,
    const std::vector<std::string>& wanted) {
    std::vector<ggml_backend_dev_t> devices;
    for (const auto& reg : regs) {
        for (const auto& device : reg->devices) devices.push_back(device.get());
    }
    std::stable_sort(devices.begin(), devices.end(), [&](auto* a, auto* b) {
        const size_t place_a = place_in(wanted, *a), place_b = place_in(wanted, *b);
        if (place_a != place_b) return place_a < place_b;
        if (shown_rank(*a) != shown_rank(*b)) return shown_rank(*a) < shown_rank(*b);
        return a->info.preference > b->info.preference;
    });
    return devices;
}

// Why `device` is not shown next to `shown` and the others of this load; "" when it is.
std::string reason_to_hide(const ggml_backend_device& device,
                           const std::vector<ggml_backend_dev_t>& shown,
                           const std::vector<ggml_backend_dev_t>& load,
                           const std::vector<std::string>& wanted) {
    if (!wanted.empty() && place_in(wanted, device) == wanted.size()) {
        return "not in the list of devices (TENON_DEVICES)";
    }
    if (setting_says("duplicates", {"hide", "show"}, "show")) return {};
    for (const auto* other : shown) {
        if (same_hardware(device, *other)) return "the same hardware as " + other->name;
    }
    for (const auto* other : load) {
        if (same_hardware(device, *other) && other->info.preference > device.info.preference &&
            other->hidden_because.empty()) {
            return "the same hardware as " + other->name;
        }
    }
    return {};
}

}  // namespace

const RegistrySnapshot& loaded_registry() {
    return *state().snapshot.load(std::memory_order_acquire);
}

const RegistrySnapshot& registry() {
    load_on_first_use();
    return loaded_registry();
}

std::vector<ggml_backend_reg_t> register_plugins(
    std::vector<std::unique_ptr<ggml_backend_reg>> regs) {
    const std::vector<std::string> wanted = setting_list("devices");
    const auto load = sorted_devices(regs, wanted);

    const std::lock_guard lock(state().mutex);
    auto next = std::make_unique<RegistrySnapshot>(loaded_registry());
    for (auto* device : load) {
        device->hidden_because = reason_to_hide(*device, next->devices, load, wanted);
        (device->hidden_because.empty() ? next->devices : next->hidden).push_back(device);
    }
    std::vector<ggml_backend_reg_t> published;
    for (auto& reg : regs) {
        published.push_back(reg.get());
        next->regs.push_back(reg.get());
        state().owned.push_back(std::move(reg));
    }
    state().publish(std::move(next));
    return published;
}

void registry_check_list() {
    const RegistrySnapshot& all = loaded_registry();
    std::vector<ggml_backend_dev_t> devices = all.devices;
    devices.insert(devices.end(), all.hidden.begin(), all.hidden.end());
    if (devices.empty()) return;  // told elsewhere
    for (const std::string& item : setting_list("devices")) {
        const bool used = std::any_of(devices.begin(), devices.end(),
                                      [&](const auto* device) { return means(item, *device); });
        if (used) continue;
        log_once(GGML_LOG_LEVEL_WARN, "TENON_DEVICES: no device is named '%s'; valid: %s",
                 item.c_str(), names_of(devices).c_str());
    }
}

Result<std::unique_ptr<ggml_backend_reg>> unregister_plugin(ggml_backend_reg_t reg) {
    const std::lock_guard lock(state().mutex);
    auto& owned = state().owned;
    const auto it = std::find_if(owned.begin(), owned.end(),
                                 [&](const auto& candidate) { return candidate.get() == reg; });
    if (it == owned.end()) return fail(TENON_E_NOT_FOUND, "no such registration");
    for (const auto& device : reg->devices) {
        const uint32_t n = device->live_objects.load(std::memory_order_acquire);
        if (n == 0) continue;
        return fail(TENON_E_BUSY, "device '%s' still has %u buffers, streams or events",
                    device->name.c_str(), n);
    }
    auto next = std::make_unique<RegistrySnapshot>(loaded_registry());
    const auto is_its = [&](const ggml_backend_device* device) { return device->reg == reg; };
    std::erase(next->regs, reg);
    std::erase_if(next->devices, is_its);
    std::erase_if(next->hidden, is_its);
    state().publish(std::move(next));

    std::unique_ptr<ggml_backend_reg> taken = std::move(*it);
    owned.erase(it);
    for (const auto& device : taken->devices) {
        drop_cached_streams(*device);
        close_device(*device);
    }
    release_name_of(*taken);
    return taken;
}

void keep_for_handles(std::unique_ptr<ggml_backend_reg> reg) {
    reg->table = nullptr;
    reg->ctx = nullptr;
    reg->features.clear();
    for (auto& device : reg->devices) device->info.n_attributes = 0;
    const std::lock_guard lock(state().mutex);
    state().buried.push_back(std::move(reg));
}

ggml_backend_dev_t cpu_device() {
    for (auto* device : registry().devices) {
        if (device->info.kind == TENON_DEVICE_CPU && device->reg->is_cpu()) return device;
    }
    return nullptr;
}

namespace {

template <class List>
auto at(const List& list, size_t index, const char* what) -> Result<typename List::value_type> {
    if (index < list.size()) return list[index];
    return fail(TENON_E_INVALID, "%s %zu of %zu", what, index, list.size());
}

// Adds entries that applications made known themselves; what is there already stays.
void add_to_lists(ggml_backend_reg_t reg, const std::vector<ggml_backend_dev_t>& devices) {
    const std::lock_guard lock(state().mutex);
    auto next = std::make_unique<RegistrySnapshot>(loaded_registry());
    const auto add = [](auto& list, auto* item) {
        if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
    };
    if (reg) add(next->regs, reg);
    for (auto* device : devices) {
        if (device->hidden_because.empty()) add(next->devices, device);
    }
    const bool changed = next->regs.size() != loaded_registry().regs.size() ||
                         next->devices.size() != loaded_registry().devices.size();
    if (changed) state().publish(std::move(next));
}

}  // namespace
}  // namespace tenon

using namespace tenon;

// The device, hidden ones included; NULL for none and for a NULL name.
static ggml_backend_device* device_named(const char* name) {
    const RegistrySnapshot& all = registry();
    for (const auto* list : {&all.devices, &all.hidden}) {
        for (auto* device : *list) {
            if (name && same_name(device->name.c_str(), name)) return device;
        }
    }
    return nullptr;
}

// The first shown device of the kind, or NULL.
static ggml_backend_device* device_of_kind(enum ggml_backend_dev_type type) {
    for (auto* device : registry().devices) {
        if (device->type() == type) return device;
    }
    return nullptr;
}

// What a look-up that found nothing answers: NULL, which is no error, unless there is nothing at
// all.
template <class Handle>
static Result<Handle> not_found(const RegistrySnapshot& all) {
    if (!all.regs.empty()) return Handle{nullptr};
    return fail(TENON_E_NOT_FOUND, "no device: 0 plugins are loaded (rt-info --plugins says why)");
}

extern "C" {

size_t ggml_backend_reg_count(void) {
    return guard<size_t>(0, [] { return registry().regs.size(); });
}

ggml_backend_reg_t ggml_backend_reg_get(size_t index) {
    return guard<ggml_backend_reg_t>(nullptr,
                                     [&] { return at(registry().regs, index, "registration"); });
}

ggml_backend_reg_t ggml_backend_reg_by_name(const char* name) {
    return guard<ggml_backend_reg_t>(nullptr, [&]() -> Result<ggml_backend_reg_t> {
        if (!name) return nullptr;
        for (auto* reg : registry().regs) {
            if (same_name(reg->name.c_str(), name)) return reg;
        }
        return not_found<ggml_backend_reg_t>(registry());
    });
}

size_t ggml_backend_dev_count(void) {
    return guard<size_t>(0, [] { return registry().devices.size(); });
}

ggml_backend_dev_t ggml_backend_dev_get(size_t index) {
    return guard<ggml_backend_dev_t>(nullptr,
                                     [&] { return at(registry().devices, index, "device"); });
}

ggml_backend_dev_t ggml_backend_dev_by_name(const char* name) {
    return guard<ggml_backend_dev_t>(nullptr, [&]() -> Result<ggml_backend_dev_t> {
        if (!name) return nullptr;
        if (auto* device = device_named(name)) return device;
        return not_found<ggml_backend_dev_t>(registry());
    });
}

ggml_backend_dev_t ggml_backend_dev_by_type(enum ggml_backend_dev_type type) {
    return guard<ggml_backend_dev_t>(nullptr, [&]() -> Result<ggml_backend_dev_t> {
        if (auto* device = device_of_kind(type)) return device;
        return not_found<ggml_backend_dev_t>(registry());
    });
}

ggml_backend_t ggml_backend_init_by_name(const char* name, const char* params) {
    return guard<ggml_backend_t>(nullptr, [&]() -> Result<ggml_backend_t> {
        if (auto* device = device_named(name)) return open_stream(*device, params);
        return fail(TENON_E_NOT_FOUND, "no device is named '%s'; devices: %s", name ? name : "",
                    names_of(registry().devices).c_str());
    });
}

ggml_backend_t ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char* params) {
    static constexpr const char* kKinds[] = {"CPU", "GPU", "integrated GPU", "accelerator", "meta"};
    return guard<ggml_backend_t>(nullptr, [&]() -> Result<ggml_backend_t> {
        if (auto* device = device_of_kind(type)) return open_stream(*device, params);
        const auto kind = static_cast<size_t>(type);
        return fail(TENON_E_NOT_FOUND, "no device is of kind %s; devices: %s",
                    kind < std::size(kKinds) ? kKinds[kind] : "unknown",
                    names_of(registry().devices).c_str());
    });
}

ggml_backend_t ggml_backend_init_best(void) {
    return guard<ggml_backend_t>(nullptr, [&]() -> Result<ggml_backend_t> {
        for (const auto type : {GGML_BACKEND_DEVICE_TYPE_GPU, GGML_BACKEND_DEVICE_TYPE_IGPU,
                                GGML_BACKEND_DEVICE_TYPE_CPU}) {
            for (auto* device : registry().devices) {
                if (device->type() != type || device->can(TENON_CAP_SOFTWARE)) continue;
                if (auto* stream = ggml_backend_dev_init(device, nullptr)) return stream;
                log(GGML_LOG_LEVEL_WARN, "device '%s' cannot be used, trying the next kind",
                    device->name.c_str());
                break;
            }
        }
        return fail(TENON_E_NOT_FOUND, "no device can be used; devices: %s",
                    names_of(registry().devices).c_str());
    });
}

void ggml_backend_register(ggml_backend_reg_t reg) {
    if (!reg) return;
    guard_void([&] {
        std::vector<ggml_backend_dev_t> devices;
        for (const auto& device : reg->devices) devices.push_back(device.get());
        add_to_lists(reg, devices);
    });
}

void ggml_backend_device_register(ggml_backend_dev_t device) {
    if (!device) return;
    guard_void([&] { add_to_lists(nullptr, {device}); });
}

const char* ggml_backend_reg_name(ggml_backend_reg_t reg) {
    return reg ? reg->name.c_str() : "NULL";
}

size_t ggml_backend_reg_dev_count(ggml_backend_reg_t reg) {
    if (!reg) return 0;
    return static_cast<size_t>(
        std::count_if(reg->devices.begin(), reg->devices.end(),
                      [](const auto& device) { return device->hidden_because.empty(); }));
}

ggml_backend_dev_t ggml_backend_reg_dev_get(ggml_backend_reg_t reg, size_t index) {
    return guard<ggml_backend_dev_t>(nullptr, [&]() -> Result<ggml_backend_dev_t> {
        if (!reg) return fail(TENON_E_INVALID, "registration is null");
        std::vector<ggml_backend_dev_t> shown;
        for (const auto& device : reg->devices) {
            if (device->hidden_because.empty()) shown.push_back(device.get());
        }
        return at(shown, index, "device");
    });
}

}  // extern "C"
