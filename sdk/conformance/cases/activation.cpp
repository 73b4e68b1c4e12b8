// Cases: functions of one element, gated units.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

constexpr int kWider[] = {3, 2, 5, 4};

// ---- UNARY ------------------------------------------------------------------------------------

bool rounds(ggml_unary_op op) {
    return op == GGML_UNARY_OP_FLOOR || op == GGML_UNARY_OP_CEIL || op == GGML_UNARY_OP_ROUND ||
           op == GGML_UNARY_OP_TRUNC;
}

// Wide enough for both ends of every function; the squares and powers of halves stay finite.
float span_of(ggml_unary_op op, ggml_type type) {
    const bool grows =
        op == GGML_UNARY_OP_EXP || op == GGML_UNARY_OP_EXPM1 || op == GGML_UNARY_OP_XIELU;
    return grows && type != GGML_TYPE_F32 ? 10.0f : 150.0f;
}

ggml_tensor* build_unary(GraphMaker& m, ggml_unary_op op, ggml_tensor* x, bool inplace) {
    if (op == GGML_UNARY_OP_XIELU) return ggml_xielu(m.ctx, x, 4.0f, 20.0f, 0.5f, 1e-7f);
    return (inplace ? ggml_unary_inplace : ggml_unary)(m.ctx, x, op);
}

void unary_cases_of(CaseList& list, ggml_unary_op op, ggml_type type) {
    const std::string name = std::string("UNARY:") + ggml_unary_op_name(op);
    const float wide = span_of(op, type);
    for (const float span : {wide, rounds(op) ? 10.0f : 1.0f}) {
        const Fill fill = between(-span, span);
        const auto add = [&](const std::string& how, bool inplace,
                             std::function<ggml_tensor*(GraphMaker&)> source) {
            list.add(
                {.op = name,
                 .params = params("type", type, "span", span) + "," + how,
                 .build = [=](GraphMaker& m) { return build_unary(m, op, source(m), inplace); }});
        };
        for (const Shape& shape :
             {Shape{128, 2, 2, 2}, Shape{5, 7, 11, 13}, Shape{10, 5, 4, 3}, Shape{512, 16},
              Shape{7, 1, 5, 3}, Shape{1}, Shape{1023, 3}, Shape{0, 3}, Shape{16411}}) {
            add(params("ne", shape, "v", 0), false,
                [=](GraphMaker& m) { return m.leaf(type, shape, fill); });
        }
        for (const Shape& shape : {Shape{128, 2, 2, 2}, Shape{5, 7, 11, 13}}) {
            if (op == GGML_UNARY_OP_XIELU) continue;  // takes padded rows, but no padded planes
            add(params("ne", shape, "v", 1), false,
                [=](GraphMaker& m) { return corner(m, type, shape, kWider, fill); });
        }
        if (op == GGML_UNARY_OP_XIELU) continue;
        add("view", false, [=](GraphMaker& m) { return m.inset(type, {33, 5, 4, 3}, fill); });
        add("permuted", false, [=](GraphMaker& m) {
            return m.permuted(type, {33, 5, 4, 3}, {0, 2, 3, 1}, fill);
        });
        add("inplace", true, [=](GraphMaker& m) { return m.leaf(type, {65, 3, 2}, fill); });
    }
    list.add({.op = name,
              .params = params("type", type, "dst", GGML_TYPE_F32),
              .optional = true,
              .build = [=](GraphMaker& m) {
                  ggml_tensor* x = m.leaf(type, {133, 3, 2}, between(-wide, wide));
                  return retyped(build_unary(m, op, x, false), GGML_TYPE_F32);
              }});
    if (rounds(op)) {
        for (const Shape& shape : {Shape{10, 2, 2, 2}, Shape{7, 1, 5, 3}, Shape{1024, 1024}}) {
            list.add({.op = name,
                      .params = params("type", type, "ne", shape) + ",span=10",
                      .build = [=](GraphMaker& m) {
                          return build_unary(m, op, m.leaf(type, shape, between(-10, 10)), false);
                      }});
        }
    }
}

// ---- GLU --------------------------------------------------------------------------------------

