// Cases: element by element arithmetic.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

using Builder = ggml_tensor* (*)(ggml_context*, ggml_tensor*, ggml_tensor*);

std::string type_text(ggml_type type) { return params("type", type); }

struct Binary {
    const char* op;
    Builder build, inplace;
    float low, high;  // MUL and DIV stay near 1, so that products of many keep their size
};
constexpr Binary kBinary[] = {
    {"ADD", ggml_add, ggml_add_inplace, -1, 1},
    {"SUB", ggml_sub, ggml_sub_inplace, -1, 1},
    {"MUL", ggml_mul, ggml_mul_inplace, 0.9f, 1.1f},
    {"DIV", ggml_div, ggml_div_inplace, 0.9f, 1.1f},
};

struct Broadcast {
    Shape ne;   // of b
    int nr[4];  // how often a repeats it
};
const Broadcast kBroadcasts[] = {
    {{1, 1, 8, 1}, {1, 1, 1, 1}},       {{1, 1, 1, 1}, {32, 1, 1, 1}},
    {{1, 1, 320, 320}, {1, 1, 1, 1}},   {{10, 5, 1, 1}, {1, 1, 1, 1}},
    {{10, 5, 4, 1}, {1, 1, 1, 1}},      {{10, 5, 4, 3}, {1, 1, 1, 1}},
    {{10, 5, 4, 3}, {2, 1, 1, 1}},      {{10, 5, 4, 3}, {1, 2, 1, 1}},
    {{10, 5, 4, 3}, {1, 1, 2, 1}},      {{10, 5, 4, 3}, {1, 1, 1, 2}},
    {{10, 5, 4, 3}, {1, 1, 2, 2}},      {{10, 5, 4, 3}, {1, 2, 2, 2}},
    {{10, 5, 4, 3}, {2, 2, 2, 2}},      {{16, 10, 1, 1}, {1, 1, 1, 1}},
    {{1023, 7, 1, 1}, {1, 1, 1, 1}},    {{17, 1, 1, 1}, {1, 5, 3, 2}},
    {{1, 5, 1, 1}, {33, 1, 2, 1}},      {{0, 4, 1, 1}, {1, 1, 1, 1}},
    {{1280, 1, 1, 1}, {1, 16, 16, 1}},  {{1, 1, 1280, 1}, {16, 16, 1, 1}},
    {{1, 1, 1920, 1}, {16, 16, 1, 1}},  {{1, 1, 640, 1}, {32, 32, 1, 1}},
    {{5120, 1, 1, 1}, {1, 256, 1, 1}},  {{640, 1, 1, 1}, {1, 4096, 1, 1}},
    {{64, 262144, 1, 1}, {1, 1, 1, 1}}, {{1, 1, 65536, 1}, {256, 1, 1, 1}},
    {{1280, 1, 1, 1}, {1, 1, 1, 1}},    {{1280, 16, 16, 1}, {1, 1, 1, 1}},
    {{1280, 1, 1, 1}, {1, 256, 1, 1}},  {{16, 16, 1280, 1}, {1, 1, 1, 1}},
    {{1, 1, 2560, 1}, {16, 16, 1, 1}},  {{1, 1, 1280, 1}, {32, 32, 1, 1}},
    {{1, 1, 1920, 1}, {32, 32, 1, 1}},  {{640, 1, 1, 1}, {1, 1, 1, 1}},
};

Shape times(const Shape& ne, const int (&nr)[4]) {
    return {ne[0] * nr[0], ne[1] * nr[1], ne[2] * nr[2], ne[3] * nr[3]};
}

