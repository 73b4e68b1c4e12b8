// ROPE and ROPE_BACK: builders, the rule, and the YaRN correction range.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {
namespace {

// How frequencies and amplitudes are stretched for long contexts.
struct Scaling {
    int n_ctx_orig = 0;
    float freq_base = 10000.0f;
    float freq_scale = 1.0f;
    float ext_factor = 0.0f;
    float attn_factor = 1.0f;
    float beta_fast = 0.0f;
    float beta_slow = 0.0f;
};

ggml_tensor* build_rope(ggml_context* ctx, ggml_op op, ggml_tensor* a, ggml_tensor* positions,
                        ggml_tensor* factors, int n_dims, int mode, const int* sections,
                        const Scaling& scaling, bool inplace) {
    tenon_rope_params p{};
    p.n_dims = n_dims;
    p.mode = mode;
    p.n_ctx_orig = scaling.n_ctx_orig;
    p.freq_base = scaling.freq_base;
    p.freq_scale = scaling.freq_scale;
    p.ext_factor = scaling.ext_factor;
    p.attn_factor = scaling.attn_factor;
    p.beta_fast = scaling.beta_fast;
    p.beta_slow = scaling.beta_slow;
    if ((mode & TENON_ROPE_MULTI) != 0 && sections != nullptr) {
        std::copy_n(sections, GGML_MROPE_SECTIONS, p.sections);
    }
    return build(ctx, op, {a, positions, factors}, p, in_place_if(inplace));
}

}  // namespace

// a: [d, heads, tokens, batch], positions: i32 [tokens] ([4 * tokens] in multi modes)
Result<NodeShape> rope_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_rope_params>();
    const int64_t streams = (p.mode & TENON_ROPE_MULTI) != 0 ? GGML_MROPE_SECTIONS : 1;
    Checks check(call);
    check.require((p.mode & 1) == 0, "mode is %d, must be even", p.mode)
        .at_least("n_dims", p.n_dims, 0)
        .dims_at_most(1, 1)
        .type(1, {GGML_TYPE_I32})
        .extent(1, 0, times(call.src[0]->ne[2], streams));
    if (call.has(2)) {
        const int64_t n = call.src[2]->ne[0];
        check.f32({2}).require(n >= p.n_dims / 2, "src2 has ne[0] = %lld, must be at least %d",
                               (long long)n, p.n_dims / 2);
    }
    return check.like(0);
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_rope(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int n_dims, int mode) {
    return build_rope(ctx, GGML_OP_ROPE, a, b, nullptr, n_dims, mode, nullptr, Scaling{},
                      /*inplace=*/false);
}
ggml_tensor* ggml_rope_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int n_dims,
                               int mode) {
    return build_rope(ctx, GGML_OP_ROPE, a, b, nullptr, n_dims, mode, nullptr, Scaling{},
                      /*inplace=*/true);
}

ggml_tensor* ggml_rope_ext(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, ggml_tensor* c,
                           int n_dims, int mode, int n_ctx_orig, float freq_base, float freq_scale,
                           float ext_factor, float attn_factor, float beta_fast, float beta_slow) {
    return build_rope(
        ctx, GGML_OP_ROPE, a, b, c, n_dims, mode, nullptr,
        {n_ctx_orig, freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow},
        /*inplace=*/false);
}
ggml_tensor* ggml_rope_ext_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b,
                                   ggml_tensor* c, int n_dims, int mode, int n_ctx_orig,
                                   float freq_base, float freq_scale, float ext_factor,
                                   float attn_factor, float beta_fast, float beta_slow) {
    return build_rope(
        ctx, GGML_OP_ROPE, a, b, c, n_dims, mode, nullptr,
        {n_ctx_orig, freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow},
        /*inplace=*/true);
}
ggml_tensor* ggml_rope_ext_back(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, ggml_tensor* c,
                                int n_dims, int mode, int n_ctx_orig, float freq_base,
                                float freq_scale, float ext_factor, float attn_factor,
                                float beta_fast, float beta_slow) {
    return build_rope(
        ctx, GGML_OP_ROPE_BACK, a, b, c, n_dims, mode, nullptr,
        {n_ctx_orig, freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow},
        /*inplace=*/false);
}

