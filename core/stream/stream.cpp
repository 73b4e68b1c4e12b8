// Streams: opening and closing, running graphs, waiting for them.

#include "core/stream/stream.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/device/plugin_adapter.h"

namespace tenon {
namespace {

constexpr size_t kWorkspaceAlignment = 64;  // bytes, in host memory

// ---- which streams there are -------------------------------------------------------------------

// Never destroyed: streams of the core itself live until the end of the process.
struct LiveStreams {
    std::mutex mutex;
    std::unordered_set<const ggml_backend*> all;
};
LiveStreams& live() {
    static auto* streams = new LiveStreams;
    return *streams;
}

// ---- workspace --------------------------------------------------------------------------------

struct Workspace {
    void* memory = nullptr;
    size_t size = 0;
    const tenon_buffer_head* buffer = nullptr;
};

Result<Workspace> callers_workspace(const RunOptions& options, size_t need) {
    void* memory = options.workspace;
    size_t size = options.workspace ? options.workspace_size : 0;
    const bool fits = std::align(kWorkspaceAlignment, need, memory, size) != nullptr;
    if (need > 0 && !fits) {
        return fail(TENON_E_INVALID, "graph needs %zu bytes of work memory, the plan has %zu at %p",
                    need + kWorkspaceAlignment, options.workspace_size, options.workspace);
    }
    return need > 0 ? Workspace{memory, size, nullptr} : Workspace{};
}

Result<Workspace> host_workspace(ggml_backend& stream, size_t need) {
    ggml_backend::Scratch& scratch = *stream.scratch;
    if (need > scratch.host_workspace_size) {
        if (stream.device->can(TENON_CAP_ASYNC)) {
            if (auto ok = synchronize_stream(&stream); !ok) return ok.error();
        }
        os::free_aligned(scratch.host_workspace, scratch.host_workspace_size, kWorkspaceAlignment);
        scratch.host_workspace_size = 0;
        scratch.host_workspace = os::alloc_aligned(need, kWorkspaceAlignment);
        if (!scratch.host_workspace) {
            return fail(TENON_E_NO_HOST_MEMORY, "no memory for %zu bytes of scratch", need);
        }
        scratch.host_workspace_size = need;
    }
    return Workspace{scratch.host_workspace, scratch.host_workspace_size, nullptr};
}

// In memory of the device: the old block may still be in use by queued work.
Result<Workspace> device_workspace(ggml_backend& stream, size_t need) {
    ggml_backend_buffer*& buffer = stream.scratch->device_workspace;
    if (!buffer || buffer->head.size < need) {
        if (buffer) {
            if (auto ok = synchronize_stream(&stream); !ok) return ok.error();
            ggml_backend_buffer_free(buffer);
        }
        buffer = ggml_backend_buft_alloc_buffer(stream.device->default_buft, need);
        if (!buffer) {
            return fail(TENON_E_NO_DEVICE_MEMORY, "device '%s': no memory for %zu bytes of scratch",
                        stream.device->name.c_str(), need);
        }
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_COMPUTE);
    }
    return Workspace{buffer->head.base, buffer->head.size, &buffer->head};
}

Result<Workspace> workspace_for(ggml_backend& stream, const RunOptions& options, size_t need) {
    if (options.has_workspace) return callers_workspace(options, need);
    if (need == 0) return Workspace{};
    const bool in_host_memory = stream.device->default_buft->device == nullptr;
    return in_host_memory ? host_workspace(stream, need) : device_workspace(stream, need);
}

// ---- threads ----------------------------------------------------------------------------------

// A team taken for one run.
class TeamUse {
public:
    TeamUse() = default;
    TeamUse(const TeamUse&) = delete;
    TeamUse& operator=(const TeamUse&) = delete;
    ~TeamUse() {
        if (team_) team_->release();
    }
    Result<void> take(tenon_team& team, int n_threads) {
        if (team.forked()) {
            return fail(TENON_E_FORKED, "the thread pool belongs to the parent process");
        }
        if (!team.acquire(n_threads)) {
            return fail(TENON_E_BUSY, "the thread pool computes another graph already");
        }
        team_ = &team;
        return {};
    }
    tenon_team* get() const { return team_; }

private:
    tenon_team* team_ = nullptr;
};

// Takes the pool of the options, or the stream's own team; gives the number of threads.
Result<int> take_team(ggml_backend& stream, const RunOptions& options, TeamUse& use) {
    ggml_backend::Scratch& scratch = *stream.scratch;
    int n = std::min(options.n_threads, GGML_MAX_N_THREADS);
    if (options.pool) {
        const int size = options.pool->team->size();
        if (n > size && !scratch.warned_small_pool) {
            scratch.warned_small_pool = true;
            log(GGML_LOG_LEVEL_WARN, "%d threads wanted, the thread pool has %d", n, size);
        }
        n = n > 0 ? std::min(n, size) : size;
        if (auto ok = use.take(*options.pool->team, n); !ok) return ok.error();
        return n;
    }
    if (n <= 0) n = default_threads();
    std::unique_ptr<tenon_team>& own = scratch.team;
    if (!own || own->wanted() < n || own->forked()) {
        own.reset();
        auto made = make_stream_team(n);
        if (!made) return made.error();
        own = std::move(*made);
    }
    n = std::min(n, own->size());
    if (auto ok = use.take(*own, n); !ok) return ok.error();
    return n;
}

// The abort callback of a run; a thread of the plugin asks it.
struct Cancel {
    const RunOptions& options;
    std::mutex mutex{};
    Error failure{TENON_OK, {}};  // the first

