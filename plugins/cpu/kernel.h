// What a CPU kernel is: which nodes it accepts, how much scratch it wants, and how one member of a
// team computes its share. Kernels see tensors, their task and the workspace; nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "tenon/op_params.h"
#include "tenon/plugin.h"
#include "tenon/tensor.h"

namespace tenon::cpu {

// Answer to "does this kernel compute this node?". A refusal names its reason (TENON_REASON_*) and
// completes "because …" with a static text.
struct Verdict {
    uint32_t reason = TENON_REASON_NONE;
    const char* detail = nullptr;
    explicit constexpr operator bool() const { return reason == TENON_REASON_NONE; }
};
constexpr Verdict yes() { return {}; }
constexpr Verdict no(uint32_t reason, const char* detail) { return {reason, detail}; }

// What the members of a team share while one node runs.
struct Shared {
    static constexpr int kCounters = 4;
    std::atomic<int64_t> next[kCounters];  // chunk counters, zero when the node starts
    std::atomic<int32_t> failed;           // first failing status (tenon_status), 0 = none
    const char* failure;                   // static text of it
};

class Barrier;

// One member's part in computing one node. Every member calls run() with its own Task.
struct Task {
    int32_t ith = 0;  // this member, 0 … nth-1
    int32_t nth = 1;  // members that compute this node
    void* workspace = nullptr;      // the same for all members, 64-byte aligned
    size_t workspace_size = 0;      // bytes
    Shared* shared = nullptr;
    Barrier* team_barrier = nullptr;
    bool reference = false;         // no alternative fast paths

    void barrier() const;           // all members wait for each other; nothing when nth is 1

    // The next chunk of `counter` (0 … kCounters-1), 0 … : each number goes to one member only.
    int64_t next_chunk(int counter = 0) const {
        return shared->next[counter].fetch_add(1, std::memory_order_relaxed);
    }

    // Data made the node impossible (an index out of range): the run ends with this text.
    void fail(tenon_status status, const char* static_text) const {
        int32_t none = 0;
        if (shared->failed.compare_exchange_strong(none, status)) shared->failure = static_text;
    }
};

struct Kernel {
    ggml_op op;
    Verdict (*supports)(const ggml_tensor& node);
    void (*run)(const Task& task, const ggml_tensor& node);
    // Scratch bytes for this node on n threads; NULL: none. May depend on shapes and types only.
    size_t (*workspace)(const ggml_tensor& node, int n_threads) = nullptr;
};

// Best first; for one op the first that says yes wins. NULL: nobody, *why has the last refusal.
const Kernel* find_kernel(const ggml_tensor& node, Verdict* why = nullptr);

// ---- access to rows ---------------------------------------------------------------------------

template <class T>
T* row(const ggml_tensor& t, int64_t i1, int64_t i2 = 0, int64_t i3 = 0) {
    return reinterpret_cast<T*>(static_cast<char*>(t.data) + i1 * t.nb[1] + i2 * t.nb[2] +
                                i3 * t.nb[3]);
}

template <class Params>
Params params_of(const ggml_tensor& node) {
    static_assert(sizeof(Params) <= GGML_MAX_OP_PARAMS);
    Params p;
    std::memcpy(&p, node.op_params, sizeof p);
    return p;
}

// This member's contiguous share [begin, end) of n items.
struct Range {
    int64_t begin, end;
};
inline Range share(const Task& task, int64_t n) {
    const int64_t per = (n + task.nth - 1) / task.nth;
    const int64_t begin = per * task.ith < n ? per * task.ith : n;
    return {begin, begin + per < n ? begin + per : n};
}

// fn(i1, i2, i3) for this member's share of the rows of `t`.
template <class Fn>
void for_each_row(const Task& task, const ggml_tensor& t, Fn&& fn) {
    const int64_t n1 = t.ne[1], n2 = t.ne[2];
    const Range r = share(task, n1 * n2 * t.ne[3]);
    for (int64_t i = r.begin; i < r.end; ++i) fn(i % n1, i / n1 % n2, i / (n1 * n2));
}

}  // namespace tenon::cpu
