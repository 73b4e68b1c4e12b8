// POOL_1D, POOL_2D: mean or maximum of windows of src0. POOL_2D_BACK: the gradient of a result,
// given back to the elements it came from. Rows of a window are combined first, a vector at a time,
// into a row of the workspace; the row is then combined across.

#include <cfloat>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/axis.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

using simd::f32;

struct Windows {
    bool is_max;
    bool counts_padding;  // the mean is over the whole window, not over what is inside
    Axis x, y;
};

Windows windows_1d(const ggml_tensor& node) {
    const auto p = params_of<tenon_pool_1d_params>(node);
    const Axis x{node.src[0]->ne[0], node.ne[0], p.k0, p.s0, p.p0, 1};
    return {p.op == GGML_OP_POOL_MAX, false, x, {}};
}

Windows windows_2d(const tenon_pool_2d_params& p, const ggml_tensor& x, const ggml_tensor& pooled) {
    return {p.op == GGML_OP_POOL_MAX,
            true,
            {x.ne[0], pooled.ne[0], p.k0, p.s0, p.p0, 1},
            {x.ne[1], pooled.ne[1], p.k1, p.s1, p.p1, 1}};
}
Windows windows_2d(const ggml_tensor& node) {
    return windows_2d(params_of<tenon_pool_2d_params>(node), *node.src[0], node);
}
Windows windows_back(const ggml_tensor& node) {
    return windows_2d(params_of<tenon_pool_2d_back_params>(node), node, *node.src[0]);
}

Verdict supports(const ggml_tensor& node) {
    if (!is_float_type(node.src[0]->type))
        return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// ---- forward ----------------------------------------------------------------------------------

size_t row_bytes_of(const ggml_tensor& node) {
    return (static_cast<size_t>(node.src[0]->ne[0]) * sizeof(float) + 63) / 64 * 64;
}

// acc = acc and a row of src0 combined, element by element.
template <class T>
void combine_row(float* acc, const ggml_tensor& a, const char* src, bool is_max) {
    if (a.nb[0] == sizeof(T)) {
        const T* dense = reinterpret_cast<const T*>(src);
        if (is_max) {  // in this order a NaN is skipped
            simd::map(acc, acc, dense, a.ne[0], [](f32 m, f32 x) { return simd::max(x, m); });
        } else {
            simd::map(acc, acc, dense, a.ne[0], [](f32 s, f32 x) { return s + x; });
        }
        return;
    }
    for (int64_t i = 0; i < a.ne[0]; ++i, src += a.nb[0]) {
        const float x = simd::to_f32(*reinterpret_cast<const T*>(src));
        acc[i] = !is_max ? acc[i] + x : x > acc[i] ? x : acc[i];
    }
}

// Window x of a row, from combined rows; some of it may be padding.
float combine_window(const Windows& w, const float* acc, int64_t x) {
    const Range inside = w.x.taps_inside(x);
    const int64_t first = w.x.input(x, 0);
    if (w.is_max) {
        float m = -FLT_MAX;
        for (int64_t i = first + inside.begin; i < first + inside.end; ++i)
            m = acc[i] > m ? acc[i] : m;
        return m;
    }
    float sum = 0.0f;
    for (int64_t i = first + inside.begin; i < first + inside.end; ++i) sum += acc[i];
    const int64_t n = w.counts_padding ? w.x.n_taps * w.y.n_taps : inside.end - inside.begin;
    return n > 0 ? sum / static_cast<float>(n) : 0.0f;
}

// Windows that have no padding and lie one element apart, n of them from `in` on.
void combine_dense(const Windows& w, const float* in, int64_t n, float* dst) {
    if (w.is_max) {
        simd::convert(dst, in, n);
        for (int64_t k = 1; k < w.x.n_taps; ++k)
            simd::map(dst, dst, in + k, n, [](f32 m, f32 x) { return simd::max(x, m); });
        return;
    }
    const f32 size = simd::splat(static_cast<float>(w.x.n_taps * w.y.n_taps));
    if (w.x.n_taps == 1) return simd::map(dst, in, n, [=](f32 x) { return x / size; });
    simd::map(dst, in, in + 1, n, [](f32 a, f32 b) { return a + b; });
    for (int64_t k = 2; k < w.x.n_taps; ++k)
        simd::map(dst, dst, in + k, n, [](f32 sum, f32 x) { return sum + x; });
    simd::map(dst, dst, n, [=](f32 sum) { return sum / size; });
}

// Windows that have no padding, n of them from `in` on.
void combine_inside(const Windows& w, const float* in, int64_t n, float* dst) {
    if (w.x.stride == 1) return combine_dense(w, in, n, dst);
    const float size = static_cast<float>(w.x.n_taps * w.y.n_taps);
    for (int64_t i = 0; i < n; ++i, in += w.x.stride) {
        float value = in[0];
        for (int64_t k = 1; k < w.x.n_taps; ++k) {
            if (w.is_max) {
                value = in[k] > value ? in[k] : value;
            } else {
                value += in[k];
            }
        }
        dst[i] = w.is_max ? value : value / size;
    }
}

// The windows of one row of results, from combined rows.
void combine_across(const Windows& w, const float* acc, float* dst) {
    const int64_t begin = w.x.outputs_inside(0).begin;
    const int64_t end = std::max(begin, w.x.outputs_inside(w.x.n_taps - 1).end);
    for (int64_t x = 0; x < begin; ++x) dst[x] = combine_window(w, acc, x);
    if (begin < end) combine_inside(w, acc + w.x.input(begin, 0), end - begin, dst + begin);
    for (int64_t x = end; x < w.x.n_out; ++x) dst[x] = combine_window(w, acc, x);
}

// Result row `i1` combines rows [down.begin, down.end) of its plane of src0.
template <class RowsOf>
void run_pool(const Task& task, const ggml_tensor& node, const Windows& w, RowsOf&& rows_of) {
    const ggml_tensor& a = *node.src[0];
    auto* acc = reinterpret_cast<float*>(static_cast<char*>(task.workspace) +
                                         row_bytes_of(node) * static_cast<size_t>(task.ith));
    with_float_type(a.type, [&]<class T>() {
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const Range rows = rows_of(i1);
            std::fill(acc, acc + a.ne[0], w.is_max ? -FLT_MAX : 0.0f);
            for (int64_t r = rows.begin; r < rows.end; ++r)
                combine_row<T>(acc, a, row<const char>(a, r, i2, i3), w.is_max);
            combine_across(w, acc, row<float>(node, i1, i2, i3));
        });
    });
}

