// Cases: SOFT_MAX, SOFT_MAX_BACK, ROPE, ROPE_BACK.

#include "sdk/conformance/cases/helpers.h"
#include "tenon/op_params.h"

namespace tenon::conformance {
namespace {

// ---- SOFT_MAX, SOFT_MAX_BACK ------------------------------------------------------------------

struct Soft {
    Shape ne;  // before repetition
    int64_t nr2 = 1, nr3 = 1;
    bool mask = false, sinks = false;
    ggml_type mask_type = GGML_TYPE_F32;
    float scale = 1, max_bias = 0;
    bool inplace = false;
    ggml_type type = GGML_TYPE_F32;
};

void add(CaseList& list, const Soft& c) {
    const Shape shape{c.ne[0], c.ne[1], c.ne[2] * c.nr2, c.ne[3] * c.nr3};
    list.add({.op = "SOFT_MAX",
              .params = params("ne", c.ne, "mask", c.mask, "sinks", c.sinks, "m_prec", c.mask_type,
                               "nr2", c.nr2, "nr3", c.nr3, "scale", c.scale, "max_bias", c.max_bias,
                               "inplace", c.inplace, "type", c.type),
              .max_nmse = c.type == GGML_TYPE_BF16 ? 1e-5 : 1e-6,
              .build = [=](GraphMaker& m) {
                  ggml_tensor* a = m.leaf(c.type, shape);
                  ggml_tensor* mask = c.mask ? m.leaf(c.mask_type, c.ne) : nullptr;
                  ggml_tensor* sinks = c.sinks ? m.f32({shape[2]}) : nullptr;
                  ggml_tensor* d = (c.inplace ? ggml_soft_max_ext_inplace : ggml_soft_max_ext)(
                      m.ctx, a, mask, c.scale, c.max_bias);
                  ggml_soft_max_add_sinks(d, sinks);
                  return d;
              }});
}

void soft_max_grid(CaseList& list) {
    struct Size {
        Shape ne;
        int64_t nr2, nr3;
    };
    std::vector<Size> sizes;
    for (const int64_t n : {15, 16, 1023, 1024}) {
        for (const int64_t rows : {n % 2 ? 15 : 16, n % 2 ? 1023 : 1024})
            sizes.push_back({{n, rows}, 1, 1});
    }
    sizes.push_back({{16, 16, 1, 3}, 3, 1});
    sizes.push_back({{15, 15}, 2, 3});
    sizes.push_back({{33, 5, 12}, 1, 1});  // heads that are no power of two
    for (const Size& size : sizes) {
        for (const bool mask : {false, true}) {
            for (const bool sinks : {false, true}) {
                for (const float scale : {1.0f, 0.1f}) {
                    for (const float max_bias : {0.0f, 8.0f}) {
                        for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
                            if (!mask && (max_bias > 0 || type == GGML_TYPE_F16)) continue;
                            add(list,
                                {size.ne, size.nr2, size.nr3, mask, sinks, type, scale, max_bias});
                        }
                    }
                }
            }
        }
    }
}

void soft_max_singles(CaseList& list) {
    for (const bool mask : {false, true}) {
        for (const bool sinks : {false, true}) {
            for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
                for (const bool inplace : {false, true})
                    add(list, {{16, 2, 32}, 1, 1, mask, sinks, type, 0.1f, 0, inplace});
                for (const float max_bias : {0.0f, 8.0f}) {
                    if (mask) add(list, {{32, 2, 32}, 1, 1, mask, sinks, type, 0.1f, max_bias});
                }
            }
        }
    }
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16})
        add(list, {{200001, 2, 3}, 1, 1, true, true, type, 0.1f, 8});
    for (const Shape& ne :
         {Shape{200000}, Shape{200000, 4}, Shape{643251, 3}, Shape{1, 9, 2, 1}, Shape{0, 4}}) {
        add(list, {ne});
    }
}

void soft_max_halves(CaseList& list) {
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
        for (const Shape& ne :
             {Shape{1, 5}, Shape{15, 16, 4}, Shape{1023, 3, 6, 2}, Shape{200001, 2}, Shape{0, 4}}) {
            for (const bool inplace : {false, true}) {
                add(list, {.ne = ne, .inplace = inplace, .type = type});
                for (const ggml_type mask : {GGML_TYPE_F32, GGML_TYPE_F16}) {
                    add(list, {.ne = ne,
                               .nr2 = 2,
                               .mask = true,
                               .sinks = true,
                               .mask_type = mask,
                               .scale = 0.1f,
                               .max_bias = 8,
                               .inplace = inplace,
                               .type = type});
                }
            }
        }
    }
}

