// Cases: chains of products: with bias, scale and gate, summed, by expert.

#include "sdk/conformance/cases/chains.h"

namespace tenon::conformance {
namespace {

constexpr ggml_type kWeightTypes[] = {GGML_TYPE_F32,   GGML_TYPE_F16,    GGML_TYPE_Q8_0,
                                      GGML_TYPE_Q1_0,  GGML_TYPE_Q2_0,   GGML_TYPE_Q4_0,
                                      GGML_TYPE_Q4_1,  GGML_TYPE_Q4_K,   GGML_TYPE_MXFP4,
                                      GGML_TYPE_NVFP4, GGML_TYPE_IQ2_XXS};
constexpr double kProductError = 5e-4, kFusedProductError = 5e-3;

// Experts of each token: a random permutation, of which a view keeps n_used.
ggml_tensor* expert_ids(GraphMaker& m, int64_t n_experts, int64_t n_used, int64_t n) {
    ggml_tensor* ids = m.leaf(GGML_TYPE_I32, {n_experts, n}, permutation());
    return ggml_view_2d(m.ctx, ids, n_used, n, ids->nb[1], 0);
}

struct VecFusion {
    ggml_type type;
    int glu;  // enum ggml_glu_op; -1: the up lane alone
    int64_t m;
    bool by_expert, shared = false;
    bool bias = false, lane_scale = false;
    int64_t channels = 1, samples = 1;
};

constexpr int64_t kVecK = 256, kVecN = 32, kVecExperts = 16, kVecUsed = 8;

// One product with what belongs to it.
ggml_tensor* lane(GraphMaker& m, const VecFusion& c, ggml_tensor* x, ggml_tensor* ids, Steps& s) {
    ggml_context* ctx = m.ctx;
    const auto step = [&](ggml_tensor* t) { return s.emplace_back(t); };
    if (!c.by_expert) {
        ggml_tensor* t =
            step(ggml_mul_mat(ctx, m.leaf(c.type, {kVecK, kVecN, c.channels, c.samples}), x));
        if (c.lane_scale) t = step(ggml_mul(ctx, t, m.f32({1})));
        if (c.bias) t = step(ggml_add(ctx, t, m.f32({kVecN, 1, c.channels, c.samples})));
        return t;
    }
    ggml_tensor* t =
        step(ggml_mul_mat_id(ctx, m.leaf(c.type, {kVecK, kVecN, kVecExperts}), x, ids));
    if (c.lane_scale) {
        ggml_tensor* scale = ggml_reshape_3d(ctx, m.f32({kVecExperts}), 1, kVecExperts, 1);
        scale = step(ggml_repeat_4d(ctx, scale, 1, kVecExperts, c.m, 1));
        scale = step(ggml_get_rows(ctx, scale, ids));
        t = step(ggml_mul(ctx, t, scale));
    }
    if (c.bias) t = step(ggml_add_id(ctx, t, m.f32({kVecN, kVecExperts}), ids));
    return t;
}

Steps vec_steps(GraphMaker& m, const VecFusion& c) {
    Steps s;
    ggml_tensor* ids = c.by_expert ? expert_ids(m, kVecExperts, kVecUsed, c.m) : nullptr;
    ggml_tensor* x = c.by_expert ? m.f32({kVecK, c.shared ? 1 : kVecUsed, c.m})
                                 : m.f32({kVecK, c.m, c.channels, c.samples});
    ggml_tensor* up = lane(m, c, x, ids, s);
    if (c.glu >= 0) {
        ggml_tensor* g = lane(m, c, x, ids, s);
        const auto op = static_cast<ggml_glu_op>(c.glu);
        s.push_back(op == GGML_GLU_OP_SWIGLU_OAI ? ggml_swiglu_oai(m.ctx, g, up, 1.702f, 7.0f)
                                                 : ggml_glu_split(m.ctx, g, up, op));
    }
    if (c.by_expert) {
        s.push_back(ggml_mul(m.ctx, s.back(), m.f32({1, kVecUsed, c.m})));
    } else {
        s.push_back(ggml_add(m.ctx, s.back(), m.f32({kVecN, 1, c.channels, c.samples})));
    }
    return s;
}

Chain vec_fusion(const VecFusion& c) {
    return {"CHAIN:MUL_MAT_VEC_FUSION",
            params("type", c.type, "glu_op", c.glu, "m", c.m, "use_id", c.by_expert, "b", c.shared,
                   "with_bias", c.bias, "with_lane_scale", c.lane_scale, "batch_dims",
                   Shape{c.channels, c.samples}),
            kFusedProductError, [=](GraphMaker& m) { return vec_steps(m, c); }};
}

// Whether weights of the type take long to make.
bool is_slow_to_quantize(ggml_type type) { return type == GGML_TYPE_IQ2_XXS; }

void vec_fusions_of(CaseList& list, ggml_type type, int glu, bool bias, bool scale) {
    for (const int64_t m : {1, 2, 4, 8})
        add_chain(list, vec_fusion({type, glu, m, false, false, bias, scale}));
    add_chain(list, vec_fusion({type, glu, 1, false, false, bias, scale, 4, 2}));
    for (const bool shared : {false, true}) {
        add_chain(list, vec_fusion({type, glu, 1, true, shared, bias, scale}));
        if (!is_slow_to_quantize(type))
            add_chain(list, vec_fusion({type, glu, 3, true, shared, bias, scale}));
    }
}

void product_chains(CaseList& list) {
    for (const ggml_type type : kWeightTypes) {
        for (const int glu : {-1, 0, 1, 2, 3, 4, 5}) {
            const bool usual = glu == -1 || glu == GGML_GLU_OP_GEGLU || glu == GGML_GLU_OP_SWIGLU;
            if (!usual && type != GGML_TYPE_F32 && type != GGML_TYPE_Q8_0) continue;
            for (const bool bias : {false, true}) {
                for (const bool scale : {false, true}) {
                    if (scale && is_slow_to_quantize(type)) continue;
                    vec_fusions_of(list, type, glu, bias, scale);
                }
            }
        }
    }
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_Q8_0}) {
        for (const bool by_expert : {false, true}) {
            for (const int glu : {-1, 2})
                add_watched_chain(list, vec_fusion({type, glu, 1, by_expert, false, true, true}));
        }
    }
}

