// A case's graph, and the two ways of giving it memory: every tensor its own with guards between,
// which shows stray writes, or as the graph allocator plans it, which shows reads that come too
// late.
#pragma once

#include <string>
#include <vector>

#include "ggml-cpp.h"
#include "sdk/conformance/suite.h"

namespace tenon::conformance {

// A case's graph in a context of its own.
struct Built {
    ggml_context_ptr ctx;
    std::vector<GraphMaker::Leaf> leaves;
    std::vector<ggml_tensor*> all;      // in creation order
    std::vector<ggml_tensor*> outputs;  // to be compared; the node the case returned comes last
    ggml_cgraph* graph = nullptr;
};
Built build(const Case& c);  // throws std::runtime_error

// What a graph lies in. The results lie in a buffer of usage COMPUTE, so that a device may leave
// out intermediates; leaves have one of their own unless they are planned too.
struct Memory {
    std::vector<ggml_backend_buffer_ptr> buffers;
    ggml_gallocr_ptr planned;
    std::vector<ggml_tensor*> guards;
};

enum class Layout { kGuarded, kPlanned };
inline constexpr const char* kLayoutNames[] = {"", " in the memory of the graph allocator"};

// Memory for everything in `b`. Results hold bytes 0xff (NaN, -1), guards their pattern.
Memory place(Built& b, ggml_backend_buffer_type_t buft, Layout layout);

// Which guard was written to, "" for none.
std::string damaged_guard(const Memory& memory);

}  // namespace tenon::conformance
