// Cases: chains that models consist of: rotation into a cache, the choice of experts, state-space
// layers.

#include <cmath>

#include "sdk/conformance/cases/chains.h"

namespace tenon::conformance {
namespace {

// Different numbers from 0 … n-1 in any order.
ggml_tensor* distinct_rows(GraphMaker& m, int64_t count, int64_t n) {
    ggml_tensor* all = m.leaf(GGML_TYPE_I64, {n}, permutation());
    return ggml_view_1d(m.ctx, all, count, 0);
}

// ---- ROPE ---------------------------------------------------------------------------------------

ggml_tensor* rotate(GraphMaker& m, ggml_tensor* a, int mode, bool inplace = false) {
    const bool multi = mode & GGML_ROPE_TYPE_MROPE, vision = mode == GGML_ROPE_TYPE_VISION;
    const int n = static_cast<int>(a->ne[0]), part = vision ? n / 4 : n / 3;
    ggml_tensor* pos = m.leaf(GGML_TYPE_I32, {a->ne[2] * (multi ? 4 : 1)}, integers(0, 256));
    if (!multi) return (inplace ? ggml_rope_inplace : ggml_rope)(m.ctx, a, pos, n, mode);
    int sections[4] = {part, part, vision ? 0 : part, 0};
    return (inplace ? ggml_rope_multi_inplace : ggml_rope_multi)(
        m.ctx, a, pos, nullptr, vision ? n / 2 : n, sections, mode, 0, 10000, 1.4245f, 0.7465f,
        1.4245f, 1, 1);
}

// Rows of `t` (the heads of a token together) into a cache of `slots` rows.
void into_cache(GraphMaker& m, ggml_tensor* t, ggml_type type, int64_t slots, Steps& steps) {
    const int64_t width = t->ne[0] * t->ne[1], tokens = t->ne[2];
    ggml_tensor* rows = ggml_view_2d(m.ctx, t, width, tokens, t->nb[2], 0);
    ggml_tensor* cache = m.leaf(type, {width, slots});
    steps.push_back(rows);
    steps.push_back(ggml_set_rows(m.ctx, cache, rows, distinct_rows(m, tokens, slots)));
}

Chain rope_set_rows(ggml_type type, const Shape& ne, int mode, bool inplace = false) {
    return {"CHAIN:ROPE_SET_ROWS",
            params("type", type, "ne_a", ne, "mode", mode, "inplace", inplace), 1e-7,
            [=](GraphMaker& m) {
                ggml_tensor* a = m.f32({ne[0], ne[1], ne[2]});
                Steps s{rotate(m, a, mode, inplace)};
                into_cache(m, s.back(), type, ne[2] * ne[3], s);
                return s;
            }};
}

struct NormRope {
    Shape ne;
    int mode;
    bool multi_add, set_rows, broadcast;
};
Chain rms_norm_mul_rope(const NormRope& c) {
    return {"CHAIN:RMS_NORM_MUL_ROPE",
            params("ne", c.ne, "multi_add", c.multi_add, "set_rows", c.set_rows, "broadcast",
                   c.broadcast, "mode", c.mode),
            1e-7, [=](GraphMaker& m) {
                Steps s;
                ggml_tensor* x = m.f32(c.ne);
                if (c.multi_add) {
                    s.push_back(ggml_add(m.ctx, x, m.f32(c.ne)));
                    s.push_back(ggml_add(m.ctx, s.back(), m.f32(c.ne)));
                    x = s.back();
                }
                s.push_back(ggml_rms_norm(m.ctx, x, 1e-6f));
                ggml_tensor* w = c.broadcast ? m.f32({c.ne[0]}) : m.f32(c.ne);
                s.push_back(ggml_mul(m.ctx, s.back(), w));
                s.push_back(rotate(m, s.back(), c.mode));
                if (c.set_rows) into_cache(m, s.back(), GGML_TYPE_F16, c.ne[2], s);
                return s;
            }};
}

void rope_chains(CaseList& list) {
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_F32, GGML_TYPE_BF16, GGML_TYPE_Q8_0}) {
        for (const int mode : {0, 2, 8, 24, 40}) {
            for (const int64_t tokens : {1, 8, 512}) {
                if (tokens == 512 && type != GGML_TYPE_F16 && type != GGML_TYPE_F32) continue;
                for (const int64_t ne3 : {1, 3})
                    add_chain(list, rope_set_rows(type, {128, 32, tokens, ne3}, mode));
            }
            add_watched_chain(list, rope_set_rows(type, {64, 3, 5, 2}, mode));
            add_watched_chain(list, rope_set_rows(type, {64, 3, 5, 2}, mode, /*inplace=*/true));
        }
    }
    for (const bool multi_add : {false, true}) {
        for (const bool set_rows : {false, true}) {
            for (const bool broadcast : {false, true}) {
                for (const int mode : {0, 2}) {
                    for (const Shape& ne : {Shape{768}, Shape{768, 3}, Shape{768, 3, 5},
                                            Shape{128, 32, 2}, Shape{128, 4, 2}, Shape{128, 32, 50},
                                            Shape{128, 4, 50}, Shape{8192, 2, 2}}) {
                        add_chain(list,
                                  rms_norm_mul_rope({ne, mode, multi_add, set_rows, broadcast}));
                    }
                    add_watched_chain(
                        list,
                        rms_norm_mul_rope({{64, 3, 5}, mode, multi_add, set_rows, broadcast}));
                }
            }
        }
    }
}

