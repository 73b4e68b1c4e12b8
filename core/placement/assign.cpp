// Which backend runs each node. The order of the passes and their rules are those programs written
// to ggml expect: weights stay where they are, pins win, accelerators spread over what is left, the
// last backend takes the rest. One thing is ours: tensors that write into each other's memory stay
// together.

#include <bit>

#include "core/ops/recheck.h"
#include "core/placement/explain.h"
#include "core/placement/scheduler.h"

namespace tenon::placement {
namespace {

// Backend of the highest priority in a mask, -1 when it is empty.
int first_of(BackendMask mask) { return mask ? std::countr_zero(mask) : -1; }

bool ignores_weights(ggml_op op) {
    // Their weight-like sources (frequency factors, sinks) are tiny and must not decide.
    return op == GGML_OP_ROPE || op == GGML_OP_FLASH_ATTN_EXT;
}

class Assignment {
public:
    explicit Assignment(ggml_backend_sched& sched) : s_(sched), image_(sched.image) {}

    Result<void> run() {
        join_rings();
        if (auto r = anchor_all(); !r) return r;
        spread();
        fix_up();
        if (auto r = leftovers(); !r) return r;
        if (auto r = check(); !r) return r;
        explain();
        return {};
    }

private:
    Item& item(int32_t at) { return image_.items[at]; }
    bool may_run(const Item& x, int b) const { return x.ring_runs >> b & 1u; }

    // Gives an item, and everything that shares its memory, a backend. Pinned members keep theirs.
    void put(int32_t at, int b, Why why, int32_t about = -1) {
        int32_t i = at;
        do {
            Item& x = item(i);
            if (!x.pinned) {
                x.backend = static_cast<int8_t>(b);
                x.why = i == at ? why : x.root >= 0 ? Why::kOutput : Why::kNeighbour;
                x.about = i == at ? about : x.root >= 0 ? x.root : at;
            }
            i = x.ring;
        } while (i != at);
    }

    void join_rings();
    Result<void> anchor_all();
    Result<void> anchor(int32_t at);
    bool anchor_by_weights(int32_t at);
    void spread();
    void sweep(bool down, bool accelerators_only);
    void fix_up();
    int most_sources(const Item& x);
    void move_up(Item& x);
    Result<void> leftovers();
    void place_sources(size_t node, int b);
    Result<void> check();
    Error refused(const Item& x, const char* what, BackendMask mask) const;
    void explain();

