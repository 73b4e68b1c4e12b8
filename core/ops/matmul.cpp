// MUL_MAT MUL_MAT_ID OUT_PROD SOLVE_TRI: builders, rules, and what may be set on a product later.
#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {

// a: [k, m, a2, a3], b: [k, n, b2, b3] -> f32 [m, n, b2, b3]
Result<NodeShape> mul_mat_shape(const OpCall& call) {
    const ggml_tensor& a = *call.src[0];
    const ggml_tensor& b = *call.src[1];
    return Checks(call)
        .same_extent(0, 0, 1, 0)
        .multiple(1, 0, 2)
        .multiple(1, 0, 3)
        .not_transposed(0)
        .result(GGML_TYPE_F32, {a.ne[1], b.ne[1], b.ne[2], b.ne[3]});
}

// as: [k, m, experts], b: [k, r, tokens], ids: [used, tokens] -> f32 [m, used, tokens]
Result<NodeShape> mul_mat_id_shape(const OpCall& call) {
    const ggml_tensor& as = *call.src[0];
    const ggml_tensor& b = *call.src[1];
    const ggml_tensor& ids = *call.src[2];
    return Checks(call)
        .not_transposed(0)
        .type(2, {GGML_TYPE_I32})
        .dims_at_most(0, 3)
        .dims_at_most(1, 3)
        .dims_at_most(2, 2)
        .same_extent(2, 1, 1, 2)
        .same_extent(0, 0, 1, 0)
        .multiple_of(2, 0, 1, 1)
        .result(GGML_TYPE_F32, {as.ne[1], ids.ne[0], b.ne[2]});
}

// a: [m, k, a2, a3], b: [n, k, b2, b3] -> f32 [m, n, b2, b3]
Result<NodeShape> out_prod_shape(const OpCall& call) {
    const ggml_tensor& a = *call.src[0];
    const ggml_tensor& b = *call.src[1];
    return Checks(call)
        .same_extent(0, 1, 1, 1)
        .multiple(1, 0, 2)
        .multiple(1, 0, 3)
        .not_transposed(0)
        .result(GGML_TYPE_F32, {a.ne[0], b.ne[0], b.ne[2], b.ne[3]});
}

// A: [n, n, …], B: [m, n, …]
Result<NodeShape> solve_tri_shape(const OpCall& call) {
    return Checks(call)
        .f32({0, 1})
        .same_extent(0, 0, 0, 1)
        .same_extent(0, 1, 1, 1)
        .same_extent(0, 2, 1, 2)
        .same_extent(0, 3, 1, 3)
        .contiguous({0, 1})
        .like(1);
}

namespace {

bool is_product(const ggml_tensor& node) {
    return node.op == GGML_OP_MUL_MAT || node.op == GGML_OP_MUL_MAT_ID;
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_mul_mat(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_MUL_MAT, {a, b}, tenon_mul_mat_params{});
}

ggml_tensor* ggml_mul_mat_id(ggml_context* ctx, ggml_tensor* as, ggml_tensor* b, ggml_tensor* ids) {
    return build(ctx, GGML_OP_MUL_MAT_ID, {as, b, ids}, tenon_mul_mat_id_params{});
}

ggml_tensor* ggml_out_prod(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_OUT_PROD, {a, b});
}

ggml_tensor* ggml_solve_tri(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, bool left,
                            bool lower, bool uni) {
    if (!left || !lower || uni) {
        report(fail(TENON_E_INVALID,
                    "SOLVE_TRI: left %d, lower %d, uni %d; only 1, 1, 0 is possible", left, lower,
                    uni));
        return nullptr;
    }
    return build(ctx, GGML_OP_SOLVE_TRI, {a, b});
}

void ggml_mul_mat_set_prec(ggml_tensor* a, ggml_prec prec) {
    if (a == nullptr) return;
    guard_void([&]() -> Result<void> {
        if (auto is = expect_op("ggml_mul_mat_set_prec", a, {GGML_OP_MUL_MAT}); !is) return is;
        auto p = params_of<tenon_mul_mat_params>(*a);
        p.prec = prec;
        set_params(*a, p);
        return {};
    });
}

void ggml_mul_mat_set_hint(ggml_tensor* a, ggml_op_hint hint) {
    if (a == nullptr) return;
    guard_void([&]() -> Result<void> {
        if (auto is = expect_op("ggml_mul_mat_set_hint", a, {GGML_OP_MUL_MAT}); !is) return is;
        auto p = params_of<tenon_mul_mat_params>(*a);
        p.hint = hint;
        set_params(*a, p);
        return {};
    });
}

// The accumulator's precision; false, and nothing changed, where it means nothing.
bool ggml_prec_set_acc(ggml_tensor* a, ggml_prec prec) {
    if (a == nullptr || prec == GGML_PREC_Q8 || prec == GGML_PREC_Q4) return false;
    if (is_product(*a)) {
        auto p = params_of<tenon_mul_mat_params>(*a);
        p.prec = prec;
        set_params(*a, p);
        return true;
    }
    if (a->op == GGML_OP_FLASH_ATTN_EXT) {
        auto p = params_of<tenon_flash_attn_ext_params>(*a);
        p.prec = prec;
        set_params(*a, p);
        return true;
    }
    return false;
}

// The least precision to which source `idx` may be rounded; only src[1] of a product has one.
bool ggml_prec_set_src(ggml_tensor* a, ggml_prec prec, int idx) {
    if (a == nullptr || idx != 1 || !is_product(*a)) return false;
    auto p = params_of<tenon_mul_mat_params>(*a);
    p.src1_prec = prec;
    set_params(*a, p);
    return true;
}

}  // extern "C"
