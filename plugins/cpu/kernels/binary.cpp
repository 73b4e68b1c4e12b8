// ADD SUB MUL DIV: dst = a op b, where b is repeated over a; f32 arithmetic, one rounding at the
// end.

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/kernels/row_buffer.h"
#include "plugins/cpu/simd/simd.h"
#include "tenon/quant.h"

namespace tenon::cpu {
namespace {

using simd::f32;

// a of any float type; b and dst have a's type or are f32.
bool types_fit(const ggml_tensor& node) {
    const ggml_type a = node.src[0]->type, b = node.src[1]->type;
    return is_float_type(a) && (b == a || b == GGML_TYPE_F32) &&
           (node.type == a || node.type == GGML_TYPE_F32);
}

Verdict supports(const ggml_tensor& node) {
    if (!types_fit(node)) {
        return no(TENON_REASON_TYPE_MIX, "src1 and dst must be f32 or have the float type of src0");
    }
    if (!has_dense_rows(*node.src[0])) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// dst[i] = fn(a[i], b[(first + i) mod n_b]) for i < n; b's elements are `stride` bytes apart.
template <class D, class A, class B, class Fn>
void row_with_repeats(D* dst, const A* a, int64_t n, const char* b, int64_t n_b, size_t stride,
                      int64_t first, Fn fn) {
    constexpr int64_t kPiece = 256;
    float values[kPiece];
    int64_t at = first % n_b;
    for (int64_t i = 0; i < n; i += kPiece) {
        const int64_t piece = std::min(kPiece, n - i);
        for (int64_t k = 0; k < piece; ++k) {
            values[k] = simd::to_f32(*reinterpret_cast<const B*>(b + at * stride));
            if (++at == n_b) at = 0;
        }
        simd::map(dst + i, a + i, values, piece, fn);
    }
}

template <class D, class A, class B, class Fn>
void run_types(const Task& task, const ggml_tensor& node, Fn fn) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const bool dense = b.nb[0] == sizeof(B);
    for_each_piece(task, node, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
        D* dst = row<D>(node, i1, i2, i3) + begin;
        const A* x = row<const A>(a, i1, i2, i3) + begin;
        const B* y = row<const B>(b, i1 % b.ne[1], i2 % b.ne[2], i3 % b.ne[3]);
        const int64_t n = end - begin;
        if (b.ne[0] == 1) {
            const f32 v = simd::splat(simd::to_f32(*y));
            simd::map(dst, x, n, [=](f32 u) { return fn(u, v); });
        } else if (dense && b.ne[0] == node.ne[0]) {
            simd::map(dst, x, y + begin, n, fn);
        } else if (dense && b.ne[0] >= 64 && begin == 0) {
            for (int64_t i = 0; i < n; i += b.ne[0]) {
                simd::map(dst + i, x + i, y, std::min(b.ne[0], n - i), fn);
            }
        } else {
            row_with_repeats<D, A, B>(dst, x, n, reinterpret_cast<const char*>(y), b.ne[0], b.nb[0],
                                      begin, fn);
        }
    });
}

template <auto fn>
void run(const Task& task, const ggml_tensor& node) {
    with_float_type(node.src[0]->type, [&]<class A>() {
        const bool wide_b = node.src[1]->type == GGML_TYPE_F32;
        const bool wide_d = node.type == GGML_TYPE_F32;
        if (wide_b && wide_d) return run_types<float, A, float>(task, node, fn);
        if (wide_b) return run_types<A, A, float>(task, node, fn);
        if (wide_d) return run_types<float, A, A>(task, node, fn);
        run_types<A, A, A>(task, node, fn);
    });
}

// ---- ADD of a quantised tensor and f32 ----------------------------------------------------------

Verdict supports_quantized(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const quant::Format* format = quant::find_format(a.type);
    if (!format || type_size(a.type).block == 1) return supports(node);
    if (!format->to_float) return no(TENON_REASON_TYPE, "src0 cannot be decoded");
    if (b.type != GGML_TYPE_F32)
        return no(TENON_REASON_TYPE_MIX, "src1 must be f32 for quantised src0");
    if (!from_float(node.type))
        return no(TENON_REASON_TYPE, "dst has a type that cannot be written");
    if (!tenon_same_shape(&a, &b)) {
        return no(TENON_REASON_SHAPE, "quantised operands are not broadcast");
    }
    if (!has_dense_rows(a) || !has_dense_rows(b) || !has_dense_rows(node)) {
        return no(TENON_REASON_STRIDES, "rows are not dense");
    }
    return yes();
}

size_t quantized_workspace(const ggml_tensor& node, int n_threads) {
    return row_buffers_bytes(node.ne[0], n_threads);
}

void run_quantized(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const auto decode = quant::find_format(a.type)->to_float;
    const auto encode = from_float(node.type);
    const int64_t n = node.ne[0];
    float* sum = row_buffer(task, n);
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        decode(row<const void>(a, i1, i2, i3), sum, n);
        simd::map(sum, sum, row<const float>(b, i1, i2, i3), n, [](f32 x, f32 y) { return x + y; });
        encode(sum, row<void>(node, i1, i2, i3), n);
    });
}

}  // namespace

extern constinit const Kernel kBinaryAdd =
    Kernel{supports, run<[](f32 a, f32 b) { return a + b; }>}.by_elements();
extern constinit const Kernel kAddQuantized{supports_quantized, run_quantized, quantized_workspace};
extern constinit const Kernel kBinarySub =
    Kernel{supports, run<[](f32 a, f32 b) { return a - b; }>}.by_elements();
extern constinit const Kernel kBinaryMul =
    Kernel{supports, run<[](f32 a, f32 b) { return a * b; }>}.by_elements();
extern constinit const Kernel kBinaryDiv =
    Kernel{supports, run<[](f32 a, f32 b) { return a / b; }>}.by_elements();

}  // namespace tenon::cpu
