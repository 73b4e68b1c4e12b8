// ARGSORT: the indices that put each row in order; equal elements keep theirs.
// TOP_K: the indices of the k largest elements of each row, largest first.
//
// An element and its index become one 64-bit number, so that sorting numbers sorts both. NaN comes
// beyond infinity, or with its sign bit set before minus infinity.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

// Unsigned numbers in the order of the floats; both zeros are equal.
uint32_t order_of(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
float float_of(uint32_t order) {
    return std::bit_cast<float>(order & 0x80000000u ? order & 0x7fffffffu : ~order);
}

// Ascending numbers: smallest (largest) element first, equal ones by index.
uint64_t ascending(float x, int64_t i) {
    return uint64_t{order_of(x)} << 32 | static_cast<uint32_t>(i);
}
uint64_t descending(float x, int64_t i) {
    return uint64_t{~order_of(x)} << 32 | static_cast<uint32_t>(i);
}
int32_t index_of(uint64_t item) { return static_cast<int32_t>(item & 0xffffffffu); }

// ---- ARGSORT ----------------------------------------------------------------------------------

constexpr int64_t kRadixFrom = 512;  // elements; below, comparing is faster than counting

// Sorts by the upper half of the items, which come in index order, in three passes of 11 bits; the
// result is in `to`.
void radix_sort(uint64_t* items, uint64_t* to, int64_t n) {
    constexpr int kBits = 11, kPasses = 3;
    constexpr uint64_t kMask = (1u << kBits) - 1;
    uint32_t counts[kPasses][kMask + 1] = {};
    for (int64_t i = 0; i < n; ++i) {
        for (int pass = 0; pass < kPasses; ++pass)
            ++counts[pass][items[i] >> (32 + kBits * pass) & kMask];
    }
    for (int pass = 0; pass < kPasses; ++pass) {
        uint32_t at = 0;
        for (uint32_t& count : counts[pass]) {
            const uint32_t n_here = count;
            count = at;
            at += n_here;
        }
        for (int64_t i = 0; i < n; ++i)
            to[counts[pass][items[i] >> (32 + kBits * pass) & kMask]++] = items[i];
        std::swap(items, to);
    }
}

Verdict supports_sort(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    if (!is_float_type(x.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (node.type != GGML_TYPE_I32) return no(TENON_REASON_TYPE, "dst must be i32");
    if (node.ne[1] != x.ne[1] || node.ne[2] != x.ne[2] || node.ne[3] != x.ne[3])
        return no(TENON_REASON_SHAPE, "dst has not one row per row of src0");
    if (x.ne[0] > INT32_MAX)
        return no(TENON_REASON_TOO_LARGE, "src0 has rows beyond 2^31 elements");
    if (!has_dense_rows(x)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

Verdict supports_argsort(const ggml_tensor& node) {
    const int32_t order = params_of<tenon_argsort_params>(node).order;
    if (order != GGML_SORT_ORDER_ASC && order != GGML_SORT_ORDER_DESC)
        return no(TENON_REASON_OP_PARAM, "unknown sort order");
    const Verdict sort = supports_sort(node);
    if (sort && node.ne[0] != node.src[0]->ne[0])
        return no(TENON_REASON_SHAPE, "dst has another shape than src0");
    return sort;
}

// Items a member needs: the row, and for a radix sort a second one.
size_t items_of(int64_t n) {
    const size_t items = static_cast<size_t>(n) * (n < kRadixFrom ? 1 : 2);
    return (items + 7) / 8 * 8;
}
size_t argsort_workspace(const ggml_tensor& node, int n_threads) {
    return items_of(node.src[0]->ne[0]) * sizeof(uint64_t) * static_cast<size_t>(n_threads);
}

void run_argsort(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const bool up = params_of<tenon_argsort_params>(node).order == GGML_SORT_ORDER_ASC;
    const int64_t n = x.ne[0];
    uint64_t* items =
        static_cast<uint64_t*>(task.workspace) + items_of(n) * static_cast<size_t>(task.ith);
    with_float_type(x.type, [&]<class T>() {
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const T* src = row<const T>(x, i1, i2, i3);
            for (int64_t i = 0; i < n; ++i) {
                const float value = simd::to_f32(src[i]);
                items[i] = up ? ascending(value, i) : descending(value, i);
            }
            const uint64_t* sorted = items;
            if (n < kRadixFrom) {
                std::sort(items, items + n);
            } else {
                radix_sort(items, items + n, n);
                sorted = items + n;
            }
            int32_t* dst = row<int32_t>(node, i1, i2, i3);
            for (int64_t i = 0; i < n; ++i) dst[i] = index_of(sorted[i]);
        });
    });
}

double argsort_cost(const ggml_tensor& node) {
    return 20 + static_cast<double>(tenon_nelements(&node)) * 12;
}

// ---- TOP_K ------------------------------------------------------------------------------------

// Few of many: a heap of the best so far, while whole vectors of the row are found wanting.
bool takes_heap(int64_t k, int64_t n) { return k <= 128 && k * 8 <= n; }

Verdict supports_top_k(const ggml_tensor& node) {
    const Verdict sort = supports_sort(node);
    if (sort && node.ne[0] > node.src[0]->ne[0])
        return no(TENON_REASON_SHAPE, "k is larger than the rows of src0");
    return sort;
}

size_t top_k_items(const ggml_tensor& node) {
    const int64_t k = node.ne[0], n = node.src[0]->ne[0];
    return (static_cast<size_t>(takes_heap(k, n) ? k : n) + 7) / 8 * 8;
}
size_t top_k_workspace(const ggml_tensor& node, int n_threads) {
    return top_k_items(node) * sizeof(uint64_t) * static_cast<size_t>(n_threads);
}

// Leaves the k best of x in items, k > 0, in no order.
template <class T>
void collect_with_heap(uint64_t* items, int64_t k, const T* x, int64_t n) {
    using simd::f32;
    for (int64_t i = 0; i < k; ++i) items[i] = descending(simd::to_f32(x[i]), i);
    std::make_heap(items, items + k);  // the worst, which is the largest item, first
    float worst = float_of(~static_cast<uint32_t>(items[0] >> 32));
    const auto consider = [&](int64_t i) {
        const uint64_t item = descending(simd::to_f32(x[i]), i);
        if (item >= items[0]) return;
        std::pop_heap(items, items + k);
        items[k - 1] = item;
        std::push_heap(items, items + k);
        worst = float_of(~static_cast<uint32_t>(items[0] >> 32));
    };
    int64_t i = k;
    for (; i + f32::lanes <= n; i += f32::lanes) {
        if (!simd::any(simd::less(simd::splat(worst), simd::load(x + i)))) continue;
        for (int64_t lane = 0; lane < f32::lanes; ++lane) consider(i + lane);
    }
    for (; i < n; ++i) consider(i);
}

template <class T>
void collect_by_selection(uint64_t* items, int64_t k, const T* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) items[i] = descending(simd::to_f32(x[i]), i);
    if (k < n) std::nth_element(items, items + k, items + n);
}

void run_top_k(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const int64_t k = node.ne[0], n = x.ne[0];
    uint64_t* items =
        static_cast<uint64_t*>(task.workspace) + top_k_items(node) * static_cast<size_t>(task.ith);
    with_float_type(x.type, [&]<class T>() {
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const T* src = row<const T>(x, i1, i2, i3);
            if (takes_heap(k, n)) {
                collect_with_heap(items, k, src, n);
            } else {
                collect_by_selection(items, k, src, n);
            }
            std::sort(items, items + k);
            int32_t* dst = row<int32_t>(node, i1, i2, i3);
            for (int64_t i = 0; i < k; ++i) dst[i] = index_of(items[i]);
        });
    });
}

double top_k_cost(const ggml_tensor& node) {
    const double n = static_cast<double>(tenon_nelements(node.src[0]));
    const double per_element = takes_heap(node.ne[0], node.src[0]->ne[0]) ? 0.5 : 8;
    return 20 + n * per_element + static_cast<double>(tenon_nelements(&node)) * 20;
}

}  // namespace

extern constinit const Kernel kArgsort =
    Kernel{GGML_OP_ARGSORT, supports_argsort, run_argsort, argsort_workspace, argsort_cost}
        .by_rows();
extern constinit const Kernel kTopK =
    Kernel{GGML_OP_TOP_K, supports_top_k, run_top_k, top_k_workspace, top_k_cost}.by_rows();

}  // namespace tenon::cpu