    static int asked(void* arg) {
        Cancel& self = *static_cast<Cancel*>(arg);
        auto stop = call_application("the abort callback", self.options.abort_callback,
                                     self.options.abort_data);
        if (stop) return *stop ? 1 : 0;
        const std::lock_guard lock(self.mutex);
        if (self.failure.code == TENON_OK) self.failure = stop.error();
        return 1;
    }
};

// One run of a stream at a time. Streams belong to one thread; this tells those who forgot.
class Turn {
public:
    explicit Turn(ggml_backend::Scratch& scratch)
        : running_(scratch.running), mine_(!running_.test_and_set(std::memory_order_acquire)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
        if (mine_) running_.clear(std::memory_order_release);
    }
    explicit operator bool() const { return mine_; }

private:
    std::atomic_flag& running_;
    const bool mine_;
};

// Whether memory and workspace are those of the graph's last run, which it then becomes.
bool same_data(PlannedGraph& graph, const Workspace& workspace) {
    uint64_t hash = reinterpret_cast<uintptr_t>(workspace.memory) | 1;
    const auto add = [&](const void* p) {
        hash = (hash ^ reinterpret_cast<uintptr_t>(p)) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    };
    for (const ggml_tensor* node : graph.nodes) {
        add(node->data);
        for (const ggml_tensor* src : node->src) {
            if (src) add(src->data);
        }
    }
    const bool same = graph.data_hash == hash;
    graph.data_hash = hash;
    return same;
}

}  // namespace

Result<ggml_backend*> open_stream(ggml_backend_device& device, const char* params) {
    auto stream = std::make_unique<ggml_backend>();
    stream->device = &device;
    {
        const std::lock_guard lock(live().mutex);
        live().all.insert(stream.get());
    }
    auto handle = open_plugin_stream(device, params);
    if (!handle) return handle.error();
    stream->handle = *handle;
    device.live_objects.fetch_add(1, std::memory_order_relaxed);
    return stream.release();
}

RunOptions options_of(const ggml_backend& stream) {
    RunOptions options;
    options.n_threads = stream.n_threads;
    options.pool = stream.threadpool;
    const auto abort = stream.abort_callback.get();
    options.abort_callback = abort.function;
    options.abort_data = abort.data;
    options.reference = stream.use_ref;
    return options;
}

Result<void> run(ggml_backend& stream, const NodeList& list, const RunOptions& options) {
    const Turn turn(*stream.scratch);
    if (!turn) {
        return fail(TENON_E_BUSY, "backend '%s' computes another graph already",
                    stream.device->name.c_str());
    }
    if (auto ok = take_pending_error(stream); !ok) return ok;
    if (auto ok = may_enter(*stream.device->reg); !ok) return ok;
    if (auto ok = finish_host_waits(stream); !ok) return ok;
    auto planned = plan_nodes(stream, list);
    if (!planned) return planned.error();
    PlannedGraph& graph = **planned;
    if (graph.nodes.empty()) return {};

    auto workspace = workspace_for(stream, options, graph.workspace);
    if (!workspace) return workspace.error();
    tenon_run_params params{};
    params.struct_size = sizeof params;
    params.flags = options.reference ? TENON_RUN_REFERENCE : 0;
    params.workspace = workspace->memory;
    params.workspace_size = workspace->size;
    params.workspace_buffer = workspace->buffer;
    TeamUse team;
    const bool on_host_threads = stream.device->can(TENON_CAP_HOST_THREADS);
    if (on_host_threads) {
        auto n = take_team(stream, options, team);
        if (!n) return n.error();
        params.team = team.get();
        params.n_threads = static_cast<uint32_t>(*n);
    }
    Cancel cancel{options};
    if (options.abort_callback) {
        params.should_cancel = Cancel::asked;
        params.cancel_arg = &cancel;
    }

    tenon_graph_view view{};
    view.struct_size = sizeof view;
    view.n_nodes = static_cast<uint32_t>(graph.nodes.size());
    view.nodes = graph.nodes.data();
    view.use_counts = graph.use_counts.data();
    view.uid = graph.uid;
    // Only devices that record and replay a graph have a use for it.
    if (view.uid != 0 && !on_host_threads && same_data(graph, *workspace)) {
        view.flags = TENON_GRAPH_SAME_DATA;
    }
    PluginError error;
    const tenon_status status =
        call_plugin(error, stream.handle->v->graph_run, stream.handle, &view, &params);
    if (cancel.failure.code != TENON_OK) return cancel.failure;
    if (status == TENON_OK) return {};
    return error.as_error(status, stream.device->name.c_str(), "cannot compute a graph");
}

