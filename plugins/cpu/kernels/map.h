// Kernels of one source that work element by element: dst = fn(x).
#pragma once

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {

// x of any float type; dst has its type and shape, or is f32.
inline Verdict supports_map(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    if (!is_float_type(x.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(x)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// fn: f32 -> f32, a vector at a time.
template <class Fn>
void map_elements(const Task& task, const ggml_tensor& node, Fn fn) {
    const ggml_tensor& x = *node.src[0];
    with_float_type(x.type, [&]<class T>() {
        for_each_piece(
            task, node, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
                const T* src = row<const T>(x, i1, i2, i3) + begin;
                if (node.type == x.type) {
                    simd::map(row<T>(node, i1, i2, i3) + begin, src, end - begin, fn);
                } else {
                    simd::map(row<float>(node, i1, i2, i3) + begin, src, end - begin, fn);
                }
            });
    });
}

}  // namespace tenon::cpu
