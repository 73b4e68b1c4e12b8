// GLU: dst = act(x)*g, where x and g are two tensors or the two halves of each row of one.

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/vmath.h"

namespace tenon::cpu {
namespace {

using simd::f32;
using simd::splat;

template <class Fn>
void map_all(const Task& task, const ggml_tensor& node, Fn fn) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor* b = node.src[1];
    const int64_t n = node.ne[0];
    const bool swapped = params_of<tenon_glu_params>(node).swapped != 0;
    with_float_type(a.type, [&]<class T>() {
        for_each_piece(
            task, node, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
                const T* x = row<const T>(a, i1, i2, i3) + (!b && swapped ? n : 0);
                const T* g = b ? row<const T>(*b, i1, i2, i3)
                               : row<const T>(a, i1, i2, i3) + (swapped ? 0 : n);
                simd::map(row<T>(node, i1, i2, i3) + begin, x + begin, g + begin, end - begin, fn);
            });
    });
}

template <auto fn>
void run_op(const Task& task, const ggml_tensor& node) {
    map_all(task, node, fn);
}

f32 at_most(f32 x, f32 limit) { return simd::select(simd::less(limit, x), limit, x); }  // keeps NaN
f32 clamp(f32 x, f32 limit) {
    return simd::select(simd::less(x, -limit), -limit, at_most(x, limit));
}

void run_swiglu_oai(const Task& task, const ggml_tensor& node) {
    const auto p = params_of<tenon_glu_params>(node);
    const f32 alpha = splat(-p.alpha), limit = splat(p.limit), one = splat(1.0f);
    map_all(task, node, [=](f32 x, f32 g) {
        const f32 y = at_most(x, limit);
        return y / (one + simd::exp(alpha * y)) * (clamp(g, limit) + one);
    });
}

void run_swiglu_clamp(const Task& task, const ggml_tensor& node) {
    const f32 limit = splat(params_of<tenon_glu_params>(node).limit);
    map_all(task, node,
            [=](f32 x, f32 g) { return simd::silu(at_most(x, limit)) * clamp(g, limit); });
}

struct Row {
    ggml_glu_op op;
    void (*run)(const Task&, const ggml_tensor&);
};
constexpr Row kOps[] = {
    {GGML_GLU_OP_REGLU, run_op<[](f32 x, f32 g) {
         return simd::select(simd::less(splat(0.0f), x), x * g, splat(0.0f));
     }>},
    {GGML_GLU_OP_GEGLU, run_op<[](f32 x, f32 g) { return simd::gelu(x) * g; }>},
    {GGML_GLU_OP_SWIGLU, run_op<[](f32 x, f32 g) { return simd::silu(x) * g; }>},
    {GGML_GLU_OP_SWIGLU_OAI, run_swiglu_oai},
    {GGML_GLU_OP_GEGLU_ERF, run_op<[](f32 x, f32 g) { return simd::gelu_erf(x) * g; }>},
    {GGML_GLU_OP_GEGLU_QUICK, run_op<[](f32 x, f32 g) { return simd::gelu_quick(x) * g; }>},
    {GGML_GLU_OP_SWIGLU_CLAMP, run_swiglu_clamp},
};
constexpr bool in_enum_order() {
    int i = 0;
    for (const Row& r : kOps) {
        if (r.op != i++) return false;
    }
    return i == GGML_GLU_OP_COUNT;
}
static_assert(in_enum_order(), "kOps needs exactly one row per ggml_glu_op, in order");

Verdict supports(const ggml_tensor& node) {
    if (!is_float_type(node.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

void run(const Task& task, const ggml_tensor& node) {
    kOps[params_of<tenon_glu_params>(node).op].run(task, node);
}

}  // namespace

extern constinit const Kernel kGlu = Kernel{supports, run}.by_elements();

}  // namespace tenon::cpu
