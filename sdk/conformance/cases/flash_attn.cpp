// Cases: FLASH_ATTN_EXT.

#include <cmath>

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {

Fill attention_mask() {
    return [](const ggml_tensor& leaf, Random& random) {
        auto* p = static_cast<ggml_fp16_t*>(leaf.data);
        const int64_t n0 = leaf.ne[0], n1 = leaf.ne[1], n = ggml_nelements(&leaf);
        for (int64_t i = 0; i < n; ++i) p[i] = ggml_fp32_to_fp16(uniform(random, -1, 1));
        if (n == 0) return;
        for (int64_t blocks = n / (5 * 128 * 64) + 1; blocks > 0; --blocks) {
            const auto x = static_cast<int64_t>(random() % n0),
                       y = static_cast<int64_t>(random() % n1);
            ggml_fp16_t* matrix = p + n0 * n1 * static_cast<int64_t>(random() % (n / (n0 * n1)));
            const ggml_fp16_t value = ggml_fp32_to_fp16(random() % 2 ? -INFINITY : 0.0f);
            for (int64_t j = y; j < std::min(y + 64, n1); ++j) {
                for (int64_t i = x; i < std::min(x + 128, n0); ++i) matrix[j * n0 + i] = value;
            }
        }
    };
}

namespace {

// Row j sees the positions up to first + j.
Fill causal_mask(int64_t first) {
    return [=](const ggml_tensor& leaf, Random&) {
        auto* p = static_cast<ggml_fp16_t*>(leaf.data);
        for (int64_t i = 0; i < ggml_nelements(&leaf); ++i) {
            const int64_t key = i % leaf.ne[0], token = i / leaf.ne[0] % leaf.ne[1];
            p[i] = ggml_fp32_to_fp16(key <= first + token ? 0.0f : -INFINITY);
        }
    };
}

// At most n_visible random positions of each row are visible.
Fill sparse_mask(int64_t n_visible) {
    return [=](const ggml_tensor& leaf, Random& random) {
        auto* p = static_cast<ggml_fp16_t*>(leaf.data);
        std::fill(p, p + ggml_nelements(&leaf), ggml_fp32_to_fp16(-INFINITY));
        for (int64_t row = 0; row < ggml_nrows(&leaf); ++row) {
            for (int64_t i = 0; i < n_visible; ++i)
                p[row * leaf.ne[0] + static_cast<int64_t>(random() % leaf.ne[0])] =
                    ggml_fp32_to_fp16(uniform(random, -1, 1));
        }
    };
}

// ---- FLASH_ATTN_EXT ---------------------------------------------------------------------------

struct Attention {
    int64_t dk, dv, heads;   // heads of k and v
    int64_t r2 = 1, r3 = 1;  // how many heads of q each has; batches
    int64_t kv = 512, n = 1;
    bool mask = true, sinks = false;
    float max_bias = 0, softcap = 0;
    ggml_prec prec = GGML_PREC_F32;
    ggml_type k = GGML_TYPE_F16, v = GGML_TYPE_F16;
    bool permuted = false;  // tokens and heads swapped in memory
    bool kv_view = true;    // k and v are parts of tensors twice as long
    bool v_of_k = false;    // v is the first dv columns of k
    Fill mask_fill = attention_mask();
    const char* name = "";
    bool in_grid = false;  // of the large grid: a test per head size
};

int64_t whole_blocks(ggml_type type, int64_t n) {
    const int64_t block = ggml_blck_size(type);
    return (n + block - 1) / block * block;
}

ggml_tensor* cache(GraphMaker& m, ggml_type type, const Shape& shape, const Attention& c) {
    // As created: with axes 1 and 2 swapped if permuted, and axis 1 twice as long if a view.
    const int64_t n1 = c.permuted ? shape[2] : shape[1], n2 = c.permuted ? shape[1] : shape[2];
    ggml_tensor* t = m.leaf(type, {shape[0], c.kv_view ? 2 * n1 : n1, n2, shape[3]});
    if (c.kv_view)
        t = ggml_view_4d(m.ctx, t, shape[0], n1, n2, shape[3], t->nb[1], t->nb[2], t->nb[3], 0);
    return c.permuted ? ggml_permute(m.ctx, t, 0, 2, 1, 3) : t;
}

ggml_tensor* build_attention(GraphMaker& m, const Attention& c) {
    const int64_t dk = whole_blocks(c.k, c.dk), dv = whole_blocks(c.v, c.dv);
    const Shape q_shape{dk, c.n, c.heads * c.r2, c.r3};
    ggml_tensor* q = c.permuted ? m.permuted(GGML_TYPE_F32, q_shape, {0, 2, 1, 3}) : m.f32(q_shape);
    ggml_tensor* k = cache(m, c.k, {dk, c.kv, c.heads, c.r3}, c);
    ggml_tensor* v =
        c.v_of_k ? ggml_view_4d(m.ctx, k, dv, c.kv, c.heads, c.r3, k->nb[1], k->nb[2], k->nb[3], 0)
                 : cache(m, c.v, {dv, c.kv, c.heads, c.r3}, c);
    ggml_tensor* mask = c.mask ? m.leaf(GGML_TYPE_F16, {c.kv, c.n, 1, c.r3}, c.mask_fill) : nullptr;
    ggml_tensor* sinks = c.sinks ? m.f32({c.heads * c.r2}, between(-10, 10)) : nullptr;
    ggml_tensor* d = ggml_flash_attn_ext(
        m.ctx, q, k, v, mask, 1 / std::sqrt(static_cast<float>(c.dk)), c.max_bias, c.softcap);
    ggml_flash_attn_ext_add_sinks(d, sinks);
    ggml_flash_attn_ext_set_prec(d, c.prec);
    return d;
}

void add(CaseList& list, const Attention& c) {
    const std::string op = "FLASH_ATTN_EXT";
    list.add({.op = c.in_grid ? op + ":" + std::to_string(c.dk) : op,
              .params = params("hsk", c.dk, "hsv", c.dv, "nh", c.heads, "nr2", c.r2, "nr3", c.r3,
                               "kv", c.kv, "nb", c.n, "mask", c.mask, "sinks", c.sinks, "max_bias",
                               c.max_bias, "logit_softcap", c.softcap, "prec",
                               static_cast<int>(c.prec), "type_K", c.k, "type_V", c.v, "permute",
                               c.permuted, "kv_view", c.kv_view, "v_is_view_of_k", c.v_of_k) +
                        c.name,
              .max_nmse = 5e-4,
              .build = [=](GraphMaker& m) { return build_attention(m, c); }});
}

// Masks, sinks, bias and cap, as far as they go together.
template <class Fn>
void each_modifier(bool with_cap, Fn&& fn) {
    for (const bool mask : {true, false}) {
        for (const bool sinks : {true, false}) {
            for (const float max_bias : {0.0f, 8.0f}) {
                if (max_bias > 0 && !mask) continue;
                for (const float cap : {0.0f, 10.0f}) {
                    if (cap == 0 || with_cap) fn(mask, sinks, max_bias, cap);
                }
            }
        }
    }
}

void add_with_rows(CaseList& list, Attention c) {
    for (const int64_t n : {1, 3, 32, 75}) {
        c.n = n;
        c.permuted = false;
        add(list, c);
        if (c.mask && c.max_bias == 0 && c.softcap == 0 && c.kv == 512) {
            c.permuted = true;
            add(list, c);
        }
    }
}

void grid_of(CaseList& list, int64_t dk, int64_t dv) {
    std::vector<ggml_type> types{GGML_TYPE_F16};
    if (dk == 64 || dk == 72) {
        types = {GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_Q8_0,  GGML_TYPE_Q5_1,
                 GGML_TYPE_Q5_0, GGML_TYPE_Q4_1, GGML_TYPE_Q4_0, GGML_TYPE_IQ4_NL};
    }
    each_modifier(dk == 128, [&](bool mask, bool sinks, float max_bias, float cap) {
        for (const int64_t heads : {4, 1}) {
            if (heads == 1 && dk != 320 && dk != 576) continue;
            std::vector<int64_t> r2s{1, 4};
            if (dk == 192) r2s.insert(r2s.end(), {8, 16});
            if (dk == 128) r2s.push_back(12);
            if (heads == 1) r2s.push_back(dk == 576 ? 20 : 32);
            for (const int64_t r3 : {1, 3}) {
                if (r3 == 3 && dk > 64) continue;
                for (const int64_t r2 : r2s) {
                    for (const int64_t kv : {113, 512, 1024}) {
                        if (kv != 512 && r2 != 1) continue;
                        for (const ggml_type type : types) {
                            for (const ggml_prec prec : {GGML_PREC_F32, GGML_PREC_DEFAULT}) {
                                if (prec == GGML_PREC_DEFAULT && dk != 128) continue;
                                add_with_rows(list, {.dk = dk,
                                                     .dv = dv,
                                                     .heads = heads,
                                                     .r2 = r2,
                                                     .r3 = r3,
                                                     .kv = kv,
                                                     .mask = mask,
                                                     .sinks = sinks,
                                                     .max_bias = max_bias,
                                                     .softcap = cap,
                                                     .prec = prec,
                                                     .k = type,
                                                     .v = type,
                                                     .v_of_k = dk == 576,
                                                     .in_grid = true});
                            }
                        }
                    }
                }
            }
        }
    });
}

void flash_attn_grid(CaseList& list) {
    for (const int64_t kv : {1024, 2048}) {
        for (const int64_t d : {64, 128, 256}) {
            for (const int64_t n : {32, 64}) {
                for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0}) {
                    add(list, {.dk = d,
                               .dv = d,
                               .heads = 8,
                               .r2 = 4,
                               .kv = kv,
                               .n = n,
                               .k = type,
                               .v = type});
                }
            }
        }
    }
    for (const auto& [dk, dv] : {std::pair<int64_t, int64_t>(40, 40),
                                 {64, 64},
                                 {72, 72},
                                 {80, 80},
                                 {96, 96},
                                 {128, 128},
                                 {192, 128},
                                 {192, 192},
                                 {256, 256},
                                 {320, 256},
                                 {512, 512},
                                 {576, 512}}) {
        grid_of(list, dk, dv);
    }
}