struct ExpertSum {
    ggml_type type;
    int64_t n_experts, n_used, m, n, k;
    int products;
    bool mul;
};
Chain expert_sum(const ExpertSum& c) {
    return {"CHAIN:MUL_MAT_ID_FUSION",
            params("type_a", c.type, "n_mats", c.n_experts, "n_used", c.n_used, "m", c.m, "n", c.n,
                   "k", c.k, "o", c.products, "mul", c.mul),
            kProductError, [=](GraphMaker& m) {
                Steps s;
                ggml_tensor* ids = expert_ids(m, c.n_experts, c.n_used, c.n);
                ggml_tensor* b = m.f32({c.k, c.n_used, c.n});
                ggml_tensor* sum = nullptr;
                for (int i = 0; i < c.products; ++i) {
                    ggml_tensor* weights = m.leaf(c.type, {c.k, c.m, c.n_experts});
                    ggml_tensor* d = s.emplace_back(ggml_mul_mat_id(m.ctx, weights, b, ids));
                    sum = sum ? s.emplace_back(ggml_add(m.ctx, sum, d)) : d;
                }
                if (c.mul) s.push_back(ggml_mul(m.ctx, sum, m.f32({1, c.n_used, c.n})));
                return s;
            }};
}

Chain product_sum(ggml_type type, int64_t m_rows, int64_t n, int64_t k) {
    return {"CHAIN:MUL_MAT_ADD", params("type_a", type, "m", m_rows, "n", n, "k", k, "o", 3),
            kProductError, [=](GraphMaker& m) {
                ggml_tensor* a = corner(m, type, {k, m_rows}, {2, 1, 1, 1});
                ggml_tensor* b = corner(m, GGML_TYPE_F32, {k, n}, {2, 1, 1, 1});
                Steps s{ggml_mul_mat(m.ctx, a, b)};
                for (int i = 1; i < 3; ++i) {
                    ggml_tensor* sum = s.back();
                    s.push_back(ggml_mul_mat(m.ctx, a, b));
                    s.push_back(ggml_add(m.ctx, sum, s.back()));
                }
                return s;
            }};
}

void product_sum_chains(CaseList& list) {
    add_chain(list, expert_sum({GGML_TYPE_F16, 16, 16, 32, 32, 32, 3, false}));
    for (const ggml_type type :
         {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_MXFP4}) {
        for (const int64_t n : {1, 4, 512})
            add_chain(list, expert_sum({type, 128, 8, 768, n, 2048, 1, true}));
        for (const int64_t n : {1, 32}) {
            for (const bool mul : {false, true})
                add_chain(list, expert_sum({type, 16, 4, 64, n, 256, 3, mul}));
        }
    }
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_Q4_0}) {
        for (const int64_t n : {1, 9})
            add_watched_chain(list, expert_sum({type, 8, 2, 33, n, 64, 3, true}));
    }
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0})
        add_watched_chain(list, product_sum(type, 16, 32, 32));
}

}  // namespace

void product_chain_cases(CaseList& list) {
    product_chains(list);
    product_sum_chains(list);
}

}  // namespace tenon::conformance
