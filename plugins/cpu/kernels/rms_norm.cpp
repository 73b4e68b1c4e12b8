// RMS_NORM: dst = x / sqrt(mean(x^2) + eps), each row of ne[0] elements on its own.

#include <cmath>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    if (!is_float_type(x.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (node.type != x.type) return no(TENON_REASON_TYPE_MIX, "dst must have the type of src0");
    if (!has_dense_rows(x)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    if (!(params_of<tenon_rms_norm_params>(node).eps >= 0)) {
        return no(TENON_REASON_OP_PARAM, "eps is negative");
    }
    return yes();
}

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const float eps = params_of<tenon_rms_norm_params>(node).eps;
    const int64_t n = x.ne[0];

    with_float_type(x.type, [&]<class T>() {
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const T* src = row<const T>(x, i1, i2, i3);
            const float mean =
                static_cast<float>(simd::sum_of_squares(src, n) / static_cast<double>(n));
            simd::scale(row<T>(node, i1, i2, i3), src, n, 1.0f / std::sqrt(mean + eps));
        });
    });
}

}  // namespace

extern constinit const Kernel kRmsNorm{GGML_OP_RMS_NORM, supports, run};

}  // namespace tenon::cpu