void binary_cases(CaseList& list) {
    for (const Binary& op : kBinary) {
        const Fill fill = between(op.low, op.high);
        const auto add = [&](const std::string& params,
                             std::function<ggml_tensor*(GraphMaker&)> build) {
            list.add({.op = op.op, .params = params, .build = std::move(build)});
        };
        for (const ggml_type type : kFloatTypes) {
            for (const Broadcast& b : kBroadcasts) {
                for (const bool permuted : {false, true}) {
                    std::string params =
                        type_text(type) + ",ne=" + text(b.ne) + ",a=" + text(times(b.ne, b.nr));
                    if (permuted) params += ",perm1=1";
                    add(params, [=](GraphMaker& m) {
                        ggml_tensor* a = m.leaf(type, times(b.ne, b.nr), fill);
                        ggml_tensor* y = permuted ? m.permuted(type, b.ne, {1, 2, 0, 3}, fill)
                                                  : m.leaf(type, b.ne, fill);
                        return op.build(m.ctx, a, y);
                    });
                }
            }
            add(type_text(type) + ",view", [=](GraphMaker& m) {
                return op.build(m.ctx, m.inset(type, {33, 5, 4, 3}, fill),
                                m.inset(type, {33, 5, 1, 3}, fill));
            });
            add(type_text(type) + ",inplace", [=](GraphMaker& m) {
                return op.inplace(m.ctx, m.leaf(type, {67, 5, 4, 3}, fill),
                                  m.leaf(type, {67, 1, 4, 1}, fill));
            });
            // The first and the last two thirds of one tensor.
            for (const Shape& ne : {Shape{16, 5, 4, 6}, Shape{10, 5, 4, 6}, Shape{10, 5, 4, 5},
                                    Shape{1, 1, 120, 120}, Shape{1, 1, 4, 320}}) {
                add(params("type", type, "ne", ne, "src_overlap", 1), [=](GraphMaker& m) {
                    ggml_tensor* t = m.leaf(type, ne, fill);
                    const int64_t third = ne[3] / 3;
                    const auto part = [&](int64_t at) {
                        return ggml_view_4d(m.ctx, t, ne[0], ne[1], ne[2], 2 * third, t->nb[1],
                                            t->nb[2], t->nb[3], static_cast<size_t>(at) * t->nb[3]);
                    };
                    return op.build(m.ctx, part(0), part(third));
                });
            }
        }
        // A half operand with an f32 one.
        for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
            add(type_text(type) + ",b=f32", [=](GraphMaker& m) {
                return op.build(m.ctx, m.leaf(type, {65, 5, 4, 3}, fill),
                                m.f32({65, 5, 1, 3}, fill));
            });
        }
        // A chain, each node reading the one before.
        for (const int n : {2, 3, 8, 16}) {
            add("chain=" + std::to_string(n), [=](GraphMaker& m) {
                ggml_tensor* x = m.f32({16, 5, 4, 3}, fill);
                for (int i = 0; i < n; ++i)
                    x = op.build(m.ctx, x, m.f32({16, i % 2 ? 5 : 1, 4, 3}, fill));
                return x;
            });
        }
    }
}

void quantized_add_cases(CaseList& list) {
    for (const ggml_type type : quantized_types()) {
        for (const ggml_type dst : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16}) {
            list.add(
                {.op = "ADD",
                 .params = type_text(type) + ",dst=" + ggml_type_name(dst),
                 .build = [=](GraphMaker& m) {
                     const Shape shape = is_writable(type) ? Shape{512, 5, 2, 3} : Shape{512, 3};
                     return ggml_add_cast(m.ctx, m.leaf(type, shape), m.f32(shape), dst);
                 }});
        }
        if (!is_writable(type)) continue;
        list.add({.op = "ADD",
                  .params = type_text(type) + ",dst=" + ggml_type_name(type),
                  .max_nmse = 1e-3,  // sums a hair apart may round to neighbouring codes
                  .build = [=](GraphMaker& m) {
                      const Shape shape{512, 5, 2, 3};
                      return ggml_add(m.ctx, m.leaf(type, shape), m.f32(shape));
                  }});
    }
}

// Deprecated for applications, but graphs of gradients have it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
constexpr Builder kAdd1 = ggml_add1, kAdd1Inplace = ggml_add1_inplace;
#pragma GCC diagnostic pop

void add1_cases(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const ggml_type b : kFloatTypes) {
            for (const Shape& shape :
                 {Shape{10, 5, 4, 3}, Shape{33}, Shape{1, 1024}, Shape{0, 2}}) {
                for (const bool inplace : {false, true}) {
                    list.add(
                        {.op = "ADD1",
                         .params = params("type", type, "b", b, "ne", shape, "inplace", inplace),
                         .build = [=](GraphMaker& m) {
                             ggml_tensor* x = m.leaf(type, shape);
                             return (inplace ? kAdd1Inplace : kAdd1)(m.ctx, x, m.leaf(b, {1}));
                         }});
                }
            }
        }
    }
    for (const ggml_type type : writable_types()) {
        for (const ggml_type b : kFloatTypes) {
            if (b != GGML_TYPE_F32 && type != GGML_TYPE_Q4_0 && type != GGML_TYPE_Q6_K) continue;
            list.add({.op = "ADD1",
                      .params = params("type", type, "b", b),
                      .max_nmse = 1e-3,  // sums a hair apart may round to neighbouring codes
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* x = m.leaf(type, {512, 5, 2});
                          return kAdd1(m.ctx, x, m.leaf(b, {1}, constant(0.25)));
                      }});
        }
    }
}

