// A graph copied to another device with all it needs, and the comparison of two devices node by
// node.

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/device/buffer.h"
#include "core/graph/graph.h"
#include "core/stream/stream.h"
#include "tenon/tensor.h"

namespace tenon {
namespace {

struct ContextFree {
    void operator()(ggml_context* ctx) const { ggml_free(ctx); }
};
using GraphCopy = struct ggml_backend_graph_copy;
using Context = std::unique_ptr<ggml_context, ContextFree>;
struct BufferFree {
    void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};

class GraphCopier {
public:
    GraphCopier(ggml_backend& stream, const ggml_cgraph& graph) : stream_(stream), graph_(graph) {}

    Result<GraphCopy> run() {
        for (int i = 0; i < graph_.n_nodes; ++i) visit(graph_.nodes[i]);
        if (auto ok = make_contexts(); !ok) return ok.error();
        for (const ggml_tensor* original : order_) {
            if (auto ok = duplicate(*original); !ok) return ok.error();
        }
        for (const ggml_tensor* original : order_) link(*original);
        if (auto ok = allocate(); !ok) return ok.error();
        for (const ggml_tensor* original : order_) {
            if (auto ok = fill(*original); !ok) return ok.error();
        }
        ggml_cgraph* copy = ggml_new_graph_custom(
            views_.get(), static_cast<size_t>(std::max(graph_.n_nodes, 1)), false);
        if (!copy) return fail(TENON_E_NO_HOST_MEMORY, "no memory for the graph's copy");
        for (int i = 0; i < graph_.n_nodes; ++i) {
            if (auto ok = append_node(*copy, copies_[graph_.nodes[i]]); !ok) return ok.error();
        }
        return GraphCopy{buffer_.release(), owners_.release(), views_.release(), copy};
    }

private:
    // Every tensor once, in the order contexts create them: what others look at or read first.
    // Explicit stack: graphs may be deep.
    void visit(const ggml_tensor* first) {
        std::vector<std::pair<const ggml_tensor*, int>> stack{{first, -1}};
        while (!stack.empty()) {
            auto& [tensor, next] = stack.back();
            if (next == -1 && !copies_.emplace(tensor, nullptr).second) {
                stack.pop_back();
                continue;
            }
            if (next == GGML_MAX_SRC) {
                order_.push_back(tensor);
                stack.pop_back();
                continue;
            }
            const ggml_tensor* child = next == -1 ? tensor->view_src : tensor->src[next];
            ++next;
            if (child && !copies_.count(child)) stack.emplace_back(child, -1);
        }
    }

    Result<void> make_contexts() {
        const size_t headers = ggml_tensor_overhead() * (order_.size() + 1);
        const size_t graph =
            ggml_graph_overhead_custom(static_cast<size_t>(std::max(graph_.n_nodes, 1)), false);
        owners_.reset(ggml_init({headers, nullptr, true}));
        views_.reset(ggml_init({headers + graph, nullptr, true}));
        if (owners_ && views_) return {};
        return fail(TENON_E_NO_HOST_MEMORY, "no memory to copy a graph of %zu tensors",
                    order_.size());
    }

    Result<void> duplicate(const ggml_tensor& original) {
        ggml_tensor* copy =
            ggml_dup_tensor(original.view_src ? views_.get() : owners_.get(), &original);
        if (!copy) {
            return fail(TENON_E_NO_HOST_MEMORY, "cannot copy tensor '%s'", original.name);
        }
        std::memcpy(copy->nb, original.nb, sizeof copy->nb);
        copy->op = original.op;
        std::memcpy(copy->op_params, original.op_params, sizeof copy->op_params);
        copy->flags = original.flags;
        ggml_set_name(copy, original.name);
        copies_[&original] = copy;
        return {};
    }

    void link(const ggml_tensor& original) {
        ggml_tensor* copy = copies_[&original];
        for (int i = 0; i < GGML_MAX_SRC; ++i) {
            copy->src[i] = original.src[i] ? copies_[original.src[i]] : nullptr;
        }
        if (original.view_src) {
            copy->view_src = copies_[original.view_src];
            copy->view_offs = original.view_offs;
        }
    }

    Result<void> allocate() {
        ggml_backend_buffer_type* type = stream_.device->default_buft;
        const size_t needed = ggml_backend_alloc_ctx_tensors_from_buft_size(owners_.get(), type);
        buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(owners_.get(), type));
        if (buffer_ || needed == 0) return {};
        return fail(TENON_E_NO_DEVICE_MEMORY,
                    "no memory for a copy of the graph: %zu bytes on '%s'", needed,
                    stream_.device->name.c_str());
    }

