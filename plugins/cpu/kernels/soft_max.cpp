// SOFT_MAX: dst = e^(z - max z) / sum, z = scale*x + slope*mask, row by row. A sink adds to the
// sum. Where every z is -inf, a query that sees no key, dst is 0 as it is in FLASH_ATTN_EXT: what
// is left of the sum when every e^z goes to 0 beside anything else. SOFT_MAX_BACK: dst =
// scale*y*(dy - sum of y*dy), where y is what SOFT_MAX gave.

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/alibi.h"
#include "plugins/cpu/kernels/row_buffer.h"
#include "plugins/cpu/simd/vmath.h"

namespace tenon::cpu {
namespace {

using simd::f32;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const ggml_tensor* sinks = node.src[2];
    if (!is_float_type(x.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    if (sinks && !has_dense_rows(*sinks)) return no(TENON_REASON_STRIDES, "sinks are not dense");
    return yes();
}

// dst = scale*x + slope*mask; returns the maximum. NaN is skipped by the maximum, not by the rest.
template <class X, class M>
float scores(float* dst, const X* x, const M* mask, int64_t n, float scale, float slope) {
    const f32 s = simd::splat(scale), b = simd::splat(slope);
    if (mask) {
        simd::map(dst, x, mask, n, [=](f32 v, f32 m) { return simd::fma(v, s, m * b); });
    } else {
        simd::map(dst, x, n, [=](f32 v) { return v * s; });
    }
    return simd::max_of(dst, n, -kInfinity);
}

bool is_all(const float* x, int64_t n, float value) {
    return std::all_of(x, x + n, [=](float element) { return element == value; });
}

// dst = e^(dst - most); returns the sum.
double exponentials(float* dst, int64_t n, float most) {
    const f32 m = simd::splat(most);
    simd::f64x sum{};
    int64_t i = 0;
    constexpr int kFour = 4 * f32::lanes;
    for (; i + kFour <= n; i += kFour) {  // four vectors are summed in f32, the rest in f64
        f32 e[4];
        TENON_UNROLL
        for (int k = 0; k < 4; ++k) {
            e[k] = simd::exp(simd::load(dst + i + k * f32::lanes) - m);
            simd::store(dst + i + k * f32::lanes, e[k]);
        }
        sum = simd::add_wide(sum, (e[0] + e[1]) + (e[2] + e[3]));
    }
    for (; i + f32::lanes <= n; i += f32::lanes) {
        const f32 e = simd::exp(simd::load(dst + i) - m);
        simd::store(dst + i, e);
        sum = simd::add_wide(sum, e);
    }
    double total = simd::sum(sum);
    if (const int rest = static_cast<int>(n - i)) {
        simd::store_some(dst + i, simd::exp(simd::load_some(dst + i, rest) - m), rest);
        for (; i < n; ++i) total += dst[i];
    }
    return total;
}

// Rows that are not f32 are computed in the member's buffer and rounded once.
template <class X, class M>
void run_types(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const ggml_tensor* mask = node.src[1];
    const float* sinks = node.src[2] ? static_cast<const float*>(node.src[2]->data) : nullptr;
    const auto p = params_of<tenon_soft_max_params>(node);
    const int64_t n = x.ne[0];

    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        const M* m = mask ? row<const M>(*mask, i1, i2 % mask->ne[2], i3 % mask->ne[3]) : nullptr;
        X* dst = row<X>(node, i1, i2, i3);
        float* e;
        if constexpr (std::is_same_v<X, float>) {
            e = dst;
        } else {
            e = row_buffer(task, n);
        }
        const float slope = alibi_slope(i2, x.ne[2], p.max_bias);
        float most = scores(e, row<const X>(x, i1, i2, i3), m, n, p.scale, slope);
        if (sinks) most = std::max(most, sinks[i2]);
        if (most == -kInfinity && is_all(e, n, most)) return simd::fill(dst, n, 0.0f);
        double sum = exponentials(e, n, most);
        if (sinks) sum += std::exp(sinks[i2] - most);
        simd::scale(dst, e, n, static_cast<float>(1.0 / sum));
    });
}

void run(const Task& task, const ggml_tensor& node) {
    with_float_type(node.type, [&]<class X>() {
        with_float_type(node.src[1] ? node.src[1]->type : GGML_TYPE_F32,
                        [&]<class M>() { run_types<X, M>(task, node); });
    });
}

size_t workspace(const ggml_tensor& node, int n_threads) {
    return node.type == GGML_TYPE_F32 ? 0 : row_buffers_bytes(node.ne[0], n_threads);
}

// ---- backward ---------------------------------------------------------------------------------

Verdict supports_back(const ggml_tensor& node) {
    const ggml_tensor& dy = *node.src[0];
    const ggml_tensor& y = *node.src[1];
    if (!is_float_type(dy.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!is_float_type(y.type)) return no(TENON_REASON_TYPE, "src1 must be f32, f16 or bf16");
    if (!has_dense_rows(dy) || !has_dense_rows(y) || !has_dense_rows(node)) {
        return no(TENON_REASON_STRIDES, "rows are not dense");
    }
    if (params_of<tenon_soft_max_back_params>(node).max_bias != 0) {
        return no(TENON_REASON_OP_PARAM, "max_bias must be 0");
    }
    return yes();
}

// Sum of a*b: f32 products, f64 sum.
template <class A, class B>
double wide_dot(const A* a, const B* b, int64_t n) {
    simd::f64x sum{};
    int64_t i = 0;
    for (; i + f32::lanes <= n; i += f32::lanes) {
        sum = simd::add_wide(sum, simd::load(a + i) * simd::load(b + i));
    }
    if (const int rest = static_cast<int>(n - i)) {
        sum = simd::add_wide(sum, simd::load_some(a + i, rest) * simd::load_some(b + i, rest));
    }
    return simd::sum(sum);
}

// dst may be either source: the sum is complete before the first write.
template <class G, class Y>
void run_back_types(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& dy = *node.src[0];
    const ggml_tensor& y = *node.src[1];
    const f32 scale = simd::splat(params_of<tenon_soft_max_back_params>(node).scale);
    const int64_t n = dy.ne[0];
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        const G* gradient = row<const G>(dy, i1, i2, i3);
        const Y* value = row<const Y>(y, i1, i2, i3);
        const f32 sum = simd::splat(static_cast<float>(wide_dot(value, gradient, n)));
        simd::map(row<G>(node, i1, i2, i3), gradient, value, n,
                  [=](f32 g, f32 v) { return scale * v * (g - sum); });
    });
}

void run_back(const Task& task, const ggml_tensor& node) {
    with_float_type(node.type, [&]<class G>() {
        with_float_type(node.src[1]->type, [&]<class Y>() { run_back_types<G, Y>(task, node); });
    });
}

}  // namespace

extern constinit const Kernel kSoftMax = Kernel{supports, run, workspace}.by_rows();
extern constinit const Kernel kSoftMaxBack =
    Kernel{supports_back, run_back}.with({Parts::kRows, 0b11});

}  // namespace tenon::cpu