void glu_cases_of(CaseList& list, ggml_glu_op op, ggml_type type) {
    const std::string name = std::string("GLU:") + ggml_glu_op_name(op);
    const Fill fill = between(-150, 150);
    const auto operand = [=](GraphMaker& m, const Shape& shape, bool v) {
        return v ? corner(m, type, shape, {3, 1, 1, 1}, fill) : m.leaf(type, shape, fill);
    };
    for (const Shape& shape : {Shape{128, 2, 2, 2}, Shape{5, 7, 11, 13}, Shape{2, 3}, Shape{130, 3},
                               Shape{4098, 1}, Shape{4, 0}}) {
        for (const bool v : {false, true}) {
            const std::string common = params("type", type, "ne", shape, "v", v);
            for (const bool swapped : {false, true}) {
                list.add({.op = name,
                          .params = common + "," + params("swapped", swapped),
                          .build = [=](GraphMaker& m) {
                              return ggml_glu(m.ctx, operand(m, shape, v), op, swapped);
                          }});
            }
            list.add({.op = name, .params = common + ",split", .build = [=](GraphMaker& m) {
                          ggml_tensor* x = operand(m, shape, v);
                          return ggml_glu_split(m.ctx, x, operand(m, shape, v), op);
                      }});
        }
    }
}

void limited_glu_cases(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const Shape& shape : {Shape{128, 2, 2, 2}, Shape{37, 5, 3}}) {
            for (const bool v : {false, true}) {
                const Fill fill = between(-150, 150);
                const auto operand = [=](GraphMaker& m) {
                    return v ? corner(m, type, shape, {3, 1, 1, 1}, fill)
                             : m.leaf(type, shape, fill);
                };
                const auto add = [&](const char* op, float alpha, float limit, auto build) {
                    list.add({.op = op,
                              .params = params("type", type, "ne", shape, "v", v, "alpha", alpha,
                                               "limit", limit),
                              .build = [=](GraphMaker& m) {
                                  ggml_tensor* x = operand(m);
                                  return build(m.ctx, x, operand(m));
                              }});
                };
                for (const float alpha : {0.5f, 1.702f}) {
                    for (const float limit : {2.0f, 7.0f}) {
                        add("GLU:SWIGLU_OAI", alpha, limit,
                            [=](ggml_context* ctx, ggml_tensor* x, ggml_tensor* g) {
                                return ggml_swiglu_oai(ctx, x, g, alpha, limit);
                            });
                    }
                }
                for (const float limit : {2.0f, 10.0f}) {
                    add("GLU:SWIGLU_CLAMP", 0.0f, limit,
                        [=](ggml_context* ctx, ggml_tensor* x, ggml_tensor* g) {
                            return ggml_swiglu_clamp(ctx, x, g, limit);
                        });
                }
            }
        }
    }
}

// ---- LEAKY_RELU, SILU_BACK --------------------------------------------------------------------

void other_cases(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const bool inplace : {false, true}) {
            for (const Shape& shape : {Shape{10, 5, 4, 3}, Shape{7, 1, 5, 3}, Shape{1024, 1024},
                                       Shape{1}, Shape{0, 2}}) {
                list.add({.op = "LEAKY_RELU",
                          .params = params("type", type, "ne", shape, "inplace", inplace),
                          .build = [=](GraphMaker& m) {
                              return ggml_leaky_relu(m.ctx, m.leaf(type, shape), 0.1f, inplace);
                          }});
            }
        }
        list.add({.op = "LEAKY_RELU",
                  .params = params("type", type) + ",view",
                  .build = [=](GraphMaker& m) {
                      return ggml_leaky_relu(m.ctx, m.inset(type, {33, 5, 4, 3}), -0.5f, false);
                  }});
        for (const float span : {1.0f, 30.0f}) {
            for (const Shape& shape : {Shape{64, 5, 4, 3}, Shape{1}, Shape{1023, 7}, Shape{0, 2}}) {
                list.add({.op = "SILU_BACK",
                          .params = params("type", type, "ne", shape, "span", span),
                          .build = [=](GraphMaker& m) {
                              ggml_tensor* g = m.leaf(type, shape);
                              return ggml_silu_back(m.ctx, g,
                                                    m.leaf(type, shape, between(-span, span)));
                          }});
            }
        }
    }
}

}  // namespace

void activation_cases(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (int op = 0; op < GGML_UNARY_OP_COUNT; ++op)
            unary_cases_of(list, static_cast<ggml_unary_op>(op), type);
        for (int op = 0; op < GGML_GLU_OP_COUNT; ++op) {
            const auto glu = static_cast<ggml_glu_op>(op);
            if (glu != GGML_GLU_OP_SWIGLU_OAI && glu != GGML_GLU_OP_SWIGLU_CLAMP)
                glu_cases_of(list, glu, type);
        }
    }
    limited_glu_cases(list);
    other_cases(list);
}

}  // namespace tenon::conformance
