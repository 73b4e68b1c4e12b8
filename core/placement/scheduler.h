// ggml_backend_sched: one graph over several backends. Assigns nodes (assign.cpp), cuts the graph
// into splits with their copies (split.cpp), plans memory (plan.cpp), runs (execute.cpp), explains
// (explain.cpp). The object belongs to one thread at a time and borrows its backends.
#pragma once

#include <memory>
#include <vector>

#include "core/placement/image.h"
#include "core/placement/order.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"

namespace tenon::placement {

struct EventFree {
    void operator()(ggml_backend_event* event) const { ggml_backend_event_free(event); }
};
using EventPtr = std::unique_ptr<ggml_backend_event, EventFree>;

struct GallocFree {
    void operator()(ggml_gallocr* galloc) const { ggml_gallocr_free(galloc); }
};
using GallocPtr = std::unique_ptr<ggml_gallocr, GallocFree>;

// A tensor that has to be on another backend: filled at the start of the split that needs it first.
struct Copy {
    int32_t item = -1;        // what is copied
    int32_t version = 0;      // Item::writes of its root when it was made
    int32_t next = -1;        // older copy of the same item
    int8_t backend = -1;      // where to
    int8_t from = -1;         // whose stream reads the original
    int32_t readers = 0;      // source slots that read it
    bool user_input = false;  // written by the application between runs
    ggml_tensor* tensor = nullptr;
};

// Consecutive nodes that run on one backend, after its copies were made.
struct Split {
    int8_t backend = 0;
    bool empty = true;                         // nothing but views: nothing to run
    int32_t first = 0, end = 0;                // nodes
    int32_t copies_first = 0, copies_end = 0;  // of `copies`
    uint64_t uid = 0;
};

// A source slot that reads a copy.
struct Replacement {
    int32_t node, slot, copy;
};

}  // namespace tenon::placement

struct ggml_backend_sched {
    using Item = tenon::placement::Item;
    using Split = tenon::placement::Split;
    using Copy = tenon::placement::Copy;

    enum class State { kClean, kSplit, kAllocated };

    // ---- given at creation
    int n = 0;  // backends
    ggml_backend* backends[tenon::placement::kMaxBackends] = {};
    ggml_backend_buffer_type* bufts[tenon::placement::kMaxBackends] = {};
    tenon::placement::EventPtr events[tenon::placement::kMaxBackends];
    size_t graph_size = 0;
    bool op_offload = false;
    tenon::SharedCallback<ggml_backend_sched_eval_callback> eval_callback;  // set by any thread
    int debug = 0, debug_realloc = 0;

    // ---- of the graph split last
    State state = State::kClean;
    tenon::PointerMap pins;
    tenon::placement::Image image;
    std::vector<const ggml_tensor*> queried;  // nodes the devices were asked about
    std::vector<int32_t> query_index;         // by node: position there, -1 for views
    std::vector<tenon_op_verdict> verdicts[tenon::placement::kMaxBackends];
    std::vector<Split> splits;
    std::vector<Copy> copies;
    std::vector<tenon::placement::Replacement> replacements;
    std::vector<ggml_tensor*> node_images;  // parallel to the graph's nodes
    std::vector<int32_t> use_counts;        // likewise, as tenon_graph_view wants them
    tenon::placement::HeaderArena headers;

    // ---- memory
    tenon::placement::GallocPtr galloc;
    std::vector<ggml_tensor*> plan_nodes, plan_leafs;
    std::vector<int> plan_node_ids, plan_leaf_ids;
    std::vector<ggml_backend_buffer_type*> plan_types, reserved_types;  // per position of the plan
    std::vector<int32_t> owned;  // items that get memory from us

    // ---- running
    tenon::SharedCallback<ggml_backend_sched_eval_callback>::Pair eval{};  // of this run
    tenon::placement::StreamOrder order;
    std::vector<uint32_t> used_experts;  // a bit per expert
    std::vector<char> ids_data;
    const ggml_tensor* ids_known = nullptr;  // what used_experts was made from, in this run

    // ---- which buffer types a backend can use, asked once
    struct Accepted {
        const ggml_backend_buffer_type* buft;
        tenon::placement::BackendMask mask;
    };
    std::vector<Accepted> accepted;
    size_t last_accepted = 0;

    ~ggml_backend_sched() noexcept(false);  // calls plugins, which may end the thread

    tenon::placement::BackendMask all_backends() const { return (1u << n) - 1; }
    int last() const { return n - 1; }
    int index_of(const ggml_backend* backend) const;  // -1: none of ours

    // Backends whose kernels may use tensors in this buffer type.
    tenon::placement::BackendMask accepting(const ggml_backend_buffer_type* buft);
    bool accepts(int b, const ggml_backend_buffer_type* buft) {
        return buft && (accepting(buft) >> b & 1u);
    }
    // Type the item lies in, or will; NULL while neither it nor its root is assigned.
    const ggml_backend_buffer_type* type_of(const Item& item) const;
    bool can_use(int b, const Item& item) { return accepts(b, type_of(item)); }

    // The verdict of a backend on a node.
    const tenon_op_verdict* verdict_of(int b, const Item& item) const;

    // ---- the steps; each leaves the scheduler as it was before the graph when it fails
    tenon::Result<void> split(const ggml_cgraph& graph);     // → kSplit
    tenon::Result<void> allocate(const ggml_cgraph& graph);  // → kAllocated
    tenon::Result<void> reserve(const ggml_cgraph& graph);
    tenon::Result<void> measure(const ggml_cgraph& graph, size_t* sizes);
    tenon::Result<void> compute(const ggml_cgraph& graph);
    tenon::Result<void> synchronize();
    void reset();

    // ---- parts of the steps
    tenon::Result<void> query();  // assign.cpp
    tenon::Result<void> assign();
    void cut();  // split.cpp
    void make_images();
    void plan();  // plan.cpp
    void write_back();
    void disown();
    tenon::Result<void> run_split(Split& split);                             // execute.cpp
    tenon::Result<bool> copy_experts(const Split& split, const Copy& copy);  // experts.cpp
    void log_splits() const;                                                 // explain.cpp
};
