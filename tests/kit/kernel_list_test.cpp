// Lists of kernels: which one computes a node, and the answers to queries.

#include "tenon/kit/kernel_list.h"

#include <gtest/gtest.h>

#include "tests/kit/tensors.h"

namespace tenon::kit {
namespace {

struct Kernel {
    Verdict (*supports)(const ggml_tensor& node);
};

Verdict f32_of_width_4(const ggml_tensor& node) {
    if (node.type != GGML_TYPE_F32) return no(TENON_REASON_TYPE, "must be f32");
    return node.ne[0] % 4 == 0 ? yes() : no(TENON_REASON_SHAPE, "needs ne[0] % 4 == 0");
}
Verdict any_f32(const ggml_tensor& node) {
    return node.type == GGML_TYPE_F32 ? yes() : no(TENON_REASON_TYPE, "src0 must be f32");
}

constexpr Kernel kFast{f32_of_width_4}, kGeneral{any_f32}, kLast{any_f32};
constexpr KernelRow<Kernel> kRows[] = {
    {GGML_OP_MUL, &kGeneral},
    {GGML_OP_MUL_MAT, &kFast},
    {GGML_OP_MUL_MAT, &kGeneral},
    {static_cast<ggml_op>(GGML_OP_COUNT - 1), &kLast},
};
using Kernels = KernelList<kRows>;

ggml_tensor node_of(int op, ggml_type type, int64_t n) {
    ggml_tensor t = tensor(type, n);
    t.op = static_cast<ggml_op>(op);
    return t;
}

tenon_op_verdict judged(const ggml_tensor& node) {
    tenon_op_verdict out{};
    Kernels::judge(node, out, [](const Kernel& kernel, tenon_op_verdict& verdict) {
        verdict.time_ns = &kernel == &kFast ? 1 : 2;
    });
    return out;
}

TEST(KernelList, TheFirstThatSaysYesWins) {
    EXPECT_EQ(Kernels::find(node_of(GGML_OP_MUL_MAT, GGML_TYPE_F32, 8), nullptr), &kFast);
    EXPECT_EQ(Kernels::find(node_of(GGML_OP_MUL_MAT, GGML_TYPE_F32, 7), nullptr), &kGeneral);
    EXPECT_EQ(Kernels::find(node_of(GGML_OP_MUL, GGML_TYPE_F32, 8), nullptr), &kGeneral);
    EXPECT_EQ(Kernels::find(node_of(GGML_OP_COUNT - 1, GGML_TYPE_F32, 8), nullptr), &kLast);
}

TEST(KernelList, TheLastRefusalIsTheReason) {
    Verdict why;
    EXPECT_EQ(Kernels::find(node_of(GGML_OP_MUL_MAT, GGML_TYPE_F16, 8), &why), nullptr);
    EXPECT_FALSE(why);
    EXPECT_EQ(why.reason, uint32_t{TENON_REASON_TYPE});
    EXPECT_STREQ(why.detail, "src0 must be f32");
}

TEST(KernelList, OpsWithoutKernelAndUnknownOnesAreToldApart) {
    Verdict why;
    EXPECT_EQ(Kernels::find(node_of(GGML_OP_ADD, GGML_TYPE_F32, 8), &why), nullptr);
    EXPECT_EQ(why.reason, uint32_t{TENON_REASON_NOT_IMPLEMENTED});
    EXPECT_STREQ(why.detail, "there is no kernel for this op");
    EXPECT_EQ(Kernels::find(node_of(GGML_OP_COUNT, GGML_TYPE_F32, 8), &why), nullptr);
    EXPECT_EQ(why.reason, uint32_t{TENON_REASON_UNKNOWN_OP});
    EXPECT_STREQ(why.detail, "the op number is unknown");
}

TEST(KernelList, EveryOpOfTheEnumIsFoundOrRefused) {
    for (int op = 0; op < GGML_OP_COUNT; ++op) {
        const bool listed = op == GGML_OP_MUL || op == GGML_OP_MUL_MAT || op == GGML_OP_COUNT - 1;
        EXPECT_EQ(Kernels::find(node_of(op, GGML_TYPE_F32, 8), nullptr) != nullptr, listed) << op;
    }
}

TEST(KernelList, AnswersSayYesWithACost) {
    const tenon_op_verdict verdict = judged(node_of(GGML_OP_MUL_MAT, GGML_TYPE_F32, 8));
    EXPECT_EQ(verdict.support, uint32_t{TENON_SUPPORT_YES});
    EXPECT_EQ(verdict.flags, uint32_t{TENON_VERDICT_CACHEABLE});
    EXPECT_EQ(verdict.time_ns, 1u);
}

TEST(KernelList, AnswersSayNoWithAReason) {
    const tenon_op_verdict verdict = judged(node_of(GGML_OP_MUL, GGML_TYPE_I32, 8));
    EXPECT_EQ(verdict.support, uint32_t{TENON_SUPPORT_NO});
    EXPECT_EQ(verdict.flags, uint32_t{TENON_VERDICT_CACHEABLE});
    EXPECT_EQ(verdict.reason, uint32_t{TENON_REASON_TYPE});
    EXPECT_STREQ(verdict.detail, "src0 must be f32");
    EXPECT_EQ(verdict.time_ns, 0u);
}

TEST(KernelList, ViewsAndEmptyNodesCostNothing) {
    for (const int op : {GGML_OP_NONE, GGML_OP_RESHAPE, GGML_OP_VIEW, GGML_OP_PERMUTE}) {
        const tenon_op_verdict view = judged(node_of(op, GGML_TYPE_I8, 8));
        EXPECT_EQ(view.support, uint32_t{TENON_SUPPORT_YES}) << op;
        EXPECT_EQ(view.flags, uint32_t{TENON_VERDICT_CACHEABLE}) << op;
        EXPECT_EQ(view.time_ns, 0u) << op;
    }
    const tenon_op_verdict empty = judged(node_of(GGML_OP_MUL, GGML_TYPE_F32, 0));
    EXPECT_EQ(empty.support, uint32_t{TENON_SUPPORT_YES});
    EXPECT_EQ(empty.time_ns, 0u);
}

// What a kernel needs beside the node comes with the question.
struct Limits {
    int64_t most_columns;
};
struct Limited {
    Verdict (*supports)(const ggml_tensor& node, const Limits& limits);
};
constexpr Limited kLimited{[](const ggml_tensor& node, const Limits& limits) {
    return node.ne[0] <= limits.most_columns ? yes() : no(TENON_REASON_TOO_LARGE, "too wide");
}};
constexpr KernelRow<Limited> kLimitedRows[] = {{GGML_OP_ADD, &kLimited}};

TEST(KernelList, LimitsOfADeviceReachTheKernel) {
    using Of = KernelList<kLimitedRows>;
    const ggml_tensor node = node_of(GGML_OP_ADD, GGML_TYPE_F32, 8);
    Verdict why;
    EXPECT_EQ(Of::find(node, &why, Limits{8}), &kLimited);
    EXPECT_EQ(Of::find(node, &why, Limits{7}), nullptr);
    EXPECT_EQ(why.reason, uint32_t{TENON_REASON_TOO_LARGE});
    tenon_op_verdict out{};
    Of::judge(
        node, out, [](const Limited&, tenon_op_verdict&) {}, Limits{7});
    EXPECT_EQ(out.support, uint32_t{TENON_SUPPORT_NO});
}

// The same as the assertion in the class, which tests/kit/misplaced_row.cpp meets.
constexpr KernelRow<Kernel> kMisplaced[] = {{GGML_OP_MUL_MAT, &kFast}, {GGML_OP_MUL, &kGeneral}};
constexpr KernelRow<Kernel> kNoOp[] = {{GGML_OP_NONE, &kFast}};
constexpr KernelRow<Kernel> kUnknown[] = {{GGML_OP_COUNT, &kFast}};
static_assert(in_enum_order(kRows) && !in_enum_order(kMisplaced));
static_assert(!in_enum_order(kNoOp) && !in_enum_order(kUnknown));

}  // namespace
}  // namespace tenon::kit
