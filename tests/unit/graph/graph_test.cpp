// Graphs: memory, access, copies, gradients, reset.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/graph/graph.h"
#include "ggml.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"

using namespace tenon;
using test::make_arena;

namespace {

ggml_tensor* leaf(ggml_context* ctx) { return ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1); }

// A node without a builder: only edges matter here.
ggml_tensor* node(ggml_context* ctx, std::initializer_list<ggml_tensor*> sources,
                  ggml_op op = GGML_OP_ADD) {
    ggml_tensor* t = leaf(ctx);
    t->op = op;
    int i = 0;
    for (ggml_tensor* s : sources) t->src[i++] = s;
    return t;
}

TEST(Graph, CostsWhatApplicationsCountOn) {
    EXPECT_EQ(ggml_graph_overhead(), 82608u);
    EXPECT_EQ(ggml_graph_overhead_custom(2048, false), 82608u);
    EXPECT_EQ(ggml_graph_overhead_custom(10, false), 752u);
    EXPECT_EQ(ggml_graph_overhead_custom(10, true), 1344u);
    EXPECT_EQ(ggml_graph_overhead_custom(16, true), 1440u);
    EXPECT_EQ(ggml_graph_overhead_custom(8192, false), 330192u);
    for (size_t size : {0, 1, 2, 10, 100, 1000, 8192}) {
        for (bool grads : {false, true}) {
            const auto ctx = make_arena();
            ASSERT_NE(ggml_new_graph_custom(ctx.get(), size, grads), nullptr);
            EXPECT_EQ(ggml_used_mem(ctx.get()), ggml_graph_overhead_custom(size, grads));
        }
    }
}

TEST(Graph, AnArenaSizedByTheOverheadsHoldsThem) {
    const size_t bytes = 3 * ggml_graph_overhead() + 5 * ggml_tensor_overhead();
    const auto ctx = make_arena(bytes, /*no_alloc=*/true);
    for (int i = 0; i < 3; ++i) EXPECT_NE(ggml_new_graph(ctx.get()), nullptr);
    for (int i = 0; i < 5; ++i) EXPECT_NE(leaf(ctx.get()), nullptr);
    tenon_clear_error();
    EXPECT_EQ(ggml_new_graph(ctx.get()), nullptr);
    EXPECT_NE(std::strstr(tenon_last_error(), "context is full"), nullptr);
}

TEST(Graph, ImpossibleSizesAreRefused) {
    const auto ctx = make_arena();
    for (size_t size : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 31, size_t{1} << 40}) {
        tenon_clear_error();
        EXPECT_EQ(ggml_new_graph_custom(ctx.get(), size, true), nullptr);
        EXPECT_STRNE(tenon_last_error(), "");
        EXPECT_EQ(ggml_graph_overhead_custom(size, true), 0u);
    }
    EXPECT_EQ(ggml_new_graph(nullptr), nullptr);
    EXPECT_EQ(ggml_used_mem(ctx.get()), 0u);
}

TEST(Graph, HashSizesArePrimesNotBelowTheRequest) {
    EXPECT_EQ(hash_size(0), 2u);
    EXPECT_EQ(hash_size(3), 3u);
    EXPECT_EQ(hash_size(4), 5u);
    EXPECT_EQ(hash_size(4096), 4099u);
    EXPECT_EQ(hash_size(2147483659u), 2147483659u);
    EXPECT_EQ(hash_size(size_t{1} << 32), (size_t{1} << 32) + 1);
}

TEST(Graph, StartsEmpty) {
    const auto ctx = make_arena();
    std::memset(ggml_get_mem_buffer(ctx.get()), 0xFF, ggml_get_mem_size(ctx.get()));
    ggml_cgraph* g = ggml_new_graph_custom(ctx.get(), 10, true);
    EXPECT_EQ(ggml_graph_size(g), 10);
    EXPECT_EQ(ggml_graph_n_nodes(g), 0);
    EXPECT_EQ(g->n_leafs, 0);
    EXPECT_EQ(g->order, GGML_CGRAPH_EVAL_ORDER_LEFT_TO_RIGHT);
    EXPECT_EQ(g->uid, 0u);
    EXPECT_EQ(g->visited_hash_set.size, 37u);
    for (size_t i = 0; i < 37; ++i) {
        EXPECT_FALSE(hash_slot_used(g->visited_hash_set, i));
        EXPECT_EQ(g->grads[i], nullptr);
        EXPECT_EQ(g->grad_accs[i], nullptr);
    }
    EXPECT_EQ(ggml_new_graph_custom(ctx.get(), 10, false)->grads, nullptr);
}

