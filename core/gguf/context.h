// struct gguf_context: the pairs and tensor descriptions of one model file, with their indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "gguf.h"

// Bytes of a value; 0 for strings, arrays and unknown numbers. Exported with C++ linkage, as
// clients' tests expect.
GGML_API size_t gguf_type_size(enum gguf_type type);

// Appends what gguf_write_to_file writes to `buf`; leaves it alone when that fails. Exported, too.
GGML_API void gguf_write_to_buf(const gguf_context* ctx, std::vector<int8_t>& buf, bool only_meta);

namespace tenon::gguf {

constexpr uint64_t kMaxKeyBytes = 65535;
constexpr uint64_t kMaxNameBytes = GGML_MAX_NAME - 1;
constexpr uint64_t kMaxStringBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxArrayElements = uint64_t{1} << 30;
constexpr uint64_t kMaxAlignment = uint64_t{64} << 20;

constexpr bool is_value_type(int64_t type) { return type >= 0 && type < GGUF_TYPE_COUNT; }
constexpr bool is_valid_alignment(uint64_t a) {
    return a != 0 && (a & (a - 1)) == 0 && a <= kMaxAlignment;
}

// A key and its value. A scalar is one element.
struct Kv {
    std::string key;
    gguf_type type = GGUF_TYPE_UINT8;  // of the elements; never ARRAY
    bool is_array = false;
    uint64_t n = 0;  // elements
    // Packed elements. Strings: their bytes, each followed by a NUL, string i at starts[i].
    std::vector<uint8_t> data;
    std::vector<uint64_t> starts;

    void add_string(const void* bytes, size_t size);
    std::string_view string(uint64_t i) const;
};

struct TensorInfo {
    ggml_tensor tensor{};  // a description: name, type, ne, nb, data, buffer
    uint64_t size = 0;     // bytes, unpadded
    uint64_t offset = 0;   // bytes from the start of the data section
};

// Fills nb and the size of a dense tensor from its type and ne. The text of an error names `what`.
// The product of max(ne, 1) stays below 2^63 and its bytes below 2^64, which keeps every stride
// and every loop bound of its readers in range.
Result<void> set_dense_layout(TensorInfo& info, const char* what);

// `text` for a message: at most 64 bytes, without control characters.
std::string shown(std::string_view text);

// Unread errors of the caller: C class of the API.
Error invalid(const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(1, 2);

}  // namespace tenon::gguf

struct gguf_context {
    uint32_t version = GGUF_VERSION;
    uint64_t alignment = GGUF_DEFAULT_ALIGNMENT;
    uint64_t data_offset = 0;  // absolute position of the data section; 0 when not read
    uint64_t data_size = 0;    // bytes of the data section, the last padding included
    bool incomplete = false;   // a setter ran out of memory: never write this context

    // Addresses of pairs and tensors are stable: callers hold pointers into them.
    std::vector<std::unique_ptr<tenon::gguf::Kv>> kvs;
    std::deque<tenon::gguf::TensorInfo> tensors;
    std::unordered_map<std::string_view, size_t> kv_index;      // views of Kv::key
    std::unordered_map<std::string_view, size_t> tensor_index;  // views of tensor.name

    // Each -1 when absent.
    int64_t find_kv(std::string_view key) const;
    int64_t find_tensor(std::string_view name) const;

    // Appends; a pair with the same key is removed first. Either done or, after an exception, not.
    void put(std::unique_ptr<tenon::gguf::Kv> kv);
    void remove(size_t kv_id) noexcept;
    // The name must be new. Offset and size are the caller's.
    void append(const tenon::gguf::TensorInfo& info);

    // Sets alignment, all offsets and data_size; an error, and nothing changed, when they overflow.
    tenon::Result<void> place_tensors(uint64_t new_alignment);
};