// K and V of different types, and what else the grid leaves out.
void flash_attn_singles(CaseList& list) {
    constexpr ggml_type f16 = GGML_TYPE_F16, f32 = GGML_TYPE_F32, q8 = GGML_TYPE_Q8_0,
                        q4 = GGML_TYPE_Q4_0, q1 = GGML_TYPE_Q1_0, q2 = GGML_TYPE_Q2_0;
    struct Mix {
        int64_t dk, dv, kv, n;
        ggml_type k, v;
    };
    for (const Mix& c : {Mix{64, 64, 128, 2, q8, q4},
                         {64, 64, 128, 2, q4, f16},
                         {72, 72, 96, 2, q4, q8},
                         {64, 64, 96, 2, f16, f32},
                         {128, 128, 256, 1, f16, q4},
                         {128, 128, 96, 2, q1, q1},
                         {128, 64, 128, 2, q1, q4},
                         {64, 128, 128, 2, q4, q1},
                         {128, 64, 64, 2, q1, f16},
                         {128, 128, 96, 2, q2, q2},
                         {128, 64, 128, 2, q2, q4},
                         {64, 128, 128, 2, q4, q2},
                         {128, 64, 64, 2, q2, f16},
                         {64, 64, 200, 33, GGML_TYPE_BF16, f32}}) {
        add(list, {.dk = c.dk, .dv = c.dv, .heads = 4, .kv = c.kv, .n = c.n, .k = c.k, .v = c.v});
    }
    add(list, {.dk = 128, .dv = 128, .heads = 4, .kv = 256, .mask = false, .k = f16, .v = q4});
    for (const int64_t kv : {113, 1024, 16384})
        add(list, {.dk = 256, .dv = 256, .heads = 2, .r2 = 16, .kv = kv, .k = q8, .v = q8});
    add(list, {.dk = 256,
               .dv = 256,
               .heads = 2,
               .r2 = 16,
               .kv = 1024,
               .k = q8,
               .v = q8,
               .permuted = true});
    add(list, {.dk = 256,
               .dv = 256,
               .heads = 2,
               .r2 = 16,
               .r3 = 2,
               .kv = 1025,
               .sinks = true,
               .max_bias = 8,
               .softcap = 30,
               .k = q8,
               .v = q8});
    add(list, {.dk = 256,
               .dv = 256,
               .heads = 2,
               .r2 = 16,
               .kv = 1025,
               .n = 64,
               .k = q8,
               .v = q8,
               .permuted = true});
    for (const auto& [kv, n] : {std::pair<int64_t, int64_t>(113, 1), {1024, 1}, {1024, 64}}) {
        add(list, {.dk = 576,
                   .dv = 512,
                   .heads = 1,
                   .r2 = 20,
                   .kv = kv,
                   .n = n,
                   .k = q8,
                   .v = q8,
                   .v_of_k = true});
    }
    add(list, {.dk = 320, .dv = 256, .heads = 1, .r2 = 32, .v_of_k = true});
    add(list, {.dk = 192, .dv = 128, .heads = 4, .r2 = 8, .v_of_k = true});
    add(list, {.dk = 128, .dv = 128, .heads = 8, .r2 = 4, .n = 8, .v_of_k = true});
    add(list, {.dk = 64, .dv = 64, .heads = 4, .k = q8, .v = q8, .v_of_k = true});
    for (const int64_t kv : {4096, 16384}) {
        add(list, {.dk = 256, .dv = 256, .heads = 4, .r2 = 6, .kv = kv, .n = 512});
        add(list, {.dk = 128, .dv = 128, .heads = 8, .r2 = 4, .kv = kv, .n = 512});
    }
    for (const int64_t r2 : {1, 4}) {
        for (const bool permuted : {false, true}) {
            for (const int64_t kv : {512, 1024}) {
                add(list, {.dk = 64,
                           .dv = 64,
                           .heads = 4,
                           .r2 = r2,
                           .kv = kv,
                           .n = 75,
                           .k = q8,
                           .v = q8,
                           .permuted = permuted,
                           .kv_view = false});
            }
        }
    }
}

