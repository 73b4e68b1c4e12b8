// OPT_STEP_ADAMW, OPT_STEP_SGD: one step of an optimiser. dst is a view of the weights, which are
// updated in place; ADAMW updates its two moments as well.

#include <cmath>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

using simd::f32;

// Sources 0 … n_tensors-1 have the shape of the weights; source n_tensors has n_params numbers.
Verdict check(const ggml_tensor& node, int n_tensors, int64_t n_params) {
    if (node.type != GGML_TYPE_F32) return no(TENON_REASON_TYPE, "dst must be f32");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "rows are not dense");
    for (int i = 0; i < n_tensors; ++i) {
        const ggml_tensor& t = *node.src[i];
        if (t.type != GGML_TYPE_F32) return no(TENON_REASON_TYPE, "all sources must be f32");
        if (!tenon_same_shape(&t, &node)) {
            return no(TENON_REASON_SHAPE, "sources must have the shape of the weights");
        }
        if (!has_dense_rows(t)) return no(TENON_REASON_STRIDES, "rows are not dense");
    }
    const ggml_tensor& params = *node.src[n_tensors];
    if (params.type != GGML_TYPE_F32) return no(TENON_REASON_TYPE, "parameters must be f32");
    if (tenon_nelements(&params) != n_params) {
        return no(TENON_REASON_SHAPE, "wrong number of parameters");
    }
    if (!is_contiguous(params)) return no(TENON_REASON_STRIDES, "parameters are not contiguous");
    return yes();
}

// fn(i, some) for each word of [begin, end), of which `some` lanes count.
template <class Fn>
void for_each_word(int64_t begin, int64_t end, Fn&& fn) {
    for (; begin + f32::lanes <= end; begin += f32::lanes) fn(begin, f32::lanes);
    if (begin < end) fn(begin, static_cast<int>(end - begin));
}
f32 get(const float* p, int some) {
    return some == f32::lanes ? simd::load(p) : simd::load_some(p, some);
}
void put(float* p, f32 value, int some) {
    if (some == f32::lanes) {
        simd::store(p, value);
    } else {
        simd::store_some(p, value, some);
    }
}

// ---- ADAMW ------------------------------------------------------------------------------------

Verdict supports_adamw(const ggml_tensor& node) { return check(node, 4, 7); }

struct AdamW {  // the parameter tensor
    float alpha, beta1, beta2, epsilon, decay, beta1_correction, beta2_correction;
};

void run_adamw(const Task& task, const ggml_tensor& node) {
    AdamW p;
    std::memcpy(&p, node.src[4]->data, sizeof p);
    const f32 keep = simd::splat(1 - p.alpha * p.decay), alpha = simd::splat(p.alpha);
    const f32 beta1 = simd::splat(p.beta1), rest1 = simd::splat(1 - p.beta1);
    const f32 beta2 = simd::splat(p.beta2), rest2 = simd::splat(1 - p.beta2);
    const f32 correction1 = simd::splat(p.beta1_correction);
    const f32 correction2 = simd::splat(p.beta2_correction), epsilon = simd::splat(p.epsilon);

    for_each_piece(task, node, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
        const float* w = row<const float>(*node.src[0], i1, i2, i3);
        const float* gradient = row<const float>(*node.src[1], i1, i2, i3);
        float* first = row<float>(*node.src[2], i1, i2, i3);
        float* second = row<float>(*node.src[3], i1, i2, i3);
        float* dst = row<float>(node, i1, i2, i3);
        for_each_word(begin, end, [&](int64_t i, int some) {
            const f32 g = get(gradient + i, some);
            const f32 m = simd::fma(get(first + i, some), beta1, g * rest1);
            const f32 v = simd::fma(get(second + i, some), beta2, g * g * rest2);
            put(first + i, m, some);
            put(second + i, v, some);
            const f32 step = m * correction1 / (simd::sqrt(v * correction2) + epsilon);
            put(dst + i, simd::fnma(alpha, step, get(w + i, some) * keep), some);
        });
    });
}

// ---- SGD --------------------------------------------------------------------------------------

Verdict supports_sgd(const ggml_tensor& node) { return check(node, 2, 2); }

void run_sgd(const Task& task, const ggml_tensor& node) {
    const auto* p = static_cast<const float*>(node.src[2]->data);  // alpha, decay
    const f32 alpha = simd::splat(p[0]), keep = simd::splat(1 - p[0] * p[1]);
    for_each_piece(task, node, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
        simd::map(row<float>(node, i1, i2, i3) + begin,
                  row<const float>(*node.src[0], i1, i2, i3) + begin,
                  row<const float>(*node.src[1], i1, i2, i3) + begin, end - begin,
                  [=](f32 w, f32 g) { return simd::fnma(alpha, g, w * keep); });
    });
}

}  // namespace

extern constinit const Kernel kOptStepAdamW{GGML_OP_OPT_STEP_ADAMW, supports_adamw, run_adamw};
extern constinit const Kernel kOptStepSgd{GGML_OP_OPT_STEP_SGD, supports_sgd, run_sgd};

}  // namespace tenon::cpu
