// Which levels are in use.

#include "plugins/cpu/dot/levels.h"

#include <atomic>
#include <cstring>

namespace tenon::cpu {
namespace {

constinit std::atomic<int32_t> in_use = -1;  // -1: nobody asked yet

uint32_t usable_levels() {
    uint32_t mask = 0;
    for (size_t i = 0; i < dot_levels().size(); ++i) {
        if (dot_levels()[i].usable()) mask |= 1u << i;
    }
    return mask;
}

bool names(const char* features, const char* isa) {
    if (!isa) return false;
    const size_t length = std::strlen(isa);
    for (const char* entry = features; *entry;) {
        const size_t n = std::strcspn(entry, ",");
        if (n == length + 1 && entry[0] == '-' && std::memcmp(entry + 1, isa, length) == 0) {
            return true;
        }
        entry += n;
        if (*entry == ',') ++entry;
    }
    return false;
}

}  // namespace

uint32_t dot_levels_in_use() {
    int32_t mask = in_use.load(std::memory_order_relaxed);
    if (mask < 0) {
        mask = static_cast<int32_t>(usable_levels());  // the same for everyone who asks first
        in_use.store(mask, std::memory_order_relaxed);
    }
    return static_cast<uint32_t>(mask);
}

void limit_dot_levels(uint32_t mask) {
    in_use.store(static_cast<int32_t>(usable_levels() & mask), std::memory_order_relaxed);
}

uint32_t dot_levels_without(const char* features) {
    uint32_t mask = 0;
    for (size_t i = 0; i < dot_levels().size(); ++i) {
        const auto& isa = dot_levels()[i].isa;
        const bool removed = features && (names(features, isa[0]) || names(features, isa[1]));
        if (!removed) mask |= 1u << i;
    }
    return mask;
}

const DotType* find_level_dot(ggml_type type) {
    const uint32_t mask = dot_levels_in_use();
    for (size_t i = 0; mask >> i; ++i) {
        if (!(mask >> i & 1)) continue;
        if (const DotType* dot = dot_levels()[i].find(type)) return dot;
    }
    return nullptr;
}

}  // namespace tenon::cpu
