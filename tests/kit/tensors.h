// Tensors by hand: no context, no core.
#pragma once

#include "tenon/kit.h"

namespace tenon::kit {

// Contiguous, of a type with or without blocks.
inline ggml_tensor tensor(ggml_type type, int64_t n0, int64_t n1 = 1, int64_t n2 = 1,
                          int64_t n3 = 1) {
    ggml_tensor t{};
    t.type = type;
    const int64_t ne[] = {n0, n1, n2, n3};
    const TypeSize size = type_size(type);
    size_t next = size.bytes;
    for (int d = 0; d < GGML_MAX_DIMS; ++d) {
        t.ne[d] = ne[d];
        t.nb[d] = next;
        next *= static_cast<size_t>(d == 0 ? ne[0] / size.block : ne[d]);
    }
    return t;
}

inline ggml_tensor node(ggml_op op, ggml_tensor* src0, ggml_tensor* src1 = nullptr) {
    ggml_tensor t = *src0;
    t.op = op;
    t.src[0] = src0;
    t.src[1] = src1;
    return t;
}

}  // namespace tenon::kit
