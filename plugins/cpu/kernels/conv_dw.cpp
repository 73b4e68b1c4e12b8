// CONV_2D_DW: every channel with a kernel of its own,
// dst[x, y, c, n] = sum over ky, kx of a[kx, ky, 0, c] * b[x*s0 + kx*d0 - p0, y*s1 + ky*d1 - p1, c,
// n]. Vectors run along the width where it is dense, along the channels where those are; any other
// layout is computed one element at a time.

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
    if (node.type != b.type) return no(TENON_REASON_TYPE_MIX, "dst must have the type of src1");
    if (a.ne[2] != 1 || a.ne[3] != b.ne[2] || b.ne[2] != node.ne[2] || b.ne[3] != node.ne[3])
        return no(TENON_REASON_SHAPE, "channels or batches of sources and dst differ");
    const Plane plane(node);
    if (!plane.x.is_sane() || !plane.y.is_sane())
        return no(TENON_REASON_OP_PARAM, "a stride or dilation is below 1");
    return yes();
}

template <class T>
float value(const ggml_tensor& t, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return simd::to_f32(*element<const T>(t, i0, i1, i2, i3));
}

// One element of dst.
template <class A, class B>
void compute_one(const ggml_tensor& node, const Plane& plane, int64_t x, int64_t y, int64_t c,
                 int64_t n) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    const Range across = plane.x.taps_inside(x), down = plane.y.taps_inside(y);
    float sum = 0.0f;
    for (int64_t ky = down.begin; ky < down.end; ++ky) {
        for (int64_t kx = across.begin; kx < across.end; ++kx) {
            sum += value<A>(a, kx, ky, 0, c) *
                   value<B>(b, plane.x.input(x, kx), plane.y.input(y, ky), c, n);
        }
    }
    simd::set_f32(element<B>(node, x, y, c, n), sum);
}

// Outputs [x, x + count) of a row whose inputs are dense and all inside, count <= lanes.
template <class A, class B>
f32 sum_across(const ggml_tensor& node, const Plane& plane, Range down, int64_t x, int64_t y,
               int64_t c, int64_t n, int count) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    f32 sum = simd::splat(0.0f);
    for (int64_t ky = down.begin; ky < down.end; ++ky) {
        const B* src = row<const B>(b, plane.y.input(y, ky), c, n) + plane.x.input(x, 0);
        for (int64_t kx = 0; kx < plane.x.n_taps; ++kx, src += plane.x.dilation) {
            const f32 in = count == f32::lanes ? simd::load(src) : simd::load_some(src, count);
            sum = simd::fma(in, simd::splat(value<A>(a, kx, ky, 0, c)), sum);
        }
    }
    return sum;
}

template <class A, class B>
void run_along_width(const Task& task, const ggml_tensor& node, const Plane& plane) {
    // Where every tap is inside: from the first tap's first to the last tap's last output.
    const int64_t begin = plane.x.outputs_inside(0).begin;
    const int64_t end = std::max(begin, plane.x.outputs_inside(plane.x.n_taps - 1).end);
    for_each_row(task, node, [&](int64_t y, int64_t c, int64_t n) {
        const Range down = plane.y.taps_inside(y);
        B* dst = row<B>(node, y, c, n);
        int64_t x = 0;
        for (; x < begin; ++x) compute_one<A, B>(node, plane, x, y, c, n);
        for (; x < end; x += f32::lanes) {
            const int count = static_cast<int>(std::min<int64_t>(f32::lanes, end - x));
            const f32 sum = sum_across<A, B>(node, plane, down, x, y, c, n, count);
            if (count == f32::lanes) {
                simd::store(dst + x, sum);
            } else {
                simd::store_some(dst + x, sum, count);
            }
        }
        for (x = end; x < node.ne[0]; ++x) compute_one<A, B>(node, plane, x, y, c, n);
    });
}

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
    const Plane plane(node);
    if (b.nb[2] == sizeof(B) && node.nb[2] == sizeof(B) && a.nb[3] == sizeof(A) && b.ne[2] > 1)
        return run_along_channels<A, B>(task, node, plane);
    if (plane.x.stride == 1 && plane.x.n_taps > 0 && b.nb[0] == sizeof(B) &&
        node.nb[0] == sizeof(B)) {
        return run_along_width<A, B>(task, node, plane);
    }
    for_each_row(task, node, [&](int64_t y, int64_t c, int64_t n) {
        for (int64_t x = 0; x < node.ne[0]; ++x) compute_one<A, B>(node, plane, x, y, c, n);
    });
}

void run(const Task& task, const ggml_tensor& node) {
    with_float_type(node.src[0]->type, [&]<class A>() {
        with_float_type(node.type, [&]<class B>() { run_types<A, B>(task, node); });
    });
}

double cost_ns(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    return 20 + static_cast<double>(tenon_nelements(&node)) *
                    (0.5 + 0.2 * static_cast<double>(a.ne[0] * a.ne[1]));
}

}  // namespace

extern constinit const Kernel kConv2dDw{GGML_OP_CONV_2D_DW, supports, run, nullptr, cost_ns};

}  // namespace tenon::cpu
