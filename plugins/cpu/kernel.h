// What a CPU kernel is: which nodes it accepts, how much scratch it wants, and how one member of a
// team computes its share. Kernels see tensors, their task and the workspace; nothing else.
//
// Writing one: a file kernels/<stem>.cpp with supports() and run() in an unnamed namespace and one
// `extern constinit const Kernel kName{…}` at its end, declared and listed in kernels.cpp. What is
// no CPU's own business, verdicts, types, layout, rows, is the kit's (tenon/kit.h).
// - supports() answers from types, shapes, strides and parameters only: data may be NULL. run() is
//   only called for nodes that supports() accepted and whose result is not empty; sources may be.
// - run() is called once per member with distinct task.ith < task.nth. Without barrier(), members
//   run at different speeds. Results must not depend on nth.
// - No allocation, no locks, no globals. Scratch comes from workspace().
// - A kernel whose rows (or elements) can be computed some at a time says so with by_rows(),
//   by_elements() or with(Parts): nodes of such kernels that follow each other are computed
//   together (fuse.h). Its workspace is one part of workspace(node, 1) bytes per member.
// - Loops over elements use the words of simd/simd.h and simd/vmath.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "tenon/kit/layout.h"
#include "tenon/kit/rows.h"
#include "tenon/kit/types.h"
#include "tenon/kit/verdict.h"

namespace tenon::cpu {

using kit::element;
using kit::has_dense_rows;
using kit::is_contiguous;
using kit::is_float_type;
using kit::is_row_matrix;
using kit::no;
using kit::params_of;
using kit::row;
using kit::row_bytes;
using kit::type_size;
using kit::TypeSize;
using kit::Verdict;
using kit::with_float_type;
using kit::yes;

// What the members of a team share while one node runs.
struct Shared {
    static constexpr int kCounters = 4;
    std::atomic<int64_t> next[kCounters] = {};  // chunk counters, zero when the node starts
    std::atomic<int32_t> failed = 0;            // first failing status (tenon_status), 0 = none
    uint32_t failed_node = 0;                   // its index in the graph
    const char* failure = nullptr;              // static text of it
    int64_t bad_index = 0, index_limit = 0;  // of an index that is not in [0, limit); limit 0: none
};

class Barrier;

// The part of a node to compute where nodes are computed together, some rows at a time (fuse.h).
struct Window {
    int64_t units = 0;            // equal runs of rows that the node has; 0: no window
    int64_t first = 0, last = 0;  // of them, [first, last) are computed
    int64_t begin = 0, end = 0;   // columns, of nodes computed element by element
};

// One member's part in computing one node. Every member calls run() with its own Task.
struct Task {
    int32_t ith = 0;            // this member, 0 … nth-1
    int32_t nth = 1;            // members that compute this node
    void* workspace = nullptr;  // the same for all members, 64-byte aligned
    size_t workspace_size = 0;  // bytes, at least what the kernel's workspace() asked for
    Shared* shared = nullptr;
    Barrier* team_barrier = nullptr;
    bool reference = false;  // no alternative fast paths
    uint32_t node = 0;       // its index in the graph
    Window window;

    // All members wait for each other; nothing when nth is 1. Every member must come here equally
    // often. What was written before is visible after.
    void barrier() const;

    // The next chunk of `counter` (0 … kCounters-1), 0 … : each number goes to one member only.
    int64_t next_chunk(int counter = 0) const {
        return shared->next[counter].fetch_add(1, std::memory_order_relaxed);
    }

    // Data made the node impossible (an index out of range): the run ends with this text. The
    // member goes on as if nothing had happened, barriers included.
    void fail(tenon_status status, const char* static_text) const {
        int32_t none = 0;
        if (!shared->failed.compare_exchange_strong(none, status)) return;
        shared->failed_node = node;
        shared->failure = static_text;
    }

