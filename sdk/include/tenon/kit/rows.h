// tenon/kit/rows.h - rows, elements and parameters of a tensor.
#pragma once

#include <cstring>
#include <type_traits>

#include "tenon/kit/tag.h"
#include "tenon/op_params.h"
#include "tenon/plugin.h"

namespace tenon::kit {
inline namespace TENON_KIT_TAG {

// Bytes from the tensor's first element to that at [i0, i1, i2, i3], of a type without blocks.
TENON_KIT_HD inline int64_t offset_of(const ggml_tensor& t, int64_t i0, int64_t i1, int64_t i2,
                                      int64_t i3) {
    return static_cast<int64_t>(i0 * t.nb[0] + i1 * t.nb[1] + i2 * t.nb[2] + i3 * t.nb[3]);
}

// Row [., i1, i2, i3] of a tensor whose bytes are at `bytes`: for memory with addresses of its own.
template <class T>
TENON_KIT_HD T* row_at(void* bytes, const ggml_tensor& t, int64_t i1, int64_t i2 = 0,
                       int64_t i3 = 0) {
    return reinterpret_cast<T*>(static_cast<char*>(bytes) + offset_of(t, 0, i1, i2, i3));
}

template <class T>
TENON_KIT_HD T* row(const ggml_tensor& t, int64_t i1, int64_t i2 = 0, int64_t i3 = 0) {
    return row_at<T>(t.data, t, i1, i2, i3);
}

template <class T>
TENON_KIT_HD T* element(const ggml_tensor& t, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return reinterpret_cast<T*>(static_cast<char*>(t.data) + offset_of(t, i0, i1, i2, i3));
}

// fn(i1, i2, i3) for rows begin … end-1 of the tensor, counted along dimension 1 first.
template <class Fn>
void for_rows(const ggml_tensor& t, int64_t begin, int64_t end, Fn&& fn) {
    if (begin >= end) return;
    const int64_t n1 = t.ne[1], n2 = t.ne[2];
    int64_t i1 = begin % n1, i2 = begin / n1 % n2, i3 = begin / (n1 * n2);
    for (int64_t i = begin; i < end; ++i) {
        fn(i1, i2, i3);
        if (++i1 == n1) {
            i1 = 0;
            if (++i2 == n2) i2 = 0, ++i3;
        }
    }
}

// The parameters of a node, as tenon/op_params.h declares them.
template <class Params>
TENON_KIT_HD Params params_of(const ggml_tensor& node) {
    static_assert(sizeof(Params) <= GGML_MAX_OP_PARAMS, "params_of: more than op_params holds");
    static_assert(std::is_trivially_copyable_v<Params>, "params_of: not a struct of C");
    Params p;
    memcpy(&p, node.op_params, sizeof p);
    return p;
}

}  // namespace TENON_KIT_TAG
}  // namespace tenon::kit
