// Contexts: the arena, its objects, and walking over them.

#include "core/tensor/context.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/base/bits.h"
#include "core/base/log.h"
#include "core/base/os.h"
#include "core/tensor/shape.h"

namespace tenon {
namespace {

constexpr size_t kBufferAlignment = 64;

ggml_tensor* tensor_of(const ggml_context& ctx, const ggml_object& object) {
    return reinterpret_cast<ggml_tensor*>(static_cast<char*>(ctx.mem_buffer) + object.offset);
}

// The first tensor at or after an object; NULL when there is none.
ggml_tensor* next_tensor_from(const ggml_context& ctx, const ggml_object* object) {
    while (object && object->type != GGML_OBJECT_TYPE_TENSOR) object = object->next;
    return object ? tensor_of(ctx, *object) : nullptr;
}

Result<ggml_context*> make_context(const ggml_init_params& params) {
    size_t size = params.mem_size ? params.mem_size : GGML_MEM_ALIGN;
    if (params.mem_buffer && reinterpret_cast<uintptr_t>(params.mem_buffer) % GGML_MEM_ALIGN != 0) {
        return fail(TENON_E_INVALID, "context memory at %p is not aligned to %d bytes",
                    params.mem_buffer, GGML_MEM_ALIGN);
    }
    if (!params.mem_buffer && !align_up_size(size, GGML_MEM_ALIGN, &size)) {
        return fail(TENON_E_NO_HOST_MEMORY, "context of %zu bytes: too large", params.mem_size);
    }
    void* buffer = params.mem_buffer;
    if (!buffer) buffer = os::alloc_aligned(size, kBufferAlignment);
    auto* ctx = buffer ? new (std::nothrow) ggml_context{} : nullptr;
    if (!ctx) {
        if (!params.mem_buffer) os::free_aligned(buffer, size, kBufferAlignment);
        return fail(TENON_E_NO_HOST_MEMORY, "context of %zu bytes: out of host memory", size);
    }
    ctx->mem_size = size;
    ctx->mem_buffer = buffer;
    ctx->owns_buffer = !params.mem_buffer;
    ctx->no_alloc = params.no_alloc;
    return ctx;
}

}  // namespace

Result<void*> new_object(ggml_context& ctx, ggml_object_type type, size_t size) {
    const size_t start = end_of_objects(ctx);
    size_t padded, end;
    const bool fits = align_up_size(size, GGML_MEM_ALIGN, &padded) &&
                      add_size(start, sizeof(ggml_object), &end) && add_size(end, padded, &end) &&
                      end <= ctx.mem_size;
    if (!fits) {
        return fail(TENON_E_NO_HOST_MEMORY,
                    "context is full: an object of %zu bytes and its record of %zu do not fit into "
                    "%zu of %zu bytes left",
                    size, sizeof(ggml_object), ctx.mem_size - std::min(start, ctx.mem_size),
                    ctx.mem_size);
    }
    char* base = static_cast<char*>(ctx.mem_buffer);
    auto* object = new (base + start) ggml_object{};
    object->offset = start + sizeof(ggml_object);
    object->size = padded;
    object->type = type;
    (ctx.last ? ctx.last->next : ctx.first) = object;
    ctx.last = object;
    return static_cast<void*>(base + object->offset);
}

}  // namespace tenon

using namespace tenon;

extern "C" ggml_context* ggml_init(ggml_init_params params) {
    return guard<ggml_context*>(nullptr, [&] { return make_context(params); });
}

extern "C" void ggml_reset(ggml_context* ctx) {
    if (!ctx) return;
    ctx->first = nullptr;
    ctx->last = nullptr;
}

extern "C" void ggml_free(ggml_context* ctx) {
    if (!ctx) return;
    if (ctx->owns_buffer) os::free_aligned(ctx->mem_buffer, ctx->mem_size, kBufferAlignment);
    delete ctx;
}

extern "C" size_t ggml_used_mem(const ggml_context* ctx) { return ctx ? end_of_objects(*ctx) : 0; }
extern "C" bool ggml_get_no_alloc(ggml_context* ctx) { return ctx && ctx->no_alloc; }
extern "C" void ggml_set_no_alloc(ggml_context* ctx, bool no_alloc) {
    if (ctx) ctx->no_alloc = no_alloc;
}
extern "C" void* ggml_get_mem_buffer(const ggml_context* ctx) {
    return ctx ? ctx->mem_buffer : nullptr;
}
extern "C" size_t ggml_get_mem_size(const ggml_context* ctx) { return ctx ? ctx->mem_size : 0; }

extern "C" size_t ggml_get_max_tensor_size(const ggml_context* ctx) {
    size_t largest = 0;
    for (auto* t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        largest = std::max(largest, nbytes(*t));
    }
    return largest;
}

extern "C" size_t ggml_tensor_overhead() { return sizeof(ggml_object) + sizeof(ggml_tensor); }

extern "C" void* ggml_new_buffer(ggml_context* ctx, size_t nbytes) {
    return guard<void*>(nullptr, [&]() -> Result<void*> {
        if (!ctx) return fail(TENON_E_INVALID, "cannot take a buffer from a context that is null");
        return new_object(*ctx, GGML_OBJECT_TYPE_WORK_BUFFER, nbytes);
    });
}

extern "C" ggml_tensor* ggml_get_first_tensor(const ggml_context* ctx) {
    return ctx ? next_tensor_from(*ctx, ctx->first) : nullptr;
}

// `tensor` must be of this context: its record lies right in front of it.
extern "C" ggml_tensor* ggml_get_next_tensor(const ggml_context* ctx, ggml_tensor* tensor) {
    if (!ctx || !tensor) return nullptr;
    const uintptr_t start = reinterpret_cast<uintptr_t>(ctx->mem_buffer) + sizeof(ggml_object);
    const uintptr_t at = reinterpret_cast<uintptr_t>(tensor);
    if (at < start || at - start >= end_of_objects(*ctx)) {
        report(fail(TENON_E_INVALID, "tensor '%s' is not of this context", tensor->name));
        return nullptr;
    }
    const auto* object = reinterpret_cast<const ggml_object*>(at - sizeof(ggml_object));
    return next_tensor_from(*ctx, object->next);
}

extern "C" ggml_tensor* ggml_get_tensor(ggml_context* ctx, const char* name) {
    if (!name) return nullptr;
    for (auto* t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        if (std::strcmp(t->name, name) == 0) return t;
    }
    return nullptr;
}

extern "C" void ggml_print_object(const ggml_object* obj) {
    if (!obj) return;
    log(GGML_LOG_LEVEL_INFO, " - ggml_object: type = %d, offset = %zu, size = %zu, next = %p",
        obj->type, obj->offset, obj->size, static_cast<const void*>(obj->next));
}

extern "C" void ggml_print_objects(const ggml_context* ctx) {
    if (!ctx) return;
    log(GGML_LOG_LEVEL_INFO, "objects in context %p:", static_cast<const void*>(ctx));
    for (const ggml_object* object = ctx->first; object; object = object->next) {
        ggml_print_object(object);
    }
    log(GGML_LOG_LEVEL_INFO, "end of objects");
}
