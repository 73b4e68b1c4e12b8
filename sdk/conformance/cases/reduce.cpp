// Cases: sums and the like.

#include <array>

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

// Not around 0: what is left of a sum that cancels is mostly error.
const Fill kBiased = between(-0.9f, 1.1f);

void sum_cases(CaseList& list, ggml_type type) {
    const auto add = [&](const std::string& how, std::function<ggml_tensor*(GraphMaker&)> source) {
        list.add({.op = "SUM",
                  .params = params("type", type) + "," + how,
                  .build = [=](GraphMaker& m) { return ggml_sum(m.ctx, source(m)); }});
    };
    for (const Shape& shape : {Shape{10, 5, 4, 3}, Shape{33}, Shape{33, 1024}, Shape{33, 256},
                               Shape{1}, Shape{1000003}, Shape{3, 100003}, Shape{0, 4}}) {
        add(params("ne", shape), [=](GraphMaker& m) { return m.leaf(type, shape, kBiased); });
    }
    for (const auto& axes : {std::array{0, 2, 1, 3}, {0, 3, 2, 1}, {0, 1, 3, 2}, {1, 0, 2, 3}}) {
        const int permutation[4] = {axes[0], axes[1], axes[2], axes[3]};
        add(params("ne", Shape{11, 5, 6, 3}, "permute", permutation), [=](GraphMaker& m) {
            return ggml_permute(m.ctx, m.leaf(type, {11, 5, 6, 3}, kBiased), axes[0], axes[1],
                                axes[2], axes[3]);
        });
    }
    add("ne=[33,256,1,1],permute=[1,0,2,3]", [=](GraphMaker& m) {
        return ggml_permute(m.ctx, m.leaf(type, {33, 256}, kBiased), 1, 0, 2, 3);
    });
    add("view", [=](GraphMaker& m) { return m.inset(type, {65, 7, 3, 2}, kBiased); });
}

using Builder = ggml_tensor* (*)(ggml_context*, ggml_tensor*);

void row_sum_cases(CaseList& list, const char* op, Builder build, ggml_type type) {
    const auto add = [&](const std::string& how, std::function<ggml_tensor*(GraphMaker&)> source) {
        list.add({.op = op,
                  .params = params("type", type) + "," + how,
                  .build = [=](GraphMaker& m) { return build(m.ctx, source(m)); }});
    };
    for (const Shape& shape :
         {Shape{10, 5, 4, 3}, Shape{33}, Shape{33, 1024}, Shape{33, 256}, Shape{32, 256}, Shape{32},
          Shape{32768}, Shape{32769}, Shape{300001, 3}, Shape{1, 9}, Shape{16, 0}}) {
        add(params("ne", shape), [=](GraphMaker& m) { return m.leaf(type, shape, kBiased); });
    }
    for (const int64_t n : {11, 16}) {
        for (const bool permute : {false, true}) {
            for (const bool slice : {false, true}) {
                const Shape shape{n, 5, 6, 3};
                add(params("ne", shape, "permute", permute, "slice", slice), [=](GraphMaker& m) {
                    ggml_tensor* x = m.leaf(type, shape, kBiased);
                    if (slice) {
                        x = ggml_view_4d(m.ctx, x, n, 5, 3, 2, x->nb[1], x->nb[2] * 2, x->nb[3],
                                         x->nb[3]);
                    }
                    return permute ? ggml_permute(m.ctx, x, 0, 2, 3, 1) : x;
                });
            }
        }
    }
    add("transposed", [=](GraphMaker& m) {
        return m.permuted(type, {33, 6, 3, 2}, {1, 0, 2, 3}, kBiased);
    });
    add("transposed, long", [=](GraphMaker& m) {
        return m.permuted(type, {140000, 2}, {1, 0, 2, 3}, kBiased);
    });
}

