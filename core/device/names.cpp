// Who uses which name.

#include "core/device/names.h"

#include <map>
#include <mutex>

#include "core/base/text.h"

namespace tenon {
namespace {

template <class Owner>
using Owners = std::map<std::string, const Owner*>;  // by lower case

struct Names {
    std::mutex mutex;
    Owners<ggml_backend_reg> regs;
    Owners<ggml_backend_device> devices, bufts;
};

Names& names() {
    static Names* all = new Names;
    return *all;
}

constexpr const char* kCpuFamily = "cpu";

const ggml_backend_reg& reg_of(const ggml_backend_reg& reg) { return reg; }
const ggml_backend_reg& reg_of(const ggml_backend_device& device) { return *device.reg; }

Error reserved(const char* what, const std::string& name, const char* owner,
               const ggml_backend_reg& reg) {
    return fail(TENON_E_INVALID, "%s name '%s' belongs to %s, not to family '%s'", what,
                name.c_str(), owner, reg.table->family);
}

template <class Owner>
Result<void> claim(Owners<Owner>& owners, const std::string& name, const char* what,
                   const Owner& owner) {
    const auto [it, fresh] = owners.emplace(lower(name), &owner);
    if (fresh) return {};
    return fail(TENON_E_BUSY, "%s name '%s' is taken by %s", what, name.c_str(),
                reg_of(*it->second).path.c_str());
}

template <class Owner>
void release(Owners<Owner>& owners, const Owner& owner) {
    std::erase_if(owners, [&](const auto& entry) { return entry.second == &owner; });
}

}  // namespace

bool same_name(const char* a, const char* b) { return lower(a) == lower(b); }

bool is_of_cpu_family(const ggml_backend_reg& reg) {
    return reg.table && reg.table->family == std::string_view(kCpuFamily);
}

Result<void> claim_registration_name(ggml_backend_reg& reg, bool coexists) {
    const std::lock_guard lock(names().mutex);
    if (lower(reg.name) == "cpu" && !is_of_cpu_family(reg)) {
        return reserved("registration", reg.name, "the family cpu", reg);
    }
    const auto it = names().regs.find(lower(reg.name));
    const bool is_sibling = coexists && it != names().regs.end() && it->second->table &&
                            it->second->table->family == std::string_view(reg.table->family);
    if (is_sibling) reg.name += std::string("-") + reg.table->variant;
    return claim(names().regs, reg.name, "registration", reg);
}

Result<void> claim_device_name(const ggml_backend_device& device) {
    const std::lock_guard lock(names().mutex);
    if (lower(device.name) == "cpu" && !is_of_cpu_family(*device.reg)) {
        return reserved("device", device.name, "the family cpu", *device.reg);
    }
    return claim(names().devices, device.name, "device", device);
}

Result<void> claim_buffer_type_name(const std::string& name, const ggml_backend_device& device) {
    const std::string key = lower(name);
    if (key == "cpu" || key == "cpu_mapped") {
        return reserved("buffer type", name, "the core", *device.reg);
    }
    if (key.starts_with("cpu_") && !is_of_cpu_family(*device.reg)) {
        return reserved("buffer type", name, "the family cpu", *device.reg);
    }
    const std::lock_guard lock(names().mutex);
    return claim(names().bufts, name, "buffer type", device);
}

void release_names_of(const ggml_backend_device& device) {
    const std::lock_guard lock(names().mutex);
    release(names().devices, device);
    release(names().bufts, device);
}

void release_name_of(const ggml_backend_reg& reg) {
    const std::lock_guard lock(names().mutex);
    release(names().regs, reg);
}

}  // namespace tenon
