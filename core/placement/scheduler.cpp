// The scheduler's object and the functions of ggml-backend.h over it.

#include "core/placement/scheduler.h"

#include <algorithm>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/graph/graph.h"
#include "core/stream/stream.h"

using namespace tenon;
using namespace tenon::placement;

namespace {

// A small number from the environment, 0 when unset.
int debug_level(const char* name) {
    const char* text = os::environment(name);
    return text ? std::atoi(text) : 0;
}

Result<void> check_backends(ggml_backend_t* backends, ggml_backend_buffer_type_t* bufts, int n) {
    if (!backends || n < 1 || n > kMaxBackends) {
        return fail(TENON_E_INVALID, "a scheduler of %d backends: 1 to %d are possible", n,
                    kMaxBackends);
    }
    for (int b = 0; b < n; b++) {
        if (!backends[b]) return fail(TENON_E_INVALID, "backend %d of %d is null", b, n);
        if (bufts && (!bufts[b] || !supports_buft(*backends[b]->device, *bufts[b]))) {
            return fail(TENON_E_INVALID, "backend %d '%s' cannot use buffer type '%s' given for it",
                        b, ggml_backend_name(backends[b]), ggml_backend_buft_name(bufts[b]));
        }
    }
    if (ggml_backend_dev_type(backends[n - 1]->device) != GGML_BACKEND_DEVICE_TYPE_CPU) {
        return fail(TENON_E_INVALID, "the last backend must be a CPU, '%s' is none",
                    ggml_backend_name(backends[n - 1]));
    }
    return {};
}

Result<ggml_backend_sched_t> make_scheduler(ggml_backend_t* backends,
                                            ggml_backend_buffer_type_t* bufts, int n,
                                            size_t graph_size, bool op_offload) {
    if (auto r = check_backends(backends, bufts, n); !r) return r.error();
    auto s = std::make_unique<ggml_backend_sched>();
    s->n = n;
    s->graph_size = graph_size;
    s->op_offload = op_offload;
    s->debug = debug_level("GGML_SCHED_DEBUG");
    s->debug_realloc = debug_level("GGML_SCHED_DEBUG_REALLOC");
    for (int b = 0; b < n; b++) {
        s->backends[b] = backends[b];
        s->bufts[b] = bufts ? bufts[b] : ggml_backend_get_default_buffer_type(backends[b]);
        s->order.set_async(b, backends[b]->device->can(TENON_CAP_ASYNC));
        if (n > 1 && backends[b]->device->can(TENON_CAP_EVENTS)) {
            s->events[b].reset(ggml_backend_event_new(backends[b]->device));
        }
    }
    s->galloc.reset(ggml_gallocr_new_n(s->bufts, n));
    if (!s->galloc)
        return fail(TENON_E_NO_HOST_MEMORY, "no memory for a graph allocator of %d buffer types",
                    n);
    return s.release();
}

Result<void> check_graph(const ggml_backend_sched* sched, const ggml_cgraph* graph) {
    if (!sched || !graph) return fail(TENON_E_INVALID, "scheduler or graph is null");
    if (is_incomplete(*graph)) {
        return fail(TENON_E_INVALID, "the graph of %d nodes is incomplete", graph->n_nodes);
    }
    const size_t size = static_cast<size_t>(graph->n_nodes) + static_cast<size_t>(graph->n_leafs);
    if (size > sched->graph_size) {
        return fail(TENON_E_INVALID, "graph of %zu nodes and leafs, the scheduler was made for %zu",
                    size, sched->graph_size);
    }
    return {};
}

Result<void> check_not_allocated(const ggml_backend_sched& sched, const char* what) {
    if (sched.state != ggml_backend_sched::State::kAllocated) return {};
    return fail(TENON_E_INVALID, "cannot %s: a graph of %zu nodes is allocated, reset first", what,
                sched.image.nodes.size());
}

}  // namespace

// Programs may free their backends before their scheduler. Those have finished what they were
// given.
ggml_backend_sched::~ggml_backend_sched() noexcept(false) {
    for (int b = 0; b < n; b++) {
        if (!is_alive(backends[b])) continue;
        if (auto r = synchronize_stream(backends[b]); !r) report(r.error());
    }
    ggml_gallocr_free(galloc.release());
    for (EventPtr& event : events) ggml_backend_event_free(event.release());
}

