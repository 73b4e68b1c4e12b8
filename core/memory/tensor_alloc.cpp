// Tensors placed one after the other: the linear allocator, and all tensors of a context.

#include <algorithm>
#include <span>
#include <vector>

#include "core/base/bits.h"
#include "core/device/device.h"
#include "core/stream/stream.h"
#include "core/tensor/context.h"

namespace tenon {
namespace {

Result<void> place_next(ggml_tallocr* talloc, ggml_tensor* tensor) {
    if (!talloc || !talloc->buffer || !tensor) {
        return fail(TENON_E_INVALID, "tensor allocator or tensor is null");
    }
    ggml_backend_buffer& buffer = *talloc->buffer;
    const size_t size = alloc_size(buffer.type, tensor);
    size_t bytes;
    if (!align_up_size(size, talloc->alignment, &bytes) ||
        !range_fits(talloc->offset, bytes, buffer.head.size)) {
        return fail(TENON_E_NO_DEVICE_MEMORY,
                    "tensor '%s' of %zu bytes does not fit: %zu of %zu bytes are used",
                    tensor->name, size, talloc->offset, buffer.head.size);
    }
    void* address = static_cast<char*>(talloc->base) + talloc->offset;
    if (ggml_backend_tensor_alloc(&buffer, tensor, address) != GGML_STATUS_SUCCESS) {
        return fail(TENON_E_INVALID, "tensor '%s' could not be placed", tensor->name);
    }
    talloc->offset += bytes;
    return {};
}

// ---- contexts ---------------------------------------------------------------------------------

bool needs_memory(const ggml_tensor& tensor) { return !tensor.data && !tensor.view_src; }

// Consecutive tensors of a context that share a buffer.
struct Range {
    size_t begin = 0, end = 0;  // in the list of tensors
    size_t bytes = 0;
};

struct Layout {
    std::vector<ggml_tensor*> tensors;  // in order of creation
    std::vector<Range> ranges;          // those that need memory
    size_t total = 0;
};

// Greedy packing: a new buffer when the present one would exceed the type's largest size.
Result<Layout> lay_out(ggml_context* ctx, ggml_backend_buffer_type_t buft) {
    if (!ctx || !buft) return fail(TENON_E_INVALID, "context or buffer type is null");
    if (!ggml_get_no_alloc(ctx)) {
        return fail(TENON_E_INVALID,
                    "the context allocates data itself: it must have no_alloc set");
    }
    Layout layout;
    for (ggml_tensor* t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        layout.tensors.push_back(t);
    }
    Range range;
    const auto close = [&](size_t end) {
        range.end = end;
        if (range.bytes > 0) layout.ranges.push_back(range);
        range = {end, end, 0};
    };
    for (size_t i = 0; i < layout.tensors.size(); ++i) {
        size_t bytes = 0;
        const ggml_tensor& tensor = *layout.tensors[i];
        const bool ok = !needs_memory(tensor) ||
                        align_up_size(alloc_size(buft, &tensor), buft->alignment, &bytes);
        if (!ok || !add_size(layout.total, bytes, &layout.total)) {
            return fail(TENON_E_INVALID, "tensor '%s': sizes overflow", tensor.name);
        }
        if (range.bytes > 0 && !range_fits(range.bytes, bytes, buft->max_size)) close(i);
        range.bytes += bytes;
    }
    close(layout.tensors.size());
    return layout;
}

// Buffers under construction: on failure they are freed and the tensors are as they were.
class ContextAllocation {
public:
    explicit ContextAllocation(const Layout& layout) : layout_(layout) {}
    ContextAllocation(const ContextAllocation&) = delete;
    ContextAllocation& operator=(const ContextAllocation&) = delete;
    ~ContextAllocation() noexcept(false) {  // calls the plugin, which may end the thread
        if (done_) return;
        for (ggml_tensor* tensor : placed_) {
            tensor->buffer = nullptr;
            tensor->data = nullptr;
            tensor->extra = nullptr;
        }
        for (auto* buffer : buffers_) ggml_backend_buffer_free(buffer);
    }

