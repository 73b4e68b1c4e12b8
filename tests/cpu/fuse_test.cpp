// Nodes that are computed together: which they are, and that nobody can tell from the results.

#include "plugins/cpu/fuse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <thread>

#include "plugins/cpu/graph_run.h"
#include "tenon/ext/threads.h"
#include "tests/support/emulated.h"

namespace tenon::cpu {
namespace {

using Extents = std::array<int64_t, 4>;

// A graph over one piece of memory, built by hand: kernels need no more than types, shapes,
// strides, parameters and addresses.
class Graph {
public:
    explicit Graph(size_t bytes = 1 << 22) : memory_(bytes) {}

    ggml_tensor* leaf(ggml_type type, Extents ne, void* data = nullptr) {
        return add(GGML_OP_NONE, type, ne, {}, data);
    }
    ggml_tensor* node(ggml_op op, ggml_type type, Extents ne, std::vector<ggml_tensor*> sources,
                      void* data = nullptr) {
        ggml_tensor* t = add(op, type, ne, sources, data);
        nodes.push_back(t);
        uses.push_back(0);
        for (ggml_tensor* src : sources) count_use(src);
        return t;
    }
    // A view with these strides; not a node, as plugins see none.
    ggml_tensor* view(ggml_tensor* of, Extents ne, std::array<size_t, 3> nb, size_t offset = 0) {
        ggml_tensor* t =
            add(GGML_OP_VIEW, of->type, ne, {of}, static_cast<char*>(of->data) + offset);
        std::copy(nb.begin(), nb.end(), t->nb + 1);
        t->view_src = of->view_src ? of->view_src : of;
        t->view_offs = offset + (of->view_src ? of->view_offs : 0);
        count_use(of);
        return t;
    }
    ggml_tensor* reshape(ggml_tensor* of, Extents ne) {
        const size_t row = row_bytes(of->type, ne[0]);
        const size_t plane = row * static_cast<size_t>(ne[1]);
        return view(of, ne, {row, plane, plane * static_cast<size_t>(ne[2])});
    }
    // Common nodes.
    ggml_tensor* binary(ggml_op op, ggml_tensor* a, ggml_tensor* b, void* data = nullptr) {
        return node(op, a->type, {a->ne[0], a->ne[1], a->ne[2], a->ne[3]}, {a, b}, data);
    }
    ggml_tensor* unary(ggml_unary_op op, ggml_tensor* a, void* data = nullptr) {
        ggml_tensor* t =
            node(GGML_OP_UNARY, a->type, {a->ne[0], a->ne[1], a->ne[2], a->ne[3]}, {a}, data);
        t->op_params[0] = op;
        return t;
    }
    ggml_tensor* rms_norm(ggml_tensor* a, void* data = nullptr) {
        ggml_tensor* t =
            node(GGML_OP_RMS_NORM, a->type, {a->ne[0], a->ne[1], a->ne[2], a->ne[3]}, {a}, data);
        const tenon_rms_norm_params p{1e-5f};
        std::memcpy(t->op_params, &p, sizeof p);
        return t;
    }

    tenon_graph_view graph_view() const {
        tenon_graph_view g{};
        g.struct_size = sizeof g;
        g.n_nodes = static_cast<uint32_t>(nodes.size());
        g.nodes = nodes.data();
        g.use_counts = uses.data();
        return g;
    }
    void* take(size_t bytes) {
        void* p = memory_.data() + used_;
        used_ += (bytes + 63) / 64 * 64;
        EXPECT_LE(used_, memory_.size());
        return p;
    }
    void fill(uint64_t seed) {
        std::mt19937_64 random(seed);
        for (size_t i = 0; i < memory_.size(); i += sizeof(float)) {
            const float x = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
            std::memcpy(memory_.data() + i, &x, sizeof x);
        }
    }
    std::vector<char>& memory() { return memory_; }
    // Whether a later node has its result in the memory of node i.
    bool is_overwritten(size_t i) const {
        const auto begin = [](const ggml_tensor& t) { return static_cast<const char*>(t.data); };
        const auto end = [&](const ggml_tensor& t) { return begin(t) + t.nb[3] * t.ne[3]; };
        return std::any_of(nodes.begin() + i + 1, nodes.end(), [&](const ggml_tensor* later) {
            return begin(*later) < end(*nodes[i]) && begin(*nodes[i]) < end(*later);
        });
    }

