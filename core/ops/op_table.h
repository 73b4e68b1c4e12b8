// THE table: one row per op. Names, sources, parameters, shape rule and traits of every op are said
// here and nowhere else. Builders, validation, in-place reuse, rt-info and the conformance suite
// read it.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/base/result.h"
#include "ggml.h"

namespace tenon {

enum OpTraits : uint32_t {
    kInPlaceOk = 1u << 0,     // the graph allocator may let the result take over a source's memory
    kView = 1u << 1,          // no computation: the result is a view of src[0]
    kInPlaceFirst = 1u << 3,  // … and of no source but the first: others are read at random
    kWritesView = 1u << 2,  // the result is a view of a source, which the op writes (CPY, SET_ROWS)
};

// The shape a node will have; filled in by the row's rule from checked sources and parameters.
struct NodeShape {
    ggml_type type = GGML_TYPE_F32;
    int64_t ne[GGML_MAX_DIMS] = {1, 1, 1, 1};
};

struct OpRow;

// What a shape rule looks at. Sources from min_sources on may be NULL: absent.
struct OpCall {
    const OpRow& row;
    const ggml_tensor* const* src;
    int n_src;
    const void* params;  // params_bytes of the row, in no particular alignment; may be NULL
    const NodeShape*
        asked;  // the result's shape or type where the caller names it; NULL: it did not

    bool has(int i) const { return i < n_src && src[i] != nullptr; }

    template <class Params>
    Params params_as() const {
        Params p;
        std::memcpy(&p, params, sizeof p);
        return p;
    }
};

struct OpRow {
    ggml_op op;
    int min_sources, max_sources;
    size_t params_bytes;  // of its struct in tenon/op_params.h; 0: none
    // Checks sources and parameters, and says what the result looks like. NULL: no builder (NONE).
    Result<NodeShape> (*shape)(const OpCall& call);
    uint32_t traits;      // OpTraits
    const char* name;     // "RMS_NORM"
    const char* symbol;   // "rms_norm(x)"
    const char* sources;  // "x [n, rows]", for people
    const char* params;   // "eps f32"; "" when there are none
    const char* doc;      // one line: the formula
};

extern const OpRow kOps[GGML_OP_COUNT];

struct SubOpRow {
    int op;
    const char* name;  // "GELU"
    const char* doc;
};
extern const SubOpRow kUnaryOps[GGML_UNARY_OP_COUNT];
extern const SubOpRow kGluOps[GGML_GLU_OP_COUNT];

// NULL for a number that is no op.
inline const OpRow* op_row(int64_t op) {
    return op >= 0 && op < GGML_OP_COUNT ? &kOps[op] : nullptr;
}

}  // namespace tenon