void acc_cases(CaseList& list) {
    struct Acc {
        Shape a, b;
        int stride_dim;  // b is a view of a tensor one longer in this dimension; -1: a tensor
    };
    for (const bool inplace : {false, true}) {
        const auto build = inplace ? ggml_acc_inplace : ggml_acc;
        for (const Acc& c :
             {Acc{{256, 17}, {256, 16}, -1}, Acc{{256, 17, 2, 3}, {256, 16, 2, 3}, -1},
              Acc{{256, 17, 2, 3}, {128, 16, 2, 3}, -1}, Acc{{256, 17, 2, 3}, {256, 16, 2, 3}, 1},
              Acc{{256, 17, 2, 3}, {128, 16, 2, 3}, 2}, Acc{{256, 17, 2, 3}, {64, 16, 2, 3}, 3}}) {
            list.add({.op = "ACC",
                      .params = params("ne_a", c.a, "ne_b", c.b, "stride_dim", c.stride_dim,
                                       "inplace", inplace),
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* a = m.f32(c.a);
                          Shape whole = c.b;
                          if (c.stride_dim >= 0) ++whole.ne[c.stride_dim];
                          ggml_tensor* b = m.f32(whole);
                          if (c.stride_dim >= 0) {
                              b = ggml_view_4d(m.ctx, b, c.b[0], c.b[1], c.b[2], c.b[3], b->nb[1],
                                               b->nb[2], b->nb[3], b->nb[c.stride_dim]);
                          }
                          return build(m.ctx, a, b, a->nb[1], a->nb[2], a->nb[3], 0);
                      }});
        }
        for (const Shape& b :
             {Shape{16, 10, 10}, Shape{17, 7, 10}, Shape{1}, Shape{256}, Shape{0}}) {
            list.add({.op = "ACC",
                      .params = params("b", b, "inplace", inplace),
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* a = m.f32({256, 17, 10, 2});
                          ggml_tensor* y = m.f32(b);
                          const size_t at = b[0] < 256 ? 20 * a->nb[0] + a->nb[1] : 3 * a->nb[1];
                          return build(m.ctx, a, y, a->nb[1], a->nb[2], a->nb[3], at);
                      }});
        }
    }
}

void special_add_cases(CaseList& list) {
    for (const int64_t n_embd : {32, 129}) {
        for (const int64_t n_expert : {4, 8}) {
            for (const int64_t n_used : {1, 2, 4}) {
                for (const int64_t n_token : {1, 32, 129}) {
                    list.add({.op = "ADD_ID",
                              .params = "n_embd=" + std::to_string(n_embd) +
                                        ",n_experts=" + std::to_string(n_expert) +
                                        ",n_used=" + std::to_string(n_used) +
                                        ",n_token=" + std::to_string(n_token),
                              .build = [=](GraphMaker& m) {
                                  ggml_tensor* ids =
                                      m.leaf(GGML_TYPE_I32, {n_expert, n_token}, permutation());
                                  ids = ggml_view_2d(m.ctx, ids, n_used, n_token, ids->nb[1], 0);
                                  return ggml_add_id(m.ctx, m.f32({n_embd, n_used, n_token}),
                                                     m.f32({n_embd, n_expert}), ids);
                              }});
                }
            }
        }
    }
    for (const ggml_type type : kFloatTypes) {
        for (const ggml_type b : kFloatTypes) {
            list.add({.op = "ADD_ID",
                      .params = params("type", type, "b", b),
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* a = m.inset(type, {33, 3, 5, 2});
                          return ggml_add_id(m.ctx, a, m.leaf(b, {33, 7}),
                                             m.leaf(GGML_TYPE_I32, {3, 5}, integers(0, 7)));
                      }});
        }
    }
    add1_cases(list);
    acc_cases(list);
}

