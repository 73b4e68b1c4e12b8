// Cases: state-space and linear-attention recurrences, hyper-connections.

#include <cmath>

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

// Types of the sources of a node: all of one type, or only source number `only`.
struct Types {
    ggml_type type = GGML_TYPE_F32;
    int only = -1;

    ggml_type operator[](int i) const { return only < 0 || only == i ? type : GGML_TYPE_F32; }
    std::string text() const {
        if (type == GGML_TYPE_F32) return "";
        return std::string(",type=") + ggml_type_name(type) +
               (only < 0 ? "" : " in src" + std::to_string(only));
    }
};

// The halves, in all of n sources and in each of them alone.
std::vector<Types> half_types(int n) {
    std::vector<Types> all;
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
        for (int only = -1; only < n; ++only) all.push_back({type, only});
    }
    return all;
}

// ---- SSM_CONV, SSM_SCAN -----------------------------------------------------------------------

void ssm_conv_cases(CaseList& list) {
    const auto add = [&](int64_t width, int64_t inner, int64_t tokens, int64_t seqs, bool view,
                         const Types& types = {}) {
        list.add({.op = "SSM_CONV",
                  .params = params("width", width, "inner", inner, "tokens", tokens, "seqs", seqs,
                                   "view", view) +
                            types.text(),
                  .build = [=](GraphMaker& m) {
                      const Shape x{width - 1 + tokens, inner, seqs};
                      return ggml_ssm_conv(m.ctx, view ? m.inset(types[0], x) : m.leaf(types[0], x),
                                           m.leaf(types[1], {width, inner}));
                  }});
    };
    for (const Types& types : half_types(2)) {
        for (const int64_t inner : {1, 17, 33}) {
            for (const int64_t tokens : {1, 65}) add(4, inner, tokens, 2, tokens > 1, types);
        }
        add(17, 48, 131, 3, false, types);
    }
    for (const int64_t width : {3, 4, 9}) {
        for (const int64_t inner : {1024, 1536, 2048}) {
            for (const auto& [tokens, seqs] :
                 {std::pair<int64_t, int64_t>(1, 1), {width + 1, 1}, {1, 4}, {64, 1}, {64, 4}}) {
                add(width, inner, tokens, seqs, false);
            }
        }
    }
    for (const int64_t width : {1, 2, 4, 17}) {
        for (const int64_t inner : {1, 5, 17, 33}) {
            for (const int64_t tokens : {0, 1, 7, 65, 131}) {
                add(width, inner, tokens, 3, false);
                add(width, inner, tokens, 2, true);
            }
        }
    }
}

struct Scan {
    int64_t n, p, h, g, t, s;
    bool overlap = false;
    int64_t slots = 1;
    float a_low = -1, a_high = -0.5f;
    bool per_element = false;  // A has a rate per element of the state
    Types types = {};
};

void add_scan(CaseList& list, const Scan& c) {
    list.add({.op = "SSM_SCAN",
              .params = params("d_state", c.n, "head_dim", c.p, "n_head", c.h, "n_group", c.g,
                               "n_seq_tokens", c.t, "n_seqs", c.s, "xbc_overlap", c.overlap, "K",
                               c.slots, "a", c.a_low, "per_element", c.per_element) +
                        c.types.text(),
              .max_nmse = c.p > 1 ? 2e-7 : 1e-7,
              .build = [=](GraphMaker& m) {
                  ggml_tensor* s = m.leaf(c.types[0], {c.n, c.p, c.h, c.s + 1});
                  ggml_tensor *x, *b, *c_in;
                  if (c.overlap) {  // one tensor, three ranges of sequences
                      ggml_tensor* all = m.leaf(c.types[1], {c.n, c.h, c.t, 2 * c.s});
                      const auto part = [&](int64_t first, int64_t n0, int64_t n1) {
                          return ggml_view_4d(m.ctx, all, n0, n1, c.t, c.s, n0 * all->nb[0],
                                              all->nb[2], all->nb[3], first * all->nb[3]);
                      };
                      b = part(0, c.n, c.g);
                      x = part(1, c.p, c.h);
                      c_in = part(2, c.n, c.g);
                  } else {
                      x = m.leaf(c.types[1], {c.p, c.h, c.t, c.s});
                      b = m.leaf(c.types[4], {c.n, c.g, c.t, c.s});
                      c_in = m.leaf(c.types[5], {c.n, c.g, c.t, c.s});
                  }
                  ggml_tensor* dt = m.leaf(c.types[2], {c.h, c.t, c.s});
                  ggml_tensor* a = m.leaf(c.types[3], {c.per_element ? c.n : 1, c.h},
                                          between(c.a_low, c.a_high));
                  ggml_tensor* ids =
                      ggml_view_1d(m.ctx, m.leaf(GGML_TYPE_I32, {c.s + 1}, permutation()), c.s, 0);
                  return ggml_ssm_scan(m.ctx, s, x, dt, a, b, c_in, ids, c.slots);
              }});
}

