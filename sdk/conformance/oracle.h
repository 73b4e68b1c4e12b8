// The oracle: every op in plain double precision over host memory, readable before it is fast. It
// shares no code with any device.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/ops/build.h"
#include "ggml.h"
#include "sdk/conformance/compare.h"

namespace tenon::conformance {

// The elements of a tensor by index, decoded to double.
struct Values {
    int64_t ne[GGML_MAX_DIMS] = {1, 1, 1, 1};
    std::vector<double> v;

    Values() = default;
    explicit Values(const ggml_tensor& t) : v(values_of(t, t.data)) {
        std::copy(t.ne, t.ne + GGML_MAX_DIMS, ne);
    }

    double& operator()(int64_t i0, int64_t i1 = 0, int64_t i2 = 0, int64_t i3 = 0) {
        return v[i0 + ne[0] * (i1 + ne[1] * (i2 + ne[2] * i3))];
    }
    double operator()(int64_t i0, int64_t i1 = 0, int64_t i2 = 0, int64_t i3 = 0) const {
        return v[i0 + ne[0] * (i1 + ne[1] * (i2 + ne[2] * i3))];
    }
    // Element of a tensor that is repeated to cover larger indices.
    double repeated(int64_t i0, int64_t i1, int64_t i2, int64_t i3) const {
        return (*this)(i0 % ne[0], i1 % ne[1], i2 % ne[2], i3 % ne[3]);
    }
    int64_t size() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
};

// A row of `t`.
inline const double* row(const Values& t, int64_t i1, int64_t i2, int64_t i3) {
    return t.v.data() + t.ne[0] * (i1 + t.ne[1] * (i2 + t.ne[2] * i3));
}

// Sum of x[i]*y[i]. Four sums at a time, which do not wait for each other: large cases take as long
// as this loop.
inline double dot(const double* x, const double* y, int64_t n) {
    double sum[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int lane = 0; lane < 4; ++lane) sum[lane] += x[i + lane] * y[i + lane];
    }
    for (; i < n; ++i) sum[0] += x[i] * y[i];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

// What a reference computes into: the node's elements. Rows that are not touched keep their bytes,
// which matters for ops that write parts of a view.
struct Result : Values {
    explicit Result(const ggml_tensor& node);  // a view starts with what it shows, else NaN
    std::vector<bool> keep;                    // per row: leave the bytes alone; empty: write all
};

using ReferenceFn = void (*)(const ggml_tensor& node, Result& out);
struct Reference {
    ggml_op op;
    ReferenceFn compute;
};

// Source i of a node, decoded; throws when there is none.
Values source(const ggml_tensor& node, int i);
inline bool has_source(const ggml_tensor& node, int i) { return node.src[i] != nullptr; }

// fn(i0, i1, i2, i3) for every index of a shape.
template <class Shape, class Fn>
void for_each_index(const Shape& s, Fn&& fn) {
    for (int64_t i3 = 0; i3 < s.ne[3]; ++i3) {
        for (int64_t i2 = 0; i2 < s.ne[2]; ++i2) {
            for (int64_t i1 = 0; i1 < s.ne[1]; ++i1) {
                for (int64_t i0 = 0; i0 < s.ne[0]; ++i0) fn(i0, i1, i2, i3);
            }
        }
    }
}

// Computes one node whose sources and whose own memory are host data. Rounds to the node's type
// once. Throws std::runtime_error for an op without a reference.
void compute_reference(const ggml_tensor& node);

// Whether the oracle knows the op (view ops count as known: they compute nothing).
bool has_reference(ggml_op op);

// The tables of the families, one per file of reference/.
extern const std::span<const Reference> kArithmeticReferences, kActivationReferences,
    kReduceReferences, kNormReferences, kMatmulReferences, kLayoutReferences, kRowsReferences,
    kFillReferences, kAttentionReferences, kConvReferences, kPoolReferences, kSortReferences,
    kRecurrentReferences, kTrainReferences, kWindowReferences, kCustomReferences;

}  // namespace tenon::conformance