// Shapes that fit nothing, and masks that hide everything for a while, or altogether.
void flash_attn_edges(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const int64_t d : {1, 7, 33, 100}) {
            for (const int64_t kv : {0, 1, 31, 65, 700}) {
                for (const int64_t n : {1, 5, 50}) {
                    add(list, {.dk = d,
                               .dv = d + 1,
                               .heads = 2,
                               .r2 = 3,
                               .kv = kv,
                               .n = n,
                               .sinks = n == 5,
                               .k = type,
                               .v = type});
                }
            }
        }
    }
    for (const ggml_type type : quantized_types()) {
        for (const int64_t n : {1, 3, 40})
            add(list, {.dk = 256, .dv = 256, .heads = 2, .kv = 70, .n = n, .k = type, .v = type});
    }
    for (const int64_t n : {1, 4, 96}) {
        for (const bool sinks : {false, true}) {
            for (const int64_t kv : {96, 600, 2048}) {
                add(list, {.dk = 64,
                           .dv = 64,
                           .heads = 2,
                           .r2 = 2,
                           .kv = kv,
                           .n = n,
                           .sinks = sinks,
                           .mask_fill = causal_mask(kv - n),
                           .name = ",causal"});
                add(list, {.dk = 64,
                           .dv = 64,
                           .heads = 2,
                           .r2 = 2,
                           .kv = kv,
                           .n = n,
                           .sinks = sinks,
                           .mask_fill = causal_mask(-2),
                           .name = ",blind rows"});
            }
        }
    }
    for (const int64_t n : {1, 17}) {
        for (const int32_t n_visible : {1, 8, 100}) {
            const Attention c{.dk = 128,
                              .dv = 128,
                              .heads = 2,
                              .r2 = 4,
                              .kv = 3000,
                              .n = n,
                              .mask_fill = sparse_mask(n_visible)};
            list.add({.op = "FLASH_ATTN_EXT",
                      .params = params("n_kv_max", static_cast<int>(n_visible), "nb", n),
                      .max_nmse = 5e-4,
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* d = build_attention(m, c);
                          ggml_flash_attn_ext_set_n_kv_max(d, n_visible);
                          return d;
                      }});
        }
    }
    // One head of k for six of q, but two of v; the mask has a matrix per head.
    for (const int64_t n : {1, 30}) {
        list.add(
            {.op = "FLASH_ATTN_EXT",
             .params = params("heads of k and v differ, nb", n),
             .max_nmse = 5e-4,
             .build = [=](GraphMaker& m) {
                 ggml_tensor* mask = m.leaf(GGML_TYPE_F16, {90, n + 3, 6, 1}, attention_mask());
                 return ggml_flash_attn_ext(m.ctx, m.f32({64, n, 6, 2}), m.f32({64, 90, 3, 2}),
                                            m.f32({64, 90, 2, 2}), mask, 0.125f, 0, 0);
             }});
    }
}

}  // namespace

void flash_attn_cases(CaseList& list) {
    flash_attn_grid(list);
    flash_attn_singles(list);
    flash_attn_edges(list);
}

}  // namespace tenon::conformance
