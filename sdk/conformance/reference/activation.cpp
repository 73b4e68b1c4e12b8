// References: functions of one element, gated units, the gradient of SILU.

#include <cmath>

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x / (1 + std::exp(-x)); }
double gelu(double x) {
    if (x < -40) return 0;  // the limit; the formula has -inf*0
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * x * (1 + 0.044715 * x * x)));
}
double gelu_erf(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_quick(double x) { return x / (1 + std::exp(-1.702 * x)); }
double hard_sigmoid(double x) { return std::fmin(1, std::fmax(0, (x + 3) / 6)); }
double clamp(double x, double limit) { return std::fmin(limit, std::fmax(-limit, x)); }

using Function = double (*)(double);
struct UnaryRow {
    ggml_unary_op op;
    Function f;
};
constexpr UnaryRow kUnary[] = {
    {GGML_UNARY_OP_ABS, [](double x) { return std::fabs(x); }},
    {GGML_UNARY_OP_SGN, [](double x) { return x > 0   ? 1.0
                                              : x < 0 ? -1.0
                                                      : 0.0; }},
    {GGML_UNARY_OP_NEG, [](double x) { return -x; }},
    {GGML_UNARY_OP_STEP, [](double x) { return x > 0 ? 1.0 : 0.0; }},
    {GGML_UNARY_OP_TANH, [](double x) { return std::tanh(x); }},
    {GGML_UNARY_OP_ELU, [](double x) { return x > 0 ? x : std::expm1(x); }},
    {GGML_UNARY_OP_RELU, [](double x) { return x > 0 ? x : 0.0; }},
    {GGML_UNARY_OP_SIGMOID, sigmoid},
    {GGML_UNARY_OP_GELU, gelu},
    {GGML_UNARY_OP_GELU_QUICK, gelu_quick},
    {GGML_UNARY_OP_SILU, silu},
    {GGML_UNARY_OP_HARDSWISH, [](double x) { return x * hard_sigmoid(x); }},
    {GGML_UNARY_OP_HARDSIGMOID, hard_sigmoid},
    {GGML_UNARY_OP_EXP, [](double x) { return std::exp(x); }},
    {GGML_UNARY_OP_EXPM1, [](double x) { return std::expm1(x); }},
    {GGML_UNARY_OP_SOFTPLUS, [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); }},
    {GGML_UNARY_OP_GELU_ERF, gelu_erf},
    {GGML_UNARY_OP_FLOOR, [](double x) { return std::floor(x); }},
    {GGML_UNARY_OP_CEIL, [](double x) { return std::ceil(x); }},
    {GGML_UNARY_OP_ROUND, [](double x) { return std::round(x); }},
    {GGML_UNARY_OP_TRUNC, [](double x) { return std::trunc(x); }},
};

double xielu(const tenon_unary_params& p, double x) {
    if (x > 0) return p.xielu_p * x * x + p.xielu_beta * x;
    return (std::expm1(std::fmin(x, p.xielu_eps)) - x) * p.xielu_n + p.xielu_beta * x;
}

void unary(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_unary_params>(node);
    const Values a = source(node, 0);
    if (p.op == GGML_UNARY_OP_XIELU) {
        for (size_t i = 0; i < a.v.size(); ++i) out.v[i] = xielu(p, a.v[i]);
        return;
    }
    for (const UnaryRow& row : kUnary) {
        if (row.op != p.op) continue;
        for (size_t i = 0; i < a.v.size(); ++i) out.v[i] = row.f(a.v[i]);
        return;
    }
    throw std::runtime_error("no reference for unary op " + std::to_string(p.op));
}

double glu_of(const tenon_glu_params& p, double x, double g) {
    const double least = std::fmin(x, p.limit);
    switch (p.op) {
        case GGML_GLU_OP_REGLU:
            return x > 0 ? x * g : 0.0;
        case GGML_GLU_OP_GEGLU:
            return gelu(x) * g;
        case GGML_GLU_OP_SWIGLU:
            return silu(x) * g;
        case GGML_GLU_OP_SWIGLU_OAI:
            return least / (1 + std::exp(-p.alpha * least)) * (clamp(g, p.limit) + 1);
        case GGML_GLU_OP_GEGLU_ERF:
            return gelu_erf(x) * g;
        case GGML_GLU_OP_GEGLU_QUICK:
            return gelu_quick(x) * g;
        case GGML_GLU_OP_SWIGLU_CLAMP:
            return silu(least) * clamp(g, p.limit);
        default:
            throw std::runtime_error("no reference for glu op " + std::to_string(p.op));
    }
}

// x and g: two tensors, or the halves of the rows of one.
void glu(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_glu_params>(node);
    const Values a = source(node, 0);
    const bool split = has_source(node, 1);
    const Values b = split ? source(node, 1) : a;
    const int64_t n = out.ne[0];
    const int64_t x_at = !split && p.swapped ? n : 0, g_at = !split && !p.swapped ? n : 0;
    for_each_index(out, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        out(i0, i1, i2, i3) = glu_of(p, a(x_at + i0, i1, i2, i3), b(g_at + i0, i1, i2, i3));
    });
}

void leaky_relu(const ggml_tensor& node, Result& out) {
    const double slope = params_of<tenon_leaky_relu_params>(node).negative_slope;
    const Values a = source(node, 0);
    for (size_t i = 0; i < a.v.size(); ++i) {
        const double x = a.v[i];
        out.v[i] = (x > 0 ? x : 0) + slope * (x < 0 ? x : 0);
    }
}

void silu_back(const ggml_tensor& node, Result& out) {
    const Values g = source(node, 0), x = source(node, 1);
    for (size_t i = 0; i < x.v.size(); ++i) {
        const double s = sigmoid(x.v[i]);
        out.v[i] = g.v[i] * s * (1 + x.v[i] * (1 - s));
    }
}

constexpr Reference kTable[] = {
    {GGML_OP_UNARY, unary},
    {GGML_OP_GLU, glu},
    {GGML_OP_LEAKY_RELU, leaky_relu},
    {GGML_OP_SILU_BACK, silu_back},
};

}  // namespace

const std::span<const Reference> kActivationReferences{kTable};

}  // namespace tenon::conformance
