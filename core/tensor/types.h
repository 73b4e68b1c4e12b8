// The tensor types: one row per number of enum ggml_type, retired numbers included.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "ggml.h"

namespace tenon {

struct TypeRow {
    ggml_type type;
    const char* name;
    int64_t block;  // elements per block; 0: retired
    size_t bytes;   // bytes per block; 0: retired
    bool quantized;
};

extern const TypeRow kTypes[GGML_TYPE_COUNT];

constexpr bool is_type_number(int64_t t) { return t >= 0 && t < GGML_TYPE_COUNT; }

// Whether tensors of this type can exist: a known number that is not retired.
inline bool is_usable_type(int64_t t) { return is_type_number(t) && kTypes[t].block != 0; }

// Bytes of n elements, a whole number of blocks; any number may be asked for.
Result<size_t> row_bytes(int64_t type, int64_t n);

}  // namespace tenon
