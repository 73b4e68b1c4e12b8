// References: convolutions and the patches they are made of. Axis 0 is width, 1 height, 2 depth.

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

bool inside(const Values& v, int64_t i0, int64_t i1, int64_t i2) {
    return i0 >= 0 && i0 < v.ne[0] && i1 >= 0 && i1 < v.ne[1] && i2 >= 0 && i2 < v.ne[2];
}

// Element of a tensor with zeros around it along dimensions 0, 1 and 2.
double padded(const Values& v, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return inside(v, i0, i1, i2) ? v(i0, i1, i2, i3) : 0.0;
}

// a: [kw, kh, c, o], b: [w, h, c, n]
void conv_2d(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_conv_2d_params>(node);
    const Values a = source(node, 0), b = source(node, 1);
    for_each_index(out, [&](int64_t x, int64_t y, int64_t o, int64_t n) {
        double sum = 0;
        for (int64_t c = 0; c < a.ne[2]; ++c) {
            for (int64_t ky = 0; ky < a.ne[1]; ++ky) {
                for (int64_t kx = 0; kx < a.ne[0]; ++kx) {
                    sum += a(kx, ky, c, o) * padded(b, x * p.s0 + kx * p.d0 - p.p0,
                                                    y * p.s1 + ky * p.d1 - p.p1, c, n);
                }
            }
        }
        out(x, y, o, n) = sum;
    });
}

// a: [kw, kh, kd, o*c], b: [w, h, d, n*c]
void conv_3d(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_conv_3d_params>(node);
    const Values a = source(node, 0), b = source(node, 1);
    for_each_index(out, [&](int64_t x, int64_t y, int64_t z, int64_t plane) {
        const int64_t o = plane % p.n_channels_out, n = plane / p.n_channels_out;
        double sum = 0;
        for (int64_t c = 0; c < p.n_channels; ++c) {
            for (int64_t kz = 0; kz < a.ne[2]; ++kz) {
                for (int64_t ky = 0; ky < a.ne[1]; ++ky) {
                    for (int64_t kx = 0; kx < a.ne[0]; ++kx) {
                        sum += a(kx, ky, kz, o * p.n_channels + c) *
                               padded(b, x * p.s0 + kx * p.d0 - p.p0, y * p.s1 + ky * p.d1 - p.p1,
                                      z * p.s2 + kz * p.d2 - p.p2, n * p.n_channels + c);
                    }
                }
            }
        }
        out(x, y, z, plane) = sum;
    });
}

// a: [kw, kh, 1, c], b: [w, h, c, n]
void conv_2d_dw(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_conv_2d_dw_params>(node);
    const Values a = source(node, 0), b = source(node, 1);
    for_each_index(out, [&](int64_t x, int64_t y, int64_t c, int64_t n) {
        double sum = 0;
        for (int64_t ky = 0; ky < a.ne[1]; ++ky) {
            for (int64_t kx = 0; kx < a.ne[0]; ++kx) {
                sum += a(kx, ky, 0, c) *
                       padded(b, x * p.s0 + kx * p.d0 - p.p0, y * p.s1 + ky * p.d1 - p.p1, c, n);
            }
        }
        out(x, y, c, n) = sum;
    });
}

// a: [k, o, c], b: [l, c]
void conv_transpose_1d(const ggml_tensor& node, Result& out) {
    const int64_t stride = params_of<tenon_conv_transpose_1d_params>(node).s0;
    const Values a = source(node, 0), b = source(node, 1);
    std::fill(out.v.begin(), out.v.end(), 0.0);
    for_each_index(a, [&](int64_t k, int64_t o, int64_t c, int64_t) {
        for (int64_t i = 0; i < b.ne[0]; ++i) out(i * stride + k, o) += a(k, o, c) * b(i, c);
    });
}

// a: [kw, kh, o, c], b: [w, h, c, n]
void conv_transpose_2d(const ggml_tensor& node, Result& out) {
    const int64_t stride = params_of<tenon_conv_transpose_2d_params>(node).stride;
    const Values a = source(node, 0), b = source(node, 1);
    std::fill(out.v.begin(), out.v.end(), 0.0);
    for_each_index(a, [&](int64_t kx, int64_t ky, int64_t o, int64_t c) {
        for (int64_t n = 0; n < b.ne[3]; ++n) {
            for (int64_t y = 0; y < b.ne[1]; ++y) {
                for (int64_t x = 0; x < b.ne[0]; ++x)
                    out(x * stride + kx, y * stride + ky, o, n) += a(kx, ky, o, c) * b(x, y, c, n);
            }
        }
    });
}

