// Representative calls of the ops in arithmetic, reduce, activation, norm and fill.
#include "core/ops/op_calls.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // ggml_add1

namespace tenon {
namespace {

using M = const CallMaker&;

// The same questions for ADD, SUB, MUL and DIV.
template <ggml_op op, auto build>
constexpr std::array<CallRow, 6> kBinary{{
    {op, kAllFloats, "matrix",
     [](M m) { return build(m.ctx, m.typed(1024, 64), m.typed(1024, 64)); }},
    {op, kAllFloats, "vector repeated over rows",
     [](M m) { return build(m.ctx, m.typed(1024, 64), m.f32(1024)); }},
    {op, kAllFloats, "batch, repeated along every dimension",
     [](M m) { return build(m.ctx, m.typed(64, 6, 4, 2), m.typed(32, 3, 2, 1)); }},
    {op, kAllFloats, "permuted second operand",
     [](M m) { return build(m.ctx, m.typed(64, 16, 8), m.permuted(64, 16, 8)); }},
    {op, kAllFloats, "odd rows",
     [](M m) { return build(m.ctx, m.typed(1023, 7), m.typed(1023, 7)); }},
    {op, kAllFloats, "padded rows",
     [](M m) { return build(m.ctx, m.padded(256, 16), m.padded(256, 16)); }},
}};

// … for functions of one tensor, …
template <ggml_op op, auto build>
constexpr std::array<CallRow, 3> kSimple{{
    {op, kAllFloats, "matrix", [](M m) { return build(m.ctx, m.typed(1024, 64)); }},
    {op, kAllFloats, "odd rows", [](M m) { return build(m.ctx, m.typed(1023, 7)); }},
    {op, kAllFloats, "padded rows", [](M m) { return build(m.ctx, m.padded(256, 16)); }},
}};

// … and for normalisations of rows.
template <ggml_op op, auto build>
constexpr std::array<CallRow, 4> kRowNorm{{
    {op, kAllFloats, "matrix", [](M m) { return build(m.ctx, m.typed(4096, 16), 1e-5f); }},
    {op, kAllFloats, "batch", [](M m) { return build(m.ctx, m.typed(64, 8, 4, 2), 1e-6f); }},
    {op, kAllFloats, "odd rows", [](M m) { return build(m.ctx, m.typed(1025, 5), 0.0f); }},
    {op, kAllFloats, "padded rows", [](M m) { return build(m.ctx, m.padded(256, 16), 1e-6f); }},
}};

ggml_tensor* unary(M m, ggml_tensor* x) {
    if (m.sub_op == GGML_UNARY_OP_XIELU) return ggml_xielu(m.ctx, x, 4.0f, 20.0f, 0.5f, 1e-7f);
    return ggml_unary(m.ctx, x, static_cast<ggml_unary_op>(m.sub_op));
}

// Functions with limits get some that take part.
ggml_tensor* glu_split(M m, ggml_tensor* a, ggml_tensor* b) {
    if (m.sub_op == GGML_GLU_OP_SWIGLU_OAI) return ggml_swiglu_oai(m.ctx, a, b, 1.702f, 7.0f);
    if (m.sub_op == GGML_GLU_OP_SWIGLU_CLAMP) return ggml_swiglu_clamp(m.ctx, a, b, 10.0f);
    return ggml_glu_split(m.ctx, a, b, static_cast<ggml_glu_op>(m.sub_op));
}

ggml_tensor* glu(M m, ggml_tensor* a, bool swapped) {
    return ggml_glu(m.ctx, a, static_cast<ggml_glu_op>(m.sub_op), swapped);
}

// GLU functions without limits; only they have a form with one source.
constexpr uint32_t kPlainGlu = ~((1u << GGML_GLU_OP_SWIGLU_OAI) | (1u << GGML_GLU_OP_SWIGLU_CLAMP));

constexpr ggml_type kQuantizedSums[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K};
constexpr ggml_type kAdded1[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0};
constexpr ggml_type kSet[] = {GGML_TYPE_F32, GGML_TYPE_I32};

constexpr std::array kRows{
    CallRow{GGML_OP_NONE, kAllFloats, "a leaf", [](M m) { return m.typed(1024, 64); }},

    // arithmetic
    CallRow{GGML_OP_ADD, kQuantizedSums, "matrix",
            [](M m) { return ggml_add(m.ctx, m.typed(256, 16), m.f32(256, 16)); }},
    CallRow{GGML_OP_ADD_ID, kAllFloats, "32 experts, 4 used",
            [](M m) {
                return ggml_add_id(m.ctx, m.typed(128, 4, 32), m.typed(128, 32), m.i32(4, 32));
            }},
    CallRow{GGML_OP_ADD1, kAdded1, "matrix",
            [](M m) { return ggml_add1(m.ctx, m.typed(256, 16), m.f32(1)); }},
    CallRow{GGML_OP_ACC, kF32, "part of each row",
            [](M m) {
                return ggml_acc(m.ctx, m.f32(256, 16), m.f32(128, 8), 1024, 16384, 16384, 512);
            }},
    CallRow{GGML_OP_SET, kSet, "part of each row",
            [](M m) {
                return ggml_set(m.ctx, m.typed(256, 16), m.typed(128, 8), 1024, 16384, 16384, 512);
            }},
    CallRow{GGML_OP_SET, kF32, "part of each row, in place",
            [](M m) {
                return ggml_set_inplace(m.ctx, m.f32(256, 16), m.f32(128, 8), 1024, 16384, 16384,
                                        512);
            }},
    CallRow{GGML_OP_SCALE, kAllFloats, "matrix",
            [](M m) { return ggml_scale(m.ctx, m.typed(1024, 64), 0.5f); }},
    CallRow{GGML_OP_SCALE, kAllFloats, "matrix, with bias",
            [](M m) { return ggml_scale_bias(m.ctx, m.typed(1024, 64), 0.5f, 1.0f); }},
    CallRow{GGML_OP_SCALE, kAllFloats, "padded rows",
            [](M m) { return ggml_scale(m.ctx, m.padded(256, 16), 0.5f); }},
    CallRow{GGML_OP_CLAMP, kAllFloats, "matrix",
            [](M m) { return ggml_clamp(m.ctx, m.typed(1024, 64), -0.5f, 0.5f); }},
    CallRow{GGML_OP_CLAMP, kAllFloats, "padded rows",
            [](M m) { return ggml_clamp(m.ctx, m.padded(256, 16), -0.5f, 0.5f); }},

    // reduce
    CallRow{GGML_OP_SUM, kAllFloats, "matrix",
            [](M m) { return ggml_sum(m.ctx, m.typed(1024, 64)); }},
    CallRow{GGML_OP_SUM, kAllFloats, "permuted",
            [](M m) { return ggml_sum(m.ctx, m.permuted(64, 16, 8)); }},
    CallRow{GGML_OP_SUM_ROWS, kAllFloats, "matrix",
            [](M m) { return ggml_sum_rows(m.ctx, m.typed(1024, 64)); }},
    CallRow{GGML_OP_SUM_ROWS, kAllFloats, "permuted",
            [](M m) { return ggml_sum_rows(m.ctx, m.permuted(64, 16, 8)); }},
    CallRow{GGML_OP_CUMSUM, kF32, "matrix",
            [](M m) { return ggml_cumsum(m.ctx, m.typed(1024, 64)); }},
    CallRow{GGML_OP_CUMSUM, kF32, "long rows",
            [](M m) { return ggml_cumsum(m.ctx, m.typed(65537, 2)); }},
    CallRow{GGML_OP_MEAN, kAllFloats, "matrix",
            [](M m) { return ggml_mean(m.ctx, m.typed(1024, 64)); }},
    CallRow{GGML_OP_MEAN, kAllFloats, "odd rows",
            [](M m) { return ggml_mean(m.ctx, m.typed(1023, 7)); }},
    CallRow{GGML_OP_ARGMAX, kAllFloats, "a vocabulary",
            [](M m) { return ggml_argmax(m.ctx, m.typed(32000, 8)); }},
    CallRow{GGML_OP_ARGMAX, kAllFloats, "odd rows",
            [](M m) { return ggml_argmax(m.ctx, m.typed(33, 7)); }},
    CallRow{GGML_OP_COUNT_EQUAL, kF32, "vector",
            [](M m) { return ggml_count_equal(m.ctx, m.i32(4096), m.i32(4096)); }},
    CallRow{GGML_OP_COUNT_EQUAL, kF32, "batch",
            [](M m) { return ggml_count_equal(m.ctx, m.i32(64, 8, 4), m.i32(64, 8, 4)); }},

    // activation
    CallRow{GGML_OP_UNARY, kAllFloats, "matrix", [](M m) { return unary(m, m.typed(1024, 64)); }},
    CallRow{GGML_OP_UNARY, kAllFloats, "odd rows", [](M m) { return unary(m, m.typed(1023, 7)); }},
    CallRow{GGML_OP_UNARY, kAllFloats, "padded rows",
            [](M m) { return unary(m, m.padded(256, 16)); }},
    CallRow{GGML_OP_GLU, kAllFloats, "two sources",
            [](M m) { return glu_split(m, m.typed(1024, 64), m.typed(1024, 64)); }},
    CallRow{GGML_OP_GLU, kAllFloats, "two sources, padded rows",
            [](M m) { return glu_split(m, m.padded(256, 16), m.padded(256, 16)); }},
    CallRow{GGML_OP_GLU, kAllFloats, "halves of rows",
            [](M m) { return glu(m, m.typed(1024, 64), /*swapped=*/false); }, kPlainGlu},
    CallRow{GGML_OP_GLU, kAllFloats, "halves of rows, exchanged",
            [](M m) { return glu(m, m.typed(1024, 64), /*swapped=*/true); }, kPlainGlu},
    CallRow{GGML_OP_LEAKY_RELU, kAllFloats, "matrix",
            [](M m) { return ggml_leaky_relu(m.ctx, m.typed(1024, 64), 0.1f, false); }},
    CallRow{GGML_OP_SILU_BACK, kAllFloats, "matrix",
            [](M m) { return ggml_silu_back(m.ctx, m.typed(1024, 64), m.typed(1024, 64)); }},

    // norm
    CallRow{
        GGML_OP_RMS_NORM_BACK, kAllFloats, "matrix",
        [](M m) { return ggml_rms_norm_back(m.ctx, m.typed(1024, 16), m.typed(1024, 16), 1e-5f); }},
    CallRow{GGML_OP_GROUP_NORM, kAllFloats, "32 groups of 10 channels",
            [](M m) { return ggml_group_norm(m.ctx, m.typed(16, 16, 320), 32, 1e-6f); }},
    CallRow{GGML_OP_GROUP_NORM, kAllFloats, "a last group that is smaller",
            [](M m) { return ggml_group_norm(m.ctx, m.typed(9, 9, 30), 4, 1e-6f); }},

    // fill
    CallRow{GGML_OP_FILL, kFloats, "matrix",
            [](M m) { return ggml_fill(m.ctx, m.typed(1024, 64), 0.5f); }},
    CallRow{GGML_OP_ARANGE, kF32, "1024 numbers",
            [](M m) { return ggml_arange(m.ctx, 0.0f, 1024.0f, 1.0f); }},
    CallRow{GGML_OP_TIMESTEP_EMBEDDING, kAllFloats, "dim 320",
            [](M m) { return ggml_timestep_embedding(m.ctx, m.typed(4), 320, 10000); }},
    CallRow{GGML_OP_TIMESTEP_EMBEDDING, kAllFloats, "dim 33",
            [](M m) { return ggml_timestep_embedding(m.ctx, m.typed(4), 33, 10000); }},
    CallRow{GGML_OP_DIAG, kAllFloats, "batch",
            [](M m) { return ggml_diag(m.ctx, m.typed(64, 1, 4)); }},
    CallRow{GGML_OP_DIAG_MASK_INF, kAllFloats, "8 earlier tokens",
            [](M m) { return ggml_diag_mask_inf(m.ctx, m.typed(72, 64, 4), 8); }},
    CallRow{GGML_OP_DIAG_MASK_ZERO, kAllFloats, "8 earlier tokens",
            [](M m) { return ggml_diag_mask_zero(m.ctx, m.typed(72, 64, 4), 8); }},
    CallRow{GGML_OP_TRI, kF32, "lower",
            [](M m) { return ggml_tri(m.ctx, m.f32(64, 64, 4), GGML_TRI_TYPE_LOWER); }},
    CallRow{GGML_OP_TRI, kF32, "upper with diagonal",
            [](M m) { return ggml_tri(m.ctx, m.f32(64, 64, 4), GGML_TRI_TYPE_UPPER_DIAG); }},
};

constexpr auto kCalls = concat(kBinary<GGML_OP_ADD, ggml_add>, kBinary<GGML_OP_SUB, ggml_sub>,
                               kBinary<GGML_OP_MUL, ggml_mul>, kBinary<GGML_OP_DIV, ggml_div>,
                               kSimple<GGML_OP_SQR, ggml_sqr>, kSimple<GGML_OP_SQRT, ggml_sqrt>,
                               kSimple<GGML_OP_LOG, ggml_log>, kSimple<GGML_OP_SIN, ggml_sin>,
                               kSimple<GGML_OP_COS, ggml_cos>, kRowNorm<GGML_OP_NORM, ggml_norm>,
                               kRowNorm<GGML_OP_RMS_NORM, ggml_rms_norm>,
                               kRowNorm<GGML_OP_L2_NORM, ggml_l2_norm>, kRows);

}  // namespace

constinit const std::span<const CallRow> kElementwiseCalls = kCalls;

}  // namespace tenon
