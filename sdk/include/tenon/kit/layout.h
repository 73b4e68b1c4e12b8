// tenon/kit/layout.h - how the elements of a tensor lie in memory.
#pragma once

#include "tenon/kit/types.h"
#include "tenon/tensor.h"

namespace tenon::kit {
inline namespace TENON_KIT_TAG {

// Elements (blocks) of a row follow each other; the other strides are free.
inline bool has_dense_rows(const ggml_tensor& t) {
    const TypeSize size = type_size(t.type);
    return t.ne[0] == size.block || t.nb[0] == size.bytes;
}

inline bool is_contiguous(const ggml_tensor& t) {
    const TypeSize size = type_size(t.type);
    return tenon_is_contiguous(&t, size.block, size.bytes);
}

// Dense rows, and rows at a constant distance: a matrix of nrows rows.
inline bool is_row_matrix(const ggml_tensor& t) {
    if (!has_dense_rows(t)) return false;
    return (t.ne[2] == 1 || t.nb[2] == t.ne[1] * t.nb[1]) &&
           (t.ne[3] == 1 || t.nb[3] == t.ne[2] * t.ne[1] * t.nb[1]);
}

// Bytes from the first element to the end of the last one, gaps included, of the dimensions below
// `dims`.
inline size_t span_bytes(const ggml_tensor& t, int dims = GGML_MAX_DIMS) {
    if (tenon_is_empty(&t)) return 0;
    const TypeSize size = type_size(t.type);
    size_t bytes = size.block == 1 ? static_cast<size_t>(t.ne[0] - 1) * t.nb[0] + size.bytes
                                   : row_bytes(t.type, t.ne[0]);
    for (int d = 1; d < dims; ++d) bytes += static_cast<size_t>(t.ne[d] - 1) * t.nb[d];
    return bytes;
}

// Bytes of the elements alone, wherever they lie.
inline size_t element_bytes(const ggml_tensor& t) {
    const TypeSize size = type_size(t.type);
    return size.block == 0 ? 0 : static_cast<size_t>(tenon_nelements(&t) / size.block) * size.bytes;
}

// Where a tensor lies. Empty ones lie nowhere.
struct Extent {
    const char* begin = nullptr;
    const char* end = nullptr;
};
inline Extent extent_of(const ggml_tensor& t) {
    if (tenon_is_empty(&t)) return {};
    const char* data = static_cast<const char*>(t.data);
    return {data, data + span_bytes(t)};
}
constexpr bool overlap(const Extent& a, const Extent& b) {
    return a.begin < b.end && b.begin < a.end;
}

// Element by element in the same place.
inline bool lie_alike(const ggml_tensor& a, const ggml_tensor& b) {
    return a.data == b.data && a.type == b.type && tenon_same_shape(&a, &b) &&
           tenon_same_stride(&a, &b);
}

}  // namespace TENON_KIT_TAG
}  // namespace tenon::kit
