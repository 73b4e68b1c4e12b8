// Forward expansion: order, names, flags, use counts; deep, full and broken graphs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/graph/graph.h"
#include "ggml.h"
#include "tenon/tenon.h"
#include "tests/support/allocations.h"
#include "tests/support/arena.h"

using namespace tenon;
using test::make_arena;

namespace {

ggml_tensor* leaf(ggml_context* ctx) { return ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1); }

ggml_tensor* node(ggml_context* ctx, std::initializer_list<ggml_tensor*> sources) {
    ggml_tensor* t = leaf(ctx);
    t->op = GGML_OP_ADD;
    int i = 0;
    for (ggml_tensor* s : sources) t->src[i++] = s;
    return t;
}

std::vector<ggml_tensor*> nodes_of(const ggml_cgraph* g) {
    return {g->nodes, g->nodes + g->n_nodes};
}
std::vector<ggml_tensor*> leafs_of(const ggml_cgraph* g) {
    return {g->leafs, g->leafs + g->n_leafs};
}

TEST(Expand, PutsSourcesBeforeUsers) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    ggml_tensor *x = leaf(c), *y = leaf(c);
    ggml_tensor* a = node(c, {x, y});
    ggml_tensor* b = node(c, {y, a});
    ggml_tensor* d = node(c, {b, a});
    ggml_cgraph* g = ggml_new_graph(c);
    ggml_build_forward_expand(g, d);
    EXPECT_EQ(nodes_of(g), (std::vector{a, b, d}));
    EXPECT_EQ(leafs_of(g), (std::vector{y, x}));
    EXPECT_EQ(use_count(*g, y), 2);
    EXPECT_EQ(use_count(*g, a), 2);
    EXPECT_EQ(use_count(*g, d), 0);
    EXPECT_EQ(use_count(*g, leaf(c)), 0);
}

TEST(Expand, TheOtherOrderStartsFromTheLastSource) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    ggml_tensor *x = leaf(c), *y = leaf(c);
    ggml_tensor* a = node(c, {x});
    ggml_tensor* b = node(c, {y});
    ggml_tensor* d = node(c, {a, b});
    ggml_cgraph* g = ggml_new_graph(c);
    g->order = GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT;
    ggml_build_forward_expand(g, d);
    EXPECT_EQ(nodes_of(g), (std::vector{b, a, d}));
    EXPECT_EQ(leafs_of(g), (std::vector{y, x}));
}

TEST(Expand, NamesWhatHasNoName) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    ggml_tensor *x = leaf(c), *y = ggml_set_name(leaf(c), "y"), *z = leaf(c);
    ggml_tensor* a = node(c, {x, y});
    ggml_tensor* b = node(c, {a, z});
    ggml_cgraph* g = ggml_new_graph(c);
    ggml_build_forward_expand(g, b);
    EXPECT_STREQ(x->name, "leaf_0");
    EXPECT_STREQ(y->name, "y");
    EXPECT_STREQ(z->name, "leaf_2");
    EXPECT_STREQ(a->name, "node_0");
    EXPECT_STREQ(b->name, "node_1");
}

TEST(Expand, ParametersAreNodes) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    ggml_tensor *w = leaf(c), *x = leaf(c);
    ggml_set_param(w);
    ggml_tensor* a = node(c, {w, x});
    ggml_cgraph* g = ggml_new_graph(c);
    ggml_build_forward_expand(g, a);
    EXPECT_EQ(nodes_of(g), (std::vector{w, a}));
    EXPECT_EQ(leafs_of(g), (std::vector{x}));
    EXPECT_STREQ(w->name, "node_0");
    EXPECT_EQ(w->flags, GGML_TENSOR_FLAG_PARAM);
    EXPECT_EQ(a->flags, GGML_TENSOR_FLAG_COMPUTE);
}

