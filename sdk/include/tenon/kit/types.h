// tenon/kit/types.h - how large the elements of a type are, and from a type id to a C++ type.
#pragma once

#include <type_traits>

#include "tenon/kit/tag.h"
#include "tenon/types.h"

namespace tenon::kit {
inline namespace TENON_KIT_TAG {

struct TypeSize {
    int64_t block = 0;  // elements per block; 0: no such type
    size_t bytes = 0;   // per block
};

// Any number may be asked about: retired and unknown ones have blocks of 0 elements.
constexpr TypeSize type_size(int64_t type) {
    const tenon_type* row = tenon_type_of(type);
    return row ? TypeSize{row->block, row->bytes} : TypeSize{};
}

// Bytes of n elements, whole blocks of a type that exists.
constexpr size_t row_bytes(ggml_type type, int64_t n) { return tenon_row_bytes(type, n); }

// Those that with_float_type takes.
constexpr bool is_float_type(ggml_type type) {
    return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
}

// A type as a value, for lambdas of C++17: [&](auto tag) { using T = typename decltype(tag)::type;
// }
template <class T>
struct TypeTag {
    using type = T;
};

namespace detail {

template <class T, class Fn>
void call_with(Fn& fn) {
    if constexpr (std::is_invocable_v<Fn&, TypeTag<T>>) {
        fn(TypeTag<T>{});
    } else {
        fn.template operator()<T>();
    }
}

}  // namespace detail

// fn(TypeTag<T>{}), or fn.operator()<T>() of C++20's [&]<class T>(), with T = float, ggml_fp16_t or
// ggml_bf16_t. False, and no call, for other types.
template <class Fn>
bool with_float_type(ggml_type type, Fn&& fn) {
    switch (type) {
        case GGML_TYPE_F32:
            detail::call_with<float>(fn);
            return true;
        case GGML_TYPE_F16:
            detail::call_with<ggml_fp16_t>(fn);
            return true;
        case GGML_TYPE_BF16:
            detail::call_with<ggml_bf16_t>(fn);
            return true;
        default:
            return false;
    }
}

}  // namespace TENON_KIT_TAG
}  // namespace tenon::kit
