// Who uses which name.

#include "core/device/names.h"

#include <cstring>
#include <map>
#include <mutex>

namespace tenon {
namespace {

using Owners = std::map<std::string, const ggml_backend_device*>;  // NULL: the core

struct Names {
    std::mutex mutex;
    Owners devices;  // lower case
    Owners bufts{{"CPU", nullptr}, {"CPU_Mapped", nullptr}};
};

Names& names() {
    static Names* all = new Names;
    return *all;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string text) {
    for (char& c : text) c = lower(c);
    return text;
}

Result<void> claim(Owners& owners, const std::string& key, const std::string& name,
                   const char* what, const ggml_backend_device& device) {
    const auto [it, fresh] = owners.emplace(key, &device);
    if (fresh) return {};
    return fail(TENON_E_INVALID, "%s name '%s' is taken by %s", what, name.c_str(),
                it->second ? it->second->reg->path.c_str() : "the core");
}

}  // namespace

bool is_utf8(const char* text) {
    if (!text) return true;
    const auto* p = reinterpret_cast<const uint8_t*>(text);
    while (*p) {
        const int n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
        if (n == 0) return false;
        uint32_t code = n == 1 ? *p : *p & (0x7fu >> n);
        for (int i = 1; i < n; ++i) {
            if ((p[i] & 0xc0) != 0x80) return false;  // also the end of the text
            code = code << 6 | (p[i] & 0x3fu);
        }
        constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
        const bool surrogate = code >= 0xd800 && code <= 0xdfff;
        if (code < kSmallest[n] || code > 0x10ffff || surrogate) return false;
        p += n;
    }
    return true;
}

bool same_name(const char* a, const char* b) {
    while (*a && lower(*a) == lower(*b)) ++a, ++b;
    return lower(*a) == lower(*b);
}

Result<void> claim_device_name(const ggml_backend_device& device) {
    const std::lock_guard lock(names().mutex);
    return claim(names().devices, lower(device.name), device.name, "device", device);
}

Result<void> claim_buffer_type_name(const std::string& name, const ggml_backend_device& device) {
    const std::lock_guard lock(names().mutex);
    return claim(names().bufts, name, name, "buffer type", device);
}

void release_names_of(const ggml_backend_device& device) {
    const std::lock_guard lock(names().mutex);
    const auto is_its = [&](const auto& entry) { return entry.second == &device; };
    std::erase_if(names().devices, is_its);
    std::erase_if(names().bufts, is_its);
}

}  // namespace tenon
