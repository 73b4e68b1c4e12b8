// Parsing of model files: every length, count and offset is checked before it is used.
#pragma once

#include "core/base/result.h"
#include "core/gguf/context.h"
#include "core/gguf/input.h"

namespace tenon::gguf {

// Reads metadata, and with params.ctx the tensors (and, unless no_alloc, their data). The caller
// owns the context and *params.ctx, which is NULL after an error.
Result<gguf_context*> read(const Source& source, const gguf_init_params& params);

}  // namespace tenon::gguf
