// A context: an arena of objects that grow upwards in one block of memory and are all freed at
// once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "ggml.h"

// The record in front of every object of an arena. Applications size their arenas by it.
struct ggml_object {
    size_t offset;  // of the payload, from the start of the arena
    size_t size;    // of the payload, padded
    ggml_object* next;
    ggml_object_type type;
    char padding[4];
};
static_assert(sizeof(ggml_object) == 32);

struct ggml_context {
    size_t mem_size;  // bytes
    void* mem_buffer;
    bool owns_buffer;
    bool no_alloc;
    ggml_object* first;
    ggml_object* last;
};

namespace tenon {

// Where the next object would start.
inline size_t end_of_objects(const ggml_context& ctx) {
    return ctx.last ? ctx.last->offset + ctx.last->size : 0;
}

// Takes `size` bytes, aligned to 16 and not initialised, from the arena. They live as long as the
// context, or until ggml_reset.
Result<void*> new_object(ggml_context& ctx, ggml_object_type type, size_t size);

// The one way a tensor comes into being: contiguous, all fields zero but type, shape and strides.
// With a `view_src` it shares that tensor's memory from `view_offs` bytes on, and takes no data
// from the arena; a view of a view refers to the tensor below both. Fails on types and shapes that
// cannot exist, views past the end, a full arena.
Result<ggml_tensor*> new_tensor_impl(ggml_context* ctx, ggml_type type, int n_dims,
                                     const int64_t* ne, ggml_tensor* view_src = nullptr,
                                     size_t view_offs = 0);

// Names `tensor` like printf, cut to fit.
void format_name(ggml_tensor& tensor, const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);

}  // namespace tenon
