// ADD SUB MUL DIV and relatives, ACC, and the simplest functions of one tensor: builders and rules.
#include <limits>

#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {

Result<NodeShape> broadcast_shape(const OpCall& call) { return Checks(call).repeats(1, 0).like(0); }

// With a type asked for (ggml_add_cast), the sum is converted to it.
Result<NodeShape> add_shape(const OpCall& call) {
    if (call.asked == nullptr) return broadcast_shape(call);
    const ggml_tensor& a = *call.src[0];
    NodeShape shape = shape_of(a);
    shape.type = call.asked->type;
    const bool narrow =
        ggml_is_quantized(a.type) || a.type == GGML_TYPE_F16 || a.type == GGML_TYPE_BF16;
    return Checks(call)
        .same_extent(1, 0, 0, 0)
        .repeats(1, 0)
        .require(narrow, "src0 is %s, must be quantized, f16 or bf16", ggml_type_name(a.type))
        .result(shape);
}

Result<NodeShape> add_id_shape(const OpCall& call) {
    return Checks(call)
        .same_extent(1, 0, 0, 0)
        .same_extent(2, 0, 0, 1)
        .same_extent(2, 1, 0, 2)
        .type(2, {GGML_TYPE_I32})
        .like(0);
}

Result<NodeShape> add1_shape(const OpCall& call) {
    return Checks(call).dims_at_most(1, 0).padded_rows(0).like(0);
}

namespace {

// What ACC and SET write of src0: src1, its rows laid out anew at an offset. All of it lies inside,
// in whole elements.
Checks& region(Checks& check, const OpCall& call) {
    const ggml_tensor &a = *call.src[0], &b = *call.src[1];
    const auto p = call.params_as<tenon_set_params>();
    check.at_least("nb1", p.nb1, 0).at_least("nb2", p.nb2, 0).at_least("nb3", p.nb3, 0);
    check.at_least("offset", p.offset, 0);
    if (!check || ggml_is_empty(&b)) return check;
    const int64_t unit = static_cast<int64_t>(ggml_type_size(a.type));
    const int64_t strides[] = {p.nb1, p.nb2, p.nb3};
    int64_t end = plus(p.offset, times(b.ne[0] / ggml_blck_size(a.type), unit));
    bool whole = p.offset % unit == 0;
    for (int k = 1; k < GGML_MAX_DIMS; k++) {
        end = plus(end, times(b.ne[k] - 1, strides[k - 1]));
        whole = whole && (b.ne[k] == 1 || strides[k - 1] % unit == 0);
    }
    return check
        .require(whole, "nb1 %d, nb2 %d, nb3 %d and offset %d are not multiples of %lld bytes",
                 p.nb1, p.nb2, p.nb3, p.offset, (long long)unit)
        .require(static_cast<uint64_t>(end) <= ggml_nbytes(&a),
                 "src1 ends at byte %lld of src0, which has %zu", (long long)end, ggml_nbytes(&a));
}

}  // namespace

Result<NodeShape> acc_shape(const OpCall& call) {
    const int64_t n_a = ggml_nelements(call.src[0]);
    const int64_t n_b = ggml_nelements(call.src[1]);
    Checks check(call);
    check
        .require(n_b <= n_a, "src1 has %lld elements, src0 only %lld", (long long)n_b,
                 (long long)n_a)
        .contiguous({0})
        .f32({0, 1});
    return region(check, call).like(0);
}

Result<NodeShape> set_shape(const OpCall& call) {
    constexpr int32_t kMostOffset = (1 << 30) - 1;
    const int64_t n_a = ggml_nelements(call.src[0]);
    const int64_t n_b = ggml_nelements(call.src[1]);
    Checks check(call);
    check
        .require(n_b <= n_a, "src1 has %lld elements, src0 only %lld", (long long)n_b,
                 (long long)n_a)
        .between("offset", call.params_as<tenon_set_params>().offset, 0, kMostOffset);
    return region(check, call).like(0);
}

namespace {

// ACC and SET: byte strides and the offset are stored as 32-bit numbers.
ggml_tensor* build_into(ggml_context* ctx, ggml_op op, ggml_tensor* a, ggml_tensor* b, size_t nb1,
                        size_t nb2, size_t nb3, size_t offset, bool inplace) {
    if (a == nullptr || b == nullptr) return nullptr;
    constexpr size_t kMost = std::numeric_limits<int32_t>::max();
    const struct {
        const char* name;
        size_t value;
    } numbers[] = {{"nb1", nb1}, {"nb2", nb2}, {"nb3", nb3}, {"offset", offset}};
    for (const auto& number : numbers) {
        if (number.value <= kMost) continue;
        report(fail(TENON_E_INVALID, "%s: %s is %zu, must be at most %zu", ggml_op_name(op),
                    number.name, number.value, kMost));
        return nullptr;
    }
    const tenon_acc_params params{static_cast<int32_t>(nb1), static_cast<int32_t>(nb2),
                                  static_cast<int32_t>(nb3), static_cast<int32_t>(offset),
                                  inplace ? 1 : 0};
    return build(ctx, op, {a, b}, params, in_place_if(inplace));
}

ggml_tensor* build_scale(ggml_context* ctx, ggml_tensor* a, float s, float b, bool inplace) {
    return build(ctx, GGML_OP_SCALE, {a}, tenon_scale_params{s, b}, in_place_if(inplace));
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_add(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_ADD, {a, b});
}
ggml_tensor* ggml_add_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_ADD, {a, b}, kInPlace);
}
ggml_tensor* ggml_add_cast(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, ggml_type type) {
    const NodeShape asked{.type = type};
    return build(ctx, GGML_OP_ADD, {a, b}, BuildOptions{.asked = &asked});
}
ggml_tensor* ggml_add_id(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, ggml_tensor* ids) {
    return build(ctx, GGML_OP_ADD_ID, {a, b, ids});
}
ggml_tensor* ggml_add1(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_ADD1, {a, b});
}
ggml_tensor* ggml_add1_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_ADD1, {a, b}, kInPlace);
}

