// Questions about the shape and layout of a tensor: sizes, contiguity, broadcasting.
//
// For tensors that exist: their type is usable and no product of extents overflows, since creation
// (context.h) sees to both. The C API wraps these with checks for NULL.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/types.h"
#include "ggml.h"

namespace tenon {

inline int64_t nelements(const ggml_tensor& t) { return t.ne[0] * t.ne[1] * t.ne[2] * t.ne[3]; }
inline int64_t nrows(const ggml_tensor& t) { return t.ne[1] * t.ne[2] * t.ne[3]; }

inline bool is_empty(const ggml_tensor& t) {
    return t.ne[0] == 0 || t.ne[1] == 0 || t.ne[2] == 0 || t.ne[3] == 0;
}

// Bytes from the first element to the end of the last, by strides; SIZE_MAX when that overflows.
size_t nbytes(const ggml_tensor& t);

// Whether the tensor, if it is a view, lies inside the one it is a view of. Views need not: their
// strides are the application's own words, and only what is read or written has to be there.
bool is_inside(const ggml_tensor& t);
// The same as an error with both numbers.
Result<void> check_inside(const ggml_tensor& t);

inline bool is_transposed(const ggml_tensor& t) { return t.nb[0] > t.nb[1]; }
inline bool is_permuted(const ggml_tensor& t) {
    return t.nb[0] > t.nb[1] || t.nb[1] > t.nb[2] || t.nb[2] > t.nb[3];
}

// Whether dimensions 0 … n-1 are packed, where dimensions 1 … m may have any stride and the ones
// after m follow from it. Strides of extents equal to 1 never matter.
bool is_contiguous(const ggml_tensor& t, int m = 0, int n = GGML_MAX_DIMS);

// Whether elements within a row are packed.
inline bool has_contiguous_rows(const ggml_tensor& t) {
    return t.ne[0] == tenon_types[t.type].block || t.nb[0] == tenon_types[t.type].bytes;
}

// Whether rows lie at one distance throughout, as in a matrix with padded rows.
inline bool is_padded_1d(const ggml_tensor& t) {
    return t.nb[0] == tenon_types[t.type].bytes &&
           t.nb[2] == t.nb[1] * static_cast<size_t>(t.ne[1]) &&
           t.nb[3] == t.nb[2] * static_cast<size_t>(t.ne[2]);
}

bool same_shape(const ggml_tensor& a, const ggml_tensor& b);
bool same_stride(const ggml_tensor& a, const ggml_tensor& b);
inline bool same_layout(const ggml_tensor& a, const ggml_tensor& b) {
    return a.type == b.type && same_shape(a, b) && same_stride(a, b);
}

// Whether x, repeated a whole number of times along each dimension, has the shape of y.
bool can_repeat(const ggml_tensor& x, const ggml_tensor& y);
inline bool can_repeat_rows(const ggml_tensor& x, const ggml_tensor& y) {
    return x.ne[0] == y.ne[0] && can_repeat(x, y);
}

inline bool is_scalar(const ggml_tensor& t) {
    return t.ne[0] == 1 && t.ne[1] == 1 && t.ne[2] == 1 && t.ne[3] == 1;
}

}  // namespace tenon
