// The graph allocator: totals for small graphs, what may share memory, re-planning, several slots.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tenon/tenon.h"
#include "tests/support/allocations.h"
#include "tests/unit/memory/graph_alloc_fixture.h"

using namespace tenon;
using namespace tenon::test;

namespace {

size_t total_of(ggml_gallocr_t galloc, int n_slots = 1) {
    size_t sum = 0;
    for (int i = 0; i < n_slots; ++i) sum += ggml_gallocr_get_buffer_size(galloc, i);
    return sum;
}

// Every tensor has an address inside its buffer.
void expect_placed(const Graph& g) {
    const auto check = [](const ggml_tensor* t) {
        ASSERT_NE(t->data, nullptr) << t->name;
        ASSERT_NE(t->buffer, nullptr) << t->name;
        const auto* base = static_cast<const char*>(ggml_backend_buffer_get_base(t->buffer));
        const auto* at = static_cast<const char*>(t->data);
        EXPECT_LE(base, at);
        EXPECT_LE(at + ggml_nbytes(t), base + ggml_backend_buffer_get_size(t->buffer));
    };
    for (int i = 0; i < ggml_graph_n_nodes(g.graph); ++i) {
        const ggml_tensor* node = ggml_graph_node(g.graph, i);
        check(node);
        for (const ggml_tensor* src : node->src) {
            if (src) check(src);
        }
    }
}

// Bytes the graph takes in buffers of at most max_size.
size_t bytes_for(Memory& memory, Graph& g) {
    ggml_gallocr_ptr galloc(ggml_gallocr_new(memory.type));
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));
    expect_placed(g);
    return total_of(galloc.get());
}

// A first allocation is no trouble; that a later one grows is worth a line.
TEST(GraphAlloc, SaysWhenItGrowsAndOnlyThen) {
    static std::vector<std::string> lines;
    Memory memory(kNoLimit);
    lines.clear();
    ggml_log_set([](ggml_log_level, const char* text, void*) { lines.push_back(text); }, nullptr);
    ggml_gallocr_ptr galloc(ggml_gallocr_new(memory.type));
    Graph small, same, large;
    small.finish(small.add(small.input(8), small.input(8)));
    same.finish(same.add(same.input(8), same.input(8)));
    large.finish(large.add(large.input(64), large.input(64)));
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), small.graph));
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), same.graph));
    EXPECT_TRUE(lines.empty()) << lines[0];
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), large.graph));
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find("grows from"), std::string::npos) << lines[0];
    ggml_log_set(nullptr, nullptr);
}

TEST(GraphAlloc, TooManyTensorsForOneChunk) {
    Memory memory(16);
    Graph g;
    ggml_tensor* x[] = {g.input(8), g.input(8), g.input(8)};
    ggml_tensor* product = ggml_mul(g.ctx.get(), x[0], x[1]);
    ggml_tensor* sum = g.add(x[1], x[2]);
    g.finish(g.add(g.add(product, x[0]), sum));
    EXPECT_LE(bytes_for(memory, g), 32u);
}

TEST(GraphAlloc, TensorTooLargeForTheRest) {
    Memory memory(32);
    Graph g;
    ggml_tensor *a = g.input(16), *b = g.input(8);
    g.finish(ggml_concat(g.ctx.get(), a, b, 0));
    EXPECT_LE(bytes_for(memory, g), 56u);
}

TEST(GraphAlloc, TensorLargerThanAChunkAndInPlace) {
    Memory memory(16);
    Graph g;
    g.finish(ggml_scale(g.ctx.get(), g.input(24), 2.0f));
    EXPECT_EQ(bytes_for(memory, g), 24u);
}

