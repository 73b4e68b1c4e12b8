// Cases: values from parameters, masks and triangles.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

void fill_value_cases(CaseList& list) {
    struct FillCase {
        Shape ne;
        float c;
    };
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        for (const FillCase& f :
             {FillCase{{10, 10, 4, 3}, 0.0f}, FillCase{{303, 207, 11, 3}, 2.0f},
              FillCase{{800, 600, 4, 4}, -152.0f}, FillCase{{2048, 512, 2, 2}, 3.5f},
              FillCase{{1}, 0.1f}, FillCase{{17, 3}, 1e-3f}, FillCase{{0, 3}, 1.0f}}) {
            for (const bool inplace : {false, true}) {
                list.add({.op = "FILL",
                          .params = params("type", type, "ne", f.ne, "c", f.c, "inplace", inplace),
                          .build = [=](GraphMaker& m) {
                              return (inplace ? ggml_fill_inplace : ggml_fill)(
                                  m.ctx, m.leaf(type, f.ne), f.c);
                          }});
            }
        }
    }
}

void sequence_cases(CaseList& list) {
    struct Sequence {
        float start, stop, step;
    };
    for (const Sequence& s : {Sequence{0, 10, 1}, Sequence{0, 1048576, 1}, Sequence{-3, 5, 0.3f},
                              Sequence{1, 1.5f, 2}, Sequence{7, 40, 1}}) {
        list.add(
            {.op = "ARANGE",
             .params = params("start", s.start, "stop", s.stop, "step", s.step),
             .build = [=](GraphMaker& m) { return ggml_arange(m.ctx, s.start, s.stop, s.step); }});
    }
    struct Embedding {
        int64_t n;
        int dim, max_period;
    };
    for (const Embedding& e : {Embedding{2, 320, 10000}, Embedding{5, 33, 10000},
                               Embedding{1, 1, 100}, Embedding{3, 2, 100}, Embedding{7, 64, 1000},
                               Embedding{4, 258, 10000}, Embedding{0, 16, 100}}) {
        for (const float span : {1.0f, 1000.0f}) {
            list.add(
                {.op = "TIMESTEP_EMBEDDING",
                 .params = params("n", e.n, "dim", e.dim, "max_period", e.max_period, "span", span),
                 .build = [=](GraphMaker& m) {
                     return ggml_timestep_embedding(m.ctx, m.f32({e.n}, between(0, span)), e.dim,
                                                    e.max_period);
                 }});
        }
    }
}

void matrix_cases(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const Shape& ne : {Shape{10, 1, 4, 3}, Shape{79, 1, 19, 13}, Shape{256, 1, 8, 16},
                                Shape{1, 1, 2, 3}, Shape{0, 1, 2}}) {
            list.add({.op = "DIAG",
                      .params = params("type", type, "ne", ne),
                      .build = [=](GraphMaker& m) { return ggml_diag(m.ctx, m.leaf(type, ne)); }});
        }
        list.add(
            {.op = "DIAG", .params = params("type", type) + ",view", .build = [=](GraphMaker& m) {
                 return ggml_diag(m.ctx, m.inset(type, {17, 1, 3, 2}));
             }});
    }
    list.add({.op = "FILL",
              .params = params("type", GGML_TYPE_BF16),
              .optional = true,
              .build = [](GraphMaker& m) {
                  return retyped(ggml_fill(m.ctx, m.f32({37, 5}), 0.3f), GGML_TYPE_BF16);
              }});
    for (int type = GGML_TRI_TYPE_UPPER_DIAG; type <= GGML_TRI_TYPE_LOWER; ++type) {
        for (const Shape& ne :
             {Shape{10, 10, 4, 3}, Shape{1, 1}, Shape{129, 129, 2}, Shape{0, 0}}) {
            list.add({.op = "TRI",
                      .params = params("ne", ne, "tri_type", type),
                      .build = [=](GraphMaker& m) {
                          return ggml_tri(m.ctx, m.f32(ne), static_cast<ggml_tri_type>(type));
                      }});
        }
    }
}

using Masker = ggml_tensor* (*)(ggml_context*, ggml_tensor*, int);

void mask_cases(CaseList& list, const char* op, Masker build, Masker inplace) {
    for (const ggml_type type : kFloatTypes) {
        for (const Shape& ne : {Shape{10, 10}, Shape{10, 10, 3}, Shape{10, 10, 3, 2}, Shape{1, 1},
                                Shape{65, 33, 2}, Shape{5, 40}, Shape{0, 4}}) {
            for (const int n_past : {0, 5, 100}) {
                for (const bool in_place : {false, true}) {
                    list.add(
                        {.op = op,
                         .params =
                             params("type", type, "ne", ne, "n_past", n_past, "inplace", in_place),
                         .build = [=](GraphMaker& m) {
                             return (in_place ? inplace : build)(m.ctx, m.leaf(type, ne), n_past);
                         }});
                }
            }
        }
        list.add({.op = op, .params = params("type", type) + ",view", .build = [=](GraphMaker& m) {
                      return build(m.ctx, m.inset(type, {17, 9, 3, 2}), 3);
                  }});
    }
}

}  // namespace

void fill_cases(CaseList& list) {
    fill_value_cases(list);
    sequence_cases(list);
    matrix_cases(list);
    mask_cases(list, "DIAG_MASK_INF", ggml_diag_mask_inf, ggml_diag_mask_inf_inplace);
    mask_cases(list, "DIAG_MASK_ZERO", ggml_diag_mask_zero, ggml_diag_mask_zero_inplace);
}

}  // namespace tenon::conformance
