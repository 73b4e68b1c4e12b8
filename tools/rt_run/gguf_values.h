// Typed access to a GGUF file's metadata, with errors that name the key.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "gguf.h"

namespace rt_run {

inline std::optional<int64_t> find_key(const gguf_context* file, const std::string& key) {
    const int64_t id = gguf_find_key(file, key.c_str());
    return id < 0 ? std::nullopt : std::optional(id);
}

inline void expect_type(const gguf_context* file, int64_t id, gguf_type want) {
    const gguf_type got = gguf_get_kv_type(file, id);
    if (got == want) return;
    throw std::runtime_error(std::string("key '") + gguf_get_key(file, id) + "' has type " +
                             gguf_type_name(got) + ", expected " + gguf_type_name(want));
}

// The value at `key`, or nothing when the file has no such key; a value of another type is an
// error.
template <class T>
std::optional<T> value(const gguf_context* file, const std::string& key) {
    const auto id = find_key(file, key);
    if (!id) return std::nullopt;
    if constexpr (std::is_same_v<T, uint32_t>) {
        expect_type(file, *id, GGUF_TYPE_UINT32);
        return gguf_get_val_u32(file, *id);
    } else if constexpr (std::is_same_v<T, float>) {
        expect_type(file, *id, GGUF_TYPE_FLOAT32);
        return gguf_get_val_f32(file, *id);
    } else if constexpr (std::is_same_v<T, bool>) {
        expect_type(file, *id, GGUF_TYPE_BOOL);
        return gguf_get_val_bool(file, *id);
    } else {
        static_assert(std::is_same_v<T, std::string>);
        expect_type(file, *id, GGUF_TYPE_STRING);
        return std::string(gguf_get_val_str(file, *id));
    }
}

template <class T>
T required(const gguf_context* file, const std::string& key) {
    if (auto v = value<T>(file, key)) return *v;
    throw std::runtime_error("key '" + key + "' is missing");
}

// The index of an array with elements of the given type.
inline std::optional<int64_t> find_array(const gguf_context* file, const std::string& key,
                                         gguf_type type) {
    const auto id = find_key(file, key);
    if (!id) return std::nullopt;
    expect_type(file, *id, GGUF_TYPE_ARRAY);
    if (gguf_get_arr_type(file, *id) != type) {
        throw std::runtime_error("key '" + key + "' is an array of " +
                                 gguf_type_name(gguf_get_arr_type(file, *id)) + ", expected " +
                                 gguf_type_name(type));
    }
    return id;
}

}  // namespace rt_run
