// References: normalisation of rows and of groups of channels.

#include <cmath>

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

// fn(i1, i2, i3) for every row
template <class Fn>
void for_each_row(const Values& t, Fn&& fn) {
    for (int64_t i3 = 0; i3 < t.ne[3]; ++i3) {
        for (int64_t i2 = 0; i2 < t.ne[2]; ++i2) {
            for (int64_t i1 = 0; i1 < t.ne[1]; ++i1) fn(i1, i2, i3);
        }
    }
}

void norm(const ggml_tensor& node, Result& out) {
    const double eps = params_of<tenon_norm_params>(node).eps;
    const Values a = source(node, 0);
    const int64_t n = a.ne[0];
    for_each_row(a, [&](int64_t i1, int64_t i2, int64_t i3) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < n; ++i) mean += a(i, i1, i2, i3) / n;
        for (int64_t i = 0; i < n; ++i) variance += std::pow(a(i, i1, i2, i3) - mean, 2) / n;
        for (int64_t i = 0; i < n; ++i)
            out(i, i1, i2, i3) = (a(i, i1, i2, i3) - mean) / std::sqrt(variance + eps);
    });
}

double sum_of_squares(const Values& a, int64_t i1, int64_t i2, int64_t i3) {
    double sum = 0;
    for (int64_t i = 0; i < a.ne[0]; ++i) sum += a(i, i1, i2, i3) * a(i, i1, i2, i3);
    return sum;
}

void rms_norm(const ggml_tensor& node, Result& out) {
    const double eps = params_of<tenon_rms_norm_params>(node).eps;
    const Values a = source(node, 0);
    for_each_row(a, [&](int64_t i1, int64_t i2, int64_t i3) {
        const double mean = sum_of_squares(a, i1, i2, i3) / a.ne[0];
        for (int64_t i = 0; i < a.ne[0]; ++i)
            out(i, i1, i2, i3) = a(i, i1, i2, i3) / std::sqrt(mean + eps);
    });
}

void rms_norm_back(const ggml_tensor& node, Result& out) {
    const double eps = params_of<tenon_rms_norm_back_params>(node).eps;
    const Values g = source(node, 0), x = source(node, 1);
    const int64_t n = x.ne[0];
    for_each_row(x, [&](int64_t i1, int64_t i2, int64_t i3) {
        const double squares = sum_of_squares(x, i1, i2, i3);
        double products = 0;
        for (int64_t i = 0; i < n; ++i) products += x(i, i1, i2, i3) * g(i, i1, i2, i3);
        for (int64_t i = 0; i < n; ++i) {
            out(i, i1, i2, i3) =
                (g(i, i1, i2, i3) - x(i, i1, i2, i3) * products / (squares + eps * n)) /
                std::sqrt(squares / n + eps);
        }
    });
}

void l2_norm(const ggml_tensor& node, Result& out) {
    const double eps = params_of<tenon_l2_norm_params>(node).eps;
    const Values a = source(node, 0);
    for_each_row(a, [&](int64_t i1, int64_t i2, int64_t i3) {
        const double length = std::sqrt(sum_of_squares(a, i1, i2, i3));
        for (int64_t i = 0; i < a.ne[0]; ++i)
            out(i, i1, i2, i3) = a(i, i1, i2, i3) / std::fmax(length, eps);
    });
}

// Every sum over one group of channels: sum of fn(x).
template <class Fn>
double over_group(const Values& a, int64_t begin, int64_t end, int64_t i3, Fn&& fn) {
    double total = 0;
    for (int64_t i2 = begin; i2 < end; ++i2) {
        for (int64_t i1 = 0; i1 < a.ne[1]; ++i1) {
            for (int64_t i0 = 0; i0 < a.ne[0]; ++i0) total += fn(a(i0, i1, i2, i3));
        }
    }
    return total;
}

void group_norm(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_group_norm_params>(node);
    const Values a = source(node, 0);
    const int64_t channels = (a.ne[2] + p.n_groups - 1) / p.n_groups;
    for (int64_t i3 = 0; i3 < a.ne[3]; ++i3) {
        for (int64_t begin = 0; begin < a.ne[2]; begin += channels) {
            const int64_t end = std::min(begin + channels, a.ne[2]);
            const double n = static_cast<double>(a.ne[0] * a.ne[1] * (end - begin));
            const double mean = over_group(a, begin, end, i3, [](double x) { return x; }) / n;
            const double variance =
                over_group(a, begin, end, i3, [&](double x) { return std::pow(x - mean, 2); }) / n;
            for (int64_t i2 = begin; i2 < end; ++i2) {
                for (int64_t i1 = 0; i1 < a.ne[1]; ++i1) {
                    for (int64_t i0 = 0; i0 < a.ne[0]; ++i0)
                        out(i0, i1, i2, i3) =
                            (a(i0, i1, i2, i3) - mean) / std::sqrt(variance + p.eps);
                }
            }
        }
    }
}

constexpr Reference kTable[] = {
    {GGML_OP_NORM, norm},
    {GGML_OP_RMS_NORM, rms_norm},
    {GGML_OP_RMS_NORM_BACK, rms_norm_back},
    {GGML_OP_L2_NORM, l2_norm},
    {GGML_OP_GROUP_NORM, group_norm},
};

}  // namespace

const std::span<const Reference> kNormReferences{kTable};

}  // namespace tenon::conformance
