// REPEAT: dst[i] = a[i mod ne(a)] in each dimension. REPEAT_BACK: dst[k] = sum of all a[i] with
// i mod ne(dst) = k. CONCAT: a, then b, along one dimension.

#include <type_traits>

#include "plugins/cpu/kernels/move.h"
#include "plugins/cpu/kernels/row_buffer.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

// ---- REPEAT: rows of whole blocks, as bytes -----------------------------------------------------

Verdict supports_repeat(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    if (!has_dense_rows(a)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// `unit` bytes of src, again and again until `total` bytes are full; total is a multiple of unit.
void fill_with_copies(char* dst, size_t total, const char* src, size_t unit) {
    std::memcpy(dst, src, unit);
    for (size_t done = unit; done < total; done *= 2) {
        std::memcpy(dst + done, dst, std::min(done, total - done));
    }
}

void run_repeat(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const size_t unit = row_bytes(a.type, a.ne[0]), total = row_bytes(node.type, node.ne[0]);
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        fill_with_copies(row<char>(node, i1, i2, i3), total,
                         row<const char>(a, i1 % a.ne[1], i2 % a.ne[2], i3 % a.ne[3]), unit);
    });
}

// ---- REPEAT_BACK ------------------------------------------------------------------------------

Verdict supports_repeat_back(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    if (!is_float_type(a.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(a)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// Halves are summed in an f32 row per member.
size_t workspace_repeat_back(const ggml_tensor& node, int n_threads) {
    if (node.type == GGML_TYPE_F32) return 0;
    return row_buffers_bytes(node.ne[0], n_threads);
}

// total[i] += the part of one row of a that falls on elements [begin, end) of dst's row.
template <class T>
void add_row(float* total, const T* a, const ggml_tensor& node, int64_t begin, int64_t end) {
    const int64_t n = node.ne[0], n_a = node.src[0]->ne[0];
    if (n == 1) {
        total[0] += static_cast<float>(simd::sum(a, n_a));
        return;
    }
    for (int64_t first = 0; first < n_a; first += n) {
        simd::map(total, total, a + first + begin, end - begin,
                  [](simd::f32 x, simd::f32 y) { return x + y; });
    }
}

template <class T>
void run_repeat_back_type(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    for_each_piece(task, node, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
        T* dst = row<T>(node, i1, i2, i3) + begin;
        float* total;
        if constexpr (std::is_same_v<T, float>) {
            total = dst;
        } else {
            total = row_buffer(task, node.ne[0]);
        }
        simd::fill(total, end - begin, 0.0f);
        for (int64_t k3 = i3; k3 < a.ne[3]; k3 += node.ne[3]) {
            for (int64_t k2 = i2; k2 < a.ne[2]; k2 += node.ne[2]) {
                for (int64_t k1 = i1; k1 < a.ne[1]; k1 += node.ne[1]) {
                    add_row(total, row<const T>(a, k1, k2, k3), node, begin, end);
                }
            }
        }
        if constexpr (!std::is_same_v<T, float>) simd::convert(dst, total, end - begin);
    });
}

void run_repeat_back(const Task& task, const ggml_tensor& node) {
    with_float_type(node.type, [&]<class T>() { run_repeat_back_type<T>(task, node); });
}

// ---- CONCAT: blocks as bytes --------------------------------------------------------------------

Verdict supports_concat(const ggml_tensor&) { return yes(); }

void run_concat(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const int32_t dim = params_of<tenon_concat_params>(node).dim;
    const TypeSize size = type_size(node.type);
    const int64_t n_a = a.ne[0] / size.block, n_b = b.ne[0] / size.block;
    // Of one element the stride means nothing.
    const auto stride = [&](const ggml_tensor& t) { return size.block > 1 ? size.bytes : t.nb[0]; };
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        char* dst = row<char>(node, i1, i2, i3);
        if (dim == 0) {
            move_run(dst, stride(node), row<const char>(a, i1, i2, i3), stride(a), n_a, size.bytes);
            move_run(dst + static_cast<size_t>(n_a) * stride(node), stride(node),
                     row<const char>(b, i1, i2, i3), stride(b), n_b, size.bytes);
            return;
        }
        int64_t at[GGML_MAX_DIMS] = {0, i1, i2, i3};
        const bool first = at[dim] < a.ne[dim];
        if (!first) at[dim] -= a.ne[dim];
        const ggml_tensor& src = first ? a : b;
        move_run(dst, stride(node), row<const char>(src, at[1], at[2], at[3]), stride(src), n_a,
                 size.bytes);
    });
}

}  // namespace

extern constinit const Kernel kRepeat{supports_repeat, run_repeat};
extern constinit const Kernel kRepeatBack{supports_repeat_back, run_repeat_back,
                                          workspace_repeat_back};
extern constinit const Kernel kConcat{supports_concat, run_concat};

}  // namespace tenon::cpu
