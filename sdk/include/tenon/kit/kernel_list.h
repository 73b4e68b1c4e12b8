// tenon/kit/kernel_list.h - the kernels of a plugin: which one computes a node, and what the core
// is told about it.
//
// A kernel is a struct of the plugin's own with a function `supports` that gives a Verdict for a
// node, and whatever else the plugin needs to run it:
//
//     struct Kernel {
//         Verdict (*supports)(const ggml_tensor& node);
//         void (*launch)(const ggml_tensor& node, Queue& queue);
//     };
//     constexpr KernelRow<Kernel> kRows[] = {
//         {GGML_OP_ADD, &kAdd},
//         {GGML_OP_MUL_MAT, &kMulMatTiled},  // for one op the first that says yes wins
//         {GGML_OP_MUL_MAT, &kMulMat},
//     };
//     using Kernels = KernelList<kRows>;
#pragma once

#include <cstddef>
#include <type_traits>

#include "tenon/kit/verdict.h"
#include "tenon/tensor.h"

namespace tenon::kit {
inline namespace TENON_KIT_TAG {

template <class Kernel>
struct KernelRow {
    ggml_op op;
    const Kernel* kernel;
};

template <class Kernel, size_t kSize>
constexpr bool in_enum_order(const KernelRow<Kernel> (&rows)[kSize]) {
    for (size_t i = 0; i < kSize; ++i) {
        if (rows[i].op <= GGML_OP_NONE || rows[i].op >= GGML_OP_COUNT) return false;
        if (i > 0 && rows[i].op < rows[i - 1].op) return false;
    }
    return true;
}

namespace detail {

struct FirstRows {  // rows of op: of[op] … of[op + 1] - 1
    size_t of[GGML_OP_COUNT + 1];
};

template <class Kernel, size_t kSize>
constexpr FirstRows first_rows(const KernelRow<Kernel> (&rows)[kSize]) {
    FirstRows first{};
    size_t i = 0;
    for (int op = 0; op <= GGML_OP_COUNT; ++op) {
        while (i < kSize && rows[i].op < op) ++i;
        first.of[op] = i;
    }
    return first;
}

}  // namespace detail

// kRows is a constexpr array of KernelRow in a namespace. Functions take what `supports` wants to
// know beside the node, the limits of a device for example, as their last arguments.
template <const auto& kRows>
class KernelList {
    static_assert(in_enum_order(kRows), "rows of kernels must be in the order of enum ggml_op");
    static constexpr detail::FirstRows kFirst = detail::first_rows(kRows);

public:
    using Kernel = std::remove_const_t<std::remove_pointer_t<decltype(kRows[0].kernel)>>;

    // The first kernel of the node's op that says yes. NULL: none, *why has the last refusal.
    template <class... Limits>
    static const Kernel* find(const ggml_tensor& node, Verdict* why, const Limits&... limits) {
        Verdict last = no(TENON_REASON_UNKNOWN_OP, "the op number is unknown");
        if (node.op >= 0 && node.op < GGML_OP_COUNT) {
            last = no(TENON_REASON_NOT_IMPLEMENTED, "there is no kernel for this op");
            for (size_t i = kFirst.of[node.op]; i < kFirst.of[node.op + 1]; ++i) {
                const Kernel* kernel = kRows[i].kernel;
                last = kernel->supports(node, limits...);
                if (last) return kernel;
            }
        }
        if (why) *why = last;
        return nullptr;
    }

    // Fills the answer to a query, which may be kept by signature: supports() sees types, shapes,
    // strides and parameters only. Views of other tensors take no kernel. cost(kernel, out) adds
    // workspace, time and traffic of nodes that have something to compute.
    template <class Cost, class... Limits>
    static void judge(const ggml_tensor& node, tenon_op_verdict& out, Cost&& cost,
                      const Limits&... limits) {
        out.flags = TENON_VERDICT_CACHEABLE;
        out.support = TENON_SUPPORT_YES;
        if (tenon_is_view_op(node.op)) return;
        Verdict why;
        const Kernel* kernel = find(node, &why, limits...);
        if (!kernel) {
            out.support = TENON_SUPPORT_NO;
            out.reason = why.reason;
            out.detail = why.detail;
        } else if (!tenon_is_empty(&node)) {
            cost(*kernel, out);
        }
    }
};

}  // namespace TENON_KIT_TAG
}  // namespace tenon::kit
