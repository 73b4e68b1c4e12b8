// Must not compile: a list of kernels with a row in the wrong place.

#include "tenon/kit/kernel_list.h"

using tenon::kit::Verdict;

struct Kernel {
    Verdict (*supports)(const ggml_tensor& node);
};
constexpr Kernel kKernel{[](const ggml_tensor&) { return tenon::kit::yes(); }};

#ifdef IN_ORDER
constexpr tenon::kit::KernelRow<Kernel> kRows[] = {{GGML_OP_ADD, &kKernel},
                                                   {GGML_OP_MUL, &kKernel}};
#else
constexpr tenon::kit::KernelRow<Kernel> kRows[] = {{GGML_OP_MUL, &kKernel},
                                                   {GGML_OP_ADD, &kKernel}};
#endif

const Kernel* find(const ggml_tensor& node) {
    return tenon::kit::KernelList<kRows>::find(node, nullptr);
}
