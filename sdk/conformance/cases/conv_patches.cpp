// Cases: the patches of convolutions.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

// ---- IM2COL, IM2COL_BACK ----------------------------------------------------------------------

struct Patch {  // strides, paddings, dilations
    int s0, s1, p0, p1, d0, d1;
    bool is_2d;
};

std::string text_of(const Patch& p) {
    return params("s0", p.s0, "s1", p.s1, "p0", p.p0, "p1", p.p1, "d0", p.d0, "d1", p.d1, "is_2D",
                  p.is_2d);
}

void add_im2col(CaseList& list, const Shape& data, const Shape& kernel, const Patch& p,
                ggml_type type_data, ggml_type type_kernel, ggml_type type, bool inset = false) {
    list.add({.op = "IM2COL",
              .params = params("type_input", type_data, "type_kernel", type_kernel, "dst_type",
                               type, "ne_input", data, "ne_kernel", kernel, "v", inset) +
                        "," + text_of(p),
              .build = [=](GraphMaker& m) {
                  ggml_tensor* a = m.leaf(type_kernel, kernel);
                  ggml_tensor* b = inset ? m.inset(type_data, data) : m.leaf(type_data, data);
                  return ggml_im2col(m.ctx, a, b, p.s0, p.s1, p.p0, p.p1, p.d0, p.d1, p.is_2d,
                                     type);
              }});
}

void add_im2col_back(CaseList& list, const Shape& data, const Shape& kernel, const Patch& p,
                     ggml_type type, ggml_type type_kernel) {
    list.add({.op = "IM2COL_BACK",
              .params = params("type", type, "type_kernel", type_kernel, "ne", data, "ne_kernel",
                               kernel) +
                        "," + text_of(p),
              .build = [=](GraphMaker& m) {
                  ggml_tensor* a = m.leaf(type_kernel, kernel);
                  // The shape of the patches is the one that IM2COL gives them.
                  const ggml_tensor* patches =
                      ggml_im2col(m.ctx, a, m.f32(data), p.s0, p.s1, p.p0, p.p1, p.d0, p.d1,
                                  p.is_2d, GGML_TYPE_F32);
                  if (!patches) return static_cast<ggml_tensor*>(nullptr);
                  const int64_t* n = patches->ne;
                  int64_t ne[] = {data[0], data[1], data[2], data[3]};
                  return ggml_im2col_back(m.ctx, m.leaf(type, {n[0], n[1], n[2], n[3]}), a, ne,
                                          p.s0, p.s1, p.p0, p.p1, p.d0, p.d1, p.is_2d);
              }});
}

void im2col_1d_cases(CaseList& list) {
    const Patch same{1, 0, 1, 0, 1, 0, false};
    const Shape audio{3000, 128}, taps{3, 128, 1280};
    add_im2col(list, audio, taps, same, GGML_TYPE_F32, GGML_TYPE_F32, GGML_TYPE_F32);
    add_im2col(list, audio, taps, same, GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_F32);
    add_im2col(list, audio, taps, same, GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_F16);
    add_im2col(list, {3000, 384}, {3, 384, 384}, same, GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_F16);
    for (const int s : {1, 3}) {
        for (const int p : {0, 3}) {
            for (const int d : {1, 3}) {
                const Patch patch{s, 0, p, 0, d, 0, false};
                add_im2col(list, {20, 2, 2, 1}, {3, 2, 2, 1}, patch, GGML_TYPE_F32, GGML_TYPE_F32,
                           GGML_TYPE_F32);
                add_im2col(list, {21, 3, 5, 1}, {4, 3, 2, 1}, patch, GGML_TYPE_F32, GGML_TYPE_F32,
                           GGML_TYPE_F32, /*inset=*/true);
                add_im2col_back(list, {20, 2, 2, 1}, {3, 2, 2, 1}, patch, GGML_TYPE_F32,
                                GGML_TYPE_F32);
                add_im2col_back(list, {21, 3, 5, 1}, {4, 3, 2, 1}, patch, GGML_TYPE_F16,
                                GGML_TYPE_F16);
            }
        }
    }
}

// All combinations of the strides, paddings and dilations that hurt.
template <class Fn>
void for_each_patch(Fn&& fn) {
    for (int bits = 0; bits < 64; ++bits) {
        const auto pick = [&](int bit, int no, int yes) { return bits >> bit & 1 ? yes : no; };
        fn(Patch{pick(0, 1, 3), pick(1, 1, 3), pick(2, 0, 3), pick(3, 0, 3), pick(4, 1, 3),
                 pick(5, 1, 3), true});
    }
}

void im2col_2d_cases(CaseList& list) {
    const Patch same{1, 1, 1, 1, 1, 1, true}, none{1, 1, 0, 0, 1, 1, true};
    for (const ggml_type data : kFloatTypes) {
        for (const ggml_type kernel : {GGML_TYPE_F32, GGML_TYPE_F16}) {
            for (const ggml_type type : kFloatTypes) {
                add_im2col(list, {10, 10, 3, 1}, {3, 3, 3, 1}, same, data, kernel, type);
                add_im2col(list, {37, 5, 3, 2}, {19, 2, 3, 1}, same, data, kernel, type,
                           /*inset=*/true);
            }
        }
        add_im2col_back(list, {10, 10, 3, 1}, {3, 3, 3, 1}, same, data, GGML_TYPE_F16);
    }
    for_each_patch([&](const Patch& patch) {
        const Shape data{20, 20, 2, 2}, kernel{3, 3, 2, 2};
        add_im2col(list, data, kernel, patch, GGML_TYPE_F32, GGML_TYPE_F32, GGML_TYPE_F32);
        add_im2col_back(list, data, kernel, patch, GGML_TYPE_F32, GGML_TYPE_F32);
    });
    const auto add_f16 = [&](const Shape& data, const Shape& kernel, const Patch& patch) {
        add_im2col(list, data, kernel, patch, GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_F16);
    };
    for (const int64_t n : {32, 1024, 2048, 2560}) {
        for (const int64_t channels : {1, 2})
            add_f16({12, 12, channels, n}, {3, 3, channels, n}, same);
    }
    add_f16({5, 5, 1, 32}, {3, 4, 1, 32}, none);
    add_f16({128, 128, 1, 2}, {32, 33, 1, 2}, same);
    add_f16({128, 128, 2, 1}, {33, 34, 2, 1}, same);
    add_im2col(list, {2, 2, 1536, 729}, {2, 2, 1536, 4096}, none, GGML_TYPE_F32, GGML_TYPE_F32,
               GGML_TYPE_F32);
    add_im2col_back(list, {37, 5, 3, 2}, {19, 2, 3, 1}, same, GGML_TYPE_F32, GGML_TYPE_F32);
}

