// Which nodes are computed together. Everything here follows from kernels' Parts, shapes, strides
// and use counts; whether memory allows it is seen at each run (fused_run.cpp).

#include "plugins/cpu/fuse.h"

#include <algorithm>

#include "plugins/cpu/slices.h"
#include "tenon/kit/graph_reading.h"

namespace tenon::cpu {
namespace {

// What a node touches of a block: a part of any second-level cache, so that it is still there for
// the next node, beside what that one touches.
constexpr int64_t kBlockBytes = 128 << 10;
constexpr int64_t kFewestColumns = 1024;  // of a block
constexpr double kWorthNs = 4000;         // of all nodes; below, it is all in the caches anyway
// Of the first node: no group of smaller ones is worth it.
constexpr int64_t kFewestElements = 1024;

class Matcher {
public:
    Matcher(const tenon_graph_view& graph, const FuseLimits& limits, FusedGroup& group)
        : graph_(graph), limits_(limits), group_(group) {
        group.n = 0;
    }

    // Whether the node now belongs to the group.
    bool append(const Step& step) {
        const Parts& parts = step.kernel->parts;
        if (group_.n == kMaxFused || parts.kind == Parts::kNone || step.kernel->members) {
            return false;
        }
        const ggml_tensor& node = *graph_.nodes[step.node];
        FusedNode& added = group_.nodes[group_.n];
        added = {step.kernel,
                 step.node,
                 {},
                 false,
                 step.kernel->workspace ? step.kernel->workspace(node, 1) : 0};
        bool connected = group_.n == 0;
        for (int k = 0; k < GGML_MAX_SRC; ++k) {
            added.from[k] = node.src[k] ? find(kit::shown_by(*node.src[k])) : int8_t{-1};
            connected = connected || added.from[k] >= 0;
        }
        if (!connected) return false;
        ++group_.n;
        if (choose_units()) return true;
        --group_.n;
        return false;
    }

    void finish() {
        group_.scratch = 0;
        for (uint32_t i = 0; i < group_.n; ++i)
            group_.scratch = std::max(group_.scratch, group_.nodes[i].scratch);
        for (uint32_t i = 0; i + 1 < group_.n; ++i) group_.nodes[i].is_temporary = is_temporary(i);
        choose_blocks();
    }

    double cost() const {
        double ns = 0;
        for (uint32_t i = 0; i < group_.n; ++i) ns += cost_ns(*group_.nodes[i].kernel, node(i));
        return ns;
    }

private:
    const ggml_tensor& node(uint32_t i) const { return *graph_.nodes[group_.nodes[i].node]; }

    int8_t find(const ggml_tensor& t) const {
        for (uint32_t i = 0; i < group_.n; ++i) {
            if (&node(i) == &t) return static_cast<int8_t>(i);
        }
        return -1;
    }

    // The most units that serve all nodes.
    bool choose_units() {
        const uint32_t last = group_.n - 1;
        const Kernel& kernel = *group_.nodes[last].kernel;
        const ggml_tensor& rows = domain(kernel.parts, node(last));
        const int64_t columns = common_columns();
        for (int d = kernel.parts.dim; d <= GGML_MAX_DIMS; ++d) {
            int64_t units = 1;
            for (int k = d; k < GGML_MAX_DIMS; ++k) units *= rows.ne[k];
            const int64_t parts = units * ((columns + fewest_columns() - 1) / fewest_columns());
            if (parts < (limits_.small ? 2 : 4 * limits_.n_threads)) return false;
            if (!serves_all(units)) continue;
            group_.units = units;
            group_.n_columns = columns;
            return true;
        }
        return false;
    }

    bool serves_all(int64_t units) const {
        for (uint32_t i = 0; i < group_.n; ++i) {
            if (!serves(i, units)) return false;
        }
        return true;
    }

    // What depends on what: whether unit u of node i needs nothing of the other nodes but their
    // units u.
    bool serves(uint32_t i, int64_t units) const {
        const FusedNode& user = group_.nodes[i];
        const Parts& parts = user.kernel->parts;
        const ggml_tensor& rows = domain(parts, node(i));
        const auto dim = slice_dim(rows, units, parts.dim);
        if (!dim) return false;
        for (int k = 0; k < GGML_MAX_SRC; ++k) {
            if (user.from[k] < 0) continue;
            if (!goes_in_step(parts, node(i), k)) return false;
            const ggml_tensor& src = *node(i).src[k];
            const int lower = parts.lower_sources >> k & 1;
            if (!shows_same_units(src, *dim - lower, static_cast<uint32_t>(user.from[k]), units))
                return false;
        }
        return true;
    }

