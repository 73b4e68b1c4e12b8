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
    bool inplace = false;      // the result is a view of the row's in-place source (src[0] unless said)
};

// Untyped core of build(); `params` are n bytes, the rest of op_params is zero.
ggml_tensor* build_node(ggml_context* ctx, ggml_op op, std::span<ggml_tensor* const> sources,
                        const void* params, size_t params_bytes, BuildOptions options);

template <class Params>
ggml_tensor* build(ggml_context* ctx, ggml_op op, std::initializer_list<ggml_tensor*> sources,
                   const Params& params, BuildOptions options = {}) {
    static_assert(std::is_trivially_copyable_v<Params> && sizeof(Params) <= GGML_MAX_OP_PARAMS);
    return build_node(ctx, op, {sources.begin(), sources.size()}, &params, sizeof params, options);
}

inline ggml_tensor* build(ggml_context* ctx, ggml_op op, std::initializer_list<ggml_tensor*> sources,
                          BuildOptions options = {}) {
    return build_node(ctx, op, {sources.begin(), sources.size()}, nullptr, 0, options);
}

// The parameters of a node, copied out: op_params is only 4-aligned.
template <class Params>
Params params_of(const ggml_tensor& node) {
    static_assert(sizeof(Params) <= GGML_MAX_OP_PARAMS);
    Params p;
    std::memcpy(&p, node.op_params, sizeof p);
    return p;
}

}  // namespace tenon