TEST(Expand, OrderingAloneDoesNotAskForComputation) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    ggml_tensor* x = leaf(c);
    ggml_tensor* a = node(c, {x});
    ggml_tensor* b = node(c, {a});
    ggml_tensor* d = node(c, {a});
    ggml_cgraph* g = ggml_new_graph(c);
    ggml_build_forward_order(g, b);
    EXPECT_EQ(nodes_of(g), (std::vector{a, b}));
    EXPECT_EQ(a->flags | b->flags, 0);
    ggml_build_forward_expand(g, d);  // a was there already and still gets the flag
    EXPECT_EQ(nodes_of(g), (std::vector{a, b, d}));
    EXPECT_EQ(a->flags, GGML_TENSOR_FLAG_COMPUTE);
    EXPECT_EQ(d->flags, GGML_TENSOR_FLAG_COMPUTE);
    EXPECT_EQ(b->flags, 0);
    EXPECT_EQ(use_count(*g, a), 2);
    ggml_build_forward_expand(g, b);
    EXPECT_EQ(b->flags, GGML_TENSOR_FLAG_COMPUTE);
    EXPECT_EQ(g->n_nodes, 3);
    EXPECT_EQ(use_count(*g, a), 2);
}

TEST(Expand, TheFlagTravelsThroughAllThatWasOnlyOrdered) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    std::vector<ggml_tensor*> chain{node(c, {leaf(c)})};
    for (int i = 0; i < 50; ++i) chain.push_back(node(c, {chain.back(), chain.front()}));
    ggml_cgraph* g = ggml_new_graph(c);
    ggml_build_forward_order(g, chain.back());
    ggml_build_forward_expand(g, chain.back());
    for (const ggml_tensor* t : chain) EXPECT_EQ(t->flags, GGML_TENSOR_FLAG_COMPUTE);
    EXPECT_EQ(g->n_nodes, 51);
}

TEST(Expand, SelectingKeepsTheShapeOfTheGraph) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    ggml_tensor* x = leaf(c);
    ggml_tensor* branches[] = {node(c, {x}), node(c, {x}), node(c, {x})};
    ggml_cgraph* g = ggml_new_graph(c);
    EXPECT_EQ(ggml_build_forward_select(g, branches, 3, 1), branches[1]);
    EXPECT_EQ(nodes_of(g), (std::vector{branches[0], branches[1], branches[2]}));
    EXPECT_EQ(branches[0]->flags, 0);
    EXPECT_EQ(branches[1]->flags, GGML_TENSOR_FLAG_COMPUTE);
    EXPECT_EQ(branches[2]->flags, 0);
    for (int idx : {-1, 3}) {
        tenon_clear_error();
        ggml_cgraph* other = ggml_new_graph(c);
        EXPECT_EQ(ggml_build_forward_select(other, branches, 3, idx), nullptr);
        EXPECT_NE(std::strstr(tenon_last_error(), "of 3"), nullptr);
        EXPECT_TRUE(is_incomplete(*other));
    }
    EXPECT_EQ(ggml_build_forward_select(nullptr, branches, 3, 0), nullptr);
    tenon_clear_error();
}

TEST(Expand, ADeepChainNeedsNoDeepStack) {
    constexpr int kDepth = 100000;
    const auto ctx = make_arena((kDepth + 10) * size_t{512} + (size_t{64} << 20), true);
    ggml_context* c = ctx.get();
    ggml_tensor* t = leaf(c);
    for (int i = 0; i < kDepth; ++i) t = node(c, {t});
    ggml_cgraph* g = ggml_new_graph_custom(c, kDepth, false);
    ASSERT_NE(g, nullptr);
    ggml_build_forward_expand(g, t);
    EXPECT_EQ(g->n_nodes, kDepth);
    EXPECT_EQ(g->nodes[kDepth - 1], t);
    EXPECT_FALSE(is_incomplete(*g));
    EXPECT_STREQ(t->name, "node_99999");
}

