// Cases: DUP, CPY, CONT: the same values laid out or encoded otherwise.

#include <array>

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

constexpr int kPlain[] = {0, 1, 2, 3};

bool is_plain(const int (&axes)[4]) { return std::equal(axes, axes + 4, kPlain); }

ggml_tensor* seen_through(GraphMaker& m, ggml_tensor* t, const int (&axes)[4]) {
    return is_plain(axes) ? t : ggml_permute(m.ctx, t, axes[0], axes[1], axes[2], axes[3]);
}

// ---- DUP --------------------------------------------------------------------------------------

void dup_cases(CaseList& list) {
    struct Dup {
        ggml_type type;
        Shape ne;
        int permute[4];
    };
    const Dup cases[] = {
        {GGML_TYPE_F32, {10, 10, 20}, {0, 1, 2, 3}}, {GGML_TYPE_F16, {10, 10, 20}, {0, 1, 2, 3}},
        {GGML_TYPE_I32, {10, 10, 20}, {0, 1, 2, 3}}, {GGML_TYPE_I16, {10, 10, 20}, {0, 1, 2, 3}},
        {GGML_TYPE_I8, {11, 3, 2}, {1, 0, 2, 3}},    {GGML_TYPE_I64, {11, 3, 2}, {1, 0, 2, 3}},
        {GGML_TYPE_F64, {11, 3, 2}, {2, 0, 1, 3}},   {GGML_TYPE_BF16, {10, 10, 5}, {1, 0, 2, 3}},
        {GGML_TYPE_F32, {10, 10, 5}, {0, 2, 1, 3}},  {GGML_TYPE_F16, {10, 10, 5}, {0, 2, 1, 3}},
        {GGML_TYPE_F32, {10, 10, 5}, {1, 0, 2, 3}},  {GGML_TYPE_F16, {10, 10, 5}, {1, 0, 2, 3}},
        {GGML_TYPE_I16, {10, 8, 3}, {0, 2, 1, 3}},   {GGML_TYPE_I16, {10, 8, 3}, {1, 2, 0, 3}},
        {GGML_TYPE_Q4_0, {64, 8, 3}, {0, 2, 1, 3}},  {GGML_TYPE_Q6_K, {256, 3, 2}, {0, 2, 1, 3}},
    };
    for (const Dup& c : cases) {
        const std::array<int, 4> axes{c.permute[0], c.permute[1], c.permute[2], c.permute[3]};
        list.add({.op = "DUP",
                  .params = params("type", c.type, "ne", c.ne, "permute", c.permute),
                  .max_nmse = 0,
                  .build = [type = c.type, ne = c.ne, axes](GraphMaker& m) {
                      const int permute[4] = {axes[0], axes[1], axes[2], axes[3]};
                      return ggml_dup(m.ctx,
                                      seen_through(m, m.leaf(type, ne, usual(type)), permute));
                  }});
    }
}

// ---- CPY --------------------------------------------------------------------------------------

// What one block's rounding may cost, for types with a plain scale: every value lies within half a
// step, of two devices perhaps on different sides.
double copy_limit(ggml_type from, ggml_type to, int64_t n) {
    if (from == to) return 0;
    double error = 150.0 / 8;
    switch (to) {
        case GGML_TYPE_Q4_0:
        case GGML_TYPE_Q4_1:
            break;
        case GGML_TYPE_IQ4_NL:
            error *= 2;
            break;
        case GGML_TYPE_Q5_0:
        case GGML_TYPE_Q5_1:
            error /= 2;
            break;
        case GGML_TYPE_Q8_0:
            error /= 8;
            break;
        default:
            return 1e-6;
    }
    return error * error / (150.0 * 150.0 * 0.25 * static_cast<double>(n));
}

Fill copy_fill(ggml_type from, ggml_type to) {
    if (is_integer(from)) return integers(-100, 100);
    // Halves and i32 represent only so much of a rounding that goes to zero.
    return to == GGML_TYPE_I32 ? between(-1000, 1000) : between(-150, 150);
}

struct Copy {
    ggml_type from, to;
    Shape ne;
    int permute_src[4] = {0, 1, 2, 3}, permute_dst[4] = {0, 1, 2, 3};
    bool transpose = false;
};