void ssm_scan_cases(CaseList& list) {
    add_scan(list, {.n = 16, .p = 1, .h = 1024, .g = 1, .t = 32, .s = 4, .per_element = true});
    add_scan(list, {128, 64, 16, 2, 32, 4});
    add_scan(list, {256, 64, 8, 2, 32, 4});
    add_scan(list, {128, 128, 4, 4, 16, 2, true});
    add_scan(list, {128, 80, 128, 1, 256, 1});
    add_scan(list, {128, 80, 128, 1, 512, 1});
    add_scan(list, {128, 64, 80, 8, 300, 2});
    add_scan(list, {128, 64, 16, 2, 4, 2, false, 4});
    add_scan(list, {128, 64, 16, 2, 8, 2, false, 3});
    for (const bool per_element : {false, true}) {
        for (const int64_t n : {1, 5, 17, 33}) {
            for (const int64_t p : {1, 3, 19}) {
                add_scan(
                    list,
                    {.n = n, .p = p, .h = 6, .g = 3, .t = 5, .s = 2, .per_element = per_element});
            }
        }
    }
    for (const Types& types : half_types(6)) {
        add_scan(list, {.n = 17,
                        .p = 19,
                        .h = 6,
                        .g = 3,
                        .t = 5,
                        .s = 2,
                        .per_element = true,
                        .types = types});
        add_scan(list, {.n = 64, .p = 33, .h = 4, .g = 2, .t = 7, .s = 3, .types = types});
    }
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
        add_scan(list, {.n = 32,
                        .p = 32,
                        .h = 4,
                        .g = 4,
                        .t = 6,
                        .s = 2,
                        .overlap = true,
                        .slots = 3,
                        .types = {type}});
        add_scan(list, {.n = 128, .p = 64, .h = 16, .g = 2, .t = 32, .s = 2, .types = {type}});
    }
    for (const int64_t slots : {1, 2, 5})  // slow decay
        add_scan(list, {32, 8, 4, 2, 64, 2, false, slots, -0.01f, -0.001f});
}

// The states that a scan keeps from before its last tokens are those of scans over fewer tokens.
void rollback_cases(CaseList& list) {
    constexpr int64_t n = 128, p = 64, h = 16, g = 2, t = 8, s = 2, slots = 3;
    for (int64_t slot = 0; slot < slots; ++slot) {
        list.add({.op = "SSM_SCAN",
                  .params = params("rollback", slot),
                  .max_nmse = 2e-7,
                  .build = [=](GraphMaker& m) {
                      ggml_tensor* state = m.f32({n, p, h, s});
                      ggml_tensor* x = m.f32({p, h, t, s});
                      ggml_tensor* dt = m.f32({h, t, s});
                      ggml_tensor* a = m.f32({1, h}, between(-1, -0.5f));
                      ggml_tensor* b = m.f32({n, g, t, s});
                      ggml_tensor* c = m.f32({n, g, t, s});
                      ggml_tensor* ids = m.leaf(GGML_TYPE_I32, {s}, permutation());
                      const int64_t fewer = t - slot;
                      const auto cut = [&](ggml_tensor* y, int axis) {
                          int64_t ne[4] = {y->ne[0], y->ne[1], y->ne[2], y->ne[3]};
                          ne[axis] = fewer;
                          return ggml_cont(m.ctx, ggml_view_4d(m.ctx, y, ne[0], ne[1], ne[2], ne[3],
                                                               y->nb[1], y->nb[2], y->nb[3], 0));
                      };
                      const auto states = [&](ggml_tensor* d, int64_t tokens, int64_t k) {
                          const int64_t size = n * p * h * s;
                          return ggml_view_1d(m.ctx, d, size,
                                              (p * h * tokens * s + k * size) * sizeof(float));
                      };
                      ggml_tensor* whole = ggml_ssm_scan(m.ctx, state, x, dt, a, b, c, ids, slots);
                      ggml_tensor* part = ggml_ssm_scan(m.ctx, state, cut(x, 2), cut(dt, 1), a,
                                                        cut(b, 2), cut(c, 2), ids, 1);
                      // Their sum is twice the state: a difference would have nothing to compare.
                      return ggml_add(m.ctx, states(whole, t, slot), states(part, fewer, 0));
                  }});
    }
}

// ---- RWKV_WKV6, RWKV_WKV7, GATED_LINEAR_ATTN ----------------------------------------------------

