// What the files about streams share: the state kept between runs, and how a run is asked for.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "core/device/device.h"
#include "core/stream/threads.h"

namespace tenon {

// A graph ready to be handed to the plugin: only nodes that compute something.
struct PlannedGraph {
    uint64_t uid = 0;    // as the caller named it; 0: unknown
    size_t n_given = 0;  // nodes the caller passed
    std::vector<ggml_tensor*> nodes;
    std::vector<int32_t> use_counts;  // -1: observed outside
    size_t workspace = 0;             // bytes, the largest of its nodes
    uint64_t data_hash = 0;           // of all data pointers and the workspace, at the last run
    uint64_t last_use = 0;
};

// How a run is to be done; a stream's settings or a ggml_cplan.
struct RunOptions {
    int n_threads = 0;  // 0: the pool's, or the default
    ggml_threadpool* pool = nullptr;
    ggml_abort_callback abort_callback = nullptr;
    void* abort_data = nullptr;
    bool reference = false;
    void* workspace = nullptr;  // the caller's, if has_workspace
    size_t workspace_size = 0;
    bool has_workspace = false;
};

// Nodes in execution order. Their use counts come from `use_counts`, else from `graph`, else they
// are unknown and nothing may be fused away.
struct NodeList {
    ggml_tensor* const* nodes = nullptr;
    size_t n = 0;
    uint64_t uid = 0;
    const int32_t* use_counts = nullptr;
    const ggml_cgraph* graph = nullptr;
    bool ordered = false;  // known to pass check_order()
};

// Checks the nodes, asks the device about those it has not seen, and finds the workspace they need.
// The graph belongs to the stream, until the next plan. Nothing is allocated for a graph that looks
// like an earlier one.
Result<PlannedGraph*> plan_nodes(ggml_backend& stream, const NodeList& list);

// Bytes of scratch the nodes need. Their tensors need no memory yet.
Result<size_t> workspace_of_nodes(ggml_backend& stream, const NodeList& list);

// plan_nodes() and a run with these options.
Result<void> run(ggml_backend& stream, const NodeList& list, const RunOptions& options);

// The graph's nodes; fails when the graph is incomplete.
Result<NodeList> nodes_of(const ggml_cgraph* graph);

// The settings of the stream.
RunOptions options_of(const ggml_backend& stream);

Result<ggml_backend*> open_stream(ggml_backend_device& device, const char* params);

// Events, with their failures. record: complete when all that is queued on the stream now is done.
Result<void> record_event(ggml_backend_event& event, ggml_backend& stream);
Result<void> synchronize_event(ggml_backend_event& event);
Result<void> make_stream_wait(ggml_backend& stream, ggml_backend_event& event);

// Closes the streams of a device that ggml_graph_compute keeps open between calls.
void drop_cached_streams(const ggml_backend_device& device);

// Makes `host_side` wait, before its next work on host memory, for what is queued on `busy` now.
Result<void> wait_before_host_access(ggml_backend& host_side, ggml_backend& busy);
// Waits for all that was registered that way.
Result<void> finish_host_waits(ggml_backend& stream);

// dst = src, of equal type, shape and strides: after all queued work of `from`, before later work
// of `to`. The host does not wait where the devices can do it themselves.
Result<void> copy_tensor_async(ggml_backend& from, ggml_backend& to, const ggml_tensor& src,
                               ggml_tensor& dst);

// The failure that synchronize found and could not tell, once.
Result<void> take_pending_error(ggml_backend& stream);

// Like guard, for functions that return a ggml_status. A cancelled run is no error to report.
template <class Body>
ggml_status guard_status(Body&& body) {
    const Result<void> result =
        catch_all([&]() -> Result<void> { return body(); }, error_of_exception);
    if (result) return GGML_STATUS_SUCCESS;
    if (result.error().code != TENON_E_CANCELLED) report(result.error());
    return to_ggml_status(result.error().code);
}

// An event that somebody's host work has to wait for.
struct HostWait {
    const ggml_backend* busy = nullptr;  // compared only: it may be gone by now
    ggml_backend_event* event = nullptr;
    bool pending = false;
};

}  // namespace tenon

struct ggml_backend::Scratch {
    static constexpr size_t kGraphs = 9;       // [0] for graphs without uid
    static constexpr size_t kSignatures = 16;  // graphs whose verdicts are remembered

    std::atomic_flag running;  // a graph is planned or run
    std::array<tenon::PlannedGraph, kGraphs> graphs;
    uint64_t clock = 0;  // for last_use

    struct Signature {
        uint64_t hash = 0;
        size_t workspace = 0;
        uint64_t last_use = 0;  // 0: unused
    };
    std::array<Signature, kSignatures> signatures;
    std::vector<tenon_op_verdict> verdicts;

    void* host_workspace = nullptr;
    size_t host_workspace_size = 0;
    ggml_backend_buffer* device_workspace = nullptr;

    std::unique_ptr<tenon_team> team;  // used without a pool
    bool warned_small_pool = false;
    tenon::Error pending_error{TENON_OK, {}};
    std::vector<tenon::HostWait> host_waits;

    ~Scratch();
    void free_plugin_objects();  // may end the thread, which a destructor must not
};