Result<void> run_nodes(ggml_backend_t stream, ggml_tensor* const* nodes, const int32_t* use_counts,
                       size_t n, uint64_t uid) {
    if (!stream || (!nodes && n > 0)) return fail(TENON_E_INVALID, "backend or nodes are null");
    NodeList list;
    list.nodes = nodes;
    list.n = n;
    list.uid = uid;
    list.use_counts = use_counts;
    list.ordered = true;
    return run(*stream, list, options_of(*stream));
}

Result<void> synchronize_stream(ggml_backend_t stream) {
    if (!stream) return fail(TENON_E_INVALID, "backend is null");
    if (auto ok = may_enter(*stream->device->reg); !ok) return ok;
    auto host = finish_host_waits(*stream);
    PluginError error;
    const tenon_status status =
        call_plugin(error, stream->handle->v->synchronize, stream->handle, UINT64_MAX);
    if (status != TENON_OK) {
        return error.as_error(status, stream->device->name.c_str(), "queued work failed");
    }
    return host;
}

Result<void> take_pending_error(ggml_backend& stream) {
    Error& pending = stream.scratch->pending_error;
    if (pending.code == TENON_OK) return {};
    const Error told = pending;
    pending.code = TENON_OK;
    return told;
}

Result<void> wait_before_host_access(ggml_backend& host_side, ggml_backend& busy) {
    if (&host_side == &busy) return synchronize_stream(&busy);
    auto& waits = host_side.scratch->host_waits;
    auto it = std::find_if(waits.begin(), waits.end(),
                           [&](const HostWait& wait) { return wait.busy == &busy; });
    if (it == waits.end()) {
        it = std::find_if(waits.begin(), waits.end(), [&](const HostWait& wait) {
            return !wait.pending && wait.event->device == busy.device;
        });
    }
    if (it == waits.end()) {
        if (!busy.device->can(TENON_CAP_EVENTS)) return synchronize_stream(&busy);
        ggml_backend_event* event = ggml_backend_event_new(busy.device);
        if (!event) return synchronize_stream(&busy);
        it = waits.insert(waits.end(), HostWait{&busy, event, false});
    }
    // A stream is one queue: the event's new place is behind all that the old one stood for.
    it->busy = &busy;
    it->pending = true;
    return record_event(*it->event, busy);
}

Result<void> finish_host_waits(ggml_backend& stream) {
    for (HostWait& wait : stream.scratch->host_waits) {
        if (!wait.pending) continue;
        wait.pending = false;
        if (auto ok = synchronize_event(*wait.event); !ok) return ok;
    }
    return {};
}

bool is_alive(const ggml_backend* stream) {
    const std::lock_guard lock(live().mutex);
    return live().all.contains(stream);
}

uint64_t fresh_graph_uid() {
    static std::atomic<uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace tenon

ggml_backend::ggml_backend() : scratch(std::make_unique<Scratch>()) {}

namespace {

// Closes the plugin's stream, also when a function of the plugin before it ended the thread.
struct Closing {
    ggml_backend& stream;
    ~Closing() noexcept(false) {
        if (!stream.handle) return;
        const ggml_backend_device& device = *stream.device;
        const tenon::Departing counted{stream.device};
        if (!tenon::may_enter(*device.reg)) return;
        tenon::tell_plugin(device.name.c_str(), "stream.close", stream.handle->v->close,
                           stream.handle);
    }
};

}  // namespace

ggml_backend::~ggml_backend() noexcept(false) {
    {
        const std::lock_guard lock(tenon::live().mutex);
        tenon::live().all.erase(this);
    }
    const Closing closing{*this};
    scratch->free_plugin_objects();
    scratch.reset();
}

void ggml_backend::Scratch::free_plugin_objects() {
    ggml_backend_buffer_free(std::exchange(device_workspace, nullptr));
    while (!host_waits.empty()) {
        ggml_backend_event* event = host_waits.back().event;
        host_waits.pop_back();
        ggml_backend_event_free(event);
    }
}

ggml_backend::Scratch::~Scratch() {
    tenon::os::free_aligned(host_workspace, host_workspace_size, tenon::kWorkspaceAlignment);
}
