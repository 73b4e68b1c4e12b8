// The gguf_* API: opening and closing, and everything that only reads a context.

#include "gguf.h"

#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <system_error>

#include "core/base/os.h"
#include "core/gguf/context.h"
#include "core/gguf/reader.h"

using namespace tenon;
using namespace tenon::gguf;

namespace {

// ---- sources ----------------------------------------------------------------------------------

struct Memory {
    const uint8_t* data;
    size_t size;
};

size_t read_memory(void* user, void* output, uint64_t offset, size_t length) {
    const auto& memory = *static_cast<const Memory*>(user);
    if (offset >= memory.size) return 0;
    const size_t n = std::min<size_t>(length, memory.size - static_cast<size_t>(offset));
    std::memcpy(output, memory.data + offset, n);
    return n;
}

struct Stream {
    std::FILE* file;
    uint64_t start;  // position of the model file in the stream
    uint64_t at;     // position of the stream now
};

size_t read_stream(void* user, void* output, uint64_t offset, size_t length) {
    auto& stream = *static_cast<Stream*>(user);
    const uint64_t position = stream.start + offset;
    if (position != stream.at && !stream_seek(stream.file, position)) return 0;
    const size_t n = std::fread(output, 1, length, stream.file);
    stream.at = position + n;
    return n;
}

Result<gguf_context*> read_file(std::FILE* file, const gguf_init_params& params) {
    if (is_directory(file)) return fail(TENON_E_IO, "it is a directory");
    auto start = stream_position(file);
    if (!start) return start.error();
    auto end = stream_end(file);
    if (!end) return end.error();
    if (*end < *start)
        return fail(TENON_E_IO, "position %" PRIu64 " is past the end, %" PRIu64, *start, *end);
    Stream stream{file, *start, *end};
    return read({.read = read_stream, .user = &stream, .size = *end - *start, .start = *start},
                params);
}

// ---- checked access ---------------------------------------------------------------------------

// Each reports and answers NULL for a bad id.
const Kv* kv_at(const gguf_context* ctx, int64_t id) {
    const size_t n = ctx ? ctx->kvs.size() : 0;
    if (id >= 0 && static_cast<uint64_t>(id) < n) return ctx->kvs[static_cast<size_t>(id)].get();
    report(invalid("key id %" PRId64 " is not in 0..%" PRId64, id, static_cast<int64_t>(n) - 1));
    return nullptr;
}

const TensorInfo* tensor_at(const gguf_context* ctx, int64_t id) {
    const size_t n = ctx ? ctx->tensors.size() : 0;
    if (id >= 0 && static_cast<uint64_t>(id) < n) return &ctx->tensors[static_cast<size_t>(id)];
    report(invalid("tensor id %" PRId64 " is not in 0..%" PRId64, id, static_cast<int64_t>(n) - 1));
    return nullptr;
}

// The pair if it is exactly one element of `type`; an array of one is accepted, as clients rely on.
const Kv* single(const gguf_context* ctx, int64_t id, gguf_type type) {
    const Kv* kv = kv_at(ctx, id);
    if (!kv) return nullptr;
    if (kv->type != type || kv->n != 1) {
        report(invalid("key '%s': has %" PRIu64 " of type %s, asked for 1 of type %s",
                       shown(kv->key).c_str(), kv->n, gguf_type_name(kv->type),
                       gguf_type_name(type)));
        return nullptr;
    }
    return kv;
}

template <class T>
T value(const gguf_context* ctx, int64_t id, gguf_type type) {
    return guard<T>(T{}, [&] {
        T v{};
        if (const Kv* kv = single(ctx, id, type)) std::memcpy(&v, kv->data.data(), sizeof v);
        return v;
    });
}

}  // namespace

// ---- opening and closing ----------------------------------------------------------------------