ggml_tensor* ggml_rope_multi(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, ggml_tensor* c,
                             int n_dims, int* sections, int mode, int n_ctx_orig, float freq_base,
                             float freq_scale, float ext_factor, float attn_factor, float beta_fast,
                             float beta_slow) {
    return build_rope(
        ctx, GGML_OP_ROPE, a, b, c, n_dims, mode, sections,
        {n_ctx_orig, freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow},
        /*inplace=*/false);
}
ggml_tensor* ggml_rope_multi_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b,
                                     ggml_tensor* c, int n_dims, int* sections, int mode,
                                     int n_ctx_orig, float freq_base, float freq_scale,
                                     float ext_factor, float attn_factor, float beta_fast,
                                     float beta_slow) {
    return build_rope(
        ctx, GGML_OP_ROPE, a, b, c, n_dims, mode, sections,
        {n_ctx_orig, freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow},
        /*inplace=*/true);
}
ggml_tensor* ggml_rope_multi_back(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, ggml_tensor* c,
                                  int n_dims, int* sections, int mode, int n_ctx_orig,
                                  float freq_base, float freq_scale, float ext_factor,
                                  float attn_factor, float beta_fast, float beta_slow) {
    return build_rope(
        ctx, GGML_OP_ROPE_BACK, a, b, c, n_dims, mode, sections,
        {n_ctx_orig, freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow},
        /*inplace=*/false);
}

ggml_tensor* ggml_rope_custom(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int n_dims,
                              int mode, int n_ctx_orig, float freq_base, float freq_scale,
                              float ext_factor, float attn_factor, float beta_fast,
                              float beta_slow) {
    return ggml_rope_ext(ctx, a, b, nullptr, n_dims, mode, n_ctx_orig, freq_base, freq_scale,
                         ext_factor, attn_factor, beta_fast, beta_slow);
}
ggml_tensor* ggml_rope_custom_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, int n_dims,
                                      int mode, int n_ctx_orig, float freq_base, float freq_scale,
                                      float ext_factor, float attn_factor, float beta_fast,
                                      float beta_slow) {
    return ggml_rope_ext_inplace(ctx, a, b, nullptr, n_dims, mode, n_ctx_orig, freq_base,
                                 freq_scale, ext_factor, attn_factor, beta_fast, beta_slow);
}

// The first rotated element; returns the node.
ggml_tensor* ggml_rope_set_offset(ggml_tensor* a, int n_offs) {
    if (a == nullptr) return nullptr;
    return guard<ggml_tensor*>(nullptr, [&]() -> Result<ggml_tensor*> {
        auto is = expect_op("ggml_rope_set_offset", a, {GGML_OP_ROPE, GGML_OP_ROPE_BACK});
        if (!is) return is.error();
        auto p = params_of<tenon_rope_params>(*a);
        if (p.mode == GGML_ROPE_TYPE_VISION) {
            return fail(TENON_E_INVALID, "%s: mode %d (vision) has no offset", ggml_op_name(a->op),
                        p.mode);
        }
        if (n_offs < 0) {
            return fail(TENON_E_INVALID, "%s: the offset is %d, must be at least 0",
                        ggml_op_name(a->op), n_offs);
        }
        p.n_offs = n_offs;
        set_params(*a, p);
        return a;
    });
}

// The pairs between which YaRN blends from extrapolation to interpolation. Floats throughout: with
// n_ctx_orig = 0 the logarithm is -inf and so is dims[1], which kernels count on.
void ggml_rope_yarn_corr_dims(int n_dims, int n_ctx_orig, float freq_base, float beta_fast,
                              float beta_slow, float* dims) {
    if (dims == nullptr) return;
    const auto pair_at = [&](float n_rotations) {
        const float two_pi = 2.0f * std::numbers::pi_v<float>;
        return static_cast<float>(n_dims) *
               std::log(static_cast<float>(n_ctx_orig) / (n_rotations * two_pi)) /
               (2.0f * std::log(freq_base));
    };
    dims[0] = std::max(0.0f, std::floor(pair_at(beta_fast)));
    dims[1] = std::min(static_cast<float>(n_dims - 1), std::ceil(pair_at(beta_slow)));
}

}  // extern "C"
