// References: matrix products and triangular systems.

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

// d[m, n, i2, i3] = sum over k of a[k, m, i2/r2, i3/r3] * b[k, n, i2, i3]
void mul_mat(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0), b = source(node, 1);
    const int64_t r2 = b.ne[2] / a.ne[2], r3 = b.ne[3] / a.ne[3];
    for_each_index(out, [&](int64_t m, int64_t n, int64_t i2, int64_t i3) {
        out(m, n, i2, i3) = dot(row(a, m, i2 / r2, i3 / r3), row(b, n, i2, i3), a.ne[0]);
    });
}

// d[m, e, t] = sum over k of as[k, m, ids[e, t]] * b[k, e mod r, t]
void mul_mat_id(const ggml_tensor& node, Result& out) {
    const Values as = source(node, 0), b = source(node, 1), ids = source(node, 2);
    for_each_index(out, [&](int64_t m, int64_t e, int64_t t, int64_t) {
        const auto expert = static_cast<int64_t>(ids(e, t));
        if (expert < 0 || expert >= as.ne[2])
            throw std::runtime_error("MUL_MAT_ID: no expert " + std::to_string(expert));
        out(m, e, t) = dot(row(as, m, expert, 0), row(b, e % b.ne[1], t, 0), as.ne[0]);
    });
}

// d[m, n, i2, i3] = sum over k of a[m, k, i2/r2, i3/r3] * b[n, k, i2, i3]
void out_prod(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0), b = source(node, 1);
    const int64_t r2 = b.ne[2] / a.ne[2], r3 = b.ne[3] / a.ne[3];
    for_each_index(out, [&](int64_t m, int64_t n, int64_t i2, int64_t i3) {
        double sum = 0;
        for (int64_t k = 0; k < a.ne[1]; ++k) sum += a(m, k, i2 / r2, i3 / r3) * b(n, k, i2, i3);
        out(m, n, i2, i3) = sum;
    });
}

// x[c, r] = (b[c, r] - sum over t < r of a[t, r]*x[c, t]) / a[r, r]
void solve_tri(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0), b = source(node, 1);
    for (int64_t i3 = 0; i3 < out.ne[3]; ++i3) {
        for (int64_t i2 = 0; i2 < out.ne[2]; ++i2) {
            for (int64_t r = 0; r < out.ne[1]; ++r) {
                for (int64_t c = 0; c < out.ne[0]; ++c) {
                    double x = b(c, r, i2, i3);
                    for (int64_t t = 0; t < r; ++t) x -= a(t, r, i2, i3) * out(c, t, i2, i3);
                    out(c, r, i2, i3) = x / a(r, r, i2, i3);
                }
            }
        }
    }
}

constexpr Reference kTable[] = {
    {GGML_OP_MUL_MAT, mul_mat},
    {GGML_OP_MUL_MAT_ID, mul_mat_id},
    {GGML_OP_OUT_PROD, out_prod},
    {GGML_OP_SOLVE_TRI, solve_tri},
};

}  // namespace

const std::span<const Reference> kMatmulReferences{kTable};

}  // namespace tenon::conformance
