// Comparing a node that was computed with its record.
#pragma once

#include <vector>

#include "sdk/conformance/compare.h"
#include "tests/conformance/golden.h"

namespace tenon::conformance {

// `tensors` are those of the graph, as they are after the computation; node `i` is compared with
// what was recorded for it.
Comparison compare_node(const GoldenGraph& graph, const std::vector<ggml_tensor*>& tensors,
                        size_t i);

}  // namespace tenon::conformance
