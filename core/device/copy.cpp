// Copies of tensors inside a device, between devices, and to and from host memory.

#include <algorithm>
#include <cstring>

#include "core/base/os.h"
#include "core/device/buffer.h"
#include "core/device/plugin_adapter.h"
#include "core/stream/stream.h"
#include "core/tensor/shape.h"
#include "tenon/tensor.h"

namespace tenon {
namespace {

constexpr size_t kStageBytes = size_t{64} << 20;
constexpr size_t kStageAlignment = 64;

// Host memory for the way between two devices.
struct Stage {
    explicit Stage(size_t bytes) : size(bytes), memory(os::alloc_aligned(bytes, kStageAlignment)) {}
    ~Stage() { os::free_aligned(memory, size, kStageAlignment); }
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    const size_t size;
    void* const memory;
};

// One end of a copy. Without a buffer the tensor's data lies in the arena of a context.
struct End {
    const ggml_tensor* tensor;
    ggml_backend_buffer* buffer;

    bool is_host() const { return !buffer || buffer->type->is_host(); }
    Rows all() const { return {0, nbytes(*tensor)}; }
};

Result<End> end_of(const ggml_tensor& tensor) {
    if (!tensor.data) return fail(TENON_E_INVALID, "tensor '%s' has no memory", tensor.name);
    if (auto ok = check_inside(tensor); !ok) return ok.error();
    if (!tenon_effective_buffer(&tensor)) return End{&tensor, nullptr};
    auto buffer = buffer_of(&tensor);
    if (!buffer) return buffer.error();
    return End{&tensor, *buffer};
}

Result<void> write(const End& dst, const void* data, const Rows& rows) {
    auto& tensor = const_cast<ggml_tensor&>(*dst.tensor);
    if (dst.buffer) return set_rows(*dst.buffer, tensor, data, rows);
    std::memmove(static_cast<char*>(tensor.data) + rows.offset, data, rows.size);
    return {};
}

// Through host memory; piece by piece, except where a layout is converted as a whole.
Result<void> copy_staged(const End& src, const End& dst) {
    const bool whole = (src.buffer->type->flags | dst.buffer->type->flags) & TENON_BUFT_REPACK;
    const size_t total = nbytes(*src.tensor);
    const Stage stage(whole ? total : std::min(total, kStageBytes));
    if (!stage.memory) {
        return fail(TENON_E_NO_HOST_MEMORY, "tensor '%s': no memory to copy %zu bytes through",
                    src.tensor->name, stage.size);
    }
    for (size_t at = 0; at < total; at += stage.size) {
        const Rows piece{at, std::min(stage.size, total - at)};
        if (auto ok = get_rows(*src.buffer, *src.tensor, stage.memory, piece); !ok) return ok;
        if (auto ok = write(dst, stage.memory, piece); !ok) return ok;
    }
    return {};
}

Result<void> copy_ends(const End& src, const End& dst) {
    auto& target = const_cast<ggml_tensor&>(*dst.tensor);
    if (src.is_host()) return write(dst, src.tensor->data, src.all());
    if (dst.is_host()) return get_rows(*src.buffer, *src.tensor, target.data, src.all());
    tenon_buffer* handle = dst.buffer->head.buffer;
    if (handle->v->tensor_copy) {
        if (auto ok = may_enter(*dst.buffer->type->device->reg); !ok) return ok;
        PluginError error;
        const tenon_status status =
            call_plugin(error, handle->v->tensor_copy, handle, src.tensor, &target);
        if (status == TENON_OK) return {};
        if (status != TENON_E_UNSUPPORTED) {
            return error.as_error(status, target.name, "cannot copy data");
        }
    }
    return copy_staged(src, dst);
}

Result<void> check_pair(const ggml_tensor* src, const ggml_tensor* dst) {
    if (!src || !dst) return fail(TENON_E_INVALID, "cannot copy: a tensor is null");
    if (same_layout(*src, *dst)) return {};
    return fail(TENON_E_INVALID, "cannot copy '%s' to '%s': type, shape or strides differ",
                src->name, dst->name);
}

bool is_on(const End& end, const ggml_backend& stream) {
    return end.buffer && end.buffer->head.buffer && end.buffer->type->device == stream.device;
}

// Host memory to a device: queued there. Whoever works on the host side next waits for it.
// False: not possible this way.
Result<bool> queue_set(ggml_backend& from, ggml_backend& to, const End& src, const End& dst) {
    const auto* v = to.handle->v;
    if (!src.is_host() || !is_on(dst, to) || !v->tensor_set) return false;
    const bool one_queue = &from == &to;
    if (!one_queue) {  // the data must be there
        if (auto ok = synchronize_stream(&from); !ok) return ok.error();
    }
    const tenon_region region = src.all().region();
    PluginError error;
    const tenon_status status =
        call_plugin(error, v->tensor_set, to.handle, const_cast<ggml_tensor*>(dst.tensor),
                    src.tensor->data, &region);
    if (status != TENON_OK) return error.as_error(status, dst.tensor->name, "cannot write data");
    if (one_queue) return true;
    if (auto ok = wait_before_host_access(from, to); !ok) return ok.error();
    return true;
}

// A device to host memory.
Result<bool> queue_get(ggml_backend& from, ggml_backend& to, const End& src, const End& dst) {
    const auto* v = from.handle->v;
    if (!dst.is_host() || !is_on(src, from) || !v->tensor_get) return false;
    const bool one_queue = &from == &to;
    if (!one_queue) {  // it may still read the memory
        if (auto ok = synchronize_stream(&to); !ok) return ok.error();
    }
    const tenon_region region = src.all().region();
    PluginError error;
    const tenon_status status =
        call_plugin(error, v->tensor_get, from.handle, src.tensor, dst.tensor->data, &region);
    if (status != TENON_OK) return error.as_error(status, src.tensor->name, "cannot read data");
    if (one_queue) return true;
    if (auto ok = wait_before_host_access(to, from); !ok) return ok.error();
    return true;
}

// Between two streams of one plugin.
Result<bool> queue_copy(ggml_backend& from, ggml_backend& to, const End& src, const End& dst) {
    const auto* v = to.handle->v;
    if (from.device->reg != to.device->reg || !is_on(src, from) || !is_on(dst, to)) return false;
    if (!v->tensor_copy) return false;
    PluginError error;
    const tenon_status status = call_plugin(error, v->tensor_copy, to.handle, from.handle,
                                            src.tensor, const_cast<ggml_tensor*>(dst.tensor));
    if (status == TENON_OK) return true;
    if (status == TENON_E_UNSUPPORTED) return false;
    return error.as_error(status, dst.tensor->name, "cannot copy data");
}

Result<void> copy_async(ggml_backend& from, ggml_backend& to, const End& src, const End& dst) {
    for (const auto* stream : {&from, &to}) {
        if (auto ok = may_enter(*stream->device->reg); !ok) return ok;
    }
    for (const auto way : {queue_copy, queue_set, queue_get}) {
        auto done = way(from, to, src, dst);
        if (!done) return done.error();
        if (*done) return {};
    }
    if (auto ok = synchronize_stream(&from); !ok) return ok;
    if (auto ok = synchronize_stream(&to); !ok) return ok;
    return copy_ends(src, dst);
}

}  // namespace

Result<void> copy_tensor(const ggml_tensor& src, ggml_tensor& dst) {
    if (auto ok = check_pair(&src, &dst); !ok) return ok;
    if (&src == &dst || nbytes(src) == 0) return {};
    auto from = end_of(src);
    if (!from) return from.error();
    auto to = end_of(dst);
    if (!to) return to.error();
    return copy_ends(*from, *to);
}

Result<void> copy_tensor_async(ggml_backend& from, ggml_backend& to, const ggml_tensor& src,
                               ggml_tensor& dst) {
    if (auto ok = check_pair(&src, &dst); !ok) return ok;
    if (&src == &dst || nbytes(src) == 0) return {};
    auto source = end_of(src);
    if (!source) return source.error();
    auto target = end_of(dst);
    if (!target) return target.error();
    return copy_async(from, to, *source, *target);
}

}  // namespace tenon

using namespace tenon;

extern "C" {

void ggml_backend_tensor_copy(const ggml_tensor* src, ggml_tensor* dst) {
    guard_void([&]() -> Result<void> {
        if (!src || !dst) return fail(TENON_E_INVALID, "cannot copy: a tensor is null");
        return copy_tensor(*src, *dst);
    });
}

void ggml_backend_tensor_copy_async(ggml_backend_t backend_src, ggml_backend_t backend_dst,
                                    const ggml_tensor* src, ggml_tensor* dst) {
    guard_void([&]() -> Result<void> {
        if (!backend_src || !backend_dst) return fail(TENON_E_INVALID, "backend is null");
        if (!src || !dst) return fail(TENON_E_INVALID, "cannot copy: a tensor is null");
        return copy_tensor_async(*backend_src, *backend_dst, *src, *dst);
    });
}

}  // extern "C"
