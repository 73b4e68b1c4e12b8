// Weights of many experts in host memory: only those that the routing chose are copied.

#include <algorithm>

#include "core/device/buffer.h"
#include "core/placement/scheduler.h"
#include "core/tensor/shape.h"

using namespace tenon;
using namespace tenon::placement;

namespace {

constexpr size_t kPaddingBytes =
    512;  // kernels may read this far past a run; it must not hold rubbish

// Index of the node that uses the copy as its expert weights, if the split starts with one; else
// -1.
int32_t routed_node(const ggml_backend_sched& s, const Split& split, const Copy& copy) {
    for (int32_t i = split.first; i < split.end; i++) {
        const ggml_tensor* node = s.node_images[static_cast<size_t>(i)];
        if (tenon_is_view_op(node->op)) continue;
        return node->op == GGML_OP_MUL_MAT_ID && node->src[0] == copy.tensor ? i : -1;
    }
    return -1;
}

// Marks the experts that the ids name, one bit each.
Result<void> mark_used(ggml_backend_sched& s, const Item& ids, int64_t n_experts) {
    const ggml_tensor& t = *ids.image;
    s.used_experts.assign(static_cast<size_t>(n_experts + 31) / 32, 0);
    s.ids_data.resize(nbytes(t));
    if (s.ids_data.empty()) return {};
    if (auto r = synchronize_stream(s.backends[ids.backend]); !r) return r;
    s.order.host_waited(ids.backend);
    auto buffer = buffer_of(&t);
    if (!buffer) return buffer.error();
    if (auto r = get_rows(**buffer, t, s.ids_data.data(), {0, s.ids_data.size()}); !r) return r;
    for (int64_t i1 = 0; i1 < t.ne[1]; i1++) {
        for (int64_t i0 = 0; i0 < t.ne[0]; i0++) {
            int32_t id;
            std::copy_n(s.ids_data.data() + static_cast<size_t>(i1) * t.nb[1] +
                            static_cast<size_t>(i0) * t.nb[0],
                        sizeof id, reinterpret_cast<char*>(&id));
            if (id < 0 || id >= n_experts) {
                return fail(TENON_E_INVALID, "ids '%s': expert %d of %lld", ids.tensor->name, id,
                            static_cast<long long>(n_experts));
            }
            s.used_experts[static_cast<size_t>(id) / 32] |= 1u << (id % 32);
        }
    }
    return {};
}

}  // namespace

// False: this is no such copy, or somebody else reads it too, and the whole tensor has to go.
Result<bool> ggml_backend_sched::copy_experts(const Split& split, const Copy& copy) {
    const int32_t node = copy.readers == 1 ? routed_node(*this, split, copy) : -1;
    const ggml_tensor& weights = *image.items[copy.item].image;
    if (node < 0 || !weights.data || weights.ne[3] != 1) return false;
    // The ids of the application's graph: a copy of them may not have been made yet.
    const int32_t ids = image.find(image.node(static_cast<size_t>(node)).tensor->src[2]);
    if (ids < 0 || image.items[ids].tensor->type != GGML_TYPE_I32) return false;
    if (ids_known != image.items[ids].tensor) {
        ids_known = nullptr;
        if (auto r = mark_used(*this, image.items[ids], weights.ne[2]); !r) return r.error();
        ids_known = image.items[ids].tensor;
    }
    const auto used = [&](int64_t e) {
        return used_experts[static_cast<size_t>(e) / 32] >> (e % 32) & 1u;
    };
    const size_t stride = weights.nb[2];
    for (int64_t first = 0; first < weights.ne[2];) {
        if (!used(first)) {
            ++first;
            continue;
        }
        int64_t end = first + 1;
        while (end < weights.ne[2] && used(end)) ++end;
        const size_t offset = static_cast<size_t>(first) * stride;
        size_t size = static_cast<size_t>(end - first) * stride;
        if (end < weights.ne[2]) size += std::min(stride, kPaddingBytes);
        size = std::min(size, nbytes(weights) - offset);
        order.issue(copy.backend);
        ggml_backend_tensor_set_async(backends[copy.backend], copy.tensor,
                                      static_cast<const char*>(weights.data) + offset, offset,
                                      size);
        first = end;
    }
    return true;
}
