// References: orders of the elements of rows.

#include <algorithm>
#include <numeric>

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

// The first out.ne[0] indices of each row, sorted.
void sort_rows(const ggml_tensor& node, Result& out, bool descending) {
    const Values a = source(node, 0);
    std::vector<int64_t> order(a.ne[0]);
    for (int64_t r = 0; r < a.ne[1] * a.ne[2] * a.ne[3]; ++r) {
        const double* row = a.v.data() + r * a.ne[0];
        std::iota(order.begin(), order.end(), 0);
        // NaN counts as less than everything.
        const auto less = [](double a, double b) { return b == b && (a != a || a < b); };
        std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
            return descending ? less(row[j], row[i]) : less(row[i], row[j]);
        });
        std::copy_n(order.begin(), out.ne[0], out.v.begin() + r * out.ne[0]);
    }
}

void argsort(const ggml_tensor& node, Result& out) {
    sort_rows(node, out, params_of<tenon_argsort_params>(node).order == GGML_SORT_ORDER_DESC);
}
void top_k(const ggml_tensor& node, Result& out) { sort_rows(node, out, /*descending=*/true); }

constexpr Reference kTable[] = {
    {GGML_OP_ARGSORT, argsort},
    {GGML_OP_TOP_K, top_k},
};

}  // namespace

const std::span<const Reference> kSortReferences{kTable};

}  // namespace tenon::conformance
