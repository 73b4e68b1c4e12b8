// Where ACC and SET put src1 inside the result: element i of it at
// offset + i0*size + i1*nb1 + i2*nb2 + i3*nb3 bytes from the result's start.
#pragma once

#include "plugins/cpu/kernel.h"

namespace tenon::cpu {

// Layout and bounds; types are the kernel's business. A node in place has src0's memory as its own.
inline Verdict supports_region(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    if (!is_contiguous(a)) return no(TENON_REASON_STRIDES, "src0 is not contiguous");
    if (!is_contiguous(node)) return no(TENON_REASON_STRIDES, "dst is not contiguous");
    if (!has_dense_rows(b)) return no(TENON_REASON_STRIDES, "src1 rows are not dense");
    return yes();
}

// One member at a time where rows of src1 may overlap each other inside the result.
inline int region_members(const ggml_tensor& node, int n_threads) {
    const ggml_tensor& b = *node.src[1];
    const auto p = params_of<tenon_set_params>(node);
    const int64_t strides[] = {p.nb1, p.nb2, p.nb3};
    int64_t extent = b.ne[0] * static_cast<int64_t>(type_size(node.type).bytes);
    for (int k = 1; k < GGML_MAX_DIMS; ++k) {
        if (b.ne[k] <= 1) continue;
        if (strides[k - 1] < extent) return 1;
        extent += (b.ne[k] - 1) * strides[k - 1];
    }
    return n_threads;
}

// The result starts as a copy of src0, unless it is src0. All members have finished when it
// returns.
inline void copy_base(const Task& task, const ggml_tensor& node) {
    const auto p = params_of<tenon_set_params>(node);
    const ggml_tensor& a = *node.src[0];
    if (p.inplace || a.data == node.data) return;
    const int64_t bytes = tenon_nelements(&node) * static_cast<int64_t>(type_size(node.type).bytes);
    const Range lines = share(task, (bytes + 63) / 64);
    const int64_t begin = std::min(lines.begin * 64, bytes), end = std::min(lines.end * 64, bytes);
    if (begin < end) {
        std::memcpy(static_cast<char*>(node.data) + begin, static_cast<const char*>(a.data) + begin,
                    static_cast<size_t>(end - begin));
    }
    task.barrier();
}

// fn(target, i1, i2, i3) for this member's share of the rows of src1.
template <class Fn>
void for_each_target(const Task& task, const ggml_tensor& node, Fn&& fn) {
    const auto p = params_of<tenon_set_params>(node);
    const ggml_tensor& b = *node.src[1];
    if (tenon_is_empty(&b)) return;
    for_each_row(task, b, [&](int64_t i1, int64_t i2, int64_t i3) {
        fn(static_cast<char*>(node.data) + p.offset + i1 * p.nb1 + i2 * p.nb2 + i3 * p.nb3, i1, i2,
           i3);
    });
}

}  // namespace tenon::cpu