TEST(Graph, NodesAreCountedFromBothEnds) {
    const auto ctx = make_arena();
    ggml_cgraph* g = ggml_new_graph(ctx.get());
    ggml_tensor* a = node(ctx.get(), {leaf(ctx.get())});
    ggml_tensor* b = node(ctx.get(), {a});
    ggml_build_forward_expand(g, b);
    EXPECT_EQ(ggml_graph_node(g, 0), a);
    EXPECT_EQ(ggml_graph_node(g, 1), b);
    EXPECT_EQ(ggml_graph_node(g, -1), b);
    EXPECT_EQ(ggml_graph_node(g, -2), a);
    EXPECT_EQ(ggml_graph_nodes(g)[1], b);
    for (int i : {2, -3, INT32_MAX, INT32_MIN}) {
        tenon_clear_error();
        EXPECT_EQ(ggml_graph_node(g, i), nullptr);
        EXPECT_NE(std::strstr(tenon_last_error(), "it has 2"), nullptr);
    }
}

TEST(Graph, TensorsAreFoundByNameLeafsFirst) {
    const auto ctx = make_arena();
    ggml_cgraph* g = ggml_new_graph(ctx.get());
    ggml_tensor* x = ggml_set_name(leaf(ctx.get()), "same");
    ggml_tensor* y = ggml_set_name(node(ctx.get(), {x}), "same");
    ggml_tensor* z = ggml_set_name(node(ctx.get(), {y}), "z");
    ggml_build_forward_expand(g, z);
    EXPECT_EQ(ggml_graph_get_tensor(g, "same"), x);
    EXPECT_EQ(ggml_graph_get_tensor(g, "z"), z);
    EXPECT_EQ(ggml_graph_get_tensor(g, "none"), nullptr);
    EXPECT_EQ(ggml_graph_get_tensor(g, nullptr), nullptr);
    EXPECT_EQ(ggml_graph_get_tensor(nullptr, "z"), nullptr);
}

TEST(Graph, ClearingMakesRoom) {
    const auto ctx = make_arena();
    ggml_cgraph* g = ggml_new_graph_custom(ctx.get(), 2, false);
    ggml_tensor* c = node(ctx.get(), {node(ctx.get(), {node(ctx.get(), {leaf(ctx.get())})})});
    ggml_build_forward_expand(g, c);
    EXPECT_TRUE(is_incomplete(*g));
    ggml_graph_clear(g);
    EXPECT_FALSE(is_incomplete(*g));
    EXPECT_EQ(ggml_graph_n_nodes(g), 0);
    ggml_build_forward_expand(g, c->src[0]);
    EXPECT_FALSE(is_incomplete(*g));
    EXPECT_EQ(ggml_graph_n_nodes(g), 2);
    EXPECT_EQ(g->n_leafs, 1);
    tenon_clear_error();
}

TEST(Graph, ANodeCanBeAppendedAsItIs) {
    const auto ctx = make_arena();
    ggml_cgraph* g = ggml_new_graph_custom(ctx.get(), 1, false);
    ggml_tensor* n = node(ctx.get(), {leaf(ctx.get())});
    ggml_graph_add_node(g, n);
    EXPECT_EQ(ggml_graph_n_nodes(g), 1);
    EXPECT_EQ(g->n_leafs, 0);
    EXPECT_STREQ(n->name, "");
    EXPECT_EQ(n->flags, 0);
    EXPECT_FALSE(hash_contains(g->visited_hash_set, n));
    EXPECT_FALSE(is_incomplete(*g));
    tenon_clear_error();
    ggml_graph_add_node(g, n);
    EXPECT_STREQ(tenon_last_error(), "graph is full: it has room for 1 nodes");
    EXPECT_EQ(ggml_graph_n_nodes(g), 1);
    EXPECT_TRUE(is_incomplete(*g));
}

