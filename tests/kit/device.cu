// The kit as a GPU plugin uses it: lists and plans on the host, rows and parameters in device code.

#include "tenon/kit.h"

namespace kit = tenon::kit;

namespace {

__global__ void scale_rows(ggml_tensor node, ggml_tensor x) {
    const float scale = kit::params_of<tenon_scale_params>(node).scale;
    const float* from = kit::row<const float>(x, blockIdx.x);
    float* to = kit::row_at<float>(node.data, node, blockIdx.x);
    for (int64_t i = threadIdx.x; i < node.ne[0]; i += blockDim.x) to[i] = scale * from[i];
    if (threadIdx.x == 0 && node.ne[0] == 0) *kit::element<float>(node, 0, 0, 0, 0) = 0;
}

struct Limits {
    int64_t most_rows;
};
struct Kernel {
    kit::Verdict (*supports)(const ggml_tensor& node, const Limits& limits);
    void (*launch)(const ggml_tensor& node);
};

kit::Verdict supports_scale(const ggml_tensor& node, const Limits& limits) {
    if (node.type != GGML_TYPE_F32) return kit::no(TENON_REASON_TYPE, "must be f32");
    if (!kit::has_dense_rows(node)) return kit::no(TENON_REASON_STRIDES, "rows must be dense");
    if (tenon_nrows(&node) > limits.most_rows) return kit::no(TENON_REASON_TOO_LARGE, "rows");
    return kit::yes();
}
void launch_scale(const ggml_tensor& node) {
    scale_rows<<<static_cast<unsigned>(node.ne[1]), 256>>>(node, *node.src[0]);
}

constexpr Kernel kScale{supports_scale, launch_scale};
constexpr kit::KernelRow<Kernel> kRows[] = {{GGML_OP_SCALE, &kScale}};
using Kernels = kit::KernelList<kRows>;

struct Key {
    uint64_t uid;
    bool operator==(const Key& other) const { return uid == other.uid; }
};
struct Plan {
    const Kernel* kernel;
};

}  // namespace

bool run(kit::PlanCache<Key, Plan, 4>& plans, const tenon_graph_view& graph, Limits limits) {
    const ggml_tensor& node = *graph.nodes[0];
    size_t bytes = 0;
    kit::with_float_type(node.type,
                         [&](auto tag) { bytes = sizeof(typename decltype(tag)::type); });
    const Plan* plan = plans.find_or_make(Key{graph.uid}, [&](Plan& made) {
        made.kernel = Kernels::find(node, nullptr, limits);
        return made.kernel && bytes == kit::type_size(node.type).bytes;
    });
    if (plan && kit::computes(node)) plan->kernel->launch(node);
    return plan;
}