int ggml_backend_sched::index_of(const ggml_backend* backend) const {
    for (int b = 0; b < n; b++) {
        if (backends[b] == backend) return b;
    }
    return -1;
}

BackendMask ggml_backend_sched::accepting(const ggml_backend_buffer_type* buft) {
    if (last_accepted < accepted.size() && accepted[last_accepted].buft == buft)
        return accepted[last_accepted].mask;
    for (size_t i = 0; i < accepted.size(); i++) {
        if (accepted[i].buft != buft) continue;
        last_accepted = i;
        return accepted[i].mask;
    }
    BackendMask mask = 0;
    for (int b = 0; b < n; b++)
        mask |= static_cast<BackendMask>(supports_buft(*backends[b]->device, *buft)) << b;
    accepted.push_back({buft, mask});
    return mask;
}

// Memory of a view is its root's, whoever works on it.
const ggml_backend_buffer_type* ggml_backend_sched::type_of(const Item& item) const {
    if (item.placed) return item.placed;
    if (item.root >= 0) {
        const Item& root = image.items[static_cast<size_t>(item.root)];
        if (root.placed) return root.placed;
        if (root.backend >= 0) return bufts[root.backend];
    }
    return item.backend >= 0 ? bufts[item.backend] : nullptr;
}

Result<void> ggml_backend_sched::split(const ggml_cgraph& graph) {
    state = State::kSplit;
    auto r = image.read(graph, pins);
    if (r) r = query();
    if (r) r = assign();
    if (!r) {
        image.clear();
        splits.clear();
        state = State::kClean;
        return r;
    }
    cut();
    if (debug > 0) log_splits();
    return {};
}

// Programs throw the graph away after a reset, so no device may still be reading its tensors.
void ggml_backend_sched::reset() {
    for (int b = 0; b < n; b++) {
        if (!order.host_must_wait(b)) continue;
        order.host_waited(b);
        if (!is_alive(backends[b])) continue;
        if (auto r = synchronize_stream(backends[b]); !r) report(r.error());
    }
    pins.clear();
    image.clear();
    copies.clear();
    replacements.clear();
    state = State::kClean;
}

extern "C" {

ggml_backend_sched_t ggml_backend_sched_new(ggml_backend_t* backends,
                                            ggml_backend_buffer_type_t* bufts, int n_backends,
                                            size_t graph_size, bool parallel, bool op_offload) {
    (void)parallel;  // one set of copies: see ggml_backend_sched_get_n_copies
    return guard<ggml_backend_sched_t>(nullptr, [&] {
        return make_scheduler(backends, bufts, n_backends, graph_size, op_offload);
    });
}

void ggml_backend_sched_free(ggml_backend_sched_t sched) {
    guard_void([&] { delete sched; });
}

void ggml_backend_sched_set_tensor_backend(ggml_backend_sched_t sched, ggml_tensor* node,
                                           ggml_backend_t backend) {
    guard_void([&]() -> Result<void> {
        if (!sched || !node) return fail(TENON_E_INVALID, "scheduler or node is null");
        const int b = sched->index_of(backend);
        if (b < 0) {
            return fail(TENON_E_INVALID, "node '%s': backend '%s' is none of the scheduler's %d",
                        node->name, ggml_backend_name(backend), sched->n);
        }
        if (auto r = check_not_allocated(*sched, "pin a node"); !r) return r;
        sched->pins.set(node, b);
        return {};
    });
}

ggml_backend_t ggml_backend_sched_get_tensor_backend(ggml_backend_sched_t sched,
                                                     ggml_tensor* node) {
    if (!sched || !node) return nullptr;
    const int32_t at = sched->image.find(node);
    const int b =
        at >= 0 ? sched->image.items[static_cast<size_t>(at)].backend : sched->pins.find(node);
    return b >= 0 ? sched->backends[b] : nullptr;
}

void ggml_backend_sched_split_graph(ggml_backend_sched_t sched, ggml_cgraph* graph) {
    guard_void([&]() -> Result<void> {
        if (auto r = check_graph(sched, graph); !r) return r;
        if (auto r = check_not_allocated(*sched, "split a graph"); !r) return r;
        return sched->split(*graph);
    });
}

void ggml_backend_sched_reserve_size(ggml_backend_sched_t sched, ggml_cgraph* graph,
                                     size_t* sizes) {
    guard_void([&]() -> Result<void> {
        if (sched && sizes) std::fill_n(sizes, sched->n, size_t{0});
        if (auto r = check_graph(sched, graph); !r) return r;
        if (!sizes) return fail(TENON_E_INVALID, "sizes is null");
        return sched->measure(*graph, sizes);
    });
}

bool ggml_backend_sched_reserve(ggml_backend_sched_t sched, ggml_cgraph* graph) {
    return guard(false, [&]() -> Result<bool> {
        if (auto r = check_graph(sched, graph); !r) return r.error();
        auto r = sched->reserve(*graph);
        sched->reset();
        if (!r) return r.error();
        return true;
    });
}

bool ggml_backend_sched_alloc_graph(ggml_backend_sched_t sched, ggml_cgraph* graph) {
    return guard(false, [&]() -> Result<bool> {
        if (auto r = check_graph(sched, graph); !r) return r.error();
        if (auto r = check_not_allocated(*sched, "allocate a graph"); !r) return r.error();
        if (auto r = sched->allocate(*graph); !r) return r.error();
        return true;
    });
}

ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t sched, ggml_cgraph* graph) {
    return guard_status([&]() -> Result<void> {
        if (auto r = check_graph(sched, graph); !r) return r;
        if (sched->state != ggml_backend_sched::State::kAllocated) {
            if (auto r = sched->allocate(*graph); !r) return r;
        }
        return sched->compute(*graph);
    });
}