void run_1d(const Task& task, const ggml_tensor& node) {
    run_pool(task, node, windows_1d(node), [](int64_t i1) { return Range{i1, i1 + 1}; });
}

void run_2d(const Task& task, const ggml_tensor& node) {
    const Windows w = windows_2d(node);
    run_pool(task, node, w, [&](int64_t i1) {
        const Range taps = w.y.taps_inside(i1);
        const int64_t first = w.y.input(i1, 0);
        return Range{first + taps.begin, first + taps.end};
    });
}

size_t workspace(const ggml_tensor& node, int n_threads) {
    return row_bytes_of(node) * static_cast<size_t>(n_threads);
}

// ---- back -------------------------------------------------------------------------------------

Verdict supports_back(const ggml_tensor& node) {
    const ggml_tensor &grad = *node.src[0], &x = *node.src[1];
    if (!is_float_type(grad.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!is_float_type(x.type)) return no(TENON_REASON_TYPE, "src1 must be f32, f16 or bf16");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

struct Window {
    int64_t x, y;  // of its first element, which may be padding
    Range across, down;
};

// To the first of the largest; nobody when nothing is above -FLT_MAX.
template <class T>
void give_to_largest(const ggml_tensor& node, const Window& w, int64_t i2, int64_t i3, float grad) {
    float largest = -FLT_MAX;
    float* winner = nullptr;
    for (int64_t y = w.y + w.down.begin; y < w.y + w.down.end; ++y) {
        for (int64_t x = w.x + w.across.begin; x < w.x + w.across.end; ++x) {
            const float value = simd::to_f32(*element<const T>(*node.src[1], x, y, i2, i3));
            if (value <= largest || value != value) continue;
            largest = value;
            winner = row<float>(node, y, i2, i3) + x;
        }
    }
    if (winner) *winner += grad;
}

void give_to_all(const ggml_tensor& node, const Window& w, int64_t i2, int64_t i3, float grad) {
    for (int64_t y = w.y + w.down.begin; y < w.y + w.down.end; ++y) {
        float* dst = row<float>(node, y, i2, i3) + w.x;
        for (int64_t k = w.across.begin; k < w.across.end; ++k) dst[k] += grad;
    }
}

template <class T>
void give_back_plane(const ggml_tensor& node, const Windows& w, int64_t i2, int64_t i3) {
    const ggml_tensor& grad = *node.src[0];
    const float size = static_cast<float>(w.x.n_taps * w.y.n_taps);
    for (int64_t y = 0; y < node.ne[1]; ++y) {
        float* dst = row<float>(node, y, i2, i3);
        std::fill(dst, dst + node.ne[0], 0.0f);
    }
    for (int64_t y = 0; y < w.y.n_out; ++y) {
        const Range down = w.y.taps_inside(y);
        for (int64_t x = 0; x < w.x.n_out; ++x) {
            const Window window{w.x.input(x, 0), w.y.input(y, 0), w.x.taps_inside(x), down};
            float g = 0.0f;
            with_float_type(grad.type, [&]<class G>() {
                g = simd::to_f32(*element<const G>(grad, x, y, i2, i3));
            });
            if (w.is_max) {
                give_to_largest<T>(node, window, i2, i3, g);
            } else {
                give_to_all(node, window, i2, i3, g / size);
            }
        }
    }
}

void run_back(const Task& task, const ggml_tensor& node) {
    const Windows w = windows_back(node);
    const Range planes = share(task, node.ne[2] * node.ne[3]);
    with_float_type(node.src[1]->type, [&]<class T>() {
        for (int64_t i = planes.begin; i < planes.end; ++i)
            give_back_plane<T>(node, w, i % node.ne[2], i / node.ne[2]);
    });
}

}  // namespace

extern constinit const Kernel kPool1d{supports, run_1d, workspace};
extern constinit const Kernel kPool2d{supports, run_2d, workspace};
extern constinit const Kernel kPool2dBack{supports_back, run_back};

}  // namespace tenon::cpu
