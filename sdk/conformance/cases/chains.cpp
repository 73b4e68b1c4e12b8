// Cases: chains of element-wise ops and norms, and looking at every step of a chain.

#include "sdk/conformance/cases/chains.h"
#include "ggml-cpp.h"

namespace tenon::conformance {
namespace {

// ---- looking at a step --------------------------------------------------------------------------

enum class Watch { kOutput, kReadLater, kReadBefore, kViewOutput, kViewReadLater };
constexpr std::pair<Watch, const char*> kWatches[] = {
    {Watch::kOutput, "output"},
    {Watch::kReadLater, "read later"},
    {Watch::kReadBefore, "read before the next"},
    {Watch::kViewOutput, "view is an output"},
    {Watch::kViewReadLater, "view read later"},
};

// All but the first element (block) of the first dimension that has more than one.
ggml_tensor* tail_of(ggml_context* ctx, ggml_tensor* t) {
    int64_t ne[GGML_MAX_DIMS];
    std::copy(t->ne, t->ne + GGML_MAX_DIMS, ne);
    size_t offset = 0;
    for (int d = GGML_MAX_DIMS - 1; d >= 0 && offset == 0; --d) {
        if (ne[d] < 2) continue;
        --ne[d];
        offset = t->nb[d];
    }
    return ggml_view_4d(ctx, t, ne[0], ne[1], ne[2], ne[3], t->nb[1], t->nb[2], t->nb[3], offset);
}

// The result to return when `step` of a chain that ends in `last` is watched.
ggml_tensor* watch(GraphMaker& m, Watch how, ggml_tensor* step, ggml_tensor* last) {
    switch (how) {
        case Watch::kOutput:
            m.output(step);
            return last;
        case Watch::kReadLater:
            m.output(last);
            return ggml_cont(m.ctx, step);
        case Watch::kReadBefore:
            m.output(ggml_cont(m.ctx, step));
            return last;
        case Watch::kViewOutput:
            m.output(tail_of(m.ctx, step));
            return last;
        case Watch::kViewReadLater:
            m.output(last);
            return ggml_cont(m.ctx, tail_of(m.ctx, step));
    }
    return nullptr;
}

// ---- ADD, SUB, MUL, DIV -------------------------------------------------------------------------

using Binary = ggml_tensor* (*)(ggml_context*, ggml_tensor*, ggml_tensor*);
struct BinaryOp {
    const char* name;
    Binary build, inplace;
};
constexpr BinaryOp kBinaryOps[] = {
    {"ADD", ggml_add, ggml_add_inplace},
    {"SUB", ggml_sub, ggml_sub_inplace},
    {"MUL", ggml_mul, ggml_mul_inplace},
    {"DIV", ggml_div, ggml_div_inplace},
};

// n operands of several shapes, one after the other; the first operand or the running result first.
Steps running(GraphMaker& m, ggml_type type, Binary build, int n, const Shape& shape, bool spread) {
    const Fill fill = between(0.9f, 1.1f);
    Steps steps;
    ggml_tensor* x = m.leaf(type, shape, fill);
    for (int i = 0; i < n; ++i) {
        const Shape small{i % 3 == 2 ? 1 : shape[0], i % 2 ? shape[1] : 1, shape[2],
                          i % 4 == 3 ? 1 : shape[3]};
        x = build(m.ctx, x, m.leaf(type, spread ? small : shape, fill));
        steps.push_back(x);
    }
    return steps;
}

void binary_chains(CaseList& list) {
    for (const BinaryOp& op : kBinaryOps) {
        const bool is_add = op.build == ggml_add;
        for (const ggml_type type : kFloatTypes) {
            for (const int n : {2, 3, 4, 5, 6, 7, 8, 16}) {
                for (const bool inplace : {false, true}) {
                    for (const bool spread : {false, true}) {
                        if (!is_add && !inplace && n > 3) continue;
                        const Shape shape = n == 2 ? Shape{33, 5, 4, 3} : Shape{16, 5, 4, 3};
                        add_chain(list, {std::string("CHAIN:") + op.name,
                                         params("type", type, "ne", shape, "n", n, "inplace",
                                                inplace, "broadcast", spread),
                                         chain_limit(type), [=](GraphMaker& m) {
                                             return running(m, type,
                                                            inplace ? op.inplace : op.build, n,
                                                            shape, spread);
                                         }});
                    }
                }
            }
        }
    }
    for (const int n : {2, 8}) {
        add_watched_chain(list, {"CHAIN:ADD", params("n", n) + ",sum", 1e-7, [=](GraphMaker& m) {
                                     return running(m, GGML_TYPE_F32, ggml_add, n, {67, 5}, false);
                                 }});
    }
    // every operand is the result of the step before
    for (const int n : {2, 5}) {
        add_watched_chain(list,
                          {"CHAIN:ADD", params("n", n) + ",doubled", 1e-7, [=](GraphMaker& m) {
                               Steps steps{ggml_neg(m.ctx, m.f32({67, 5}))};
                               for (int i = 0; i < n; ++i)
                                   steps.push_back(ggml_add(m.ctx, steps.back(), steps.back()));
                               return steps;
                           }});
    }
}

// ---- a function times another operand -----------------------------------------------------------

enum class Operands { kPacked, kPaddedUnary, kPaddedOther, kHalves, kStrided, kBroadcast };
constexpr const char* kOperandNames[] = {"packed", "pad_unary",    "pad_other",
                                         "halves", "strided_dim1", "bcast"};

struct Pair {
    ggml_tensor *x, *other;
};
Pair operands(GraphMaker& m, ggml_type type, const Shape& shape, Operands layout) {
    const auto half = [&](ggml_tensor* t, int64_t at) {
        return ggml_view_4d(m.ctx, t, shape[0], shape[1], shape[2], shape[3], t->nb[1], t->nb[2],
                            t->nb[3], static_cast<size_t>(at) * t->nb[0]);
    };
    switch (layout) {
        case Operands::kPaddedUnary: {
            ggml_tensor* x = corner(m, type, shape, {2, 1, 1, 1});
            return {x, m.leaf(type, shape)};
        }
        case Operands::kPaddedOther: {
            ggml_tensor* x = m.leaf(type, shape);
            return {x, corner(m, type, shape, {2, 1, 1, 1})};
        }
        case Operands::kHalves: {
            ggml_tensor* t = m.leaf(type, {shape[0] * 2, shape[1], shape[2], shape[3]});
            return {half(t, 0), half(t, shape[0])};
        }
        case Operands::kStrided: {
            ggml_tensor* x = corner(m, type, shape, {1, 2, 1, 1});
            return {x, corner(m, type, shape, {1, 3, 1, 1})};
        }
        case Operands::kBroadcast: {
            ggml_tensor* x = m.leaf(type, shape);
            return {x, m.leaf(type, {shape[0]})};
        }
        default: {
            ggml_tensor* x = m.leaf(type, shape);
            return {x, m.leaf(type, shape)};
        }
    }
}

// f(x) * y [+ z], with f(x) as either factor.
Steps gate(GraphMaker& m, ggml_type type, ggml_unary_op op, const Shape& shape, Operands layout,
           bool swap, bool then_add) {
    const Pair in = operands(m, type, shape, layout);
    ggml_tensor* f = ggml_unary(m.ctx, in.x, op);
    Steps steps{f, swap ? ggml_mul(m.ctx, in.other, f) : ggml_mul(m.ctx, f, in.other)};
    if (then_add) steps.push_back(ggml_add(m.ctx, steps.back(), m.leaf(type, shape)));
    return steps;
}

void gate_chains(CaseList& list, ggml_unary_op op, ggml_type type) {
    const std::string name = std::string("CHAIN:") + ggml_unary_op_name(op) + "_MUL";
    const auto chain = [&](const Shape& shape, Operands layout, bool swap, bool then_add) {
        return Chain{name,
                     params("type", type, "ne", shape, "swap", swap, "layout",
                            kOperandNames[static_cast<int>(layout)], "then_add", then_add),
                     chain_limit(type), [=](GraphMaker& m) {
                         return gate(m, type, op, shape, layout, swap, then_add);
                     }};
    };
    for (const Shape& shape : {Shape{128, 2, 2, 2}, Shape{5, 7, 11, 13}, Shape{1025, 3}}) {
        for (int layout = 0; layout < static_cast<int>(std::size(kOperandNames)); ++layout) {
            for (const bool swap : {false, true}) {
                const auto how = static_cast<Operands>(layout);
                if (swap && how == Operands::kBroadcast) continue;
                add_chain(list, chain(shape, how, swap, false));
                add_chain(list, chain(shape, how, swap, true));
            }
        }
    }
    for (const bool swap : {false, true}) {
        for (const bool then_add : {false, true})
            add_watched_chain(list, chain({65, 3, 2}, Operands::kPacked, swap, then_add));
    }
    // the product with the function's own argument, and of the function with itself
    add_watched_chain(
        list, {name, params("type", type) + ",f(x)*x", chain_limit(type), [=](GraphMaker& m) {
                   ggml_tensor* x = m.leaf(type, {65, 3, 2});
                   ggml_tensor* f = ggml_unary(m.ctx, x, op);
                   return Steps{f, ggml_mul(m.ctx, f, x)};
               }});
    add_chain(list,
              {name, params("type", type) + ",f(x)*f(x)", chain_limit(type), [=](GraphMaker& m) {
                   ggml_tensor* f = ggml_unary(m.ctx, m.leaf(type, {65, 3, 2}), op);
                   return Steps{f, ggml_mul(m.ctx, f, f)};
               }});
}

// ---- RELU SQR, SNAKE, soft cap ------------------------------------------------------------------

Chain relu_sqr(ggml_type type, const Shape& shape) {
    return {"CHAIN:RELU_SQR", params("type", type, "ne", shape), 1e-7, [=](GraphMaker& m) {
                ggml_tensor* relu = ggml_relu(m.ctx, m.leaf(type, shape));
                return Steps{relu, ggml_sqr(m.ctx, relu)};
            }};
}

// x + c*sin(a*x)^2, with the operands of the outer sum and product either way
Chain snake(ggml_type type, const Shape& shape, bool swap = false) {
    return {"CHAIN:SNAKE", params("type", type, "ne", shape, "swap", swap), chain_limit(type),
            [=](GraphMaker& m) {
                ggml_tensor* x = m.leaf(type, shape, between(-3.14159265f, 3.14159265f));
                ggml_tensor* a = m.f32({1, shape[1]});
                ggml_tensor* c = m.f32({1, shape[1]});
                Steps s{ggml_mul(m.ctx, x, a)};
                s.push_back(ggml_sin(m.ctx, s.back()));
                s.push_back(ggml_sqr(m.ctx, s.back()));
                s.push_back(ggml_mul(m.ctx, s.back(), c));
                s.push_back(swap ? ggml_add(m.ctx, s.back(), x) : ggml_add(m.ctx, x, s.back()));
                return s;
            }};
}

Chain softcap(const Shape& shape, float cap, bool inplace) {
    return {"CHAIN:SOFTCAP", params("ne", shape, "softcap", cap, "inplace", inplace), 1e-7,
            [=](GraphMaker& m) {
                const auto scale = inplace ? ggml_scale_inplace : ggml_scale;
                Steps s{scale(m.ctx, m.f32(shape, between(-90, 90)), 1 / cap)};
                s.push_back((inplace ? ggml_tanh_inplace : ggml_tanh)(m.ctx, s.back()));
                s.push_back(scale(m.ctx, s.back(), cap));
                return s;
            }};
}

void element_chains(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const ggml_unary_op op : {GGML_UNARY_OP_SILU, GGML_UNARY_OP_SIGMOID,
                                       GGML_UNARY_OP_SOFTPLUS, GGML_UNARY_OP_GELU}) {
            gate_chains(list, op, type);
        }
        for (const Shape& shape : {Shape{128, 2, 2, 2}, Shape{5, 7, 11, 13}})
            add_chain(list, relu_sqr(type, shape));
        add_watched_chain(list, relu_sqr(type, {67, 5}));
        for (const Shape& shape :
             {Shape{5, 7}, Shape{33, 32}, Shape{1025, 13}, Shape{128, 16}, Shape{256, 192},
              Shape{64, 32, 2}, Shape{64, 32, 1, 2}, Shape{64, 32, 2, 3}}) {
            add_chain(list, snake(type, shape));
        }
        for (const bool swap : {false, true}) add_watched_chain(list, snake(type, {33, 8}, swap));
    }
    for (const bool inplace : {false, true}) {
        for (const Shape& shape : {Shape{10, 10, 10, 10}, Shape{33, 3}})
            add_chain(list, softcap(shape, 50, inplace));
        add_watched_chain(list, softcap({67, 5}, 30, inplace));
    }
}

