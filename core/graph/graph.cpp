// Graphs in an arena: creation, copies, access, reset. Building is in expand.cpp.

#include "core/graph/graph.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <iterator>

#include "core/base/bits.h"
#include "core/base/pointer_map.h"
#include "core/tensor/context.h"
#include "core/tensor/shape.h"
#include "ggml-backend.h"

namespace tenon {
namespace {

constexpr size_t kPrimes[] = {
    2,        3,        5,        11,        17,        37,        67,         131,
    257,      521,      1031,     2053,      4099,      8209,      16411,      32771,
    65537,    131101,   262147,   524309,    1048583,   2097169,   4194319,    8388617,
    16777259, 33554467, 67108879, 134217757, 268435459, 536870923, 1073741827, 2147483659,
};

// Where the arrays of a graph lie behind its struct.
struct GraphLayout {
    size_t slots = 0;
    size_t nodes = 0, leafs = 0, use_counts = 0, keys = 0, grads = 0, grad_accs = 0, used = 0;
    size_t bytes = 0;
};

Result<GraphLayout> graph_layout(size_t size, bool grads) {
    if (size > INT_MAX) {
        return fail(TENON_E_INVALID, "a graph of %zu nodes: at most %d are possible", size,
                    INT_MAX);
    }
    // No product below can overflow: size < 2^31, slots < 2^34.
    GraphLayout at;
    at.slots = hash_size(2 * size);
    size_t end = sizeof(ggml_cgraph);
    const auto take = [&end](size_t bytes) {
        const size_t start = align_up(end, alignof(void*));
        end = start + bytes;
        return start;
    };
    at.nodes = take(size * sizeof(ggml_tensor*));
    at.leafs = take(size * sizeof(ggml_tensor*));
    at.use_counts = take(at.slots * sizeof(int32_t));
    at.keys = take(at.slots * sizeof(ggml_tensor*));
    if (grads) {
        at.grads = take(at.slots * sizeof(ggml_tensor*));
        at.grad_accs = take(at.slots * sizeof(ggml_tensor*));
    }
    at.used = take(hash_used_words(at.slots) * sizeof(uint32_t));
    at.bytes = end;
    return at;
}

Result<ggml_cgraph*> new_graph(ggml_context* ctx, size_t size, bool grads) {
    if (!ctx) return fail(TENON_E_INVALID, "cannot create a graph in a context that is null");
    const auto layout = graph_layout(size, grads);
    if (!layout) return layout.error();
    const auto payload = new_object(*ctx, GGML_OBJECT_TYPE_GRAPH, layout->bytes);
    if (!payload) return payload.error();

    char* base = static_cast<char*>(*payload);
    const auto tensors = [base](size_t offset) {
        return reinterpret_cast<ggml_tensor**>(base + offset);
    };
    auto* graph = new (base) ggml_cgraph{};
    graph->size = static_cast<int>(size);
    graph->nodes = tensors(layout->nodes);
    graph->leafs = tensors(layout->leafs);
    graph->use_counts = reinterpret_cast<int32_t*>(base + layout->use_counts);
    graph->visited_hash_set.size = layout->slots;
    graph->visited_hash_set.keys = tensors(layout->keys);
    graph->visited_hash_set.used = reinterpret_cast<uint32_t*>(base + layout->used);
    if (grads) {
        graph->grads = tensors(layout->grads);
        graph->grad_accs = tensors(layout->grad_accs);
        std::fill_n(graph->grads, layout->slots, nullptr);
        std::fill_n(graph->grad_accs, layout->slots, nullptr);
    }
    graph->order = GGML_CGRAPH_EVAL_ORDER_LEFT_TO_RIGHT;
    hash_clear(graph->visited_hash_set);
    return graph;
}

Error null_graph() { return fail(TENON_E_INVALID, "the graph is null"); }

// The entry of an array indexed by slot; NULL for tensors outside the set.
ggml_tensor* entry_of(const ggml_cgraph* graph, ggml_tensor* const* array,
                      const ggml_tensor* tensor) {
    if (!graph || !array || !tensor) return nullptr;
    const size_t slot = hash_find(graph->visited_hash_set, tensor);
    if (slot == kHashFull || !hash_slot_used(graph->visited_hash_set, slot)) return nullptr;
    return array[slot];
}

Result<void> start_gradient(const ggml_tensor& node, ggml_tensor& grad_acc) {
    if (!(node.flags & GGML_TENSOR_FLAG_LOSS)) {
        ggml_set_zero(&grad_acc);
        return {};
    }
    if (grad_acc.type != GGML_TYPE_F32 || !is_scalar(grad_acc)) {
        return fail(TENON_E_INVALID, "gradient '%s' of the loss is not one f32 element",
                    grad_acc.name);
    }
    const float one = 1.0f;
    if (grad_acc.buffer) {
        ggml_backend_tensor_set(&grad_acc, &one, 0, sizeof one);
    } else if (grad_acc.data) {
        std::memcpy(grad_acc.data, &one, sizeof one);
    } else {
        return fail(TENON_E_INVALID, "gradient '%s' of the loss has no memory", grad_acc.name);
    }
    return {};
}

Result<void> reset_gradients(const ggml_cgraph& graph) {
    if (!graph.grad_accs) {
        return fail(TENON_E_INVALID, "cannot reset a graph that was made without gradients");
    }
    for (int i = 0; i < graph.n_nodes; ++i) {
        const ggml_tensor* node = graph.nodes[i];
        if (node->op == GGML_OP_OPT_STEP_ADAMW) {  // its moments
            ggml_set_zero(node->src[2]);
            ggml_set_zero(node->src[3]);
        }
        ggml_tensor* grad_acc = entry_of(&graph, graph.grad_accs, node);
        if (!grad_acc) continue;
        const auto started = start_gradient(*node, *grad_acc);
        if (!started) return started.error();
    }
    return {};
}

}  // namespace

size_t hash_size(size_t n) {
    const size_t* prime = std::lower_bound(std::begin(kPrimes), std::end(kPrimes), n);
    return prime != std::end(kPrimes) ? *prime : n | 1;
}

void hash_clear(ggml_hash_set& set) { std::fill_n(set.used, hash_used_words(set.size), 0u); }

Result<size_t> graph_bytes(size_t size, bool grads) {
    const auto layout = graph_layout(size, grads);
    if (!layout) return layout.error();
    return layout->bytes;
}

ggml_cgraph graph_view(const ggml_cgraph& graph, int first, int end) {
    ggml_cgraph view{};
    view.n_nodes = end - first;
    view.nodes = graph.nodes + first;
    view.use_counts = graph.use_counts;
    view.visited_hash_set = graph.visited_hash_set;
    view.order = graph.order;
    return view;
}

void mark_incomplete(ggml_cgraph& graph) {
    graph.order = static_cast<ggml_cgraph_eval_order>(graph.order | TENON_CGRAPH_INCOMPLETE);
}

Error order_error(const ggml_tensor& node, const ggml_tensor& source) {
    if (&node == &source) {
        return fail(TENON_E_INVALID, "node '%s' (%s) is its own source", node.name,
                    ggml_op_desc(&node));
    }
    return fail(TENON_E_INVALID,
                "node '%s' (%s) reads '%s' (%s), which comes after it in the graph", node.name,
                ggml_op_desc(&node), source.name, ggml_op_desc(&source));
}

Result<void> check_order(std::span<ggml_tensor* const> nodes) {
    PointerMap position;
    position.reserve(nodes.size());
    for (size_t i = nodes.size(); i-- > 0;) position.set(nodes[i], static_cast<int32_t>(i));
    for (size_t i = 0; i < nodes.size(); ++i) {
        for (int k = 0; k < GGML_MAX_SRC; ++k) {
            const ggml_tensor* source = nodes[i]->src[k];
            if (!source || !is_read_in_order(*nodes[i], k)) continue;
            if (position.find(source) >= static_cast<int32_t>(i)) {
                return order_error(*nodes[i], *source);
            }
        }
    }
    return {};
}

Result<void> append_node(ggml_cgraph& graph, ggml_tensor* tensor) {
    if (!tensor || graph.n_nodes >= graph.size) {
        mark_incomplete(graph);
        if (!tensor) return fail(TENON_E_INVALID, "cannot add a tensor that is null to a graph");
        return fail(TENON_E_INVALID, "graph is full: it has room for %d nodes", graph.size);
    }
    for (int k = 0; k < GGML_MAX_SRC; ++k) {
        if (tensor->src[k] != tensor || !is_read_in_order(*tensor, k)) continue;
        mark_incomplete(graph);
        return order_error(*tensor, *tensor);
    }
    graph.nodes[graph.n_nodes++] = tensor;
    return {};
}

Result<void> copy_graph(const ggml_cgraph& src, ggml_cgraph& dst) {
    const ggml_hash_set& keys = src.visited_hash_set;
    if (dst.size < src.n_nodes || dst.size < src.n_leafs || dst.visited_hash_set.size < keys.size) {
        return fail(TENON_E_INVALID,
                    "graph of %d nodes and %d leafs does not fit into one of size %d", src.n_nodes,
                    src.n_leafs, dst.size);
    }
    if (src.grads && !dst.grads) {
        return fail(TENON_E_INVALID, "graph with gradients cannot be copied into one without");
    }
    dst.n_nodes = src.n_nodes;
    dst.n_leafs = src.n_leafs;
    dst.order = src.order;
    std::copy_n(src.nodes, src.n_nodes, dst.nodes);
    std::copy_n(src.leafs, src.n_leafs, dst.leafs);

    if (dst.grads) {
        std::fill_n(dst.grads, dst.visited_hash_set.size, nullptr);
        std::fill_n(dst.grad_accs, dst.visited_hash_set.size, nullptr);
    }
    for (size_t slot = 0; slot < keys.size; ++slot) {
        if (!hash_slot_used(keys, slot)) continue;
        const size_t to = hash_find(dst.visited_hash_set, keys.keys[slot]);
        if (to == kHashFull) {
            mark_incomplete(dst);
            return fail(TENON_E_INVALID, "graph copied into one that was not cleared");
        }
        hash_occupy(dst.visited_hash_set, to, keys.keys[slot]);
        dst.use_counts[to] = src.use_counts[slot];
    }
    if (!src.grads) return {};
    for (int i = 0; i < src.n_nodes; ++i) {
        const size_t from = hash_find(keys, src.nodes[i]);
        const size_t to = hash_find(dst.visited_hash_set, src.nodes[i]);
        if (from == kHashFull || !hash_slot_used(keys, from)) continue;  // added without its set
        dst.grads[to] = src.grads[from];
        dst.grad_accs[to] = src.grad_accs[from];
    }
    return {};
}

}  // namespace tenon

