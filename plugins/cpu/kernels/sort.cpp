// ARGSORT: the indices that put each row in order; equal elements keep theirs.
// TOP_K: the indices of the k largest elements of each row, largest first.
//
// An element and its index become one 64-bit number, so that sorting numbers sorts both. NaN counts
// as less than minus infinity: it is chosen last, as ARGMAX chooses it. No two numbers are equal:
// there is one result, however it is come by, and all members can work at one long row.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

// Unsigned numbers in the order of the floats; both zeros are equal, NaN is the least.
uint32_t order_of(float x) {
    if (x != x) return 0;
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

// Whether the members work at one row after the other, together.
constexpr int64_t kSharedFrom = 32768;  // elements of a row
bool has_few_long_rows(const ggml_tensor& x, int n_threads) {
    return n_threads > 1 && x.ne[0] >= kSharedFrom && tenon_nrows(&x) < 2 * n_threads;
}
bool shares_rows(const Task& task, const ggml_tensor& x) {
    return task.window.units == 0 && has_few_long_rows(x, task.nth);
}

// How many members can have rows of their own, and so need room for one.
size_t members_with_rows(const ggml_tensor& x, int n_threads) {
    return static_cast<size_t>(std::min<int64_t>(n_threads, tenon_nrows(&x)));
}

// fn(i1, i2, i3) for every row of t.
template <class Fn>
void for_all_rows(const ggml_tensor& t, Fn&& fn) {
    for (int64_t i = 0; i < tenon_nrows(&t); ++i) {
        const int64_t i1 = i % t.ne[1], i2 = i / t.ne[1] % t.ne[2], i3 = i / t.ne[1] / t.ne[2];
        fn(i1, i2, i3);
    }
}

// ---- ARGSORT ----------------------------------------------------------------------------------

constexpr int64_t kRadixFrom = 512;  // elements; below, comparing is faster than counting

// By the upper half of the items, which come in index order, in three passes of 11 bits.
constexpr int kBits = 11, kPasses = 3;
constexpr uint64_t kMask = (1u << kBits) - 1;
uint64_t digit(uint64_t item, int pass) { return item >> (32 + kBits * pass) & kMask; }

// The result is in `to`.
void radix_sort(uint64_t* items, uint64_t* to, int64_t n) {
    uint32_t counts[kPasses][kMask + 1] = {};
    for (int64_t i = 0; i < n; ++i) {
        for (int pass = 0; pass < kPasses; ++pass) ++counts[pass][digit(items[i], pass)];
    }
    for (int pass = 0; pass < kPasses; ++pass) {
        uint32_t at = 0;
        for (uint32_t& count : counts[pass]) {
            const uint32_t n_here = count;
            count = at;
            at += n_here;
        }
        for (int64_t i = 0; i < n; ++i) to[counts[pass][digit(items[i], pass)]++] = items[i];
        std::swap(items, to);
    }
}

// The same by all members, each of which has put its share of the row into `items`. In a pass
// everyone counts its share and moves it, behind what members before it have of the same digit.
void radix_sort_shared(const Task& task, uint64_t* items, uint64_t* to, int64_t n,
                       uint32_t (*counts)[kMask + 1]) {
    const Range mine = share(task, n);
    for (int pass = 0; pass < kPasses; ++pass) {
        uint32_t* own = counts[task.ith];
        std::memset(own, 0, sizeof counts[0]);
        for (int64_t i = mine.begin; i < mine.end; ++i) ++own[digit(items[i], pass)];
        task.barrier();
        uint32_t places[kMask + 1], at = 0;
        for (uint64_t d = 0; d <= kMask; ++d) {
            for (int32_t member = 0; member < task.nth; ++member) {
                if (member == task.ith) places[d] = at;
                at += counts[member][d];
            }
        }
        for (int64_t i = mine.begin; i < mine.end; ++i)
            to[places[digit(items[i], pass)]++] = items[i];
        task.barrier();
        std::swap(items, to);
    }
}

Verdict supports_sort(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    if (!is_float_type(x.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(x)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

// Items a member needs: the row, and for a radix sort a second one.
size_t items_of(int64_t n) {
    const size_t items = static_cast<size_t>(n) * (n < kRadixFrom ? 1 : 2);
    return (items + 7) / 8 * 8;
}
size_t argsort_workspace(const ggml_tensor& node, int n_threads) {
    const int64_t n = node.src[0]->ne[0];
    const size_t own = items_of(n) * sizeof(uint64_t) * members_with_rows(*node.src[0], n_threads);
    if (!has_few_long_rows(*node.src[0], n_threads)) return own;
    const size_t counts = sizeof(uint32_t) * (kMask + 1) * static_cast<size_t>(n_threads);
    return std::max(own, items_of(n) * sizeof(uint64_t) + counts);
}

template <class T>
void fill_items(uint64_t* items, const T* src, int64_t begin, int64_t end, bool up) {
    for (int64_t i = begin; i < end; ++i) {
        const float value = simd::to_f32(src[i]);
        items[i] = up ? ascending(value, i) : descending(value, i);
    }
}

template <class T>
void sort_rows(const Task& task, const ggml_tensor& node, bool up) {
    const ggml_tensor& x = *node.src[0];
    const int64_t n = x.ne[0];
    uint64_t* items =
        static_cast<uint64_t*>(task.workspace) + items_of(n) * static_cast<size_t>(task.ith);
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        fill_items(items, row<const T>(x, i1, i2, i3), 0, n, up);
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
}

// The second half of the items has the result, and is not written again before the next row's first
// barrier.
template <class T>
void sort_shared_rows(const Task& task, const ggml_tensor& node, bool up) {
    const ggml_tensor& x = *node.src[0];
    const int64_t n = x.ne[0];
    auto* items = static_cast<uint64_t*>(task.workspace);
    auto* counts = reinterpret_cast<uint32_t(*)[kMask + 1]>(items + items_of(n));
    const Range mine = share(task, n);
    for_all_rows(node, [&](int64_t i1, int64_t i2, int64_t i3) {
        fill_items(items, row<const T>(x, i1, i2, i3), mine.begin, mine.end, up);
        radix_sort_shared(task, items, items + n, n, counts);
        int32_t* dst = row<int32_t>(node, i1, i2, i3);
        for (int64_t i = mine.begin; i < mine.end; ++i) dst[i] = index_of(items[n + i]);
    });
}

void run_argsort(const Task& task, const ggml_tensor& node) {
    const bool up = params_of<tenon_argsort_params>(node).order == GGML_SORT_ORDER_ASC;
    const bool shared = shares_rows(task, *node.src[0]);
    with_float_type(node.src[0]->type, [&]<class T>() {
        shared ? sort_shared_rows<T>(task, node, up) : sort_rows<T>(task, node, up);
    });
}

// ---- TOP_K ------------------------------------------------------------------------------------

// Few of many: a heap of the best so far, while whole vectors of the row are found wanting.
bool takes_heap(int64_t k, int64_t n) { return k <= 128 && k * 8 <= n; }

size_t top_k_items(const ggml_tensor& node) {
    const int64_t k = node.ne[0], n = node.src[0]->ne[0];
    return (static_cast<size_t>(takes_heap(k, n) ? k : n) + 7) / 8 * 8;
}
// A heap is through with shorter rows before the members have met.
constexpr int64_t kHeapSharedFrom = 1 << 18;

bool shares_top_k(const ggml_tensor& node, int n_threads) {
    const int64_t k = node.ne[0], n = node.src[0]->ne[0];
    return has_few_long_rows(*node.src[0], n_threads) && k * 4 <= n &&
           (n >= kHeapSharedFrom || !takes_heap(k, n));
}
// Of each member; where rows are shared, k more from each for the last choice.
size_t top_k_workspace(const ggml_tensor& node, int n_threads) {
    const auto chosen = static_cast<size_t>(shares_top_k(node, n_threads) ? node.ne[0] : 0);
    return (top_k_items(node) + chosen) * sizeof(uint64_t) * static_cast<size_t>(n_threads);
}

// Leaves the k best of elements [begin, end) of x in items, 0 < k <= end - begin, in no order.
template <class T>
void collect_with_heap(uint64_t* items, int64_t k, const T* x, int64_t begin, int64_t end) {
    using simd::f32;
    for (int64_t i = 0; i < k; ++i) items[i] = descending(simd::to_f32(x[begin + i]), begin + i);
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
    int64_t i = begin + k;
    for (; i + f32::lanes <= end; i += f32::lanes) {
        const bool none = !simd::any(simd::less(simd::splat(worst), simd::load(x + i)));
        if (none && worst == worst) continue;  // anything is better than NaN
        for (int64_t lane = 0; lane < f32::lanes; ++lane) consider(i + lane);
    }
    for (; i < end; ++i) consider(i);
}

// The k best of n items come first, in no order.
void select(uint64_t* items, int64_t k, int64_t n) {
    if (k < n) std::nth_element(items, items + k, items + n);
}

template <class T>
void collect(uint64_t* items, int64_t k, const T* x, int64_t begin, int64_t end, bool heap) {
    if (heap) return collect_with_heap(items, k, x, begin, end);
    for (int64_t i = begin; i < end; ++i) items[i - begin] = descending(simd::to_f32(x[i]), i);
    select(items, k, end - begin);
}

void write_sorted(uint64_t* items, int64_t k, int32_t* dst) {
    std::sort(items, items + k);
    for (int64_t i = 0; i < k; ++i) dst[i] = index_of(items[i]);
}

template <class T>
void choose_rows(const Task& task, const ggml_tensor& node, uint64_t* items) {
    const ggml_tensor& x = *node.src[0];
    const int64_t k = node.ne[0], n = x.ne[0];
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        collect(items, k, row<const T>(x, i1, i2, i3), 0, n, takes_heap(k, n));
        write_sorted(items, k, row<int32_t>(node, i1, i2, i3));
    });
}

// Each member chooses from its share of the row, and the first from what they chose.
template <class T>
void choose_shared_rows(const Task& task, const ggml_tensor& node, uint64_t* items) {
    const ggml_tensor& x = *node.src[0];
    const int64_t k = node.ne[0], n = x.ne[0];
    uint64_t* all =
        static_cast<uint64_t*>(task.workspace) + top_k_items(node) * static_cast<size_t>(task.nth);
    const auto share_of = [&](int32_t member) {  // where its choice begins, and how many there are
        Task other = task;
        other.ith = member;
        const Range r = share(other, n);
        return Range{k * member, k * member + std::min(k, r.end - r.begin)};
    };
    const Range mine = share(task, n), chosen = share_of(task.ith);
    const int64_t n_chosen = chosen.end - chosen.begin;
    for_all_rows(node, [&](int64_t i1, int64_t i2, int64_t i3) {
        if (n_chosen > 0) {
            collect(items, n_chosen, row<const T>(x, i1, i2, i3), mine.begin, mine.end,
                    takes_heap(k, n));
            std::copy(items, items + n_chosen, all + chosen.begin);
        }
        task.barrier();
        if (task.ith == 0) {
            uint64_t* end = all + n_chosen;
            for (int32_t member = 1; member < task.nth; ++member) {
                const Range r = share_of(member);
                end = std::copy(all + r.begin, all + r.end, end);
            }
            select(all, k, end - all);
            write_sorted(all, k, row<int32_t>(node, i1, i2, i3));
        }
        task.barrier();
    });
}

void run_top_k(const Task& task, const ggml_tensor& node) {
    const bool shared = task.window.units == 0 && shares_top_k(node, task.nth);
    uint64_t* items =
        static_cast<uint64_t*>(task.workspace) + top_k_items(node) * static_cast<size_t>(task.ith);
    with_float_type(node.src[0]->type, [&]<class T>() {
        shared ? choose_shared_rows<T>(task, node, items) : choose_rows<T>(task, node, items);
    });
}

// The heap is seldom touched; without one the whole row is sorted.
double top_k_slowness(const ggml_tensor& node) {
    return takes_heap(node.ne[0], node.src[0]->ne[0]) ? 0.5 : 8;
}

}  // namespace

extern constinit const Kernel kArgsort =
    Kernel{supports_sort, run_argsort, argsort_workspace}.by_rows();
extern constinit const Kernel kTopK =
    Kernel{supports_sort, run_top_k, top_k_workspace, top_k_slowness}.by_rows();

}  // namespace tenon::cpu