ggml_status ggml_backend_sched_graph_compute(ggml_backend_sched_t sched, ggml_cgraph* graph) {
    const ggml_status status = ggml_backend_sched_graph_compute_async(sched, graph);
    if (!sched) return status;
    const ggml_status waited = guard_status([&] { return sched->synchronize(); });
    return status != GGML_STATUS_SUCCESS ? status : waited;
}

void ggml_backend_sched_synchronize(ggml_backend_sched_t sched) {
    guard_void([&]() -> Result<void> {
        if (!sched) return fail(TENON_E_INVALID, "scheduler is null");
        return sched->synchronize();
    });
}

void ggml_backend_sched_reset(ggml_backend_sched_t sched) {
    if (!sched) return;
    guard_void([&] { sched->reset(); });
}

void ggml_backend_sched_set_eval_callback(ggml_backend_sched_t sched,
                                          ggml_backend_sched_eval_callback callback,
                                          void* user_data) {
    if (!sched) return;
    sched->eval_callback.set(callback, user_data);
}

int ggml_backend_sched_get_n_backends(ggml_backend_sched_t sched) { return sched ? sched->n : 0; }

ggml_backend_t ggml_backend_sched_get_backend(ggml_backend_sched_t sched, int i) {
    return sched && i >= 0 && i < sched->n ? sched->backends[i] : nullptr;
}

int ggml_backend_sched_get_n_splits(ggml_backend_sched_t sched) {
    return sched ? static_cast<int>(sched->splits.size()) : 0;
}

int ggml_backend_sched_get_n_copies(ggml_backend_sched_t sched) { return sched ? 1 : 0; }

ggml_backend_buffer_type_t ggml_backend_sched_get_buffer_type(ggml_backend_sched_t sched,
                                                              ggml_backend_t backend) {
    const int b = sched ? sched->index_of(backend) : -1;
    if (b >= 0) return sched->bufts[b];
    report(fail(TENON_E_INVALID, "backend '%s' is none of the scheduler's",
                ggml_backend_name(backend)));
    return nullptr;
}

size_t ggml_backend_sched_get_buffer_size(ggml_backend_sched_t sched, ggml_backend_t backend) {
    const int b = sched ? sched->index_of(backend) : -1;
    if (b >= 0) return ggml_gallocr_get_buffer_size(sched->galloc.get(), b);
    report(fail(TENON_E_INVALID, "backend '%s' is none of the scheduler's",
                ggml_backend_name(backend)));
    return 0;
}

}  // extern "C"