    // Whether unit u of `src`, sliced from dimension d on, lies inside unit u of node `maker`.
    bool shows_same_units(const ggml_tensor& src, int d, uint32_t maker, int64_t units) const {
        const ggml_tensor& made = node(maker);
        if (group_.nodes[maker].kernel->parts.of_src0) return false;
        if (&src == &made) return true;
        const auto made_dim = slice_dim(made, units, 1);
        if (!made_dim) return false;
        const auto inner = slices_of(src, d), outer = slices_of(made, *made_dim);
        if (!inner || !outer) return false;
        const ggml_tensor* root = made.view_src ? made.view_src : &made;
        const size_t start = made.view_src ? made.view_offs : 0;
        return src.view_src == root &&
               meet_own_slices_only(*outer, *inner, static_cast<int64_t>(src.view_offs - start));
    }

    // Columns of the nodes if all are computed element by element from elements, else 1.
    int64_t common_columns() const {
        const int64_t columns = node(0).ne[0];
        for (uint32_t i = 0; i < group_.n; ++i) {
            const FusedNode& user = group_.nodes[i];
            if (user.kernel->parts.kind != Parts::kElements || node(i).ne[0] != columns) return 1;
            for (int k = 0; k < GGML_MAX_SRC; ++k) {
                if (user.from[k] < 0) continue;
                const ggml_tensor& src = *node(i).src[k];
                if (&src != &node(static_cast<uint32_t>(user.from[k])) || src.ne[0] != columns)
                    return 1;
            }
        }
        return columns;
    }

    bool is_temporary(uint32_t i) const {
        const ggml_tensor& made = node(i);
        if (group_.nodes[i].kernel->parts.of_src0 || !is_contiguous(made)) return false;
        int32_t uses = 0;
        for (uint32_t j = i + 1; j < group_.n; ++j) uses += kit::uses_by(node(j), made);
        return kit::may_stay_unwritten(graph_, group_.nodes[i].node, uses);
    }

    int64_t fewest_columns() const { return limits_.small ? 64 : kFewestColumns; }

    void choose_blocks() {
        group_.units_per_block = 1;
        group_.columns_per_block = group_.n_columns;
        if (limits_.small) {
            if (group_.n_columns > 1) group_.columns_per_block = fewest_columns();
            return;
        }
        const int64_t bytes = std::max<int64_t>(most_bytes() / group_.units, 1);  // of a unit
        // Members finish together when there are a few blocks for each.
        const int64_t even = (group_.units + 4 * limits_.n_threads - 1) / (4 * limits_.n_threads);
        group_.units_per_block = std::clamp<int64_t>(kBlockBytes / bytes, 1, even);
        const int64_t parts = (bytes + kBlockBytes - 1) / kBlockBytes;
        if (parts > 1 && group_.n_columns > 1) {
            group_.columns_per_block =
                std::max(group_.n_columns / parts / 64 * 64, fewest_columns());
        }
    }

    // Of the node that touches most: its result, and what it alone reads in step.
    int64_t most_bytes() const {
        int64_t most = 0;
        for (uint32_t i = 0; i < group_.n; ++i) {
            const FusedNode& user = group_.nodes[i];
            int64_t bytes = bytes_of(domain(user.kernel->parts, node(i)));
            for (int k = 0; k < GGML_MAX_SRC; ++k) {
                const ggml_tensor* src = node(i).src[k];
                if (src && user.from[k] < 0 && goes_in_step(user.kernel->parts, node(i), k))
                    bytes += bytes_of(*src);
            }
            most = std::max(most, bytes);
        }
        return most;
    }

    static int64_t bytes_of(const ggml_tensor& t) {
        return static_cast<int64_t>(kit::element_bytes(t));
    }

    const tenon_graph_view& graph_;
    const FuseLimits& limits_;
    FusedGroup& group_;
};

}  // namespace

uint32_t fuse(const tenon_graph_view& graph, std::span<const Step> steps, const FuseLimits& limits,
              FusedGroup& group) {
    const ggml_tensor& first = *graph.nodes[steps.front().node];
    if (!limits.small && tenon_nelements(&first) < kFewestElements) return 0;
    Matcher matcher(graph, limits, group);
    for (const Step& step : steps) {
        if (!matcher.append(step)) break;
    }
    if (group.n < 2 || (!limits.small && matcher.cost() < kWorthNs)) return 0;
    matcher.finish();
    return group.n;
}

}  // namespace tenon::cpu
