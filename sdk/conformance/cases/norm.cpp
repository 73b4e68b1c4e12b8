// Cases: normalisation.

#include <cmath>

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

constexpr float kEps[] = {0.0f, 1e-6f, 1e-4f, 1e-1f, 10.0f};

using Builder = ggml_tensor* (*)(ggml_context*, ggml_tensor*, float);
struct RowNorm {
    const char* op;
    Builder build, inplace;
    bool any_strides;
    float span;
};
constexpr RowNorm kRowNorms[] = {
    {"NORM", ggml_norm, ggml_norm_inplace, true, 1},
    {"RMS_NORM", ggml_rms_norm, ggml_rms_norm_inplace, false, 10},
    {"L2_NORM", ggml_l2_norm, ggml_l2_norm_inplace, true, 1},
};

void row_norm_cases(CaseList& list, const RowNorm& norm, ggml_type type, float eps) {
    const Fill fill = between(-norm.span, norm.span);
    const auto add = [&](const std::string& how, Builder build,
                         std::function<ggml_tensor*(GraphMaker&)> source) {
        list.add({.op = norm.op,
                  .params = params("type", type, "eps", eps) + "," + how,
                  .build = [=](GraphMaker& m) { return build(m.ctx, source(m), eps); }});
    };
    for (const int64_t n : {64, 1025, 33, 132, 260}) {
        const Shape shape{n, 5, 4, 3};
        add(params("ne", shape), norm.build,
            [=](GraphMaker& m) { return m.leaf(type, shape, fill); });
        add(params("ne", shape, "v", 1), norm.build, [=](GraphMaker& m) {
            return corner(m, type, {n / 2, 2, 2, 1}, {2, 2, 2, 3}, fill);
        });
        add(params("ne", shape, "inplace", 1), norm.inplace,
            [=](GraphMaker& m) { return m.leaf(type, shape, fill); });
        if (norm.any_strides) {
            add(params("ne", shape, "noncontig_rows", 1), norm.build, [=](GraphMaker& m) {
                return m.permuted(type, shape, {1, 0, 2, 3}, fill);
            });
            add(params("ne", shape, "noncontig_rows", 1, "inplace", 1), norm.inplace,
                [=](GraphMaker& m) {
                    return m.permuted(type, shape, {1, 0, 2, 3}, fill);
                });
        }
    }
    add("view", norm.build, [=](GraphMaker& m) { return m.inset(type, {37, 3, 2, 2}, fill); });
    add("empty", norm.build, [=](GraphMaker& m) { return m.leaf(type, {37, 0, 2}, fill); });
    if (eps > 0) {
        add("one", norm.build, [=](GraphMaker& m) { return m.leaf(type, {1, 3}, fill); });
        add("zeros", norm.build, [=](GraphMaker& m) { return m.leaf(type, {65, 3}, constant(0)); });
    }
}

// With x so, g - x*(x*g)/(x*x) is exactly zero.
Fill powers_of_two() {
    return [](const ggml_tensor& leaf, Random& random) {
        const Fill power = constant(std::ldexp(1.0, static_cast<int>(random() % 5) - 2));
        power(leaf, random);
    };
}

// In a row of one all of g but its part eps/(x^2 + eps) cancels: with x^2 far above eps nothing
// would be left but the rounding of g.
Fill rms_norm_back_input(int64_t n, float eps) {
    if (n > 1) return between(-10, 10);
    if (eps == 0) return powers_of_two();
    return between(-2 * std::sqrt(eps), 2 * std::sqrt(eps));
}

void rms_norm_back_cases(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const float eps : kEps) {
            for (const Shape& shape : {Shape{64, 5, 4, 3}, Shape{1025, 5, 4, 3}, Shape{33, 2},
                                       Shape{1, 7}, Shape{16, 0}}) {
                list.add({.op = "RMS_NORM_BACK",
                          .params = params("type", type, "ne", shape, "eps", eps),
                          .build = [=](GraphMaker& m) {
                              ggml_tensor* g = m.leaf(type, shape, between(-10, 10));
                              ggml_tensor* x =
                                  m.leaf(type, shape, rms_norm_back_input(shape[0], eps));
                              return ggml_rms_norm_back(m.ctx, g, x, eps);
                          }});
            }
            list.add({.op = "RMS_NORM_BACK",
                      .params = params("type", type, "eps", eps) + ",view",
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* g = m.inset(type, {37, 3, 2, 2}, between(-10, 10));
                          return ggml_rms_norm_back(
                              m.ctx, g, m.inset(type, {37, 3, 2, 2}, between(-10, 10)), eps);
                      }});
        }
    }
}

void group_norm_cases(CaseList& list) {
    struct Group {
        Shape ne;
        int n_groups;
    };
    for (const ggml_type type : kFloatTypes) {
        for (const Group& g :
             {Group{{64, 64, 320}, 32}, Group{{9, 9, 1280}, 32}, Group{{7, 5, 10, 2}, 3},
              Group{{7, 5, 10, 2}, 7}, Group{{33, 1, 4, 3}, 1}, Group{{5, 3, 4}, 4},
              Group{{17, 3, 2}, 9}, Group{{8, 0, 4}, 2}}) {
            for (const bool inplace : {false, true}) {
                list.add({.op = "GROUP_NORM",
                          .params = params("type", type, "ne", g.ne, "num_groups", g.n_groups,
                                           "inplace", inplace),
                          .build = [=](GraphMaker& m) {
                              return (inplace ? ggml_group_norm_inplace : ggml_group_norm)(
                                  m.ctx, m.leaf(type, g.ne), g.n_groups, 1e-6f);
                          }});
            }
        }
        list.add({.op = "GROUP_NORM",
                  .params = params("type", type) + ",view",
                  .build = [=](GraphMaker& m) {
                      return ggml_group_norm(m.ctx, m.inset(type, {33, 3, 6, 2}), 4, 1e-3f);
                  }});
    }
}

}  // namespace

void norm_cases(CaseList& list) {
    for (const RowNorm& norm : kRowNorms) {
        for (const ggml_type type : kFloatTypes) {
            for (const float eps : kEps) row_norm_cases(list, norm, type, eps);
        }
    }
    rms_norm_back_cases(list);
    group_norm_cases(list);
}

}  // namespace tenon::conformance