void add_copy(CaseList& list, const Copy& c) {
    list.add({.op = "CPY",
              .params = params("type_src", c.from, "type_dst", c.to, "ne_src", c.ne, "permute_src",
                               c.permute_src, "permute_dst", c.permute_dst, "_src_transpose",
                               c.transpose),
              .max_nmse = copy_limit(c.from, c.to, c.ne.size()),
              .optional = c.from != c.to && !is_writable(c.to),
              .build = [=](GraphMaker& m) -> ggml_tensor* {
                  ggml_tensor* src = m.leaf(c.from, c.ne, copy_fill(c.from, c.to));
                  src = seen_through(m, src, c.permute_src);
                  if (c.transpose) src = ggml_transpose(m.ctx, src);
                  if (!src) return nullptr;
                  const Shape shape{src->ne[0], src->ne[1], src->ne[2], src->ne[3]};
                  ggml_tensor* dst = m.leaf(c.to, shape, usual(c.to));
                  return ggml_cpy(m.ctx, src, seen_through(m, dst, c.permute_dst));
              }});
}

void same_type_copies(CaseList& list) {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = static_cast<ggml_type>(i);
        if (ggml_type_size(type) == 0) continue;
        if (ggml_is_quantized(type) && !ggml_get_type_traits(type)->to_float) continue;
        for (const int64_t k : {1, 2, 3}) {
            const Shape ne{k * ggml_blck_size(type), 2, 3, 4};
            add_copy(list, {type, type, ne});
            add_copy(list, {type, type, ne, {0, 2, 1, 3}});
            add_copy(list, {type, type, ne, {0, 3, 1, 2}, {0, 2, 1, 3}});
        }
    }
}

void converting_copies(CaseList& list) {
    std::vector<ggml_type> targets = quantized_types();
    targets.insert(targets.end(), std::begin(kFloatTypes), std::end(kFloatTypes));
    for (const ggml_type from : kFloatTypes) {
        for (const ggml_type to : targets) {
            add_copy(list, {from, to, {256, 4, 4, 4}});
            add_copy(list, {from, to, {256, 2, 3, 4}, {0, 2, 1, 3}});
        }
        add_copy(list, {from, GGML_TYPE_I32, {256, 2, 3, 4}});
        add_copy(list, {from, GGML_TYPE_I32, {256, 2, 3, 4}, {1, 0, 2, 3}});
    }
    for (const ggml_type from : quantized_types()) {
        for (const ggml_type to : kFloatTypes) {
            add_copy(list, {from, to, {256, 4, 4, 4}});
            add_copy(list, {from, to, {256, 2, 3, 4}, {0, 2, 1, 3}});
        }
        add_copy(list, {from, GGML_TYPE_F16, {256, 2, 3, 4}, {0, 1, 2, 3}, {1, 0, 2, 3}});
    }
    for (const ggml_type from : kFloatTypes) {
        for (const ggml_type to : kFloatTypes)
            add_copy(list, {from, to, {256, 2, 3, 4}, {1, 0, 2, 3}});
    }
    for (const ggml_type to : kFloatTypes) {
        add_copy(list, {GGML_TYPE_I32, to, {256, 2, 3, 4}});
        add_copy(list, {GGML_TYPE_I32, to, {256, 2, 3, 4}, {1, 0, 2, 3}});
    }
    add_copy(list, {GGML_TYPE_F32, GGML_TYPE_Q4_0, {96}});
    add_copy(list, {GGML_TYPE_Q4_0, GGML_TYPE_F32, {96}});
}