// Rows of the second source are read in the order of the ids: the result may not lie on them.
TEST(GraphAlloc, AddIdTakesOverTheMemoryOfItsFirstSourceOnly) {
    Memory memory(kNoLimit);
    for (const bool first_is_kept : {false, true}) {
        Graph g;
        ggml_context* ctx = g.ctx.get();
        ggml_tensor* a = ggml_scale(ctx, ggml_reshape_2d(ctx, g.input(128), 8, 4), 2.0f);
        ggml_tensor* b = ggml_scale(ctx, ggml_reshape_2d(ctx, g.input(128), 8, 4), 2.0f);
        ggml_tensor* ids = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 4, 1);
        ggml_set_input(ids);
        if (first_is_kept) ggml_set_output(a);
        ggml_tensor* sum = ggml_add_id(ctx, a, b, ids);
        ASSERT_NE(sum, nullptr) << tenon_last_error();
        g.finish(sum);
        ggml_gallocr_ptr allocator(ggml_gallocr_new(memory.type));
        ASSERT_TRUE(ggml_gallocr_alloc_graph(allocator.get(), g.graph));
        EXPECT_EQ(sum->data == a->data, !first_is_kept);
        EXPECT_NE(sum->data, b->data);
    }
}

TEST(GraphAlloc, ManyChunks) {
    Memory memory(8);
    Graph g;
    std::vector<ggml_tensor*> x;
    for (int i = 0; i < 17; ++i) x.push_back(g.input(8));
    ggml_tensor* sum = x[0];
    for (int i = 1; i < 17; ++i) sum = g.add(sum, x[static_cast<size_t>(i)]);
    g.finish(sum);
    EXPECT_GT(bytes_for(memory, g), 128u);
}

TEST(GraphAlloc, UsesWhatIsLeftOfAChunk) {
    Memory memory(16);
    Graph g;
    g.finish(ggml_mean(g.ctx.get(), g.pad(g.input(8), 2)));
    EXPECT_LE(bytes_for(memory, g), 28u);
}

TEST(GraphAlloc, ViewsShareTheirRoot) {
    Memory memory(32);
    Graph g;
    ggml_context* ctx = g.ctx.get();
    ggml_tensor *x = g.input(16), *y = g.input(8);
    ggml_tensor* turned = ggml_permute(ctx, ggml_reshape_2d(ctx, x, 2, 2), 1, 0, 2, 3);
    g.finish(g.add(ggml_view_1d(ctx, turned, 2, 4), y));
    EXPECT_LE(bytes_for(memory, g), 24u);
}

TEST(GraphAlloc, ReusesAndFrees) {
    Memory memory(40);
    Graph g;
    ggml_tensor *x = g.input(24), *y = g.input(8), *z = g.input(8);
    ggml_tensor* small = g.add(y, z);
    ggml_tensor* wide = g.pad(x, 2);
    ggml_tensor* sum = g.add(wide, ggml_scale(g.ctx.get(), wide, 2.0f));
    g.finish(g.add(small, ggml_view_1d(g.ctx.get(), sum, 2, 8)));
    EXPECT_LE(bytes_for(memory, g), 104u);
}

TEST(GraphAlloc, MergesFreeBlocks) {
    for (const uint64_t max_size : {uint64_t{32}, kNoLimit}) {
        Memory memory(max_size);
        Graph g;
        ggml_tensor *x = g.input(16), *y = g.input(16), *z = g.input(16);
        ggml_tensor *mx = ggml_mean(g.ctx.get(), x), *my = ggml_mean(g.ctx.get(), y);
        ggml_tensor* wide = g.pad(z, 2);
        g.finish(g.add(wide, g.pad(g.add(mx, my), 5)));
        EXPECT_LE(bytes_for(memory, g), 88u);
    }
}

TEST(GraphAlloc, PrefersMemoryThatIsThereAnyway) {
    Memory memory(32, 4);
    Graph g;
    g.finish(ggml_mean(g.ctx.get(), ggml_mean(g.ctx.get(), g.input(24))));
    EXPECT_LE(bytes_for(memory, g), 28u);
}

