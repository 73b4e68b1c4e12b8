// Cases: MUL_MAT_ID.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

struct ByExpert {
    ggml_type as;
    int64_t n_experts, n_used;
    bool shared;  // one row of b for all experts of a token
    int64_t m, n, k;
};

// Experts of each token: a random permutation of i mod n_experts, of which a view keeps n_used.
ggml_tensor* expert_ids(GraphMaker& m, int64_t n_experts, int64_t n_used, int64_t n) {
    ggml_tensor* ids = m.leaf(GGML_TYPE_I32, {n_experts, n}, permutation());
    return ggml_view_2d(m.ctx, ids, n_used, n, ids->nb[1], 0);
}

void add(CaseList& list, const ByExpert& c) {
    list.add({.op = "MUL_MAT_ID",
              .params = params("type_a", c.as, "n_mats", c.n_experts, "n_used", c.n_used, "b",
                               c.shared, "m", c.m, "n", c.n, "k", c.k),
              .max_nmse = 5e-4,
              .build = [=](GraphMaker& m) {
                  ggml_tensor* as = m.leaf(c.as, {c.k, c.m, c.n_experts});
                  ggml_tensor* b = m.f32({c.k, c.shared ? 1 : c.n_used, c.n});
                  return ggml_mul_mat_id(m.ctx, as, b, expert_ids(m, c.n_experts, c.n_used, c.n));
              }});
}

constexpr ggml_type kBaseTypes[] = {GGML_TYPE_F32,   GGML_TYPE_F16,    GGML_TYPE_Q8_0,
                                    GGML_TYPE_Q1_0,  GGML_TYPE_Q2_0,   GGML_TYPE_Q4_0,
                                    GGML_TYPE_Q4_1,  GGML_TYPE_Q4_K,   GGML_TYPE_MXFP4,
                                    GGML_TYPE_NVFP4, GGML_TYPE_IQ2_XXS};

void grid(CaseList& list) {
    for (const ggml_type type : kBaseTypes) {
        for (const int64_t n_experts : {4, 8}) {
            for (const int64_t n_used : {1, 2, 4}) {
                for (const bool shared : {false, true}) {
                    for (const int64_t n : {1, 4, 5, 17, 32, 129})
                        add(list, {type, n_experts, n_used, shared, 512, n, 256});
                }
            }
        }
    }
    std::vector<ggml_type> types = quantized_types();
    types.insert(types.end(), std::begin(kFloatTypes), std::end(kFloatTypes));
    for (const ggml_type type : types) {
        for (const int64_t n : {1, 32}) add(list, {type, 4, 2, false, 512, n, 256});
        add(list, {type, 4, 2, false, 64, 16, 3 * ggml_blck_size(type)});
    }
}

void extremes(CaseList& list) {
    for (const bool shared : {false, true}) {
        for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
            add(list, {type, 16, 16, shared, 32, 1024, 16});
            add(list, {type, 2, 2, shared, 32, 8192, 64});
            add(list, {type, 16, 16, shared, 50, 200, 64});
        }
    }
    add(list, {GGML_TYPE_F16, 1, 1, false, 8, 16, 1});
    for (const ggml_type type : {GGML_TYPE_MXFP4, GGML_TYPE_Q4_0})
        add(list, {type, 32, 2, false, 2880, 32, 2880});
    for (const int64_t m : {1, 3, 37}) {
        for (const int64_t n : {1, 16, 33}) add(list, {GGML_TYPE_F32, 130, 7, false, m, n, 35});
    }
}

// Ids that are no plain columns, and operands that are views.
void layouts(CaseList& list) {
    const auto add_layout = [&](const char* name, std::function<ggml_tensor*(GraphMaker&)> build) {
        list.add({.op = "MUL_MAT_ID", .params = name, .max_nmse = 5e-4, .build = std::move(build)});
    };
    add_layout("ids transposed", [](GraphMaker& m) {
        ggml_tensor* ids = m.leaf(GGML_TYPE_I32, {9, 3}, integers(0, 5));
        return ggml_mul_mat_id(m.ctx, m.f32({64, 33, 5}), m.f32({64, 3, 9}),
                               ggml_transpose(m.ctx, ids));
    });
    add_layout("the same expert several times", [](GraphMaker& m) {
        return ggml_mul_mat_id(m.ctx, m.leaf(GGML_TYPE_Q8_0, {64, 33, 5}), m.f32({64, 2, 9}),
                               m.leaf(GGML_TYPE_I32, {4, 9}, integers(2, 3)));
    });
    add_layout("rows of b repeat", [](GraphMaker& m) {
        return ggml_mul_mat_id(m.ctx, m.leaf(GGML_TYPE_F16, {65, 33, 5}), m.f32({65, 2, 9}),
                               m.leaf(GGML_TYPE_I32, {6, 9}, integers(0, 5)));
    });
    add_layout("operands inside larger ones", [](GraphMaker& m) {
        return ggml_mul_mat_id(m.ctx, m.inset(GGML_TYPE_F32, {64, 33, 5, 1}),
                               m.inset(GGML_TYPE_F32, {64, 2, 9, 1}),
                               m.inset(GGML_TYPE_I32, {2, 9, 1, 1}, integers(0, 5)));
    });
    add_layout("halves with halves", [](GraphMaker& m) {
        return ggml_mul_mat_id(m.ctx, m.leaf(GGML_TYPE_F16, {64, 33, 5}),
                               m.leaf(GGML_TYPE_F16, {64, 2, 9}),
                               m.leaf(GGML_TYPE_I32, {2, 9}, integers(0, 5)));
    });
    add_layout("quantized with quantized", [](GraphMaker& m) {
        return ggml_mul_mat_id(m.ctx, m.leaf(GGML_TYPE_Q4_0, {64, 33, 5}),
                               m.leaf(GGML_TYPE_Q8_0, {64, 2, 9}),
                               m.leaf(GGML_TYPE_I32, {2, 9}, integers(0, 5)));
    });
    add_layout("no tokens", [](GraphMaker& m) {
        return ggml_mul_mat_id(m.ctx, m.f32({64, 33, 5}), m.f32({64, 2, 0}),
                               m.leaf(GGML_TYPE_I32, {2, 0}, integers(0, 5)));
    });
}

}  // namespace

void mul_mat_id_cases(CaseList& list) {
    grid(list);
    extremes(list);
    layouts(list);
}

}  // namespace tenon::conformance