using namespace tenon;

extern "C" ggml_cgraph* ggml_new_graph(ggml_context* ctx) {
    return ggml_new_graph_custom(ctx, GGML_DEFAULT_GRAPH_SIZE, false);
}

extern "C" ggml_cgraph* ggml_new_graph_custom(ggml_context* ctx, size_t size, bool grads) {
    return guard<ggml_cgraph*>(nullptr, [&] { return new_graph(ctx, size, grads); });
}

extern "C" size_t ggml_graph_overhead() {
    return ggml_graph_overhead_custom(GGML_DEFAULT_GRAPH_SIZE, false);
}

extern "C" size_t ggml_graph_overhead_custom(size_t size, bool grads) {
    return guard<size_t>(0, [&]() -> Result<size_t> {
        const auto bytes = graph_bytes(size, grads);
        if (!bytes) return bytes.error();
        return sizeof(ggml_object) + align_up(*bytes, GGML_MEM_ALIGN);
    });
}

extern "C" ggml_cgraph* ggml_graph_dup(ggml_context* ctx, ggml_cgraph* cgraph, bool force_grads) {
    return guard<ggml_cgraph*>(nullptr, [&]() -> Result<ggml_cgraph*> {
        if (!cgraph) return null_graph();
        // A view has no size of its own, but the set of the graph below it.
        const size_t size = cgraph->size > 0 ? static_cast<size_t>(cgraph->size)
                                             : (cgraph->visited_hash_set.size + 1) / 2;
        auto copy = new_graph(ctx, size, cgraph->grads || force_grads);
        if (!copy) return copy;
        const auto copied = copy_graph(*cgraph, **copy);
        if (!copied) return copied.error();
        return copy;
    });
}

