/* tenon/tensor.h - questions about a struct ggml_tensor, header-only, for plugins and the core.
 * Every definition is the one of the ggml functions of the same name; no call into the core. */
#ifndef TENON_TENSOR_H
#define TENON_TENSOR_H

#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int64_t tenon_nelements(const struct ggml_tensor *t) {
    return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
}
static inline int64_t tenon_nrows(const struct ggml_tensor *t) {
    return t->ne[1] * t->ne[2] * t->ne[3];
}
static inline bool tenon_is_empty(const struct ggml_tensor *t) {
    return t->ne[0] == 0 || t->ne[1] == 0 || t->ne[2] == 0 || t->ne[3] == 0;
}
/* NONE, RESHAPE, VIEW, PERMUTE, TRANSPOSE: nothing to compute */
static inline bool tenon_is_view_op(enum ggml_op op) {
    return op == GGML_OP_NONE || op == GGML_OP_RESHAPE || op == GGML_OP_VIEW ||
           op == GGML_OP_PERMUTE || op == GGML_OP_TRANSPOSE;
}
static inline bool tenon_same_shape(const struct ggml_tensor *a, const struct ggml_tensor *b) {
    return a->ne[0] == b->ne[0] && a->ne[1] == b->ne[1] && a->ne[2] == b->ne[2] && a->ne[3] == b->ne[3];
}
static inline bool tenon_same_stride(const struct ggml_tensor *a, const struct ggml_tensor *b) {
    return a->nb[0] == b->nb[0] && a->nb[1] == b->nb[1] && a->nb[2] == b->nb[2] && a->nb[3] == b->nb[3];
}
/* Whether x, repeated a whole number of times along each dimension, has the shape of y. */
static inline bool tenon_can_repeat(const struct ggml_tensor *x, const struct ggml_tensor *y) {
    if (tenon_is_empty(x)) return tenon_is_empty(y);
    return y->ne[0] % x->ne[0] == 0 && y->ne[1] % x->ne[1] == 0 && y->ne[2] % x->ne[2] == 0 &&
           y->ne[3] % x->ne[3] == 0;
}
/* CONTIG(0, 4) for a type with `block` elements in `bytes` bytes. */
static inline bool tenon_is_contiguous(const struct ggml_tensor *t, int64_t block, size_t bytes) {
    size_t next = bytes;
    if (t->ne[0] != block && t->nb[0] != next) return false;
    next *= (size_t)(t->ne[0] / block);
    for (int k = 1; k < GGML_MAX_DIMS; k++) {
        if (t->ne[k] != 1 && t->nb[k] != next) return false;
        next *= (size_t)t->ne[k];
    }
    return true;
}
/* The buffer a tensor lies in: its own, or that of the tensor it is a view of. */
static inline struct ggml_backend_buffer *tenon_effective_buffer(const struct ggml_tensor *t) {
    return t->buffer ? t->buffer : t->view_src ? t->view_src->buffer : NULL;
}

#ifdef __cplusplus
}
#endif
#endif /* TENON_TENSOR_H */