void strided_copies(CaseList& list) {
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I32}) {
        add_copy(list, {type, type, {256, 4, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, true});
        add_copy(list, {type, type, {256, 4, 3, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, true});
        add_copy(list, {type, type, {256, 4}, {0, 1, 2, 3}, {0, 1, 2, 3}, true});
        add_copy(list, {type, type, {256, 1, 4}, {1, 2, 0, 3}});
        add_copy(list, {type, type, {1, 37, 5}, {1, 0, 2, 3}});
        add_copy(list, {type, type, {64, 0, 3}});
    }
    add_copy(list, {GGML_TYPE_F32, GGML_TYPE_F32, {2, 2097121}, {1, 0, 2, 3}});
    add_copy(list, {GGML_TYPE_F32, GGML_TYPE_F32, {2, 2, 524281}, {1, 0, 2, 3}});
    for (const ggml_type type : kFloatTypes) {
        list.add({.op = "CPY",
                  .params = params("type", type) + ",ne=[128,2,3,1],dst_alloc=[128,4,3,1]",
                  .max_nmse = 0,
                  .build = [=](GraphMaker& m) {
                      ggml_tensor* src = m.leaf(type, {128, 2, 3});
                      return ggml_cpy(m.ctx, src, corner(m, type, {128, 2, 3}, {1, 2, 1, 1}));
                  }});
        list.add(
            {.op = "CPY", .params = params("type", type) + ",cast", .build = [=](GraphMaker& m) {
                 return ggml_cast(m.ctx, m.inset(GGML_TYPE_F32, {33, 5, 3}), type);
             }});
    }
}

// Any shape into any other of as many elements.
void reshaping_copies(CaseList& list) {
    std::array<int64_t, 4> from{3, 5, 7, 32};
    do {
        for (const Shape& to : {Shape{3, 5, 7, 32}, Shape{32, 7, 5, 3}}) {
            for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q4_0}) {
                if (ggml_blck_size(type) > 1 && (from[0] != 32 || to[0] != 32)) continue;
                const Shape ne{from[0], from[1], from[2], from[3]};
                list.add({.op = "CPY",
                          .params = params("type", type, "ne_src", ne, "ne_dst", to),
                          .max_nmse = 0,
                          .build = [=](GraphMaker& m) {
                              ggml_tensor* src = m.leaf(type, ne, between(-150, 150));
                              return ggml_cpy(m.ctx, src, m.leaf(type, to));
                          }});
            }
        }
    } while (std::next_permutation(from.begin(), from.end()));
}

// ---- CONT -------------------------------------------------------------------------------------

void cont_cases(CaseList& list) {
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I32}) {
        for (const Shape& ne : {Shape{2}, Shape{2, 1, 3, 5}, Shape{2, 3, 5, 7}, Shape{1, 4, 4},
                                Shape{1, 8, 17}, Shape{10, 10, 10}}) {
            list.add({.op = "CONT",
                      .params = params("type", type, "ne", ne) + ",transposed",
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* t = m.leaf(type, ne, usual(type));
                          return ggml_cont(m.ctx, ggml_transpose(m.ctx, t));
                      }});
            list.add({.op = "CONT",
                      .params = params("type", type, "ne", ne, "use_view_slice", 1),
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* t = m.leaf(type, ne, usual(type));
                          return ggml_cont(
                              m.ctx, ggml_view_4d(m.ctx, t, ne[0], 1, ne[2], ne[3], t->nb[1],
                                                  t->nb[2], t->nb[3], t->nb[0] * (ne[1] - 1)));
                      }});
        }
        for (const auto& axes : {std::array{2, 1, 0, 3}, {1, 2, 0, 3}, {0, 2, 1, 3}}) {
            const int permute[4] = {axes[0], axes[1], axes[2], axes[3]};
            for (const Shape& ne :
                 {Shape{10, 10, 10}, Shape{1024, 64, 64}, Shape{1000, 33, 65}, Shape{33, 5, 7},
                  Shape{64, 3, 65}, Shape{2304, 64, 64}, Shape{2, 3, 5, 7}}) {
                list.add({.op = "CONT",
                          .params = params("type", type, "ne", ne, "permute", permute),
                          .build = [=](GraphMaker& m) {
                              return ggml_cont(
                                  m.ctx, ggml_permute(m.ctx, m.leaf(type, ne, usual(type)), axes[0],
                                                      axes[1], axes[2], axes[3]));
                          }});
            }
        }
        list.add(
            {.op = "CONT", .params = params("type", type) + ",2d", .build = [=](GraphMaker& m) {
                 ggml_tensor* t = m.permuted(type, {6, 5, 4, 3}, {1, 0, 2, 3}, usual(type));
                 return ggml_cont_2d(m.ctx, t, 40, 9);
             }});
    }
}

}  // namespace

void copy_cases(CaseList& list) {
    dup_cases(list);
    same_type_copies(list);
    converting_copies(list);
    strided_copies(list);
    reshaping_copies(list);
    cont_cases(list);
}

}  // namespace tenon::conformance
