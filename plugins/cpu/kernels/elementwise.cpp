// SCALE: dst = x*scale + bias.

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

using simd::f32;

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    if (!is_float_type(x.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (node.type != x.type) return no(TENON_REASON_TYPE_MIX, "dst must have the type of src0");
    if (!has_dense_rows(x)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

void run_scale(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const auto p = params_of<tenon_scale_params>(node);
    const f32 scale = simd::splat(p.scale), bias = simd::splat(p.bias);
    with_float_type(x.type, [&]<class T>() {
        for_each_piece(task, node,
                       [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
                           T* dst = row<T>(node, i1, i2, i3) + begin;
                           const T* src = row<const T>(x, i1, i2, i3) + begin;
                           if (p.bias == 0.0f) {
                               simd::map(dst, src, end - begin, [=](f32 v) { return v * scale; });
                           } else {
                               simd::map(dst, src, end - begin,
                                         [=](f32 v) { return simd::fma(v, scale, bias); });
                           }
                       });
    });
}

}  // namespace

extern constinit const Kernel kScale{GGML_OP_SCALE, supports, run_scale};

}  // namespace tenon::cpu
