// Cases: convolutions and their transposes.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

constexpr double kLimit = 5e-4;  // a device may round its operands to f16

struct Strides2d {
    int s0, s1, p0, p1, d0, d1;
};

// Positions of a kernel of k elements over n, which the builders ask to be positive.
int64_t positions(int64_t n, int64_t k, int stride, int padding, int dilation) {
    return (n + 2 * padding - dilation * (k - 1) - 1) / stride + 1;
}

// How the operands lie: as they are, channels innermost, inside larger tensors.
enum Layout { kPlain, kChannelsFirst, kInset };

ggml_tensor* operand(GraphMaker& m, ggml_type type, const Shape& shape, Layout layout) {
    if (layout == kChannelsFirst) return m.permuted(type, shape, {2, 0, 1, 3});
    return layout == kInset ? m.inset(type, shape) : m.leaf(type, shape);
}

// ---- CONV_2D ----------------------------------------------------------------------------------

void add_conv_2d(CaseList& list, const Shape& data, const Shape& kernel, ggml_type data_type,
                 ggml_type kernel_type, const Strides2d& s, Layout layout) {
    const int64_t ow = positions(data[0], kernel[0], s.s0, s.p0, s.d0);
    const int64_t oh = positions(data[1], kernel[1], s.s1, s.p1, s.d1);
    if (ow <= 0 || oh <= 0) return;
    list.add({.op = "CONV_2D",
              .params = params("ne_input", data, "ne_kernel", kernel, "type_input", data_type,
                               "type_kernel", kernel_type, "stride0", s.s0, "stride1", s.s1,
                               "padding0", s.p0, "padding1", s.p1, "dilation0", s.d0, "dilation1",
                               s.d1, "layout", static_cast<int>(layout)),
              .max_nmse = kLimit,
              .build = [=](GraphMaker& m) {
                  ggml_tensor* a = operand(m, kernel_type, kernel, layout);
                  ggml_tensor* b = operand(m, data_type, data, layout);
                  return ggml_conv_2d_direct(m.ctx, a, b, s.s0, s.s1, s.p0, s.p1, s.d0, s.d1);
              }});
}

// Every kernel size over every picture size that it has a position on.
void conv_2d_grid(CaseList& list, int s0, int p1, int64_t n_in, int64_t n_out) {
    for (const int64_t kh : {1, 2, 3, 11}) {
        for (const int64_t kw : {1, 2, 3, 11}) {
            for (const int64_t h : {1, 133}) {
                for (const int64_t w : {1, 141}) {
                    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
                        for (const Layout layout : {kPlain, kChannelsFirst}) {
                            add_conv_2d(list, {w, h, n_in, 2}, {kw, kh, n_in, n_out}, GGML_TYPE_F32,
                                        type, {s0, 5, 5, p1, 2, 4}, layout);
                        }
                    }
                }
            }
        }
    }
}

void conv_2d_cases(CaseList& list) {
    for (const int s0 : {1, 3}) {
        for (const int p1 : {2, 5}) {
            for (const int64_t n_in : {1, 25}) {
                for (const int64_t n_out : {1, 12}) conv_2d_grid(list, s0, p1, n_in, n_out);
            }
        }
    }
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        for (const Layout layout : {kPlain, kChannelsFirst}) {
            add_conv_2d(list, {256, 256, 192, 1}, {3, 3, 192, 96}, GGML_TYPE_F32, type,
                        {1, 1, 1, 1, 1, 1}, layout);
        }
    }
    for (const ggml_type data : kFloatTypes) {
        for (const ggml_type kernel : kFloatTypes) {
            for (const Layout layout : {kPlain, kChannelsFirst, kInset}) {
                const auto add = [&](const Shape& b, const Shape& a, const Strides2d& s) {
                    add_conv_2d(list, b, a, data, kernel, s, layout);
                };
                add({1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 0, 0, 1, 1});
                add({33, 5, 64, 3}, {1, 1, 64, 13}, {1, 1, 0, 0, 1, 1});
                add({17, 9, 61, 2}, {3, 3, 61, 25}, {2, 1, 1, 2, 1, 1});  // deeper than a panel
                add({4, 4, 8, 2}, {3, 3, 8, 200}, {1, 1, 1, 1, 1, 1});    // channels, few positions
                add({7, 3, 2, 1}, {3, 3, 2, 3}, {1, 1, 9, 9, 1, 1});      // mostly padding
                add({67, 31, 3, 1}, {5, 4, 3, 7}, {3, 2, 2, 0, 2, 3});
            }
        }
    }
    add_conv_2d(list, {8, 6, 0, 2}, {3, 3, 0, 4}, GGML_TYPE_F32, GGML_TYPE_F32, {1, 1, 1, 1, 1, 1},
                kPlain);
    add_conv_2d(list, {8, 6, 3, 0}, {3, 3, 3, 4}, GGML_TYPE_F32, GGML_TYPE_F32, {1, 1, 1, 1, 1, 1},
                kPlain);
}

// ---- CONV_3D ----------------------------------------------------------------------------------

struct Strides3d {
    int s[3], p[3], d[3];
};

