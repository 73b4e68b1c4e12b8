// Running an allocated graph: split by split, copies first, every stream after the ones it depends
// on.

#include "core/device/buffer.h"
#include "core/placement/scheduler.h"
#include "core/stream/stream.h"
#include "core/tensor/shape.h"

using namespace tenon;
using namespace tenon::placement;

namespace {

// The host waits for all that is queued on b.
Result<void> host_wait(ggml_backend_sched& s, int b) {
    if (!s.order.host_must_wait(b)) return {};
    s.order.host_waited(b);
    return synchronize_stream(s.backends[b]);
}

// Later work on `a` comes after what is queued on `b` now: on the device where it has events.
Result<void> wait_for(ggml_backend_sched& s, int a, int b) {
    if (!s.order.must_wait(a, b)) return {};
    if (!s.order.is_async(a) || !s.events[b]) return host_wait(s, b);
    ggml_backend_event_record(s.events[b].get(), s.backends[b]);
    ggml_backend_event_wait(s.backends[a], s.events[b].get());
    s.order.waited(a, b);
    return {};
}

Result<void> wait_for_all(ggml_backend_sched& s, int a) {
    for (int b = 0; b < s.n; b++) {
        if (auto r = wait_for(s, a, b); !r) return r;
    }
    return {};
}

// What the application writes is copied before the call returns: it may write again right then.
Result<void> copy_user_input(ggml_backend_sched& s, const Copy& copy) {
    if (auto r = host_wait(s, copy.from); !r) return r;
    if (auto r = host_wait(s, copy.backend); !r) return r;
    return copy_tensor(*s.image.items[copy.item].image, *copy.tensor);
}

Result<void> copy_result(ggml_backend_sched& s, const Split& split, const Copy& copy) {
    const Item& x = s.image.items[copy.item];
    if (x.weights && x.placed->is_host()) {
        auto done = s.copy_experts(split, copy);
        if (!done) return done.error();
        if (*done) return {};
    }
    s.order.issue(copy.from);
    s.order.issue(copy.backend);
    return copy_tensor_async(*s.backends[copy.from], *s.backends[copy.backend], *x.image,
                             *copy.tensor);
}

// Everything the application may have queued on its own comes first, so all user inputs are copied
// before the first result is: none of them has to wait for a device that is busy with this graph.
Result<void> make_copies(ggml_backend_sched& s, const Split& split) {
    for (const bool user_inputs : {true, false}) {
        for (int32_t c = split.copies_first; c < split.copies_end; c++) {
            const Copy& copy = s.copies[static_cast<size_t>(c)];
            if (copy.user_input != user_inputs) continue;
            auto r = user_inputs ? copy_user_input(s, copy) : copy_result(s, split, copy);
            if (!r) return r;
        }
    }
    return {};
}

Result<void> run_range(ggml_backend_sched& s, const Split& split, int32_t first, int32_t end,
                       uint64_t uid) {
    s.order.issue(split.backend);
    return run_nodes(s.backends[split.backend], s.node_images.data() + first,
                     s.use_counts.data() + first, static_cast<size_t>(end - first), uid);
}

// The callback is asked node by node; what it wants ends a range, and is shown once the range is
// done.
Result<void> run_with_callback(ggml_backend_sched& s, const Split& split) {
    const auto ask = [&](int32_t i, bool asking) {
        return call_application("the evaluation callback", s.eval.function,
                                s.image.node(static_cast<size_t>(i)).tensor, asking, s.eval.data);
    };
    for (int32_t first = split.first; first < split.end;) {
        int32_t wanted = first;
        auto wants = ask(wanted, true);
        while (wants && !*wants && wanted + 1 < split.end) wants = ask(++wanted, true);
        if (!wants) return wants.error();
        if (auto r = run_range(s, split, first, wanted + 1, /*uid=*/0); !r) return r;
        if (auto r = synchronize_stream(s.backends[split.backend]); !r) return r;
        s.order.host_waited(split.backend);
        if (*wants) {
            auto goes_on = ask(wanted, false);
            if (!goes_on) return goes_on.error();
            if (!*goes_on) {
                return fail(TENON_E_CANCELLED, "the evaluation callback stopped the graph at '%s'",
                            s.image.node(static_cast<size_t>(wanted)).tensor->name);
            }
        }
        first = wanted + 1;
    }
    return {};
}

// Addresses alone do not tell a graph from a later one, made where it was; but that has no memory.
bool has_lost_its_memory(const ggml_cgraph& graph) {
    if (graph.n_nodes == 0) return false;
    const ggml_tensor& last = *graph.nodes[graph.n_nodes - 1];
    return !last.data && !is_empty(last);
}

}  // namespace

Result<void> ggml_backend_sched::run_split(Split& split) {
    const int c = split.backend;
    if (auto r = wait_for_all(*this, c); !r) return r;
    if (auto r = make_copies(*this, split); !r) return r;
    if (!order.is_async(c)) {  // it runs on the host, which must see what was just copied there
        if (auto r = wait_for_all(*this, c); !r) return r;
    }
    if (eval.function) return run_with_callback(*this, split);
    return run_range(*this, split, split.first, split.end, split.uid);
}

Result<void> ggml_backend_sched::compute(const ggml_cgraph& graph) {
    if (!image.same(graph) || has_lost_its_memory(graph)) {
        return fail(
            TENON_E_INVALID,
            "the graph of %d nodes is not the one that was allocated, which has %zu: reset first",
            graph.n_nodes, image.nodes.size());
    }
    order.forget();
    ids_known = nullptr;
    eval = eval_callback.get();
    for (size_t i = 0; i < splits.size(); i++) {
        if (splits[i].empty) continue;
        auto r = run_split(splits[i]);
        if (!r) {
            const Split& s = splits[i];
            return fail(r.error().code, "split %zu of %zu (nodes %d to %d) on %s: %s", i,
                        splits.size(), s.first, s.end - 1, ggml_backend_name(backends[s.backend]),
                        r.error().text);
        }
    }
    return {};
}

Result<void> ggml_backend_sched::synchronize() {
    Result<void> first;
    for (int b = 0; b < n; b++) {
        auto r = synchronize_stream(backends[b]);
        order.host_waited(b);
        if (!r && first) first = r;
    }
    return first;
}
