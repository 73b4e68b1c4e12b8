// Planning a run: which nodes compute, whether they keep the rules and the device takes them, and
// the scratch they need. What was found out about a graph is kept under its uid, and under a hash
// of all that rules and verdicts depend on (plugin-abi.md section 12), so that a graph of known
// shape costs no query.

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/base/bits.h"
#include "core/graph/graph.h"
#include "core/ops/recheck.h"
#include "core/stream/stream.h"
#include "core/tensor/shape.h"
#include "tenon/tensor.h"

namespace tenon {
namespace {

// ---- the signature of a node -------------------------------------------------------------------

// Mixes words two at a time: the halves of a 128-bit product, as in wyhash.
class Hash {
public:
    void add(uint64_t a, uint64_t b) {
        const auto product = static_cast<unsigned __int128>(a ^ state_) * (b ^ kOdd);
        state_ = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ kStep;
    }
    // `bytes` is a multiple of 16.
    void add_bytes(const void* from, size_t bytes) {
        const char* p = static_cast<const char*>(from);
        for (size_t i = 0; i < bytes; i += 16) {
            uint64_t words[2];
            std::memcpy(words, p + i, 16);
            add(words[0], words[1]);
        }
    }
    uint64_t value() const { return state_; }

private:
    static constexpr uint64_t kOdd = 0xe7037ed1a0b428dbu, kStep = 0x8ebc6af09c88c6e3u;
    uint64_t state_ = 0xa0761d6478bd642fu;
};

const ggml_tensor* root_of(const ggml_tensor& t) { return t.view_src ? t.view_src : &t; }

// How far into an element (block) of the viewed tensor a view begins.
uint64_t into_element(const ggml_tensor& t) {
    if (!t.view_src || !is_usable_type(t.type)) return 0;
    const size_t bytes = tenon_types[t.type].bytes;
    return is_power_of_two(bytes) ? t.view_offs & (bytes - 1) : t.view_offs % bytes;
}

// Type, memory and place in it; shape and strides are added by the caller.
uint64_t memory_word(const ggml_tensor& t) {
    const ggml_backend_buffer* buffer = tenon_effective_buffer(&t);
    const uintptr_t base = buffer ? reinterpret_cast<uintptr_t>(buffer->head.base) : 0;
    const size_t alignment = buffer ? buffer->type->alignment : 64;
    const uint64_t offset = (reinterpret_cast<uintptr_t>(t.data) - base) & (alignment - 1);
    const uint64_t flags = buffer ? buffer->head.buft_flags : 0;
    return (static_cast<uint64_t>(t.type) | flags << 8 | offset << 24) ^ into_element(t) << 52;
}

// ne and nb; then op, op_params and flags.
constexpr size_t kShapeBegin = offsetof(ggml_tensor, ne), kShapeEnd = offsetof(ggml_tensor, op);
constexpr size_t kOpEnd = offsetof(ggml_tensor, src);
static_assert((kShapeEnd - kShapeBegin) % 16 == 0 && (kOpEnd - kShapeEnd) % 16 == 8);

// Who reads whom, by distances in memory: of each node to the one before it and to the sources that
// are computed. Equal distances mean the same order. Weights may lie anywhere and do not count.
class Topology {
public:
    void add(const ggml_tensor& node) {
        if (before_) mix(distance(node, *before_));
        before_ = &node;
    }
    // Of a node that computes nothing: those who read it are told apart by what it looks at.
    void add_unread(const ggml_tensor& node) {
        add(node);
        if (const ggml_tensor* src = node.src[0]; src && src->op != GGML_OP_NONE) {
            mix(distance(*src, node));
        }
    }
    uint64_t take() { return std::exchange(word_, 0); }
    static uint64_t distance(const ggml_tensor& to, const ggml_tensor& from) {
        return reinterpret_cast<uintptr_t>(&to) - reinterpret_cast<uintptr_t>(&from);
    }

private:
    void mix(uint64_t distance) { word_ = (word_ ^ distance) * 0x9e3779b97f4a7c15u; }

    const ggml_tensor* before_ = nullptr;
    uint64_t word_ = 0;
};

// A source: which one, whether it shares memory with the node, by which op it was made, how far
// away.
uint64_t source_word(const ggml_tensor& node, const ggml_tensor& src, uint64_t i, bool topology) {
    const uint64_t shares_memory = root_of(src) == root_of(node) ? 1 : 0;
    const bool ordered = topology && src.op != GGML_OP_NONE;
    const uint64_t distance = ordered ? Topology::distance(src, node) : 0;
    return distance << 12 | static_cast<uint64_t>(src.op & 0x7f) << 5 | i << 1 | shares_memory;
}

void add_node(Hash& hash, const ggml_tensor& node, uint64_t place, bool topology) {
    const char* bytes = reinterpret_cast<const char*>(&node);
    hash.add_bytes(bytes + kShapeBegin, kOpEnd - kShapeBegin - 8);
    uint64_t last;
    std::memcpy(&last, bytes + kOpEnd - 8, 8);
    hash.add(last, memory_word(node) ^ place);
    for (uint64_t i = 0; i < GGML_MAX_SRC; ++i) {
        const ggml_tensor* src = node.src[i];
        if (!src) continue;
        hash.add_bytes(&src->ne, kShapeEnd - kShapeBegin);
        hash.add(memory_word(*src), source_word(node, *src, i, topology));
    }
}

// ---- checks ------------------------------------------------------------------------------------

// Checks the memory of operands of one device; remembers the last type that was fine.
class OperandCheck {
public:
    explicit OperandCheck(const ggml_backend_device& device) : device_(device) {}