// ---- TOPK_MOE -----------------------------------------------------------------------------------

// Rows of -4 … 4 in even steps, shuffled: the order of experts does not hang on rounding.
Fill separated_logits() {
    return [](const ggml_tensor& leaf, Random& random) {
        const int64_t n = leaf.ne[0];
        auto* p = static_cast<float*>(leaf.data);
        for (int64_t r = 0; r < ggml_nrows(&leaf); ++r, p += n) {
            for (int64_t i = 0; i < n; ++i)
                p[i] = (static_cast<float>(i) + 0.5f) * 8.0f / static_cast<float>(n) - 4.0f;
            for (int64_t i = n - 1; i > 0; --i) std::swap(p[i], p[random() % (i + 1)]);
        }
    };
}
// 0 or 2.01: lifts some experts over the others and makes no two of them equal.
Fill lift() {
    return [](const ggml_tensor& leaf, Random& random) {
        auto* p = static_cast<float*>(leaf.data);
        for (int64_t i = 0; i < leaf.ne[0]; ++i) p[i] = random() % 2 ? 2.01f : 0.0f;
    };
}

enum Gating { kSoftMax, kSigmoid, kSoftMaxOfSelected, kSqrtSoftplus };

struct Experts {
    int64_t n_experts, tokens;
    int64_t n_used;
    Gating gating;
    bool with_norm = false, bias = false;
    float scale = 0;
};

ggml_tensor* gated(ggml_context* ctx, ggml_tensor* logits, Gating gating, Steps& steps) {
    switch (gating) {
        case kSoftMax:
            steps.push_back(ggml_soft_max(ctx, logits));
            return steps.back();
        case kSigmoid:
            steps.push_back(ggml_sigmoid(ctx, logits));
            return steps.back();
        case kSqrtSoftplus:
            steps.push_back(ggml_softplus(ctx, logits));
            steps.push_back(ggml_sqrt(ctx, steps.back()));
            return steps.back();
        default:
            return logits;
    }
}

Steps choose(GraphMaker& m, const Experts& c) {
    ggml_context* ctx = m.ctx;
    Steps s;
    const auto step = [&](ggml_tensor* t) { return s.emplace_back(t); };
    ggml_tensor* probs =
        gated(ctx, m.f32({c.n_experts, c.tokens}, separated_logits()), c.gating, s);
    ggml_tensor* by = c.bias ? step(ggml_add(ctx, probs, m.f32({c.n_experts}, lift()))) : probs;
    ggml_tensor* chosen = step(ggml_argsort_top_k(ctx, by, static_cast<int>(c.n_used)));
    ggml_tensor* w =
        step(ggml_get_rows(ctx, ggml_reshape_3d(ctx, probs, 1, c.n_experts, c.tokens), chosen));
    const auto flat = [&] { return ggml_reshape_2d(ctx, w, c.n_used, c.tokens); };
    const auto deep = [&](ggml_tensor* t) {
        return ggml_reshape_3d(ctx, t, 1, c.n_used, c.tokens);
    };
    if (c.gating == kSoftMaxOfSelected) w = deep(step(ggml_soft_max(ctx, flat())));
    if (c.with_norm) {
        ggml_tensor* sum = step(ggml_sum_rows(ctx, flat()));
        sum = step(ggml_clamp(ctx, sum, 6.103515625e-5f, INFINITY));
        w = deep(step(ggml_div(ctx, flat(), sum)));
    }
    if (c.scale != 0) w = step(ggml_scale(ctx, w, c.scale));
    if (s.back() != w) s.push_back(w);
    return s;
}

// `experts_read`: the choice of experts is a result too, as it is in models.
Chain topk_moe(const Experts& c, bool experts_read) {
    return {"CHAIN:TOPK_MOE",
            params("ne", Shape{c.n_experts, c.tokens}, "n_expert_used", c.n_used, "with_norm",
                   c.with_norm, "bias_probs", c.bias, "gating_func", static_cast<int>(c.gating),
                   "scale_w", c.scale, "experts_read", experts_read),
            1e-7, [=](GraphMaker& m) {
                Steps s = choose(m, c);
                if (!experts_read) return s;
                for (ggml_tensor* t : s) {
                    if (t->type == GGML_TYPE_I32) m.output(ggml_cont(m.ctx, t));
                }
                return s;
            }};
}