    ggml_backend_sched& s_;
    Image& image_;
};

// Members of a ring run where all of them can. When no backend can run all, each is on its own
// again, and check() finds out whether the memory can be reached.
void Assignment::join_rings() {
    for (int32_t at = 0; at < static_cast<int32_t>(image_.items.size()); at++) {
        Item& x = item(at);
        if (x.ring == at) {
            x.ring_runs = x.runs;
            continue;
        }
        if (x.ring_runs) continue;  // done with an earlier member
        BackendMask all = s_.all_backends();
        for (int32_t i = at;;) {
            all &= item(i).runs;
            if ((i = item(i).ring) == at) break;
        }
        for (int32_t i = at, next; all && item(i).ring_runs == 0; i = next) {
            item(i).ring_runs = all;
            next = item(i).ring;
        }
        for (int32_t i = at, next; !all && item(i).ring != i; i = next) {
            next = item(i).ring;
            item(i).ring = i;
            item(i).ring_runs = item(i).runs;
        }
    }
    for (size_t i = 0; i < image_.items.size(); i++) {
        const Item& x = image_.items[i];
        if (!x.pinned) continue;
        for (int32_t at = x.ring; at != static_cast<int32_t>(i); at = item(at).ring) {
            Item& other = item(at);
            if (other.backend < 0 && (other.runs >> x.backend & 1u)) {
                other.backend = x.backend;
                other.why = Why::kOutput;
                other.about = static_cast<int32_t>(i);
            }
        }
    }
}

// ---- pass 1: what is given ----------------------------------------------------------------------

Result<void> Assignment::anchor_all() {
    for (size_t i = 0; i < image_.items.size(); i++) {
        if (image_.items[i].node >= 0) continue;
        if (auto r = anchor(static_cast<int32_t>(i)); !r) return r;
    }
    for (const int32_t at : image_.nodes) {
        if (auto r = anchor(at); !r) return r;
    }
    return {};
}

Result<void> Assignment::anchor(int32_t at) {
    Item& x = item(at);
    if (x.backend >= 0) return {};
    if (x.placed) {
        const BackendMask near = s_.accepting(x.placed);
        const int home = first_of(near & x.ring_runs);
        if (home < 0) {
            return refused(
                x,
                near ? "no backend that can use the memory runs the op" : "no backend can use it",
                near);
        }
        put(at, home, Why::kOutput, x.root);
        return {};
    }
    if (x.has_flag(GGML_TENSOR_FLAG_INPUT)) {  // the host writes it
        put(at, s_.last(), Why::kInput, at);
        return {};
    }
    if (x.node >= 0) anchor_by_weights(at);
    return {};
}

// A node runs where its first weight lies, unless another device asked for such nodes.
bool Assignment::anchor_by_weights(int32_t at) {
    const Item& x = item(at);
    if (ignores_weights(x.tensor->op)) return false;
    for (const Source& source : image_.sources_of(static_cast<size_t>(x.node))) {
        const Item& weight = item(source.item);
        if (!weight.weights) continue;
        const int home = first_of(s_.accepting(weight.placed) & x.ring_runs);
        if (home < 0) return false;
        if (s_.op_offload && home == s_.last() && weight.placed->is_host()) {
            for (int b = 0; b < home; b++) {
                if (may_run(x, b) &&
                    ggml_backend_dev_offload_op(s_.backends[b]->device, x.tensor)) {
                    put(at, b, Why::kCheaper, source.item);
                    return true;
                }
            }
        }
        put(at, home, Why::kWeights, source.item);
        return true;
    }
    return false;
}

// ---- pass 2: neighbours -------------------------------------------------------------------------

void Assignment::spread() {
    for (const bool accelerators_only : {true, false}) {
        sweep(/*down=*/true, accelerators_only);
        sweep(/*down=*/false, accelerators_only);
    }
}

void Assignment::sweep(bool down, bool accelerators_only) {
    const size_t n = image_.nodes.size();
    int current = -1;
    int32_t origin = -1;
    for (size_t k = 0; k < n; k++) {
        const int32_t at = image_.nodes[down ? k : n - 1 - k];
        const Item& x = item(at);
        if (x.is_view_op()) continue;
        if (x.backend >= 0) {
            current = accelerators_only && x.backend == s_.last() ? -1 : x.backend;
            origin = at;
        } else if (current >= 0 && may_run(x, current)) {
            put(at, current, Why::kNeighbour, origin);
            origin = at;
        }
    }
}

// ---- pass 3: where the operands are -------------------------------------------------------------

void Assignment::fix_up() {
    for (const int32_t at : image_.nodes) {
        Item& x = item(at);
        if (x.is_view_op() || x.pinned) continue;
        if (x.backend >= 0) {
            move_up(x);
        } else if (const int b = most_sources(x); b >= 0) {
            put(at, b, b == s_.last() ? Why::kFallback : Why::kNeighbour);
        }
    }
}

// Of the backends that run the node, the one that can use most of its sources where they are.
int Assignment::most_sources(const Item& x) {
    int best = -1, best_count = -1;
    for (int b = 0; b < s_.n; b++) {
        if (!may_run(x, b)) continue;
        int count = 0;
        for (const Source& source : image_.sources_of(static_cast<size_t>(x.node))) {
            count += s_.can_use(b, item(source.item));
        }
        if (count > best_count) {
            best = b;
            best_count = count;
        }
    }
    return best;
}

// A device that works in the same memory and comes earlier in the list costs nothing to move to.
void Assignment::move_up(Item& x) {
    for (int b = 0; b < x.backend; b++) {
        if (s_.bufts[b] != s_.bufts[x.backend] || !(x.runs >> b & 1u)) continue;
        bool reaches_all = !x.placed || s_.accepts(b, x.placed);
        for (const Source& source : image_.sources_of(static_cast<size_t>(x.node))) {
            reaches_all = reaches_all && s_.can_use(b, item(source.item));
        }
        if (!reaches_all) continue;
        x.backend = static_cast<int8_t>(b);
        if (x.why != Why::kWeights) x.why = Why::kCheaper;
        return;
    }
}

// ---- pass 4: the rest ---------------------------------------------------------------------------

Result<void> Assignment::leftovers() {
    for (size_t i = 0; i < image_.nodes.size(); i++) {
        const int32_t at = image_.nodes[i];
        if (item(at).is_view_op()) continue;
        if (item(at).backend < 0) {
            const int b = first_of(item(at).ring_runs);
            if (b < 0) return refused(item(at), "no backend runs the op", s_.all_backends());
            put(at, b, Why::kFallback);
        }
        place_sources(i, item(at).backend);
    }
    for (const int32_t at : image_.nodes) {  // views nobody computes with
        Item& x = item(at);
        if (x.backend >= 0) continue;
        if (x.root >= 0 && item(x.root).backend < 0) put(x.root, s_.last(), Why::kFallback);
        x.backend = x.root >= 0 ? item(x.root).backend : static_cast<int8_t>(s_.last());
    }
    for (Item& x : image_.items) {  // leafs nobody reads
        if (x.backend < 0)
            x.backend = static_cast<int8_t>(x.root >= 0 ? item(x.root).backend : s_.last());
        if (x.backend < 0) x.backend = static_cast<int8_t>(s_.last());
    }
    return {};
}

// Memory of sources that nothing has placed yet goes to their first reader.
void Assignment::place_sources(size_t node, int b) {
    for (const Source& source : image_.sources_of(node)) {
        Item& x = item(source.item);
        if (x.backend >= 0) continue;
        if (x.root >= 0 && item(x.root).backend < 0) put(x.root, b, Why::kNeighbour);
        if (x.backend >= 0) continue;  // it shares the memory of that root
        if (x.root >= 0) {
            x.backend = item(x.root).backend;
        } else {
            put(source.item, b, Why::kNeighbour);
        }
    }
}

// ---- what pins and shared memory can make impossible --------------------------------------------

Result<void> Assignment::check() {
    for (const int32_t at : image_.nodes) {
        const Item& x = item(at);
        if (x.is_view_op()) continue;
        if (!(x.runs >> x.backend & 1u)) {
            return refused(
                x,
                x.pinned ? "it is pinned to a backend that refuses it" : "its backend refuses it",
                1u << x.backend);
        }
        if (!s_.can_use(x.backend, x)) {
            const ggml_backend_buffer_type* type = s_.type_of(x);
            return fail(
                TENON_E_UNSUPPORTED,
                "node '%s' (%s) on %s writes into '%s', which lies in buffer type %s that %s "
                "cannot use",
                x.tensor->name, ggml_op_desc(x.tensor), ggml_backend_name(s_.backends[x.backend]),
                x.root >= 0 ? item(x.root).tensor->name : x.tensor->name,
                type ? type->name.c_str() : "none", ggml_backend_name(s_.backends[x.backend]));
        }
    }
    return {};
}

Error Assignment::refused(const Item& x, const char* what, BackendMask mask) const {
    char refusals[320];
    write_refusals(s_, x, mask & ~x.runs, refusals, sizeof refusals);
    const char* sep = refusals[0] ? ": " : "";
    if (x.placed) {
        return fail(TENON_E_UNSUPPORTED, "tensor '%s' (%s) lies in buffer type %s: %s%s%s",
                    x.tensor->name, ggml_op_desc(x.tensor), x.placed->name.c_str(), what, sep,
                    refusals);
    }
    return fail(TENON_E_UNSUPPORTED, "node '%s' (%s): %s%s%s", x.tensor->name,
                ggml_op_desc(x.tensor), what, sep, refusals);
}

// A choice that a refusal forced is told as the refusal: that is what the user can do something
// about.
void Assignment::explain() {
    for (const int32_t at : image_.nodes) {
        Item& x = item(at);
        if (x.is_view_op()) {
            if (!x.pinned) x.why = Why::kNeighbour;
            if (x.about < 0) x.about = x.root;
            continue;
        }
        if (x.why != Why::kNeighbour && x.why != Why::kFallback && x.why != Why::kNone) continue;
        const BackendMask preferred = (1u << x.backend) - 1;
        if (const int b = first_of(preferred & ~x.runs); b >= 0) {
            x.why = Why::kRefused;
            x.refused_by = static_cast<int8_t>(b);
        } else if (s_.n > 1 && std::popcount(x.runs) == 1) {
            x.why = Why::kOnly;
        }
    }
}

}  // namespace
}  // namespace tenon::placement