struct Heads {
    int64_t count, size, tokens, seqs;
};
const Heads kHeads[] = {{32, 64, 1, 1},   {32, 64, 1, 4}, {32, 64, 32, 1}, {32, 64, 32, 4},
                        {32, 64, 128, 4}, {1, 1, 3, 1},   {3, 5, 4, 2},    {2, 17, 3, 3},
                        {2, 33, 9, 1},    {5, 80, 2, 2},  {1, 128, 7, 1},  {2, 100, 5, 2}};

void add_rwkv(CaseList& list, const Heads& c, const Types& types) {
    const std::string text = params("head_count", c.count, "head_size", c.size, "n_seq_tokens",
                                    c.tokens, "n_seqs", c.seqs) +
                             types.text();
    const Shape each{c.size, c.count, c.tokens * c.seqs};
    const Shape states{c.size * c.size * c.count, c.seqs};
    const auto add = [&](const char* op, int n_sources, decltype(Case::build) build) {
        if (types.only >= n_sources) return;
        list.add({.op = op, .params = text, .build = std::move(build)});
    };
    add("RWKV_WKV6", 6, [=](GraphMaker& m) {
        ggml_tensor *k = m.leaf(types[0], each), *v = m.leaf(types[1], each),
                    *r = m.leaf(types[2], each);
        ggml_tensor* tf = m.leaf(types[3], {c.size, c.count});
        ggml_tensor *td = m.leaf(types[4], each), *state = m.leaf(types[5], states);
        return ggml_rwkv_wkv6(m.ctx, k, v, r, tf, td, state);
    });
    add("RWKV_WKV7", 7, [=](GraphMaker& m) {
        ggml_tensor *r = m.leaf(types[0], each), *w = m.leaf(types[1], each),
                    *k = m.leaf(types[2], each), *v = m.leaf(types[3], each);
        ggml_tensor* a = ggml_l2_norm(m.ctx, m.leaf(types[4], each), 1e-7f);
        ggml_tensor* b = ggml_l2_norm(m.ctx, m.leaf(types[5], each), 1e-7f);
        return ggml_rwkv_wkv7(m.ctx, r, w, k, v, a, b, m.leaf(types[6], states));
    });
    add("GATED_LINEAR_ATTN", 5, [=](GraphMaker& m) {
        ggml_tensor *k = m.leaf(types[0], each), *v = m.leaf(types[1], each),
                    *q = m.leaf(types[2], each), *g = m.leaf(types[3], each);
        return ggml_gated_linear_attn(m.ctx, k, v, q, g, m.leaf(types[4], states),
                                      1 / std::sqrt(static_cast<float>(c.size)));
    });
}

void rwkv_cases(CaseList& list) {
    for (const Heads& c : kHeads) add_rwkv(list, c, {});
    for (const Types& types : half_types(7)) {
        add_rwkv(list, {3, 33, 4, 2}, types);
        if (types.only < 0) add_rwkv(list, {4, 64, 32, 2}, types);
    }
}

// ---- GATED_DELTA_NET --------------------------------------------------------------------------

struct Delta {
    int64_t heads, size, tokens, seqs, v_repeat = 1;
    bool permuted = false, per_key = false;
    int64_t slots = 1;
};

void add_delta(CaseList& list, const Delta& c) {
    list.add({.op = "GATED_DELTA_NET",
              .params = params("head_count", c.heads, "head_size", c.size, "n_seq_tokens", c.tokens,
                               "n_seqs", c.seqs, "v_repeat", c.v_repeat, "permuted", c.permuted,
                               "kda", c.per_key, "K", c.slots),
              .build = [=](GraphMaker& m) {
                  const auto make = [&](int64_t heads, float low, float high) {
                      const Shape shape{c.size, heads, c.tokens, c.seqs};
                      const Fill fill = between(low, high);
                      return c.permuted ? m.permuted(GGML_TYPE_F32, shape, {0, 2, 1, 3}, fill)
                                        : m.f32(shape, fill);
                  };
                  const int64_t heads = c.heads * c.v_repeat;
                  ggml_tensor* q = ggml_l2_norm(m.ctx, make(c.heads, -1, 1), 1e-6f);
                  ggml_tensor* k = ggml_l2_norm(m.ctx, make(c.heads, -1, 1), 1e-6f);
                  ggml_tensor* v = make(heads, -0.3f, 5);
                  ggml_tensor* g = m.f32({c.per_key ? c.size : 1, heads, c.tokens, c.seqs},
                                         between(-20, -1e-4f));
                  ggml_tensor* beta = m.f32({1, heads, c.tokens, c.seqs}, between(0, 1));
                  ggml_tensor* state = m.f32({c.size, c.size, heads, c.seqs});
                  return ggml_gated_delta_net(m.ctx, q, k, v, g, beta, state, c.slots);
              }});
}