void add_conv_3d(CaseList& list, const Shape& size, const Shape& taps, int n_batch, int n_in,
                 int n_out, ggml_type data, ggml_type kernel, const Strides3d& g, bool inset) {
    const Shape b{size[0], size[1], size[2], int64_t{n_in} * n_batch};
    const Shape a{taps[0], taps[1], taps[2], int64_t{n_in} * n_out};
    list.add({.op = "CONV_3D",
              .params = params("N", n_batch, "IC", n_in, "OC", n_out, "ne_input", b, "ne_kernel", a,
                               "s", Shape(g.s[0], g.s[1], g.s[2]), "p",
                               Shape(g.p[0], g.p[1], g.p[2]), "d", Shape(g.d[0], g.d[1], g.d[2]),
                               "type_input", data, "type_kernel", kernel, "inset", inset),
              .max_nmse = kLimit,
              .build = [=](GraphMaker& m) {
                  ggml_tensor* y = operand(m, kernel, a, inset ? kInset : kPlain);
                  ggml_tensor* x = operand(m, data, b, inset ? kInset : kPlain);
                  return ggml_conv_3d_direct(m.ctx, y, x, g.s[0], g.s[1], g.s[2], g.p[0], g.p[1],
                                             g.p[2], g.d[0], g.d[1], g.d[2], n_in, n_batch, n_out);
              }});
}

void conv_3d_cases(CaseList& list) {
    const Shape size{20, 22, 18};
    const auto add = [&](const Shape& taps, ggml_type type, const Strides3d& g) {
        for (const int n_batch : {1, 2}) {
            for (const int n_in : {1, 3}) {
                for (const int n_out : {1, 4}) {
                    add_conv_3d(list, size, taps, n_batch, n_in, n_out, GGML_TYPE_F32, type, g,
                                false);
                }
            }
        }
    };
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        for (const int s : {1, 2}) {
            for (const int p : {0, 1}) {
                for (const int d : {1, 2}) add({3, 3, 3}, type, {{s, s, s}, {p, p, p}, {d, d, d}});
            }
        }
        add({5, 1, 3}, type, {{2, 1, 1}, {2, 0, 1}, {1, 1, 2}});
        add_conv_3d(list, {8, 8, 8}, {1, 1, 1}, 1, 4, 8, GGML_TYPE_F32, type,
                    {{1, 1, 1}, {0, 0, 0}, {1, 1, 1}}, false);
    }
    for (const ggml_type data : kFloatTypes) {
        for (const bool inset : {false, true}) {
            add_conv_3d(list, {9, 7, 5}, {3, 2, 4}, 2, 5, 17, data, GGML_TYPE_BF16,
                        {{1, 2, 1}, {2, 0, 3}, {1, 1, 2}}, inset);
            add_conv_3d(list, {5, 4, 3}, {3, 3, 3}, 1, 30, 14, data, GGML_TYPE_F32,
                        {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, inset);
        }
    }
}

// ---- CONV_2D_DW -------------------------------------------------------------------------------

void conv_2d_dw_cases(CaseList& list) {
    struct Row {
        Shape data;
        int64_t kw, kh;
        int stride, padding, dilation;
    };
    const Row kRows[] = {
        {{17, 34, 9, 1}, 3, 3, 1, 0, 1}, {{32, 8, 64, 1}, 3, 3, 2, 1, 1},
        {{8, 6, 3, 1}, 1, 1, 1, 0, 1},   {{8, 6, 42, 2}, 3, 3, 2, 1, 1},
        {{8, 6, 8, 3}, 5, 5, 1, 2, 2},   {{67, 5, 17, 2}, 4, 3, 1, 2, 1},
        {{3, 3, 33, 1}, 7, 7, 1, 3, 1},  {{1, 1, 1, 1}, 1, 1, 1, 0, 1},
    };
    for (const Row& row : kRows) {
        const Shape taps{row.kw, row.kh, 1, row.data[2]};
        for (const ggml_type data : kFloatTypes) {
            for (const ggml_type kernel : kFloatTypes) {
                // 3: channels of the data innermost, not those of the kernel
                for (const int layout : {0, 1, 2, 3}) {
                    list.add({.op = "CONV_2D_DW",
                              .params = params("ne_input", row.data, "ne_kernel", taps,
                                               "type_input", data, "type_kernel", kernel, "stride",
                                               row.stride, "padding", row.padding, "dilation",
                                               row.dilation, "layout", layout),
                              .max_nmse = data == GGML_TYPE_F32 ? 1e-7 : kLimit,
                              .build = [=](GraphMaker& m) {
                                  ggml_tensor* a =
                                      layout == 1
                                          ? m.permuted(kernel, taps, {3, 0, 1, 2})
                                          : operand(m, kernel, taps, layout == 2 ? kInset : kPlain);
                                  const Layout of_data[] = {kPlain, kChannelsFirst, kInset,
                                                            kChannelsFirst};
                                  ggml_tensor* b = operand(m, data, row.data, of_data[layout]);
                                  return ggml_conv_2d_dw_direct(m.ctx, a, b, row.stride, row.stride,
                                                                row.padding, row.padding,
                                                                row.dilation, row.dilation);
                              }});
                }
            }
        }
    }
}

