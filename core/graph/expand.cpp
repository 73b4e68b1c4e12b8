// Building graphs forward: a depth-first walk from a tensor to its sources, without recursion.

#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor/context.h"

namespace tenon {
namespace {

// A tensor whose sources are being visited.
struct Frame {
    ggml_tensor* tensor;
    size_t slot;
    int next;     // how many of the source slots are done
    bool is_new;  // not seen before: will be appended once its sources are
};

// Set in the use count of a tensor whose sources are being visited: whoever reaches it again
// meanwhile is one of the tensors it needs.
constexpr int32_t kOpen = INT32_MIN;

// Stacks of walks that have ended, kept so that building graph after graph allocates nothing. Not
// one per thread: what has a destructor there ends the process when memory is out (per_thread.h).
class IdleStacks {
public:
    std::vector<Frame> take() {
        const std::lock_guard lock(mutex_);
        return n_ > 0 ? std::move(stacks_[--n_]) : std::vector<Frame>();
    }
    void give_back(std::vector<Frame>&& stack) {
        if (stack.capacity() > kMostFrames) return;
        const std::lock_guard lock(mutex_);
        if (n_ < stacks_.size()) stacks_[n_++] = std::move(stack);
    }

private:
    static constexpr size_t kMostFrames = 1 << 16;  // of a stack worth keeping

    std::mutex mutex_;
    std::array<std::vector<Frame>, 8> stacks_;  // [0, n_) are idle
    size_t n_ = 0;
};

IdleStacks& idle_stacks() {
    static auto* stacks = new IdleStacks;  // never destroyed: threads may build graphs at exit
    return *stacks;
}

class Walk {
public:
    Walk(ggml_cgraph& graph, bool compute)
        : graph_(graph),
          set_(graph.visited_hash_set),
          compute_(compute),
          reversed_(eval_order(graph) == GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT) {
        stack_.clear();
    }
    ~Walk() {  // frames are left after a failure only
        for (const Frame& frame : stack_) {
            if (frame.is_new) graph_.use_counts[frame.slot] &= ~kOpen;
        }
        idle_stacks().give_back(std::move(stack_));
    }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

    Result<void> run(ggml_tensor* root) {
        size_t slot;
        if (enter(root, &slot) == Entered::kFull) return full();
        while (!stack_.empty()) {
            Frame& top = stack_.back();
            ggml_tensor* source = next_source(top);
            if (!source) {
                if (top.is_new && !append(*top.tensor)) return full();
                if (top.is_new) graph_.use_counts[top.slot] &= ~kOpen;
                stack_.pop_back();
                continue;
            }
            const bool user_is_new = top.is_new;
            const ggml_tensor& user = *top.tensor;
            const Entered entered = enter(source, &slot);  // from here on `top` may be stale
            if (entered == Entered::kFull) return full();
            if (entered == Entered::kCycle) return cycle(user, *source);
            if (user_is_new) ++graph_.use_counts[slot];
        }
        return {};
    }

private:
    enum class Entered { kYes, kFull, kCycle };

    // The next source to visit; NULL when all are done. Tensors seen before only pass the compute
    // flag on, to those that do not have it.
    ggml_tensor* next_source(Frame& frame) const {
        while (frame.next < GGML_MAX_SRC) {
            const int i = reversed_ ? GGML_MAX_SRC - 1 - frame.next : frame.next;
            ++frame.next;
            ggml_tensor* source = frame.tensor->src[i];
            if (!source) continue;
            if (is_cast_target(*frame.tensor, i)) {
                graph_.use_counts[frame.slot] += frame.is_new;
                continue;
            }
            if (frame.is_new || !(source->flags & GGML_TENSOR_FLAG_COMPUTE)) return source;
        }
        return nullptr;
    }

    // Starts the visit of a tensor and says its slot.
    Entered enter(ggml_tensor* tensor, size_t* slot) {
        if (compute_ && tensor->op != GGML_OP_NONE) tensor->flags |= GGML_TENSOR_FLAG_COMPUTE;
        *slot = hash_find(set_, tensor);
        if (*slot == kHashFull) return Entered::kFull;
        const bool is_new = !hash_slot_used(set_, *slot);
        if (is_new) {
            hash_occupy(set_, *slot, tensor);
            graph_.use_counts[*slot] = 0;
            stack_.push_back({tensor, *slot, 0, true});
            graph_.use_counts[*slot] = kOpen;
        } else if (graph_.use_counts[*slot] < 0) {
            return Entered::kCycle;
        } else if (compute_ && tensor->op != GGML_OP_NONE) {  // leafs never carry the flag
            stack_.push_back({tensor, *slot, 0, false});
        }
        return Entered::kYes;
    }

