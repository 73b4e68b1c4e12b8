// Reading and writing the bytes of tensors, at once or queued on a stream.

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/bits.h"
#include "core/base/os.h"
#include "core/device/buffer.h"
#include "core/device/plugin_adapter.h"
#include "core/stream/stream.h"
#include "core/tensor/shape.h"
#include "tenon/tensor.h"

namespace tenon {
namespace {

enum class Direction { kSet, kGet };

// Bytes from the first row's begin to the last row's end; false when that overflows.
bool extent(const Rows& rows, size_t* bytes) {
    size_t last;
    return mul_size(rows.n - 1, rows.tensor_stride, &last) && add_size(last, rows.size, bytes);
}

// Rows between the host and the core's own memory.
template <class Move>
void each_row(const Rows& rows, Move&& move) {
    for (size_t i = 0; i < rows.n; ++i) {
        move(rows.offset + i * rows.tensor_stride, i * rows.host_stride);
    }
}

Error transfer_error(const PluginError& error, tenon_status status, const ggml_tensor& tensor,
                     Direction direction) {
    return error.as_error(status, tensor.name,
                          direction == Direction::kSet ? "cannot write data" : "cannot read data");
}

// The part of a view that is meant has to lie in the tensor that is viewed; the rest need not.
Result<void> check_viewed(const ggml_tensor& view, size_t offset, size_t bytes, const char* what) {
    const size_t limit = nbytes(*view.view_src);
    size_t at;
    if (add_size(view.view_offs, offset, &at) && range_fits(at, bytes, limit)) return {};
    return fail(TENON_E_INVALID,
                "view '%s': cannot %s %zu bytes at %zu, outside of the %zu bytes of '%s'",
                view.name, what, bytes, offset, limit, view.view_src->name);
}

// What every entry checks first. An empty transfer ends with a NULL buffer.
Result<ggml_backend_buffer*> begin(const ggml_tensor* tensor, const void* data, const Rows& rows,
                                   const char* what) {
    if (!tensor) return fail(TENON_E_INVALID, "cannot %s: tensor is null", what);
    if (rows.empty()) return nullptr;
    auto buffer = buffer_of(tensor);
    if (!buffer) return buffer;
    if (!data) {
        return fail(TENON_E_INVALID, "tensor '%s': cannot %s, the data is null", tensor->name,
                    what);
    }
    if (auto ok = check_rows(*tensor, rows, what); !ok) return ok.error();
    return buffer;
}

Result<void> set(ggml_tensor* tensor, const void* data, const Rows& rows) {
    auto buffer = begin(tensor, data, rows, "set");
    if (!buffer) return buffer.error();
    return *buffer ? set_rows(**buffer, *tensor, data, rows) : Result<void>{};
}

Result<void> get(const ggml_tensor* tensor, void* data, const Rows& rows) {
    auto buffer = begin(tensor, data, rows, "get");
    if (!buffer) return buffer.error();
    return *buffer ? get_rows(**buffer, *tensor, data, rows) : Result<void>{};
}

// Whether the stream itself can move bytes of this buffer: both belong to one device.
bool is_of(const ggml_backend_buffer& buffer, const ggml_backend& stream) {
    return buffer.head.buffer && buffer.type->device == stream.device;
}

Result<void> set_async(ggml_backend* stream, ggml_tensor* tensor, const void* data,
                       const Rows& rows) {
    if (!stream) return fail(TENON_E_INVALID, "backend is null");
    auto buffer = begin(tensor, data, rows, "set");
    if (!buffer) return buffer.error();
    if (!*buffer) return {};
    const auto* v = stream->handle->v;
    if (!is_of(**buffer, *stream) || !v->tensor_set) {
        if (auto ok = synchronize_stream(stream); !ok) return ok;
        return set_rows(**buffer, *tensor, data, rows);
    }
    if (auto ok = may_enter(*stream->device->reg); !ok) return ok;
    const tenon_region region = rows.region();
    PluginError error;
    const tenon_status status =
        call_plugin(error, v->tensor_set, stream->handle, tensor, data, &region);
    if (status == TENON_OK) return {};
    return transfer_error(error, status, *tensor, Direction::kSet);
}

Result<void> get_async(ggml_backend* stream, const ggml_tensor* tensor, void* data,
                       const Rows& rows) {
    if (!stream) return fail(TENON_E_INVALID, "backend is null");
    auto buffer = begin(tensor, data, rows, "get");
    if (!buffer) return buffer.error();
    if (!*buffer) return {};
    const auto* v = stream->handle->v;
    if (!is_of(**buffer, *stream) || !v->tensor_get) {
        if (auto ok = synchronize_stream(stream); !ok) return ok;
        return get_rows(**buffer, *tensor, data, rows);
    }
    if (auto ok = may_enter(*stream->device->reg); !ok) return ok;
    const tenon_region region = rows.region();
    PluginError error;
    const tenon_status status =
        call_plugin(error, v->tensor_get, stream->handle, tensor, data, &region);
    if (status == TENON_OK) return {};
    return transfer_error(error, status, *tensor, Direction::kGet);
}

// For devices that cannot fill: from a block of host memory.
Result<void> fill_staged(ggml_backend_buffer& buffer, ggml_tensor& tensor, uint8_t value,
                         const Rows& range) {
    constexpr size_t kBlock = 64 * 1024;
    const std::vector<uint8_t> block(std::min(range.size, kBlock), value);
    for (size_t done = 0; done < range.size; done += block.size()) {
        const Rows piece{range.offset + done, std::min(block.size(), range.size - done)};
        if (auto ok = set_rows(buffer, tensor, block.data(), piece); !ok) return ok;
    }
    return {};
}

Result<void> fill(ggml_tensor* tensor, uint8_t value, size_t offset, size_t size) {
    const Rows rows{offset, size};
    auto found = begin(tensor, &value, rows, "fill");
    if (!found) return found.error();
    ggml_backend_buffer* buffer = *found;
    if (!buffer) return {};
    if (is_core_memory(*buffer)) {
        std::memset(static_cast<char*>(tensor->data) + offset, value, size);
        return {};
    }
    if (auto ok = may_enter(*buffer->type->device->reg); !ok) return ok;
    tenon_buffer* handle = buffer->head.buffer;
    PluginError error;
    const tenon_status status =
        call_plugin(error, handle->v->tensor_fill, handle, tensor, value, offset, size);
    if (status == TENON_OK) return {};
    if (status == TENON_E_UNSUPPORTED) return fill_staged(*buffer, *tensor, value, rows);
    return transfer_error(error, status, *tensor, Direction::kSet);
}

}  // namespace

Result<ggml_backend_buffer*> buffer_of(const ggml_tensor* tensor) {
    ggml_backend_buffer* buffer = tenon_effective_buffer(tensor);
    if (!buffer) return fail(TENON_E_INVALID, "tensor '%s' has no buffer", tensor->name);
    const bool has_memory = buffer->head.buffer || is_core_memory(*buffer);
    if (!tensor->data || !has_memory) {
        return fail(TENON_E_INVALID, "tensor '%s' has no memory", tensor->name);
    }
    return buffer;
}

Result<void> check_rows(const ggml_tensor& tensor, const Rows& rows, const char* what) {
    const size_t limit = nbytes(tensor);
    size_t bytes;
    if (extent(rows, &bytes) && range_fits(rows.offset, bytes, limit)) {
        return tensor.view_src ? check_viewed(tensor, rows.offset, bytes, what) : Result<void>{};
    }
    return fail(TENON_E_INVALID,
                "tensor '%s': cannot %s %zu rows of %zu bytes at %zu, it has %zu bytes",
                tensor.name, what, rows.n, rows.size, rows.offset, limit);
}

Result<void> set_rows(ggml_backend_buffer& buffer, ggml_tensor& tensor, const void* data,
                      const Rows& rows) {
    if (is_core_memory(buffer)) {
        each_row(rows, [&](size_t at, size_t host) {
            std::memmove(static_cast<char*>(tensor.data) + at,
                         static_cast<const char*>(data) + host, rows.size);
        });
        return {};
    }
    if (auto ok = may_enter(*buffer.type->device->reg); !ok) return ok;
    tenon_buffer* handle = buffer.head.buffer;
    const tenon_region region = rows.region();
    PluginError error;
    const tenon_status status =
        call_plugin(error, handle->v->tensor_set, handle, &tensor, data, &region);
    if (status == TENON_OK) return {};
    return transfer_error(error, status, tensor, Direction::kSet);
}

Result<void> get_rows(ggml_backend_buffer& buffer, const ggml_tensor& tensor, void* data,
                      const Rows& rows) {
    if (is_core_memory(buffer)) {
        each_row(rows, [&](size_t at, size_t host) {
            std::memmove(static_cast<char*>(data) + host,
                         static_cast<const char*>(tensor.data) + at, rows.size);
        });
        return {};
    }
    if (auto ok = may_enter(*buffer.type->device->reg); !ok) return ok;
    tenon_buffer* handle = buffer.head.buffer;
    const tenon_region region = rows.region();
    PluginError error;
    const tenon_status status =
        call_plugin(error, handle->v->tensor_get, handle, &tensor, data, &region);
    if (status == TENON_OK) return {};
    return transfer_error(error, status, tensor, Direction::kGet);
}

}  // namespace tenon