    Result<void> operator()(const ggml_tensor& node) {
        if (!fits(node)) return why_not(node, node, -1);
        for (int i = 0; i < GGML_MAX_SRC; ++i) {
            const ggml_tensor* src = node.src[i];
            if (src && !fits(*src)) return why_not(node, *src, i);
        }
        return {};
    }

private:
    // Usable memory, and for a view all of it: how large the viewed tensor is stands in no
    // signature.
    bool fits(const ggml_tensor& operand) {
        const ggml_backend_buffer* buffer = tenon_effective_buffer(&operand);
        const bool usable = buffer ? accepts(*buffer->type) : device_.can(TENON_CAP_READS_HOST);
        if (!operand.data) return usable && is_empty(operand);
        return usable && is_inside(operand);
    }
    Error why_not(const ggml_tensor& node, const ggml_tensor& operand, int src) const {
        const ggml_backend_buffer* buffer = tenon_effective_buffer(&operand);
        char which[32] = "its result";
        if (src >= 0) std::snprintf(which, sizeof which, "source %d", src);
        if (!operand.data) {
            return fail(TENON_E_INVALID, "node '%s' (%s): %s has no memory", node.name,
                        ggml_op_name(node.op), which);
        }
        if (auto ok = check_inside(operand); !ok) {
            return fail(TENON_E_INVALID, "node '%s' (%s): %s", node.name, ggml_op_name(node.op),
                        ok.error().text);
        }
        return fail(TENON_E_INVALID, "node '%s' (%s): device '%s' cannot use %s, which lies in %s",
                    node.name, ggml_op_name(node.op), device_.name.c_str(), which,
                    buffer ? buffer->type->name.c_str() : "memory of a context");
    }
    bool accepts(const ggml_backend_buffer_type& type) {
        if (&type == last_) return true;
        if (!supports_buft(device_, type)) return false;
        last_ = &type;
        return true;
    }
    const ggml_backend_device& device_;
    const ggml_backend_buffer_type* last_ = nullptr;
};

bool computes(const ggml_tensor& node) {
    return !tenon_is_view_op(node.op) && (node.flags & GGML_TENSOR_FLAG_COMPUTE) && !is_empty(node);
}

// Whether the application may look at what a node leaves behind: it gave the node memory itself,
// instead of leaving that to an allocator of graphs, which gives it to others later.
bool is_placed_by_application(const ggml_tensor& node) {
    const ggml_backend_buffer* buffer = tenon_effective_buffer(&node);
    return !buffer || buffer->head.usage != GGML_BACKEND_BUFFER_USAGE_COMPUTE;
}

int32_t use_count_of(const NodeList& list, size_t i) {
    const ggml_tensor* node = list.nodes[i];
    if (node->flags & (GGML_TENSOR_FLAG_OUTPUT | GGML_TENSOR_FLAG_LOSS)) return -1;
    if (list.use_counts) return list.use_counts[i];
    if (is_placed_by_application(*node)) return -1;
    if (!list.graph || !list.graph->use_counts) return -1;
    const ggml_hash_set& set = list.graph->visited_hash_set;
    const size_t slot = hash_find(set, node);
    const bool known = slot != kHashFull && hash_slot_used(set, slot);
    return known ? list.graph->use_counts[slot] : -1;
}

// Fills nodes and use counts of the graph; gives the graph's signature. `check` NULL: the tensors
// may lack memory.
Result<uint64_t> collect(const NodeList& list, OperandCheck* check, PlannedGraph& graph) {
    graph.nodes.clear();
    graph.use_counts.clear();
    Hash hash;
    Topology topology;
    for (size_t i = 0; i < list.n; ++i) {
        ggml_tensor* node = list.nodes[i];
        if (!node) return fail(TENON_E_INVALID, "node %zu of %zu is null", i, list.n);
        if (!computes(*node)) {
            if (!list.ordered) topology.add_unread(*node);
            continue;
        }
        if (!list.ordered) topology.add(*node);
        if (check) {
            if (auto ok = (*check)(*node); !ok) return ok.error();
        }
        add_node(hash, *node, topology.take(), !list.ordered);
        graph.nodes.push_back(node);
        graph.use_counts.push_back(use_count_of(list, i));
    }
    hash.add(graph.nodes.size(), topology.take());
    return hash.value();
}

struct Judgement {
    size_t workspace = 0;
    bool cacheable = true;
};

// The rules, then the device about all nodes. With the cost model on: without it a plugin need not
// say how much scratch it wants.
Result<Judgement> judge(ggml_backend& stream, const NodeList& list, const PlannedGraph& graph) {
    for (const ggml_tensor* node : graph.nodes) {
        if (auto ok = check_node(*node); !ok) return ok.error();
    }
    if (!list.ordered) {
        if (auto ok = check_order({list.nodes, list.n}); !ok) return ok.error();
    }
    std::vector<tenon_op_verdict>& verdicts = stream.scratch->verdicts;
    verdicts.resize(graph.nodes.size());
    if (auto ok = query_ops(stream.device, graph.nodes.data(), graph.nodes.size(), verdicts.data(),
                            /*want_cost=*/true);
        !ok) {
        return ok.error();
    }
    Judgement result;
    for (size_t i = 0; i < verdicts.size(); ++i) {
        const tenon_op_verdict& verdict = verdicts[i];
        if (verdict.support == TENON_SUPPORT_NO) {
            const ggml_tensor& node = *graph.nodes[i];
            return fail(TENON_E_UNSUPPORTED, "node '%s' (%s): device '%s' refuses it: %s",
                        node.name, ggml_op_desc(&node), stream.device->name.c_str(),
                        refusal_text(verdict));
        }
        result.workspace = std::max<size_t>(result.workspace, verdict.workspace);
        result.cacheable = result.cacheable && (verdict.flags & TENON_VERDICT_CACHEABLE);
    }
    return result;
}

// The entry of `entries` that `matches`, else the one least recently used.
template <class Entries, class Matches>
auto& find_or_oldest(Entries&& entries, Matches&& matches) {
    auto found = std::find_if(std::begin(entries), std::end(entries), matches);
    if (found != std::end(entries)) return *found;
    return *std::min_element(std::begin(entries), std::end(entries),
                             [](auto& a, auto& b) { return a.last_use < b.last_use; });
}

// Workspace by signature, asking the device when it is new.
Result<size_t> workspace_of(ggml_backend& stream, const NodeList& list, const PlannedGraph& graph,
                            uint64_t hash) {
    if (graph.nodes.empty()) return size_t{0};
    ggml_backend::Scratch& scratch = *stream.scratch;
    auto& known = find_or_oldest(scratch.signatures, [&](const auto& entry) {
        return entry.last_use != 0 && entry.hash == hash;
    });
    if (known.last_use == 0 || known.hash != hash) {
        auto judgement = judge(stream, list, graph);
        if (!judgement) return judgement.error();
        if (!judgement->cacheable) return judgement->workspace;
        known.hash = hash;
        known.workspace = judgement->workspace;
    }
    known.last_use = scratch.clock;
    return known.workspace;
}

}  // namespace

Result<PlannedGraph*> plan_nodes(ggml_backend& stream, const NodeList& list) {
    ggml_backend::Scratch& scratch = *stream.scratch;
    ++scratch.clock;
    const std::span<PlannedGraph> named = std::span(scratch.graphs).subspan(1);
    PlannedGraph& graph =
        list.uid == 0 ? scratch.graphs[0] : find_or_oldest(named, [&](const PlannedGraph& entry) {
            return entry.uid == list.uid && entry.n_given == list.n;
        });
    graph.last_use = scratch.clock;
    if (list.uid != 0 && graph.uid == list.uid && graph.n_given == list.n) return &graph;

    graph.uid = 0;  // nothing, until all of it is known
    graph.data_hash = 0;
    OperandCheck check(*stream.device);
    auto hash = collect(list, &check, graph);
    if (!hash) return hash.error();
    auto workspace = workspace_of(stream, list, graph, *hash);
    if (!workspace) return workspace.error();
    graph.workspace = *workspace;
    graph.uid = list.uid;
    graph.n_given = list.n;
    return &graph;
}

Result<size_t> workspace_of_nodes(ggml_backend& stream, const NodeList& list) {
    PlannedGraph& graph = stream.scratch->graphs[0];
    graph.uid = 0;
    ++stream.scratch->clock;
    auto hash = collect(list, nullptr, graph);
    if (!hash) return hash.error();
    return workspace_of(stream, list, graph, *hash);
}

Result<NodeList> nodes_of(const ggml_cgraph* graph) {
    if (!graph) return fail(TENON_E_INVALID, "graph is null");
    if (is_incomplete(*graph)) {
        return fail(TENON_E_INVALID, "graph is incomplete: something could not be added to it");
    }
    NodeList list;
    list.nodes = graph->nodes;
    list.n = static_cast<size_t>(graph->n_nodes);
    list.uid = graph->uid;
    list.graph = graph;
    return list;
}

}  // namespace tenon
