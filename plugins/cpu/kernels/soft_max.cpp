// SOFT_MAX: dst = e^(z - max z) / sum, z = scale*x + slope*mask, row by row. A sink adds to the
// sum. SOFT_MAX_BACK: dst = scale*y*(dy - sum of y*dy), where y is what SOFT_MAX gave.

#include <cmath>
#include <limits>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/alibi.h"
#include "plugins/cpu/simd/vmath.h"

namespace tenon::cpu {
namespace {

using simd::f32;

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const ggml_tensor* mask = node.src[1];
    const ggml_tensor* sinks = node.src[2];
    if (x.type != GGML_TYPE_F32 || node.type != GGML_TYPE_F32) {
        return no(TENON_REASON_TYPE, "src0 and dst must be f32");
    }
    if (!has_dense_rows(x) || !has_dense_rows(node)) {
        return no(TENON_REASON_STRIDES, "rows are not dense");
    }
    if (mask) {
        if (!is_float_type(mask->type))
            return no(TENON_REASON_TYPE, "mask must be f32, f16 or bf16");
        if (!has_dense_rows(*mask)) return no(TENON_REASON_STRIDES, "mask rows are not dense");
        if (mask->ne[0] < x.ne[0] || mask->ne[1] < x.ne[1]) {
            return no(TENON_REASON_SHAPE, "mask is smaller than src0");
        }
    }
    if (sinks) {
        if (sinks->type != GGML_TYPE_F32) return no(TENON_REASON_TYPE, "sinks must be f32");
        if (sinks->ne[0] < x.ne[2] || sinks->nb[0] != sizeof(float)) {
            return no(TENON_REASON_SHAPE, "sinks must be dense, one per head");
        }
    }
    return yes();
}

// dst = scale*x + slope*mask; returns the maximum. NaN is skipped by the maximum, not by the rest.
template <class M>
float scores(float* dst, const float* x, const M* mask, int64_t n, float scale, float slope) {
    const f32 s = simd::splat(scale), b = simd::splat(slope);
    if (mask) {
        simd::map(dst, x, mask, n, [=](f32 v, f32 m) { return simd::fma(v, s, m * b); });
    } else {
        simd::map(dst, x, n, [=](f32 v) { return v * s; });
    }
    return simd::max_of(dst, n, -std::numeric_limits<float>::infinity());
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

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const ggml_tensor* mask = node.src[1];
    const float* sinks = node.src[2] ? static_cast<const float*>(node.src[2]->data) : nullptr;
    const auto p = params_of<tenon_soft_max_params>(node);
    const int64_t n = x.ne[0];

    with_float_type(mask ? mask->type : GGML_TYPE_F32, [&]<class M>() {
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const M* m =
                mask ? row<const M>(*mask, i1, i2 % mask->ne[2], i3 % mask->ne[3]) : nullptr;
            float* dst = row<float>(node, i1, i2, i3);
            const float slope = alibi_slope(i2, x.ne[2], p.max_bias);
            float most = scores(dst, row<const float>(x, i1, i2, i3), m, n, p.scale, slope);
            if (sinks) most = std::max(most, sinks[i2]);
            double sum = exponentials(dst, n, most);
            if (sinks) sum += std::exp(sinks[i2] - most);
            simd::scale(dst, dst, n, static_cast<float>(1.0 / sum));
        });
    });
}

double cost(const ggml_tensor& node) {
    return 40 + static_cast<double>(tenon_nelements(&node)) * 4 / f32::lanes;
}

// ---- backward ---------------------------------------------------------------------------------

Verdict supports_back(const ggml_tensor& node) {
    const ggml_tensor& dy = *node.src[0];
    const ggml_tensor& y = *node.src[1];
    if (!is_float_type(dy.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (y.type != dy.type || node.type != dy.type) {
        return no(TENON_REASON_TYPE_MIX, "src1 and dst must have the type of src0");
    }
    if (!tenon_same_shape(&dy, &y) || !tenon_same_shape(&dy, &node)) {
        return no(TENON_REASON_SHAPE, "src0, src1 and dst must have the same shape");
    }
    if (!has_dense_rows(dy) || !has_dense_rows(y) || !has_dense_rows(node)) {
        return no(TENON_REASON_STRIDES, "rows are not dense");
    }
    if (params_of<tenon_soft_max_back_params>(node).max_bias != 0) {
        return no(TENON_REASON_OP_PARAM, "max_bias must be 0");
    }
    return yes();
}

// Sum of a*b: f32 products, f64 sum.
template <class T>
double wide_dot(const T* a, const T* b, int64_t n) {
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
void run_back(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& dy = *node.src[0];
    const ggml_tensor& y = *node.src[1];
    const f32 scale = simd::splat(params_of<tenon_soft_max_back_params>(node).scale);
    const int64_t n = dy.ne[0];
    with_float_type(dy.type, [&]<class T>() {
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const T* gradient = row<const T>(dy, i1, i2, i3);
            const T* value = row<const T>(y, i1, i2, i3);
            const f32 sum = simd::splat(static_cast<float>(wide_dot(value, gradient, n)));
            simd::map(row<T>(node, i1, i2, i3), gradient, value, n,
                      [=](f32 g, f32 v) { return scale * v * (g - sum); });
        });
    });
}

}  // namespace

extern constinit const Kernel kSoftMax =
    Kernel{GGML_OP_SOFT_MAX, supports, run, nullptr, cost}.by_rows();
extern constinit const Kernel kSoftMaxBack =
    Kernel{GGML_OP_SOFT_MAX_BACK, supports_back, run_back}.with({Parts::kRows, 0b11});

}  // namespace tenon::cpu
