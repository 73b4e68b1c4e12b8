// Nodes that follow each other, computed together: some rows of all of them at a time, so that what
// one leaves in the caches is there for the next, and nobody waits between them. No kernel knows:
// each is asked for a window of its node (kernel.h), in the order of the graph. Results are those
// of one node after the other, to the bit.
#pragma once

#include <cstdint>
#include <span>

#include "plugins/cpu/kernel.h"

namespace tenon::cpu {

// A node of a graph and the kernel that computes it.
struct Step {
    uint32_t node;  // index in the graph
    const Kernel* kernel;
};

constexpr uint32_t kMaxFused = 12;

struct FusedNode {
    const Kernel* kernel = nullptr;
    uint32_t node = 0;  // index in the graph
    // Which of the nodes src[k] is, or is a view of; -1: none of them.
    int8_t from[GGML_MAX_SRC] = {};
    bool is_temporary = false;  // read by the others, as it is, and by nobody else
    size_t scratch = 0;         // bytes of workspace for one member
};

struct FusedGroup {
    FusedNode nodes[kMaxFused];
    uint32_t n = 0;
    size_t scratch = 0;  // the most that a node wants for one member
    // Every node consists of `units` equal runs of rows, of which one needs the same run of the
    // other nodes and no more.
    int64_t units = 0;
    int64_t units_per_block = 1;
    int64_t n_columns = 1;  // of every node, where columns are on their own too; else 1
    int64_t columns_per_block = 1;

    int64_t column_blocks() const {
        return (n_columns + columns_per_block - 1) / columns_per_block;
    }
    int64_t blocks() const {
        return (units + units_per_block - 1) / units_per_block * column_blocks();
    }
};

struct FuseLimits {
    int32_t n_threads = 1;
    bool small = false;  // however small, and in the smallest blocks: for tests
};

// Nodes, from the first of `steps` on, to compute together; how many, less than 2: none. Follows
// from topology, shapes, strides, parameters and use counts.
uint32_t fuse(const tenon_graph_view& graph, std::span<const Step> steps, const FuseLimits& limits,
              FusedGroup& group);

// One member's part. False: the memory of the nodes does not allow it, which all members find
// alike, and nothing was computed.
bool run_fused(const FusedGroup& group, const tenon_graph_view& graph, Task task);

}  // namespace tenon::cpu