extern "C" void ggml_graph_cpy(ggml_cgraph* src, ggml_cgraph* dst) {
    guard_void([&]() -> Result<void> {
        if (!src || !dst) return null_graph();
        const auto copied = copy_graph(*src, *dst);
        if (!copied) mark_incomplete(*dst);
        return copied;
    });
}

extern "C" void ggml_graph_reset(ggml_cgraph* cgraph) {
    guard_void([&]() -> Result<void> {
        if (!cgraph) return {};
        return reset_gradients(*cgraph);
    });
}

extern "C" void ggml_graph_clear(ggml_cgraph* cgraph) {
    if (!cgraph) return;
    cgraph->n_nodes = 0;
    cgraph->n_leafs = 0;
    cgraph->order = eval_order(*cgraph);
    hash_clear(cgraph->visited_hash_set);
}

extern "C" int ggml_graph_size(ggml_cgraph* cgraph) { return cgraph ? cgraph->size : 0; }
extern "C" int ggml_graph_n_nodes(ggml_cgraph* cgraph) { return cgraph ? cgraph->n_nodes : 0; }
extern "C" ggml_tensor** ggml_graph_nodes(ggml_cgraph* cgraph) {
    return cgraph ? cgraph->nodes : nullptr;
}

extern "C" ggml_tensor* ggml_graph_node(ggml_cgraph* cgraph, int i) {
    return guard<ggml_tensor*>(nullptr, [&]() -> Result<ggml_tensor*> {
        if (!cgraph) return null_graph();
        const int index = i < 0 ? cgraph->n_nodes + i : i;
        if (index < 0 || index >= cgraph->n_nodes) {
            return fail(TENON_E_INVALID, "graph has no node %d: it has %d", i, cgraph->n_nodes);
        }
        return cgraph->nodes[index];
    });
}

