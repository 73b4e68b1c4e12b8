// NORM: dst = (x - mean) / sqrt(variance + eps), each row of ne[0] elements on its own.
// L2_NORM: dst = x / max(sqrt(sum(x^2)), eps), row by row.
// GROUP_NORM: as NORM, over groups of adjacent channels (dimension 2).

#include <cmath>

#include "plugins/cpu/kernels/row_buffer.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

Verdict supports_types(const ggml_tensor& node) {
    if (!is_float_type(node.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    return yes();
}

// sum((x - mean)^2). Padding lanes of a last, partial vector must not count.
template <class T>
double squared_deviations(const T* x, int64_t n, float mean) {
    const simd::f32 m = simd::splat(mean);
    const int64_t whole = n / simd::f32::lanes * simd::f32::lanes;
    double squares = simd::sum_of(x, whole, [=](simd::f32 v) { return (v - m) * (v - m); });
    for (int64_t i = whole; i < n; ++i) {
        const float d = simd::to_f32(x[i]) - mean;
        squares += d * d;
    }
    return squares;
}

template <class T>
void center_and_scale(T* dst, const T* x, int64_t n, float mean, float factor) {
    const simd::f32 m = simd::splat(mean), f = simd::splat(factor);
    simd::map(dst, x, n, [=](simd::f32 v) { return (v - m) * f; });
}

// ---- rows: NORM, L2_NORM ------------------------------------------------------------------------

// Rows that are not dense pass through a buffer per member.
size_t workspace(const ggml_tensor& node, int n_threads) {
    if (has_dense_rows(*node.src[0]) && has_dense_rows(node)) return 0;
    return row_buffers_bytes(node.ne[0], n_threads);
}

struct MeanAndVariance {
    template <class T>
    static void run(T* dst, const T* src, int64_t n, float eps) {
        const float mean = static_cast<float>(simd::sum(src, n) / static_cast<double>(n));
        const float variance =
            static_cast<float>(squared_deviations(src, n, mean) / static_cast<double>(n));
        center_and_scale(dst, src, n, mean, 1.0f / std::sqrt(variance + eps));
    }
};

struct Length {
    template <class T>
    static void run(T* dst, const T* src, int64_t n, float eps) {
        const float length = std::sqrt(static_cast<float>(simd::sum_of_squares(src, n)));
        simd::scale(dst, src, n, 1.0f / std::max(length, eps));
    }
};

template <class Normalize, class T>
void run_type(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const float eps = params_of<tenon_norm_params>(node).eps;
    const int64_t n = x.ne[0];
    const bool dense = has_dense_rows(x) && has_dense_rows(node);
    float* buffer = dense ? nullptr : row_buffer(task, n);
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        if (dense) {
            Normalize::run(row<T>(node, i1, i2, i3), row<const T>(x, i1, i2, i3), n, eps);
            return;
        }
        for (int64_t i = 0; i < n; ++i) {
            buffer[i] = simd::to_f32(*element<const T>(x, i, i1, i2, i3));
        }
        Normalize::run(buffer, buffer, n, eps);
        for (int64_t i = 0; i < n; ++i) simd::set_f32(element<T>(node, i, i1, i2, i3), buffer[i]);
    });
}

template <class Normalize>
void run_rows(const Task& task, const ggml_tensor& node) {
    with_float_type(node.type, [&]<class T>() { run_type<Normalize, T>(task, node); });
}

// ---- groups of channels -------------------------------------------------------------------------

Verdict supports_groups(const ggml_tensor& node) {
    if (const Verdict types = supports_types(node); !types) return types;
    if (!has_dense_rows(*node.src[0])) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// Whether a channel is one dense run.
bool has_dense_planes(const ggml_tensor& t) {
    return has_dense_rows(t) &&
           (t.ne[1] == 1 || t.nb[1] == static_cast<size_t>(t.ne[0]) * type_size(t.type).bytes);
}

template <class T>
void run_groups_type(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const auto p = params_of<tenon_group_norm_params>(node);
    const bool planes = has_dense_planes(x) && has_dense_planes(node);
    const int64_t n = planes ? x.ne[0] * x.ne[1] : x.ne[0], runs = planes ? 1 : x.ne[1];
    const int64_t channels = (x.ne[2] + p.n_groups - 1) / p.n_groups;  // per group
    const int64_t groups = (x.ne[2] + channels - 1) / channels;        // that are not empty
    const Range mine = share(task, groups * x.ne[3]);
    for (int64_t item = mine.begin; item < mine.end; ++item) {
        const int64_t i3 = item / groups;
        const int64_t begin = item % groups * channels, end = std::min(begin + channels, x.ne[2]);
        const auto for_each_run = [&](auto&& fn) {
            for (int64_t i2 = begin; i2 < end; ++i2) {
                for (int64_t i1 = 0; i1 < runs; ++i1)
                    fn(row<T>(node, i1, i2, i3), row<const T>(x, i1, i2, i3));
            }
        };
        const double count = static_cast<double>(n * runs * (end - begin));
        double sum = 0, squares = 0;
        for_each_run([&](T*, const T* src) { sum += simd::sum(src, n); });
        const float mean = static_cast<float>(sum / count);
        for_each_run([&](T*, const T* src) { squares += squared_deviations(src, n, mean); });
        const float factor = 1.0f / std::sqrt(static_cast<float>(squares / count) + p.eps);
        for_each_run([&](T* dst, const T* src) { center_and_scale(dst, src, n, mean, factor); });
    }
}

void run_groups(const Task& task, const ggml_tensor& node) {
    with_float_type(node.type, [&]<class T>() { run_groups_type<T>(task, node); });
}

}  // namespace

extern constinit const Kernel kNorm =
    Kernel{supports_types, run_rows<MeanAndVariance>, workspace}.by_rows();
extern constinit const Kernel kL2Norm =
    Kernel{supports_types, run_rows<Length>, workspace}.by_rows();
extern constinit const Kernel kGroupNorm{supports_groups, run_groups};

}  // namespace tenon::cpu
