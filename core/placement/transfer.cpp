// Moving tensors between backends, for the scheduler.

#include "core/placement/transfer.h"

#include "core/device/buffer.h"

namespace tenon::placement {

Result<void> copy_now(const ggml_tensor& src, ggml_tensor& dst) { return copy_tensor(src, dst); }

Result<void> copy_async(ggml_backend_t from, ggml_backend_t to, const ggml_tensor& src,
                        ggml_tensor& dst) {
    // The function returns nothing: an error that was not there before is its own.
    const bool had_error = has_unread_error();
    ggml_backend_tensor_copy_async(from, to, &src, &dst);
    if (had_error || !has_unread_error()) return {};
    return fail(TENON_E_IO, "cannot copy '%s' from %s to %s", src.name, ggml_backend_name(from),
                ggml_backend_name(to));
}

}  // namespace tenon::placement
