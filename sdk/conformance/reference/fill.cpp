// References: values from parameters, masks and triangles.

#include <cmath>
#include <limits>

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

void fill(const ggml_tensor& node, Result& out) {
    std::fill(out.v.begin(), out.v.end(), params_of<tenon_fill_params>(node).value);
}

void arange(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_arange_params>(node);
    for (size_t i = 0; i < out.v.size(); ++i)
        out.v[i] = p.start + static_cast<double>(p.step) * static_cast<double>(i);
}

void timestep_embedding(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_timestep_embedding_params>(node);
    const Values t = source(node, 0);
    const int64_t half = p.dim / 2;
    std::fill(out.v.begin(), out.v.end(), 0.0);
    for (int64_t i = 0; i < t.ne[0]; ++i) {
        for (int64_t j = 0; j < half; ++j) {
            const double frequency =
                std::pow(p.max_period, -static_cast<double>(j) / static_cast<double>(half));
            out(j, i) = std::cos(t(i) * frequency);
            out(j + half, i) = std::sin(t(i) * frequency);
        }
    }
}

void diag(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0);
    for_each_index(out, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        out(i0, i1, i2, i3) = i0 == i1 ? a(i0, 0, i2, i3) : 0.0;
    });
}

// keep(i0, i1) or `value`
template <class Keep>
void masked(const ggml_tensor& node, Result& out, double value, Keep&& keep) {
    const Values a = source(node, 0);
    for_each_index(out, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        out(i0, i1, i2, i3) = keep(i0, i1) ? a(i0, i1, i2, i3) : value;
    });
}

void diag_mask_inf(const ggml_tensor& node, Result& out) {
    const int64_t n_past = params_of<tenon_diag_mask_inf_params>(node).n_past;
    masked(node, out, -std::numeric_limits<double>::infinity(),
           [&](int64_t i0, int64_t i1) { return i0 <= n_past + i1; });
}
void diag_mask_zero(const ggml_tensor& node, Result& out) {
    const int64_t n_past = params_of<tenon_diag_mask_zero_params>(node).n_past;
    masked(node, out, 0, [&](int64_t i0, int64_t i1) { return i0 <= n_past + i1; });
}

void tri(const ggml_tensor& node, Result& out) {
    const int32_t type = params_of<tenon_tri_params>(node).type;
    masked(node, out, 0, [&](int64_t i0, int64_t i1) {
        switch (type) {
            case GGML_TRI_TYPE_LOWER:
                return i0 < i1;
            case GGML_TRI_TYPE_LOWER_DIAG:
                return i0 <= i1;
            case GGML_TRI_TYPE_UPPER:
                return i0 > i1;
            default:
                return i0 >= i1;
        }
    });
}

constexpr Reference kTable[] = {
    {GGML_OP_FILL, fill},
    {GGML_OP_ARANGE, arange},
    {GGML_OP_TIMESTEP_EMBEDDING, timestep_embedding},
    {GGML_OP_DIAG, diag},
    {GGML_OP_DIAG_MASK_INF, diag_mask_inf},
    {GGML_OP_DIAG_MASK_ZERO, diag_mask_zero},
    {GGML_OP_TRI, tri},
};

}  // namespace

const std::span<const Reference> kFillReferences{kTable};

}  // namespace tenon::conformance