extern "C" void ggml_graph_add_node(ggml_cgraph* cgraph, ggml_tensor* tensor) {
    guard_void([&]() -> Result<void> {
        if (!cgraph) return null_graph();
        return append_node(*cgraph, tensor);
    });
}

extern "C" ggml_tensor* ggml_graph_get_tensor(const ggml_cgraph* cgraph, const char* name) {
    if (!cgraph || !name) return nullptr;
    for (int i = 0; i < cgraph->n_leafs; ++i) {
        ggml_tensor* leaf = cgraph->leafs[i];
        if (leaf && std::strcmp(leaf->name, name) == 0) return leaf;
    }
    for (int i = 0; i < cgraph->n_nodes; ++i) {
        ggml_tensor* node = cgraph->nodes[i];
        if (node && std::strcmp(node->name, name) == 0) return node;
    }
    return nullptr;
}

extern "C" ggml_tensor* ggml_graph_get_grad(const ggml_cgraph* cgraph, const ggml_tensor* node) {
    return entry_of(cgraph, cgraph ? cgraph->grads : nullptr, node);
}

extern "C" ggml_tensor* ggml_graph_get_grad_acc(const ggml_cgraph* cgraph,
                                                const ggml_tensor* node) {
    return entry_of(cgraph, cgraph ? cgraph->grad_accs : nullptr, node);
}