TEST(Expand, AFullGraphIsMarkedAndSaysSo) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    ggml_tensor* t = leaf(c);
    for (int i = 0; i < 100; ++i) t = node(c, {t});
    ggml_cgraph* g = ggml_new_graph_custom(c, 10, false);
    tenon_clear_error();
    ggml_build_forward_expand(g, t);
    EXPECT_STREQ(tenon_last_error(), "graph is full: it has room for 10 nodes and 10 leafs");
    EXPECT_TRUE(is_incomplete(*g));
    EXPECT_LE(g->n_nodes, 10);
    EXPECT_EQ(eval_order(*g), GGML_CGRAPH_EVAL_ORDER_LEFT_TO_RIGHT);

    // Leafs have their own limit.
    ggml_tensor* many = node(c, {leaf(c), leaf(c), leaf(c)});
    ggml_cgraph* two = ggml_new_graph_custom(c, 2, false);
    ggml_build_forward_expand(two, many);
    EXPECT_TRUE(is_incomplete(*two));
    ggml_cgraph* three = ggml_new_graph_custom(c, 3, false);
    ggml_build_forward_expand(three, many);
    EXPECT_FALSE(is_incomplete(*three));
    tenon_clear_error();
}

TEST(Expand, AMissingTensorMakesTheGraphIncomplete) {
    const auto ctx = make_arena();
    ggml_cgraph* g = ggml_new_graph(ctx.get());
    tenon_clear_error();
    ggml_build_forward_expand(g, nullptr);
    EXPECT_STREQ(tenon_last_error(), "cannot add a tensor that is null to a graph");
    EXPECT_TRUE(is_incomplete(*g));
    ggml_build_forward_expand(g, node(ctx.get(), {leaf(ctx.get())}));
    EXPECT_TRUE(is_incomplete(*g));  // once incomplete, until cleared
    ggml_build_forward_expand(nullptr, nullptr);
    ggml_build_forward_order(nullptr, nullptr);
    tenon_clear_error();
}

TEST(Expand, ACycleLeavesTheGraphIncomplete) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    ggml_tensor* a = ggml_set_name(node(c, {leaf(c)}), "a");
    ggml_tensor* b = ggml_set_name(node(c, {a}), "b");
    a->src[1] = b;
    for (const bool compute : {true, false}) {
        ggml_cgraph* g = ggml_new_graph(c);
        (compute ? ggml_build_forward_expand : ggml_build_forward_order)(g, b);
        EXPECT_TRUE(is_incomplete(*g));
        EXPECT_STREQ(tenon_last_error(),
                     "the graph has a cycle: 'a' (ADD) needs 'b' (ADD), which needs it");
        ggml_graph_clear(g);  // can be used again, for what has no cycle
        EXPECT_EQ(use_count(*g, b), 0);
        ggml_tensor* x = leaf(c);
        ggml_build_forward_expand(g, node(c, {x, x}));
        EXPECT_FALSE(is_incomplete(*g));
        EXPECT_EQ(use_count(*g, x), 2);
    }
    tenon_clear_error();
}

TEST(Expand, ALongCycleIsFoundFromAnywhere) {
    const auto ctx = make_arena(size_t{4} << 20);
    std::vector<ggml_tensor*> ring{node(ctx.get(), {leaf(ctx.get())})};
    for (int i = 1; i < 50; ++i) ring.push_back(node(ctx.get(), {leaf(ctx.get()), ring.back()}));
    ring[0]->src[5] = ring.back();
    for (ggml_tensor* start : ring) {
        ggml_cgraph* g = ggml_new_graph_custom(ctx.get(), 128, false);
        ggml_build_forward_expand(g, start);
        EXPECT_TRUE(is_incomplete(*g));
        EXPECT_NE(std::string(tenon_last_error()).find("has a cycle"), std::string::npos);
    }
    tenon_clear_error();
}