    Result<void> fill(const ggml_tensor& original) {
        ggml_tensor* copy = copies_[&original];
        if (!original.view_src) {
            if (!copy->data) return {};  // without elements
            return copy_tensor(original, *copy);
        }
        if (!copy->view_src->buffer) return {};
        const ggml_status status = ggml_backend_view_init(copy);
        if (status == GGML_STATUS_SUCCESS) return {};
        return fail(TENON_E_INTERNAL, "cannot place view '%s' of the copy", original.name);
    }

    ggml_backend& stream_;
    const ggml_cgraph& graph_;
    std::unordered_map<const ggml_tensor*, ggml_tensor*> copies_;
    std::vector<const ggml_tensor*> order_;
    Context owners_, views_;
    std::unique_ptr<ggml_backend_buffer, BufferFree> buffer_;
};

Result<GraphCopy> copy_graph_to(ggml_backend* stream, const ggml_cgraph* graph) {
    if (!stream) return fail(TENON_E_INVALID, "backend is null");
    auto list = nodes_of(graph);
    if (!list) return list.error();
    for (size_t i = 0; i < list->n; ++i) {
        if (!list->nodes[i]) return fail(TENON_E_INVALID, "node %zu is null", i);
    }
    return GraphCopier(*stream, *graph).run();
}

// Frees a copy, also when the application's callback ends the thread.
struct CopyOwner {
    const GraphCopy& copy;
    ~CopyOwner() noexcept(false) { ggml_backend_graph_copy_free(copy); }
};

struct Comparison {
    ggml_backend* first;
    ggml_backend* second;
    const ggml_cgraph* graph;  // on `first`
    const ggml_cgraph* copy;   // on `second`
    ggml_backend_eval_callback callback;
    void* user_data;

    bool compute(int begin, int end) const {
        ggml_cgraph a = graph_view(*graph, begin, end);
        ggml_cgraph b = graph_view(*copy, begin, end);
        return ggml_backend_graph_compute(first, &a) == GGML_STATUS_SUCCESS &&
               ggml_backend_graph_compute(second, &b) == GGML_STATUS_SUCCESS;
    }

    Result<bool> show(int node) const {
        return call_application("the comparison callback", callback, node, graph->nodes[node],
                                copy->nodes[node], user_data);
    }

    Result<bool> each_node() const {
        for (int i = 0; i < graph->n_nodes; ++i) {
            if (!compute(i, i + 1)) return false;
            // A sentinel between operands is no view and is reported; a pure view is not.
            const ggml_op op = graph->nodes[i]->op;
            const bool is_view = op != GGML_OP_NONE && tenon_is_view_op(op);
            if (is_view || !callback) continue;
            auto goes_on = show(i);
            if (!goes_on) return goes_on.error();
            if (!*goes_on) break;
        }
        return true;
    }

    Result<bool> only(const ggml_tensor* const* wanted, size_t n) const {
        if (!compute(0, graph->n_nodes)) return false;
        bool found = false;
        for (int i = 0; i < graph->n_nodes; ++i) {
            const auto* end = wanted + n;
            if (std::find(wanted, end, graph->nodes[i]) == end) continue;
            found = true;
            if (!callback) continue;
            if (auto shown = show(i); !shown) return shown.error();
        }
        if (!found) return fail(TENON_E_INVALID, "none of the %zu nodes is in the graph", n);
        return true;
    }
};

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

GraphCopy ggml_backend_graph_copy(ggml_backend_t backend, ggml_cgraph* graph) {
    GraphCopy result{};
    guard_void([&]() -> Result<void> {
        auto copy = copy_graph_to(backend, graph);
        if (!copy) return copy.error();
        result = *copy;
        return {};
    });
    return result;
}

void ggml_backend_graph_copy_free(GraphCopy copy) {
    ggml_backend_buffer_free(copy.buffer);
    ggml_free(copy.ctx_allocated);
    ggml_free(copy.ctx_unallocated);
}

bool ggml_backend_compare_graph_backend(ggml_backend_t backend1, ggml_backend_t backend2,
                                        ggml_cgraph* graph, ggml_backend_eval_callback callback,
                                        void* user_data, const ggml_tensor* const* test_nodes,
                                        size_t num_test_nodes) {
    return guard<bool>(false, [&]() -> Result<bool> {
        if (!backend1) return fail(TENON_E_INVALID, "backend is null");
        auto copied = copy_graph_to(backend2, graph);
        if (!copied) return copied.error();
        const CopyOwner owner{*copied};
        const Comparison comparison{backend1, backend2, graph, copied->graph, callback, user_data};
        return num_test_nodes == 0 ? comparison.each_node()
                                   : comparison.only(test_nodes, num_test_nodes);
    });
}

}  // extern "C"