// ---- CONV_TRANSPOSE_1D, CONV_TRANSPOSE_2D -----------------------------------------------------

void add_transpose_1d(CaseList& list, const Shape& data, const Shape& kernel, int stride,
                      ggml_type data_type, ggml_type kernel_type, Layout layout = kPlain) {
    const bool exact = data_type == GGML_TYPE_F32 && kernel_type == GGML_TYPE_F32;
    list.add({.op = "CONV_TRANSPOSE_1D",
              .params =
                  params("ne_input", data, "ne_kernel", kernel, "s0", stride, "type_input",
                         data_type, "type_kernel", kernel_type, "layout", static_cast<int>(layout)),
              .max_nmse = exact ? 1e-7 : kLimit,
              .build = [=](GraphMaker& m) {
                  ggml_tensor* a = layout == kChannelsFirst
                                       ? m.permuted(kernel_type, kernel, {2, 1, 0, 3})
                                       : operand(m, kernel_type, kernel, layout);
                  ggml_tensor* b = layout == kChannelsFirst
                                       ? m.permuted(data_type, data, {1, 0, 2, 3})
                                       : operand(m, data_type, data, layout);
                  return ggml_conv_transpose_1d(m.ctx, a, b, stride, 0, 1);
              }});
}

void transpose_1d_cases(CaseList& list) {
    for (const int stride : {1, 2, 3}) {
        for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
            for (const int64_t n_out : {1, 9}) {
                for (const int64_t n_in : {1, 7}) {
                    for (const int64_t taps : {1, 3, 1337}) {
                        for (const int64_t length : {1, 2, 13}) {
                            add_transpose_1d(list, {length, n_in}, {taps, n_out, n_in}, stride,
                                             GGML_TYPE_F32, type);
                        }
                    }
                }
            }
            for (const Shape& kernel : {Shape{2, 3, 2}, Shape{3, 2, 2}, Shape{3, 1, 2}})
                add_transpose_1d(list, {3, 2}, kernel, stride, GGML_TYPE_F32, type);
        }
        for (const ggml_type data : kFloatTypes) {
            for (const Layout layout : {kPlain, kChannelsFirst, kInset}) {
                add_transpose_1d(list, {131, 33}, {5, 3, 33}, stride, data, GGML_TYPE_BF16, layout);
                add_transpose_1d(list, {65, 1}, {17, 5, 1}, stride, data, GGML_TYPE_F32, layout);
            }
        }
    }
    add_transpose_1d(list, {197, 32}, {16, 32, 32}, 1, GGML_TYPE_F32, GGML_TYPE_F32);
    add_transpose_1d(list, {300, 64}, {16, 40, 64}, 8, GGML_TYPE_F32, GGML_TYPE_F32);
    add_transpose_1d(list, {1584, 32}, {16, 32, 32}, 1, GGML_TYPE_F32, GGML_TYPE_F32);
}

void transpose_2d_cases(CaseList& list) {
    struct Row {
        Shape data, kernel;
        int stride;
    };
    const Row kRows[] = {
        {{3, 2, 3, 1}, {2, 2, 1, 3}, 1},       {{10, 10, 9, 1}, {3, 3, 1, 9}, 2},
        {{129, 63, 35, 1}, {3, 3, 48, 35}, 1}, {{3, 2, 2, 1}, {2, 2, 3, 2}, 1},
        {{3, 2, 2, 1}, {2, 2, 3, 2}, 2},       {{3, 2, 2, 1}, {2, 2, 3, 2}, 3},
        {{17, 5, 19, 3}, {4, 3, 5, 19}, 2},    {{33, 31, 8, 2}, {2, 5, 13, 8}, 1},
        {{1, 1, 1, 1}, {1, 1, 1, 1}, 4},       {{7, 9, 0, 1}, {3, 3, 2, 0}, 2},
    };
    for (const Row& row : kRows) {
        for (const ggml_type data : kFloatTypes) {
            for (const ggml_type kernel : kFloatTypes) {
                for (const Layout layout : {kPlain, kChannelsFirst, kInset}) {
                    list.add({.op = "CONV_TRANSPOSE_2D",
                              .params = params("ne_input", row.data, "ne_kernel", row.kernel,
                                               "type_input", data, "kernel_type", kernel, "stride",
                                               row.stride, "layout", static_cast<int>(layout)),
                              .max_nmse = kLimit,
                              .build = [=](GraphMaker& m) {
                                  return ggml_conv_transpose_2d_p0(
                                      m.ctx, operand(m, kernel, row.kernel, layout),
                                      operand(m, data, row.data, layout), row.stride);
                              }});
                }
            }
        }
    }
}

}  // namespace

void conv_cases(CaseList& list) {
    conv_2d_cases(list);
    conv_3d_cases(list);
    conv_2d_dw_cases(list);
    transpose_1d_cases(list);
    transpose_2d_cases(list);
    patch_cases(list);
}

}  // namespace tenon::conformance
