// Cases: chains that go wrong when a device computes several nodes at once without looking at their
// memory: in place, through views of one tensor, results in the memory of an earlier operand. And
// random graphs, which nobody thought of.

#include <cmath>

#include "sdk/conformance/cases/chains.h"

namespace tenon::conformance {
namespace {

// ---- in place -----------------------------------------------------------------------------------

// Every step but the first overwrites the one before.
void inplace_chains(CaseList& list) {
    const Shape ne{67, 5, 2};
    const auto add = [&](const char* name, auto&& steps) {
        add_watched_chain(list, {"CHAIN:IN_PLACE", name, 1e-7, [=](GraphMaker& m) {
                                     Steps s{ggml_neg(m.ctx, m.f32(ne, between(-4, 4)))};
                                     steps(m, s);
                                     return s;
                                 }});
    };
    add("silu,mul,add", [=](GraphMaker& m, Steps& s) {
        s.push_back(ggml_silu_inplace(m.ctx, s.back()));
        s.push_back(ggml_mul_inplace(m.ctx, s.back(), m.f32(ne)));
        s.push_back(ggml_add_inplace(m.ctx, s.back(), m.f32(ne)));
    });
    add("rms_norm,mul,add", [=](GraphMaker& m, Steps& s) {
        s.push_back(ggml_rms_norm_inplace(m.ctx, s.back(), 1e-6f));
        s.push_back(ggml_mul_inplace(m.ctx, s.back(), m.f32({ne[0]})));
        s.push_back(ggml_add_inplace(m.ctx, s.back(), m.f32({ne[0]})));
    });
    add("norm,mul,add", [=](GraphMaker& m, Steps& s) {
        s.push_back(ggml_norm_inplace(m.ctx, s.back(), 1e-6f));
        s.push_back(ggml_mul_inplace(m.ctx, s.back(), m.f32({ne[0]})));
        s.push_back(ggml_add_inplace(m.ctx, s.back(), m.f32({ne[0]})));
    });
    add("scale,soft_max", [=](GraphMaker& m, Steps& s) {
        s.push_back(ggml_scale_inplace(m.ctx, s.back(), 0.5f));
        s.push_back(ggml_soft_max_inplace(m.ctx, s.back()));
    });
    add("add twice, first operand kept", [=](GraphMaker& m, Steps& s) {
        ggml_tensor* x = s.back();
        s.push_back(ggml_add(m.ctx, x, m.f32(ne)));
        s.push_back(ggml_add_inplace(m.ctx, s.back(), x));
    });
    // y*f(x) into x, then x again: what is read is no longer what f read
    add("argument read after it is overwritten", [=](GraphMaker& m, Steps& s) {
        ggml_tensor* x = s.back();
        s.push_back(ggml_sigmoid(m.ctx, x));
        s.push_back(ggml_mul_inplace(m.ctx, x, s.back()));
        s.push_back(ggml_add(m.ctx, s.back(), x));
    });
    add("norm read after its argument is overwritten", [=](GraphMaker& m, Steps& s) {
        ggml_tensor* x = s.back();
        s.push_back(ggml_rms_norm(m.ctx, x, 1e-6f));
        s.push_back(ggml_mul_inplace(m.ctx, x, s.back()));
        s.push_back(ggml_mul(m.ctx, s[1], s.back()));
    });
}

// ---- scratch ------------------------------------------------------------------------------------

// Each node wants a different amount of scratch per member of a team, and members are at different
// nodes at the same time.
void scratch_chains(CaseList& list) {
    add_watched_chain(
        list, {"CHAIN:SCRATCH", "rotations of narrowing rows", 1e-7, [](GraphMaker& m) {
                   ggml_tensor* x = ggml_neg(m.ctx, m.f32({128, 1, 300}));
                   ggml_tensor* pos = m.leaf(GGML_TYPE_I32, {300}, integers(0, 32));
                   Steps s;
                   for (int n = 128; n >= 16; n /= 2) {
                       ggml_tensor* wide = s.empty() ? x : s.back();
                       ggml_tensor* part =
                           ggml_view_3d(m.ctx, wide, n, 1, 300, wide->nb[1], wide->nb[2], 0);
                       s.push_back(ggml_rope(m.ctx, part, pos, n, n % 64 ? 0 : 2));
                   }
                   return s;
               }});
    add_watched_chain(list,
                      {"CHAIN:SCRATCH", "rotation,soft_max,rotation", 1e-6, [](GraphMaker& m) {
                           ggml_tensor* pos = m.leaf(GGML_TYPE_I32, {300}, integers(0, 32));
                           Steps s{ggml_rope(m.ctx, m.f32({96, 1, 300}), pos, 96, 0)};
                           s.push_back(ggml_soft_max_ext(m.ctx, s.back(), m.f32({96, 1}), 1.0f, 0));
                           s.push_back(ggml_rope(m.ctx, s.back(), pos, 32, 2));
                           return s;
                       }});
}

// ---- a cache ------------------------------------------------------------------------------------

// Tokens go into a cache, and what is read is a view of the cache: the order of nodes is all that
// says that the one comes after the other.
struct Cache {
    ggml_type type;
    bool set_rows;     // else CPY into a view
    bool read_before;  // the cache is read before the write, too
};
ggml_tensor* cache_graph(GraphMaker& m, const Cache& c) {
    constexpr int64_t width = 64, slots = 9, tokens = 3;
    ggml_context* ctx = m.ctx;
    ggml_tensor* cache = m.leaf(c.type, {width, slots});
    ggml_tensor* q = m.f32({width, 2});
    const auto scores = [&] {
        ggml_tensor* all = ggml_view_2d(ctx, cache, width, slots - 1, cache->nb[1], cache->nb[1]);
        return ggml_soft_max(ctx, ggml_scale(ctx, ggml_mul_mat(ctx, all, q), 0.125f));
    };
    if (c.read_before) m.output(scores());
    ggml_tensor* k =
        ggml_mul(ctx, ggml_rms_norm(ctx, m.f32({width, tokens}), 1e-6f), m.f32({width}));
    if (c.set_rows) {
        ggml_tensor* ids =
            ggml_view_1d(ctx, m.leaf(GGML_TYPE_I64, {slots}, permutation()), tokens, 0);
        m.output(ggml_set_rows(ctx, cache, k, ids));
    } else {
        ggml_tensor* place =
            ggml_view_2d(ctx, cache, width, tokens, cache->nb[1], 4 * cache->nb[1]);
        m.output(ggml_cpy(ctx, k, place));
    }
    return scores();
}

void cache_chains(CaseList& list) {
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0}) {
        for (const bool set_rows : {false, true}) {
            for (const bool read_before : {false, true}) {
                const Cache c{type, set_rows, read_before};
                list.add({.op = "CHAIN:CACHE",
                          .params = params("type", type, "set_rows", set_rows, "read_before",
                                           read_before),
                          .max_nmse = 5e-4,
                          .build = [=](GraphMaker& m) { return cache_graph(m, c); }});
            }
        }
    }
}