TEST(GraphAlloc, GrowsForALargerGraphOfTheSameAllocator) {
    Memory memory(32, 4);
    ggml_gallocr_ptr galloc(ggml_gallocr_new(memory.type));
    for (const auto& [first, second] : {std::pair(24, 16), std::pair(20, 20)}) {
        Graph g;
        ggml_tensor *a = g.input(first), *b = g.input(second);
        for (ggml_tensor* t : {a, b}) {
            g.finish(ggml_scale(g.ctx.get(), t, 1.0f));
        }
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));
        expect_placed(g);
        EXPECT_EQ(total_of(galloc.get()), 40u);
    }
}

TEST(GraphAlloc, TwoTypes) {
    for (const uint64_t max_size : {uint64_t{32}, kNoLimit}) {
        Memory first(max_size), second(max_size);
        Graph g;
        ggml_context* ctx = g.ctx.get();
        ggml_tensor* placed = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
        ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(first.type, 16));
        ggml_backend_tensor_alloc(buffer.get(), placed, ggml_backend_buffer_get_base(buffer.get()));
        ggml_tensor *x = g.input(16), *y = g.input(16);
        ggml_tensor* a = g.add(placed, x);
        ggml_tensor* b = g.pad(g.add(a, y), 2);
        g.finish(g.add(b, ggml_scale(ctx, b, 3.0f)));

        ggml_backend_buffer_type_t types[] = {first.type, second.type};
        ggml_gallocr_ptr galloc(ggml_gallocr_new_n(types, 2));
        const int n_nodes = ggml_graph_n_nodes(g.graph);
        std::vector<int> nodes(static_cast<size_t>(n_nodes), 1), leafs(100, 0);
        nodes[0] = 0;
        size_t sizes[2] = {7, 7};
        ggml_gallocr_reserve_n_size(galloc.get(), g.graph, nodes.data(), leafs.data(), sizes);
        EXPECT_EQ(total_of(galloc.get(), 2), 0u);                       // only asked
        EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));  // who belongs where?
        ASSERT_TRUE(ggml_gallocr_reserve_n(galloc.get(), g.graph, nodes.data(), leafs.data()));
        EXPECT_EQ(a->data, nullptr);  // reserving touches no tensor
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));
        expect_placed(g);
        EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 0), sizes[0]);
        EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 1), sizes[1]);
        EXPECT_EQ(ggml_backend_buffer_get_type(a->buffer), first.type);
        EXPECT_EQ(ggml_backend_buffer_get_type(b->buffer), second.type);
    }
}

TEST(GraphAlloc, EmptySlotAndSharedType) {
    Memory memory(kNoLimit), other(kNoLimit);
    ggml_backend_buffer_type_t types[] = {memory.type, other.type, memory.type};
    ggml_gallocr_ptr galloc(ggml_gallocr_new_n(types, 3));
    Graph g;
    g.finish(ggml_scale(g.ctx.get(), g.input(16), 2.0f));
    ASSERT_TRUE(ggml_gallocr_reserve_n(galloc.get(), g.graph, nullptr, nullptr));
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 0), 16u);
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 1), 0u);
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 2), 0u);  // counted with slot 0
    size_t sizes[3];
    const int node[] = {2}, leaf[] = {1};
    ggml_gallocr_reserve_n_size(galloc.get(), g.graph, node, leaf, sizes);
    EXPECT_EQ(sizes[0], 16u);  // not in place: the source lies in another type
    EXPECT_EQ(sizes[1], 16u);
    EXPECT_EQ(sizes[2], 0u);
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));  // the query left the plan alone
    expect_placed(g);
}

