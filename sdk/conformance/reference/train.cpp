// References: losses and optimiser steps.

#include <algorithm>
#include <cmath>

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

// ln of the softmax of every row.
Values log_softmax(Values a) {
    const int64_t n = a.ne[0], n_rows = n == 0 ? 0 : a.size() / n;
    for (int64_t r = 0; r < n_rows; ++r) {
        double* row = a.v.data() + r * n;
        const double most = *std::max_element(row, row + n);
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += std::exp(row[i] - most);
        for (int64_t i = 0; i < n; ++i) row[i] -= most + std::log(sum);
    }
    return a;
}

double rows_of(const Values& a) { return static_cast<double>(a.ne[1] * a.ne[2] * a.ne[3]); }

// -(1/rows) sum of b*log_softmax(a)
void cross_entropy_loss(const ggml_tensor& node, Result& out) {
    const Values a = log_softmax(source(node, 0)), b = source(node, 1);
    double sum = 0;
    for (size_t i = 0; i < a.v.size(); ++i) sum += b.v[i] * a.v[i];
    out.v[0] = a.v.empty() ? 0 : -sum / rows_of(a);
}

// (softmax(a) - b)*grad/rows
void cross_entropy_loss_back(const ggml_tensor& node, Result& out) {
    const Values gradient = source(node, 0), a = log_softmax(source(node, 1)), b = source(node, 2);
    for (size_t i = 0; i < out.v.size(); ++i)
        out.v[i] = (std::exp(a.v[i]) - b.v[i]) * gradient.v[0] / rows_of(a);
}

// Stores new values of a source that the op updates, rounded to its type; any strides.
void update(const ggml_tensor& t, const Values& values) {
    for_each_index(values, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        char* p =
            static_cast<char*>(t.data) + i0 * t.nb[0] + i1 * t.nb[1] + i2 * t.nb[2] + i3 * t.nb[3];
        const auto x = static_cast<float>(values(i0, i1, i2, i3));
        switch (t.type) {
            case GGML_TYPE_F32:
                *reinterpret_cast<float*>(p) = x;
                break;
            case GGML_TYPE_F16:
                *reinterpret_cast<ggml_fp16_t*>(p) = ggml_fp32_to_fp16(x);
                break;
            case GGML_TYPE_BF16:
                *reinterpret_cast<ggml_bf16_t*>(p) = ggml_fp32_to_bf16(x);
                break;
            default:
                throw std::runtime_error("the updated source is neither f32, f16 nor bf16");
        }
    });
}

void opt_step_adamw(const ggml_tensor& node, Result& out) {
    const Values w = source(node, 0), g = source(node, 1), p = source(node, 4);
    Values m = source(node, 2), v = source(node, 3);
    const double alpha = p(0), beta1 = p(1), beta2 = p(2), eps = p(3), decay = p(4), beta1h = p(5),
                 beta2h = p(6);
    for (size_t i = 0; i < out.v.size(); ++i) {
        m.v[i] = m.v[i] * beta1 + g.v[i] * (1 - beta1);
        v.v[i] = v.v[i] * beta2 + g.v[i] * g.v[i] * (1 - beta2);
        out.v[i] = w.v[i] * (1 - alpha * decay) -
                   alpha * (m.v[i] * beta1h) / (std::sqrt(v.v[i] * beta2h) + eps);
    }
    update(*node.src[2], m);
    update(*node.src[3], v);
}

void opt_step_sgd(const ggml_tensor& node, Result& out) {
    const Values w = source(node, 0), g = source(node, 1), p = source(node, 2);
    for (size_t i = 0; i < out.v.size(); ++i) out.v[i] = w.v[i] * (1 - p(0) * p(1)) - p(0) * g.v[i];
}

constexpr Reference kTable[] = {
    {GGML_OP_CROSS_ENTROPY_LOSS, cross_entropy_loss},
    {GGML_OP_CROSS_ENTROPY_LOSS_BACK, cross_entropy_loss_back},
    {GGML_OP_OPT_STEP_ADAMW, opt_step_adamw},
    {GGML_OP_OPT_STEP_SGD, opt_step_sgd},
};

}  // namespace

const std::span<const Reference> kTrainReferences{kTable};

}  // namespace tenon::conformance
