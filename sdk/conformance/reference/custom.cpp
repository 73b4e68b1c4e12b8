// References: functions of the application, called once for all.

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

// call(function, dst, userdata) writes the node; its rows are kept.
template <class Function, class Call>
void run(const ggml_tensor& node, Result& out, Call&& call) {
    const auto p = params_of<tenon_custom_params>(node);
    call(reinterpret_cast<Function>(static_cast<uintptr_t>(p.fun)), const_cast<ggml_tensor*>(&node),
         reinterpret_cast<void*>(static_cast<uintptr_t>(p.userdata)));
    out.keep.assign(ggml_nrows(&node), true);
}

void map1(const ggml_tensor& node, Result& out) {
    run<ggml_custom1_op_t>(node, out, [&](auto* fn, ggml_tensor* dst, void* userdata) {
        fn(dst, node.src[0], 0, 1, userdata);
    });
}
void map2(const ggml_tensor& node, Result& out) {
    run<ggml_custom2_op_t>(node, out, [&](auto* fn, ggml_tensor* dst, void* userdata) {
        fn(dst, node.src[0], node.src[1], 0, 1, userdata);
    });
}
void map3(const ggml_tensor& node, Result& out) {
    run<ggml_custom3_op_t>(node, out, [&](auto* fn, ggml_tensor* dst, void* userdata) {
        fn(dst, node.src[0], node.src[1], node.src[2], 0, 1, userdata);
    });
}
void custom(const ggml_tensor& node, Result& out) {
    run<ggml_custom_op_t>(
        node, out, [&](auto* fn, ggml_tensor* dst, void* userdata) { fn(dst, 0, 1, userdata); });
}

constexpr Reference kTable[] = {
    {GGML_OP_MAP_CUSTOM1, map1},
    {GGML_OP_MAP_CUSTOM2, map2},
    {GGML_OP_MAP_CUSTOM3, map3},
    {GGML_OP_CUSTOM, custom},
};

}  // namespace

const std::span<const Reference> kCustomReferences{kTable};

}  // namespace tenon::conformance
