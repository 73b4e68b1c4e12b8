// A graph as numbers: every tensor once, who reads whom, whose memory a view looks at. From it come
// lifetimes and the plan of memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "ggml.h"
#include "ggml/src/ggml-impl.h"

namespace tenon {

constexpr uint32_t kNoTensor = UINT32_MAX;

class GraphImage {
public:
    // Reads the graph. Its memory is kept between calls: a graph no larger than one before needs no
    // allocation. The pointers in it are valid as long as the graph's tensors.
    Result<void> build(const ggml_cgraph& graph);

    // Leafs in order; then for each node what it is a view of, its sources, itself. A tensor comes
    // after all it depends on.
    std::span<ggml_tensor* const> tensors() const { return tensors_; }
    // The tensor below a view, or kNoTensor.
    uint32_t root(uint32_t tensor) const { return roots_[tensor]; }

    size_t n_leafs() const { return leafs_.size(); }
    uint32_t leaf(size_t i) const { return leafs_[i]; }
    size_t n_nodes() const { return nodes_.size(); }
    uint32_t node(size_t i) const { return nodes_[i]; }
    // Sources of node i, in slot order; one that is named twice stands there twice.
    std::span<const uint32_t> sources(size_t i) const {
        return std::span(edges_).subspan(edge_begin_[i], edge_begin_[i + 1] - edge_begin_[i]);
    }

    // Equal for graphs with the same ops, edges, views and INPUT and OUTPUT flags; shapes do not
    // count.
    uint64_t structure() const { return structure_; }

private:
    struct Entry {
        const ggml_tensor* key;
        uint32_t index;
    };
    size_t slot_of(const ggml_tensor* tensor) const;
    void grow_table();
    uint32_t add(ggml_tensor* tensor);
    void compute_structure();

    std::vector<ggml_tensor*> tensors_;
    std::vector<uint32_t> roots_, leafs_, nodes_, edge_begin_, edges_;
    std::vector<Entry> table_;  // open addressing, a power of two
    uint64_t structure_ = 0;
    const ggml_tensor* view_of_view_ = nullptr;  // one that was met, if any
};

}  // namespace tenon
