// What a plugin hands over has a size: the checks of the records it fills.

#include "core/device/plugin_checks.h"

#include <algorithm>
#include <cstring>

#include "core/base/bits.h"
#include "core/base/text.h"

namespace tenon {
namespace {

using ull = unsigned long long;

constexpr uintptr_t kFirstPage = 4096;  // nothing is ever mapped there

bool is_address(const void* p) { return reinterpret_cast<uintptr_t>(p) >= kFirstPage; }

}  // namespace

bool is_table_address(const void* p) {
    return is_address(p) && reinterpret_cast<uintptr_t>(p) % alignof(uint32_t) == 0;
}

Result<void> check_text(const char* what, const char* text, size_t max) {
    if (!text) return {};
    if (!is_address(text)) return fail(TENON_E_INVALID, "%s is at address %p", what, text);
    const size_t length = ::strnlen(text, max + 1);
    if (length > max) {
        return fail(TENON_E_INVALID, "%s has more than the %zu bytes allowed", what, max);
    }
    if (!is_utf8(std::string_view(text, length))) {
        return fail(TENON_E_INVALID, "%s is not UTF-8", what);
    }
    return {};
}

Result<void> check_name(const char* what, const char* name) {
    if (!name) return fail(TENON_E_INVALID, "%s is missing", what);
    if (auto ok = check_text(what, name, kMaxNameBytes); !ok) return ok;
    if (!*name) return fail(TENON_E_INVALID, "%s is empty", what);
    return {};
}

void copy_readable(char* out, size_t size, const char* from, size_t max) {
    const size_t length = is_address(from) ? ::strnlen(from, std::min(max, size - 1)) : 0;
    std::string_view left(from, length);
    while (left.ends_with('\n')) left.remove_suffix(1);
    while (!left.empty()) {
        size_t n = 1;  // bytes of the first character
        while (n < std::min<size_t>(4, left.size()) && !is_utf8(left.substr(0, n))) ++n;
        if (!is_utf8(left.substr(0, n))) {
            n = 1;
            *out++ = '?';
        } else if (n == 1 && (static_cast<uint8_t>(left[0]) < ' ' || left[0] == 0x7f)) {
            *out++ = ' ';
        } else {
            out = std::copy_n(left.data(), n, out);
        }
        left.remove_prefix(n);
    }
    *out = 0;
}

Result<void> check_pairs(const char* what, const tenon_kv* pairs, uint32_t n, uint32_t max) {
    if (n > max) return fail(TENON_E_INVALID, "%u %s, at most %u", n, what, max);
    if (n > 0 && !is_table_address(pairs)) {
        return fail(TENON_E_INVALID, "%u %s at address %p", n, what,
                    static_cast<const void*>(pairs));
    }
    for (uint32_t i = 0; i < n; ++i) {
        const char* fault = !pairs[i].key                      ? "without a key"
                            : !check_text("key", pairs[i].key) ? "key is too long or not UTF-8"
                            : !check_text("value", pairs[i].value)
                                ? "value is too long or not UTF-8"
                                : nullptr;
        if (fault) return fail(TENON_E_INVALID, "%s: number %u: %s", what, i, fault);
    }
    return {};
}

Result<void> check_device_info(const tenon_device_info& info) {
    if (!info.name || !*info.name) return fail(TENON_E_INVALID, "device has no name");
    if (auto ok = check_name("device name", info.name); !ok) return ok;
    if (auto ok = check_text("description", info.description); !ok) return ok;
    if (auto ok = check_text("driver text", info.driver); !ok) return ok;
    const char* partition = info.identity.partition;
    const size_t length = ::strnlen(partition, sizeof info.identity.partition);
    if (!is_utf8(std::string_view(partition, length))) {
        return fail(TENON_E_INVALID, "partition name is not UTF-8");
    }
    return check_pairs("attributes", info.attributes, info.n_attributes, kMaxAttributes);
}

Result<void> check_buffer_type(const tenon_buft_info& info, uint32_t index) {
    if (auto ok = check_name("name", info.name); !ok) {
        return fail(TENON_E_INVALID, "buffer type %u: %s", index, ok.error().text);
    }
    if (!is_power_of_two(info.alignment)) {
        return fail(TENON_E_INVALID, "buffer type '%s': alignment %llu is no power of two",
                    info.name, static_cast<ull>(info.alignment));
    }
    if (info.alignment > kMaxAlignment) {
        return fail(TENON_E_INVALID, "buffer type '%s': alignment %llu, at most %llu", info.name,
                    static_cast<ull>(info.alignment), static_cast<ull>(kMaxAlignment));
    }
    if (info.max_size == 0) {
        return fail(TENON_E_INVALID, "buffer type '%s': buffers of at most 0 bytes", info.name);
    }
    return {};
}

Result<void> check_base(const void* base, uint64_t size, uint64_t alignment) {
    const auto begin = reinterpret_cast<uintptr_t>(base);
    if (!base || begin % alignment != 0) {
        return fail(TENON_E_INTERNAL, "base %p is null or not aligned to %llu", base,
                    static_cast<ull>(alignment));
    }
    if (begin > UINTPTR_MAX - size) {
        return fail(TENON_E_INTERNAL, "%llu bytes at base %p end beyond the address space",
                    static_cast<ull>(size), base);
    }
    return {};
}

void correct(tenon_memory_info* info) {
    if (info->total > kMaxMemoryBytes) info->total = info->free = 0;
    info->free = std::min(info->free, info->total);
}

void correct(tenon_op_verdict* verdict) {
    if (verdict->support > TENON_SUPPORT_EMULATED) {
        verdict->support = TENON_SUPPORT_NO;  // a grade this version does not know
    }
    verdict->confidence = std::min<uint32_t>(verdict->confidence, 100);
    if (!check_text("detail", verdict->detail)) {
        verdict->detail = "(a text that cannot be shown)";
    }
    if (verdict->support != TENON_SUPPORT_NO && verdict->workspace > kMaxMemoryBytes) {
        verdict->support = TENON_SUPPORT_NO;
        verdict->reason = TENON_REASON_WORKSPACE;
        verdict->detail = "it asks for more scratch memory than there can be";
    }
}

}  // namespace tenon
