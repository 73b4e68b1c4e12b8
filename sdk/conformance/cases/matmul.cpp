// Cases: MUL_MAT, OUT_PROD, SOLVE_TRI.

#include <bit>
#include <cmath>
#include <tuple>

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

constexpr double kProductError = 5e-4;

constexpr ggml_type kBaseTypes[] = {GGML_TYPE_F32,   GGML_TYPE_F16,   GGML_TYPE_BF16,
                                    GGML_TYPE_Q8_0,  GGML_TYPE_Q1_0,  GGML_TYPE_Q2_0,
                                    GGML_TYPE_Q4_0,  GGML_TYPE_Q4_1,  GGML_TYPE_Q4_K,
                                    GGML_TYPE_MXFP4, GGML_TYPE_NVFP4, GGML_TYPE_IQ2_XXS};

std::vector<ggml_type> weight_types() {
    std::vector<ggml_type> types(std::begin(kFloatTypes), std::end(kFloatTypes));
    for (const ggml_type type : quantized_types()) types.push_back(type);
    return types;
}

// ---- MUL_MAT ----------------------------------------------------------------------------------

struct Product {
    ggml_type a, b;
    int64_t m, n, k;
    int64_t bs[2] = {1, 1};  // batches of a
    int64_t nr[2] = {1, 1};  // how often b repeats them
    int per[4] = {0, 1, 2, 3};
    int64_t k_v = 0;  // length of the rows that a and b are views of; 0: their own
};

ggml_tensor* operand(GraphMaker& m, ggml_type type, const Shape& shape, const Product& c) {
    if (c.k_v > 0) {
        ggml_tensor* whole = m.leaf(type, {c.k_v, shape[1], shape[2], shape[3]});
        return ggml_view_4d(m.ctx, whole, shape[0], shape[1], shape[2], shape[3], whole->nb[1],
                            whole->nb[2], whole->nb[3], 0);
    }
    const bool straight = c.per[1] == 1 && c.per[2] == 2;
    return straight ? m.leaf(type, shape) : m.permuted(type, shape, c.per);
}

void add_product(CaseList& list, const Product& c) {
    const Shape a{c.k, c.m, c.bs[0], c.bs[1]};
    const Shape b{c.k, c.n, c.bs[0] * c.nr[0], c.bs[1] * c.nr[1]};
    list.add(
        {.op = "MUL_MAT",
         .params = params("type_a", c.a, "type_b", c.b, "a", a, "b", b, "per", c.per, "k_v", c.k_v),
         .max_nmse = kProductError,
         .optional = c.b == GGML_TYPE_F16 && c.a != GGML_TYPE_F16,
         .build = [=](GraphMaker& m) {
             return ggml_mul_mat(m.ctx, operand(m, c.a, a, c), operand(m, c.b, b, c));
         }});
}

// Types that b may have beside f32.
bool takes_own_type(ggml_type type) { return type == GGML_TYPE_F16 || type == GGML_TYPE_BF16; }

void every_type(CaseList& list) {
    for (const ggml_type type : weight_types()) {
        for (int64_t n = 1; n <= 9; ++n) add_product(list, {type, GGML_TYPE_F32, 16, n, 256});
        add_product(list, {type, GGML_TYPE_F32, 1, 64, 256});
        add_product(list, {type, GGML_TYPE_F32, 16, 1, ggml_blck_size(type)});
        add_product(list, {type, GGML_TYPE_F32, 37, 70, 768});  // panels, odd everywhere
        add_product(list, {type, GGML_TYPE_F32, 5, 3, 512, {2, 1}, {3, 2}});
    }
    // Activations quantised already.
    for (const auto& [a, b] : {std::pair(GGML_TYPE_Q4_0, GGML_TYPE_Q8_0),
                               {GGML_TYPE_Q8_0, GGML_TYPE_Q8_0},
                               {GGML_TYPE_MXFP4, GGML_TYPE_Q8_0},
                               {GGML_TYPE_Q5_0, GGML_TYPE_Q8_0}}) {
        for (const int64_t n : {1, 5, 70}) add_product(list, {a, b, 33, n, 256});
    }
}

