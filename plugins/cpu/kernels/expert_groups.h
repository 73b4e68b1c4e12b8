// MUL_MAT_ID: the columns of the result in order of their experts, and how the product of each
// expert is made: by tiles, or by panels when it has enough columns.
#pragma once

#include <optional>

#include "plugins/cpu/kernels/panel_pass.h"

namespace tenon::cpu {

// One column of the result.
struct ExpertColumn {
    int32_t used;  // its place among the experts of its token
    int32_t token;
};

// Columns of one expert that are part of one pass by panels.
struct PanelSegment {
    int64_t expert;
    int64_t col0, n_cols;  // in the order of ExpertGroups::columns
    int64_t strip;         // its first one in the pass
};

// Lies in the workspace; sizes follow from shapes and types alone. Columns with an id that is no
// expert are left out.
class ExpertGroups {
public:
    static size_t bytes(const ggml_tensor& node);
    // Strips of the largest pass there can be; 0: no expert ever gets enough columns.
    static int64_t most_strips(const ggml_tensor& node);

    ExpertGroups(const ggml_tensor& node, void* memory);

    // By one member: sorts the columns and plans their products. The last id that is no expert, if
    // there is one.
    std::optional<int32_t> fill(const ggml_tensor& ids) const;

    // Columns of expert e: first[e] … first[e + 1] of `columns`.
    int64_t* first;
    ExpertColumn* columns;

    // Products by tiles, in chunks of kMulMatCols columns, counted over all experts: those of
    // expert e are first_chunk[e] … first_chunk[e + 1].
    int64_t* first_chunk;
    int64_t n_chunks() const { return first_chunk[n_experts_]; }
    int64_t expert_of_chunk(int64_t chunk) const;

    // Products by panels: pass p has segments first_segment[p] … first_segment[p + 1].
    int64_t n_passes() const { return *n_passes_; }
    PanelSegment* segments;
    int64_t* first_segment;

private:
    void plan_chunks() const;
    void plan_passes() const;
    bool by_panels(int64_t expert) const {
        return first[expert + 1] - first[expert] >= panels_from_;
    }

    int64_t n_experts_;
    int64_t panels_from_;
    int64_t* n_passes_;
};

}  // namespace tenon::cpu
