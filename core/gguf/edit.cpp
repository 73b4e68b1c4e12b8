// The gguf_* functions that change a context. A new pair is built completely before it replaces the
// old one, so the arguments may point into the context itself.

#include <cinttypes>
#include <cstring>

#include "core/base/bits.h"
#include "core/base/log.h"
#include "core/gguf/context.h"
#include "gguf.h"

using namespace tenon;
using namespace tenon::gguf;

namespace {

// Runs a setter, which cannot tell its caller anything: refusals are reported, and running out of
// memory marks the context, so that no file is written that silently lacks a part.
template <class Body>
void edit(gguf_context* ctx, Body&& body) {
    const bool survived = guard<bool>(false, [&] {
        Result<void> done = ctx ? body() : Result<void>(invalid("the model context is NULL"));
        if (!done) report(done.error());
        return true;
    });
    if (!survived && ctx) ctx->incomplete = true;
}

Result<void> check_key(const char* key) {
    const size_t length = key ? std::strlen(key) : 0;
    if (length == 0 || length > kMaxKeyBytes) {
        return invalid("key '%s': length is %zu, must be from 1 to %" PRIu64,
                       shown(key ? key : "").c_str(), length, kMaxKeyBytes);
    }
    return {};
}

bool is_alignment_key(const char* key) { return std::strcmp(key, GGUF_KEY_GENERAL_ALIGNMENT) == 0; }

// The alignment decides where tensors lie, so only the setter that understands it may set it.
Result<void> check_free_key(const char* key) {
    if (auto done = check_key(key); !done) return done;
    if (is_alignment_key(key)) {
        return invalid("key '%s': only gguf_set_val_u32 may set it", key);
    }
    return {};
}

// Appends a terminated string; refuses what the reader would.
Result<void> add_text(Kv& kv, const char* text) {
    if (!text) return invalid("key '%s': string %" PRIu64 " is NULL", shown(kv.key).c_str(), kv.n);
    const size_t length = std::strlen(text);
    if (length > kMaxStringBytes) {
        return invalid("key '%s': string %" PRIu64 " has length %zu, the limit is %" PRIu64,
                       shown(kv.key).c_str(), kv.n, length, kMaxStringBytes);
    }
    kv.add_string(text, length);
    return {};
}

template <class T>
void set_scalar(gguf_context* ctx, const char* key, gguf_type type, T value) {
    edit(ctx, [&]() -> Result<void> {
        if (auto done = check_free_key(key); !done) return done;
        auto kv = std::make_unique<Kv>();
        kv->key = key;
        kv->type = type;
        kv->n = 1;
        kv->data.resize(sizeof value);
        std::memcpy(kv->data.data(), &value, sizeof value);
        ctx->put(std::move(kv));
        return {};
    });
}

Result<void> set_alignment(gguf_context& ctx, uint32_t value) {
    if (!is_valid_alignment(value)) {
        return invalid("key '%s': %" PRIu32 " is not a power of two from 1 to %" PRIu64,
                       GGUF_KEY_GENERAL_ALIGNMENT, value, kMaxAlignment);
    }
    auto kv = std::make_unique<Kv>();
    kv->key = GGUF_KEY_GENERAL_ALIGNMENT;
    kv->type = GGUF_TYPE_UINT32;
    kv->n = 1;
    kv->data.resize(sizeof value);
    std::memcpy(kv->data.data(), &value, sizeof value);
    if (auto done = ctx.place_tensors(value); !done) return done;
    ctx.put(std::move(kv));
    return {};
}

Result<TensorInfo*> tensor_named(gguf_context& ctx, const char* name) {
    const int64_t id = name ? ctx.find_tensor(name) : -1;
    if (id < 0) {
        return invalid("tensor '%s': not among the %zu of this file",
                       shown(name ? name : "(NULL)").c_str(), ctx.tensors.size());
    }
    return &ctx.tensors[static_cast<size_t>(id)];
}

Result<void> add_tensor(gguf_context& ctx, const ggml_tensor& tensor) {
    const size_t length = strnlen(tensor.name, sizeof tensor.name);
    if (length == sizeof tensor.name) {
        return invalid("tensor '%s': the name has no end within %zu bytes",
                       shown({tensor.name, length}).c_str(), sizeof tensor.name);
    }
    const std::string name = shown(tensor.name);
    if (ctx.find_tensor(tensor.name) >= 0) {
        return invalid("tensor '%s': already among the %zu of this file", name.c_str(),
                       ctx.tensors.size());
    }
    TensorInfo info{.tensor = tensor, .size = 0, .offset = ctx.data_size};
    // Checks type and shape; the strides stay those of the caller, who may pass a view.
    if (auto done = set_dense_layout(info, ("tensor '" + name + "'").c_str()); !done) return done;
    std::memcpy(info.tensor.nb, tensor.nb, sizeof tensor.nb);
    info.size = ggml_nbytes(&tensor);
    size_t padded, end;
    if (!align_up_size(info.size, ctx.alignment, &padded) ||
        !add_size(ctx.data_size, padded, &end)) {
        return invalid("tensor '%s': %" PRIu64 " bytes after %" PRIu64 " pass 2^64 bytes",
                       name.c_str(), info.size, ctx.data_size);
    }
    ctx.append(info);
    ctx.data_size = end;
    return {};
}

Result<void> set_tensor_type(gguf_context& ctx, TensorInfo& info, ggml_type type) {
    const TensorInfo before = info;
    info.tensor.type = type;
    auto done = set_dense_layout(info, ("tensor '" + shown(info.tensor.name) + "'").c_str());
    if (done) done = ctx.place_tensors(ctx.alignment);
    if (!done) info = before;
    return done;
}

}  // namespace