void batches(CaseList& list) {
    for (const ggml_type a : kBaseTypes) {
        std::vector<ggml_type> partners{GGML_TYPE_F32};
        if (takes_own_type(a)) partners.push_back(a);
        if (a != GGML_TYPE_F16) partners.push_back(GGML_TYPE_F16);
        std::vector<int64_t> lengths{256};
        if (ggml_blck_size(a) == 1) lengths.push_back(4);
        for (const ggml_type b : partners) {
            for (const int64_t k : lengths) {
                for (const int64_t n : {1, 4, 8, 16}) {
                    for (const auto& [p1, p2, p3] : {std::tuple(2, 1, 3), {1, 3, 2}, {3, 2, 1}}) {
                        add_product(list, {a, b, 16, n, k, {2, 3}, {1, 1}, {0, p1, p2, p3}});
                    }
                    for (const int64_t nr0 : {1, 2}) {
                        for (const int64_t nr1 : {1, 2}) {
                            for (const auto& [bs0, bs1] : {std::pair(3, 2), {3, 1}, {1, 1}})
                                add_product(list, {a, b, 16, n, k, {bs0, bs1}, {nr0, nr1}});
                        }
                    }
                }
            }
            for (const int64_t n : {1, 8, 16}) add_product(list, {a, b, 16, n, 1024, {3, 2}});
            add_product(list, {a, b, 16, 8, 256, {1536, 1}});
        }
    }
}

// Products of attention: views with longer rows, and permuted caches.
void attention_shapes(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const int64_t bs0 : {1, 2, 4, 8}) {
            for (const int64_t bs1 : {1, 3}) {
                for (const int64_t nr : {1, 4}) {
                    for (const int64_t small : {128, 129}) {
                        for (const int64_t large : {1056, 1057}) {
                            add_product(list, {type,
                                               GGML_TYPE_F32,
                                               large,
                                               1,
                                               small,
                                               {bs0, bs1},
                                               {nr, 1},
                                               {0, 2, 1, 3}});
                            add_product(list, {type,
                                               GGML_TYPE_F32,
                                               small,
                                               1,
                                               large,
                                               {bs0, bs1},
                                               {nr, 1},
                                               {0, 1, 2, 3},
                                               2 * large - large % 2});
                        }
                    }
                }
            }
        }
    }
}

void other_shapes(CaseList& list) {
    constexpr ggml_type f32 = GGML_TYPE_F32, f16 = GGML_TYPE_F16;
    for (const ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_MXFP4})
        add_product(list, {type, f32, 2880, 32, 2880});
    for (const int64_t n : {1, 7, 8, 9, 16, 128, 512}) add_product(list, {f32, f32, 1, n, 2048});
    for (const int64_t k : {1, 3}) {
        for (const ggml_type type : kFloatTypes) add_product(list, {type, f32, 16, 2, k});
    }
    for (const int64_t k : {64, 128}) {
        for (const int64_t m : {64, 83}) {
            for (const int64_t nr : {1, 4}) add_product(list, {f16, f32, m, 2, k, {8, 1}, {nr, 1}});
        }
    }
    add_product(list, {f16, f32, 64, 45, 128, {8, 1}, {4, 1}});
    add_product(list, {f16, f32, 128, 45, 64, {8, 1}, {4, 1}});
    add_product(list, {f32, f32, 64, 77, 77, {12, 1}});
    add_product(list, {f32, f32, 64, 32, 80});
    for (const int64_t k : {67, 193})
        add_product(list, {f16, f32, 1056, 1, k, {1, 1}, {4, 1}, {0, 2, 1, 3}});
    for (const int64_t k : {65, 80, 588}) {
        for (const ggml_type b : {f16, f32}) add_product(list, {f16, b, 64, 32, k});
    }
    add_product(list, {f16, f16, 64, 32, 80, {4, 1}});
    add_product(list, {GGML_TYPE_Q4_0, f32, 576, 512, 576});
    add_product(list, {GGML_TYPE_Q4_0, f32, 1, 2048, 8192});
    add_product(list, {GGML_TYPE_Q8_0, f32, 6, 4096, 5120});
    add_product(list, {f32, f32, 5, 1200, 33});  // several passes of panels
    add_product(list, {f32, f32, 0, 3, 8});
    add_product(list, {f32, f32, 4, 0, 8});
}

