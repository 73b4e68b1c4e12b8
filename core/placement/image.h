// The scheduler's own picture of a graph. The application's tensors are never rewritten: where a
// node has to read a copy, a second header of it (its image) does, and only memory is written back.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/pointer_map.h"
#include "core/base/result.h"
#include "core/device/device.h"
#include "ggml/src/ggml-impl.h"
#include "tenon/tensor.h"

namespace tenon::placement {

constexpr int kMaxBackends = 16;
using BackendMask = uint32_t;  // bit b: backend b of the scheduler

// Why a node runs where it does; the words are in explain.cpp.
enum class Why : uint8_t {
    kNone,
    kUser,
    kWeights,
    kInput,
    kOutput,
    kOnly,
    kNeighbour,
    kCheaper,
    kRefused,
    kMemory,
    kFallback,
    kUntrusted,
};

// A tensor of the graph: a node, a leaf, or something only named as a source.
struct Item {
    ggml_tensor* tensor = nullptr;  // the application's
    ggml_tensor* image = nullptr;   // what backends and allocator see: `tensor`, or ours
    ggml_backend_buffer_type* placed = nullptr;  // where it lies already; NULL: not yet
    int32_t root = -1;                           // item it is a view of
    int32_t ring = 0;           // next item that shares its memory by writing into it
    int32_t node = -1;          // index among the nodes; -1: none of them
    int32_t about = -1;         // item that `why` refers to
    int32_t first_copy = -1;    // newest of its copies
    int32_t writes = 0;         // nodes so far that wrote into it, as a root
    int32_t uses = 0;           // sources of nodes that name it
    BackendMask runs = 0;       // backends that support the op
    BackendMask ring_runs = 0;  // backends that support all ops of its ring
    int8_t backend = -1;
    int8_t refused_by = -1;  // backend whose verdict explains `why`
    bool pinned = false;
    bool weights = false;  // lies in a buffer of usage WEIGHTS
    Why why = Why::kNone;

    bool is_view_op() const { return tenon_is_view_op(tensor->op); }
    bool has_flag(int32_t flag) const { return tensor->flags & flag; }
};

// One source slot of a node.
struct Source {
    int32_t item;
    int32_t slot;
};

// Tensor headers with stable addresses, all given back at once.
class HeaderArena {
public:
    void clear() { used_ = 0; }
    ggml_tensor* next();  // not initialised; throws std::bad_alloc

private:
    static constexpr size_t kBlock = 128;
    std::vector<std::unique_ptr<ggml_tensor[]>> blocks_;
    size_t used_ = 0;
};

class Image {
public:
    // Reads the graph: items, roots, sources, use counts. Pins are backend indices by tensor.
    // Fails where a node or leaf is null, or a node reads a later one. Throws std::bad_alloc.
    Result<void> read(const ggml_cgraph& graph, const PointerMap& pins);
    void clear();

    // Whether `graph` is the one that was read.
    bool same(const ggml_cgraph& graph) const;

    int32_t find(const ggml_tensor* tensor) const { return index_.find(tensor); }
    Item& node(size_t i) { return items[nodes[i]]; }
    const Item& node(size_t i) const { return items[nodes[i]]; }

    // Sources of node i, in slot order.
    struct Sources {
        const Source *first, *last;
        const Source* begin() const { return first; }
        const Source* end() const { return last; }
    };
    Sources sources_of(size_t i) const {
        return {sources_.data() + source_begin_[i], sources_.data() + source_begin_[i + 1]};
    }

    std::vector<Item> items;     // leafs, nodes, then what neither list names
    std::vector<int32_t> nodes;  // items of the nodes, in order
    size_t n_leafs = 0;          // items [0, n_leafs) are the leafs

private:
    int32_t add(ggml_tensor* tensor, const PointerMap& pins);
    int32_t find_or_add(ggml_tensor* tensor, const PointerMap& pins);
    void link_writers();

    PointerMap index_;
    std::vector<Source> sources_;
    std::vector<int32_t> source_begin_;
    std::vector<ggml_tensor*> node_list_;  // as the graph had it
};

}  // namespace tenon::placement
