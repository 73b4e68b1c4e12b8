// Running nodes together: what their memory allows, and their windows one after the other.

#include <algorithm>
#include <array>

#include "plugins/cpu/fuse.h"
#include "plugins/cpu/slices.h"

namespace tenon::cpu {
namespace {

using kit::Extent;
using kit::extent_of;
using kit::lie_alike;
using kit::overlap;

// What the memory of one node is to the other nodes and what they read.
enum class Memory {
    kApart,
    kShared,   // unit by unit with what is taken in step
    kTangled,  // in another way: one unit would overwrite another, before it is read or after
};

class MemoryCheck {
public:
    MemoryCheck(const FusedGroup& group, const tenon_graph_view& graph)
        : group_(group), graph_(graph) {}

    Memory of(uint32_t writer) const {
        const ggml_tensor& written = node(writer);
        const bool in_rows = !group_.nodes[writer].kernel->parts.of_src0;
        const Extent extent = extent_of(written);
        Memory memory = Memory::kApart;
        const auto meet = [&](const ggml_tensor& other, bool in_step) {
            if (!overlap(extent, extent_of(other))) return;
            const bool shared = in_step && share_units(written, other);
            memory = std::max(memory, shared ? Memory::kShared : Memory::kTangled);
        };
        for (uint32_t i = 0; i < group_.n; ++i) {
            const FusedNode& other = group_.nodes[i];
            const Parts& parts = other.kernel->parts;
            if (i != writer) meet(node(i), in_rows && !parts.of_src0);
            for (int k = 0; k < GGML_MAX_SRC; ++k) {
                const ggml_tensor* src = node(i).src[k];
                if (!src || other.from[k] == static_cast<int8_t>(writer)) continue;
                // Rows may be stored into what is a source for that only.
                const bool is_target = i == writer && !in_rows && lie_alike(written, *src);
                if (!is_target) meet(*src, in_rows && goes_in_step(parts, node(i), k));
            }
        }
        return memory;
    }

private:
    bool share_units(const ggml_tensor& a, const ggml_tensor& b) const {
        if (lie_alike(a, b)) return true;
        if (group_.column_blocks() > 1) return false;
        const auto a_dim = slice_dim(a, group_.units, 1), b_dim = slice_dim(b, group_.units, 1);
        if (!a_dim || !b_dim) return false;
        const auto a_slices = slices_of(a, *a_dim), b_slices = slices_of(b, *b_dim);
        return a_slices && b_slices &&
               meet_own_slices_only(
                   *a_slices, *b_slices,
                   static_cast<const char*>(b.data) - static_cast<const char*>(a.data));
    }
    const ggml_tensor& node(uint32_t i) const { return *graph_.nodes[group_.nodes[i].node]; }

    const FusedGroup& group_;
    const tenon_graph_view& graph_;
};

// The nodes as one member computes them. Temporary results need not become whole: a member keeps
// its blocks of them, one after the other, in a place of its own in their memory, which stays in
// its caches. Then the node and its readers are copies with other addresses.
class Nodes {
public:
    Nodes(const FusedGroup& group, const tenon_graph_view& graph) : group_(group), graph_(graph) {
        for (uint32_t i = 0; i < group.n; ++i) used_[i] = graph.nodes[group.nodes[i].node];
    }
    const ggml_tensor& operator[](uint32_t i) const { return *used_[i]; }

    void keep_in_place(uint32_t i, int32_t member, int32_t members) {
        const ggml_tensor& made = *graph_.nodes[group_.nodes[i].node];
        const int64_t rows_per_unit = tenon_nrows(&made) / group_.units;
        const bool in_columns = group_.column_blocks() > 1;
        if (in_columns && rows_per_unit > 1) return;
        Place place;
        place.unit = static_cast<int64_t>(made.nb[1]) * rows_per_unit;
        place.column = static_cast<int64_t>(made.nb[0]);
        const int64_t bytes = in_columns ? group_.columns_per_block * place.column
                                         : group_.units_per_block * place.unit;
        if (members * bytes >= place.unit * group_.units) return;
        place.data = static_cast<char*>(made.data) + member * bytes;
        places_[i] = place;
        own_copy(i);
        for (uint32_t j = i + 1; j < group_.n; ++j) {
            if (!reads(j, i)) continue;
            own_copy(j);
            std::replace(std::begin(copies_[j].src), std::end(copies_[j].src),
                         const_cast<ggml_tensor*>(&made), &copies_[i]);
        }
    }

    void move_to(const Window& window) {
        for (uint32_t i = 0; i < group_.n; ++i) {
            const Place& p = places_[i];
            if (p.data) copies_[i].data = p.data - window.first * p.unit - window.begin * p.column;
        }
    }

private:
    struct Place {
        char* data = nullptr;          // of the member's block; NULL: the node is where it is
        int64_t unit = 0, column = 0;  // bytes
    };

    bool reads(uint32_t user, uint32_t maker) const {
        const auto& from = group_.nodes[user].from;
        return std::find(std::begin(from), std::end(from), static_cast<int8_t>(maker)) !=
               std::end(from);
    }
    void own_copy(uint32_t i) {
        if (used_[i] == &copies_[i]) return;
        copies_[i] = *used_[i];
        used_[i] = &copies_[i];
    }

    const FusedGroup& group_;
    const tenon_graph_view& graph_;
    std::array<Place, kMaxFused> places_{};
    std::array<const ggml_tensor*, kMaxFused> used_;
    std::array<ggml_tensor, kMaxFused> copies_;
};

}  // namespace

bool run_fused(const FusedGroup& group, const tenon_graph_view& graph, Task task) {
    const MemoryCheck check(group, graph);
    Nodes nodes(group, graph);
    for (uint32_t i = 0; i < group.n; ++i) {
        const Memory memory = check.of(i);
        if (memory == Memory::kTangled) return false;
        if (memory == Memory::kApart && group.nodes[i].is_temporary)
            nodes.keep_in_place(i, task.ith, task.nth);
    }
    // Kernels cut the workspace into the parts of the members, each by its own measure. Members are
    // at different nodes at the same time: the cuts are moved to those of the largest part.
    char* workspace = static_cast<char*>(task.workspace);
    const Range blocks = share(task, group.blocks());
    const int64_t across = group.column_blocks();
    for (int64_t block = blocks.begin; block < blocks.end; ++block) {
        Window& w = task.window;
        w.units = group.units;
        w.first = block / across * group.units_per_block;
        w.last = std::min(w.first + group.units_per_block, group.units);
        w.begin = block % across * group.columns_per_block;
        w.end = across == 1 ? INT64_MAX : w.begin + group.columns_per_block;
        nodes.move_to(w);
        for (uint32_t i = 0; i < group.n; ++i) {
            task.node = group.nodes[i].node;
            if (workspace) {
                const size_t moved = group.scratch - group.nodes[i].scratch;
                task.workspace = workspace + moved * static_cast<size_t>(task.ith);
            }
            group.nodes[i].kernel->run(task, nodes[i]);
        }
    }
    return true;
}

}  // namespace tenon::cpu