// Which tap of which channel element k of a patch is: patches are [kw, kh, kd, c] row by row.
struct Tap {
    int64_t x, y, z, channel;
    Tap(int64_t k, int64_t kw, int64_t kh, int64_t kd)
        : x(k % kw), y(k / kw % kh), z(k / (kw * kh) % kd), channel(k / (kw * kh * kd)) {}
};

// Two dimensions: a: [kw, kh, c, o], b: [w, h, c, n]; one: a: [k, c, o], b: [l, c, n].
void im2col(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_im2col_params>(node);
    const int64_t* kernel = node.src[0]->ne;
    const Values b = source(node, 1);
    for_each_index(out, [&](int64_t k, int64_t x, int64_t y, int64_t n) {
        if (p.is_2d) {
            const Tap tap(k, kernel[0], kernel[1], 1);
            out(k, x, y, n) = padded(b, x * p.s0 + tap.x * p.d0 - p.p0,
                                     y * p.s1 + tap.y * p.d1 - p.p1, tap.channel, n);
        } else {  // y counts batches
            const Tap tap(k, kernel[0], 1, 1);
            out(k, x, y) = padded(b, x * p.s0 + tap.x * p.d0 - p.p0, tap.channel, y, 0);
        }
    });
}

// a: [kw, kh, kd, o*c], b: [w, h, d, n*c]
void im2col_3d(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_im2col_3d_params>(node);
    const int64_t* kernel = node.src[0]->ne;
    const Values b = source(node, 1);
    const int64_t n_batch = b.ne[3] / p.n_channels, depth = out.ne[3] / n_batch;
    for_each_index(out, [&](int64_t k, int64_t x, int64_t y, int64_t i3) {
        const Tap tap(k, kernel[0], kernel[1], kernel[2]);
        const int64_t z = i3 % depth, n = i3 / depth;
        out(k, x, y, i3) = padded(b, x * p.s0 + tap.x * p.d0 - p.p0, y * p.s1 + tap.y * p.d1 - p.p1,
                                  z * p.s2 + tap.z * p.d2 - p.p2, n * p.n_channels + tap.channel);
    });
}

// a: patches, the result: what IM2COL reads
void im2col_back(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_im2col_back_params>(node);
    const int64_t* kernel = node.src[1]->ne;
    const Values a = source(node, 0);
    std::fill(out.v.begin(), out.v.end(), 0.0);
    for_each_index(a, [&](int64_t k, int64_t x, int64_t y, int64_t n) {
        const Tap tap(k, kernel[0], p.is_2d ? kernel[1] : 1, 1);
        const int64_t ix = x * p.s0 + tap.x * p.d0 - p.p0;
        const int64_t iy = p.is_2d ? y * p.s1 + tap.y * p.d1 - p.p1 : tap.channel;
        const int64_t i2 = p.is_2d ? tap.channel : y;
        if (inside(out, ix, iy, i2)) out(ix, iy, i2, n) += a(k, x, y, n);
    });
}

// a: [k*o, t]
void col2im_1d(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_col2im_1d_params>(node);
    const Values a = source(node, 0);
    const int64_t n_taps = a.ne[0] / p.n_channels_out;
    std::fill(out.v.begin(), out.v.end(), 0.0);
    for_each_index(a, [&](int64_t i, int64_t t, int64_t, int64_t) {
        const int64_t o = i / n_taps, u = t * p.s0 + i % n_taps - p.p0;
        if (u >= 0 && u < out.ne[0]) out(u, o) += a(i, t);
    });
}

constexpr Reference kTable[] = {
    {GGML_OP_CONV_2D, conv_2d},
    {GGML_OP_CONV_3D, conv_3d},
    {GGML_OP_CONV_2D_DW, conv_2d_dw},
    {GGML_OP_CONV_TRANSPOSE_1D, conv_transpose_1d},
    {GGML_OP_CONV_TRANSPOSE_2D, conv_transpose_2d},
    {GGML_OP_IM2COL, im2col},
    {GGML_OP_IM2COL_3D, im2col_3d},
    {GGML_OP_IM2COL_BACK, im2col_back},
    {GGML_OP_COL2IM_1D, col2im_1d},
};

}  // namespace

const std::span<const Reference> kConvReferences{kTable};

}  // namespace tenon::conformance
