// CONV_2D_DW: every channel with a kernel of its own, dst[x, y, c, n] = sum over ky, kx of
//     a[kx, ky, 0, c] * b[x*s0 + kx*d0 - p0, y*s1 + ky*d1 - p1, c, n].
// Vectors run along the channels where those are dense in all three, else along the width.

#include <numeric>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/axis.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

using simd::f32;

struct Plane {
    Axis x, y;

    explicit Plane(const ggml_tensor& node) {
        const auto p = params_of<tenon_conv_2d_dw_params>(node);
        const ggml_tensor &a = *node.src[0], &b = *node.src[1];
        x = {b.ne[0], node.ne[0], a.ne[0], p.s0, p.p0, p.d0};
        y = {b.ne[1], node.ne[1], a.ne[1], p.s1, p.p1, p.d1};
    }
};

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    if (!is_float_type(a.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!is_float_type(b.type)) return no(TENON_REASON_TYPE, "src1 must be f32, f16 or bf16");
    return yes();
}

// ---- along the width --------------------------------------------------------------------------

// Taps whose distance is a multiple of the stride read the same elements of a row, some further on:
// tap j + q*period reads element x + q*step of
//     phase j: the padded row's elements i*stride + j*dilation - padding, i = 0, 1 …
// So a row is unravelled phase by phase, and the sums run over dense floats.
struct Phases {
    int64_t period, step, most;  // elements of the longest phase

    explicit Phases(const Axis& x) {
        const int64_t common = std::gcd(x.stride, x.dilation);
        period = x.stride / common;
        step = x.dilation / common;
        most = x.n_out + std::max<int64_t>(x.n_taps - 1, 0) / period * step;
    }
};

template <class T>
void unravel(const Axis& x, int64_t j, int64_t n, const char* src, size_t stride, float* phase) {
    const Axis elements{x.n_in, n, 1, x.stride, x.padding - j * x.dilation, 1};
    const Range inside = elements.outputs_inside(0);
    std::fill(phase, phase + inside.begin, 0.0f);
    std::fill(phase + inside.end, phase + n, 0.0f);
    if (inside.begin == inside.end) return;
    src += static_cast<size_t>(elements.input(inside.begin, 0)) * stride;
    stride *= static_cast<size_t>(x.stride);
    if (stride == sizeof(T)) {
        return simd::convert(phase + inside.begin, reinterpret_cast<const T*>(src),
                             inside.end - inside.begin);
    }
    for (int64_t i = inside.begin; i < inside.end; ++i, src += stride)
        phase[i] = simd::to_f32(*reinterpret_cast<const T*>(src));
}

size_t member_bytes(const ggml_tensor& node) {  // a row of sums and a phase
    const Plane plane(node);
    const int64_t floats = plane.x.n_out + Phases(plane.x).most;
    return (static_cast<size_t>(floats) * sizeof(float) + 63) / 64 * 64;
}

// sums += what the taps of kernel row ky make of a row of b
template <class A, class B>
void add_kernel_row(const ggml_tensor& node, const Axis& x, const Phases& phases, int64_t ky,
                    int64_t c, const char* src, float* sums, float* phase) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    for (int64_t j = 0; j < std::min(phases.period, x.n_taps); ++j) {
        const int64_t n = x.n_out + (x.n_taps - 1 - j) / phases.period * phases.step;
        unravel<B>(x, j, n, src, b.nb[0], phase);
        const float* at = phase;
        for (int64_t kx = j; kx < x.n_taps; kx += phases.period, at += phases.step) {
            const float weight = simd::to_f32(*element<const A>(a, kx, ky, 0, c));
            simd::add_scaled(sums, at, x.n_out, weight);
        }
    }
}

template <class A, class B>
void run_along_width(const Task& task, const ggml_tensor& node, const Plane& plane) {
    const ggml_tensor& b = *node.src[1];
    const Phases phases(plane.x);
    const int64_t width = node.ne[0];
    auto* sums = reinterpret_cast<float*>(static_cast<char*>(task.workspace) +
                                          member_bytes(node) * static_cast<size_t>(task.ith));
    float* phase = sums + width;
    for_each_row(task, node, [&](int64_t y, int64_t c, int64_t n) {
        std::fill(sums, sums + width, 0.0f);
        const Range down = plane.y.taps_inside(y);
        for (int64_t ky = down.begin; ky < down.end; ++ky) {
            add_kernel_row<A, B>(node, plane.x, phases, ky, c,
                                 row<const char>(b, plane.y.input(y, ky), c, n), sums, phase);
        }
        if (node.nb[0] == sizeof(B)) return simd::convert(row<B>(node, y, c, n), sums, width);
        for (int64_t x = 0; x < width; ++x) simd::set_f32(element<B>(node, x, y, c, n), sums[x]);
    });
}

size_t workspace(const ggml_tensor& node, int n_threads) {
    return member_bytes(node) * static_cast<size_t>(n_threads);
}

// ---- along the channels -----------------------------------------------------------------------

template <class A, class B>
void run_along_channels(const Task& task, const ggml_tensor& node, const Plane& plane) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    const int64_t width = node.ne[0], height = node.ne[1];
    const Range pixels = share(task, width * height * node.ne[3]);
    for (int64_t i = pixels.begin; i < pixels.end; ++i) {
        const int64_t x = i % width, y = i / width % height, n = i / (width * height);
        const Range across = plane.x.taps_inside(x), down = plane.y.taps_inside(y);
        for (int64_t c = 0; c < node.ne[2]; c += f32::lanes) {
            const int count = static_cast<int>(std::min<int64_t>(f32::lanes, node.ne[2] - c));
            const auto read = [&](const auto* p) {
                return count == f32::lanes ? simd::load(p) : simd::load_some(p, count);
            };
            f32 sum = simd::splat(0.0f);
            for (int64_t ky = down.begin; ky < down.end; ++ky) {
                for (int64_t kx = across.begin; kx < across.end; ++kx) {
                    const int64_t ix = plane.x.input(x, kx), iy = plane.y.input(y, ky);
                    sum = simd::fma(read(element<const B>(b, ix, iy, c, n)),
                                    read(element<const A>(a, kx, ky, 0, c)), sum);
                }
            }
            B* dst = element<B>(node, x, y, c, n);
            if (count == f32::lanes) {
                simd::store(dst, sum);
            } else {
                simd::store_some(dst, sum, count);
            }
        }
    }
}

template <class A, class B>
void run_types(const Task& task, const ggml_tensor& node) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    const bool channels_are_dense =
        a.nb[3] == sizeof(A) && b.nb[2] == sizeof(B) && node.nb[2] == sizeof(B) && b.ne[2] > 1;
    if (channels_are_dense) return run_along_channels<A, B>(task, node, Plane(node));
    run_along_width<A, B>(task, node, Plane(node));
}

void run(const Task& task, const ggml_tensor& node) {
    with_float_type(node.src[0]->type, [&]<class A>() {
        with_float_type(node.type, [&]<class B>() { run_types<A, B>(task, node); });
    });
}

// No tiles: every tap is loaded for itself.
double slowness(const ggml_tensor&) { return 5; }

}  // namespace

extern constinit const Kernel kConv2dDw{supports, run, workspace, slowness};

}  // namespace tenon::cpu
