// GET_ROWS: dst[:, r, j, k] = a[:, ids[r, j, k], j, k] as f32.
// GET_ROWS_BACK: dst[:, ids[r]] += g[:, r] for every id, from 0.
// SET_ROWS: dst[:, ids[i, j, k], j, k] = rows[:, i, j, k], converted to dst's type.

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/kernels/row_buffer.h"
#include "plugins/cpu/simd/simd.h"
#include "tenon/quant.h"

namespace tenon::cpu {
namespace {

int64_t index_at(const ggml_tensor& ids, int64_t i0, int64_t i1, int64_t i2) {
    return ids.type == GGML_TYPE_I64 ? *element<const int64_t>(ids, i0, i1, i2, 0)
                                     : *element<const int32_t>(ids, i0, i1, i2, 0);
}

// ---- GET_ROWS ---------------------------------------------------------------------------------

Verdict supports_get(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const quant::Format* format = quant::find_format(a.type);
    const bool copies = a.type == GGML_TYPE_I32 || a.type == GGML_TYPE_F32;
    if (!copies && (!format || !format->to_float)) {
        return no(TENON_REASON_TYPE, "src0 has a type that cannot be decoded");
    }
    if (!has_dense_rows(a) || !has_dense_rows(node)) {
        return no(TENON_REASON_STRIDES, "rows are not dense");
    }
    return yes();
}

void get_row(const ggml_tensor& a, const void* src, float* dst, int64_t n) {
    switch (a.type) {
        case GGML_TYPE_F32:
        case GGML_TYPE_I32:
            std::memcpy(dst, src, static_cast<size_t>(n) * 4);
            break;
        case GGML_TYPE_F16:
            simd::convert(dst, static_cast<const ggml_fp16_t*>(src), n);
            break;
        case GGML_TYPE_BF16:
            simd::convert(dst, static_cast<const ggml_bf16_t*>(src), n);
            break;
        default:
            quant::find_format(a.type)->to_float(src, dst, n);
    }
}

void run_get(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    for_each_row(task, node, [&](int64_t r, int64_t j, int64_t k) {
        const int64_t i = index_at(*node.src[1], r, j, k);
        if (i < 0 || i >= a.ne[1]) {
            return task.fail_index("a row index is out of range", i, a.ne[1]);
        }
        get_row(a, row<const void>(a, i, j, k), row<float>(node, r, j, k), node.ne[0]);
    });
}

// Rows lie anywhere, and blocks are decoded one by one.
double slowness_get(const ggml_tensor& node) {
    return type_size(node.src[0]->type).block > 1 ? 8 : 2;
}

// ---- GET_ROWS_BACK ------------------------------------------------------------------------------

Verdict supports_get_back(const ggml_tensor& node) {
    const ggml_tensor& g = *node.src[0];
    if (!is_float_type(g.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(g) || !has_dense_rows(node))
        return no(TENON_REASON_STRIDES, "rows are not dense");
    return yes();
}

// Each member owns a range of target rows and looks through all ids for them, so that sums come
// about in the same order whatever the number of members.
void run_get_back(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& g = *node.src[0];
    const ggml_tensor& ids = *node.src[1];
    const int64_t n = node.ne[0];
    const Range mine = share(task, node.ne[1]);
    for (int64_t i = mine.begin; i < mine.end; ++i) simd::fill(row<float>(node, i), n, 0.0f);
    with_float_type(g.type, [&]<class T>() {
        for (int64_t r = 0; r < ids.ne[0]; ++r) {
            const int64_t i = *element<const int32_t>(ids, r, 0, 0, 0);
            if (i < 0 || i >= node.ne[1])
                return task.fail_index("a row index is out of range", i, node.ne[1]);
            if (i < mine.begin || i >= mine.end) continue;
            simd::add_scaled(row<float>(node, i), row<const T>(g, r), n, 1.0f);
        }
    });
}

// ---- SET_ROWS ---------------------------------------------------------------------------------

Verdict supports_set(const ggml_tensor& node) {
    if (!is_float_type(node.type) && !from_float(node.type)) {
        return no(TENON_REASON_TYPE, "dst has a type without run-time quantizer");
    }
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// Halves on their way to a quantised type pass through f32.
size_t workspace_set(const ggml_tensor& node, int n_threads) {
    if (node.src[0]->type == GGML_TYPE_F32 || is_float_type(node.type)) return 0;
    return row_buffers_bytes(node.ne[0], n_threads);
}

template <class S>
void set_row(const Task& task, const ggml_tensor& node, const S* src, void* dst) {
    const int64_t n = node.ne[0];
    if (with_float_type(node.type,
                        [&]<class D>() { simd::convert(static_cast<D*>(dst), src, n); })) {
        return;
    }
    const float* values;
    if constexpr (std::is_same_v<S, float>) {
        values = src;
    } else {
        float* buffer = row_buffer(task, n);
        simd::convert(buffer, src, n);
        values = buffer;
    }
    from_float(node.type)(values, dst, n);
}

void run_set(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& rows = *node.src[0];
    const ggml_tensor& ids = *node.src[1];
    if (tenon_is_empty(&rows)) return;
    with_float_type(rows.type, [&]<class S>() {
        for_each_row(task, rows, [&](int64_t i, int64_t j, int64_t k) {
            const int64_t target = index_at(ids, i, j % ids.ne[1], k % ids.ne[2]);
            if (target < 0 || target >= node.ne[1]) {
                return task.fail_index("a row index is out of range", target, node.ne[1]);
            }
            set_row(task, node, row<const S>(rows, i, j, k), row<void>(node, target, j, k));
        });
    });
}

// The result is the whole destination; what is written is as large as src0.
double slowness_set(const ggml_tensor& node) {
    return type_size(node.type).block > 1 ? kEncodingSlowness : 2;
}

}  // namespace

extern constinit const Kernel kGetRows = Kernel{supports_get, run_get, nullptr, slowness_get}.with(
    {Parts::kRows, 0b1, /*lower_sources=*/0b10, /*dim=*/2});
extern constinit const Kernel kGetRowsBack{supports_get_back, run_get_back};
extern constinit const Kernel kSetRows =
    Kernel{supports_set, run_set, workspace_set, slowness_set}.with(
        {Parts::kRows, 0b1, 0, 1, /*of_src0=*/true});

}  // namespace tenon::cpu
