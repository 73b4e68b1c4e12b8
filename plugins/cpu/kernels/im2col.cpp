// IM2COL, IM2COL_3D: the patches that a kernel lies over, one row per position, with zeros where
// they reach outside. IM2COL_BACK: its transpose, every value of the patches added to where it came
// from. COL2IM_1D: columns added up where they overlap. Axis 0 is width, 1 height, 2 depth.

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/axis.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

// ---- IM2COL, IM2COL_3D ------------------------------------------------------------------------

struct Patches {
    Axis axis[3];
    int64_t n_channels, n_batch;
    size_t nb[3], channel_nb, batch_nb;  // of the data, in bytes

    int64_t size() const { return n_channels * axis[0].n_taps * axis[1].n_taps * axis[2].n_taps; }
};

Patches patches_of(const ggml_tensor& node) {
    const auto p = params_of<tenon_im2col_params>(node);
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    const Axis width{b.ne[0], node.ne[1], a.ne[0], p.s0, p.p0, p.d0};
    if (p.is_2d == 0) {
        return {{width, {}, {}}, b.ne[1], b.ne[2], {b.nb[0], 0, 0}, b.nb[1], b.nb[2]};
    }
    const Axis height{b.ne[1], node.ne[2], a.ne[1], p.s1, p.p1, p.d1};
    return {{width, height, {}}, b.ne[2], b.ne[3], {b.nb[0], b.nb[1], 0}, b.nb[2], b.nb[3]};
}

// The batches of a 3-D node lie behind each other along dimension 3, in the data and in dst.
Patches patches_3d_of(const ggml_tensor& node) {
    const auto p = params_of<tenon_im2col_3d_params>(node);
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    const int64_t n_batch = p.n_channels > 0 ? b.ne[3] / p.n_channels : 0;
    const int64_t n_deep = n_batch > 0 ? node.ne[3] / n_batch : 0;
    return {{{b.ne[0], node.ne[1], a.ne[0], p.s0, p.p0, p.d0},
             {b.ne[1], node.ne[2], a.ne[1], p.s1, p.p1, p.d1},
             {b.ne[2], n_deep, a.ne[2], p.s2, p.p2, p.d2}},
            p.n_channels,
            n_batch,
            {b.nb[0], b.nb[1], b.nb[2]},
            b.nb[3],
            b.nb[3] * static_cast<size_t>(p.n_channels)};
}

Verdict supports_patches(const ggml_tensor& node) {
    if (!is_float_type(node.src[1]->type))
        return no(TENON_REASON_TYPE, "src1 must be f32, f16 or bf16");
    if (!is_float_type(node.type)) return no(TENON_REASON_TYPE, "dst must be f32, f16 or bf16");
    if (!is_contiguous(node)) return no(TENON_REASON_STRIDES, "dst is not contiguous");
    return yes();
}

template <class D, class S>
void convert_one(D* dst, const char* src) {
    if constexpr (std::is_same_v<D, S>) {
        *dst = *reinterpret_cast<const S*>(src);
    } else {
        simd::set_f32(dst, simd::to_f32(*reinterpret_cast<const S*>(src)));
    }
}

// The taps along the width at one position, `inside` of them from src on.
template <class D, class S>
void write_taps(D* dst, const char* src, size_t step, int64_t n_taps, Range inside) {
    if (step == sizeof(S) && inside.end - inside.begin >= simd::f32::lanes) {
        std::fill(dst, dst + inside.begin, D{});
        simd::convert(dst + inside.begin, reinterpret_cast<const S*>(src),
                      inside.end - inside.begin);
        std::fill(dst + inside.end, dst + n_taps, D{});
        return;
    }
    for (int64_t k = 0; k < inside.begin; ++k) dst[k] = D{};
    for (int64_t k = inside.begin; k < inside.end; ++k, src += step)
        convert_one<D, S>(dst + k, src);
    for (int64_t k = inside.end; k < n_taps; ++k) dst[k] = D{};
}

// The patch at position (x, y, z) of a batch. kTaps: taps along the width, all of them inside; 0:
// any number, some of them outside.
template <class D, class S, int kTaps>
void write_patch(const Patches& p, const char* batch, int64_t x, int64_t y, int64_t z, D* dst) {
    const int64_t n_taps = p.axis[0].n_taps;
    const size_t step = static_cast<size_t>(p.axis[0].dilation) * p.nb[0];
    const Range across = p.axis[0].taps_inside(x);
    const bool any = across.begin < across.end;
    const int64_t first = any ? p.axis[0].input(x, across.begin) : 0;
    const char* channel = batch + static_cast<size_t>(first) * p.nb[0];
    for (int64_t c = 0; c < p.n_channels; ++c, channel += p.channel_nb) {
        for (int64_t kz = 0; kz < p.axis[2].n_taps; ++kz) {
            const int64_t iz = p.axis[2].input(z, kz);
            for (int64_t ky = 0; ky < p.axis[1].n_taps; ++ky, dst += n_taps) {
                const int64_t iy = p.axis[1].input(y, ky);
                if (!any || !p.axis[1].has(iy) || !p.axis[2].has(iz)) {
                    std::fill(dst, dst + n_taps, D{});
                    continue;
                }
                const char* src =
                    channel + static_cast<size_t>(iz) * p.nb[2] + static_cast<size_t>(iy) * p.nb[1];
                if constexpr (kTaps > 0) {
                    for (int k = 0; k < kTaps; ++k)
                        convert_one<D, S>(dst + k, src + static_cast<size_t>(k) * step);
                } else {
                    write_taps<D, S>(dst, src, step, n_taps, across);
                }
            }
        }
    }
}