TEST(Expand, ATensorThatIsItsOwnSourceIsACycleUnlessItIsACast) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    ggml_tensor* self = leaf(c);
    self->src[0] = self;
    ggml_tensor* sum = ggml_set_name(node(c, {leaf(c)}), "sum");
    sum->src[1] = sum;
    for (ggml_tensor* t : {self, sum}) {
        ggml_cgraph* g = ggml_new_graph(c);
        ggml_build_forward_expand(g, t);
        EXPECT_TRUE(is_incomplete(*g));
        EXPECT_NE(std::string(tenon_last_error()).find("is its own source"), std::string::npos);
        ggml_cgraph* by_hand = ggml_new_graph(c);
        ggml_graph_add_node(by_hand, t);
        EXPECT_TRUE(is_incomplete(*by_hand));
        EXPECT_NE(std::string(tenon_last_error()).find("is its own source"), std::string::npos);
    }
    ggml_tensor* cast = ggml_cast(c, leaf(c), GGML_TYPE_F16);
    ASSERT_EQ(cast->src[1], cast);
    ggml_cgraph* g = ggml_new_graph(c);
    ggml_build_forward_expand(g, cast);
    ggml_graph_add_node(g, cast);
    EXPECT_FALSE(is_incomplete(*g)) << tenon_last_error();
    EXPECT_EQ(use_count(*g, cast), 1);
    EXPECT_TRUE(check_order({g->nodes, static_cast<size_t>(g->n_nodes)}));
}

TEST(Expand, OrderIsThatOfSourcesBeforeReaders) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    ggml_tensor* a = node(c, {leaf(c)});
    ggml_tensor* b = node(c, {a, leaf(c)});
    ggml_tensor* d = node(c, {b, a});
    const auto in_order = [](std::vector<ggml_tensor*> nodes) {
        return static_cast<bool>(check_order(nodes));
    };
    EXPECT_TRUE(in_order({}));
    EXPECT_TRUE(in_order({a, b, d}));
    EXPECT_TRUE(in_order({a, d}));  // what is not in the list was computed before
    EXPECT_TRUE(in_order({a, b, a, d}));
    EXPECT_FALSE(in_order({b, a, d}));
    EXPECT_FALSE(in_order({a, d, b}));
    a->src[3] = a;
    EXPECT_FALSE(in_order({a}));
}

TEST(Expand, ALeafAloneIsALeaf) {
    const auto ctx = make_arena();
    ggml_cgraph* g = ggml_new_graph(ctx.get());
    ggml_tensor* x = leaf(ctx.get());
    ggml_build_forward_expand(g, x);
    ggml_build_forward_expand(g, x);
    EXPECT_EQ(g->n_nodes, 0);
    EXPECT_EQ(leafs_of(g), (std::vector{x}));
    EXPECT_EQ(x->flags, 0);
    EXPECT_FALSE(is_incomplete(*g));
}

TEST(Expand, BuildingTheSameGraphAgainAllocatesNothing) {
    const auto ctx = make_arena(size_t{16} << 20, true);
    ggml_context* c = ctx.get();
    ggml_tensor* t = leaf(c);
    for (int i = 0; i < 3000; ++i) t = node(c, {t});
    ggml_cgraph* g = ggml_new_graph_custom(c, 4096, false);
    ggml_build_forward_expand(g, t);
    const size_t before = test::allocations_of_this_thread();
    for (int i = 0; i < 3; ++i) {
        ggml_graph_clear(g);
        ggml_build_forward_expand(g, t);
    }
    EXPECT_EQ(test::allocations_of_this_thread(), before);
    EXPECT_EQ(g->n_nodes, 3000);
}