TEST(GraphAlloc, MisuseIsRefused) {
    Memory memory(kNoLimit);
    EXPECT_EQ(ggml_gallocr_new(nullptr), nullptr);
    EXPECT_EQ(ggml_gallocr_new_n(nullptr, 2), nullptr);
    EXPECT_EQ(ggml_gallocr_new_n(&memory.type, 0), nullptr);
    ggml_gallocr_free(nullptr);
    ggml_gallocr_ptr galloc(ggml_gallocr_new(memory.type));
    Graph g;
    g.finish(ggml_scale(g.ctx.get(), g.input(16), 2.0f));
    tenon_clear_error();
    const int bad[] = {1}, negative[] = {-1}, good[] = {0};
    EXPECT_FALSE(ggml_gallocr_reserve_n(galloc.get(), g.graph, bad, good));
    EXPECT_NE(std::strstr(tenon_last_error(), "wants buffer 1 of 1"), nullptr);
    EXPECT_FALSE(ggml_gallocr_reserve_n(galloc.get(), g.graph, good, negative));
    EXPECT_FALSE(ggml_gallocr_reserve(galloc.get(), nullptr));
    EXPECT_FALSE(ggml_gallocr_reserve(nullptr, g.graph));
    EXPECT_FALSE(ggml_gallocr_alloc_graph(nullptr, g.graph));
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 1), 0u);
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), -1), 0u);
    EXPECT_EQ(ggml_gallocr_get_buffer_size(nullptr, 0), 0u);
    ggml_build_forward_expand(g.graph, nullptr);  // now incomplete
    EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));
    tenon_clear_error();
}

TEST(GraphAlloc, OutOfMemoryLeavesItUsable) {
    Memory memory(kNoLimit);
    ggml_gallocr_ptr galloc(ggml_gallocr_new(memory.type));
    Graph g;
    g.finish(ggml_scale(g.ctx.get(), g.input(16), 2.0f));
    memory.fake().alloc_status = TENON_E_NO_DEVICE_MEMORY;
    EXPECT_FALSE(ggml_gallocr_reserve(galloc.get(), g.graph));
    EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));
    EXPECT_EQ(total_of(galloc.get()), 0u);
    memory.fake().alloc_status = TENON_OK;
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));
    expect_placed(g);
    tenon_clear_error();
}

TEST(GraphAlloc, LeavesPlacedAndDummyTensorsAlone) {
    Memory memory(kNoLimit);
    ggml_gallocr_ptr galloc(ggml_gallocr_new(memory.type));
    Graph g;
    ggml_backend_buffer_ptr dummy(ggml_backend_buft_alloc_buffer(memory.type, 0));
    ggml_tensor* weight = ggml_new_tensor_1d(g.ctx.get(), GGML_TYPE_F32, 1000);
    weight->buffer = dummy.get();
    ggml_tensor* x = g.input(4000);
    g.finish(ggml_mul(g.ctx.get(), weight, x));
    EXPECT_TRUE(ggml_gallocr_reserve(galloc.get(), g.graph));
    EXPECT_EQ(total_of(galloc.get()), 4000u);  // x, and the product in its place
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));
    EXPECT_EQ(weight->data, nullptr);
    EXPECT_NE(x->data, nullptr);
}

TEST(GraphAlloc, AllocatesLeafsTheGraphDoesNotUse) {
    Memory memory(kNoLimit);
    ggml_gallocr_ptr galloc(ggml_gallocr_new(memory.type));
    Graph g;
    ggml_tensor* extra = ggml_new_tensor_1d(g.ctx.get(), GGML_TYPE_F32, 4);
    g.finish(ggml_scale(g.ctx.get(), g.input(16), 2.0f));
    ggml_build_forward_expand(g.graph, extra);
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));
    EXPECT_NE(extra->data, nullptr);
    EXPECT_EQ(total_of(galloc.get()), 32u);
}

