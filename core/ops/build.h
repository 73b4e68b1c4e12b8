// build(): the one way a node comes into being. Looks up the op's row, checks the sources, applies
// the shape rule, stores the parameters. On failure it records why and returns NULL; given a NULL
// source it returns NULL without a word, since whoever made the NULL has already spoken.
#pragma once

#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "core/base/result.h"
#include "core/ops/op_table.h"
#include "ggml.h"
#include "tenon/op_params.h"

namespace tenon {

// How the result is made when the row's shape rule alone does not say.
struct BuildOptions {
    // The source whose memory the result is; -1: the result gets memory of its own. Unless the
    // result is laid out anew, it is a view of the whole source: same strides, "<name> (view)".
    int view_of = -1;
    bool new_layout = false;  // with view_of: default strides for the rule's shape, and no name
    size_t view_offset = 0;   // bytes into that source
    const NodeShape* asked = nullptr;  // what the caller wants: OpCall::asked
};

constexpr BuildOptions kInPlace{.view_of = 0};

// DUP(a) or VIEW(a).
constexpr BuildOptions in_place_if(bool inplace) { return inplace ? kInPlace : BuildOptions{}; }

// Untyped core of build(); `params` are n bytes, the rest of op_params is zero.
ggml_tensor* build_node(ggml_context* ctx, ggml_op op, std::span<ggml_tensor* const> sources,
                        const void* params, size_t params_bytes, const BuildOptions& options);

template <class Params>
requires(!std::is_same_v<Params, BuildOptions>)
    ggml_tensor* build(ggml_context* ctx, ggml_op op, std::initializer_list<ggml_tensor*> sources,
                       const Params& params, const BuildOptions& options = {}) {
    static_assert(std::is_trivially_copyable_v<Params> && sizeof(Params) <= GGML_MAX_OP_PARAMS);
    return build_node(ctx, op, {sources.begin(), sources.size()}, &params, sizeof params, options);
}

inline ggml_tensor* build(ggml_context* ctx, ggml_op op,
                          std::initializer_list<ggml_tensor*> sources,
                          const BuildOptions& options = {}) {
    return build_node(ctx, op, {sources.begin(), sources.size()}, nullptr, 0, options);
}

// Renames a freshly built node "<of><suffix>"; NULL passes through.
ggml_tensor* named_after(ggml_tensor* node, const ggml_tensor* of, const char* suffix);

// The parameters of a node, copied out: op_params is only 4-aligned.
template <class Params>
Params params_of(const ggml_tensor& node) {
    static_assert(sizeof(Params) <= GGML_MAX_OP_PARAMS);
    Params p;
    std::memcpy(&p, node.op_params, sizeof p);
    return p;
}

template <class Params>
void set_params(ggml_tensor& node, const Params& params) {
    static_assert(std::is_trivially_copyable_v<Params> && sizeof(Params) <= GGML_MAX_OP_PARAMS);
    std::memcpy(node.op_params, &params, sizeof params);
}

// For functions that change a node that exists already: fails unless `node` is of one of the ops.
Result<void> expect_op(const char* function, const ggml_tensor* node,
                       std::initializer_list<ggml_op> ops);

}  // namespace tenon
