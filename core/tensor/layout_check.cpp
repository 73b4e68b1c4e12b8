// Freezes the layout of struct ggml_tensor and of other structs that applications and plugins are
// compiled with. A failing line here is an ABI break: append, never move.

#include <cstddef>

#include "ggml.h"
#include "ggml/src/ggml-impl.h"

static_assert(sizeof(void*) == 8, "the frozen layouts are those of 64-bit systems");
static_assert(GGML_MAX_NAME == 160 && GGML_MAX_SRC == 10 && GGML_MAX_DIMS == 4 &&
              GGML_MAX_OP_PARAMS == 64);

static_assert(sizeof(ggml_tensor) == 432 && alignof(ggml_tensor) == 8);
static_assert(offsetof(ggml_tensor, type) == 0);
static_assert(offsetof(ggml_tensor, buffer) == 8);
static_assert(offsetof(ggml_tensor, ne) == 16);
static_assert(offsetof(ggml_tensor, nb) == 48);
static_assert(offsetof(ggml_tensor, op) == 80);
static_assert(offsetof(ggml_tensor, op_params) == 84);
static_assert(offsetof(ggml_tensor, flags) == 148);
static_assert(offsetof(ggml_tensor, src) == 152);
static_assert(offsetof(ggml_tensor, view_src) == 232);
static_assert(offsetof(ggml_tensor, view_offs) == 240);
static_assert(offsetof(ggml_tensor, data) == 248);
static_assert(offsetof(ggml_tensor, name) == 256);
static_assert(offsetof(ggml_tensor, extra) == 416);
static_assert(offsetof(ggml_tensor, padding) == 424);

static_assert(sizeof(ggml_type) == 4 && sizeof(ggml_op) == 4 && sizeof(ggml_status) == 4);
static_assert(sizeof(ggml_type_traits) == 56);
static_assert(sizeof(ggml_init_params) == 24);
static_assert(sizeof(ggml_threadpool_params) == 528);

static_assert(sizeof(ggml_hash_set) == 24);
static_assert(sizeof(ggml_cgraph) == 96);
static_assert(offsetof(ggml_cgraph, nodes) == 16);
static_assert(offsetof(ggml_cgraph, grads) == 24);
static_assert(offsetof(ggml_cgraph, grad_accs) == 32);
static_assert(offsetof(ggml_cgraph, leafs) == 40);
static_assert(offsetof(ggml_cgraph, use_counts) == 48);
static_assert(offsetof(ggml_cgraph, visited_hash_set) == 56);
static_assert(offsetof(ggml_cgraph, order) == 80);
static_assert(offsetof(ggml_cgraph, uid) == 88);
