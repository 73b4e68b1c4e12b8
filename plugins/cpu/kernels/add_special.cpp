// ADD_ID: dst[:, i, j, k] = a[:, i, j, k] + b[:, ids[i, j]].
// ADD1: dst = a + b[0]. ACC: dst = a, with b added to a region of it.

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/kernels/region.h"
#include "plugins/cpu/kernels/row_buffer.h"
#include "plugins/cpu/simd/simd.h"
#include "tenon/quant.h"

namespace tenon::cpu {
namespace {

using simd::f32;

// a and b of any float type, dst of a's type.
Verdict supports_types(const ggml_tensor& node) {
    const ggml_type a = node.src[0]->type, b = node.src[1]->type;
    if (!is_float_type(a)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!is_float_type(b)) return no(TENON_REASON_TYPE, "src1 must be f32, f16 or bf16");
    return yes();
}

// fn.operator()<A, B>() with the types of src0 and src1.
template <class Fn>
void with_types(const ggml_tensor& node, Fn&& fn) {
    with_float_type(node.src[0]->type, [&]<class A>() {
        with_float_type(node.src[1]->type, [&]<class B>() { fn.template operator()<A, B>(); });
    });
}

f32 sum_of_two(f32 x, f32 y) { return x + y; }

// ---- ADD_ID -----------------------------------------------------------------------------------

Verdict supports_add_id(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    if (const Verdict types = supports_types(node); !types) return types;
    if (!has_dense_rows(a) || !has_dense_rows(b) || !has_dense_rows(node))
        return no(TENON_REASON_STRIDES, "rows are not dense");
    return yes();
}

void run_add_id(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const ggml_tensor& ids = *node.src[2];
    with_types(node, [&]<class A, class B>() {
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const int64_t id = *element<const int32_t>(ids, i1, i2, 0, 0);
            if (id < 0 || id >= b.ne[1])
                return task.fail_index("an id is outside of the rows of src1", id, b.ne[1]);
            simd::map(row<A>(node, i1, i2, i3), row<const A>(a, i1, i2, i3), row<const B>(b, id),
                      node.ne[0], sum_of_two);
        });
    });
}

// ---- ADD1 -------------------------------------------------------------------------------------

Verdict supports_scalar(const ggml_tensor& node) {
    if (!has_dense_rows(*node.src[0]) || !has_dense_rows(node))
        return no(TENON_REASON_STRIDES, "rows are not dense");
    return yes();
}

Verdict supports_add1(const ggml_tensor& node) {
    const Verdict types = supports_types(node);
    return types ? supports_scalar(node) : types;
}

void run_add1(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const f32 b = simd::splat(as_f32(node.src[1]->type, node.src[1]->data));
    with_float_type(a.type, [&]<class A>() {
        for_each_piece(
            task, node, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
                simd::map(row<A>(node, i1, i2, i3) + begin, row<const A>(a, i1, i2, i3) + begin,
                          end - begin, [=](f32 x) { return x + b; });
            });
    });
}

// Quantised rows: decoded, summed, quantised again.
Verdict supports_add1_quantized(const ggml_tensor& node) {
    const ggml_type type = node.src[0]->type;
    const quant::Format* format = quant::find_format(type);
    if (!format || type_size(type).block == 1) return supports_add1(node);
    if (!format->to_float || !from_float(type))
        return no(TENON_REASON_TYPE, "src0 has a type that is not both read and written");
    if (!is_float_type(node.src[1]->type))
        return no(TENON_REASON_TYPE, "src1 must be f32, f16 or bf16");
    return supports_scalar(node);
}

size_t quantized_workspace(const ggml_tensor& node, int n_threads) {
    return row_buffers_bytes(node.ne[0], n_threads);
}

void run_add1_quantized(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const auto decode = quant::find_format(a.type)->to_float;
    const auto encode = from_float(node.type);
    const f32 b = simd::splat(as_f32(node.src[1]->type, node.src[1]->data));
    float* values = row_buffer(task, node.ne[0]);
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        decode(row<const void>(a, i1, i2, i3), values, node.ne[0]);
        simd::map(values, values, node.ne[0], [=](f32 x) { return x + b; });
        encode(values, row<void>(node, i1, i2, i3), node.ne[0]);
    });
}

double quantized_slowness(const ggml_tensor&) { return kEncodingSlowness; }

// ---- ACC --------------------------------------------------------------------------------------

Verdict supports_acc(const ggml_tensor& node) { return supports_region(node); }

void run_acc(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& b = *node.src[1];
    copy_base(task, node);
    for_each_target(task, node, [&](char* target, int64_t i1, int64_t i2, int64_t i3) {
        auto* dst = reinterpret_cast<float*>(target);
        simd::map(dst, dst, row<const float>(b, i1, i2, i3), b.ne[0], sum_of_two);
    });
}

}  // namespace

extern constinit const Kernel kAddId = Kernel{supports_add_id, run_add_id}.by_rows();
extern constinit const Kernel kAdd1 = Kernel{supports_add1, run_add1}.with({Parts::kElements, 0b1});
extern constinit const Kernel kAdd1Quantized{supports_add1_quantized, run_add1_quantized,
                                             quantized_workspace, quantized_slowness};
extern constinit const Kernel kAcc{supports_acc, run_acc, nullptr, nullptr, region_members};

}  // namespace tenon::cpu
