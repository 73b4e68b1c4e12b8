// Placing tensors in buffers, and views on the tensors they look at.

#include <algorithm>

#include "core/base/bits.h"
#include "core/device/buffer.h"
#include "core/device/plugin_adapter.h"
#include "core/stream/stream.h"
#include "core/tensor/shape.h"

namespace tenon {
namespace {

Result<void> init_tensor(ggml_backend_buffer& buffer, ggml_tensor& tensor) {
    tenon_buffer* handle = buffer.head.buffer;
    if (!handle || !handle->v->tensor_init) return {};
    PluginError error;
    const tenon_status status = call_plugin(error, handle->v->tensor_init, handle, &tensor);
    if (status == TENON_OK) return {};
    return error.as_error(status, buffer.type->name.c_str(), "cannot prepare a tensor");
}

// On failure the tensor is as it was before it was placed.
Result<void> init_or_undo(ggml_backend_buffer& buffer, ggml_tensor& tensor) {
    auto ok = init_tensor(buffer, tensor);
    if (!ok) {
        tensor.buffer = nullptr;
        tensor.data = nullptr;
    }
    return ok;
}

Result<void> place(ggml_backend_buffer& buffer, ggml_tensor& tensor, void* address) {
    if (tensor.buffer || tensor.data || tensor.view_src) {
        return fail(TENON_E_INVALID, "tensor '%s' has memory already or is a view", tensor.name);
    }
    if (!buffer.parts.empty()) {
        return fail(TENON_E_INVALID, "tensor '%s': a buffer of several parts holds no tensors",
                    tensor.name);
    }
    const size_t size = alloc_size(buffer.type, &tensor);
    const uintptr_t base = reinterpret_cast<uintptr_t>(buffer.head.base);
    const uintptr_t at = reinterpret_cast<uintptr_t>(address);
    if (!address || at < base || !range_fits(at - base, size, buffer.head.size)) {
        return fail(TENON_E_INVALID, "tensor '%s': %zu bytes at %p are outside of %zu bytes at %p",
                    tensor.name, size, address, buffer.head.size, buffer.head.base);
    }
    const size_t alignment =
        buffer.wrapped ? std::min(kWrapAlignment, buffer.type->alignment) : buffer.type->alignment;
    if (at % alignment != 0) {
        return fail(TENON_E_INVALID, "tensor '%s': address %p is not aligned to %zu bytes",
                    tensor.name, address, alignment);
    }
    tensor.buffer = &buffer;
    tensor.data = address;
    return init_or_undo(buffer, tensor);
}

Result<void> place_view(ggml_tensor& tensor) {
    const ggml_tensor* root = tensor.view_src;
    if (!root) return fail(TENON_E_INVALID, "tensor '%s' is no view", tensor.name);
    if (tensor.buffer) return fail(TENON_E_INVALID, "view '%s' has memory already", tensor.name);
    if (!root->buffer) {
        return fail(TENON_E_INVALID, "view '%s': '%s' has no memory yet", tensor.name, root->name);
    }
    // Whether the view ends inside is asked where its bytes are read or written.
    tensor.buffer = root->buffer;
    // A view of a tensor without address (planning with dummy buffers) has none either.
    tensor.data = root->data ? static_cast<char*>(root->data) + tensor.view_offs : nullptr;
    return init_or_undo(*tensor.buffer, tensor);
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_status ggml_backend_buffer_init_tensor(ggml_backend_buffer_t buffer, ggml_tensor* tensor) {
    return guard_status([&]() -> Result<void> {
        if (!buffer || !tensor) return fail(TENON_E_INVALID, "buffer or tensor is null");
        return init_tensor(*buffer, *tensor);
    });
}

ggml_status ggml_backend_tensor_alloc(ggml_backend_buffer_t buffer, ggml_tensor* tensor,
                                      void* addr) {
    return guard_status([&]() -> Result<void> {
        if (!buffer || !tensor) return fail(TENON_E_INVALID, "buffer or tensor is null");
        return place(*buffer, *tensor, addr);
    });
}

ggml_status ggml_backend_view_init(ggml_tensor* tensor) {
    return guard_status([&]() -> Result<void> {
        if (!tensor) return fail(TENON_E_INVALID, "tensor is null");
        return place_view(*tensor);
    });
}

}  // extern "C"
