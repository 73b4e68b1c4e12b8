// RMS_NORM: dst = x / sqrt(mean(x^2) + eps), each row of ne[0] elements on its own.
// RMS_NORM_BACK: its gradient, from that of the result (src0) and x (src1).

#include <cmath>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    if (!is_float_type(x.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(x)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const float eps = params_of<tenon_rms_norm_params>(node).eps;
    const int64_t n = x.ne[0];

    with_float_type(x.type, [&]<class T>() {
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const T* src = row<const T>(x, i1, i2, i3);
            const float mean =
                static_cast<float>(simd::sum_of_squares(src, n) / static_cast<double>(n));
            simd::scale(row<T>(node, i1, i2, i3), src, n, 1.0f / std::sqrt(mean + eps));
        });
    });
}

// ---- RMS_NORM_BACK ----------------------------------------------------------------------------

Verdict supports_back(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[1];
    if (const Verdict gradient = supports(node); !gradient) return gradient;
    if (x.type != node.type) return no(TENON_REASON_TYPE_MIX, "src1 must have the type of src0");
    if (!has_dense_rows(x)) return no(TENON_REASON_STRIDES, "src1 rows are not dense");
    return yes();
}

// Sum of a[i]*b[i]: f32 products, f64 sum.
template <class T>
double sum_of_products(const T* a, const T* b, int64_t n) {
    simd::f64x total{};
    int64_t i = 0;
    for (; i + simd::f32::lanes <= n; i += simd::f32::lanes) {
        total = simd::add_wide(total, simd::load(a + i) * simd::load(b + i));
    }
    if (const int rest = static_cast<int>(n - i)) {
        total = simd::add_wide(total, simd::load_some(a + i, rest) * simd::load_some(b + i, rest));
    }
    return simd::sum(total);
}

// With r = 1/sqrt(mean(x^2) + eps): (g - x*sum(x*g)/(sum(x^2) + n*eps)) * r
void run_back(const Task& task, const ggml_tensor& node) {
    const float eps = params_of<tenon_rms_norm_back_params>(node).eps;
    const int64_t n = node.ne[0];
    const double count = static_cast<double>(n);
    with_float_type(node.type, [&]<class T>() {
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const T* g = row<const T>(*node.src[0], i1, i2, i3);
            const T* x = row<const T>(*node.src[1], i1, i2, i3);
            const double squares = simd::sum_of_squares(x, n);
            const double products = sum_of_products(x, g, n);
            const float mean = static_cast<float>(squares / count);
            const simd::f32 factor = simd::splat(1.0f / std::sqrt(mean + eps));
            const simd::f32 share =
                simd::splat(static_cast<float>(products / (squares + count * eps)));
            simd::map(row<T>(node, i1, i2, i3), g, x, n, [=](simd::f32 gi, simd::f32 xi) {
                return simd::fnma(xi, share, gi) * factor;
            });
        });
    });
}

}  // namespace

extern constinit const Kernel kRmsNorm = Kernel{supports, run}.by_rows();
extern constinit const Kernel kRmsNormBack =
    Kernel{supports_back, run_back}.with({Parts::kRows, 0b11});

}  // namespace tenon::cpu