TEST(Expand, RunningOutOfMemoryMarksTheGraph) {
    const auto ctx = make_arena(size_t{16} << 20, true);
    ggml_context* c = ctx.get();
    ggml_tensor* t = leaf(c);
    for (int i = 0; i < 20000; ++i) t = node(c, {t});  // deeper than any graph before
    ggml_cgraph* g = ggml_new_graph_custom(c, 20001, false);
    int failures = 0;
    std::thread([&] {
        for (int nth = 0;; ++nth) {
            tenon_clear_error();
            ggml_graph_clear(g);
            test::g_allocations_until_bad = nth;
            ggml_build_forward_expand(g, t);
            const bool failed = test::g_allocations_until_bad < 0;
            test::g_allocations_until_bad = -1;
            if (!failed) break;
            ++failures;
            EXPECT_TRUE(is_incomplete(*g));
            EXPECT_STREQ(tenon_last_error(), "out of host memory");
        }
    }).join();
    EXPECT_GT(failures, 0);
    EXPECT_FALSE(is_incomplete(*g));
    EXPECT_EQ(g->n_nodes, 20000);
}

// ---- the rule, told recursively, against the walk ----------------------------------------------

struct Model {
    bool reversed = false;
    std::vector<ggml_tensor*> nodes, leafs;
    std::set<ggml_tensor*> seen;
    std::map<ggml_tensor*, int> uses;
    std::map<ggml_tensor*, bool> compute;

    void visit(ggml_tensor* t, bool flag) {
        if (flag && t->op != GGML_OP_NONE) compute[t] = true;
        if (seen.count(t)) {
            for (ggml_tensor* s : sources(t)) {
                if (flag && !compute[s]) visit(s, true);
            }
            return;
        }
        seen.insert(t);
        for (ggml_tensor* s : sources(t)) {
            visit(s, flag);
            ++uses[s];
        }
        const bool is_leaf = t->op == GGML_OP_NONE && !(t->flags & GGML_TENSOR_FLAG_PARAM);
        (is_leaf ? leafs : nodes).push_back(t);
    }

    std::vector<ggml_tensor*> sources(ggml_tensor* t) const {
        std::vector<ggml_tensor*> s;
        for (ggml_tensor* source : t->src) {
            if (source) s.push_back(source);
        }
        if (reversed) std::reverse(s.begin(), s.end());
        return s;
    }
};

TEST(Expand, FollowsTheRuleOnRandomGraphs) {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
        const auto ctx = make_arena(size_t{1} << 18, true);
        ggml_context* c = ctx.get();
        std::vector<ggml_tensor*> all;
        for (int i = 0; i < 60; ++i) {
            ggml_tensor* t = leaf(c);
            const bool is_node = i > 3 && random() % 4 != 0;
            if (is_node) {
                t->op = GGML_OP_CUSTOM;
                for (int k = 0; k < GGML_MAX_SRC; ++k) {
                    if (random() % 3 == 0) t->src[k] = all[random() % all.size()];
                }
            } else if (random() % 5 == 0) {
                ggml_set_param(t);
            }
            all.push_back(t);
        }
        ggml_cgraph* g = ggml_new_graph_custom(c, 64, false);
        Model model;
        model.reversed = round % 2 == 1;
        if (model.reversed) g->order = GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT;
        for (int i = 0; i < 5; ++i) {
            ggml_tensor* t = all[random() % all.size()];
            const bool compute = random() % 2 == 0;
            if (compute) {
                ggml_build_forward_expand(g, t);
            } else {
                ggml_build_forward_order(g, t);
            }
            model.visit(t, compute);
        }
        ASSERT_FALSE(is_incomplete(*g));
        ASSERT_EQ(nodes_of(g), model.nodes);
        ASSERT_EQ(leafs_of(g), model.leafs);
        for (ggml_tensor* t : all) {
            ASSERT_EQ(hash_contains(g->visited_hash_set, t), model.seen.count(t) == 1);
            ASSERT_EQ(use_count(*g, t), model.uses[t]);
            ASSERT_EQ((t->flags & GGML_TENSOR_FLAG_COMPUTE) != 0, model.compute[t]);
        }
    }
}

}  // namespace
