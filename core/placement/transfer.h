// Moving tensors between backends, for the scheduler.
#pragma once

#include "core/base/result.h"
#include "core/device/device.h"

namespace tenon::placement {

// Copies a tensor, and waits. Streams are not waited for.
Result<void> copy_now(const ggml_tensor& src, ggml_tensor& dst);

// After all queued work of `from`, before later work of `to`.
Result<void> copy_async(ggml_backend_t from, ggml_backend_t to, const ggml_tensor& src,
                        ggml_tensor& dst);

}  // namespace tenon::placement