    bool append(ggml_tensor& tensor) {
        const bool is_leaf = tensor.op == GGML_OP_NONE && !(tensor.flags & GGML_TENSOR_FLAG_PARAM);
        int& count = is_leaf ? graph_.n_leafs : graph_.n_nodes;
        if (count >= graph_.size) return false;
        if (!tensor.name[0]) format_name(tensor, is_leaf ? "leaf_%d" : "node_%d", count);
        (is_leaf ? graph_.leafs : graph_.nodes)[count++] = &tensor;
        return true;
    }

    Error full() const {
        return fail(TENON_E_INVALID, "graph is full: it has room for %d nodes and %d leafs",
                    graph_.size, graph_.size);
    }

    static Error cycle(const ggml_tensor& user, const ggml_tensor& source) {
        if (&user == &source) return order_error(user, source);
        return fail(TENON_E_INVALID,
                    "the graph has a cycle: '%s' (%s) needs '%s' (%s), which needs it", user.name,
                    ggml_op_desc(&user), source.name, ggml_op_desc(&source));
    }

    ggml_cgraph& graph_;
    ggml_hash_set& set_;
    const bool compute_;
    const bool reversed_;
    std::vector<Frame> stack_ = idle_stacks().take();
};

Result<void> checked_expand(ggml_cgraph& graph, ggml_tensor* tensor, bool compute) {
    if (!tensor) return fail(TENON_E_INVALID, "cannot add a tensor that is null to a graph");
    if (graph.size == 0) {
        return fail(TENON_E_INVALID, "cannot add '%s' to a view of a graph", tensor->name);
    }
    const int nodes_before = graph.n_nodes;
    const auto walked = Walk(graph, compute).run(tensor);
    if (!walked) return walked;
    if (graph.n_nodes > nodes_before && graph.nodes[graph.n_nodes - 1] != tensor) {
        return fail(TENON_E_INVALID, "expanding the graph from '%s' did not end with it",
                    tensor->name);
    }
    return {};
}

}  // namespace

Result<void> expand(ggml_cgraph& graph, ggml_tensor* tensor, bool compute) {
    // Whatever leaves this function early, an exception of the stack included, leaves the mark.
    const ggml_cgraph_eval_order order = graph.order;
    mark_incomplete(graph);
    auto result = checked_expand(graph, tensor, compute);
    if (result) graph.order = order;
    return result;
}

}  // namespace tenon

using namespace tenon;

namespace {

void expand_or_report(ggml_cgraph* graph, ggml_tensor* tensor, bool compute) {
    guard_void([&]() -> Result<void> {
        if (!graph) return fail(TENON_E_INVALID, "cannot expand a graph that is null");
        return expand(*graph, tensor, compute);
    });
}

}  // namespace

extern "C" void ggml_build_forward_expand(ggml_cgraph* cgraph, ggml_tensor* tensor) {
    expand_or_report(cgraph, tensor, /*compute=*/true);
}

extern "C" void ggml_build_forward_order(ggml_cgraph* cgraph, ggml_tensor* tensor) {
    expand_or_report(cgraph, tensor, /*compute=*/false);
}

extern "C" ggml_tensor* ggml_build_forward_select(ggml_cgraph* cgraph, ggml_tensor** tensors,
                                                  int n_tensors, int idx) {
    return guard<ggml_tensor*>(nullptr, [&]() -> Result<ggml_tensor*> {
        if (!cgraph) return fail(TENON_E_INVALID, "cannot expand a graph that is null");
        if (!tensors || idx < 0 || idx >= n_tensors) {
            mark_incomplete(*cgraph);
            return fail(TENON_E_INVALID, "cannot select tensor %d of %d", idx, n_tensors);
        }
        for (int i = 0; i < n_tensors; ++i) {
            const auto expanded = expand(*cgraph, tensors[i], /*compute=*/i == idx);
            if (!expanded) return expanded.error();
        }
        return tensors[idx];
    });
}