void topk_chains(CaseList& list) {
    for (const Gating gating : {kSoftMax, kSigmoid, kSoftMaxOfSelected, kSqrtSoftplus}) {
        for (const bool with_norm : {false, true}) {
            for (const bool bias : {false, true}) {
                for (const float scale : {0.0f, 2.0f}) {
                    const auto one = [&](int64_t n, int64_t tokens, int64_t used) {
                        return Experts{n, tokens, used, gating, with_norm, bias, scale};
                    };
                    for (const Experts& c :
                         {one(8, 22, 4), one(31, 22, 8), one(32, 22, 8), one(40, 22, 8),
                          one(71, 22, 8), one(128, 1, 128), one(129, 1, 128), one(160, 4, 160),
                          one(256, 22, 6), one(288, 22, 8)}) {
                        for (const bool read : {false, true}) add_chain(list, topk_moe(c, read));
                    }
                    add_watched_chain(list, topk_moe(one(16, 3, 4), false));
                }
            }
        }
    }
}

// ---- state-space layers -------------------------------------------------------------------------

Chain ssm_conv_bias_silu(int64_t width, int64_t inner, int64_t tokens, int64_t seqs, bool bias) {
    return {"CHAIN:SSM_CONV_BIAS_SILU",
            params("ne_a", Shape{width - 1 + tokens, inner, seqs}, "ne_b", Shape{width, inner},
                   "fuse_bias", bias),
            1e-7, [=](GraphMaker& m) {
                Steps s{ggml_ssm_conv(m.ctx, m.f32({width - 1 + tokens, inner, seqs}),
                                      m.f32({width, inner}))};
                if (bias) s.push_back(ggml_add(m.ctx, s.back(), m.f32({inner})));
                s.push_back(ggml_silu(m.ctx, s.back()));
                return s;
            }};
}

// The states that a scan keeps of its last tokens against scans that end there: what is left of the
// differences, zero in exact arithmetic, may be 1e-6.
ggml_tensor* rollback(GraphMaker& m) {
    constexpr int64_t n = 128, p = 64, h = 16, g = 2, tokens = 8, seqs = 2, slots = 3;
    ggml_context* ctx = m.ctx;
    ggml_tensor* state = m.f32({n, p, h, seqs});
    ggml_tensor* x = m.f32({p, h, tokens, seqs});
    ggml_tensor* dt = m.f32({h, tokens, seqs});
    ggml_tensor* a = m.f32({1, h}, between(-1, -0.5f));
    ggml_tensor* b = m.f32({n, g, tokens, seqs});
    ggml_tensor* c = m.f32({n, g, tokens, seqs});
    ggml_tensor* ids = m.leaf(GGML_TYPE_I32, {seqs}, permutation());
    const int64_t state_size = n * p * h * seqs;
    const auto slot = [&](ggml_tensor* scan, int64_t n_tokens, int64_t k) {
        return ggml_view_1d(ctx, scan, state_size,
                            (p * h * n_tokens * seqs + k * state_size) * sizeof(float));
    };
    const auto first = [&](ggml_tensor* t, int token_axis, int64_t n_tokens) {
        int64_t ne[4] = {t->ne[0], t->ne[1], t->ne[2], t->ne[3]};
        ne[token_axis] = n_tokens;
        return ggml_cont(
            ctx, ggml_view_4d(ctx, t, ne[0], ne[1], ne[2], ne[3], t->nb[1], t->nb[2], t->nb[3], 0));
    };
    ggml_tensor* kept = ggml_ssm_scan(ctx, state, x, dt, a, b, c, ids, slots);
    ggml_tensor* sum = nullptr;
    for (int64_t k = 0; k < slots; ++k) {
        const int64_t left = tokens - k;
        ggml_tensor* again = ggml_ssm_scan(ctx, state, first(x, 2, left), first(dt, 1, left), a,
                                           first(b, 2, left), first(c, 2, left), ids, 1);
        ggml_tensor* d = ggml_sub(ctx, slot(kept, tokens, k), slot(again, left, 0));
        d = ggml_sum(ctx, ggml_sqr(ctx, d));
        sum = sum ? ggml_add(ctx, sum, d) : d;
    }
    return sum;
}

void state_space_chains(CaseList& list) {
    for (const bool bias : {false, true}) {
        for (const int64_t width : {3, 4, 9}) {
            for (const int64_t inner : {1024, 1536, 2048}) {
                for (const auto& [tokens, seqs] : {std::pair<int64_t, int64_t>(1, 1),
                                                   {width + 1, 1},
                                                   {1, 4},
                                                   {64, 1},
                                                   {64, 4}}) {
                    add_chain(list, ssm_conv_bias_silu(width, inner, tokens, seqs, bias));
                }
            }
            add_watched_chain(list, ssm_conv_bias_silu(width, 33, 5, 2, bias));
        }
    }
    list.add(
        {.op = "CHAIN:SSM_SCAN_ROLLBACK", .params = "K=3", .max_nmse = 1e-12, .build = rollback});
}

}  // namespace

void model_chain_cases(CaseList& list) {
    rope_chains(list);
    topk_chains(list);
    state_space_chains(list);
}

}  // namespace tenon::conformance