void soft_max_back(CaseList& list) {
    using Build = ggml_tensor* (*)(ggml_context*, ggml_tensor*, ggml_tensor*, float, float);
    const auto add_types = [&](ggml_type type, ggml_type y, const Shape& ne, float scale,
                               const std::string& name, Build build) {
        list.add({.op = "SOFT_MAX_BACK",
                  .params = params("type", type, "ne", ne, "scale", scale) + name,
                  .max_nmse = type == GGML_TYPE_F32 ? 1e-7 : 1e-5,
                  .build = [=](GraphMaker& m) {
                      return build(m.ctx, m.leaf(type, ne), m.leaf(y, ne), scale, 0.0f);
                  }});
    };
    const auto add_back = [&](ggml_type type, const Shape& ne, float scale, const char* name,
                              Build build) { add_types(type, type, ne, scale, name, build); };
    for (const ggml_type type : kFloatTypes) {
        for (const ggml_type y : kFloatTypes) {
            if (y == type) continue;
            add_types(type, y, {33, 5, 2}, 0.1f, std::string(",y=") + ggml_type_name(y),
                      ggml_soft_max_ext_back);
        }
    }
    std::vector<Shape> shapes;
    for (const auto& [n, rows] : {std::pair<int64_t, int64_t>(16, 16),
                                  {15, 15},
                                  {1024, 16},
                                  {1023, 15},
                                  {1024, 1024},
                                  {1023, 1023},
                                  {16, 1024},
                                  {15, 1023},
                                  {1, 1},
                                  {5, 33}}) {
        shapes.push_back({n, rows});
        if (n % 2 == 0) shapes.push_back({n, rows, 2, 3});
    }
    for (const Shape& ne : shapes) {
        for (const float scale : {1.0f, 0.1f}) {
            // The bias is no part of the gradient for the scores.
            list.add({.op = "SOFT_MAX_BACK",
                      .params = params("ne", ne, "scale", scale, "max_bias", 8),
                      .optional = true,
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* g = m.f32(ne);
                          return ggml_soft_max_ext_back(m.ctx, g, m.f32(ne), scale, 8);
                      }});
            add_back(GGML_TYPE_F32, ne, scale, "", ggml_soft_max_ext_back);
            add_back(GGML_TYPE_F32, ne, scale, ",inplace", ggml_soft_max_ext_back_inplace);
        }
        for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16})
            add_back(type, ne, 1, "", ggml_soft_max_ext_back);
    }
}

// ---- ROPE, ROPE_BACK --------------------------------------------------------------------------

struct Rope {
    ggml_type type;
    Shape ne;
    int n_dims, mode;
    float freq_scale = 1, ext_factor = 0, attn_factor = 1;
    bool factors = false;
    int view = 0;  // 1: part of a larger tensor, 2: second half of rows twice as long
    bool inplace = false;
    int offset = 0;
    int n_ctx = 512, n_ctx_orig = 0;
    float beta_fast = 1, beta_slow = 1;
};

ggml_tensor* rope_input(GraphMaker& m, const Rope& c) {
    if (c.view == 1) return corner(m, c.type, c.ne, {2, 4, 3, 1});
    if (c.view == 0) return m.leaf(c.type, c.ne);
    ggml_tensor* whole = m.leaf(c.type, {2 * c.ne[0], c.ne[1], c.ne[2], c.ne[3]});
    return ggml_view_4d(m.ctx, whole, c.ne[0], c.ne[1], c.ne[2], c.ne[3], whole->nb[1],
                        whole->nb[2], whole->nb[3], c.ne[0] * whole->nb[0]);
}