// ---- results in the memory of an earlier operand ------------------------------------------------

// In each of these the allocator has nothing better for the result than the memory of what the
// first node read for the last time.
void reuse_chains(CaseList& list) {
    const auto add = [&](const char* name, double max_nmse, auto&& steps) {
        add_watched_chain(
            list, {"CHAIN:REUSE", name, max_nmse, [=](GraphMaker& m) { return steps(m, m.ctx); }});
    };
    constexpr int64_t n = 96, t = 7;
    add("product,swiglu", 5e-4, [=](GraphMaker& m, ggml_context* ctx) {
        Steps s{ggml_mul_mat(ctx, m.f32({n, 2 * n}), m.f32({n, t}))};
        s.push_back(ggml_swiglu(ctx, s.back()));
        return s;
    });
    add("product,bias,gelu,product", 5e-4, [=](GraphMaker& m, ggml_context* ctx) {
        Steps s{ggml_mul_mat(ctx, m.f32({n, 4 * n}), m.f32({n, t}))};
        s.push_back(ggml_add(ctx, s.back(), m.f32({4 * n})));
        s.push_back(ggml_gelu(ctx, s.back()));
        s.push_back(ggml_mul_mat(ctx, m.f32({4 * n, n}), s.back()));
        return s;
    });
    add("gate,up,swiglu,down", 5e-4, [=](GraphMaker& m, ggml_context* ctx) {
        ggml_tensor* x = ggml_rms_norm(ctx, m.f32({n, t}), 1e-6f);
        Steps s{x, ggml_mul_mat(ctx, m.f32({n, n / 2}), x)};
        s.push_back(ggml_mul_mat(ctx, m.f32({n, n / 2}), x));
        s.push_back(ggml_swiglu_split(ctx, s[1], s[2]));
        s.push_back(ggml_mul_mat(ctx, m.f32({n / 2, n}), s.back()));
        return s;
    });
    add("attention", 5e-4, [=](GraphMaker& m, ggml_context* ctx) {
        ggml_tensor* q = m.f32({32, t, 4});
        Steps s{ggml_mul_mat(ctx, m.f32({32, 9, 2}), q)};
        s.push_back(ggml_soft_max_ext(ctx, s.back(), m.f32({9, t}), 0.2f, 0));
        s.push_back(ggml_mul_mat(ctx, m.f32({9, 32, 2}), s.back()));
        s.push_back(ggml_cont(ctx, ggml_permute(ctx, s.back(), 0, 2, 1, 3)));
        return s;
    });
    add("transposed,norm,weight", 1e-7, [=](GraphMaker& m, ggml_context* ctx) {
        Steps s{ggml_cont(ctx, ggml_transpose(ctx, m.f32({n, 33})))};
        s.push_back(ggml_norm(ctx, s.back(), 1e-5f));
        s.push_back(ggml_mul(ctx, s.back(), m.f32({33, n})));
        s.push_back(ggml_cont(ctx, ggml_transpose(ctx, s.back())));
        return s;
    });
    add("rows,position,norm", 1e-7, [=](GraphMaker& m, ggml_context* ctx) {
        ggml_tensor* ids = m.leaf(GGML_TYPE_I32, {t}, integers(0, 11));
        Steps s{ggml_get_rows(ctx, m.f32({n, 11}), ids)};
        s.push_back(ggml_add(ctx, s.back(), m.f32({n, t})));
        s.push_back(ggml_norm(ctx, s.back(), 1e-5f));
        s.push_back(ggml_mul(ctx, s.back(), m.f32({n})));
        return s;
    });
    add("repeated,mul", 1e-7, [=](GraphMaker& m, ggml_context* ctx) {
        ggml_tensor* x = ggml_neg(ctx, m.f32({n, 1, 3}));
        Steps s{ggml_repeat_4d(ctx, x, n, t, 3, 1)};
        s.push_back(ggml_mul(ctx, s.back(), m.f32({n, t, 3})));
        s.push_back(ggml_sum_rows(ctx, s.back()));
        return s;
    });
}