// ---- norms --------------------------------------------------------------------------------------

ggml_tensor* sum_of_leaves(GraphMaker& m, const Shape& shape, int n, Steps& steps) {
    ggml_tensor* x = m.f32(shape, between(-10, 10));
    for (int i = 1; i < n; ++i) {
        x = ggml_add(m.ctx, x, m.f32(shape, between(-10, 10)));
        steps.push_back(x);
    }
    return x;
}

using Norm = ggml_tensor* (*)(ggml_context*, ggml_tensor*, float);
struct Normalised {
    const char* op;
    Norm norm;
    int n_added;       // leaves that are summed before
    Shape ne, weight;  // of x, of the weight and the bias
    bool swap = false, mul = true, add = true;
    bool inset = false;  // x lies inside a larger tensor
};

Chain normalised(const Normalised& c) {
    return {
        c.op,
        params("ne", c.ne, "w", c.weight, "n_added", c.n_added, "swap", c.swap, "inset", c.inset),
        1e-7, [=](GraphMaker& m) {
            Steps s;
            ggml_tensor* x = c.inset ? m.inset(GGML_TYPE_F32, c.ne, between(-10, 10))
                                     : sum_of_leaves(m, c.ne, c.n_added, s);
            s.push_back(c.norm(m.ctx, x, 1e-6f));
            const auto then = [&](Binary op) {
                ggml_tensor* w = m.f32(c.weight);
                s.push_back(c.swap ? op(m.ctx, w, s.back()) : op(m.ctx, s.back(), w));
            };
            if (c.mul) then(ggml_mul);
            if (c.add) then(ggml_add);
            return s;
        }};
}

