// SOFT_MAX, FLASH_ATTN_EXT and relatives, LIGHTNING_INDEXER: builders, rules, sinks.
#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {
namespace {

Checks& bias_needs_mask(Checks& check, float max_bias, bool has_mask) {
    return check.require(!(max_bias > 0.0f) || has_mask, "max_bias is %g, which needs a mask",
                         max_bias);
}

// One number per head, added to the softmax's denominator.
Checks& sinks_per_head(Checks& check, int sinks, int scores) {
    return check.f32({sinks}).same_extent(sinks, 0, scores, 2);
}

}  // namespace

// x: [n, rows, heads, batch], mask: [n, >= rows, …], sinks: [heads]
Result<NodeShape> soft_max_shape(const OpCall& call) {
    Checks check(call);
    check.contiguous({0});
    if (call.has(1)) {
        const int64_t rows = call.src[0]->ne[1];
        check.type(1, {GGML_TYPE_F16, GGML_TYPE_F32})
            .contiguous({1})
            .same_extent(1, 0, 0, 0)
            .require(call.src[1]->ne[1] >= rows, "src1 has ne[1] = %lld, must be at least %lld",
                     (long long)call.src[1]->ne[1], (long long)rows)
            .multiple(0, 1, 2)
            .multiple(0, 1, 3);
    }
    bias_needs_mask(check, call.params_as<tenon_soft_max_params>().max_bias, call.has(1));
    if (call.has(2)) sinks_per_head(check, 2, 0);
    return check.like(0);
}

Result<NodeShape> soft_max_back_shape(const OpCall& call) {
    return Checks(call).same_shape(0, 1).like(0);
}

// q: [d, n, heads, b], k: [d, kv, heads_k, b], v: [dv, kv, heads_v, b], mask: [kv, >= n, …],
// sinks: [heads] -> f32 [dv, heads, n, b]
Result<NodeShape> flash_attn_ext_shape(const OpCall& call) {
    const ggml_tensor& q = *call.src[0];
    const ggml_tensor& v = *call.src[2];
    Checks check(call);
    check.same_extent(0, 0, 1, 0)
        .multiple(0, 1, 2)
        .multiple(0, 2, 2)
        .same_extent(1, 1, 2, 1)
        .same_extent(0, 3, 1, 3)
        .same_extent(0, 3, 2, 3);
    if (call.has(3)) {
        const ggml_tensor& mask = *call.src[3];
        check.type(3, {GGML_TYPE_F16})
            .contiguous({3})
            .same_extent(3, 0, 1, 1)
            .require(mask.ne[1] >= q.ne[1], "src3 has ne[1] = %lld, must be at least %lld",
                     (long long)mask.ne[1], (long long)q.ne[1])
            .multiple(0, 3, 2)
            .multiple(0, 3, 3);
    }
    bias_needs_mask(check, call.params_as<tenon_flash_attn_ext_params>().max_bias, call.has(3));
    if (call.has(4)) sinks_per_head(check, 4, 0);
    return check.result(GGML_TYPE_F32, {v.ne[0], q.ne[2], q.ne[1], q.ne[3]});
}

// Never existed in a usable form; the op keeps its number.
Result<NodeShape> flash_attn_back_shape(const OpCall& call) {
    return fail(TENON_E_UNSUPPORTED, "%s is not supported", call.row.name);
}

// q: [d, h, t, s], k: [d, 1, kv, s], weights: [h, t, 1, s], mask: [kv, t, 1, sm]
Result<NodeShape> lightning_indexer_shape(const OpCall& call) {
    const ggml_tensor& q = *call.src[0];
    const ggml_tensor& k = *call.src[1];
    return Checks(call)
        .f32({0, 2})
        .type(3, {GGML_TYPE_F16})
        .extents(1, {q.ne[0], 1, k.ne[2], q.ne[3]})
        .extents(2, {q.ne[1], q.ne[2], 1, q.ne[3]})
        .extents(3, {k.ne[2], q.ne[2], 1})
        .multiple(0, 3, 3)
        .result(GGML_TYPE_F32, {k.ne[2], q.ne[2], 1, q.ne[3]});
}

