// The rules asked again, about a node that exists: whoever made it, and whatever was done to it
// since. Plugins are only asked about nodes that pass (docs/plugin-abi.md, "What a plugin may rely
// on"), so that none of them has to check what the core knows.
#pragma once

#include "core/base/result.h"
#include "ggml.h"

namespace tenon {

// Sources, parameters and shape by the row of the op; then the layout of the result and of every
// source, unless the op is a view op, which touches no memory. Looks at no data: it may be NULL.
// Texts: "node 'q' (ROPE): n_dims is -1, must be at least 0".
Result<void> check_node(const ggml_tensor& node);

}  // namespace tenon