TEST(Graph, AViewBorrowsAndCannotGrow) {
    const auto ctx = make_arena();
    ggml_cgraph* g = ggml_new_graph(ctx.get());
    ggml_tensor* a = node(ctx.get(), {leaf(ctx.get())});
    ggml_tensor* b = node(ctx.get(), {a});
    ggml_tensor* c = node(ctx.get(), {b});
    ggml_build_forward_expand(g, c);
    g->uid = 5;
    ggml_cgraph view = graph_view(*g, 1, 3);
    EXPECT_EQ(ggml_graph_n_nodes(&view), 2);
    EXPECT_EQ(ggml_graph_node(&view, 0), b);
    EXPECT_EQ(view.n_leafs, 0);
    EXPECT_EQ(view.uid, 0u);
    EXPECT_EQ(use_count(view, b), 1);
    EXPECT_EQ(ggml_graph_get_grad(&view, b), nullptr);

    ggml_tensor* d = node(ctx.get(), {c});
    ggml_build_forward_expand(&view, d);
    EXPECT_TRUE(is_incomplete(view));
    EXPECT_FALSE(is_incomplete(*g));
    EXPECT_FALSE(hash_contains(g->visited_hash_set, d));
    tenon_clear_error();

    const ggml_cgraph* copy = ggml_graph_dup(ctx.get(), &view, false);
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(copy->n_nodes, 2);
    EXPECT_EQ(copy->nodes[1], c);
    EXPECT_EQ(use_count(*copy, b), 1);
}

TEST(Graph, CopiesHaveTheSameNodesCountsAndGradients) {
    const auto ctx = make_arena();
    ggml_cgraph* g = ggml_new_graph_custom(ctx.get(), 20, true);
    ggml_tensor* x = leaf(ctx.get());
    ggml_tensor* a = node(ctx.get(), {x, x});
    ggml_tensor* b = node(ctx.get(), {a, x});
    ggml_build_forward_expand(g, b);
    ggml_tensor* grad = leaf(ctx.get());
    ggml_tensor* acc = leaf(ctx.get());
    const size_t slot = hash_find(g->visited_hash_set, a);
    g->grads[slot] = grad;
    g->grad_accs[slot] = acc;
    g->order = GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT;

    ggml_cgraph* dup = ggml_graph_dup(ctx.get(), g, false);
    ggml_cgraph* larger = ggml_new_graph_custom(ctx.get(), 1000, true);
    ggml_graph_cpy(g, larger);
    for (ggml_cgraph* copy : {dup, larger}) {
        ASSERT_NE(copy, nullptr);
        EXPECT_EQ(ggml_graph_n_nodes(copy), 2);
        EXPECT_EQ(ggml_graph_node(copy, 1), b);
        EXPECT_EQ(copy->leafs[0], x);
        EXPECT_EQ(use_count(*copy, x), 3);
        EXPECT_EQ(use_count(*copy, a), 1);
        EXPECT_EQ(use_count(*copy, b), 0);
        EXPECT_EQ(ggml_graph_get_grad(copy, a), grad);
        EXPECT_EQ(ggml_graph_get_grad_acc(copy, a), acc);
        EXPECT_EQ(ggml_graph_get_grad(copy, b), nullptr);
        EXPECT_EQ(copy->order, GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT);
    }
    EXPECT_EQ(dup->size, 20);
}

TEST(Graph, GradientsCanBeForcedOnACopy) {
    const auto ctx = make_arena();
    ggml_cgraph* g = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(g, node(ctx.get(), {leaf(ctx.get())}));
    EXPECT_EQ(ggml_graph_dup(ctx.get(), g, false)->grads, nullptr);
    EXPECT_NE(ggml_graph_dup(ctx.get(), g, true)->grads, nullptr);
    EXPECT_EQ(ggml_graph_dup(ctx.get(), nullptr, true), nullptr);
}

