// build(): checks, shape rule, node.
#include "core/ops/build.h"

#include <algorithm>
#include <cassert>

#include "core/tensor/context.h"
#include "core/tensor/types.h"

namespace tenon {
namespace {

// Sources the op needs; false when one of them is missing.
bool all_present(const OpRow& row, std::span<ggml_tensor* const> sources) {
    for (int i = 0; i < row.min_sources; i++) {
        if (sources[i] == nullptr) return false;
    }
    return true;
}

// Type, shape and strides of `base`. A permuted tensor of blocks may have rows of part of a block,
// which no new tensor can have; what exists lies inside its memory all the same.
Result<ggml_tensor*> view_of_all(ggml_context* ctx, ggml_tensor* base) {
    constexpr int64_t kNothing = 0;
    const bool whole_blocks = base->ne[0] % tenon_types[base->type].block == 0;
    auto view = whole_blocks ? new_tensor_impl(ctx, base->type, GGML_MAX_DIMS, base->ne, base, 0)
                             : new_tensor_impl(ctx, base->type, 1, &kNothing, base, 0);
    if (!view) return view;
    std::copy_n(base->ne, GGML_MAX_DIMS, (*view)->ne);
    std::copy_n(base->nb, GGML_MAX_DIMS, (*view)->nb);
    return view;
}

Result<ggml_tensor*> make_result(ggml_context* ctx, const NodeShape& shape,
                                 std::span<ggml_tensor* const> sources,
                                 const BuildOptions& options) {
    if (options.view_of < 0) {
        return new_tensor_impl(ctx, shape.type, GGML_MAX_DIMS, shape.ne, nullptr, 0);
    }
    ggml_tensor* base = sources[options.view_of];
    if (options.new_layout) {
        return new_tensor_impl(ctx, shape.type, GGML_MAX_DIMS, shape.ne, base, options.view_offset);
    }
    auto view = view_of_all(ctx, base);
    if (!view) return view;
    named_after(*view, base, " (view)");
    return view;
}

}  // namespace

ggml_tensor* build_node(ggml_context* ctx, ggml_op op, std::span<ggml_tensor* const> sources,
                        const void* params, size_t params_bytes, const BuildOptions& options) {
    return guard<ggml_tensor*>(nullptr, [&]() -> Result<ggml_tensor*> {
        const OpRow* row = op_row(op);
        assert(row != nullptr && row->shape != nullptr && params_bytes == row->params_bytes);
        assert(sources.size() >= static_cast<size_t>(row->min_sources) &&
               sources.size() <= static_cast<size_t>(row->max_sources));
        if (!all_present(*row, sources)) return nullptr;
        if (ctx == nullptr) return fail(TENON_E_INVALID, "%s: the context is NULL", row->name);

        const OpCall call{*row, sources.data(), static_cast<int>(sources.size()), params,
                          options.asked};
        auto shape = row->shape(call);
        if (!shape) return shape.error();
        auto made = make_result(ctx, *shape, sources, options);
        if (!made) return fail(made.error().code, "%s: %s", row->name, made.error().text);

        ggml_tensor& node = **made;
        node.op = op;
        std::copy(sources.begin(), sources.end(), node.src);
        if (params_bytes != 0) std::memcpy(node.op_params, params, params_bytes);
        return &node;
    });
}

ggml_tensor* named_after(ggml_tensor* node, const ggml_tensor* of, const char* suffix) {
    if (node == nullptr) return nullptr;
    constexpr size_t kLast = GGML_MAX_NAME - 1;
    size_t n = std::min(std::strlen(of->name), kLast);
    std::memmove(node->name, of->name, n);  // `of` may be the node itself
    const size_t m = std::min(std::strlen(suffix), kLast - n);
    std::memcpy(node->name + n, suffix, m);
    node->name[n + m] = '\0';
    return node;
}

Result<void> expect_op(const char* function, const ggml_tensor* node,
                       std::initializer_list<ggml_op> ops) {
    for (ggml_op op : ops) {
        if (node->op != op) continue;
        const OpRow* row = op_row(op);
        if (row && !all_present(*row, node->src)) {
            return fail(TENON_E_INVALID, "%s: the node has not the %d sources of %s", function,
                        row->min_sources, row->name);
        }
        return {};
    }
    return fail(TENON_E_INVALID, "%s: the node is %s, must be %s", function, ggml_op_name(node->op),
                ggml_op_name(*ops.begin()));
}

}  // namespace tenon
