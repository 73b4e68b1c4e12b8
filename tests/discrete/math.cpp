// The two kernels, and what they accept.

#include "tests/discrete/math.h"

#include "tenon/kit.h"
#include "tenon/work.h"

namespace tenon::discrete {
namespace {

using kit::row_at;
using kit::Verdict;

// All three tensors are f32 with dense rows.
Verdict supports(const ggml_tensor& node) {
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
        if (o.tensor->type != GGML_TYPE_F32) return kit::no(TENON_REASON_TYPE, o.not_f32);
        if (o.tensor->nb[0] != sizeof(float)) return kit::no(TENON_REASON_STRIDES, o.not_dense);
    }
    return kit::yes();
}

Verdict supports_add(const ggml_tensor& node) {
    if (const Verdict verdict = supports(node); !verdict) return verdict;
    if (!tenon_can_repeat(node.src[1], node.src[0]))
        return kit::no(TENON_REASON_SHAPE, "src1 does not repeat into src0");
    return kit::yes();
}

// dst[m, n] = sum over k of a[k, m] b[k, n], in double; matrices of `a` repeat along dims 2 and 3.
void mul_mat(const State& state, const ggml_tensor& node) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    char *pa = bytes_of(state, a), *pb = bytes_of(state, b), *pd = bytes_of(state, node);
    const int64_t repeat2 = b.ne[2] / a.ne[2], repeat3 = b.ne[3] / a.ne[3];
    kit::for_rows(node, 0, tenon_nrows(&node), [&](int64_t n, int64_t i2, int64_t i3) {
        const float* x = row_at<const float>(pb, b, n, i2, i3);
        float* out = row_at<float>(pd, node, n, i2, i3);
        for (int64_t m = 0; m < node.ne[0]; m++) {
            const float* w = row_at<const float>(pa, a, m, i2 / repeat2, i3 / repeat3);
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
    kit::for_rows(node, 0, tenon_nrows(&node), [&](int64_t i1, int64_t i2, int64_t i3) {
        const float* x = row_at<const float>(pa, a, i1, i2, i3);
        const float* y = row_at<const float>(pb, b, i1 % b.ne[1], i2 % b.ne[2], i3 % b.ne[3]);
        float* out = row_at<float>(pd, node, i1, i2, i3);
        for (int64_t i = 0; i < node.ne[0]; i++) out[i] = x[i] + y[i % b.ne[0]];
    });
}

struct Kernel {
    Verdict (*supports)(const ggml_tensor& node);
    void (*run)(const State& state, const ggml_tensor& node);
};
constexpr Kernel kAdd{supports_add, add};
constexpr Kernel kMulMat{supports, mul_mat};

constexpr kit::KernelRow<Kernel> kRows[] = {
    {GGML_OP_ADD, &kAdd},
    {GGML_OP_MUL_MAT, &kMulMat},
};
using Kernels = kit::KernelList<kRows>;

}  // namespace

void judge(const ggml_tensor& node, tenon_op_verdict& verdict, bool support_only) {
    Kernels::judge(node, verdict, [&](const Kernel&, tenon_op_verdict& out) {
        if (support_only) return;
        const tenon_work work = tenon_node_work(&node);
        const double bytes = work.bytes_read + work.bytes_written;
        const double seconds = work.ops / kFlopsPerSecond + bytes / kBytesPerSecond;
        out.bytes = static_cast<uint64_t>(bytes);
        out.time_ns = kLaunchNs + static_cast<uint64_t>(seconds * 1e9);
        out.confidence = 20;
    });
}

void compute(const State& state, const ggml_tensor& node) {
    Kernels::find(node, nullptr)->run(state, node);
}

}  // namespace tenon::discrete
