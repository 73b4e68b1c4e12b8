// What the files about buffers share.
#pragma once

#include "core/device/device.h"

namespace tenon {

// Alignment that memory of the application must have, in bytes: that of tensor data in model files.
constexpr size_t kWrapAlignment = 32;

// A buffer without memory yet, counted by its device; until it is released it is given up with its
// owner.
struct BufferGivenUp {
    void operator()(ggml_backend_buffer* buffer) const;
};
using NewBuffer = std::unique_ptr<ggml_backend_buffer, BufferGivenUp>;
NewBuffer new_buffer(ggml_backend_buffer_type& type);

// The buffer a tensor's bytes lie in; fails when it has none, or no address yet.
Result<ggml_backend_buffer*> buffer_of(const ggml_tensor* tensor);

// Whether the bytes of the tensor can be read and written by the core itself: in its own host
// memory. Host memory of a plugin goes through the plugin, which may keep derived data.
inline bool is_core_memory(const ggml_backend_buffer& buffer) {
    return buffer.head.plugin_serial == 0;
}

// Rows of a transfer: n rows of `size` bytes, `stride`s apart in the tensor and on the host.
struct Rows {
    size_t offset = 0, size = 0, n = 1, tensor_stride = 0, host_stride = 0;
    bool empty() const { return n == 0 || size == 0; }
    tenon_region region() const { return {offset, size, n, tensor_stride, host_stride}; }
};

// Fails when a row is not inside the tensor.
Result<void> check_rows(const ggml_tensor& tensor, const Rows& rows, const char* what);

// Synchronous transfers; rows are checked already.
Result<void> set_rows(ggml_backend_buffer& buffer, ggml_tensor& tensor, const void* data,
                      const Rows& rows);
Result<void> get_rows(ggml_backend_buffer& buffer, const ggml_tensor& tensor, void* data,
                      const Rows& rows);

// dst = src, of equal type, shape and strides, without waiting for any stream.
Result<void> copy_tensor(const ggml_tensor& src, ggml_tensor& dst);

}  // namespace tenon