ggml_tensor* build_rope(GraphMaker& m, const Rope& c, bool back) {
    ggml_tensor* a = rope_input(m, c);
    const bool multi = c.mode & TENON_ROPE_MULTI, vision = c.mode == TENON_ROPE_VISION;
    ggml_tensor* pos = m.leaf(GGML_TYPE_I32, {c.ne[2] * (multi ? 4 : 1)}, integers(0, c.n_ctx));
    ggml_tensor* factors = c.factors ? m.f32({c.n_dims / 2}, between(0.9f, 1.1f)) : nullptr;
    ggml_tensor* d = nullptr;
    if (multi) {
        const int part = vision ? c.n_dims / 4 : c.n_dims / 3;
        int sections[4] = {part, part, vision ? 0 : part, 0};
        const auto build = back        ? ggml_rope_multi_back
                           : c.inplace ? ggml_rope_multi_inplace
                                       : ggml_rope_multi;
        d = build(m.ctx, a, pos, factors, vision ? c.n_dims / 2 : c.n_dims, sections, c.mode,
                  c.n_ctx_orig, 10000, c.freq_scale, c.ext_factor, c.attn_factor, c.beta_fast,
                  c.beta_slow);
    } else {
        const auto build = back        ? ggml_rope_ext_back
                           : c.inplace ? ggml_rope_ext_inplace
                                       : ggml_rope_ext;
        d = build(m.ctx, a, pos, factors, c.n_dims, c.mode, c.n_ctx_orig, 10000, c.freq_scale,
                  c.ext_factor, c.attn_factor, c.beta_fast, c.beta_slow);
    }
    return c.offset ? ggml_rope_set_offset(d, c.offset) : d;
}

// How much a half as result may add.
double rounding(ggml_type type) { return type == GGML_TYPE_BF16 ? 1e-5 : 1e-7; }

void add(CaseList& list, const Rope& c) {
    for (const bool back : {false, true}) {
        if (back && c.inplace) continue;
        list.add({.op = back ? "ROPE_BACK" : "ROPE",
                  .params = params("type", c.type, "ne_a", c.ne, "n_dims", c.n_dims, "mode", c.mode,
                                   "n_ctx", c.n_ctx, "fs", c.freq_scale, "ef", c.ext_factor, "af",
                                   c.attn_factor, "ff", c.factors, "v", c.view, "inplace",
                                   c.inplace, "n_offs", c.offset, "n_ctx_orig", c.n_ctx_orig),
                  .max_nmse = rounding(c.type),
                  .build = [=](GraphMaker& m) { return build_rope(m, c, back); }});
    }
}

constexpr int kNormal = TENON_ROPE_NORMAL, kNeox = TENON_ROPE_NEOX, kMrope = TENON_ROPE_MROPE,
              kVision = TENON_ROPE_VISION, kImrope = TENON_ROPE_IMROPE;
constexpr int kModes[] = {kNormal, kNeox, kMrope, kVision, kImrope};

// Head shapes of models.
void rope_models(CaseList& list, ggml_type type, bool factors, int view) {
    struct Row {
        Shape ne;
        int n_dims, mode, offset = 0;
    };
    const Row rows[] = {
        {{128, 32, 2}, 128, kNormal},    {{128, 40, 2}, 128, kNormal},
        {{128, 52, 2}, 128, kNormal},    {{128, 64, 2}, 128, kNormal},
        {{64, 1, 2}, 64, kNeox},         {{64, 71, 2}, 64, kNeox},
        {{64, 8, 2}, 64, kNeox},         {{80, 32, 2}, 20, kNormal},
        {{80, 32, 2}, 32, kNormal},      {{80, 32, 4}, 32, kNormal},
        {{80, 32, 2}, 20, kNeox},        {{80, 32, 2}, 32, kNeox},
        {{80, 32, 4}, 32, kNeox},        {{128, 12, 2}, 128, kMrope},
        {{128, 12, 2}, 20, kMrope},      {{128, 28, 2}, 128, kMrope},
        {{128, 28, 2}, 32, kMrope},      {{128, 12, 2}, 128, kImrope},
        {{128, 12, 2}, 20, kImrope},     {{128, 28, 2}, 32, kImrope},
        {{128, 28, 2}, 128, kImrope},    {{128, 16, 2}, 128, kImrope},
        {{80, 16, 2}, 80, kVision},      {{128, 32, 2}, 32, kNormal, 32},
        {{128, 32, 2}, 32, kNeox, 32},   {{128, 12, 2}, 24, kMrope, 32},
        {{128, 12, 2}, 24, kImrope, 32},
    };
    for (const Row& r : rows)
        add(list, {.type = type,
                   .ne = r.ne,
                   .n_dims = r.n_dims,
                   .mode = r.mode,
                   .factors = factors,
                   .view = view,
                   .offset = r.offset});
}

