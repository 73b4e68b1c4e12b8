// The two kernels, and what they accept.

#include "tests/discrete/math.h"

#include "tenon/tensor.h"

namespace tenon::discrete {
namespace {

void refuse(tenon_op_verdict& verdict, uint32_t reason, const char* detail) {
    verdict.support = TENON_SUPPORT_NO;
    verdict.reason = reason;
    verdict.detail = detail;
}

// Whether all three tensors are f32 with dense rows; fills the verdict when not.
bool accepts_operands(const ggml_tensor& node, tenon_op_verdict& verdict) {
    struct Operand {
        const ggml_tensor* tensor;
        const char *not_f32, *not_dense;
    };
    const Operand operands[] = {
        {node.src[0], "src0 must be f32", "src0 rows must be dense"},
        {node.src[1], "src1 must be f32", "src1 rows must be dense"},
        {&node, "the result must be f32", "result rows must be dense"},
    };
    for (const Operand& o : operands) {
        if (o.tensor->type != GGML_TYPE_F32)
            return refuse(verdict, TENON_REASON_TYPE, o.not_f32), false;
        if (o.tensor->nb[0] != sizeof(float))
            return refuse(verdict, TENON_REASON_STRIDES, o.not_dense), false;
    }
    return true;
}

double flops(const ggml_tensor& node) {
    const double n = static_cast<double>(tenon_nelements(&node));
    return node.op == GGML_OP_MUL_MAT ? 2.0 * n * static_cast<double>(node.src[0]->ne[0]) : n;
}

double traffic_bytes(const ggml_tensor& node) {
    return sizeof(float) *
           static_cast<double>(tenon_nelements(&node) + tenon_nelements(node.src[0]) +
                               tenon_nelements(node.src[1]));
}

// Where row (i1, i2, i3) of a tensor starts.
template <class T>
T* row(char* bytes, const ggml_tensor& t, int64_t i1, int64_t i2, int64_t i3) {
    return reinterpret_cast<T*>(bytes + static_cast<uint64_t>(i1) * t.nb[1] +
                                static_cast<uint64_t>(i2) * t.nb[2] +
                                static_cast<uint64_t>(i3) * t.nb[3]);
}

template <class F>
void for_each_row_of(const ggml_tensor& t, F&& f) {
    for (int64_t i3 = 0; i3 < t.ne[3]; i3++)
        for (int64_t i2 = 0; i2 < t.ne[2]; i2++)
            for (int64_t i1 = 0; i1 < t.ne[1]; i1++) f(i1, i2, i3);
}

// dst[m, n] = sum over k of a[k, m] b[k, n], in double; matrices of `a` repeat along dims 2 and 3.
void mul_mat(const State& state, const ggml_tensor& node) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    char *pa = bytes_of(state, a), *pb = bytes_of(state, b), *pd = bytes_of(state, node);
    const int64_t repeat2 = b.ne[2] / a.ne[2], repeat3 = b.ne[3] / a.ne[3];
    for_each_row_of(node, [&](int64_t n, int64_t i2, int64_t i3) {
        const float* x = row<const float>(pb, b, n, i2, i3);
        float* out = row<float>(pd, node, n, i2, i3);
        for (int64_t m = 0; m < node.ne[0]; m++) {
            const float* w = row<const float>(pa, a, m, i2 / repeat2, i3 / repeat3);
            double sum = 0;
            for (int64_t k = 0; k < a.ne[0]; k++) sum += static_cast<double>(w[k]) * x[k];
            out[m] = static_cast<float>(sum);
        }
    });
}

// dst = a + b, b repeated to the shape of a.
void add(const State& state, const ggml_tensor& node) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    char *pa = bytes_of(state, a), *pb = bytes_of(state, b), *pd = bytes_of(state, node);
    for_each_row_of(node, [&](int64_t i1, int64_t i2, int64_t i3) {
        const float* x = row<const float>(pa, a, i1, i2, i3);
        const float* y = row<const float>(pb, b, i1 % b.ne[1], i2 % b.ne[2], i3 % b.ne[3]);
        float* out = row<float>(pd, node, i1, i2, i3);
        for (int64_t i = 0; i < node.ne[0]; i++) out[i] = x[i] + y[i % b.ne[0]];
    });
}

}  // namespace

void judge(const ggml_tensor& node, tenon_op_verdict& verdict, bool support_only) {
    verdict.flags = TENON_VERDICT_CACHEABLE;
    if (node.op < 0 || node.op >= GGML_OP_COUNT) {
        return refuse(verdict, TENON_REASON_UNKNOWN_OP, "the op number is unknown");
    }
    if (tenon_is_view_op(node.op)) {
        verdict.support = TENON_SUPPORT_YES;
        return;
    }
    if (node.op != GGML_OP_MUL_MAT && node.op != GGML_OP_ADD) {
        return refuse(verdict, TENON_REASON_NOT_IMPLEMENTED, "only MUL_MAT and ADD have a kernel");
    }
    if (!accepts_operands(node, verdict)) return;
    if (node.op == GGML_OP_ADD && !tenon_can_repeat(node.src[1], node.src[0])) {
        return refuse(verdict, TENON_REASON_SHAPE, "src1 does not repeat into src0");
    }
    verdict.support = TENON_SUPPORT_YES;
    if (support_only) return;
    verdict.bytes = static_cast<uint64_t>(traffic_bytes(node));
    const double seconds = flops(node) / kFlopsPerSecond + traffic_bytes(node) / kBytesPerSecond;
    verdict.time_ns = kLaunchNs + static_cast<uint64_t>(seconds * 1e9);
    verdict.confidence = 20;
}

void compute(const State& state, const ggml_tensor& node) {
    if (node.op == GGML_OP_MUL_MAT) return mul_mat(state, node);
    add(state, node);
}

}  // namespace tenon::discrete