namespace {

ggml_tensor* build_soft_max(ggml_context* ctx, ggml_tensor* a, ggml_tensor* mask, float scale,
                            float max_bias, bool inplace) {
    return build(ctx, GGML_OP_SOFT_MAX, {a, mask}, tenon_soft_max_params{scale, max_bias},
                 in_place_if(inplace));
}

ggml_tensor* build_soft_max_back(ggml_context* ctx, ggml_tensor* dy, ggml_tensor* y, float scale,
                                 float max_bias, bool inplace) {
    return build(ctx, GGML_OP_SOFT_MAX_BACK, {dy, y}, tenon_soft_max_back_params{scale, max_bias},
                 in_place_if(inplace));
}

// Puts `sinks` into a free slot of a finished node, if the op's rule accepts the node with them.
Result<void> add_sinks(const char* function, ggml_op op, ggml_tensor* node, int slot,
                       ggml_tensor* sinks) {
    if (auto is = expect_op(function, node, {op}); !is) return is;
    if (sinks == nullptr) {
        node->src[slot] = nullptr;
        return {};
    }
    if (node->src[slot] != nullptr) {
        return fail(TENON_E_INVALID, "%s: the node has sinks '%s' already", function,
                    node->src[slot]->name);
    }
    ggml_tensor* src[GGML_MAX_SRC];
    std::memcpy(src, node->src, sizeof src);
    src[slot] = sinks;
    const OpRow& row = *op_row(op);
    auto shape = row.shape({row, src, slot + 1, node->op_params, nullptr});
    if (!shape) return shape.error();
    node->src[slot] = sinks;
    return {};
}

// The parameters of a FLASH_ATTN_EXT node, changed by `change`.
template <class Change>
void change_flash_attn(const char* function, ggml_tensor* a, Change&& change) {
    if (a == nullptr) return;
    guard_void([&]() -> Result<void> {
        if (auto is = expect_op(function, a, {GGML_OP_FLASH_ATTN_EXT}); !is) return is;
        auto p = params_of<tenon_flash_attn_ext_params>(*a);
        if (Result<void> changed = change(p); !changed) return changed;
        set_params(*a, p);
        return {};
    });
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_soft_max(ggml_context* ctx, ggml_tensor* a) {
    return build_soft_max(ctx, a, nullptr, 1.0f, 0.0f, /*inplace=*/false);
}
ggml_tensor* ggml_soft_max_inplace(ggml_context* ctx, ggml_tensor* a) {
    return build_soft_max(ctx, a, nullptr, 1.0f, 0.0f, /*inplace=*/true);
}
ggml_tensor* ggml_soft_max_ext(ggml_context* ctx, ggml_tensor* a, ggml_tensor* mask, float scale,
                               float max_bias) {
    return build_soft_max(ctx, a, mask, scale, max_bias, /*inplace=*/false);
}
ggml_tensor* ggml_soft_max_ext_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* mask,
                                       float scale, float max_bias) {
    return build_soft_max(ctx, a, mask, scale, max_bias, /*inplace=*/true);
}
void ggml_soft_max_add_sinks(ggml_tensor* a, ggml_tensor* sinks) {
    if (a == nullptr) return;
    guard_void([&] { return add_sinks("ggml_soft_max_add_sinks", GGML_OP_SOFT_MAX, a, 2, sinks); });
}

// a is the gradient of the result, b the result itself.
ggml_tensor* ggml_soft_max_ext_back(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, float scale,
                                    float max_bias) {
    return build_soft_max_back(ctx, a, b, scale, max_bias, /*inplace=*/false);
}
ggml_tensor* ggml_soft_max_ext_back_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b,
                                            float scale, float max_bias) {
    return build_soft_max_back(ctx, a, b, scale, max_bias, /*inplace=*/true);
}

ggml_tensor* ggml_flash_attn_ext(ggml_context* ctx, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v,
                                 ggml_tensor* mask, float scale, float max_bias,
                                 float logit_softcap) {
    const tenon_flash_attn_ext_params params{scale, max_bias, logit_softcap, 0, 0};
    return build(ctx, GGML_OP_FLASH_ATTN_EXT, {q, k, v, mask}, params);
}
void ggml_flash_attn_ext_set_prec(ggml_tensor* a, ggml_prec prec) {
    change_flash_attn("ggml_flash_attn_ext_set_prec", a, [&](auto& p) -> Result<void> {
        p.prec = prec;
        return {};
    });
}
ggml_prec ggml_flash_attn_ext_get_prec(const ggml_tensor* a) {
    if (a == nullptr) return GGML_PREC_DEFAULT;
    return guard<ggml_prec>(GGML_PREC_DEFAULT, [&]() -> Result<ggml_prec> {
        auto is = expect_op("ggml_flash_attn_ext_get_prec", a, {GGML_OP_FLASH_ATTN_EXT});
        if (!is) return is.error();
        return static_cast<ggml_prec>(params_of<tenon_flash_attn_ext_params>(*a).prec);
    });
}
void ggml_flash_attn_ext_set_n_kv_max(ggml_tensor* a, int32_t n_kv_max) {
    change_flash_attn("ggml_flash_attn_ext_set_n_kv_max", a, [&](auto& p) -> Result<void> {
        if (n_kv_max < 0) {
            return fail(TENON_E_INVALID, "FLASH_ATTN_EXT: n_kv_max is %d, must be at least 0",
                        n_kv_max);
        }
        p.n_kv_max = n_kv_max;
        return {};
    });
}
void ggml_flash_attn_ext_add_sinks(ggml_tensor* a, ggml_tensor* sinks) {
    if (a == nullptr) return;
    guard_void([&] {
        return add_sinks("ggml_flash_attn_ext_add_sinks", GGML_OP_FLASH_ATTN_EXT, a, 4, sinks);
    });
}

ggml_tensor* ggml_flash_attn_back(ggml_context* ctx, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v,
                                  ggml_tensor* d, bool masked) {
    return build(ctx, GGML_OP_FLASH_ATTN_BACK, {q, k, v, d},
                 tenon_flash_attn_back_params{masked ? 1 : 0});
}

ggml_tensor* ggml_lightning_indexer(ggml_context* ctx, ggml_tensor* q, ggml_tensor* k,
                                    ggml_tensor* weights, ggml_tensor* mask) {
    return build(ctx, GGML_OP_LIGHTNING_INDEXER, {q, k, weights, mask});
}

}  // extern "C"
