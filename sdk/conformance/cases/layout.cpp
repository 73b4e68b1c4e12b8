// Cases: values put together, repeated, padded and moved. Copies are in layout_copy.cpp.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

constexpr ggml_type kPlainTypes[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I8,
                                     GGML_TYPE_I16, GGML_TYPE_I32, GGML_TYPE_I64,  GGML_TYPE_F64};

// ---- SET --------------------------------------------------------------------------------------

void set_cases(CaseList& list) {
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_I32, GGML_TYPE_F16}) {
        for (const bool inplace : {false, true}) {
            for (const int dims : {1, 2, 3}) {
                const Shape src{6, 5, 4, 3};
                Shape dst = src;
                for (int k = 0; k < dims; ++k) dst.ne[k] *= 2;
                list.add(
                    {.op = "SET",
                     .params = params("type", type, "ne", src, "dim", dims, "inplace", inplace),
                     .build = [=](GraphMaker& m) {
                         ggml_tensor* b = m.leaf(type, src, usual(type));
                         ggml_tensor* a = m.leaf(type, dst, usual(type));
                         size_t at = 0;
                         for (int k = 0; k < dims; ++k) at += (dst[k] - src[k]) / 2 * a->nb[k];
                         return (inplace ? ggml_set_inplace : ggml_set)(m.ctx, a, b, b->nb[1],
                                                                        b->nb[2], b->nb[3], at);
                     }});
                // The same, to where it looks like a view.
                list.add({.op = "SET",
                          .params = params("type", type, "ne", src, "dim", dims, "inplace", inplace,
                                           "strides", "dst"),
                          .build = [=](GraphMaker& m) {
                              ggml_tensor* b = m.leaf(type, src, usual(type));
                              ggml_tensor* a = m.leaf(type, dst, usual(type));
                              return (inplace ? ggml_set_inplace : ggml_set)(m.ctx, a, b, a->nb[1],
                                                                             a->nb[2], a->nb[3], 0);
                          }});
            }
            for (const bool matrix : {false, true}) {
                list.add({.op = "SET",
                          .params = params("type", type, "inplace", inplace, "builder",
                                           matrix ? "2d" : "1d"),
                          .build = [=](GraphMaker& m) {
                              ggml_tensor* a = m.leaf(type, {33, 7}, usual(type));
                              ggml_tensor* b = m.leaf(type, {5, matrix ? 3 : 1}, usual(type));
                              const size_t at = 2 * a->nb[1] + 3 * a->nb[0];
                              if (matrix) {
                                  return (inplace ? ggml_set_2d_inplace : ggml_set_2d)(
                                      m.ctx, a, b, a->nb[1], at);
                              }
                              return (inplace ? ggml_set_1d_inplace : ggml_set_1d)(m.ctx, a, b, at);
                          }});
            }
            list.add({.op = "SET",
                      .params = params("type", type, "inplace", inplace) + ",b=empty",
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* a = m.leaf(type, {33, 7}, usual(type));
                          return (inplace ? ggml_set_1d_inplace : ggml_set_1d)(
                              m.ctx, a, m.leaf(type, {0}, usual(type)), 0);
                      }});
        }
    }
}

// ---- REPEAT, REPEAT_BACK ------------------------------------------------------------------------

const Shape kRepeats[] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 2, 1},
                          {1, 1, 1, 2}, {3, 2, 2, 3}, {1, 7, 1, 2}};

Shape times(const Shape& a, const Shape& b) {
    return {a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]};
}

ggml_tensor* repeat_to(GraphMaker& m, ggml_tensor* a, const Shape& to) {
    return ggml_repeat_4d(m.ctx, a, to[0], to[1], to[2], to[3]);
}

void repeat_cases(CaseList& list) {
    for (const ggml_type type : kPlainTypes) {
        for (const Shape& nr : kRepeats) {
            for (const Shape& ne : {Shape{10, 5, 4, 1}, Shape{10, 5, 4, 3}, Shape{1, 5, 1, 2}}) {
                list.add({.op = "REPEAT",
                          .params = params("type", type, "ne", ne, "nr", nr),
                          .build = [=](GraphMaker& m) {
                              return repeat_to(m, m.leaf(type, ne, usual(type)), times(ne, nr));
                          }});
            }
            list.add({.op = "REPEAT",
                      .params = params("type", type, "nr", nr) + ",view",
                      .build = [=](GraphMaker& m) {
                          const Shape ne{17, 3, 2, 2};
                          return repeat_to(m, m.inset(type, ne, usual(type)), times(ne, nr));
                      }});
        }
    }
    list.add({.op = "REPEAT",
              .params = "type=f32,ne=[1,1,1,1],nr=[100003,3,1,1]",
              .build = [](GraphMaker& m) {
                  return repeat_to(m, m.f32({1}), {100003, 3});
              }});
    list.add({.op = "REPEAT", .params = "type=f32,b=tensor", .build = [](GraphMaker& m) {
                  ggml_tensor* a = m.f32({4, 1, 3});
                  return ggml_repeat(m.ctx, a, m.f32({8, 5, 3, 2}));
              }});
    for (const ggml_type type : kFloatTypes) {
        for (const Shape& nr : kRepeats) {
            const auto add = [&](const Shape& ne, const std::string& how, auto source) {
                list.add({.op = "REPEAT_BACK",
                          .params = params("type", type, "ne", ne, "nr", nr) + "," + how,
                          .build = [=](GraphMaker& m) {
                              ggml_tensor* a = source(m);
                              return ggml_repeat_back(m.ctx, a, m.leaf(type, ne));
                          }});
            };
            for (const Shape& ne : {Shape{8, 6, 4, 2}, Shape{1, 3, 2, 1}, Shape{37, 1, 1, 1}}) {
                const Shape from = times(ne, nr);
                add(ne, "v=0", [=](GraphMaker& m) { return m.leaf(type, from); });
                add(ne, "v=1", [=](GraphMaker& m) { return corner(m, type, from, {2, 2, 2, 2}); });
            }
        }
        list.add({.op = "REPEAT_BACK",
                  .params = params("type", type) + ",ne=[1025,1,1,1],nr=[1,300,2,1]",
                  .build = [=](GraphMaker& m) {
                      ggml_tensor* a = m.leaf(type, {1025, 300, 2});
                      return ggml_repeat_back(m.ctx, a, m.leaf(type, {1025}));
                  }});
    }
}

