// The plan of MUL_MAT_ID: see expert_groups.h.

#include "plugins/cpu/kernels/expert_groups.h"

#include <algorithm>

namespace tenon::cpu {
namespace {

// What shapes and types say about the plan.
struct Bounds {
    int64_t experts, columns, panels_from, strips, passes, segments;

    explicit Bounds(const ggml_tensor& node) {
        const ggml_tensor &as = *node.src[0], &ids = *node.src[2];
        experts = as.ne[2];
        columns = ids.ne[0] * ids.ne[1];
        panels_from = as.ne[1] < kPanelRows
                          ? INT64_MAX
                          : std::max<int64_t>(find_dot_type(as.type)->panels_from, 1);
        const int64_t by_panels = std::min(experts, columns / panels_from);
        // Each expert may waste most of a strip; a pass that is not the last is half full.
        strips = by_panels == 0 ? 0 : columns / kStripCols + by_panels;
        passes = strips == 0 ? 0 : 2 * strips / kPassStrips + 1;
        segments = by_panels == 0 ? 0 : by_panels + passes;
    }
};

}  // namespace

size_t ExpertGroups::bytes(const ggml_tensor& node) {
    const Bounds bounds(node);
    const auto size = [](int64_t n, size_t each) { return static_cast<size_t>(n) * each; };
    return (size(2 * (bounds.experts + 1) + bounds.passes + 2, sizeof(int64_t)) +
            size(bounds.segments, sizeof(PanelSegment)) +
            size(bounds.columns, sizeof(ExpertColumn)) + 63) /
           64 * 64;
}

int64_t ExpertGroups::most_strips(const ggml_tensor& node) {
    return std::min(Bounds(node).strips, kPassStrips);
}

ExpertGroups::ExpertGroups(const ggml_tensor& node, void* memory) {
    const Bounds bounds(node);
    n_experts_ = bounds.experts;
    panels_from_ = bounds.panels_from;
    auto* numbers = static_cast<int64_t*>(memory);
    const auto take = [&](int64_t n) {
        int64_t* at = numbers;
        numbers += n;
        return at;
    };
    first = take(n_experts_ + 1);
    first_chunk = take(n_experts_ + 1);
    n_passes_ = take(1);
    first_segment = take(bounds.passes + 1);
    segments = reinterpret_cast<PanelSegment*>(numbers);
    columns = reinterpret_cast<ExpertColumn*>(segments + bounds.segments);
}

std::optional<int32_t> ExpertGroups::fill(const ggml_tensor& ids) const {
    std::optional<int32_t> invalid;
    const auto each = [&](auto&& fn) {
        for (int64_t t = 0; t < ids.ne[1]; ++t) {
            for (int64_t u = 0; u < ids.ne[0]; ++u) {
                const int32_t e = *element<const int32_t>(ids, u, t, 0, 0);
                if (e >= 0 && e < n_experts_) {
                    fn(e, ExpertColumn{static_cast<int32_t>(u), static_cast<int32_t>(t)});
                } else {
                    invalid = e;
                }
            }
        }
    };
    // Counting sort.
    std::fill(first, first + n_experts_ + 1, 0);
    each([&](int32_t e, ExpertColumn) { ++first[e + 1]; });
    for (int64_t e = 0; e < n_experts_; ++e) first[e + 1] += first[e];
    // first[e] runs to the end of its group, which is the start of the next: shift it back.
    each([&](int32_t e, ExpertColumn column) { columns[first[e]++] = column; });
    for (int64_t e = n_experts_; e > 0; --e) first[e] = first[e - 1];
    first[0] = 0;
    plan_chunks();
    plan_passes();
    return invalid;
}

void ExpertGroups::plan_chunks() const {
    first_chunk[0] = 0;
    for (int64_t e = 0; e < n_experts_; ++e) {
        const int64_t n_cols = by_panels(e) ? 0 : first[e + 1] - first[e];
        first_chunk[e + 1] = first_chunk[e] + (n_cols + kMulMatCols - 1) / kMulMatCols;
    }
}

void ExpertGroups::plan_passes() const {
    int64_t pass = 0, segment = 0, used = 0;  // strips of the pass
    first_segment[0] = 0;
    const auto next_pass = [&] {
        first_segment[++pass] = segment;
        used = 0;
    };
    for (int64_t e = 0; e < n_experts_; ++e) {
        if (!by_panels(e)) continue;
        int64_t col = first[e];
        while (col < first[e + 1]) {
            const int64_t wanted = strips_of(first[e + 1] - col);
            // A cut costs decoding weights twice: better a new pass, if this one is half full.
            const bool cut = wanted > kPassStrips - used;
            if (used == kPassStrips || (cut && 2 * used >= kPassStrips)) next_pass();
            const int64_t strips = std::min(wanted, kPassStrips - used);
            const int64_t n_cols = std::min(strips * kStripCols, first[e + 1] - col);
            segments[segment++] = {e, col, n_cols, used};
            used += strips;
            col += n_cols;
        }
    }
    if (used > 0) next_pass();
    *n_passes_ = pass;
}

int64_t ExpertGroups::expert_of_chunk(int64_t chunk) const {
    return std::upper_bound(first_chunk, first_chunk + n_experts_ + 1, chunk) - first_chunk - 1;
}

}  // namespace tenon::cpu