void cumsum_cases(CaseList& list) {
    for (const Shape& shape :
         {Shape{10, 5, 4, 3}, Shape{127, 5, 4, 3}, Shape{128, 5, 4, 3}, Shape{128, 128, 4, 4},
          Shape{255, 5, 4, 3}, Shape{256, 5, 4, 3}, Shape{511, 5, 4, 3}, Shape{512, 5, 4, 3},
          Shape{1023, 5, 4, 3}, Shape{1024, 5, 4, 3}, Shape{2047, 5, 4, 3}, Shape{2048, 5, 4, 3},
          Shape{242004}, Shape{375960}, Shape{20481, 4}, Shape{131073, 2, 1, 2}, Shape{1, 3},
          Shape{0, 3}}) {
        list.add({.op = "CUMSUM", .params = params("ne", shape), .build = [=](GraphMaker& m) {
                      return ggml_cumsum(m.ctx, m.f32(shape));
                  }});
    }
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
        for (const Shape& shape : {Shape{133, 3}, Shape{140000}}) {
            list.add({.op = "CUMSUM",
                      .params = params("type", type, "ne", shape),
                      .optional = true,
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* node = retyped(ggml_cumsum(m.ctx, m.f32(shape)), type);
                          node->src[0] = m.leaf(type, shape);
                          return node;
                      }});
        }
    }
    list.add({.op = "CUMSUM", .params = "view", .build = [](GraphMaker& m) {
                  return ggml_cumsum(m.ctx, m.inset(GGML_TYPE_F32, {37, 3, 2, 2}));
              }});
}

void index_cases(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const Shape& shape :
             {Shape{32}, Shape{32, 513}, Shape{100, 10}, Shape{1024, 10}, Shape{1024, 12},
              Shape{2000, 10}, Shape{5438, 3}, Shape{1, 5}, Shape{17, 3}, Shape{0, 3}}) {
            // Halves hold 0 … 256 apart.
            if (type != GGML_TYPE_F32 && shape[0] > 256) continue;
            list.add({.op = "ARGMAX",
                      .params = params("type", type, "ne", shape),
                      .build = [=](GraphMaker& m) {
                          return ggml_argmax(m.ctx, m.leaf(type, shape, permutation()));
                      }});
        }
        list.add(
            {.op = "ARGMAX", .params = params("type", type) + ",view", .build = [=](GraphMaker& m) {
                 return ggml_argmax(m.ctx, m.inset(type, {33, 5}, permutation()));
             }});
    }
}

void count_equal_cases(CaseList& list) {
    for (const int64_t n : {500, 5000}) {
        list.add(
            {.op = "COUNT_EQUAL", .params = params("ne", Shape{4, n}), .build = [=](GraphMaker& m) {
                 ggml_tensor* a = ggml_argmax(m.ctx, m.f32({4, n}, permutation()));
                 ggml_tensor* b = ggml_argmax(m.ctx, m.f32({4, n}, permutation()));
                 return ggml_count_equal(m.ctx, a, b);
             }});
    }
    const Fill few = integers(0, 3);
    for (const Shape& shape : {Shape{1}, Shape{17, 5, 3, 2}, Shape{100003}, Shape{0, 2}}) {
        list.add({.op = "COUNT_EQUAL", .params = params("ne", shape), .build = [=](GraphMaker& m) {
                      ggml_tensor* a = m.leaf(GGML_TYPE_I32, shape, few);
                      return ggml_count_equal(m.ctx, a, m.leaf(GGML_TYPE_I32, shape, few));
                  }});
    }
    list.add({.op = "COUNT_EQUAL", .params = "strided", .build = [=](GraphMaker& m) {
                  ggml_tensor* a = m.permuted(GGML_TYPE_I32, {7, 5, 4, 3}, {2, 0, 3, 1}, few);
                  return ggml_count_equal(m.ctx, a, m.inset(GGML_TYPE_I32, {7, 5, 4, 3}, few));
              }});
}

}  // namespace

void reduce_cases(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        sum_cases(list, type);
        row_sum_cases(list, "SUM_ROWS", ggml_sum_rows, type);
        row_sum_cases(list, "MEAN", ggml_mean, type);
    }
    cumsum_cases(list);
    index_cases(list);
    count_equal_cases(list);
}

}  // namespace tenon::conformance