// ---- IM2COL_3D --------------------------------------------------------------------------------

struct Patch3d {
    int s[3], p[3], d[3];
};

void add_im2col_3d(CaseList& list, const Shape& data, const Shape& kernel, int64_t n_channels,
                   const Patch3d& q, bool view, ggml_type type_kernel, ggml_type type,
                   ggml_type type_data = GGML_TYPE_F32) {
    list.add({.op = "IM2COL_3D",
              .params = params("type_input", type_data, "type_kernel", type_kernel, "dst_type",
                               type, "ne_input", data, "ne_kernel", kernel, "IC", n_channels, "s",
                               Shape(q.s[0], q.s[1], q.s[2]), "p", Shape(q.p[0], q.p[1], q.p[2]),
                               "d", Shape(q.d[0], q.d[1], q.d[2]), "v", view),
              .build = [=](GraphMaker& m) {
                  ggml_tensor* a = m.leaf(type_kernel, kernel);
                  ggml_tensor* b = m.leaf(type_data, data);
                  if (view) {
                      b = ggml_view_4d(m.ctx, b, data[0] - 2, data[1] - 2, data[2] - 2, data[3] - 2,
                                       b->nb[1], b->nb[2], b->nb[3], 0);
                  }
                  return ggml_im2col_3d(m.ctx, a, b, n_channels, q.s[0], q.s[1], q.s[2], q.p[0],
                                        q.p[1], q.p[2], q.d[0], q.d[1], q.d[2], type);
              }});
}

void im2col_3d_cases(CaseList& list) {
    for (const int64_t n_channels : {1, 3}) {
        for (int bits = 0; bits < 512; ++bits) {
            const auto pick = [&](int bit, int no, int yes) { return bits >> bit & 1 ? yes : no; };
            const Patch3d q{{pick(0, 1, 3), pick(1, 1, 3), pick(2, 1, 3)},
                            {pick(3, 0, 3), pick(4, 0, 3), pick(5, 0, 3)},
                            {pick(6, 1, 3), pick(7, 1, 3), pick(8, 1, 3)}};
            for (const bool view : {false, true}) {
                add_im2col_3d(list, {20, 20, 10, 3}, {3, 3, 3, 3}, n_channels, q, view,
                              GGML_TYPE_F32, GGML_TYPE_F32);
            }
        }
    }
    const Patch3d same{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
    const Shape data{10, 10, 10, 9}, kernel{3, 3, 3, 1};
    add_im2col_3d(list, data, kernel, 3, same, false, GGML_TYPE_F32, GGML_TYPE_F32);
    add_im2col_3d(list, data, kernel, 3, same, false, GGML_TYPE_F16, GGML_TYPE_F32);
    add_im2col_3d(list, data, kernel, 3, same, false, GGML_TYPE_F16, GGML_TYPE_F16);
    for (const ggml_type type_data : kFloatTypes) {
        for (const ggml_type type : kFloatTypes) {
            add_im2col_3d(list, {23, 7, 5, 8}, {18, 2, 3, 3}, 3, same, true, GGML_TYPE_F32, type,
                          type_data);
        }
    }
}

// ---- COL2IM_1D --------------------------------------------------------------------------------

void col2im_1d_cases(CaseList& list) {
    struct Row {
        int64_t taps;
        int n_out;
        int64_t n_in;
        int stride, padding;
    };
    constexpr Row kRows[] = {
        {16, 32, 197, 8, 0}, {4, 3, 7, 2, 0},  {1, 5, 13, 1, 0}, {6, 4, 11, 3, 1},
        {2, 3, 9, 3, 0},     {5, 4, 11, 2, 0}, {8, 4, 13, 4, 2}, {4, 3, 1, 2, 0},
        {16, 1, 197, 8, 0},  {1, 5, 13, 3, 0}, {8, 2, 3, 2, 5},  {16, 2, 1000, 4, 6},
    };
    for (const ggml_type type : kFloatTypes) {
        for (const Row& row : kRows) {
            list.add({.op = "COL2IM_1D",
                      .params = params("type", type, "K", row.taps, "OC", row.n_out, "T_in",
                                       row.n_in, "s0", row.stride, "p0", row.padding),
                      .max_nmse = type == GGML_TYPE_F32 ? 1e-7 : 5e-4,
                      .build = [=](GraphMaker& m) {
                          return ggml_col2im_1d(m.ctx,
                                                m.leaf(type, {row.taps * row.n_out, row.n_in}),
                                                row.stride, row.n_out, row.padding);
                      }});
        }
    }
}

}  // namespace

void patch_cases(CaseList& list) {
    im2col_1d_cases(list);
    im2col_2d_cases(list);
    im2col_3d_cases(list);
    col2im_1d_cases(list);
}

}  // namespace tenon::conformance