// ---- random graphs ------------------------------------------------------------------------------

// Grows a graph of f32 matrices node by node. Values stay of the order of one.
class RandomGraph {
public:
    RandomGraph(GraphMaker& m, uint64_t seed) : m_(m), ctx_(m.ctx), random_(seed) {}

    ggml_tensor* grow(int n_steps) {
        for (int i = 0; i < 2; ++i) made_.push_back(leaf({width(), 1 + below(9)}));
        for (int i = 0; i < n_steps; ++i) {
            ggml_tensor* t = step();
            if (!t) return nullptr;
            made_.push_back(t);
            if (below(8) == 0 && i + 1 < n_steps) m_.output(t);
        }
        return made_.back();
    }

private:
    int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
    int64_t width() {
        constexpr int64_t kWidths[] = {8, 32, 33, 48, 64};
        return kWidths[below(std::size(kWidths))];
    }
    ggml_tensor* leaf(const Shape& shape) { return m_.f32(shape); }
    // One of the latest, most often the last.
    ggml_tensor* recent() {
        const auto n = static_cast<int64_t>(made_.size());
        return made_[n - 1 - (below(2) ? 0 : below(std::min<int64_t>(n, 4)))];
    }
    // Another operand for an element-wise op on x: a result of its shape, or a leaf that fits.
    ggml_tensor* partner(const ggml_tensor* x) {
        for (auto it = made_.rbegin(); it != made_.rend() && below(2); ++it) {
            if (ggml_are_same_shape(*it, x)) return *it;
        }
        return below(2) ? leaf({x->ne[0]}) : leaf({x->ne[0], x->ne[1]});
    }
    ggml_tensor* norm(ggml_tensor* x) {
        return below(2) ? ggml_rms_norm(ctx_, x, 1e-5f) : ggml_rms_norm_inplace(ctx_, x, 1e-5f);
    }
    ggml_tensor* function(ggml_tensor* x) {
        constexpr ggml_unary_op kOps[] = {GGML_UNARY_OP_SILU,     GGML_UNARY_OP_SIGMOID,
                                          GGML_UNARY_OP_TANH,     GGML_UNARY_OP_RELU,
                                          GGML_UNARY_OP_SOFTPLUS, GGML_UNARY_OP_GELU_QUICK};
        const auto op = kOps[below(std::size(kOps))];
        return below(3) ? ggml_unary(ctx_, x, op) : ggml_unary_inplace(ctx_, x, op);
    }
    ggml_tensor* product(ggml_tensor* x) {
        ggml_tensor* d = ggml_mul_mat(ctx_, leaf({x->ne[0], width()}), x);
        return ggml_scale(ctx_, d, 1 / std::sqrt(static_cast<float>(x->ne[0])));
    }
    ggml_tensor* rotated(ggml_tensor* x) {
        ggml_tensor* heads = ggml_reshape_3d(ctx_, x, x->ne[0], 1, x->ne[1]);
        ggml_tensor* pos = m_.leaf(GGML_TYPE_I32, {x->ne[1]}, integers(0, 32));
        heads = ggml_rope(ctx_, heads, pos, static_cast<int>(x->ne[0] / 2 * 2), 2 * below(2));
        return ggml_reshape_2d(ctx_, heads, x->ne[0], x->ne[1]);
    }
    // All rows but the first, or rows in another order.
    ggml_tensor* rows_of(ggml_tensor* x) {
        if (x->ne[1] > 1 && below(2)) {
            return ggml_cont(ctx_,
                             ggml_view_2d(ctx_, x, x->ne[0], x->ne[1] - 1, x->nb[1], x->nb[1]));
        }
        return ggml_get_rows(ctx_, x,
                             m_.leaf(GGML_TYPE_I32, {1 + below(9)}, integers(0, x->ne[1])));
    }
    ggml_tensor* step() {
        ggml_tensor* x = recent();
        switch (below(12)) {
            case 0:
                return norm(x);
            case 1:
                return ggml_mul(ctx_, norm(x), partner(x));
            case 2:
                return ggml_add(ctx_, ggml_mul(ctx_, norm(x), leaf({x->ne[0]})), partner(x));
            case 3:
                return function(x);
            case 4:
                return ggml_mul(ctx_, function(x), partner(x));
            case 5:
                return ggml_add(ctx_, x, partner(x));
            case 6:
                return below(2) ? ggml_scale(ctx_, x, 0.5f) : ggml_scale_inplace(ctx_, x, 0.5f);
            case 7:
                return product(x);
            case 8:
                return x->ne[0] % 2 ? ggml_sqr(ctx_, ggml_tanh(ctx_, x)) : ggml_swiglu(ctx_, x);
            case 9:
                return x->ne[0] < 2 ? ggml_sqr(ctx_, x) : rotated(x);
            case 10:
                return rows_of(x);
            default:
                return ggml_soft_max_ext(ctx_, norm(x), nullptr, 0.5f, 0);
        }
    }

    GraphMaker& m_;
    ggml_context* ctx_;
    Random random_;
    std::vector<ggml_tensor*> made_;
};

void random_chains(CaseList& list) {
    for (int seed = 0; seed < 400; ++seed) {
        list.add({.op = "CHAIN:RANDOM",
                  .params = params("graph", seed),
                  .max_nmse = 1e-6,
                  .build = [=](GraphMaker& m) {
                      return RandomGraph(m, static_cast<uint64_t>(seed)).grow(4 + seed % 13);
                  }});
    }
}

}  // namespace

void memory_chain_cases(CaseList& list) {
    inplace_chains(list);
    scratch_chains(list);
    cache_chains(list);
    reuse_chains(list);
    random_chains(list);
}

}  // namespace tenon::conformance
