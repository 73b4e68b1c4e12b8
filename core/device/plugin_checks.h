// What a plugin hands over has a size: limits on counts, texts and numbers, and the checks of the
// records a plugin fills. An answer beyond a limit is a broken answer.
#pragma once

#include <cstddef>

#include "core/base/result.h"
#include "tenon/plugin.h"

namespace tenon {

constexpr uint32_t kMaxDevices = 256;     // of one plugin
constexpr uint32_t kMaxBufferTypes = 64;  // of one device
constexpr uint32_t kMaxAttributes = 256;  // of one device
constexpr uint32_t kMaxFeatures = 1024;   // of one plugin
constexpr size_t kMaxNameBytes = 128;     // of a device, a registration, a buffer type
constexpr size_t kMaxTextBytes = 4096;    // of any other text
constexpr uint64_t kMaxAlignment = uint64_t{1} << 30;
constexpr uint64_t kMaxMemoryBytes = uint64_t{1} << 50;  // of a device, or asked for at once

// An address that may be one: not NULL, not in the first page, aligned for a table.
bool is_table_address(const void* p);

// A text of at most `max` bytes in UTF-8. NULL is an absent text, which is fine.
Result<void> check_text(const char* what, const char* text, size_t max = kMaxTextBytes);

// The same for a name, which must be there.
Result<void> check_name(const char* what, const char* name);

// A text as far as it can be shown, as one line: '?' for a byte that is not UTF-8, a blank for a
// control character. Reads at most `max` bytes and allocates nothing.
void copy_readable(char* out, size_t size, const char* from, size_t max);
template <size_t size>
struct Readable {
    char text[size];
    explicit Readable(const char* from, size_t max = size - 1) {
        copy_readable(text, size, from, max);
    }
};

Result<void> check_pairs(const char* what, const tenon_kv* pairs, uint32_t n, uint32_t max);
Result<void> check_device_info(const tenon_device_info& info);
Result<void> check_buffer_type(const tenon_buft_info& info, uint32_t index);

// Whether `size` bytes from `base` on are aligned and end before the address space does.
Result<void> check_base(const void* base, uint64_t size, uint64_t alignment);

// Brings a device's word on its memory into the possible; zeroes for what cannot be.
void correct(tenon_memory_info* info);

// The same for a verdict: NO, with a reason, where it asks for what cannot be had.
void correct(tenon_op_verdict* verdict);

}  // namespace tenon