    Result<void> add(const Range& range, ggml_backend_buffer_type_t buft) {
        buffers_.reserve(buffers_.size() + 1);
        ggml_backend_buffer* buffer = ggml_backend_buft_alloc_buffer(buft, range.bytes);
        if (!buffer) {
            return fail(TENON_E_NO_DEVICE_MEMORY, "%s: no memory for %zu bytes of tensors",
                        buft->name.c_str(), range.bytes);
        }
        buffers_.push_back(buffer);
        ggml_tallocr talloc = ggml_tallocr_new(buffer);
        for (size_t i = range.begin; i < range.end; ++i) {
            ggml_tensor* tensor = layout_.tensors[i];
            if (!needs_memory(*tensor) || tensor->buffer) continue;
            placed_.reserve(placed_.size() + 1);
            if (auto ok = place_next(&talloc, tensor); !ok) return ok;
            placed_.push_back(tensor);
        }
        return {};
    }

    // Views of the context, also of tensors that lie elsewhere.
    Result<void> init_views() {
        for (ggml_tensor* tensor : layout_.tensors) {
            if (!tensor->view_src || tensor->buffer || !tensor->view_src->buffer) continue;
            placed_.reserve(placed_.size() + 1);
            if (ggml_backend_view_init(tensor) != GGML_STATUS_SUCCESS) {
                return fail(TENON_E_INVALID, "view '%s' could not be placed", tensor->name);
            }
            placed_.push_back(tensor);
        }
        return {};
    }

    // NULL when nothing had to be allocated.
    Result<ggml_backend_buffer*> finish() {
        ggml_backend_buffer* result = buffers_.empty() ? nullptr : buffers_[0];
        if (buffers_.size() > 1) {
            auto multi = make_multi_buffer(std::exchange(buffers_, {}));
            if (!multi) return multi.error();
            result = *multi;
        }
        done_ = true;
        return result;
    }

private:
    const Layout& layout_;
    std::vector<ggml_backend_buffer*> buffers_;
    std::vector<ggml_tensor*> placed_;
    bool done_ = false;
};

Result<ggml_backend_buffer*> alloc_context(ggml_context* ctx, ggml_backend_buffer_type_t buft) {
    auto layout = lay_out(ctx, buft);
    if (!layout) return layout.error();
    ContextAllocation allocation(*layout);
    for (const Range& range : layout->ranges) {
        if (auto ok = allocation.add(range, buft); !ok) return ok.error();
    }
    if (auto ok = allocation.init_views(); !ok) return ok.error();
    return allocation.finish();
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tallocr ggml_tallocr_new(ggml_backend_buffer_t buffer) {
    ggml_tallocr talloc{};
    if (!buffer) {
        report(fail(TENON_E_INVALID, "buffer is null"));
        return talloc;
    }
    talloc.buffer = buffer;
    talloc.base = buffer->head.base;
    talloc.alignment = buffer->type->alignment;
    const uintptr_t base = reinterpret_cast<uintptr_t>(talloc.base);
    talloc.offset = align_up(base, talloc.alignment) - base;
    return talloc;
}

ggml_status ggml_tallocr_alloc(ggml_tallocr* talloc, ggml_tensor* tensor) {
    return guard_status([&] { return place_next(talloc, tensor); });
}

size_t ggml_backend_alloc_ctx_tensors_from_buft_size(ggml_context* ctx,
                                                     ggml_backend_buffer_type_t buft) {
    return guard<size_t>(0, [&]() -> Result<size_t> {
        auto layout = lay_out(ctx, buft);
        if (!layout) return layout.error();
        return layout->total;
    });
}

ggml_backend_buffer* ggml_backend_alloc_ctx_tensors_from_buft(ggml_context* ctx,
                                                              ggml_backend_buffer_type_t buft) {
    return guard<ggml_backend_buffer*>(nullptr, [&] { return alloc_context(ctx, buft); });
}

ggml_backend_buffer* ggml_backend_alloc_ctx_tensors(ggml_context* ctx, ggml_backend_t backend) {
    return ggml_backend_alloc_ctx_tensors_from_buft(
        ctx, backend ? backend->device->default_buft : nullptr);
}

}  // extern "C"
