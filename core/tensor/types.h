// Questions about a number that may be no type; the types themselves: tenon/types.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "tenon/types.h"

namespace tenon {

constexpr bool is_type_number(int64_t t) { return t >= 0 && t < GGML_TYPE_COUNT; }

// Whether tensors of this type can exist: a known number that is not retired.
constexpr bool is_usable_type(int64_t t) { return tenon_type_of(t) != nullptr; }

// Bytes of n elements, a whole number of blocks; any number may be asked for.
Result<size_t> row_bytes(int64_t type, int64_t n);

}  // namespace tenon