    std::vector<ggml_tensor*> nodes;
    std::vector<int32_t> uses;

private:
    ggml_tensor* add(ggml_op op, ggml_type type, Extents ne, std::vector<ggml_tensor*> sources,
                     void* data = nullptr) {
        ggml_tensor& t = tensors_.emplace_back();
        t.op = op;
        t.type = type;
        std::copy(ne.begin(), ne.end(), t.ne);
        t.nb[0] = type_size(type).bytes;
        t.nb[1] = row_bytes(type, ne[0]);
        for (int k = 2; k < 4; ++k) t.nb[k] = t.nb[k - 1] * static_cast<size_t>(t.ne[k - 1]);
        std::copy(sources.begin(), sources.end(), t.src);
        t.data = data ? data : take(t.nb[3] * static_cast<size_t>(t.ne[3]));
        return &t;
    }
    void count_use(ggml_tensor* t) {
        for (size_t i = 0; i < nodes.size(); ++i) uses[i] += nodes[i] == t;
    }

    std::deque<ggml_tensor> tensors_;
    std::vector<char> memory_;
    size_t used_ = 0;
};

std::vector<Step> steps_of(const Graph& g) {
    std::vector<Step> steps;
    for (uint32_t i = 0; i < g.nodes.size(); ++i) {
        Verdict why;
        steps.push_back({i, find_kernel(*g.nodes[i], &why)});
        EXPECT_NE(steps.back().kernel, nullptr) << i << ": " << why.detail;
    }
    return steps;
}
FusedGroup group_of(const Graph& g, FuseLimits limits = {2, /*small=*/true}) {
    FusedGroup group;
    if (fuse(g.graph_view(), steps_of(g), limits, group) < 2) group.n = 0;
    return group;
}

// ---- which -------------------------------------------------------------------------------------

TEST(Fuse, TakesANormWithItsWeightAndBias) {
    Graph g;
    ggml_tensor* norm = g.rms_norm(g.leaf(GGML_TYPE_F32, {65, 7, 1, 1}));
    ggml_tensor* scaled = g.binary(GGML_OP_MUL, norm, g.leaf(GGML_TYPE_F32, {65, 1, 1, 1}));
    g.binary(GGML_OP_ADD, scaled, g.leaf(GGML_TYPE_F32, {65, 1, 1, 1}));
    const FusedGroup group = group_of(g);
    EXPECT_EQ(group.n, 3u);
    EXPECT_EQ(group.units, 7);
    EXPECT_TRUE(group.nodes[0].is_temporary && group.nodes[1].is_temporary);
    EXPECT_FALSE(group.nodes[2].is_temporary);
}

TEST(Fuse, TakesActivationsWithProductsAndCutsLongRowsOfThem) {
    Graph g;
    ggml_tensor* silu = g.unary(GGML_UNARY_OP_SILU, g.leaf(GGML_TYPE_F32, {1000, 2, 1, 1}));
    g.binary(GGML_OP_MUL, g.leaf(GGML_TYPE_F32, {1000, 2, 1, 1}), silu);
    const FusedGroup group = group_of(g);
    EXPECT_EQ(group.n, 2u);
    EXPECT_EQ(group.n_columns, 1000);
    EXPECT_EQ(group.blocks(), 2 * 16);
}

TEST(Fuse, TakesRopeWithTheRowsItIsStoredIn) {
    Graph g;
    constexpr int64_t kHead = 32, kHeads = 4, kTokens = 5;
    ggml_tensor* rope = g.node(GGML_OP_ROPE, GGML_TYPE_F32, {kHead, kHeads, kTokens, 1},
                               {g.leaf(GGML_TYPE_F32, {kHead, kHeads, kTokens, 1}),
                                g.leaf(GGML_TYPE_I32, {kTokens, 1, 1, 1})});
    tenon_rope_params p{};
    p.n_dims = kHead;
    p.freq_base = 10000;
    p.freq_scale = p.attn_factor = 1;
    std::memcpy(rope->op_params, &p, sizeof p);
    ggml_tensor* rows = g.reshape(rope, {kHead * kHeads, kTokens, 1, 1});
    ggml_tensor* cache = g.leaf(GGML_TYPE_F16, {kHead * kHeads, 20, 1, 1});
    ggml_tensor* set =
        g.node(GGML_OP_SET_ROWS, GGML_TYPE_F16, {kHead * kHeads, 20, 1, 1},
               {rows, g.leaf(GGML_TYPE_I64, {kTokens, 1, 1, 1}), cache}, cache->data);
    set->view_src = cache;
    const FusedGroup group = group_of(g);
    EXPECT_EQ(group.n, 2u);
    EXPECT_EQ(group.units, kTokens);
}

// soft_max, the best of it, their weights, divided by their sum.
void add_routing(Graph& g, int64_t experts, int64_t used, int64_t tokens) {
    ggml_tensor* logits = g.leaf(GGML_TYPE_F32, {experts, tokens, 1, 1});
    ggml_tensor* probs = g.node(GGML_OP_SOFT_MAX, GGML_TYPE_F32, {experts, tokens, 1, 1}, {logits});
    const tenon_soft_max_params p{1.0f, 0.0f};
    std::memcpy(probs->op_params, &p, sizeof p);
    ggml_tensor* order = g.node(GGML_OP_ARGSORT, GGML_TYPE_I32, {experts, tokens, 1, 1}, {probs});
    order->op_params[0] = GGML_SORT_ORDER_DESC;
    ggml_tensor* best =
        g.view(order, {used, tokens, 1, 1}, {order->nb[1], order->nb[2], order->nb[3]});
    ggml_tensor* weights = g.node(GGML_OP_GET_ROWS, GGML_TYPE_F32, {1, used, tokens, 1},
                                  {g.reshape(probs, {1, experts, tokens, 1}), best});
    ggml_tensor* flat = g.reshape(weights, {used, tokens, 1, 1});
    ggml_tensor* sum = g.node(GGML_OP_SUM_ROWS, GGML_TYPE_F32, {1, tokens, 1, 1}, {flat});
    g.binary(GGML_OP_DIV, flat, sum, flat->data);
}

TEST(Fuse, TakesTheRoutingOfTokensToExperts) {
    Graph g;
    add_routing(g, 16, 3, 9);
    const FusedGroup group = group_of(g);
    EXPECT_EQ(group.n, 5u);
    EXPECT_EQ(group.units, 9);
}

TEST(Fuse, LeavesNodesApartThatDoNotGoRowByRow) {
    Graph g;  // b is read by every row of the second sum
    ggml_tensor* b = g.unary(GGML_UNARY_OP_NEG, g.leaf(GGML_TYPE_F32, {64, 1, 1, 1}));
    g.binary(GGML_OP_ADD, g.leaf(GGML_TYPE_F32, {64, 8, 1, 1}), b);
    EXPECT_EQ(group_of(g).n, 0u);

    Graph unrelated;
    unrelated.unary(GGML_UNARY_OP_NEG, unrelated.leaf(GGML_TYPE_F32, {64, 8, 1, 1}));
    unrelated.unary(GGML_UNARY_OP_NEG, unrelated.leaf(GGML_TYPE_F32, {64, 8, 1, 1}));
    EXPECT_EQ(group_of(unrelated).n, 0u);

    Graph transposed;  // row i reads column i
    ggml_tensor* a =
        transposed.unary(GGML_UNARY_OP_NEG, transposed.leaf(GGML_TYPE_F32, {8, 8, 1, 1}));
    ggml_tensor* t = transposed.view(a, {8, 8, 1, 1}, {4, 256, 256});
    t->nb[0] = 32;
    transposed.binary(GGML_OP_ADD, transposed.leaf(GGML_TYPE_F32, {8, 8, 1, 1}), t);
    EXPECT_EQ(group_of(transposed).n, 0u);

    Graph looked_up;  // ids decide which row is read
    ggml_tensor* table =
        looked_up.unary(GGML_UNARY_OP_NEG, looked_up.leaf(GGML_TYPE_F32, {8, 8, 1, 1}));
    looked_up.node(GGML_OP_GET_ROWS, GGML_TYPE_F32, {8, 8, 1, 1},
                   {table, looked_up.leaf(GGML_TYPE_I32, {8, 1, 1, 1})});
    EXPECT_EQ(group_of(looked_up).n, 0u);
}

TEST(Fuse, KeepsWhatOthersSee) {
    const auto temporary = [](int32_t uses) {
        Graph g;
        ggml_tensor* norm = g.rms_norm(g.leaf(GGML_TYPE_F32, {65, 7, 1, 1}));
        g.binary(GGML_OP_MUL, norm, g.leaf(GGML_TYPE_F32, {65, 1, 1, 1}));
        g.uses[0] = uses;
        const FusedGroup group = group_of(g);
        EXPECT_EQ(group.n, 2u);
        return group.nodes[0].is_temporary;
    };
    EXPECT_TRUE(temporary(1));
    EXPECT_FALSE(temporary(2));   // somebody behind the group
    EXPECT_FALSE(temporary(-1));  // somebody outside of the graph
}

TEST(Fuse, IsNotWorthItForFewRowsOrLittleWork) {
    Graph g;
    ggml_tensor* norm = g.rms_norm(g.leaf(GGML_TYPE_F32, {64, 64, 1, 1}));
    g.binary(GGML_OP_MUL, norm, g.leaf(GGML_TYPE_F32, {64, 1, 1, 1}));
    EXPECT_EQ(group_of(g, {2, false}).n, 0u);

    Graph wide;
    norm = wide.rms_norm(wide.leaf(GGML_TYPE_F32, {100000, 1, 1, 1}));
    wide.binary(GGML_OP_MUL, norm, wide.leaf(GGML_TYPE_F32, {100000, 1, 1, 1}));
    EXPECT_EQ(group_of(wide, {2, false}).n, 0u);

    Graph large;
    norm = large.rms_norm(large.leaf(GGML_TYPE_F32, {1024, 100, 1, 1}));
    large.binary(GGML_OP_MUL, norm, large.leaf(GGML_TYPE_F32, {1024, 1, 1, 1}));
    EXPECT_EQ(group_of(large, {2, false}).n, 2u);
}

// ---- nobody can tell ---------------------------------------------------------------------------

tenon_status run_on_threads(tenon_team* team, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
    const uint32_t n = *reinterpret_cast<uint32_t*>(team);
    std::vector<std::thread> workers;
    for (uint32_t i = 1; i < n; ++i) workers.emplace_back(fn, arg, i, n);
    fn(arg, 0, n);
    for (std::thread& worker : workers) worker.join();
    return TENON_OK;
}

void run(Graph& g, bool fusion, uint32_t n_threads) {
    tenon_host host{};
    host.struct_size = sizeof host;
    const tenon_ext_host_threads threads{sizeof threads, 0,      nullptr, nullptr, nullptr,
                                         run_on_threads, nullptr};
    GraphRunner runner(&host, &threads, {/*always_team=*/true, fusion});
    std::vector<char> workspace(1 << 20);
    tenon_run_params params{};
    params.struct_size = sizeof params;
    params.workspace = workspace.data();
    params.workspace_size = workspace.size();
    params.team = reinterpret_cast<tenon_team*>(&n_threads);
    params.n_threads = n_threads;
    tenon_error error{};
    error.struct_size = sizeof error;
    const tenon_graph_view view = g.graph_view();
    ASSERT_EQ(runner.run(view, params, &error), TENON_OK) << error.message;
}

// The results that are still there at the end, of a run with and one without fusion.
void expect_same_results(Graph& g, const std::string& what) {
    g.fill(7);
    const std::vector<char> start = g.memory();
    run(g, /*fusion=*/false, 1);
    const std::vector<char> want = g.memory();
    for (const uint32_t n_threads : {1u, 3u}) {
        std::copy(start.begin(), start.end(), g.memory().begin());
        run(g, /*fusion=*/true, n_threads);
        for (size_t i = 0; i < g.nodes.size(); ++i) {
            const ggml_tensor& t = *g.nodes[i];
            const size_t bytes = t.nb[3] * static_cast<size_t>(t.ne[3]);
            if (g.uses[i] > 0 || g.is_overwritten(i)) continue;
            const auto at = static_cast<size_t>(static_cast<char*>(t.data) - g.memory().data());
            ASSERT_EQ(std::memcmp(want.data() + at, g.memory().data() + at, bytes), 0)
                << what << ": node " << i << " with " << n_threads << " threads";
        }
    }
}

// A chain of random nodes. Results lie in memory of their own, on a source, or where an earlier
// tensor was that nobody reads any more, shifted.
void random_chain(Graph& g, std::mt19937_64& random) {
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    Extents ne = {1 + below(200), 1 + below(9), 1 + below(3), 1 + below(2)};
    if (below(3) == 0) ne[2] = ne[1];
    ggml_tensor* x = g.leaf(GGML_TYPE_F32, ne);
    const size_t bytes = x->nb[3] * static_cast<size_t>(x->ne[3]);
    auto* dead = static_cast<char*>(g.take(2 * bytes));
    bool is_dead = false;  // a node wrote there
    std::vector<ggml_tensor*> earlier = {x};
    const int64_t length = 2 + below(6);
    for (int64_t i = 0; i < length; ++i) {
        ggml_tensor* other = earlier[static_cast<size_t>(below(earlier.size()))];
        char* data = nullptr;
        switch (below(5)) {
            case 0:
                data = static_cast<char*>(x->data);
                break;
            case 1:
                data = dead;
                break;
            case 2:
                data = dead + below(ne[1]) * static_cast<int64_t>(x->nb[1]);
                break;
            default:
                break;
        }
        // A result may lie on a source, but not askew.
        for (const ggml_tensor* src : {x, other}) {
            const auto* at = static_cast<const char*>(src->data);
            if (data != at && data < at + bytes && at < data + bytes) data = nullptr;
        }
        const bool apart = data < dead || data >= dead + 2 * bytes;
        const bool x_apart = x->data < dead || x->data >= dead + 2 * bytes;
        switch (below(8)) {
            case 0:
                x = g.rms_norm(x, data);
                break;
            case 6: {  // repeated for every slice, where a later result may lie
                ggml_tensor* repeated =
                    g.leaf(GGML_TYPE_F32, {ne[0], ne[1], 1, 1}, is_dead ? nullptr : dead);
                x = g.binary(GGML_OP_MUL, x, repeated, apart ? data : nullptr);
                break;
            }
            case 7:  // a row of every slice, to the side
                g.unary(GGML_UNARY_OP_NEG,
                        g.view(x, {ne[0], ne[2], 1, 1}, {x->nb[2], x->nb[3], x->nb[3]}),
                        x_apart ? dead : nullptr);
                is_dead = is_dead || x_apart;
                continue;
            case 1:
                x = g.unary(GGML_UNARY_OP_SILU, x, data);
                break;
            case 2:
                x = g.binary(GGML_OP_MUL, x, g.leaf(GGML_TYPE_F32, {ne[0], 1, 1, 1}), data);
                break;
            case 3:
                x = g.binary(GGML_OP_ADD, x, g.leaf(GGML_TYPE_F32, ne), data);
                break;
            case 4:
                x = g.binary(GGML_OP_ADD, x, other, data);
                break;
            default:
                x = g.binary(GGML_OP_SUB, other, x, data);
                break;
        }
        earlier.push_back(x);
        is_dead = is_dead || (x->data >= dead && x->data < dead + 2 * bytes);
    }
    if (below(3) == 0) g.uses[static_cast<size_t>(below(g.uses.size()))] = -1;
}

TEST(Fuse, RandomChainsGiveTheSameBytes) {
    std::mt19937_64 random(20260);
    const int chains = test::kEmulated ? 60 : 600;
    int fused = 0;
    for (int i = 0; i < chains; ++i) {
        Graph g(1 << 21);
        random_chain(g, random);
        fused += group_of(g).n > 1;
        expect_same_results(g, "chain " + std::to_string(i));
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(fused, chains / 6);
}

TEST(Fuse, WhatNobodyReadsIsWritten) {
    Graph g;
    ggml_tensor* x = g.leaf(GGML_TYPE_F32, {64, 12, 1, 1});
    ggml_tensor* t = g.unary(GGML_UNARY_OP_RELU, x);
    g.unary(GGML_UNARY_OP_NEG, t);
    g.binary(GGML_OP_ADD, t, x);
    const FusedGroup group = group_of(g);
    ASSERT_EQ(group.n, 3u);
    EXPECT_FALSE(group.nodes[1].is_temporary);
    expect_same_results(g, "a result without readers");
}

// Row r of `repeated` is read for all slices, though it has as many rows as there are slices: a
// result that takes its place slice by slice would come too early.
TEST(Fuse, ARepeatedSourceIsReadToTheEndBeforeItIsOverwritten) {
    Graph g;
    ggml_tensor* repeated = g.leaf(GGML_TYPE_F32, {64, 8, 1, 1});
    ggml_tensor* sum = g.binary(GGML_OP_ADD, g.leaf(GGML_TYPE_F32, {64, 8, 8, 1}), repeated);
    ggml_tensor* first_rows = g.view(sum, {64, 8, 1, 1}, {sum->nb[2], sum->nb[3], sum->nb[3]});
    g.unary(GGML_UNARY_OP_NEG, first_rows, repeated->data);
    g.uses[0] = -1;
    ASSERT_EQ(group_of(g).n, 2u);
    expect_same_results(g, "a repeated source");
}

TEST(Fuse, RoutingGivesTheSameBytes) {
    for (const int64_t tokens : {2, 9, 64}) {
        Graph g;
        add_routing(g, 16, 3, tokens);
        g.uses[1] = -1;  // the order is what the experts are chosen by
        expect_same_results(g, std::to_string(tokens) + " tokens");
    }
}

// Where the parts of the scratch were that a kernel was given, by member.
struct Part {
    int32_t member;
    uintptr_t begin, end;
};
std::vector<Part> parts;
template <size_t bytes>
void remember_scratch(const Task& task, const ggml_tensor&) {
    const auto begin =
        reinterpret_cast<uintptr_t>(task.workspace) + bytes * static_cast<size_t>(task.ith);
    parts.push_back({task.ith, begin, begin + bytes});
}
template <size_t bytes>
constexpr Kernel kScratchKernel{nullptr, remember_scratch<bytes>};

TEST(Fuse, MembersAtDifferentNodesHaveScratchOfTheirOwn) {
    Graph g;
    ggml_tensor* x = g.leaf(GGML_TYPE_F32, {8, 12, 1, 1});
    for (int i = 0; i < 3; ++i) x = g.unary(GGML_UNARY_OP_NEG, x);
    FusedGroup group = group_of(g);
    ASSERT_EQ(group.n, 3u);
    const Kernel* kernels[] = {&kScratchKernel<64>, &kScratchKernel<448>, &kScratchKernel<192>};
    const size_t bytes[] = {64, 448, 192};
    for (int i = 0; i < 3; ++i) {
        group.nodes[i].kernel = kernels[i];
        group.nodes[i].scratch = bytes[i];
    }
    group.scratch = 448;
    std::vector<char> workspace(3 * 448);
    parts.clear();
    for (int32_t member = 0; member < 3; ++member) {
        Task task;
        task.ith = member;
        task.nth = 3;
        task.workspace = workspace.data();
        ASSERT_TRUE(run_fused(group, g.graph_view(), task));
    }
    ASSERT_EQ(parts.size(), 36u);
    const auto start = reinterpret_cast<uintptr_t>(workspace.data());
    for (const Part& a : parts) {
        EXPECT_TRUE(a.begin >= start && a.end <= start + workspace.size());
        for (const Part& b : parts) {
            EXPECT_TRUE(a.member == b.member || a.end <= b.begin || b.end <= a.begin);
        }
    }
}

TEST(Fuse, ABadIndexInsideNamesItsNode) {
    Graph g;
    ggml_tensor* norm = g.rms_norm(g.leaf(GGML_TYPE_F32, {32, 6, 1, 1}));
    ggml_tensor* cache = g.leaf(GGML_TYPE_F32, {32, 4, 1, 1});
    ggml_tensor* ids = g.leaf(GGML_TYPE_I32, {6, 1, 1, 1});
    ggml_tensor* set =
        g.node(GGML_OP_SET_ROWS, GGML_TYPE_F32, {32, 4, 1, 1}, {norm, ids, cache}, cache->data);
    set->view_src = cache;
    std::strcpy(set->name, "stored");
    ASSERT_EQ(group_of(g).n, 2u);
    static_cast<int32_t*>(ids->data)[5] = 4;

    tenon_host host{};
    host.struct_size = sizeof host;
    GraphRunner runner(&host, nullptr, {true, true});
    tenon_run_params params{};
    params.struct_size = sizeof params;
    tenon_error error{};
    error.struct_size = sizeof error;
    const tenon_graph_view view = g.graph_view();
    EXPECT_EQ(runner.run(view, params, &error), TENON_E_INVALID);
    EXPECT_NE(std::string(error.message).find("'stored'"), std::string::npos) << error.message;
    EXPECT_NE(std::string(error.message).find("4, expected 0 to 3"), std::string::npos);
}

}  // namespace
}  // namespace tenon::cpu
