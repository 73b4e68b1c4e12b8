// The tensors of a model file as a context of ggml tensors, with or without their data.
#pragma once

#include "core/base/result.h"
#include "core/gguf/context.h"
#include "core/gguf/input.h"

namespace tenon::gguf {

// One tensor per description, in file order. Unless no_alloc, the first tensor is the whole data
// section, read from `in` (which stands at its start), and the others point into it. The caller
// frees the context with ggml_free.
Result<ggml_context*> make_tensor_context(const gguf_context& file, Input& in, bool no_alloc);

}  // namespace tenon::gguf