// ---- CONCAT -----------------------------------------------------------------------------------

// Bits of v: a is a view of a tensor wider in dimensions 0 to 2 (1) or in 2 and 3 (4), b likewise
// (2, 8).
ggml_tensor* part(GraphMaker& m, ggml_type type, const Shape& ne, int bits, bool first) {
    const Fill fill = usual(type);
    if (bits & 1)
        return first ? corner(m, type, ne, {2, 4, 3, 1}, fill)
                     : corner(m, type, ne, {3, 2, 4, 1}, fill);
    if (bits & 4)
        return first ? corner(m, type, ne, {1, 1, 2, 4}, fill)
                     : corner(m, type, ne, {1, 1, 3, 2}, fill);
    return m.leaf(type, ne, fill);
}

void concat_cases_of(CaseList& list, ggml_type type, const Shape& a, int64_t more, int dim,
                     std::initializer_list<int> views) {
    Shape b = a;
    b.ne[dim] = more;
    for (const int v : views) {
        list.add({.op = "CONCAT",
                  .params = params("type", type, "ne_a", a, "ne_b_d", more, "dim", dim, "v", v),
                  .build = [=](GraphMaker& m) {
                      ggml_tensor* x = part(m, type, a, v, true);
                      return ggml_concat(m.ctx, x, part(m, type, b, v >> 1, false), dim);
                  }});
    }
}

void concat_cases(CaseList& list) {
    for (int dim = 0; dim < GGML_MAX_DIMS; ++dim) {
        for (const ggml_type type : kPlainTypes) {
            concat_cases_of(list, type, {11, 12, 13, 14}, 7, dim, {0, 1, 2, 3, 4, 8, 12});
            concat_cases_of(list, type, {3, 2, 2, 2}, 0, dim, {0});
            list.add({.op = "CONCAT",
                      .params = params("type", type, "dim", dim) + ",permuted",
                      .build = [=](GraphMaker& m) {
                          const Shape ne{5, 4, 3, 2};
                          ggml_tensor* x = m.permuted(type, ne, {2, 0, 3, 1}, usual(type));
                          return ggml_concat(m.ctx, x, m.inset(type, ne, usual(type)), dim);
                      }});
        }
        for (const ggml_type type : quantized_types()) {
            const int64_t n = std::max<int64_t>(128, ggml_blck_size(type));
            const Shape ne = is_writable(type) ? Shape{n, 12, 5, 4} : Shape{n, 2, 2, 1};
            const int64_t more = dim == 0 ? 2 * n : is_writable(type) ? 7 : 1;
            concat_cases_of(list, type, ne, more, dim, {0, 4, 8, 12});
        }
    }
    for (const ggml_type type :
         {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0}) {
        for (int dim = 0; dim < GGML_MAX_DIMS; ++dim)
            concat_cases_of(list, type, {128, 12, 13, 14}, dim == 0 ? 256 : 7, dim, {0, 4, 8, 12});
    }
}

// ---- PAD, PAD_REFLECT_1D, ROLL ------------------------------------------------------------------

struct Pads {
    int p[8];
};

ggml_tensor* build_pad(GraphMaker& m, ggml_tensor* a, const Pads& pads, bool circular) {
    const auto& p = pads.p;
    return (circular ? ggml_pad_ext_circular : ggml_pad_ext)(m.ctx, a, p[0], p[1], p[2], p[3], p[4],
                                                             p[5], p[6], p[7]);
}

// `seen`: 0 as it is, 1 the lower half in every dimension, 2 permuted.
ggml_tensor* padded(GraphMaker& m, ggml_type type, const Shape& ne, int seen) {
    ggml_tensor* t = m.leaf(type, ne, usual(type));
    if (seen == 1) {
        const auto half = [](int64_t n) { return (n + 1) / 2; };
        return ggml_view_4d(m.ctx, t, half(ne[0]), half(ne[1]), half(ne[2]), half(ne[3]), t->nb[1],
                            t->nb[2], t->nb[3], 0);
    }
    return seen == 2 ? ggml_permute(m.ctx, t, 2, 1, 0, 3) : t;
}

