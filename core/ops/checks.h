// Checks: the vocabulary in which shape rules say what sources and parameters must be like. The
// first failed check is kept; the ones after it are skipped. Texts name the op, the source and both
// numbers: "MUL_MAT: src0 'w' has ne[0] = 64, src1 'x' has ne[0] = 32".
#pragma once

#include <initializer_list>
#include <optional>

#include "core/base/result.h"
#include "core/ops/op_table.h"

namespace tenon {

class Checks {
public:
    explicit Checks(const OpCall& call) : call_(call) {}

    bool ok() const { return !error_; }
    explicit operator bool() const { return ok(); }
    const Error& error() const { return *error_; }

    // ---- a source's type ------------------------------------------------------------------------
    Checks& type(int i, std::initializer_list<ggml_type> allowed);
    Checks& f32(std::initializer_list<int> sources);
    Checks& same_type(int i, int j);

    // ---- a source's shape -----------------------------------------------------------------------
    Checks& extent(int i, int dim, int64_t want);
    Checks& extents(int i, std::initializer_list<int64_t> want);  // from dimension 0 on
    Checks& same_extent(int i, int dim_i, int j, int dim_j);
    Checks& same_shape(int i, int j);
    Checks& multiple(int i, int j, int dim) { return multiple_of(i, dim, j, dim); }
    Checks& multiple_of(int i, int dim_i, int j, int dim_j);  // an extent of i is a multiple of j's
    Checks& repeats(int i, int j);                            // i, repeated, has the shape of j
    Checks& repeats_to(int i, const int64_t (&ne)[GGML_MAX_DIMS]);
    Checks& repeats_from(int i, const int64_t (&ne)[GGML_MAX_DIMS]);  // ne, repeated, is i's shape
    Checks& elements(int i, int64_t want);                            // their number
    Checks& dims_at_most(int i, int n);  // 0: a scalar, 1: a vector …

    // ---- a source's layout ----------------------------------------------------------------------
    Checks& contiguous(std::initializer_list<int> sources);
    Checks& contiguous_1(int i);  // free row stride, dimensions 2 and 3 follow from it
    Checks& contiguous_rows(int i);
    Checks& dense_elements(int i);  // nb[0] is the size of a block
    Checks& padded_rows(int i);     // nb[0] dense, nb[2] and nb[3] follow from nb[1]
    Checks& dense_matrices(int i);  // nb[0] dense, nb[1] follows from it
    Checks& not_transposed(int i);

    // ---- a parameter ----------------------------------------------------------------------------
    Checks& at_least(const char* what, int64_t value, int64_t least);
    Checks& between(const char* what, int64_t value, int64_t least, int64_t most);

    // Anything else. The text starts after "OP: ".
    Checks& require(bool condition, const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(3, 4);

    Result<NodeShape> result(ggml_type type, std::initializer_list<int64_t> ne) const;
    Result<NodeShape> result(const NodeShape& shape) const;
    Result<NodeShape> like(int i) const;  // type and shape of a source

private:
    const ggml_tensor& src(int i) const { return *call_.src[i]; }
    void reject(const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);

    const OpCall& call_;
    std::optional<Error> error_;
};

// Type and shape of a tensor.
NodeShape shape_of(const ggml_tensor& t);
inline NodeShape shape_4d(ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    return {type, {ne0, ne1, ne2, ne3}};
}

// Arithmetic on extents that stops at the ends of int64_t; no tensor is that large, so the size
// check of the tensor itself then says no.
int64_t plus(int64_t a, int64_t b);
int64_t times(int64_t a, int64_t b);

}  // namespace tenon