using namespace tenon;

extern "C" {

void ggml_backend_tensor_set(ggml_tensor* tensor, const void* data, size_t offset, size_t size) {
    guard_void([&] { return set(tensor, data, {offset, size}); });
}

void ggml_backend_tensor_get(const ggml_tensor* tensor, void* data, size_t offset, size_t size) {
    guard_void([&] { return get(tensor, data, {offset, size}); });
}

void ggml_backend_tensor_set_2d(ggml_tensor* tensor, const void* data, size_t offset, size_t size,
                                size_t n_copies, size_t stride_tensor, size_t stride_data) {
    guard_void([&] {
        return set(tensor, data, {offset, size, n_copies, stride_tensor, stride_data});
    });
}

void ggml_backend_tensor_get_2d(const ggml_tensor* tensor, void* data, size_t offset, size_t size,
                                size_t n_copies, size_t stride_tensor, size_t stride_data) {
    guard_void([&] {
        return get(tensor, data, {offset, size, n_copies, stride_tensor, stride_data});
    });
}

void ggml_backend_tensor_memset(ggml_tensor* tensor, uint8_t value, size_t offset, size_t size) {
    guard_void([&] { return fill(tensor, value, offset, size); });
}

void ggml_backend_tensor_set_async(ggml_backend_t backend, ggml_tensor* tensor, const void* data,
                                   size_t offset, size_t size) {
    guard_void([&] { return set_async(backend, tensor, data, {offset, size}); });
}

void ggml_backend_tensor_get_async(ggml_backend_t backend, const ggml_tensor* tensor, void* data,
                                   size_t offset, size_t size) {
    guard_void([&] { return get_async(backend, tensor, data, {offset, size}); });
}

void ggml_backend_tensor_set_2d_async(ggml_backend_t backend, ggml_tensor* tensor, const void* data,
                                      size_t offset, size_t size, size_t n_copies,
                                      size_t stride_tensor, size_t stride_data) {
    guard_void([&] {
        return set_async(backend, tensor, data,
                         {offset, size, n_copies, stride_tensor, stride_data});
    });
}

void ggml_backend_tensor_get_2d_async(ggml_backend_t backend, const ggml_tensor* tensor, void* data,
                                      size_t offset, size_t size, size_t n_copies,
                                      size_t stride_tensor, size_t stride_data) {
    guard_void([&] {
        return get_async(backend, tensor, data,
                         {offset, size, n_copies, stride_tensor, stride_data});
    });
}

}  // extern "C"