void norm_chains(CaseList& list) {
    for (const int64_t n : {1, 64, 511, 1025, 8192, 16896}) {
        for (const Shape& by : {Shape{1}, Shape{1, 2, 2, 2}, Shape{2, 3, 3, 4}}) {
            const Shape x{n * by[0], by[1], by[2], by[3]};
            for (const Shape& w : {Shape{n}, x}) {
                for (const int n_added : {1, 2, 3, 5})
                    add_chain(list,
                              normalised({"CHAIN:RMS_NORM_MUL_ADD", ggml_rms_norm, n_added, x, w}));
                add_chain(list, normalised({"CHAIN:NORM_MUL_ADD", ggml_norm, 3, x, w}));
                add_chain(list, normalised({"CHAIN:L2_NORM_MUL_ADD", ggml_l2_norm, 1, x, w}));
            }
            Normalised alone{"CHAIN:ADD_RMS_NORM", ggml_rms_norm, 2, x, {n}};
            alone.mul = alone.add = false;
            add_chain(list, normalised(alone));
        }
    }
    for (const auto& [op, norm] :
         {std::pair<const char*, Norm>("CHAIN:RMS_NORM_MUL_ADD", ggml_rms_norm),
          {"CHAIN:NORM_MUL_ADD", ggml_norm},
          {"CHAIN:L2_NORM_MUL_ADD", ggml_l2_norm}}) {
        const Shape x{67, 5, 3};
        for (const Shape& w : {Shape{67}, Shape{1, 5}, Shape{67, 1, 3}, x}) {
            add_watched_chain(list, normalised({op, norm, 2, x, w}));
            add_chain(list, normalised({op, norm, 1, x, w, false, true, true, /*inset=*/true}));
        }
        add_watched_chain(list, normalised({op, norm, 1, x, x, /*swap=*/true}));
    }
}