extern "C" {

int64_t gguf_remove_key(gguf_context* ctx, const char* key) {
    int64_t removed = -1;
    edit(ctx, [&]() -> Result<void> {
        const int64_t id = key ? ctx->find_kv(key) : -1;
        if (id < 0) return {};
        if (is_alignment_key(key)) {
            if (auto done = ctx->place_tensors(GGUF_DEFAULT_ALIGNMENT); !done) return done;
        }
        ctx->remove(static_cast<size_t>(id));
        removed = id;
        return {};
    });
    return removed;
}

void gguf_set_val_u8(gguf_context* ctx, const char* key, uint8_t val) {
    set_scalar(ctx, key, GGUF_TYPE_UINT8, val);
}
void gguf_set_val_i8(gguf_context* ctx, const char* key, int8_t val) {
    set_scalar(ctx, key, GGUF_TYPE_INT8, val);
}
void gguf_set_val_u16(gguf_context* ctx, const char* key, uint16_t val) {
    set_scalar(ctx, key, GGUF_TYPE_UINT16, val);
}
void gguf_set_val_i16(gguf_context* ctx, const char* key, int16_t val) {
    set_scalar(ctx, key, GGUF_TYPE_INT16, val);
}
void gguf_set_val_u32(gguf_context* ctx, const char* key, uint32_t val) {
    if (ctx && key && is_alignment_key(key)) {
        edit(ctx, [&] { return set_alignment(*ctx, val); });
    } else {
        set_scalar(ctx, key, GGUF_TYPE_UINT32, val);
    }
}
void gguf_set_val_i32(gguf_context* ctx, const char* key, int32_t val) {
    set_scalar(ctx, key, GGUF_TYPE_INT32, val);
}
void gguf_set_val_f32(gguf_context* ctx, const char* key, float val) {
    set_scalar(ctx, key, GGUF_TYPE_FLOAT32, val);
}
void gguf_set_val_u64(gguf_context* ctx, const char* key, uint64_t val) {
    set_scalar(ctx, key, GGUF_TYPE_UINT64, val);
}
void gguf_set_val_i64(gguf_context* ctx, const char* key, int64_t val) {
    set_scalar(ctx, key, GGUF_TYPE_INT64, val);
}
void gguf_set_val_f64(gguf_context* ctx, const char* key, double val) {
    set_scalar(ctx, key, GGUF_TYPE_FLOAT64, val);
}
void gguf_set_val_bool(gguf_context* ctx, const char* key, bool val) {
    set_scalar(ctx, key, GGUF_TYPE_BOOL, static_cast<uint8_t>(val));
}

void gguf_set_val_str(gguf_context* ctx, const char* key, const char* val) {
    edit(ctx, [&]() -> Result<void> {
        if (auto done = check_free_key(key); !done) return done;
        auto kv = std::make_unique<Kv>();
        kv->key = key;
        kv->type = GGUF_TYPE_STRING;
        if (auto done = add_text(*kv, val); !done) return done;
        ctx->put(std::move(kv));
        return {};
    });
}

void gguf_set_arr_data(gguf_context* ctx, const char* key, gguf_type type, const void* data,
                       size_t n) {
    edit(ctx, [&]() -> Result<void> {
        if (auto done = check_free_key(key); !done) return done;
        const size_t element = gguf_type_size(type);
        size_t bytes;
        if (element == 0 || !mul_size(n, element, &bytes) || n > kMaxArrayElements) {
            const char* name = gguf_type_name(type);
            return invalid("key '%s': cannot hold %zu elements of type %s, at most %" PRIu64
                           " numbers or bools",
                           shown(key).c_str(), n, name ? name : "(unknown)", kMaxArrayElements);
        }
        if (!data && n > 0)
            return invalid("key '%s': data of %zu elements is NULL", shown(key).c_str(), n);
        auto kv = std::make_unique<Kv>();
        kv->key = key;
        kv->type = type;
        kv->is_array = true;
        kv->n = n;
        kv->data.resize(bytes);
        if (bytes > 0) std::memcpy(kv->data.data(), data, bytes);
        if (type == GGUF_TYPE_BOOL) {
            for (uint8_t& byte : kv->data) byte = byte != 0;
        }
        ctx->put(std::move(kv));
        return {};
    });
}

void gguf_set_arr_str(gguf_context* ctx, const char* key, const char** data, size_t n) {
    edit(ctx, [&]() -> Result<void> {
        if (auto done = check_free_key(key); !done) return done;
        if (n > kMaxArrayElements || (!data && n > 0)) {
            return invalid("key '%s': cannot hold %zu strings, at most %" PRIu64
                           " that are not NULL",
                           shown(key).c_str(), n, kMaxArrayElements);
        }
        auto kv = std::make_unique<Kv>();
        kv->key = key;
        kv->type = GGUF_TYPE_STRING;
        kv->is_array = true;
        kv->starts.reserve(n);
        for (size_t i = 0; i < n; ++i) {
            if (auto done = add_text(*kv, data[i]); !done) return done;
        }
        ctx->put(std::move(kv));
        return {};
    });
}

void gguf_set_kv(gguf_context* ctx, const gguf_context* src) {
    edit(ctx, [&]() -> Result<void> {
        if (!src) return invalid("the model context to copy from is NULL");
        if (src == ctx) return {};
        if (src->incomplete) ctx->incomplete = true;
        for (const auto& kv : src->kvs) {
            // Tools copy metadata and then pad data by their own rules: the alignment in force
            // stays.
            if (kv->key == GGUF_KEY_GENERAL_ALIGNMENT && src->alignment != ctx->alignment) {
                log(GGML_LOG_LEVEL_DEBUG,
                    "key '%s' not copied: %" PRIu64 " there, %" PRIu64 " here", kv->key.c_str(),
                    src->alignment, ctx->alignment);
                continue;
            }
            ctx->put(std::make_unique<Kv>(*kv));
        }
        return {};
    });
}

void gguf_add_tensor(gguf_context* ctx, const ggml_tensor* tensor) {
    edit(ctx, [&]() -> Result<void> {
        if (!tensor) return invalid("the tensor to add is NULL");
        return add_tensor(*ctx, *tensor);
    });
}

void gguf_set_tensor_type(gguf_context* ctx, const char* name, ggml_type type) {
    edit(ctx, [&]() -> Result<void> {
        auto info = tensor_named(*ctx, name);
        if (!info) return info.error();
        return set_tensor_type(*ctx, **info, type);
    });
}

void gguf_set_tensor_data(gguf_context* ctx, const char* name, const void* data) {
    edit(ctx, [&]() -> Result<void> {
        auto info = tensor_named(*ctx, name);
        if (!info) return info.error();
        ggml_tensor& tensor = (*info)->tensor;
        tensor.data = const_cast<void*>(data);
        // The host pointer counts from now on, not the device memory remembered before.
        tensor.buffer = nullptr;
        tensor.view_src = nullptr;
        return {};
    });
}

}  // extern "C"
