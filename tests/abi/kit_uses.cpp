// Every function of the kit, to see what symbols they have. Nothing here is in an unnamed
// namespace, where instances of templates would be nobody else's anyway.

#include "tenon/kit.h"

using namespace tenon::kit;

struct KitKernel {
    Verdict (*supports)(const ggml_tensor& node);
};
struct KitKey {
    uint64_t uid;
    bool operator==(const KitKey& other) const { return uid == other.uid; }
};
struct KitFunction {
    template <class T>
    void operator()(TypeTag<T>) {}
    void operator()(int64_t, int64_t, int64_t) {}
    void operator()(const KitKernel&, tenon_op_verdict&) {}
    bool operator()(int&) { return true; }
};
Verdict kit_supports(const ggml_tensor& node) {
    const Verdict verdict = computes(node) ? yes() : no(TENON_REASON_TYPE, "");
    return verdict ? verdict : yes();
}
inline constexpr KitKernel kKitKernel{kit_supports};
inline constexpr KernelRow<KitKernel> kKitRows[] = {{GGML_OP_ADD, &kKitKernel}};
using KitKernels = KernelList<kKitRows>;

int64_t use_kit(ggml_tensor& t, const tenon_graph_view& graph, tenon_op_verdict& verdict) {
    PlanCache<KitKey, int, 2> plans;
    plans.find_or_make({1}, KitFunction{});
    KitKernels::judge(t, verdict, KitFunction{});
    KitKernels::find(t, nullptr);
    with_float_type(t.type, KitFunction{});
    for_rows(t, 0, 1, KitFunction{});
    *row<char>(t, 0) = *element<char>(t, 0, 0, 0, 0);
    return has_dense_rows(t) + is_contiguous(t) + is_row_matrix(t) + is_float_type(t.type) +
           overlap(extent_of(t), extent_of(t)) + lie_alike(t, t) + uses_by(t, t) +
           may_stay_unwritten(graph, 0, 1) + maker_of(t, graph, 0, 1) +
           static_cast<int64_t>(element_bytes(t) + row_bytes(t.type, 0)) +
           static_cast<int64_t>(params_of<tenon_scale_params>(t).scale);
}