void rope_yarn(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const float fs : {1.0f, 1.4245f}) {
            for (const float ef : {0.0f, 0.7465f}) {
                for (const float af : {1.0f, 1.4245f}) {
                    for (const bool factors : {false, true}) {
                        for (const int view : {0, 1, 2}) {
                            add(list,
                                {type, {128, 32, 2}, 128, kNormal, fs, ef, af, factors, view});
                            add(list, {type, {64, 128, 2}, 64, kNeox, fs, ef, af, factors, view});
                        }
                        for (const int mode : kModes)
                            add(list, {type, {36, 16, 2457}, 36, mode, fs, ef, af, factors, 2});
                    }
                }
            }
        }
        // With a context length, so that both ends of the ramp lie inside.
        for (const int mode : kModes) {
            add(list, {.type = type,
                       .ne = {64, 5, 7, 2},
                       .n_dims = 64,
                       .mode = mode,
                       .freq_scale = 0.25f,
                       .ext_factor = 1,
                       .factors = mode == kNeox,
                       .n_ctx = 100000,
                       .n_ctx_orig = 4096,
                       .beta_fast = 32,
                       .beta_slow = 1});
        }
    }
}

// Parts of rows, and rows in place, with everything else switched on too.
void rope_all_at_once(CaseList& list) {
    struct Row {
        Shape ne;
        int n_dims, mode, offset, view;
        bool inplace;
    };
    std::vector<Row> rows{
        {{128, 32, 2}, 32, kNormal, 32, 0, false}, {{128, 32, 2}, 32, kNeox, 32, 0, false},
        {{128, 12, 2}, 24, kMrope, 32, 0, false},  {{128, 12, 2}, 24, kImrope, 32, 0, false},
        {{128, 32, 2}, 32, kNeox, 32, 0, true},
    };
    for (const int mode : kModes) {
        for (const int view : {0, 1}) {
            for (const int64_t batch : {1, 3})
                rows.push_back({{128, 32, 2, batch}, 128, mode, 0, view, true});
        }
    }
    for (const ggml_type type : kFloatTypes) {
        for (const bool factors : {false, true}) {
            for (const Row& r : rows)
                add(list, {type, r.ne, r.n_dims, r.mode, 1.4245f, 0.7465f, 1.4245f, factors, r.view,
                           r.inplace, r.offset});
        }
    }
}

void rope_inplace(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const bool factors : {false, true}) {
            for (const int mode : kModes) {
                for (const int64_t batch : {1, 3}) {
                    for (const int view : {0, 1}) {
                        add(list, {.type = type,
                                   .ne = {128, 32, 2, batch},
                                   .n_dims = 128,
                                   .mode = mode,
                                   .factors = factors,
                                   .view = view,
                                   .inplace = true});
                    }
                }
            }
            add(list, {.type = type,
                       .ne = {128, 32, 2},
                       .n_dims = 32,
                       .mode = kNeox,
                       .factors = factors,
                       .inplace = true,
                       .offset = 32});
        }
    }
}

}  // namespace

void soft_max_cases(CaseList& list) {
    soft_max_grid(list);
    soft_max_singles(list);
    soft_max_halves(list);
    soft_max_back(list);
}

void rope_cases(CaseList& list) {
    for (const ggml_type type : kFloatTypes) {
        for (const bool factors : {false, true}) {
            for (const int view : {0, 1}) rope_models(list, type, factors, view);
            for (const int mode : {kNormal, kNeox, kImrope}) {
                add(list, {.type = type,
                           .ne = {16, 16, 8192},
                           .n_dims = 16,
                           .mode = mode,
                           .factors = factors});
                add(list, {.type = type,
                           .ne = {16, 16, 8192},
                           .n_dims = 16,
                           .mode = mode,
                           .factors = factors,
                           .view = 1});
            }
        }
        for (const int mode : {kNormal, kNeox}) {
            add(list, {.type = type, .ne = {2, 1, 1}, .n_dims = 2, .mode = mode});
            add(list, {.type = type, .ne = {38, 3, 0}, .n_dims = 6, .mode = mode});
            add(list, {.type = type, .ne = {38, 3, 5, 2}, .n_dims = 6, .mode = mode, .offset = 8});
        }
    }
    rope_yarn(list);
    rope_inplace(list);
    rope_all_at_once(list);
}

}  // namespace tenon::conformance
