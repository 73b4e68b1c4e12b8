// Graphs: lists of nodes and leafs, and the set of tensors they were built from.
//
// The C API over them is in ggml.h; here is what other rooms of the core use. A graph belongs to
// one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "ggml.h"
#include "ggml/src/ggml-impl.h"

namespace tenon {

// ---- the set of tensors -----------------------------------------------------------------------
// Open addressing with linear probing; nothing is ever removed alone. A tensor's slot also indexes
// use_counts, grads and grad_accs of its graph.

constexpr size_t kHashFull = static_cast<size_t>(-1);           // no such key and no room for it
constexpr size_t kHashAlreadyExists = static_cast<size_t>(-2);  // nothing inserted

// Slots a set needs for n keys: a prime where the list of primes reaches.
size_t hash_size(size_t n);

// Words of 32 bits that hold one bit per slot.
constexpr size_t hash_used_words(size_t slots) { return (slots + 31) / 32; }

inline bool hash_slot_used(const ggml_hash_set& set, size_t slot) {
    return (set.used[slot / 32] >> (slot % 32)) & 1u;
}

// The slot of `key`, or the free slot where it would go, or kHashFull.
inline size_t hash_find(const ggml_hash_set& set, const ggml_tensor* key) {
    if (set.size == 0) return kHashFull;
    const size_t start = (reinterpret_cast<uintptr_t>(key) >> 4) % set.size;
    size_t slot = start;
    while (hash_slot_used(set, slot) && set.keys[slot] != key) {
        if (++slot == set.size) slot = 0;
        if (slot == start) return kHashFull;
    }
    return slot;
}

inline bool hash_contains(const ggml_hash_set& set, const ggml_tensor* key) {
    const size_t slot = hash_find(set, key);
    return slot != kHashFull && hash_slot_used(set, slot);
}

inline void hash_occupy(ggml_hash_set& set, size_t slot, ggml_tensor* key) {
    set.used[slot / 32] |= 1u << (slot % 32);
    set.keys[slot] = key;
}

// The new slot of `key`, or kHashAlreadyExists, or kHashFull.
inline size_t hash_insert(ggml_hash_set& set, ggml_tensor* key) {
    const size_t slot = hash_find(set, key);
    if (slot == kHashFull) return kHashFull;
    if (hash_slot_used(set, slot)) return kHashAlreadyExists;
    hash_occupy(set, slot, key);
    return slot;
}

void hash_clear(ggml_hash_set& set);

// ---- graphs -----------------------------------------------------------------------------------

// Bytes a graph takes in an arena, its object record not counted; error when no such graph can
// exist.
Result<size_t> graph_bytes(size_t size, bool grads);

// Nodes [first, end) of a graph as a graph of its own, which nothing can be added to. It borrows
// the nodes, use counts and set of `graph`, and must not outlive it.
ggml_cgraph graph_view(const ggml_cgraph& graph, int first, int end);

// The order without the bit beside it.
inline ggml_cgraph_eval_order eval_order(const ggml_cgraph& graph) {
    return static_cast<ggml_cgraph_eval_order>(graph.order & ~TENON_CGRAPH_INCOMPLETE);
}

// Whether something could not be added, so that the graph must not be computed.
inline bool is_incomplete(const ggml_cgraph& graph) {
    const bool is_sound =
        graph.n_nodes >= 0 && graph.n_leafs >= 0 && (graph.n_nodes == 0 || graph.nodes);
    return !is_sound || (graph.order & TENON_CGRAPH_INCOMPLETE) != 0;
}
void mark_incomplete(ggml_cgraph& graph);

// How many edges of the graph start at the tensor: 0 for one that is not in its set.
inline int32_t use_count(const ggml_cgraph& graph, const ggml_tensor* tensor) {
    const size_t slot = hash_find(graph.visited_hash_set, tensor);
    if (slot == kHashFull || !hash_slot_used(graph.visited_hash_set, slot)) return 0;
    return graph.use_counts[slot];
}

// Adds a tensor with all it depends on, sources before users. With `compute`, everything that
// leads to it is flagged for computation; without, the call only fixes the order. On failure the
// graph is marked incomplete.
Result<void> expand(ggml_cgraph& graph, ggml_tensor* tensor, bool compute);

// Fails where a node reads one of the nodes after it, or itself: then there is no order in which
// they could be computed. Throws std::bad_alloc.
Result<void> check_order(std::span<ggml_tensor* const> nodes);

// That failure, as a text: `node` reads `source`, which is it or comes later.
Error order_error(const ggml_tensor& node, const ggml_tensor& source);

// Whether a node is source i of its own: a conversion is made as if its result were copied into
// itself, which is no reading of it.
inline bool is_cast_target(const ggml_tensor& node, int i) {
    return i == 1 && node.op == GGML_OP_CPY && node.src[i] == &node;
}

// Whether source i, which is not NULL, has to be computed before the node; a tensor without an op
// has its values wherever it stands.
inline bool is_read_in_order(const ggml_tensor& node, int i) {
    return (node.src[i]->op != GGML_OP_NONE || node.src[i] == &node) && !is_cast_target(node, i);
}

// Appends a node as it is: nothing visited, named, hashed or flagged.
Result<void> append_node(ggml_cgraph& graph, ggml_tensor* tensor);

// Copies nodes, leafs, set, use counts and gradients of nodes into a fresh or cleared graph.
Result<void> copy_graph(const ggml_cgraph& src, ggml_cgraph& dst);

}  // namespace tenon
