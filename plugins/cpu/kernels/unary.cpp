// UNARY, LEAKY_RELU: dst = fn(x), element by element, f32 arithmetic.
// SILU_BACK: the gradient of SILU, from that of its result (src0) and its x (src1).

#include "plugins/cpu/kernels/map.h"
#include "plugins/cpu/simd/vmath.h"

namespace tenon::cpu {
namespace {

using simd::f32;
using simd::less;
using simd::max;
using simd::min;
using simd::select;
using simd::splat;

template <auto fn>
void run_op(const Task& task, const ggml_tensor& node) {
    map_elements(task, node, fn);
}

// x > 0 ? p*x^2 + beta*x : (expm1(min(x, eps)) - x)*n + beta*x
void run_xielu(const Task& task, const ggml_tensor& node) {
    const auto p = params_of<tenon_unary_params>(node);
    const f32 alpha_n = splat(p.xielu_n), alpha_p = splat(p.xielu_p), beta = splat(p.xielu_beta),
              eps = splat(p.xielu_eps), zero = splat(0.0f);
    map_elements(task, node, [=](f32 x) {
        const f32 positive = simd::fma(alpha_p * x, x, beta * x);
        const f32 negative = simd::fma(simd::expm1(min(x, eps)) - x, alpha_n, beta * x);
        return select(less(zero, x), positive, negative);
    });
}

f32 positive_part(f32 x) { return select(less(splat(0.0f), x), x, splat(0.0f)); }
f32 hard_sigmoid(f32 x) {  // NaN gives 0
    const f32 t = (x + splat(3.0f)) / splat(6.0f);
    return select(less(splat(1.0f), t), splat(1.0f), positive_part(t));
}
f32 sign(f32 x) {
    const f32 negative = select(less(x, splat(0.0f)), splat(-1.0f), splat(0.0f));
    return select(less(splat(0.0f), x), splat(1.0f), negative);
}
// Nearest, halves away from zero. Adding the largest float below 1/2 and cutting off is exact: with
// 1/2 itself, 0.49999997 would become 1.
f32 round_away(f32 x) { return simd::copy_sign(simd::trunc(simd::abs(x) + splat(0.49999997f)), x); }

using RunFn = void (*)(const Task&, const ggml_tensor&);
struct Row {
    ggml_unary_op op;
    RunFn run;
};
constexpr Row kOps[] = {
    {GGML_UNARY_OP_ABS, run_op<[](f32 x) { return simd::abs(x); }>},
    {GGML_UNARY_OP_SGN, run_op<[](f32 x) { return sign(x); }>},
    {GGML_UNARY_OP_NEG, run_op<[](f32 x) { return -x; }>},
    {GGML_UNARY_OP_STEP,
     run_op<[](f32 x) { return select(less(splat(0.0f), x), splat(1.0f), splat(0.0f)); }>},
    {GGML_UNARY_OP_TANH, run_op<[](f32 x) { return simd::tanh(x); }>},
    {GGML_UNARY_OP_ELU,
     run_op<[](f32 x) { return select(less(splat(0.0f), x), x, simd::expm1(x)); }>},
    {GGML_UNARY_OP_RELU, run_op<[](f32 x) { return positive_part(x); }>},
    {GGML_UNARY_OP_SIGMOID, run_op<[](f32 x) { return simd::sigmoid(x); }>},
    {GGML_UNARY_OP_GELU, run_op<[](f32 x) { return simd::gelu(x); }>},
    {GGML_UNARY_OP_GELU_QUICK, run_op<[](f32 x) { return simd::gelu_quick(x); }>},
    {GGML_UNARY_OP_SILU, run_op<[](f32 x) { return simd::silu(x); }>},
    {GGML_UNARY_OP_HARDSWISH, run_op<[](f32 x) { return x * hard_sigmoid(x); }>},
    {GGML_UNARY_OP_HARDSIGMOID, run_op<[](f32 x) { return hard_sigmoid(x); }>},
    {GGML_UNARY_OP_EXP, run_op<[](f32 x) { return simd::exp(x); }>},
    {GGML_UNARY_OP_EXPM1, run_op<[](f32 x) { return simd::expm1(x); }>},
    {GGML_UNARY_OP_SOFTPLUS, run_op<[](f32 x) { return simd::softplus(x); }>},
    {GGML_UNARY_OP_GELU_ERF, run_op<[](f32 x) { return simd::gelu_erf(x); }>},
    {GGML_UNARY_OP_XIELU, run_xielu},
    {GGML_UNARY_OP_FLOOR, run_op<[](f32 x) { return simd::floor(x); }>},
    {GGML_UNARY_OP_CEIL, run_op<[](f32 x) { return simd::ceil(x); }>},
    {GGML_UNARY_OP_ROUND, run_op<[](f32 x) { return round_away(x); }>},
    {GGML_UNARY_OP_TRUNC, run_op<[](f32 x) { return simd::trunc(x); }>},
};
constexpr bool in_enum_order() {
    int i = 0;
    for (const Row& r : kOps) {
        if (r.op != i++) return false;
    }
    return i == GGML_UNARY_OP_COUNT;
}
static_assert(in_enum_order(), "kOps needs exactly one row per ggml_unary_op, in order");

void run(const Task& task, const ggml_tensor& node) {
    kOps[params_of<tenon_unary_params>(node).op].run(task, node);
}

// Transcendental functions take a nanosecond or so per element without wide vectors.
// (x > 0 ? x : 0) + slope*(x < 0 ? x : 0): NaN gives 0
void run_leaky_relu(const Task& task, const ggml_tensor& node) {
    const f32 slope = splat(params_of<tenon_leaky_relu_params>(node).negative_slope);
    const f32 zero = splat(0.0f);
    map_elements(task, node, [=](f32 x) {
        return select(less(zero, x), x, slope * select(less(x, zero), x, zero));
    });
}

// ---- SILU_BACK --------------------------------------------------------------------------------

Verdict supports_silu_back(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[1];
    if (const Verdict gradient = supports_map(node); !gradient) return gradient;
    if (x.type != node.type) return no(TENON_REASON_TYPE_MIX, "src0 and src1 must have one type");
    if (!has_dense_rows(x)) return no(TENON_REASON_STRIDES, "src1 rows are not dense");
    return yes();
}

// With s = sigmoid(x): g*s*(1 + x*(1 - s))
void run_silu_back(const Task& task, const ggml_tensor& node) {
    const f32 one = splat(1.0f);
    with_float_type(node.type, [&]<class T>() {
        for_each_piece(
            task, node, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
                const T* g = row<const T>(*node.src[0], i1, i2, i3) + begin;
                const T* x = row<const T>(*node.src[1], i1, i2, i3) + begin;
                simd::map(row<T>(node, i1, i2, i3) + begin, g, x, end - begin, [=](f32 gi, f32 xi) {
                    const f32 s = simd::sigmoid(xi);
                    return gi * s * simd::fma(xi, one - s, one);
                });
            });
    });
}

}  // namespace

extern constinit const Kernel kUnary = Kernel{supports_map, run}.by_elements();
extern constinit const Kernel kLeakyRelu = Kernel{supports_map, run_leaky_relu}.by_elements();
extern constinit const Kernel kSiluBack = Kernel{supports_silu_back, run_silu_back}.by_elements();

}  // namespace tenon::cpu
