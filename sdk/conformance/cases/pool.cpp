// Cases: pooling and resampling.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

constexpr ggml_op_pool kPools[] = {GGML_OP_POOL_AVG, GGML_OP_POOL_MAX};
const char* name_of(ggml_op_pool op) { return op == GGML_OP_POOL_AVG ? "avg" : "max"; }

// How src0 lies: as it is, inside a larger tensor, with the planes innermost.
enum Layout { kPlain, kInset, kPermuted };

ggml_tensor* operand(GraphMaker& m, ggml_type type, const Shape& shape, Layout layout) {
    if (layout == kPermuted) return m.permuted(type, shape, {2, 1, 0, 3});
    return layout == kInset ? m.inset(type, shape) : m.leaf(type, shape);
}

// ---- POOL_1D ----------------------------------------------------------------------------------

void add_pool_1d(CaseList& list, ggml_op_pool op, ggml_type type, const Shape& shape, int k, int s,
                 int p, Layout layout) {
    list.add({.op = "POOL_1D",
              .params = params("pool_type", name_of(op), "type_input", type, "ne_input", shape,
                               "k0", k, "s0", s, "p0", p, "layout", static_cast<int>(layout)),
              .build = [=](GraphMaker& m) {
                  return ggml_pool_1d(m.ctx, operand(m, type, shape, layout), op, k, s, p);
              }});
}

void pool_1d_cases(CaseList& list) {
    for (const ggml_op_pool op : kPools) {
        for (const Shape& shape : {Shape{10, 3, 2, 1}, Shape{11, 1, 3, 2}, Shape{128, 2, 1, 3}}) {
            for (const int k : {1, 2, 3}) {
                for (const int s : {1, 2, 3}) {
                    for (const int p : {0, 1, 2, 3}) {
                        for (const ggml_type type : kFloatTypes)
                            add_pool_1d(list, op, type, shape, k, s, p, kPlain);
                    }
                }
            }
        }
        for (const ggml_type type : kFloatTypes) {
            add_pool_1d(list, op, type, {10, 2}, 3, 3, 0, kPlain);
            add_pool_1d(list, op, type, {67, 5, 3, 2}, 17, 4, 8, kInset);
            add_pool_1d(list, op, type, {33, 5, 3, 2}, 5, 2, 1, kPermuted);
            add_pool_1d(list, op, type, {1, 1, 1, 1}, 1, 1, 0, kPlain);
        }
    }
}

// ---- POOL_2D, POOL_2D_BACK --------------------------------------------------------------------

struct Window {
    int k0, k1, s0, s1;
    float p0, p1;
};

std::string text_of(const Window& w) {
    return params("k0", w.k0, "k1", w.k1, "s0", w.s0, "s1", w.s1, "p0", w.p0, "p1", w.p1);
}

void add_pool_2d(CaseList& list, ggml_op_pool op, ggml_type type, const Shape& shape,
                 const Window& w, Layout layout = kPlain) {
    list.add({.op = "POOL_2D",
              .params = params("pool_type", name_of(op), "type_input", type, "ne_input", shape,
                               "layout", static_cast<int>(layout)) +
                        "," + text_of(w),
              .build = [=](GraphMaker& m) {
                  return ggml_pool_2d(m.ctx, operand(m, type, shape, layout), op, w.k0, w.k1, w.s0,
                                      w.s1, w.p0, w.p1);
              }});
}

// `ties`: all elements of the input equal, so that the first of a window wins.
void add_pool_2d_back(CaseList& list, ggml_op_pool op, ggml_type type, const Shape& shape,
                      const Window& w, Layout layout = kPlain, bool ties = false) {
    list.add({.op = "POOL_2D_BACK",
              .params = params("pool_type", name_of(op), "type_input", type, "ne_input", shape,
                               "layout", static_cast<int>(layout), "ties", ties) +
                        "," + text_of(w),
              .build = [=](GraphMaker& m) {
                  ggml_tensor* x =
                      ties ? m.leaf(type, shape, constant(0.5)) : operand(m, type, shape, layout);
                  // The gradient has the shape that POOL_2D gives its result.
                  const ggml_tensor* y =
                      ggml_pool_2d(m.ctx, x, op, w.k0, w.k1, w.s0, w.s1, w.p0, w.p1);
                  if (!y) return static_cast<ggml_tensor*>(nullptr);
                  ggml_tensor* grad = m.f32({y->ne[0], y->ne[1], y->ne[2], y->ne[3]});
                  return ggml_pool_2d_back(m.ctx, grad, x, op, w.k0, w.k1, w.s0, w.s1, w.p0, w.p1);
              }});
}

void pool_2d_grid(CaseList& list, ggml_op_pool op, const Shape& shape) {
    for (const int k0 : {1, 3}) {
        for (const int k1 : {1, 3}) {
            for (const int s0 : {1, 2}) {
                for (const int s1 : {1, 2}) {
                    for (const float p0 : {0.0f, 1.0f}) {
                        for (const float p1 : {0.0f, 1.0f}) {
                            const Window w{k0, k1, s0, s1, p0, p1};
                            add_pool_2d(list, op, GGML_TYPE_F32, shape, w);
                            add_pool_2d_back(list, op, GGML_TYPE_F32, shape, w);
                        }
                    }
                }
            }
        }
    }
}