ggml_tensor* ggml_sub(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_SUB, {a, b});
}
ggml_tensor* ggml_sub_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_SUB, {a, b}, kInPlace);
}
ggml_tensor* ggml_mul(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_MUL, {a, b});
}
ggml_tensor* ggml_mul_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_MUL, {a, b}, kInPlace);
}
ggml_tensor* ggml_div(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_DIV, {a, b});
}
ggml_tensor* ggml_div_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b) {
    return build(ctx, GGML_OP_DIV, {a, b}, kInPlace);
}

ggml_tensor* ggml_acc(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, size_t nb1, size_t nb2,
                      size_t nb3, size_t offset) {
    return build_into(ctx, GGML_OP_ACC, a, b, nb1, nb2, nb3, offset, /*inplace=*/false);
}
ggml_tensor* ggml_acc_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, size_t nb1,
                              size_t nb2, size_t nb3, size_t offset) {
    return build_into(ctx, GGML_OP_ACC, a, b, nb1, nb2, nb3, offset, /*inplace=*/true);
}
ggml_tensor* ggml_set(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, size_t nb1, size_t nb2,
                      size_t nb3, size_t offset) {
    return build_into(ctx, GGML_OP_SET, a, b, nb1, nb2, nb3, offset, /*inplace=*/false);
}
ggml_tensor* ggml_set_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, size_t nb1,
                              size_t nb2, size_t nb3, size_t offset) {
    return build_into(ctx, GGML_OP_SET, a, b, nb1, nb2, nb3, offset, /*inplace=*/true);
}
ggml_tensor* ggml_set_1d(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, size_t offset) {
    if (a == nullptr) return nullptr;
    return ggml_set(ctx, a, b, a->nb[1], a->nb[2], a->nb[3], offset);
}
ggml_tensor* ggml_set_1d_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, size_t offset) {
    if (a == nullptr) return nullptr;
    return ggml_set_inplace(ctx, a, b, a->nb[1], a->nb[2], a->nb[3], offset);
}
ggml_tensor* ggml_set_2d(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, size_t nb1,
                         size_t offset) {
    if (a == nullptr) return nullptr;
    return ggml_set(ctx, a, b, nb1, a->nb[2], a->nb[3], offset);
}
ggml_tensor* ggml_set_2d_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, size_t nb1,
                                 size_t offset) {
    if (a == nullptr) return nullptr;
    return ggml_set_inplace(ctx, a, b, nb1, a->nb[2], a->nb[3], offset);
}

ggml_tensor* ggml_sqr(ggml_context* ctx, ggml_tensor* a) { return build(ctx, GGML_OP_SQR, {a}); }
ggml_tensor* ggml_sqr_inplace(ggml_context* ctx, ggml_tensor* a) {
    return build(ctx, GGML_OP_SQR, {a}, kInPlace);
}
ggml_tensor* ggml_sqrt(ggml_context* ctx, ggml_tensor* a) { return build(ctx, GGML_OP_SQRT, {a}); }
ggml_tensor* ggml_sqrt_inplace(ggml_context* ctx, ggml_tensor* a) {
    return build(ctx, GGML_OP_SQRT, {a}, kInPlace);
}
ggml_tensor* ggml_log(ggml_context* ctx, ggml_tensor* a) { return build(ctx, GGML_OP_LOG, {a}); }
ggml_tensor* ggml_log_inplace(ggml_context* ctx, ggml_tensor* a) {
    return build(ctx, GGML_OP_LOG, {a}, kInPlace);
}
ggml_tensor* ggml_sin(ggml_context* ctx, ggml_tensor* a) { return build(ctx, GGML_OP_SIN, {a}); }
ggml_tensor* ggml_sin_inplace(ggml_context* ctx, ggml_tensor* a) {
    return build(ctx, GGML_OP_SIN, {a}, kInPlace);
}
ggml_tensor* ggml_cos(ggml_context* ctx, ggml_tensor* a) { return build(ctx, GGML_OP_COS, {a}); }
ggml_tensor* ggml_cos_inplace(ggml_context* ctx, ggml_tensor* a) {
    return build(ctx, GGML_OP_COS, {a}, kInPlace);
}

ggml_tensor* ggml_scale(ggml_context* ctx, ggml_tensor* a, float s) {
    return build_scale(ctx, a, s, 0.0f, /*inplace=*/false);
}
ggml_tensor* ggml_scale_inplace(ggml_context* ctx, ggml_tensor* a, float s) {
    return build_scale(ctx, a, s, 0.0f, /*inplace=*/true);
}
ggml_tensor* ggml_scale_bias(ggml_context* ctx, ggml_tensor* a, float s, float b) {
    return build_scale(ctx, a, s, b, /*inplace=*/false);
}
ggml_tensor* ggml_scale_bias_inplace(ggml_context* ctx, ggml_tensor* a, float s, float b) {
    return build_scale(ctx, a, s, b, /*inplace=*/true);
}

ggml_tensor* ggml_clamp(ggml_context* ctx, ggml_tensor* a, float min, float max) {
    return build(ctx, GGML_OP_CLAMP, {a}, tenon_clamp_params{min, max});
}
ggml_tensor* ggml_clamp_inplace(ggml_context* ctx, ggml_tensor* a, float min, float max) {
    return build(ctx, GGML_OP_CLAMP, {a}, tenon_clamp_params{min, max}, kInPlace);
}

}  // extern "C"
