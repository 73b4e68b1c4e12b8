// Reading a graph into the scheduler's picture of it.

#include "core/placement/image.h"

#include <cstring>

#include "core/graph/graph.h"

namespace tenon::placement {
namespace {

// The buffer type a tensor lies in. Data without a buffer is memory of the application's own
// context.
ggml_backend_buffer_type* placed_in(const ggml_tensor& t) {
    if (const ggml_backend_buffer* buffer = tenon_effective_buffer(&t)) return buffer->type;
    const bool has_data = t.data || (t.view_src && t.view_src->data);
    return has_data ? ggml_backend_cpu_buffer_type() : nullptr;
}

bool in_weights(const ggml_tensor& t) {
    const ggml_backend_buffer* buffer = tenon_effective_buffer(&t);
    return buffer && buffer->head.usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
}

}  // namespace

ggml_tensor* HeaderArena::next() {
    if (used_ == blocks_.size() * kBlock) {
        blocks_.push_back(std::make_unique_for_overwrite<ggml_tensor[]>(kBlock));
    }
    ggml_tensor* t = &blocks_[used_ / kBlock][used_ % kBlock];
    ++used_;
    return t;
}

void Image::clear() {
    items.clear();
    nodes.clear();
    sources_.clear();
    source_begin_.clear();
    node_list_.clear();
    index_.clear();
    n_leafs = 0;
}

int32_t Image::add(ggml_tensor* tensor, const PointerMap& pins) {
    const auto at = static_cast<int32_t>(items.size());
    Item& item = items.emplace_back();
    item.tensor = item.image = tensor;
    item.ring = at;
    item.placed = placed_in(*tensor);
    item.weights = in_weights(*tensor);
    if (const int32_t pin = pins.size() ? pins.find(tensor) : -1; pin >= 0) {
        item.backend = static_cast<int8_t>(pin);
        item.pinned = true;
        item.why = Why::kUser;
    }
    index_.set(tensor, at);
    return at;
}

int32_t Image::find_or_add(ggml_tensor* tensor, const PointerMap& pins) {
    const int32_t at = index_.find(tensor);
    return at >= 0 ? at : add(tensor, pins);
}

Result<void> Image::read(const ggml_cgraph& graph, const PointerMap& pins) {
    clear();
    const auto n_nodes = static_cast<size_t>(graph.n_nodes);
    n_leafs = graph.leafs ? static_cast<size_t>(graph.n_leafs) : 0;
    index_.reserve(n_nodes + n_leafs + 16);
    items.reserve(n_nodes + n_leafs + 16);

    for (size_t i = 0; i < n_leafs; i++) {
        if (!graph.leafs[i]) return fail(TENON_E_INVALID, "leaf %zu of %zu is null", i, n_leafs);
        find_or_add(graph.leafs[i], pins);
    }
    n_leafs = items.size();
    for (size_t i = 0; i < n_nodes; i++) {  // a tensor without an op may be leaf and node at once
        if (!graph.nodes[i]) return fail(TENON_E_INVALID, "node %zu of %zu is null", i, n_nodes);
        const int32_t at = find_or_add(graph.nodes[i], pins);
        if (items[at].node < 0) items[at].node = static_cast<int32_t>(i);
        nodes.push_back(at);
    }
    node_list_.assign(graph.nodes, graph.nodes + n_nodes);

    for (size_t i = 0; i < n_nodes; i++) {
        source_begin_.push_back(static_cast<int32_t>(sources_.size()));
        for (int slot = 0; slot < GGML_MAX_SRC; slot++) {
            ggml_tensor* src = graph.nodes[i]->src[slot];
            if (!src) continue;
            const int32_t at = find_or_add(src, pins);
            if (items[at].node >= static_cast<int32_t>(i) &&
                is_read_in_order(*graph.nodes[i], slot)) {
                return order_error(*graph.nodes[i], *src);
            }
            ++items[at].uses;
            sources_.push_back({at, slot});
        }
    }
    source_begin_.push_back(static_cast<int32_t>(sources_.size()));

    for (size_t i = 0; i < items.size(); i++) {  // grows by roots nobody named
        if (ggml_tensor* root = items[i].tensor->view_src) {
            const int32_t at = find_or_add(root, pins);
            items[i].root = at;
        }
    }
    link_writers();
    return {};
}

// A node that writes into memory of another tensor, which is planned with this graph, must run
// where that memory is writable: both are put on one ring.
void Image::link_writers() {
    for (const int32_t at : nodes) {
        Item& item = items[at];
        if (item.root < 0 || item.is_view_op() || item.placed || item.ring != at) continue;
        Item& root = items[item.root];
        std::swap(item.ring, root.ring);  // joins two different rings; `item` is alone on its own
    }
}

bool Image::same(const ggml_cgraph& graph) const {
    const auto n = static_cast<size_t>(graph.n_nodes);
    return n == node_list_.size() &&
           (n == 0 || std::memcmp(graph.nodes, node_list_.data(), n * sizeof(ggml_tensor*)) == 0);
}

}  // namespace tenon::placement
