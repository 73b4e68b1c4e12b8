// References: element by element arithmetic.

#include <cmath>
#include <cstring>

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

template <class Fn>
void binary(const ggml_tensor& node, Result& out, Fn&& fn) {
    const Values a = source(node, 0), b = source(node, 1);
    for_each_index(out, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        out(i0, i1, i2, i3) = fn(a(i0, i1, i2, i3), b.repeated(i0, i1, i2, i3));
    });
}

template <class Fn>
void unary(const ggml_tensor& node, Result& out, Fn&& fn) {
    const Values a = source(node, 0);
    for (size_t i = 0; i < out.v.size(); ++i) out.v[i] = fn(a.v[i]);
}

void add(const ggml_tensor& node, Result& out) {
    binary(node, out, [](double a, double b) { return a + b; });
}
void sub(const ggml_tensor& node, Result& out) {
    binary(node, out, [](double a, double b) { return a - b; });
}
void mul(const ggml_tensor& node, Result& out) {
    binary(node, out, [](double a, double b) { return a * b; });
}
void div(const ggml_tensor& node, Result& out) {
    binary(node, out, [](double a, double b) { return a / b; });
}

// d[i0,i1,i2,i3] = a[i0,i1,i2,i3] + b[i0, ids[i1,i2]]
void add_id(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0), b = source(node, 1), ids = source(node, 2);
    for_each_index(out, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        out(i0, i1, i2, i3) = a(i0, i1, i2, i3) + b(i0, static_cast<int64_t>(ids(i1, i2)));
    });
}

// a with b added to the part that a view with strides nb1, nb2, nb3 and an offset shows
void acc(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_set_params>(node);
    const Values a = source(node, 0), b = source(node, 1);
    out.v = a.v;
    // a is contiguous: a byte offset is an index
    for_each_index(b, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        const int64_t at = (p.offset + i1 * p.nb1 + i2 * p.nb2 + i3 * p.nb3) / 4 + i0;
        out.v[at] += b(i0, i1, i2, i3);
    });
}

void scale(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_scale_params>(node);
    unary(node, out, [&](double x) { return x * p.scale + p.bias; });
}

void clamp(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_clamp_params>(node);
    unary(node, out, [&](double x) { return x < p.min ? p.min : x > p.max ? p.max : x; });
}

void sqr(const ggml_tensor& node, Result& out) {
    unary(node, out, [](double x) { return x * x; });
}
void sqrt_of(const ggml_tensor& node, Result& out) {
    unary(node, out, [](double x) { return std::sqrt(x); });
}
void log_of(const ggml_tensor& node, Result& out) {
    unary(node, out, [](double x) { return std::log(x); });
}
void sin_of(const ggml_tensor& node, Result& out) {
    unary(node, out, [](double x) { return std::sin(x); });
}
void cos_of(const ggml_tensor& node, Result& out) {
    unary(node, out, [](double x) { return std::cos(x); });
}

constexpr Reference kTable[] = {
    {GGML_OP_ADD, add},    {GGML_OP_SUB, sub},      {GGML_OP_MUL, mul},
    {GGML_OP_DIV, div},    {GGML_OP_ADD1, add},     {GGML_OP_ADD_ID, add_id},
    {GGML_OP_ACC, acc},    {GGML_OP_SCALE, scale},  {GGML_OP_CLAMP, clamp},
    {GGML_OP_SQR, sqr},    {GGML_OP_SQRT, sqrt_of}, {GGML_OP_LOG, log_of},
    {GGML_OP_SIN, sin_of}, {GGML_OP_COS, cos_of},
};

}  // namespace

const std::span<const Reference> kArithmeticReferences{kTable};

}  // namespace tenon::conformance