void elementwise_cases(CaseList& list) {
    using Unary = ggml_tensor* (*)(ggml_context*, ggml_tensor*);
    struct Row {
        const char* op;
        Unary build, inplace;
        float low, high;
    };
    constexpr Row kRows[] = {
        {"SQR", ggml_sqr, ggml_sqr_inplace, -1, 1},
        {"SQRT", ggml_sqrt, ggml_sqrt_inplace, 50, 100},
        {"LOG", ggml_log, ggml_log_inplace, 1, 1000},
        {"LOG", ggml_log, ggml_log_inplace, 0.9f, 1.1f},
        {"SIN", ggml_sin, ggml_sin_inplace, -6.5f, 6.5f},
        {"COS", ggml_cos, ggml_cos_inplace, -6.5f, 6.5f},
    };
    for (const Row& row : kRows) {
        for (const ggml_type type : kFloatTypes) {
            for (const Shape& shape :
                 {Shape{10, 5, 4, 3}, Shape{1, 1, 1, 1}, Shape{1023, 7, 1, 1}, Shape{7, 1, 5, 3},
                  Shape{1024, 1024, 1, 1}, Shape{10, 2, 2, 2}, Shape{10, 3, 3, 2}}) {
                const Fill fill = between(row.low, row.high);
                list.add({.op = row.op,
                          .params = type_text(type) + ",ne=" + text(shape),
                          .build = [=](GraphMaker& m) {
                              return row.build(m.ctx, m.leaf(type, shape, fill));
                          }});
            }
            list.add({.op = row.op,
                      .params = params("type", type, "dst", GGML_TYPE_F32),
                      .optional = true,
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* x = m.leaf(type, {133, 3, 2}, between(row.low, row.high));
                          return retyped(row.build(m.ctx, x), GGML_TYPE_F32);
                      }});
            const Fill fill = between(row.low, row.high);
            list.add(
                {.op = row.op, .params = type_text(type) + ",view", .build = [=](GraphMaker& m) {
                     return row.build(m.ctx, m.inset(type, {33, 5, 4, 3}, fill));
                 }});
            list.add(
                {.op = row.op, .params = type_text(type) + ",inplace", .build = [=](GraphMaker& m) {
                     return row.inplace(m.ctx, m.leaf(type, {65, 3, 2, 1}, fill));
                 }});
        }
    }
    for (const auto& [scale, bias] :
         {std::pair(2.0f, 0.0f), {2.0f, 1.0f}, {-0.5f, 0.25f}, {0.0f, 3.0f}}) {
        for (const Shape& shape : {Shape{10, 10, 10, 10}, Shape{100, 10, 10, 10}, Shape{1, 1, 1, 1},
                                   Shape{1025, 1, 1, 1}, Shape{8, 8, 8, 8}}) {
            for (const bool inplace : {false, true}) {
                list.add({.op = "SCALE",
                          .params = "ne=" + text(shape) + ",scale=" + std::to_string(scale) +
                                    ",bias=" + std::to_string(bias) + (inplace ? ",inplace" : ""),
                          .build = [=](GraphMaker& m) {
                              return (inplace ? ggml_scale_bias_inplace : ggml_scale_bias)(
                                  m.ctx, m.f32(shape), scale, bias);
                          }});
            }
        }
    }
    for (const ggml_type type : kFloatTypes) {
        for (const Shape& shape :
             {Shape{10, 5, 4, 3}, Shape{7, 1, 5, 3}, Shape{1024, 1024, 1, 1}}) {
            list.add({.op = "CLAMP",
                      .params = type_text(type) + ",ne=" + text(shape),
                      .build = [=](GraphMaker& m) {
                          return ggml_clamp(m.ctx, m.leaf(type, shape), -0.5f, 0.5f);
                      }});
        }
        list.add(
            {.op = "CLAMP", .params = type_text(type) + ",inplace", .build = [=](GraphMaker& m) {
                 return ggml_clamp_inplace(m.ctx, m.leaf(type, {65, 3, 2, 1}), -0.25f, 0.75f);
             }});
    }
}

}  // namespace

void arithmetic_cases(CaseList& list) {
    binary_cases(list);
    quantized_add_cases(list);
    special_add_cases(list);
    elementwise_cases(list);
}

}  // namespace tenon::conformance