using namespace tenon;
using namespace tenon::placement;

// Asks every device once about all nodes that compute something. A node that breaks a rule is
// nobody's to compute.
Result<void> ggml_backend_sched::query() {
    queried.clear();
    query_index.assign(image.nodes.size(), -1);
    for (Item& x : image.items) x.runs = all_backends();
    for (size_t i = 0; i < image.nodes.size(); i++) {
        Item& x = image.node(i);
        if (x.is_view_op() || !x.has_flag(GGML_TENSOR_FLAG_COMPUTE)) continue;
        if (auto r = check_node(*x.tensor); !r) return r;
        query_index[i] = static_cast<int32_t>(queried.size());
        queried.push_back(x.tensor);
        x.runs = 0;
    }
    if (queried.empty()) return {};
    for (int b = 0; b < n; b++) {
        int same = 0;
        while (backends[same]->device != backends[b]->device) same++;
        std::vector<tenon_op_verdict>& answers = verdicts[same];
        if (same == b) {
            answers.assign(queried.size(), tenon_op_verdict{});
            auto r = query_ops(backends[b]->device, queried.data(), queried.size(), answers.data(),
                               /*want_cost=*/false);
            if (!r) return r;
        }
        for (size_t i = 0; i < image.nodes.size(); i++) {
            if (query_index[i] < 0) continue;
            const bool yes =
                answers[static_cast<size_t>(query_index[i])].support != TENON_SUPPORT_NO;
            image.node(i).runs |= static_cast<BackendMask>(yes) << b;
        }
    }
    return {};
}

Result<void> ggml_backend_sched::assign() { return Assignment(*this).run(); }

const tenon_op_verdict* ggml_backend_sched::verdict_of(int b, const Item& item) const {
    if (item.node < 0 || query_index[static_cast<size_t>(item.node)] < 0) return nullptr;
    int same = 0;
    while (backends[same]->device != backends[b]->device) same++;
    return &verdicts[same][static_cast<size_t>(query_index[static_cast<size_t>(item.node)])];
}
