// Writing model files: metadata, padding, tensor data. The order and the padding are the format's.

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <system_error>

#include "core/base/bits.h"
#include "core/base/os.h"
#include "core/gguf/context.h"
#include "ggml-backend.h"
#include "gguf.h"
#include "tenon/tensor.h"

using namespace tenon;
using namespace tenon::gguf;

namespace {

constexpr size_t kStaging = 16 << 20;  // bytes of device memory fetched at a time

// ---- where bytes go ---------------------------------------------------------------------------

// Every sink counts what it was given, so that padding does not depend on the file position.
struct FileSink {
    std::FILE* file;
    uint64_t written = 0;

    bool put(const void* bytes, size_t size) {
        written += size;
        return size == 0 || std::fwrite(bytes, 1, size, file) == size;
    }
};

struct MemorySink {
    uint8_t* out;
    uint64_t written = 0;

    bool put(const void* bytes, size_t size) {
        if (size > 0) std::memcpy(out + written, bytes, size);
        written += size;
        return true;
    }
};

struct VectorSink {
    std::vector<int8_t>& out;
    uint64_t written = 0;

    bool put(const void* bytes, size_t size) {
        const auto* from = static_cast<const int8_t*>(bytes);
        out.insert(out.end(), from, from + size);
        written += size;
        return true;
    }
};

template <class Sink, class T>
bool put_number(Sink& sink, T value) {
    return sink.put(&value, sizeof value);
}

template <class Sink>
bool put_string(Sink& sink, std::string_view text) {
    return put_number(sink, static_cast<uint64_t>(text.size())) &&
           sink.put(text.data(), text.size());
}

template <class Sink>
bool pad(Sink& sink, uint64_t alignment) {
    static constexpr uint8_t kZeros[4096] = {};
    uint64_t missing = align_up(sink.written, alignment) - sink.written;
    while (missing > 0) {
        const auto n = static_cast<size_t>(std::min<uint64_t>(missing, sizeof kZeros));
        if (!sink.put(kZeros, n)) return false;
        missing -= n;
    }
    return true;
}

// ---- metadata ---------------------------------------------------------------------------------

// Trailing dimensions of one are dropped; one of zero is not, or the shape would be lost.
uint32_t written_dims(const ggml_tensor& tensor) {
    uint32_t n = 1;
    for (uint32_t j = 1; j < GGML_MAX_DIMS; ++j) {
        if (tensor.ne[j] != 1) n = j + 1;
    }
    return n;
}

template <class Sink>
bool put_kv(Sink& sink, const Kv& kv) {
    bool ok = put_string(sink, kv.key);
    if (kv.is_array) ok = ok && put_number(sink, static_cast<int32_t>(GGUF_TYPE_ARRAY));
    ok = ok && put_number(sink, static_cast<int32_t>(kv.type));
    if (kv.is_array) ok = ok && put_number(sink, kv.n);
    if (kv.type != GGUF_TYPE_STRING) return ok && sink.put(kv.data.data(), kv.data.size());
    for (uint64_t i = 0; ok && i < kv.n; ++i) ok = put_string(sink, kv.string(i));
    return ok;
}

template <class Sink>
bool put_tensor(Sink& sink, const TensorInfo& info) {
    const uint32_t n_dims = written_dims(info.tensor);
    return put_string(sink, info.tensor.name) && put_number(sink, n_dims) &&
           sink.put(info.tensor.ne, n_dims * sizeof(int64_t)) &&
           put_number(sink, static_cast<int32_t>(info.tensor.type)) &&
           put_number(sink, info.offset);
}

template <class Sink>
bool put_metadata(Sink& sink, const gguf_context& ctx) {
    bool ok = sink.put(GGUF_MAGIC, 4) && put_number(sink, ctx.version) &&
              put_number(sink, static_cast<int64_t>(ctx.tensors.size())) &&
              put_number(sink, static_cast<int64_t>(ctx.kvs.size()));
    for (const auto& kv : ctx.kvs) ok = ok && put_kv(sink, *kv);
    for (const TensorInfo& info : ctx.tensors) ok = ok && put_tensor(sink, info);
    return ok && pad(sink, ctx.alignment);
}

uint64_t metadata_bytes(const gguf_context& ctx) {
    constexpr uint64_t kHeader = 24, kLength = 8, kType = 4, kDims = 4, kOffset = 8;
    uint64_t bytes = kHeader;
    for (const auto& kv : ctx.kvs) {
        bytes += kLength + kv->key.size() + kType + kv->data.size();
        if (kv->is_array) bytes += kType + kLength;
        if (kv->type == GGUF_TYPE_STRING) bytes += kv->n * (kLength - 1);  // a length for each NUL
    }
    for (const TensorInfo& info : ctx.tensors) {
        bytes += kLength + std::strlen(info.tensor.name) + kDims +
                 written_dims(info.tensor) * sizeof(int64_t) + kType + kOffset;
    }
    return align_up(bytes, ctx.alignment);
}

// ---- tensor data ------------------------------------------------------------------------------

Error write_failed(uint64_t at) {
    return fail(TENON_E_IO, "writing fails after %" PRIu64 " bytes: %s", at,
                std::generic_category().message(errno).c_str());
}

// Device memory goes through a staging piece.
template <class Sink>
Result<void> put_device_data(Sink& sink, const TensorInfo& info) {
    std::vector<uint8_t> staging(std::min<uint64_t>(info.size, kStaging));
    // The fetch has no status of its own: an error that was not there before tells.
    const bool had_error = has_unread_error();
    for (uint64_t done = 0; done < info.size;) {
        const auto n = static_cast<size_t>(std::min<uint64_t>(info.size - done, staging.size()));
        ggml_backend_tensor_get(&info.tensor, staging.data(), done, n);
        if (!had_error && has_unread_error()) {
            return fail(TENON_E_IO, "tensor '%s': its data could not be fetched at %" PRIu64,
                        shown(info.tensor.name).c_str(), done);
        }
        if (!sink.put(staging.data(), n)) return write_failed(sink.written);
        done += n;
    }
    return {};
}

template <class Sink>
Result<void> put_data(Sink& sink, const TensorInfo& info) {
    const ggml_tensor& tensor = info.tensor;
    if (info.size == 0) return {};
    if (!ggml_is_contiguous(&tensor)) {
        return invalid("tensor '%s': not contiguous, cannot be written",
                       shown(tensor.name).c_str());
    }
    ggml_backend_buffer* buffer = tenon_effective_buffer(&tensor);
    if (buffer && !ggml_backend_buffer_is_host(buffer)) return put_device_data(sink, info);
    if (!tensor.data) {
        return invalid("tensor '%s': has no data, %" PRIu64 " bytes to write",
                       shown(tensor.name).c_str(), info.size);
    }
    if (!sink.put(tensor.data, static_cast<size_t>(info.size))) return write_failed(sink.written);
    return {};
}

template <class Sink>
Result<void> put_file(Sink& sink, const gguf_context* ctx, bool only_meta) {
    if (!ctx) return invalid("the model context to write is NULL");
    if (ctx->incomplete) {
        return fail(TENON_E_NO_HOST_MEMORY,
                    "the model context is incomplete: a setter ran out of host memory");
    }
    if (!put_metadata(sink, *ctx)) return write_failed(sink.written);
    if (only_meta) return {};
    for (const TensorInfo& info : ctx->tensors) {
        if (auto done = put_data(sink, info); !done) return done;
        if (!pad(sink, ctx->alignment)) return write_failed(sink.written);
    }
    return {};
}

Result<bool> put_stream(const gguf_context* ctx, std::FILE* file, bool only_meta) {
    FileSink sink{file};
    if (auto done = put_file(sink, ctx, only_meta); !done) return done.error();
    if (std::fflush(file) != 0) return write_failed(sink.written);
    return true;
}

}  // namespace