void pool_2d_cases(CaseList& list) {
    for (const ggml_op_pool op : kPools) {
        pool_2d_grid(list, op, {10, 10, 3, 1});
        for (const ggml_type type : kFloatTypes) {
            add_pool_2d(list, op, type, {10, 10, 2, 1}, {3, 4, 3, 4, 0, 0});
            // A fraction of padding enlarges the result and moves nothing: the last windows may
            // lie beyond the end.
            add_pool_2d(list, op, type, {4, 4, 2, 3}, {2, 2, 1, 1, 1.5f, 1.5f});
            add_pool_2d(list, op, type, {7, 5, 2, 1}, {1, 2, 1, 2, 0.5f, 1.5f});
            add_pool_2d_back(list, op, type, {4, 4, 2, 3}, {2, 2, 1, 1, 1.5f, 1.5f});
            add_pool_2d_back(list, op, type, {10, 10, 2, 1}, {3, 3, 1, 2, 1, 1}, kPlain,
                             /*ties=*/true);
            for (const Layout layout : {kPlain, kInset, kPermuted}) {
                add_pool_2d(list, op, type, {67, 9, 3, 2}, {5, 3, 2, 1, 2, 1}, layout);
                add_pool_2d(list, op, type, {2, 2, 17, 1}, {2, 2, 2, 2, 0, 0}, layout);
                add_pool_2d_back(list, op, type, {67, 9, 3, 2}, {5, 3, 2, 1, 2, 1}, layout);
            }
        }
        add_pool_2d(list, op, GGML_TYPE_F32, {224, 224, 16, 1}, {3, 3, 2, 2, 1, 1});
    }
}

// ---- UPSCALE ----------------------------------------------------------------------------------

struct Mode {
    const char* name;
    uint32_t bits;
};
constexpr uint32_t kNearest = GGML_SCALE_MODE_NEAREST, kBilinear = GGML_SCALE_MODE_BILINEAR,
                   kBicubic = GGML_SCALE_MODE_BICUBIC, kAntialias = GGML_SCALE_FLAG_ANTIALIAS,
                   kCorners = GGML_SCALE_FLAG_ALIGN_CORNERS;
constexpr Mode kModes[] = {
    {"nearest", kNearest},
    {"bilinear", kBilinear},
    {"bicubic", kBicubic},
    {"bilinear|antialias", kBilinear | kAntialias},
    {"nearest|align_corners", kNearest | kCorners},
    {"bilinear|align_corners", kBilinear | kCorners},
    {"bicubic|align_corners", kBicubic | kCorners},
    {"bilinear|antialias|align_corners", kBilinear | kAntialias | kCorners},
};

void upscale_cases(CaseList& list) {
    struct Resize {
        Shape from, to;
    };
    const Resize kResizes[] = {
        {{2, 5, 7, 11}, {5, 7, 11, 13}},   {{5, 7, 11, 13}, {2, 5, 7, 11}},
        {{1, 4, 3, 2}, {2, 8, 3, 2}},      {{4, 1, 3, 2}, {1, 1, 3, 2}},
        {{2, 2, 1, 1}, {4, 4, 1, 1}},      {{2, 2, 1, 1}, {2, 3, 1, 1}},
        {{4, 3, 2, 1}, {2, 1, 2, 1}},      {{4, 3, 2, 1}, {3, 2, 2, 1}},
        {{1, 1, 1, 1}, {17, 9, 1, 1}},     {{67, 33, 2, 1}, {5, 3, 2, 1}},
        {{33, 17, 2, 2}, {100, 17, 2, 2}},
    };
    for (const Mode& mode : kModes) {
        for (const bool transposed : {false, true}) {
            for (const Shape& shape : {Shape{512, 512, 3, 2}, Shape{61, 37, 3, 2}}) {
                list.add({.op = "UPSCALE",
                          .params = params("ne", shape, "scale_factor", 2, "mode", mode.name,
                                           "transpose", transposed),
                          .build = [=](GraphMaker& m) {
                              ggml_tensor* a = m.f32(shape);
                              if (transposed) a = ggml_transpose(m.ctx, a);
                              if (!a) return a;
                              return ggml_interpolate(m.ctx, a, a->ne[0] * 2, a->ne[1] * 2,
                                                      a->ne[2], a->ne[3], mode.bits);
                          }});
            }
        }
        for (const Resize& r : kResizes) {
            for (const bool inset : {false, true}) {
                list.add(
                    {.op = "UPSCALE",
                     .params = params("ne", r.from, "ne_tgt", r.to, "mode", mode.name, "v", inset),
                     .build = [=](GraphMaker& m) {
                         ggml_tensor* a = inset ? m.inset(GGML_TYPE_F32, r.from) : m.f32(r.from);
                         return ggml_interpolate(m.ctx, a, r.to[0], r.to[1], r.to[2], r.to[3],
                                                 mode.bits);
                     }});
            }
        }
    }
    list.add({.op = "UPSCALE", .params = "builder=ggml_upscale", .build = [](GraphMaker& m) {
                  return ggml_upscale(m.ctx, m.f32({5, 3, 2, 1}), 3, GGML_SCALE_MODE_NEAREST);
              }});
}

}  // namespace

void pool_cases(CaseList& list) {
    pool_1d_cases(list);
    pool_2d_cases(list);
    upscale_cases(list);
}

}  // namespace tenon::conformance
