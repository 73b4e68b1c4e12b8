// ARGMAX: the index of the largest element of each row; of equal ones the last.

#include <limits>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

Verdict supports_argmax(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    if (x.type != GGML_TYPE_F32) return no(TENON_REASON_TYPE, "src0 must be f32");
    if (node.type != GGML_TYPE_I32) return no(TENON_REASON_TYPE, "dst must be i32");
    if (x.ne[2] != 1 || x.ne[3] != 1) return no(TENON_REASON_SHAPE, "src0 is not a matrix");
    if (x.ne[0] > INT32_MAX)
        return no(TENON_REASON_TOO_LARGE, "src0 has rows beyond 2^31 elements");
    if (!has_dense_rows(x)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    return yes();
}

int32_t last_index_of_max(const float* x, int64_t n) {
    const float most = simd::max_of(x, n, -std::numeric_limits<float>::infinity());
    for (int64_t i = n - 1; i > 0; --i) {
        if (x[i] == most) return static_cast<int32_t>(i);
    }
    return 0;
}

void run_argmax(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const Range rows = share(task, x.ne[1]);
    for (int64_t i = rows.begin; i < rows.end; ++i) {
        *element<int32_t>(node, i, 0, 0, 0) = last_index_of_max(row<const float>(x, i), x.ne[0]);
    }
}

}  // namespace

extern constinit const Kernel kArgmax{GGML_OP_ARGMAX, supports_argmax, run_argmax};

}  // namespace tenon::cpu