extern "C" {

bool gguf_write_to_file_ptr(const gguf_context* ctx, FILE* file, bool only_meta) {
    return guard<bool>(false, [&]() -> Result<bool> {
        if (!file) return invalid("no stream to write a model to: it is NULL");
        return put_stream(ctx, file, only_meta);
    });
}

bool gguf_write_to_file(const gguf_context* ctx, const char* fname, bool only_meta) {
    return guard<bool>(false, [&]() -> Result<bool> {
        if (!fname) return invalid("no file name to write a model to: it is NULL");
        os::File file(os::open_file(fname, "wb"));
        if (!file) {
            return fail(TENON_E_IO, "cannot create '%s': %s", fname,
                        std::generic_category().message(errno).c_str());
        }
        auto done = guard<bool>(false, [&] { return put_stream(ctx, file.get(), only_meta); });
        // A full disk may only show when the last bytes leave.
        if (std::fclose(file.release()) != 0 && done) {
            return fail(TENON_E_IO, "closing '%s' fails: %s", fname,
                        std::generic_category().message(errno).c_str());
        }
        return done;
    });
}

size_t gguf_get_meta_size(const gguf_context* ctx) {
    return ctx && !ctx->incomplete ? static_cast<size_t>(metadata_bytes(*ctx)) : 0;
}

void gguf_get_meta_data(const gguf_context* ctx, void* data) {
    guard_void([&]() -> Result<void> {
        if (!data) return invalid("no memory to write metadata to: it is NULL");
        MemorySink sink{static_cast<uint8_t*>(data)};
        return put_file(sink, ctx, /*only_meta=*/true);
    });
}

}  // extern "C"

void gguf_write_to_buf(const gguf_context* ctx, std::vector<int8_t>& buf, bool only_meta) {
    guard_void([&]() -> Result<void> {
        const size_t before = buf.size();
        VectorSink sink{buf};
        auto done = put_file(sink, ctx, only_meta);
        if (!done) buf.resize(before);
        return done;
    });
}
