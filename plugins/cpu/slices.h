// Tensors as runs of slices: where unit u of one lies, and whether another's unit u is there too.
#pragma once

#include <optional>

#include "plugins/cpu/kernel.h"

namespace tenon::cpu {

// The tensor whose rows a kernel goes through.
inline const ggml_tensor& domain(const Parts& parts, const ggml_tensor& node) {
    return parts.of_src0 ? *node.src[0] : node;
}

// Whether row r of the node needs row r of its source k, and no other of it. A source that is
// repeated has other rows, or as many but counted in another way.
inline bool goes_in_step(const Parts& parts, const ggml_tensor& node, int k) {
    const int lower = parts.lower_sources >> k & 1;
    if (!lower && !(parts.sources >> k & 1)) return false;
    for (int d = parts.dim; d < GGML_MAX_DIMS; ++d) {
        if (node.src[k]->ne[d - lower] != domain(parts, node).ne[d]) return false;
    }
    return true;
}

// The dimension from which on `t` has `units` slices, at least `least`; nothing: there is none.
inline std::optional<int> slice_dim(const ggml_tensor& t, int64_t units, int least) {
    int64_t slices = 1;
    for (int d = GGML_MAX_DIMS; d >= least; --d) {
        if (d < GGML_MAX_DIMS) slices *= t.ne[d];
        if (slices == units) return d;
    }
    return std::nullopt;
}

// Slices at a constant distance.
struct Slices {
    size_t stride = 0;  // 0: there is one
    size_t span = 0;
};
inline std::optional<Slices> slices_of(const ggml_tensor& t, int d) {
    Slices s;
    s.span = kit::span_bytes(t, d);
    size_t next = 0;
    for (int k = d; k < GGML_MAX_DIMS; ++k) {
        if (t.ne[k] == 1) continue;
        if (next == 0) s.stride = next = t.nb[k];
        if (t.nb[k] != next) return std::nullopt;
        next *= static_cast<size_t>(t.ne[k]);
    }
    return s;
}

// Whether no slice of a, the first of which starts at byte 0, meets another slice of b than its
// own, where the first of b starts at byte `offset`.
inline bool meet_own_slices_only(const Slices& a, const Slices& b, int64_t offset) {
    if (a.stride == 0 && b.stride == 0) return true;
    const auto stride = static_cast<int64_t>(a.stride);
    return a.stride == b.stride && offset + static_cast<int64_t>(b.span) <= stride &&
           static_cast<int64_t>(a.span) - offset <= stride;
}

}  // namespace tenon::cpu