extern "C" {

gguf_context* gguf_init_empty(void) {
    return guard<gguf_context*>(nullptr, [] { return new gguf_context(); });
}

gguf_context* gguf_init_from_file_ptr(FILE* file, gguf_init_params params) {
    if (params.ctx) *params.ctx = nullptr;
    return guard<gguf_context*>(nullptr, [&]() -> Result<gguf_context*> {
        if (!file) return invalid("no stream to read a model from: it is NULL");
        return read_file(file, params);
    });
}

gguf_context* gguf_init_from_file(const char* fname, gguf_init_params params) {
    if (params.ctx) *params.ctx = nullptr;
    return guard<gguf_context*>(nullptr, [&]() -> Result<gguf_context*> {
        if (!fname) return invalid("no file name to read a model from: it is NULL");
        const os::File file(os::open_file(fname, "rb"));
        if (!file) {
            return fail(TENON_E_IO, "cannot open '%s': %s", fname,
                        std::generic_category().message(errno).c_str());
        }
        auto ctx = read_file(file.get(), params);
        if (!ctx) return fail(ctx.error().code, "'%s': %s", fname, ctx.error().text);
        return ctx;
    });
}

gguf_context* gguf_init_from_buffer(const void* data, size_t size, gguf_init_params params) {
    if (params.ctx) *params.ctx = nullptr;
    return guard<gguf_context*>(nullptr, [&]() -> Result<gguf_context*> {
        if (!data || size == 0) return invalid("no buffer to read a model from: %zu bytes", size);
        Memory memory{static_cast<const uint8_t*>(data), size};
        return read({.read = read_memory, .user = &memory, .size = size}, params);
    });
}

gguf_context* gguf_init_from_callback(gguf_reader_callback_t callback, void* userdata,
                                      size_t max_chunk_read, uint64_t max_expected_size,
                                      gguf_init_params params) {
    if (params.ctx) *params.ctx = nullptr;
    return guard<gguf_context*>(nullptr, [&]() -> Result<gguf_context*> {
        if (!callback) return invalid("no callback to read a model with: it is NULL");
        return read({.read = callback,
                     .user = userdata,
                     .max_chunk = max_chunk_read,
                     .size = max_expected_size},
                    params);
    });
}

void gguf_free(gguf_context* ctx) { delete ctx; }

// ---- the file ---------------------------------------------------------------------------------

const char* gguf_type_name(gguf_type type) {
    static constexpr const char* kNames[GGUF_TYPE_COUNT] = {
        "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str", "arr", "u64", "i64", "f64"};
    return is_value_type(type) ? kNames[type] : nullptr;
}

uint32_t gguf_get_version(const gguf_context* ctx) { return ctx ? ctx->version : 0; }
size_t gguf_get_alignment(const gguf_context* ctx) { return ctx ? ctx->alignment : 0; }
size_t gguf_get_data_offset(const gguf_context* ctx) { return ctx ? ctx->data_offset : 0; }

// ---- pairs ------------------------------------------------------------------------------------

int64_t gguf_get_n_kv(const gguf_context* ctx) {
    return ctx ? static_cast<int64_t>(ctx->kvs.size()) : 0;
}

int64_t gguf_find_key(const gguf_context* ctx, const char* key) {
    return ctx && key ? ctx->find_kv(key) : -1;
}

const char* gguf_get_key(const gguf_context* ctx, int64_t key_id) {
    return guard<const char*>("", [&] {
        const Kv* kv = kv_at(ctx, key_id);
        return kv ? kv->key.c_str() : "";
    });
}

gguf_type gguf_get_kv_type(const gguf_context* ctx, int64_t key_id) {
    return guard<gguf_type>(GGUF_TYPE_COUNT, [&] {
        const Kv* kv = kv_at(ctx, key_id);
        return !kv ? GGUF_TYPE_COUNT : kv->is_array ? GGUF_TYPE_ARRAY : kv->type;
    });
}

gguf_type gguf_get_arr_type(const gguf_context* ctx, int64_t key_id) {
    return guard<gguf_type>(GGUF_TYPE_COUNT, [&]() -> Result<gguf_type> {
        const Kv* kv = kv_at(ctx, key_id);
        if (!kv) return GGUF_TYPE_COUNT;
        if (!kv->is_array) {
            return invalid("key '%s': has type %s, asked for an array", shown(kv->key).c_str(),
                           gguf_type_name(kv->type));
        }
        return kv->type;
    });
}

uint8_t gguf_get_val_u8(const gguf_context* ctx, int64_t key_id) {
    return value<uint8_t>(ctx, key_id, GGUF_TYPE_UINT8);
}
int8_t gguf_get_val_i8(const gguf_context* ctx, int64_t key_id) {
    return value<int8_t>(ctx, key_id, GGUF_TYPE_INT8);
}
uint16_t gguf_get_val_u16(const gguf_context* ctx, int64_t key_id) {
    return value<uint16_t>(ctx, key_id, GGUF_TYPE_UINT16);
}
int16_t gguf_get_val_i16(const gguf_context* ctx, int64_t key_id) {
    return value<int16_t>(ctx, key_id, GGUF_TYPE_INT16);
}
uint32_t gguf_get_val_u32(const gguf_context* ctx, int64_t key_id) {
    return value<uint32_t>(ctx, key_id, GGUF_TYPE_UINT32);
}
int32_t gguf_get_val_i32(const gguf_context* ctx, int64_t key_id) {
    return value<int32_t>(ctx, key_id, GGUF_TYPE_INT32);
}
float gguf_get_val_f32(const gguf_context* ctx, int64_t key_id) {
    return value<float>(ctx, key_id, GGUF_TYPE_FLOAT32);
}
uint64_t gguf_get_val_u64(const gguf_context* ctx, int64_t key_id) {
    return value<uint64_t>(ctx, key_id, GGUF_TYPE_UINT64);
}
int64_t gguf_get_val_i64(const gguf_context* ctx, int64_t key_id) {
    return value<int64_t>(ctx, key_id, GGUF_TYPE_INT64);
}
double gguf_get_val_f64(const gguf_context* ctx, int64_t key_id) {
    return value<double>(ctx, key_id, GGUF_TYPE_FLOAT64);
}
bool gguf_get_val_bool(const gguf_context* ctx, int64_t key_id) {
    return value<uint8_t>(ctx, key_id, GGUF_TYPE_BOOL) != 0;
}

const char* gguf_get_val_str(const gguf_context* ctx, int64_t key_id) {
    return guard<const char*>("", [&] {
        const Kv* kv = single(ctx, key_id, GGUF_TYPE_STRING);
        return kv ? kv->string(0).data() : "";
    });
}

const void* gguf_get_val_data(const gguf_context* ctx, int64_t key_id) {
    return guard<const void*>(nullptr, [&]() -> Result<const void*> {
        const Kv* kv = kv_at(ctx, key_id);
        if (!kv) return nullptr;
        if (kv->n != 1 || kv->type == GGUF_TYPE_STRING) {
            return invalid("key '%s': has %" PRIu64 " of type %s, asked for 1 that is no string",
                           shown(kv->key).c_str(), kv->n, gguf_type_name(kv->type));
        }
        return kv->data.data();
    });
}

size_t gguf_get_arr_n(const gguf_context* ctx, int64_t key_id) {
    return guard<size_t>(0, [&]() -> size_t {
        const Kv* kv = kv_at(ctx, key_id);
        return kv ? static_cast<size_t>(kv->n) : 0;
    });
}

const void* gguf_get_arr_data(const gguf_context* ctx, int64_t key_id) {
    return guard<const void*>(nullptr, [&]() -> Result<const void*> {
        const Kv* kv = kv_at(ctx, key_id);
        if (!kv) return nullptr;
        if (kv->type == GGUF_TYPE_STRING) {
            return invalid("key '%s': strings have no packed data, use gguf_get_arr_str",
                           shown(kv->key).c_str());
        }
        return kv->n > 0 ? kv->data.data() : nullptr;
    });
}

const char* gguf_get_arr_str(const gguf_context* ctx, int64_t key_id, size_t i) {
    return guard<const char*>("", [&]() -> Result<const char*> {
        const Kv* kv = kv_at(ctx, key_id);
        if (!kv) return "";
        if (kv->type != GGUF_TYPE_STRING || i >= kv->n) {
            return invalid("key '%s': has %" PRIu64 " of type %s, asked for string %zu",
                           shown(kv->key).c_str(), kv->n, gguf_type_name(kv->type), i);
        }
        return kv->string(i).data();
    });
}

// ---- tensors ----------------------------------------------------------------------------------

int64_t gguf_get_n_tensors(const gguf_context* ctx) {
    return ctx ? static_cast<int64_t>(ctx->tensors.size()) : 0;
}

int64_t gguf_find_tensor(const gguf_context* ctx, const char* name) {
    return ctx && name ? ctx->find_tensor(name) : -1;
}

size_t gguf_get_tensor_offset(const gguf_context* ctx, int64_t tensor_id) {
    return guard<size_t>(0, [&]() -> size_t {
        const TensorInfo* info = tensor_at(ctx, tensor_id);
        return info ? static_cast<size_t>(info->offset) : 0;
    });
}

const char* gguf_get_tensor_name(const gguf_context* ctx, int64_t tensor_id) {
    return guard<const char*>("", [&] {
        const TensorInfo* info = tensor_at(ctx, tensor_id);
        return info ? info->tensor.name : "";
    });
}

const int64_t* gguf_get_tensor_ne(const gguf_context* ctx, int64_t tensor_id) {
    static constexpr int64_t kNone[GGML_MAX_DIMS] = {};
    return guard<const int64_t*>(kNone, [&] {
        const TensorInfo* info = tensor_at(ctx, tensor_id);
        return info ? info->tensor.ne : kNone;
    });
}

ggml_type gguf_get_tensor_type(const gguf_context* ctx, int64_t tensor_id) {
    return guard<ggml_type>(GGML_TYPE_COUNT, [&] {
        const TensorInfo* info = tensor_at(ctx, tensor_id);
        return info ? info->tensor.type : GGML_TYPE_COUNT;
    });
}

size_t gguf_get_tensor_size(const gguf_context* ctx, int64_t tensor_id) {
    return guard<size_t>(0, [&]() -> size_t {
        const TensorInfo* info = tensor_at(ctx, tensor_id);
        return info ? static_cast<size_t>(info->size) : 0;
    });
}

}  // extern "C"

// ---- for clients' tests -----------------------------------------------------------------------

size_t gguf_type_size(gguf_type type) {
    static constexpr uint8_t kBytes[GGUF_TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return is_value_type(type) ? kBytes[type] : 0;
}