TEST(Graph, CopiesThatDoNotFitAreRefused) {
    const auto ctx = make_arena();
    ggml_cgraph* g = ggml_new_graph_custom(ctx.get(), 20, true);
    ggml_build_forward_expand(g, node(ctx.get(), {node(ctx.get(), {leaf(ctx.get())})}));
    ggml_cgraph* small = ggml_new_graph_custom(ctx.get(), 1, true);
    tenon_clear_error();
    ggml_graph_cpy(g, small);
    EXPECT_STREQ(tenon_last_error(),
                 "graph of 2 nodes and 1 leafs does not fit into one of size 1");
    EXPECT_TRUE(is_incomplete(*small));
    EXPECT_EQ(ggml_graph_n_nodes(small), 0);
    ggml_cgraph* plain = ggml_new_graph_custom(ctx.get(), 20, false);
    ggml_graph_cpy(g, plain);
    EXPECT_STREQ(tenon_last_error(), "graph with gradients cannot be copied into one without");
    ggml_graph_cpy(nullptr, plain);
    ggml_graph_cpy(g, nullptr);
    tenon_clear_error();
}

TEST(Graph, ResetStartsGradientsAgain) {
    const auto ctx = make_arena();
    ggml_context* c = ctx.get();
    ggml_cgraph* g = ggml_new_graph_custom(c, 20, true);
    ggml_tensor* w = leaf(c);
    ggml_set_param(w);
    ggml_tensor* loss = node(c, {w});
    ggml_set_loss(loss);
    ggml_tensor* m = leaf(c);
    ggml_tensor* v = leaf(c);
    ggml_tensor* step = node(c, {w, w, m, v}, GGML_OP_OPT_STEP_ADAMW);
    ggml_build_forward_expand(g, loss);
    ggml_build_forward_expand(g, step);
    ggml_tensor* loss_acc = leaf(c);
    ggml_tensor* w_acc = leaf(c);
    g->grad_accs[hash_find(g->visited_hash_set, loss)] = loss_acc;
    g->grad_accs[hash_find(g->visited_hash_set, w)] = w_acc;
    for (ggml_tensor* t : {m, v, loss_acc, w_acc}) ggml_get_data_f32(t)[0] = 9;
    ggml_graph_reset(g);
    EXPECT_EQ(ggml_get_data_f32(loss_acc)[0], 1.0f);
    EXPECT_EQ(ggml_get_data_f32(w_acc)[0], 0.0f);
    EXPECT_EQ(ggml_get_data_f32(m)[0], 0.0f);
    EXPECT_EQ(ggml_get_data_f32(v)[0], 0.0f);

    ggml_graph_reset(nullptr);
    tenon_clear_error();
    ggml_graph_reset(ggml_new_graph(c));
    EXPECT_STREQ(tenon_last_error(), "cannot reset a graph that was made without gradients");
}

TEST(Graph, ASetHoldsAsManyKeysAsItHasSlots) {
    std::vector<ggml_tensor> tensors(8);
    uint32_t used[1] = {0};
    ggml_tensor* keys[5];
    ggml_hash_set set{5, used, keys};
    for (int i = 0; i < 5; ++i) {
        EXPECT_FALSE(hash_contains(set, &tensors[i]));
        EXPECT_LT(hash_insert(set, &tensors[i]), 5u);
        EXPECT_EQ(hash_insert(set, &tensors[i]), kHashAlreadyExists);
    }
    EXPECT_EQ(hash_find(set, &tensors[5]), kHashFull);
    EXPECT_EQ(hash_insert(set, &tensors[5]), kHashFull);
    EXPECT_FALSE(hash_contains(set, &tensors[5]));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(hash_contains(set, &tensors[i]));
    hash_clear(set);
    EXPECT_FALSE(hash_contains(set, &tensors[0]));
}

TEST(Graph, NullIsNoGraph) {
    EXPECT_EQ(ggml_graph_size(nullptr), 0);
    EXPECT_EQ(ggml_graph_n_nodes(nullptr), 0);
    EXPECT_EQ(ggml_graph_nodes(nullptr), nullptr);
    EXPECT_EQ(ggml_graph_node(nullptr, 0), nullptr);
    EXPECT_EQ(ggml_graph_get_grad(nullptr, nullptr), nullptr);
    EXPECT_EQ(ggml_graph_get_grad_acc(nullptr, nullptr), nullptr);
    ggml_graph_clear(nullptr);
    ggml_graph_add_node(nullptr, nullptr);
    ggml_graph_print(nullptr);
    ggml_graph_dump_dot(nullptr, nullptr, nullptr);
    tenon_clear_error();
}

}  // namespace