void special_products(CaseList& list) {
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        list.add({.op = "MUL_MAT",
                  .params = params("src_overlap", true, "type", type),
                  .max_nmse = kProductError,
                  .build = [=](GraphMaker& m) {
                      constexpr int64_t k = 96, rows = 32, cols = 4;
                      ggml_tensor* both = m.leaf(type, {2 * k, rows, 3, 2});
                      const auto part = [&](int64_t n, int64_t at) {
                          return ggml_view_4d(m.ctx, both, k, n, 3, 2, both->nb[1], both->nb[2],
                                              both->nb[3], at * both->nb[0]);
                      };
                      return ggml_mul_mat(m.ctx, part(rows, 0), part(cols, k));
                  }});
    }
    for (const ggml_prec prec : {GGML_PREC_F32, GGML_PREC_F16}) {
        list.add({.op = "MUL_MAT",
                  .params = params("prec", static_cast<int>(prec)),
                  .max_nmse = kProductError,
                  .build = [=](GraphMaker& m) {
                      ggml_tensor* d =
                          ggml_mul_mat(m.ctx, m.leaf(GGML_TYPE_F16, {64, 33}), m.f32({64, 9}));
                      ggml_mul_mat_set_prec(d, prec);
                      return d;
                  }});
    }
}

// The k x k Hadamard matrix, scaled to be orthogonal.
Fill hadamard() {
    return [](const ggml_tensor& leaf, Random&) {
        const int64_t k = leaf.ne[0];
        auto* p = static_cast<float*>(leaf.data);
        for (int64_t i = 0; i < ggml_nelements(&leaf); ++i) {
            const auto column = static_cast<uint64_t>(i % k),
                       row = static_cast<uint64_t>(i / k % k);
            p[i] = static_cast<float>((std::popcount(column & row) % 2 ? -1 : 1) /
                                      std::sqrt(static_cast<double>(k)));
        }
    };
}

void hadamard_cases(CaseList& list) {
    const auto add = [&](int64_t k, int64_t n, int64_t bs0, int64_t bs1) {
        list.add({.op = "MUL_MAT",
                  .params = params("hadamard", k, "n", n, "bs0", bs0, "bs1", bs1),
                  .max_nmse = kProductError,
                  .build = [=](GraphMaker& m) {
                      ggml_tensor* d = ggml_mul_mat(m.ctx, m.f32({k, k, bs0, bs1}, hadamard()),
                                                    m.f32({k, n, bs0, bs1}));
                      ggml_mul_mat_set_hint(d, GGML_HINT_SRC0_IS_HADAMARD);
                      return d;
                  }});
    };
    for (const int64_t k : {1, 32, 64, 128, 256, 512, 1024}) add(k, 1, 1, 1);
    add(128, 32, 1, 1);
    add(128, 4, 2, 3);
    add(256, 512, 1, 1);
}

// ---- OUT_PROD ---------------------------------------------------------------------------------

struct Outer {
    ggml_type a, b = GGML_TYPE_F32;
    int64_t m, n, k;
    int64_t bs[2] = {1, 1}, nr[2] = {1, 1};
    bool transposed = false;
};

void add_outer(CaseList& list, const Outer& c) {
    const Shape a{c.m, c.k, c.bs[0], c.bs[1]};
    const Shape b{c.n, c.k, c.bs[0] * c.nr[0], c.bs[1] * c.nr[1]};
    list.add(
        {.op = "OUT_PROD",
         .params = params("type_a", c.a, "type_b", c.b, "a", a, "b", b, "trans_b", c.transposed),
         .max_nmse = kProductError,
         .build = [=](GraphMaker& m) {
             ggml_tensor* weights = m.leaf(c.a, a);
             ggml_tensor* y = c.transposed
                                  ? ggml_transpose(m.ctx, m.leaf(c.b, {b[1], b[0], b[2], b[3]}))
                                  : m.leaf(c.b, b);
             return ggml_out_prod(m.ctx, weights, y);
         }});
}

