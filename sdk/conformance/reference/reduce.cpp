// References: sums and the like.

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

void sum(const ggml_tensor& node, Result& out) {
    double total = 0;
    for (const double x : source(node, 0).v) total += x;
    out(0) = total;
}

void sum_rows(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0);
    std::fill(out.v.begin(), out.v.end(), 0.0);
    for_each_index(a, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        out(0, i1, i2, i3) += a(i0, i1, i2, i3);
    });
}

void mean(const ggml_tensor& node, Result& out) {
    sum_rows(node, out);
    for (double& x : out.v) x /= static_cast<double>(node.src[0]->ne[0]);
}

void cumsum(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0);
    for_each_index(a, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        out(i0, i1, i2, i3) = a(i0, i1, i2, i3) + (i0 > 0 ? out(i0 - 1, i1, i2, i3) : 0.0);
    });
}

// Of equal elements the last; an empty row has 0.
void argmax(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0);
    for (int64_t i1 = 0; i1 < a.ne[1]; ++i1) {
        int64_t best = 0;
        for (int64_t i0 = 1; i0 < a.ne[0]; ++i0) {
            if (a(i0, i1) >= a(best, i1)) best = i0;
        }
        out(i1) = static_cast<double>(best);
    }
}

void count_equal(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0), b = source(node, 1);
    double n = 0;
    for (size_t i = 0; i < a.v.size(); ++i) n += a.v[i] == b.v[i] ? 1 : 0;
    out(0) = n;
}

constexpr Reference kTable[] = {
    {GGML_OP_SUM, sum},   {GGML_OP_SUM_ROWS, sum_rows}, {GGML_OP_CUMSUM, cumsum},
    {GGML_OP_MEAN, mean}, {GGML_OP_ARGMAX, argmax},     {GGML_OP_COUNT_EQUAL, count_equal},
};

}  // namespace

const std::span<const Reference> kReduceReferences{kTable};

}  // namespace tenon::conformance