void run_patches(const Task& task, const ggml_tensor& node, const Patches& p) {
    const ggml_tensor& b = *node.src[1];
    const int64_t width = p.axis[0].n_out, height = p.axis[1].n_out, deep = p.axis[2].n_out;
    const Range rows = share(task, tenon_nrows(&node));
    with_float_type(node.type, [&]<class D>() {
        with_float_type(b.type, [&]<class S>() {
            for (int64_t i = rows.begin; i < rows.end; ++i) {
                const int64_t x = i % width, y = i / width % height;
                const int64_t z = i / (width * height) % deep;
                const auto batch = static_cast<size_t>(i / (width * height * deep));
                const Range across = p.axis[0].taps_inside(x);
                const bool three = p.axis[0].n_taps == 3 && across.end - across.begin == 3;
                const auto write = three ? write_patch<D, S, 3> : write_patch<D, S, 0>;
                write(p, static_cast<const char*>(b.data) + batch * p.batch_nb, x, y, z,
                      static_cast<D*>(node.data) + i * node.ne[0]);
            }
        });
    });
}

void run_im2col(const Task& task, const ggml_tensor& node) {
    run_patches(task, node, patches_of(node));
}
void run_im2col_3d(const Task& task, const ggml_tensor& node) {
    run_patches(task, node, patches_3d_of(node));
}

// ---- IM2COL_BACK ------------------------------------------------------------------------------

// dst is [w, h, c, n], or [l, c, n] in one dimension; src0 are patches, src1 the kernel.
struct Folded {
    Axis x, y;
    bool is_2d;
    int64_t n_channels;
};

Folded folded_of(const ggml_tensor& node) {
    const auto p = params_of<tenon_im2col_back_params>(node);
    const ggml_tensor &a = *node.src[0], &kernel = *node.src[1];
    const Axis x{node.ne[0], a.ne[1], kernel.ne[0], p.s0, p.p0, p.d0};
    if (p.is_2d == 0) return {x, {}, false, node.ne[1]};
    return {x, {node.ne[1], a.ne[2], kernel.ne[1], p.s1, p.p1, p.d1}, true, node.ne[2]};
}

Verdict supports_back(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    if (!is_float_type(a.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(a)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// Row `iy` of channel c: what the patches at (0 … width, y) hold for it, in their tap row ky.
template <class T>
void add_patch_row(const Folded& f, const char* patches, size_t patch_nb, int64_t c, int64_t ky,
                   float* dst) {
    const int64_t first = (c * f.y.n_taps + ky) * f.x.n_taps;
    for (int64_t x = 0; x < f.x.n_out; ++x) {
        const T* taps =
            reinterpret_cast<const T*>(patches + static_cast<size_t>(x) * patch_nb) + first;
        const Range inside = f.x.taps_inside(x);
        for (int64_t kx = inside.begin; kx < inside.end; ++kx)
            dst[f.x.input(x, kx)] += simd::to_f32(taps[kx]);
    }
}

void run_back(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const Folded f = folded_of(node);
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        const int64_t iy = f.is_2d ? i1 : 0, c = f.is_2d ? i2 : i1, n = f.is_2d ? i3 : i2;
        float* dst = row<float>(node, i1, i2, i3);
        std::fill(dst, dst + node.ne[0], 0.0f);
        for (int64_t ky = 0; ky < f.y.n_taps; ++ky) {
            // the y with y*stride + ky*dilation - padding = iy
            const int64_t at = iy - f.y.input(0, ky);
            if (at < 0 || at % f.y.stride != 0 || at / f.y.stride >= f.y.n_out) continue;
            const int64_t y = at / f.y.stride;
            const char* patches =
                f.is_2d ? row<const char>(a, 0, y, n) : row<const char>(a, 0, n, 0);
            with_float_type(a.type,
                            [&]<class T>() { add_patch_row<T>(f, patches, a.nb[1], c, ky, dst); });
        }
    });
}

// ---- COL2IM_1D --------------------------------------------------------------------------------

Verdict supports_col2im(const ggml_tensor& node) {
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

void run_col2im(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const auto p = params_of<tenon_col2im_1d_params>(node);
    const int64_t n_taps = a.ne[0] / p.n_channels_out, n_cols = a.ne[1], stride = p.s0;
    with_float_type(node.type, [&]<class T>() {
        for_each_piece(task, node, [&](int64_t begin, int64_t end, int64_t o, int64_t, int64_t) {
            const char* taps =
                static_cast<const char*>(a.data) + static_cast<size_t>(o * n_taps) * sizeof(T);
            T* dst = row<T>(node, o);
            for (int64_t u = begin; u < end; ++u) {
                const int64_t at = u + p.p0;  // column t holds it in tap at - t*stride
                const int64_t last = std::min(at / stride, n_cols - 1);
                const int64_t beyond = at - n_taps;
                float sum = 0.0f;
                for (int64_t t = beyond < 0 ? 0 : beyond / stride + 1; t <= last; ++t) {
                    sum += simd::to_f32(reinterpret_cast<const T*>(
                        taps + static_cast<size_t>(t) * a.nb[1])[at - t * stride]);
                }
                simd::set_f32(dst + u, sum);
            }
        });
    });
}

// Elements find their places one by one.
double slowness(const ggml_tensor&) { return 20; }

}  // namespace

extern constinit const Kernel kIm2col{supports_patches, run_im2col, nullptr, slowness};
extern constinit const Kernel kIm2colBack{supports_back, run_back, nullptr, slowness};
extern constinit const Kernel kIm2col3d{supports_patches, run_im2col_3d, nullptr, slowness};
extern constinit const Kernel kCol2im1d{supports_col2im, run_col2im, nullptr, slowness};

}  // namespace tenon::cpu
