// FILL: one value. ARANGE: start + i*step. TIMESTEP_EMBEDDING: cosines and sines of falling
// frequencies. DIAG: a matrix from its diagonal. DIAG_MASK_INF, DIAG_MASK_ZERO: columns beyond
// n_past + row are masked. TRI: one triangle of a matrix, the rest 0.

#include <cmath>
#include <limits>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/move.h"
#include "plugins/cpu/simd/vmath.h"

namespace tenon::cpu {
namespace {

Verdict supports_float_rows(const ggml_tensor& node) {
    if (!is_float_type(node.type)) return no(TENON_REASON_TYPE, "dst must be f32, f16 or bf16");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// dst like src0, rows dense on both sides.
Verdict supports_like_source(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    if (const Verdict rows = supports_float_rows(node); !rows) return rows;
    if (!has_dense_rows(x)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    return yes();
}

// ---- FILL, ARANGE -----------------------------------------------------------------------------

void run_fill(const Task& task, const ggml_tensor& node) {
    const float value = params_of<tenon_fill_params>(node).value;
    with_float_type(node.type, [&]<class T>() {
        for_each_piece(task, node,
                       [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
                           simd::fill(row<T>(node, i1, i2, i3) + begin, end - begin, value);
                       });
    });
}

Verdict supports_arange(const ggml_tensor& node) {
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst is not dense");
    return yes();
}

void run_arange(const Task& task, const ggml_tensor& node) {
    const auto p = params_of<tenon_arange_params>(node);
    auto* dst = static_cast<float*>(node.data);
    const Range mine = share(task, node.ne[0]);
    for (int64_t i = mine.begin; i < mine.end; ++i) {
        dst[i] = p.start + p.step * static_cast<float>(i);
    }
}

// ---- TIMESTEP_EMBEDDING -----------------------------------------------------------------------

Verdict supports_timestep(const ggml_tensor& node) {
    const ggml_tensor& t = *node.src[0];
    if (!is_float_type(t.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (tenon_nrows(&t) != 1) return no(TENON_REASON_SHAPE, "the timesteps are no vector");
    if (!has_dense_rows(t)) return no(TENON_REASON_STRIDES, "src0 is not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// dst[j] = cos(time*f(j)), dst[half + j] = sin(time*f(j)) with f(j) = max_period^(-j/half)
void embed(float* dst, float time, int32_t dim, int32_t max_period) {
    constexpr int64_t kPiece = 64;
    const int64_t half = dim / 2;
    const float step = -std::log(static_cast<float>(max_period));
    const simd::f32 t = simd::splat(time);
    float angle[kPiece];
    for (int64_t at = 0; at < half; at += kPiece) {
        const int64_t n = std::min(kPiece, half - at);
        for (int64_t k = 0; k < n; ++k)
            angle[k] = step * static_cast<float>(at + k) / static_cast<float>(half);
        simd::map(angle, angle, n, [=](simd::f32 x) { return t * simd::exp(x); });
        simd::map(dst + at, angle, n, [](simd::f32 x) { return simd::cos(x); });
        simd::map(dst + half + at, angle, n, [](simd::f32 x) { return simd::sin(x); });
    }
    if (dim % 2 != 0) dst[dim - 1] = 0.0f;
}

void run_timestep(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& t = *node.src[0];
    const auto p = params_of<tenon_timestep_embedding_params>(node);
    with_float_type(t.type, [&]<class T>() {
        for_each_row(task, node, [&](int64_t i1, int64_t, int64_t) {
            embed(row<float>(node, i1), simd::to_f32(static_cast<const T*>(t.data)[i1]), p.dim,
                  p.max_period);
        });
    });
}

// ---- DIAG -------------------------------------------------------------------------------------

Verdict supports_diag(const ggml_tensor& node) {
    if (type_size(node.type).block != 1)
        return no(TENON_REASON_TYPE, "elements must not be in blocks");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

void run_diag(const Task& task, const ggml_tensor& node) {
    const size_t bytes = type_size(node.type).bytes;
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        char* dst = row<char>(node, i1, i2, i3);
        std::memset(dst, 0, static_cast<size_t>(node.ne[0]) * bytes);
        move_run(dst + static_cast<size_t>(i1) * bytes, bytes,
                 element<const char>(*node.src[0], i1, 0, i2, i3), bytes, 1, bytes);
    });
}

// ---- parts of rows kept: DIAG_MASK_INF, DIAG_MASK_ZERO, TRI -------------------------------------

// Elements [kept.begin, kept.end) of every row are those of src0, the rest is `value`.
// kept(i1): the range for row i1.
template <class Kept>
void keep_parts(const Task& task, const ggml_tensor& node, float value, Kept&& kept) {
    const ggml_tensor& x = *node.src[0];
    const int64_t n = node.ne[0];
    with_float_type(node.type, [&]<class T>() {
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const Range range = kept(i1);
            const int64_t begin = std::clamp<int64_t>(range.begin, 0, n);
            const int64_t end = std::clamp(range.end, begin, n);
            T* dst = row<T>(node, i1, i2, i3);
            const T* src = row<const T>(x, i1, i2, i3);
            if (dst != src && begin < end) {
                std::memcpy(dst + begin, src + begin, static_cast<size_t>(end - begin) * sizeof(T));
            }
            simd::fill(dst, begin, value);
            simd::fill(dst + end, n - end, value);
        });
    });
}

void run_mask(const Task& task, const ggml_tensor& node, float value) {
    const int64_t n_past = params_of<tenon_diag_mask_inf_params>(node).n_past;
    keep_parts(task, node, value, [=](int64_t i1) { return Range{0, n_past + i1 + 1}; });
}
void run_mask_inf(const Task& task, const ggml_tensor& node) {
    run_mask(task, node, -std::numeric_limits<float>::infinity());
}
void run_mask_zero(const Task& task, const ggml_tensor& node) { run_mask(task, node, 0.0f); }

void run_tri(const Task& task, const ggml_tensor& node) {
    const int32_t type = params_of<tenon_tri_params>(node).type;
    const int64_t n = node.ne[0];
    keep_parts(task, node, 0.0f, [=](int64_t i1) -> Range {
        switch (type) {
            case GGML_TRI_TYPE_LOWER:
                return {0, i1};
            case GGML_TRI_TYPE_LOWER_DIAG:
                return {0, i1 + 1};
            case GGML_TRI_TYPE_UPPER:
                return {i1 + 1, n};
            default:
                return {i1, n};
        }
    });
}

}  // namespace

extern constinit const Kernel kFill{supports_float_rows, run_fill};
extern constinit const Kernel kArange{supports_arange, run_arange};
extern constinit const Kernel kTimestepEmbedding{supports_timestep, run_timestep};
extern constinit const Kernel kDiag{supports_diag, run_diag};
extern constinit const Kernel kDiagMaskInf{supports_like_source, run_mask_inf};
extern constinit const Kernel kDiagMaskZero{supports_like_source, run_mask_zero};
extern constinit const Kernel kTri{supports_like_source, run_tri};

}  // namespace tenon::cpu