void out_prod_cases(CaseList& list) {
    for (const ggml_type a : kBaseTypes) {
        for (const ggml_type b : kFloatTypes) {
            for (const int64_t n : {1, 16}) {
                for (const int64_t k : {1, 16}) {
                    for (const int64_t bs0 : {1, 3}) {
                        for (const int64_t bs1 : {1, 3}) {
                            for (const int64_t nr : {1, 2}) {
                                for (const int64_t nr1 : {1, 2})
                                    add_outer(list, {a, b, 256, n, k, {bs0, bs1}, {nr, nr1}});
                            }
                        }
                    }
                }
            }
        }
    }
    for (const int64_t bs : {1, 8, 16, 32}) {
        add_outer(list, {GGML_TYPE_F32, GGML_TYPE_F32, 256, 16, 16, {bs, 1}});
        add_outer(list, {GGML_TYPE_F32, GGML_TYPE_F32, 256, 16, 16, {1, 1}, {bs, 1}});
    }
    for (const bool transposed : {false, true}) {
        for (const ggml_type a : {GGML_TYPE_F32, GGML_TYPE_F16}) {
            for (const int64_t m : {1, 33, 300}) {
                for (const int64_t n : {1, 7, 65}) {
                    for (const int64_t k : {0, 1, 131})
                        add_outer(list, {a, GGML_TYPE_F32, m, n, k, {2, 1}, {2, 3}, transposed});
                }
            }
        }
    }
}

// ---- SOLVE_TRI --------------------------------------------------------------------------------

// Lower triangles of 0.1 … 1; above the diagonal NaN, which nobody may read.
Fill lower_triangle() {
    return [](const ggml_tensor& leaf, Random& random) {
        const int64_t n = leaf.ne[0];
        auto* p = static_cast<float*>(leaf.data);
        for (int64_t i = 0; i < ggml_nelements(&leaf); ++i)
            p[i] = i % n <= i / n % n ? uniform(random, 0.1f, 1) : NAN;
    };
}

void solve_tri_cases(CaseList& list) {
    struct Row {
        int64_t n, columns, n2, n3;
    };
    constexpr Row kRows[] = {
        {10, 3, 4, 3},   {11, 5, 1, 1},   {17, 9, 2, 4},   {30, 8, 7, 1},   {42, 10, 5, 2},
        {64, 10, 2, 2},  {64, 64, 2, 2},  {79, 417, 5, 3}, {128, 32, 4, 2}, {80, 80, 2, 8},
        {80, 79, 2, 8},  {80, 81, 2, 8},  {80, 80, 8, 8},  {80, 79, 8, 8},  {80, 81, 8, 8},
        {84, 32, 4, 4},  {95, 40, 8, 8},  {100, 41, 4, 4}, {128, 31, 4, 4}, {128, 32, 4, 4},
        {128, 32, 3, 4}, {128, 32, 4, 1}, {64, 200, 4, 4}, {64, 384, 4, 4}, {1, 1, 1, 1},
        {1, 70, 2, 1},   {5, 1, 1, 3},    {33, 129, 1, 1}, {7, 0, 2, 1},    {0, 4, 1, 1}};
    for (const Row& c : kRows) {
        const Shape a{c.n, c.n, c.n2, c.n3}, b{c.columns, c.n, c.n2, c.n3};
        list.add({.op = "SOLVE_TRI",
                  .params = params("ne_lhs", a, "ne_rhs", b),
                  .build = [=](GraphMaker& m) {
                      return ggml_solve_tri(m.ctx, m.f32(a, lower_triangle()), m.f32(b), true, true,
                                            false);
                  }});
    }
}

}  // namespace

void matmul_cases(CaseList& list) {
    every_type(list);
    batches(list);
    attention_shapes(list);
    other_shapes(list);
    special_products(list);
    hadamard_cases(list);
    mul_mat_id_cases(list);
    out_prod_cases(list);
    solve_tri_cases(list);
}

}  // namespace tenon::conformance
