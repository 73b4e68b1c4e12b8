// CROSS_ENTROPY_LOSS: dst = -(1/rows) sum over rows of sum over i of b[i]*log_softmax(a)[i].
// CROSS_ENTROPY_LOSS_BACK: dst = (softmax(a) - b) * grad / rows.

#include <cmath>
#include <limits>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/row_buffer.h"
#include "plugins/cpu/kernels/words.h"
#include "plugins/cpu/simd/vmath.h"

namespace tenon::cpu {
namespace {

using simd::f32;

Verdict check_pair(const ggml_tensor& a, const ggml_tensor& b) {
    if (!is_float_type(a.type)) return no(TENON_REASON_TYPE, "logits must be f32, f16 or bf16");
    if (!is_float_type(b.type)) return no(TENON_REASON_TYPE, "labels must be f32, f16 or bf16");
    if (!has_dense_rows(a) || !has_dense_rows(b)) {
        return no(TENON_REASON_STRIDES, "rows are not dense");
    }
    return yes();
}

// ln of the sum of e^(x - most), with the sum in f64.
double log_sum_exp(const float* x, int64_t n, float most) {
    const f32 m = simd::splat(most), lowest = simd::splat(-std::numeric_limits<float>::infinity());
    simd::f64x sum{};
    int64_t i = 0;
    for (; i + f32::lanes <= n; i += f32::lanes) {
        sum = simd::add_wide(sum, simd::exp(simd::load(x + i) - m));
    }
    if (const int rest = static_cast<int>(n - i)) {
        float lanes[f32::lanes];
        simd::store(lanes, lowest);
        std::memcpy(lanes, x + i, static_cast<size_t>(rest) * sizeof(float));
        sum = simd::add_wide(sum, simd::exp(simd::load(lanes) - m));
    }
    return std::log(simd::sum(sum));
}

float largest(const float* x, int64_t n) {
    return simd::max_of(x, n, -std::numeric_limits<float>::infinity());
}

// Rows of logits and labels pass through buffers of the member where they are not f32.
size_t pair_bytes(const ggml_tensor& a, const ggml_tensor& b, int n_threads) {
    const bool direct = a.type == GGML_TYPE_F32 && b.type == GGML_TYPE_F32;
    return direct ? 0 : row_buffers_bytes(a.ne[0], n_threads, 2);
}

const float* whole_row(const ggml_tensor& t, int64_t i1, int64_t i2, int64_t i3, float* buffer) {
    return as_f32(t.type, row<const void>(t, i1, i2, i3), 0, t.ne[0], buffer);
}

// ---- forward ----------------------------------------------------------------------------------

Verdict supports_loss(const ggml_tensor& node) { return check_pair(*node.src[0], *node.src[1]); }

size_t losses_bytes(const ggml_tensor& node) {  // one per row, behind the buffers
    return static_cast<size_t>(tenon_nrows(node.src[0])) * sizeof(double);
}

size_t loss_workspace(const ggml_tensor& node, int n_threads) {
    return pair_bytes(*node.src[0], *node.src[1], n_threads) + losses_bytes(node);
}

// Sum of b*(a - most - log_sum) in f64.
double row_loss(const float* a, const float* b, int64_t n) {
    const float most = largest(a, n);
    const double log_sum = log_sum_exp(a, n, most);
    const f32 m = simd::splat(most), s = simd::splat(static_cast<float>(log_sum));
    simd::f64x sum{};
    for_each_word(n, [&](int64_t i, int some) {
        const f32 x = get(a + i, some), y = get(b + i, some);
        sum = simd::add_wide(sum, y * ((x - m) - s));  // lanes beyond n have y = 0
    });
    return simd::sum(sum);
}

void run_loss(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const RowBuffers buffers(task, a.ne[0], 2);
    auto* losses =
        reinterpret_cast<double*>(static_cast<char*>(task.workspace) + pair_bytes(a, b, task.nth));
    for_each_row(task, a, [&](int64_t i1, int64_t i2, int64_t i3) {
        losses[i1 + a.ne[1] * (i2 + a.ne[2] * i3)] = row_loss(
            whole_row(a, i1, i2, i3, buffers[0]), whole_row(b, i1, i2, i3, buffers[1]), a.ne[0]);
    });
    task.barrier();
    if (task.ith != 0) return;
    const int64_t n_rows = a.ne[0] == 0 ? 0 : tenon_nrows(&a);
    double total = 0;
    for (int64_t i = 0; i < n_rows; ++i) total += losses[i];
    const float loss =
        n_rows == 0 ? 0.0f : static_cast<float>(-total / static_cast<double>(n_rows));
    with_float_type(node.type, [&]<class T>() { simd::set_f32(static_cast<T*>(node.data), loss); });
}

// ---- backward ---------------------------------------------------------------------------------

Verdict supports_back(const ggml_tensor& node) {
    const ggml_tensor& gradient = *node.src[0];
    if (!is_float_type(gradient.type))
        return no(TENON_REASON_TYPE, "the gradient must be f32, f16 or bf16");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "rows are not dense");
    return check_pair(*node.src[1], *node.src[2]);
}

void run_back(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[1];
    const ggml_tensor& b = *node.src[2];
    const int64_t n = a.ne[0];
    const float gradient = as_f32(node.src[0]->type, node.src[0]->data);
    const RowBuffers buffers(task, n, 2);
    const f32 factor =
        simd::splat(static_cast<float>(gradient / static_cast<double>(tenon_nrows(&a))));
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        const float* logits = whole_row(a, i1, i2, i3, buffers[0]);
        const float* labels = whole_row(b, i1, i2, i3, buffers[1]);
        const float most = largest(logits, n);
        // softmax = e^(x - most - ln sum)
        const f32 m = simd::splat(most);
        const f32 inverse =
            simd::splat(static_cast<float>(std::exp(-log_sum_exp(logits, n, most))));
        with_float_type(node.type, [&]<class T>() {
            simd::map(row<T>(node, i1, i2, i3), logits, labels, n,
                      [=](f32 x, f32 y) { return (simd::exp(x - m) * inverse - y) * factor; });
        });
    });
}

size_t back_workspace(const ggml_tensor& node, int n_threads) {
    return pair_bytes(*node.src[1], *node.src[2], n_threads);
}

// Three passes, the exponentials in the second.
double slowness(const ggml_tensor&) { return 2; }

}  // namespace

extern constinit const Kernel kCrossEntropyLoss{supports_loss, run_loss, loss_workspace, slowness};
extern constinit const Kernel kCrossEntropyLossBack{supports_back, run_back, back_workspace,
                                                    slowness};

}  // namespace tenon::cpu
