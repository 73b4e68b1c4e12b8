// NORM: dst = (x - mean) / sqrt(variance + eps), each row of ne[0] elements on its own.

#include <cmath>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    if (!is_float_type(x.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (node.type != x.type) return no(TENON_REASON_TYPE_MIX, "dst must have the type of src0");
    if (!(params_of<tenon_norm_params>(node).eps >= 0)) {
        return no(TENON_REASON_OP_PARAM, "eps is negative");
    }
    return yes();
}

size_t row_buffer_bytes(const ggml_tensor& node) {
    return (static_cast<size_t>(node.ne[0]) * sizeof(float) + 63) / 64 * 64;
}

// Rows that are not dense pass through a buffer per member.
size_t workspace(const ggml_tensor& node, int n_threads) {
    if (has_dense_rows(*node.src[0]) && has_dense_rows(node)) return 0;
    return row_buffer_bytes(node) * static_cast<size_t>(n_threads);
}

template <class D, class S>
void normalize(D* dst, const S* src, int64_t n, float eps) {
    const float mean = static_cast<float>(simd::sum(src, n) / static_cast<double>(n));
    const simd::f32 m = simd::splat(mean);
    // Padding lanes of the last vector must not count: those rows add them up one by one.
    const int64_t whole = n / simd::f32::lanes * simd::f32::lanes;
    double squares = simd::sum_of(src, whole, [=](simd::f32 x) { return (x - m) * (x - m); });
    for (int64_t i = whole; i < n; ++i) {
        const float d = simd::to_f32(src[i]) - mean;
        squares += d * d;
    }
    const float variance = static_cast<float>(squares / static_cast<double>(n));
    const simd::f32 factor = simd::splat(1.0f / std::sqrt(variance + eps));
    simd::map(dst, src, n, [=](simd::f32 x) { return (x - m) * factor; });
}

template <class T>
void run_type(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const float eps = params_of<tenon_norm_params>(node).eps;
    const int64_t n = x.ne[0];
    const bool dense = has_dense_rows(x) && has_dense_rows(node);
    auto* buffer = reinterpret_cast<float*>(static_cast<char*>(task.workspace) +
                                            row_buffer_bytes(node) * task.ith);
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        if (dense) {
            normalize(row<T>(node, i1, i2, i3), row<const T>(x, i1, i2, i3), n, eps);
            return;
        }
        for (int64_t i = 0; i < n; ++i) {
            buffer[i] = simd::to_f32(*element<const T>(x, i, i1, i2, i3));
        }
        normalize(buffer, buffer, n, eps);
        for (int64_t i = 0; i < n; ++i) simd::set_f32(element<T>(node, i, i1, i2, i3), buffer[i]);
    });
}

void run(const Task& task, const ggml_tensor& node) {
    with_float_type(node.type, [&]<class T>() { run_type<T>(task, node); });
}

}  // namespace

extern constinit const Kernel kNorm{GGML_OP_NORM, supports, run, workspace};

}  // namespace tenon::cpu