Chain group_normalised(const Shape& shape, int n_groups) {
    return {"CHAIN:GROUP_NORM_MUL_ADD", params("ne", shape, "num_groups", n_groups), 1e-7,
            [=](GraphMaker& m) {
                Steps s{ggml_group_norm(m.ctx, m.f32(shape), n_groups, 1e-5f)};
                s.push_back(ggml_mul(m.ctx, s.back(), m.f32({1, 1, shape[2]})));
                s.push_back(ggml_add(m.ctx, s.back(), m.f32({1, 1, shape[2]})));
                return s;
            }};
}

}  // namespace

void add_watched_chain(CaseList& list, const Chain& c) {
    add_chain(list, c);
    Steps steps;
    {  // how many steps there are
        ggml_context_ptr ctx(ggml_init({1 << 20, nullptr, /*no_alloc=*/true}));
        GraphMaker maker(ctx.get());
        steps = c.steps(maker);
    }
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
        for (const auto& [how, name] : kWatches) {
            list.add({.op = c.op,
                      .params = c.params + ",step " + std::to_string(i) + " " + name,
                      .max_nmse = c.max_nmse,
                      .build = [=, how = how, steps_of = c.steps](GraphMaker& m) {
                          const Steps s = steps_of(m);
                          return watch(m, how, s[i], s.back());
                      }});
        }
    }
}

void chain_cases(CaseList& list) {
    binary_chains(list);
    element_chains(list);
    norm_chains(list);
    for (const Shape& shape : {Shape{64, 64, 320}, Shape{9, 9, 1280}})
        add_chain(list, group_normalised(shape, 32));
    add_chain(list, group_normalised({9, 9, 1280}, 4));
    add_watched_chain(list, group_normalised({9, 9, 24}, 4));
    add_watched_chain(list, group_normalised({32, 4, 64, 2}, 4));
    model_chain_cases(list);
    product_chain_cases(list);
    memory_chain_cases(list);
}

}  // namespace tenon::conformance
