// Numbering the tensors of a graph.

#include "core/memory/lifetimes.h"

#include <algorithm>

namespace tenon {
namespace {

constexpr size_t kSmallestTable = 256;

void mix(uint64_t& hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
}

}  // namespace

// The slot that holds the tensor, or the free one where it belongs.
size_t GraphImage::slot_of(const ggml_tensor* tensor) const {
    const size_t mask = table_.size() - 1;
    size_t slot = ((reinterpret_cast<uintptr_t>(tensor) >> 4) * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (table_[slot].key && table_[slot].key != tensor) slot = (slot + 1) & mask;
    return slot;
}

void GraphImage::grow_table() {
    table_.assign(std::max(kSmallestTable, table_.size() * 2), Entry{});
    for (uint32_t i = 0; i < tensors_.size(); ++i) table_[slot_of(tensors_[i])] = {tensors_[i], i};
}

// The number of a tensor, given on first sight.
uint32_t GraphImage::add(ggml_tensor* tensor) {
    size_t slot = slot_of(tensor);
    if (table_[slot].key) return table_[slot].index;
    uint32_t root = kNoTensor;
    if (tensor->view_src && tensor->view_src->view_src) {
        // Made by hand, since builders name the owner of the memory; perhaps a circle.
        view_of_view_ = tensor;
    } else if (tensor->view_src) {
        root = add(tensor->view_src);
        slot = slot_of(tensor);
    }
    if (tensors_.size() * 2 >= table_.size()) {
        grow_table();
        slot = slot_of(tensor);
    }
    const auto index = static_cast<uint32_t>(tensors_.size());
    table_[slot] = {tensor, index};
    tensors_.push_back(tensor);
    roots_.push_back(root);
    return index;
}

Result<void> GraphImage::build(const ggml_cgraph& graph) {
    tensors_.clear();
    roots_.clear();
    leafs_.clear();
    nodes_.clear();
    edges_.clear();
    edge_begin_.assign(1, 0);
    view_of_view_ = nullptr;
    if (table_.empty()) {
        grow_table();
    } else {
        std::fill(table_.begin(), table_.end(), Entry{});
    }

    for (int i = 0; i < graph.n_leafs; ++i) {
        if (!graph.leafs[i]) return fail(TENON_E_INVALID, "leaf %d of the graph is null", i);
        leafs_.push_back(add(graph.leafs[i]));
    }
    for (int i = 0; i < graph.n_nodes; ++i) {
        ggml_tensor* node = graph.nodes[i];
        if (!node) return fail(TENON_E_INVALID, "node %d of the graph is null", i);
        for (ggml_tensor* src : node->src) {
            if (src) edges_.push_back(add(src));
        }
        nodes_.push_back(add(node));
        edge_begin_.push_back(static_cast<uint32_t>(edges_.size()));
    }
    if (view_of_view_) {
        return fail(TENON_E_INVALID, "view '%s' is a view of '%s', which is a view itself",
                    view_of_view_->name, view_of_view_->view_src->name);
    }
    compute_structure();
    return {};
}

void GraphImage::compute_structure() {
    uint64_t hash = 0x243f6a8885a308d3u;
    mix(hash, leafs_.size() << 32 | nodes_.size());
    for (uint32_t i = 0; i < tensors_.size(); ++i) {
        constexpr int32_t kPlanFlags = GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_OUTPUT;
        const ggml_tensor& tensor = *tensors_[i];
        mix(hash, static_cast<uint64_t>(roots_[i]) << 32 |
                      static_cast<uint64_t>(tensor.flags & kPlanFlags) << 16 |
                      static_cast<uint64_t>(tensor.op));
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
        mix(hash, static_cast<uint64_t>(nodes_[i]) << 32 | edge_begin_[i + 1]);
    }
    for (const uint32_t source : edges_) mix(hash, source);
    structure_ = hash;
}

}  // namespace tenon
