// Several buffers as one: what allocating a context gives when its tensors do not fit into one.

#include "core/device/buffer.h"

namespace tenon {

Result<ggml_backend_buffer_t> make_multi_buffer(std::vector<ggml_backend_buffer_t> parts) {
    try {
        if (parts.empty()) return fail(TENON_E_INVALID, "a buffer needs at least one part");
        auto buffer = new_buffer(*parts[0]->type);
        for (const auto* part : parts) buffer->head.size += part->head.size;
        buffer->parts = std::move(parts);
        return buffer.release();
    } catch (const std::bad_alloc&) {
        for (auto* part : parts) ggml_backend_buffer_free(part);
        return fail(TENON_E_NO_HOST_MEMORY, "out of host memory");
    }
}

}  // namespace tenon