TEST(GraphAlloc, OutputsAndDeadResultsKeepTheirMemory) {
    Memory memory(kNoLimit);
    ggml_gallocr_ptr galloc(ggml_gallocr_new(memory.type));
    Graph g;
    ggml_context* ctx = g.ctx.get();
    ggml_tensor* x = g.input(16);
    ggml_tensor* out = ggml_scale(ctx, x, 2.0f);
    ggml_set_output(out);
    ggml_tensor* dead = ggml_sqr(ctx, out);
    ggml_build_forward_expand(g.graph, dead);
    g.finish(ggml_scale(ctx, ggml_scale(ctx, out, 3.0f), 4.0f));
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));
    ggml_tensor* last = ggml_graph_node(g.graph, ggml_graph_n_nodes(g.graph) - 1);
    EXPECT_EQ(out->data, x->data);  // an input may be taken over
    EXPECT_NE(dead->data, out->data);
    EXPECT_NE(last->data, out->data);
    EXPECT_NE(last->data, dead->data);
}

TEST(GraphAlloc, ASmallerGraphOfTheSameStructureNeedsNoNewPlan) {
    Memory memory(kNoLimit);
    ggml_backend_buffer_type_t types[] = {memory.type, memory.type};
    ggml_gallocr_ptr galloc(ggml_gallocr_new_n(types, 2));  // two slots: it may not plan by itself
    const auto build = [](Graph& g, int64_t bytes, bool other_structure) {
        ggml_tensor *x = g.input(bytes), *y = g.input(bytes);
        ggml_tensor* sum = g.add(x, y);
        g.finish(g.add(other_structure ? x : sum, ggml_sqr(g.ctx.get(), sum)));
    };
    Graph large, small, larger, other;
    build(large, 400, false);
    build(small, 40, false);
    build(larger, 404, false);
    build(other, 40, true);
    ASSERT_TRUE(ggml_gallocr_reserve_n(galloc.get(), large.graph, nullptr, nullptr));
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), small.graph));
    expect_placed(small);
    EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), larger.graph));
    EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), other.graph));  // as many nodes and leafs
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), large.graph));
}

TEST(GraphAlloc, MemoryIsTakenOverOnlyBetweenEqualLayouts) {
    Memory memory(kNoLimit);
    ggml_gallocr_ptr galloc(ggml_gallocr_new(memory.type));
    const auto build = [](Graph& g, int64_t rows) {
        ggml_tensor* x = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 4, rows);
        ggml_tensor* y = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 4, 1);
        for (ggml_tensor* t : {x, y}) ggml_set_input(t);
        ggml_tensor* kept = ggml_scale(g.ctx.get(), y, 2.0f);
        g.finish(g.add(x, kept));
        ggml_set_output(x);  // so that the sum looks at its second source
        return kept;
    };
    Graph same, broadcast;
    ggml_tensor* taken = build(same, 1);
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), same.graph));
    EXPECT_EQ(ggml_graph_node(same.graph, 1)->data, taken->data);
    ggml_tensor* read = build(broadcast, 3);
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), broadcast.graph));
    EXPECT_NE(ggml_graph_node(broadcast.graph, 1)->data, read->data);
}

TEST(GraphAlloc, SteadyStateCostsNoAllocation) {
    Memory memory(kNoLimit);
    ggml_gallocr_ptr galloc(ggml_gallocr_new(memory.type));
    const auto build = [](Graph& g) {
        ggml_tensor* x = g.input(64);
        ggml_tensor* y = x;
        for (int i = 0; i < 200; ++i) {
            ggml_tensor* view = ggml_reshape_2d(g.ctx.get(), y, 4, 4);
            y = g.add(ggml_reshape_1d(g.ctx.get(), ggml_sqr(g.ctx.get(), view), 16), y);
        }
        g.finish(y);
    };
    Graph warm_up;
    build(warm_up);
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), warm_up.graph));
    for (int i = 0; i < 5; ++i) {
        Graph g;
        build(g);
        const size_t before = allocations_of_this_thread();
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), g.graph));
        EXPECT_EQ(allocations_of_this_thread(), before);
    }
    // Planning again for a graph no larger costs none either.
    Graph g;
    build(g);
    const size_t before = allocations_of_this_thread();
    EXPECT_TRUE(ggml_gallocr_reserve(galloc.get(), g.graph));
    EXPECT_EQ(allocations_of_this_thread(), before);
}

}  // namespace