    // The same for an index found in data that is not in [0, limit): the text gets both numbers.
    void fail_index(const char* static_text, int64_t index, int64_t limit) const {
        int32_t none = 0;
        if (!shared->failed.compare_exchange_strong(none, TENON_E_INVALID)) return;
        shared->failed_node = node;
        shared->failure = static_text;
        shared->bad_index = index;
        shared->index_limit = limit;
    }
};

// Whether, and how, a part of a node can be computed on its own.
struct Parts {
    enum Kind : uint8_t {
        kNone,
        kRows,      // run() goes through the rows with for_each_row()
        kElements,  // … with for_each_piece(), and element i needs element i of the sources below
    };
    Kind kind = kNone;
    // Sources (bit k: src[k]) of which row r of the result needs row r and no other. The rest is
    // read anywhere.
    uint8_t sources = 0;
    // The same, one dimension lower: src[k] has at [i1, i2] what the result needs at [., i1, i2].
    uint8_t lower_sources = 0;
    int8_t dim = 1;        // parts are whole slices of the dimensions below this one
    bool of_src0 = false;  // the rows are those of src[0], the result is written anywhere
};

struct Kernel {
    Verdict (*supports)(const ggml_tensor& node);
    void (*run)(const Task& task, const ggml_tensor& node);
    // Scratch bytes for this node on n threads, grows with n; NULL: none. From shapes and types
    // only.
    size_t (*workspace)(const ggml_tensor& node, int n_threads) = nullptr;
    // How many times longer the node takes than its work (tenon/work.h) at the rates of rates.h,
    // where that is known: a number without a unit. NULL: 1.
    double (*slowness)(const ggml_tensor& node) = nullptr;
    // Members that can take part, of n; NULL: all.
    int (*members)(const ggml_tensor& node, int n_threads) = nullptr;
    Parts parts = {};  // kNone: never computed in parts

    constexpr Kernel by_elements() const { return with({Parts::kElements, 0b11}); }
    constexpr Kernel by_rows() const { return with({Parts::kRows, 0b1}); }
    constexpr Kernel with(Parts p) const {
        Kernel kernel = *this;
        kernel.parts = p;
        return kernel;
    }
};

// The kernel for a node: kernels.cpp. NULL: nobody, *why has the last refusal.
const Kernel* find_kernel(const ggml_tensor& node, Verdict* why = nullptr);

// The answer to a query about a node, run on up to n threads.
void judge(const ggml_tensor& node, int n_threads, bool support_only, tenon_op_verdict& out);

// Estimated time on one thread; decides whether the node is worth more than one, and goes into the
// verdict.
double cost_ns(const Kernel& kernel, const ggml_tensor& node);

// Of kernels that write quantized blocks: what the best scale costs to find.
constexpr double kEncodingSlowness = 4;

// ---- sharing work -----------------------------------------------------------------------------

// This member's contiguous share [begin, end) of n items, or the window's.
struct Range {
    int64_t begin, end;
};
inline Range share(const Task& task, int64_t n) {
    if (const Window& w = task.window; w.units) {
        return {n / w.units * w.first, n / w.units * w.last};
    }
    const int64_t per = (n + task.nth - 1) / task.nth;
    const int64_t begin = std::min(per * task.ith, n);
    return {begin, std::min(begin + per, n)};
}

// fn(i1, i2, i3) for this member's share of the rows of `t`.
template <class Fn>
void for_each_row(const Task& task, const ggml_tensor& t, Fn&& fn) {
    const Range r = share(task, tenon_nrows(&t));
    kit::for_rows(t, r.begin, r.end, fn);
}

// fn(begin, end, i1, i2, i3): like for_each_row, but a tensor with few, long rows is cut inside the
// rows too. For element-wise work; pieces are whole cache lines of f32.
template <class Fn>
void for_each_piece(const Task& task, const ggml_tensor& t, Fn&& fn) {
    const int64_t n0 = t.ne[0], n_rows = tenon_nrows(&t);
    if (const Window& w = task.window; w.units) {
        const int64_t begin = std::min(w.begin, n0), end = std::min(w.end, n0);
        for_each_row(task, t,
                     [&](int64_t i1, int64_t i2, int64_t i3) { fn(begin, end, i1, i2, i3); });
        return;
    }
    if (n_rows >= 4 * task.nth || n0 < 1024) {
        for_each_row(task, t,
                     [&](int64_t i1, int64_t i2, int64_t i3) { fn(int64_t{0}, n0, i1, i2, i3); });
        return;
    }
    const int64_t n1 = t.ne[1], n2 = t.ne[2];
    const int64_t per = (n0 + task.nth - 1) / task.nth;
    const int64_t size = (per + 63) / 64 * 64;
    const int64_t begin = std::min(size * task.ith, n0), end = std::min(begin + size, n0);
    if (begin >= end) return;
    for (int64_t i = 0; i < n_rows; ++i) fn(begin, end, i % n1, i / n1 % n2, i / (n1 * n2));
}

// fn(begin, end) for chunks of `size` items of n, handed out as members become free. Uses `counter`
// of the task, which starts at 0 once per node.
template <class Fn>
void for_each_chunk(const Task& task, int64_t n, int64_t size, Fn&& fn, int counter = 0) {
    if (task.nth == 1) {
        if (n > 0) fn(int64_t{0}, n);
        return;
    }
    const int64_t n_chunks = (n + size - 1) / size;
    for (int64_t c = task.next_chunk(counter); c < n_chunks; c = task.next_chunk(counter)) {
        fn(c * size, std::min(c * size + size, n));
    }
}

}  // namespace tenon::cpu
