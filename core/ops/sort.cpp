// ARGSORT and TOP_K: builders and rules.
#include <limits>

#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {
namespace {

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();

}  // namespace

Result<NodeShape> argsort_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_argsort_params>();
    NodeShape shape = shape_of(*call.src[0]);
    shape.type = GGML_TYPE_I32;
    return Checks(call)
        .between("row length", shape.ne[0], 0, kMostIndex)
        .between("order", p.order, GGML_SORT_ORDER_ASC, GGML_SORT_ORDER_DESC)
        .result(shape);
}

// k stands in the shape asked for: [k, …].
Result<NodeShape> top_k_shape(const OpCall& call) {
    NodeShape shape = shape_of(*call.src[0]);
    shape.type = GGML_TYPE_I32;
    Checks check(call);
    check.between("row length", shape.ne[0], 0, kMostIndex)
        .between("k", call.asked->ne[0], 0, shape.ne[0]);
    shape.ne[0] = call.asked->ne[0];
    return check.result(shape);
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_argsort(ggml_context* ctx, ggml_tensor* a, ggml_sort_order order) {
    return build(ctx, GGML_OP_ARGSORT, {a}, tenon_argsort_params{order});
}

// The first k columns of a descending sort.
ggml_tensor* ggml_argsort_top_k(ggml_context* ctx, ggml_tensor* a, int k) {
    if (a == nullptr) return nullptr;
    if (k < 0 || a->ne[0] < k) {
        report(
            fail(TENON_E_INVALID, "ARGSORT: k is %d, must be 0 to %lld", k, (long long)a->ne[0]));
        return nullptr;
    }
    ggml_tensor* sorted = ggml_argsort(ctx, a, GGML_SORT_ORDER_DESC);
    if (sorted == nullptr) return nullptr;
    return ggml_view_4d(ctx, sorted, k, sorted->ne[1], sorted->ne[2], sorted->ne[3], sorted->nb[1],
                        sorted->nb[2], sorted->nb[3], 0);
}

ggml_tensor* ggml_top_k(ggml_context* ctx, ggml_tensor* a, int k) {
    const NodeShape asked = shape_4d(GGML_TYPE_I32, k, 1, 1, 1);
    return build(ctx, GGML_OP_TOP_K, {a}, BuildOptions{.asked = &asked});
}

}  // extern "C"