void pad_cases(CaseList& list) {
    const auto add = [&](ggml_type type, const Shape& ne, const Pads& pads, int seen,
                         bool circular) {
        std::string all;
        for (const int p : pads.p) all += (all.empty() ? "[" : ",") + std::to_string(p);
        list.add({.op = "PAD",
                  .params = params("type", type, "ne_a", ne, "pads", (all + "]").c_str(), "tfrm",
                                   seen, "circular", circular),
                  .build = [=](GraphMaker& m) {
                      return build_pad(m, padded(m, type, ne, seen), pads, circular);
                  }});
    };
    const ggml_type f32 = GGML_TYPE_F32;
    add(f32, {512, 512}, {0, 1, 0, 1, 0, 0, 0, 0}, 0, false);
    add(f32, {33, 17, 2}, {0, 4, 0, 3, 0, 0, 0, 0}, 0, true);
    add(f32, {512, 512, 3}, {1, 1, 1, 1, 1, 1, 1, 1}, 0, false);
    for (const int64_t n : {1024, 1023, 1025, 2048, 2049}) {
        for (const int64_t rows : {1, 2, 4, 8, 16})
            add(f32, {n, rows}, {0, 1, 0, rows == 16 ? 1 : 0, 0, 0, 0, 0}, 0, false);
    }
    add(f32, {1024, 16}, {0, 0, 0, 1, 0, 0, 0, 0}, 0, false);
    add(f32, {100}, {0, 100, 0, 0, 0, 0, 0, 0}, 0, false);
    add(f32, {100}, {0, 0, 0, 100, 0, 0, 0, 0}, 0, false);
    add(f32, {100, 100}, {0, 50, 0, 50, 0, 0, 0, 0}, 0, false);
    for (const ggml_type type : kPlainTypes) {
        for (const int seen : {0, 1, 2}) {
            for (const bool circular : {false, true}) {
                if (type == f32) add(type, {512, 512}, {0, 1, 0, 1, 0, 0, 0, 0}, seen, circular);
                add(type, {11, 22, type == f32 ? 33 : 5, type == f32 ? 44 : 4},
                    {1, 2, 3, 4, 5, 6, 7, 8}, seen, circular);
                add(type, {5, 4, 3, 2}, {7, 13, 0, 9, 1, 4, 3, 0}, seen,
                    circular);  // more than once
                add(type, {9, 8, 5, 4}, {-2, 1, -1, -3, 2, -1, 0, -1}, seen, circular);  // cut off
            }
        }
    }
    add(f32, {3, 0}, {1, 1, 1, 2, 0, 0, 0, 0}, 0, false);
    for (const Shape& ne : {Shape{512, 34, 2}, Shape{3000, 384, 4}, Shape{512, 34}, Shape{17, 3}}) {
        list.add(
            {.op = "PAD_REFLECT_1D", .params = params("ne_a", ne), .build = [=](GraphMaker& m) {
                 return ggml_pad_reflect_1d(m.ctx, m.f32(ne), 10, 9);
             }});
    }
    list.add(
        {.op = "PAD_REFLECT_1D", .params = "ne_a=[1,3,1,1],pads=[0,0]", .build = [](GraphMaker& m) {
             return ggml_pad_reflect_1d(m.ctx, m.f32({1, 3}), 0, 0);
         }});
    list.add(
        {.op = "PAD_REFLECT_1D", .params = "ne_a=[5,3,2,1],pads=[4,4]", .build = [](GraphMaker& m) {
             return ggml_pad_reflect_1d(m.ctx, m.f32({5, 3, 2}), 4, 4);
         }});
}

void roll_cases(CaseList& list) {
    for (const ggml_type type : kPlainTypes) {
        for (const bool permuted : {false, true}) {
            for (const auto& s : {Pads{{3, -2, 1, -1}}, Pads{{0, 0, 0, 0}}, Pads{{-9, 4, -3, 2}}}) {
                const int shifts[4] = {s.p[0], s.p[1], s.p[2], s.p[3]};
                list.add({.op = "ROLL",
                          .params = params("type", type, "shift", shifts, "permute", permuted),
                          .build = [=](GraphMaker& m) {
                              const Shape ne{10, 5, 4, 3};
                              ggml_tensor* a = permuted
                                                   ? m.permuted(type, ne, {0, 2, 1, 3}, usual(type))
                                                   : m.leaf(type, ne, usual(type));
                              return ggml_roll(m.ctx, a, s.p[0], s.p[1], s.p[2], s.p[3]);
                          }});
            }
        }
    }
}

}  // namespace

void layout_cases(CaseList& list) {
    copy_cases(list);
    set_cases(list);
    repeat_cases(list);
    concat_cases(list);
    pad_cases(list);
    roll_cases(list);
}

}  // namespace tenon::conformance