void delta_cases(CaseList& list) {
    for (const bool per_key : {false, true}) {
        for (const int64_t size : {16, 128}) add_delta(list, {32, size, 1, 1, 1, false, per_key});
        add_delta(list, {16, 64, 1, 2, 1, false, per_key});
        for (const bool permuted : {false, true}) {
            add_delta(list, {32, 16, 1, 1, 1, permuted, per_key});
            for (const int64_t tokens : {1, 4}) {
                for (const int64_t seqs : {1, 2}) {
                    for (const int64_t size : {16, 32, 64}) {
                        add_delta(list, {4, size, tokens, seqs, 1, permuted, per_key});
                        add_delta(list, {8, size, tokens, seqs, 2, permuted, per_key});
                    }
                }
            }
        }
        for (const int64_t tokens : {33, 64, 65, 100, 127, 200, 256}) {
            for (const int64_t seqs : {1, 2}) {
                add_delta(list, {4, 64, tokens, seqs, 1, false, per_key});
            }
        }
        for (const int64_t slots : {2, 3, 4}) {
            for (const int64_t size : {16, 32})
                add_delta(list, {4, size, slots, 1, 1, false, per_key, slots});
            add_delta(list, {4, 64, slots, 2, 1, false, per_key, slots});
            add_delta(list, {4, 32, 8, 1, 1, false, per_key, slots});
            add_delta(list, {4, 64, 16, 2, 1, false, per_key, slots});
            add_delta(list, {8, 32, 4, 2, 2, false, per_key, slots});
        }
        add_delta(list, {8, 128, 4, 1, 1, false, per_key, 4});
        for (const int64_t size : {1, 3, 9, 31, 70})
            add_delta(list, {2, size, 5, 2, 3, size == 9, per_key, 2});
    }
}

// ---- hyper-connections ------------------------------------------------------------------------

void hyper_cases(CaseList& list) {
    for (const int64_t tokens : {1, 7, 17, 32, 257}) {
        for (const int32_t n_iter : {1, 4, 8, 20}) {
            for (const bool view : {false, true}) {
                list.add({.op = "DSV4_HC_COMB",
                          .params = params("n_tokens", tokens, "n_iter", n_iter, "view", view),
                          .build = [=](GraphMaker& m) {
                              ggml_tensor* mixes =
                                  view ? m.inset(GGML_TYPE_F32, {24, tokens}, between(-2, 2))
                                       : m.f32({24, tokens}, between(-2, 2));
                              return ggml_dsv4_hc_comb(
                                  m.ctx, mixes, m.f32({3}, between(-0.5f, 0.5f)),
                                  m.f32({24}, between(-0.25f, 0.25f)), 1e-6f, n_iter);
                          }});
            }
        }
    }
    // How the large operand lies: 0 dense, 1 inside a larger one, 2 with its rows transposed.
    for (const int layout : {0, 1, 2}) {
        const auto large = [=](GraphMaker& m, const Shape& shape) {
            return layout == 0   ? m.f32(shape)
                   : layout == 1 ? m.inset(GGML_TYPE_F32, shape)
                                 : m.permuted(GGML_TYPE_F32, shape, {1, 0, 2, 3});
        };
        for (const auto& [n, tokens] :
             {std::pair<int64_t, int64_t>(1, 1), {31, 17}, {128, 257}, {4096, 21}, {2049, 1}}) {
            const std::string text = params("n_embd", n, "n_tokens", tokens, "layout", layout);
            for (const int64_t hc : {1, 4}) {
                list.add({.op = "DSV4_HC_PRE",
                          .params = text + ",hc=" + std::to_string(hc),
                          .build = [=](GraphMaker& m) {
                              return ggml_dsv4_hc_pre(m.ctx, large(m, {n, hc, tokens}),
                                                      m.f32({hc, tokens}, between(0, 1)));
                          }});
                list.add({.op = "DSV4_HC_POST",
                          .params = text + ",hc=" + std::to_string(hc),
                          .build = [=](GraphMaker& m) {
                              ggml_tensor* x = large(m, {n, tokens});
                              ggml_tensor* residual = large(m, {n, hc, tokens});
                              ggml_tensor* post = m.f32({hc, tokens}, between(0, 2));
                              ggml_tensor* comb = m.f32({hc, hc, tokens}, between(0, 1));
                              return ggml_dsv4_hc_post(m.ctx, x, residual, post, comb);
                          }});
            }
        }
    }
}

}  // namespace

void recurrent_cases(CaseList& list) {
    ssm_conv_cases(list);
    ssm_scan_cases(list);
    rollback_cases(list);
    rwkv_cases(list);
    delta_cases(list);
    hyper_cases(list);
}

}  // namespace tenon::conformance
