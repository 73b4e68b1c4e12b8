// Compute memory: the graph as the graph allocator is to see it, with the copies where they are
// made, and the addresses written back to the application's tensors.

#include "core/base/log.h"
#include "core/placement/scheduler.h"

using namespace tenon;
using namespace tenon::placement;

namespace {

// A view without an op at the start of a split keeps the original alive until it has been copied.
ggml_tensor* keep_alive(HeaderArena& headers, ggml_tensor& original) {
    ggml_tensor* t = headers.next();
    *t = ggml_tensor{};
    t->type = original.type;
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        t->ne[d] = original.ne[d];
        t->nb[d] = original.nb[d];
    }
    t->view_src = original.view_src ? original.view_src : &original;
    t->view_offs = original.view_src ? original.view_offs : 0;
    t->src[0] = &original;
    return t;
}

ggml_cgraph as_graph(std::vector<ggml_tensor*>& nodes, std::vector<ggml_tensor*>& leafs) {
    ggml_cgraph graph{};
    graph.n_nodes = static_cast<int>(nodes.size());
    graph.n_leafs = static_cast<int>(leafs.size());
    graph.size = std::max(graph.n_nodes, graph.n_leafs);
    graph.nodes = nodes.data();
    graph.leafs = leafs.data();
    return graph;
}

Error no_memory(const char* what, size_t n_nodes) {
    return fail(TENON_E_NO_DEVICE_MEMORY, "cannot %s compute memory for a graph of %zu nodes", what,
                n_nodes);
}

}  // namespace

void ggml_backend_sched::plan() {
    plan_nodes.clear();
    plan_leafs.clear();
    plan_node_ids.clear();
    plan_leaf_ids.clear();
    plan_types.clear();
    const auto add = [&](ggml_tensor* t, int b) {
        plan_nodes.push_back(t);
        plan_node_ids.push_back(b);
        plan_types.push_back(bufts[b]);
    };
    for (size_t i = 0; i < image.n_leafs; i++) {
        const Item& x = image.items[i];
        plan_leafs.push_back(x.image);
        plan_leaf_ids.push_back(x.backend);
        plan_types.push_back(bufts[x.backend]);
    }
    for (const Split& s : splits) {
        for (int32_t c = s.copies_first; c < s.copies_end; c++) {
            const Item& x = image.items[copies[c].item];
            if (!x.placed) add(keep_alive(headers, *x.image), x.backend);
            add(copies[c].tensor, copies[c].backend);
        }
        for (int32_t i = s.first; i < s.end; i++) {
            add(node_images[static_cast<size_t>(i)], image.node(static_cast<size_t>(i)).backend);
        }
    }
    owned.clear();
    for (size_t i = 0; i < image.items.size(); i++) {
        const ggml_tensor& t = *image.items[i].tensor;
        if (!t.data && !t.buffer) owned.push_back(static_cast<int32_t>(i));
    }
}

Result<void> ggml_backend_sched::reserve(const ggml_cgraph& graph) {
    if (auto r = synchronize(); !r) return r;
    if (auto r = split(graph); !r) return r;
    make_images();
    plan();
    ggml_cgraph planned = as_graph(plan_nodes, plan_leafs);
    reserved_types.clear();
    if (!ggml_gallocr_reserve_n(galloc.get(), &planned, plan_node_ids.data(),
                                plan_leaf_ids.data())) {
        return no_memory("reserve", image.nodes.size());
    }
    reserved_types = plan_types;
    return {};
}

Result<void> ggml_backend_sched::measure(const ggml_cgraph& graph, size_t* sizes) {
    if (auto r = synchronize(); !r) return r;
    if (auto r = split(graph); !r) return r;
    make_images();
    plan();
    ggml_cgraph planned = as_graph(plan_nodes, plan_leafs);
    ggml_gallocr_reserve_n_size(galloc.get(), &planned, plan_node_ids.data(), plan_leaf_ids.data(),
                                sizes);
    return {};
}

Result<void> ggml_backend_sched::allocate(const ggml_cgraph& graph) {
    if (auto r = split(graph); !r) return r;
    make_images();
    plan();
    ggml_cgraph planned = as_graph(plan_nodes, plan_leafs);
    bool done = false;
    if (plan_types == reserved_types) done = ggml_gallocr_alloc_graph(galloc.get(), &planned);
    if (!done) {
        const bool same_size = plan_types.size() == reserved_types.size();
        if (debug_realloc > 1 || (debug_realloc == 1 && same_size && !reserved_types.empty())) {
            return fail(TENON_E_INVALID,
                        "compute memory must be reserved again for a graph of %zu nodes, and "
                        "GGML_SCHED_DEBUG_REALLOC is %d",
                        image.nodes.size(), debug_realloc);
        }
        // The buffers may be made anew: nobody may still work in the old ones.
        if (auto r = synchronize(); !r) return r;
        reserved_types.clear();
        done = ggml_gallocr_reserve_n(galloc.get(), &planned, plan_node_ids.data(),
                                      plan_leaf_ids.data()) &&
               ggml_gallocr_alloc_graph(galloc.get(), &planned);
        if (!done) {
            disown();
            return no_memory("allocate", image.nodes.size());
        }
        reserved_types = plan_types;
    }
    write_back();
    state = State::kAllocated;
    return {};
}

// The application's tensors get the memory their images got.
void ggml_backend_sched::write_back() {
    for (const int32_t at : owned) {
        const Item& x = image.items[at];
        if (x.image == x.tensor) continue;
        x.tensor->data = x.image->data;
        x.tensor->buffer = x.image->buffer;
        x.tensor->extra = x.image->extra;
    }
}

// After a failure no tensor of the application points into memory of ours.
void ggml_backend_sched::disown() {
    for (const int32_t at : owned) {
        ggml_tensor& t = *image.items[at].tensor;
        t.data = nullptr;
        t.buffer = nullptr;
    }
}
