// What a plugin is asked: nodes that keep the rules of their op, in an order in which they can be
// computed. All else ends in the core, in words.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "tenon/op_params.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"
#include "tests/support/emulated.h"
#include "tests/support/fake_plugin.h"

using namespace tenon;
using namespace tenon::test;

namespace {

std::string last_error() {
    const std::string text = tenon_last_error();
    tenon_clear_error();
    return text;
}

class Judge : public ::testing::Test {
protected:
    void SetUp() override {
        fake().refuses = nullptr;
        fake().workspace = 0;
        fake().cacheable = true;
        fake().run_status = fake().sync_status = TENON_OK;
        fake().ran.clear();
        stream.reset(ggml_backend_cpu_init());
        tenon_clear_error();
        x = f32(8, 4);
    }
    static FakeDevice& fake() { return fake_cpu().fake(0); }

    ggml_tensor* f32(int64_t ne0, int64_t ne1 = 1) {
        ggml_tensor* t = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, ne0, ne1);
        ggml_set_zero(t);
        return t;
    }
    ggml_tensor* sqr(ggml_tensor* a, const char* name) {
        return ggml_set_name(ggml_sqr(ctx.get(), a), name);
    }
    ggml_cgraph* graph_of(std::initializer_list<ggml_tensor*> results) {
        ggml_cgraph* graph = ggml_new_graph(ctx.get());
        for (ggml_tensor* t : results) ggml_build_forward_expand(graph, t);
        return graph;
    }
    ggml_status compute(ggml_cgraph* graph) {
        return ggml_backend_graph_compute(stream.get(), graph);
    }
    // Refused with this text, before the plugin was asked about any node.
    void expect_refused(ggml_tensor* node, const char* text) {
        SCOPED_TRACE(text);
        const int asked = fake().n_queried, runs = fake().n_runs;
        EXPECT_FALSE(ggml_backend_supports_op(stream.get(), node));
        EXPECT_EQ(last_error(), "");  // a "no" is an answer
        ggml_cgraph* graph = ggml_new_graph(ctx.get());
        node->flags |= GGML_TENSOR_FLAG_COMPUTE;
        ggml_graph_add_node(graph, node);
        EXPECT_EQ(compute(graph), GGML_STATUS_FAILED);
        const std::string why = last_error();
        EXPECT_NE(why.find(text), std::string::npos) << why;
        ggml_graph_plan(graph, 1, nullptr);
        EXPECT_NE(last_error(), "");
        EXPECT_EQ(fake().n_queried, asked);
        EXPECT_EQ(fake().n_runs, runs);
    }

    ggml_context_ptr ctx = make_arena(size_t{4} << 20);
    ggml_backend_ptr stream;
    ggml_tensor* x;
};

TEST_F(Judge, NodesThatBreakARuleNeverReachAPlugin) {
    ggml_tensor* shape = sqr(x, "shape");
    shape->ne[1] = 40;
    expect_refused(shape, "it is f32 [8, 40, 1, 1], must be f32 [8, 4, 1, 1]");

    ggml_tensor* source = ggml_add(ctx.get(), x, x);
    source->src[1] = nullptr;
    expect_refused(source, "source 1 of 2 is null");

    ggml_tensor* type = sqr(f32(8), "type");
    type->src[0]->type = static_cast<ggml_type>(99);
    expect_refused(type, "has type 99, which does not exist");

    ggml_tensor* parameter = ggml_norm(ctx.get(), x, 0.0f);
    const tenon_norm_params negative{-1.0f};
    std::memcpy(parameter->op_params, &negative, sizeof negative);
    expect_refused(parameter, "eps is -1");

    ggml_tensor* function = ggml_map_custom1(
        ctx.get(), x, [](ggml_tensor*, const ggml_tensor*, int, int, void*) {}, 1, nullptr);
    std::memset(function->op_params, 0, sizeof function->op_params);
    expect_refused(function, "the function is NULL");

    ggml_tensor* outside = ggml_view_2d(ctx.get(), x, 8, 4, 40, 0);
    expect_refused(sqr(outside, "outside"), "152 bytes at 0");

    ggml_tensor* blocks = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_Q8_0, 32, 32);
    expect_refused(ggml_cont(ctx.get(), ggml_transpose(ctx.get(), blocks)), "on its side");

    ggml_tensor* unknown = sqr(x, "unknown");
    unknown->op = static_cast<ggml_op>(500);
    expect_refused(unknown, "there is no op 500");
}

TEST_F(Judge, ANodeSpoiledAfterARunIsRefusedAlthoughTheGraphWasKnown) {
    ggml_tensor* y = sqr(x, "y");
    ggml_cgraph* graph = graph_of({y});
    ASSERT_EQ(compute(graph), GGML_STATUS_SUCCESS) << tenon_last_error();
    const int asked = fake().n_queried;
    ASSERT_EQ(compute(graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(fake().n_queried, asked);  // known: neither rules nor device are asked again
    y->nb[1] = 16;
    EXPECT_EQ(compute(graph), GGML_STATUS_FAILED);
    EXPECT_NE(last_error().find("elements of the result overlap"), std::string::npos);
    y->nb[1] = 32;
    ASSERT_EQ(compute(graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(fake().n_queried, asked);
}

TEST_F(Judge, ANodeThatReadsALaterOneIsRefusedEvenInAGraphThatLooksKnown) {
    ggml_tensor* a = sqr(x, "a");
    ggml_tensor* b =
        sqr(a, "b");  // of one op, type and shape: only who reads whom tells them apart
    ggml_tensor* c = sqr(b, "c");
    ggml_cgraph* graph = graph_of({c});
    ASSERT_EQ(compute(graph), GGML_STATUS_SUCCESS) << tenon_last_error();
    std::swap(graph->nodes[0], graph->nodes[1]);
    EXPECT_EQ(compute(graph), GGML_STATUS_FAILED);
    EXPECT_NE(last_error().find("node 'b' (SQR) reads 'a' (SQR), which comes after it"),
              std::string::npos);
    std::swap(graph->nodes[0], graph->nodes[1]);
    EXPECT_EQ(compute(graph), GGML_STATUS_SUCCESS);

    ggml_cgraph* by_hand = ggml_new_graph(ctx.get());
    for (ggml_tensor* t : {b, a, c}) ggml_graph_add_node(by_hand, t);
    EXPECT_EQ(compute(by_hand), GGML_STATUS_FAILED);
    EXPECT_NE(last_error().find("reads 'a'"), std::string::npos);
}

TEST_F(Judge, AGraphThatMovedIsKnownAgain) {
    int asked = 0;
    for (int i = 0; i < 3; ++i) {
        const auto moving = make_arena(size_t{1} << (18 + i));
        ggml_tensor* y = ggml_sqr(moving.get(), ggml_reshape_1d(moving.get(), x, 32));
        ggml_cgraph* graph = ggml_new_graph(moving.get());
        ggml_build_forward_expand(graph, ggml_sqr(moving.get(), y));
        ASSERT_EQ(compute(graph), GGML_STATUS_SUCCESS) << tenon_last_error();
        if (i > 0) EXPECT_EQ(fake().n_queried, asked) << i;
        asked = fake().n_queried;
    }
}

TEST_F(Judge, ACycleIsAnErrorWheneverItWasMade) {
    ggml_tensor* a = sqr(x, "a");
    ggml_tensor* view = ggml_set_name(ggml_view_tensor(ctx.get(), a), "view");
    ggml_tensor* b = sqr(ggml_reshape_2d(ctx.get(), a, 8, 4), "b");
    ggml_cgraph* graph = graph_of({b});
    ASSERT_EQ(compute(graph), GGML_STATUS_SUCCESS) << tenon_last_error();
    (void)view;

    a->src[0] = b;  // after expansion: the list is as it was
    EXPECT_EQ(compute(graph), GGML_STATUS_FAILED);
    EXPECT_NE(last_error().find("node 'a' (SQR) reads 'b' (SQR)"), std::string::npos);
    ggml_cgraph* again = graph_of({b});  // before it
    EXPECT_NE(last_error().find("the graph has a cycle"), std::string::npos);
    EXPECT_EQ(compute(again), GGML_STATUS_FAILED);
    EXPECT_NE(last_error().find("incomplete"), std::string::npos);
    ggml_cgraph* by_hand = ggml_new_graph(ctx.get());
    for (ggml_tensor* t : {a, b->src[0], b}) ggml_graph_add_node(by_hand, t);
    EXPECT_EQ(compute(by_hand), GGML_STATUS_FAILED);
    EXPECT_NE(last_error(), "");

    a->src[0] = a;
    EXPECT_EQ(compute(graph), GGML_STATUS_FAILED);
    EXPECT_NE(last_error().find("is its own source"), std::string::npos);
    graph_of({a});
    EXPECT_NE(last_error().find("node 'a' (SQR) is its own source"), std::string::npos);
    ggml_cgraph* alone = ggml_new_graph(ctx.get());
    ggml_graph_add_node(alone, a);
    EXPECT_NE(last_error().find("is its own source"), std::string::npos);
    EXPECT_EQ(compute(alone), GGML_STATUS_FAILED);
    tenon_clear_error();

    a->src[0] = x;
    EXPECT_EQ(compute(graph), GGML_STATUS_SUCCESS) << tenon_last_error();
}

TEST_F(Judge, NodesOfSeveralContextsAreInOrderWhereverTheyLie) {
    const auto other = make_arena(), third = make_arena();
    ggml_tensor* a = sqr(x, "a");
    ggml_tensor* b = ggml_sqr(other.get(), a);
    ggml_tensor* c = ggml_sqr(third.get(), b);
    ggml_tensor* d = sqr(c, "d");
    ggml_cgraph* graph = graph_of({d});
    EXPECT_EQ(compute(graph), GGML_STATUS_SUCCESS) << tenon_last_error();
    const int asked = fake().n_queried;
    EXPECT_EQ(compute(graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(fake().n_queried, asked);
}

TEST_F(Judge, ViewsThatReachOutOfTheirTensorHurtNobodyWhileTheyAreNotRead) {
    constexpr int64_t n = 4;
    constexpr size_t step = (2 * n + 1) * 4;  // row i begins at column i of rows of 2n
    const auto graph_ctx = make_arena(size_t{1} << 20, /*no_alloc=*/true);
    ggml_context* c = graph_ctx.get();
    ggml_tensor* base = ggml_new_tensor_2d(c, GGML_TYPE_F32, 2 * n, n);
    ggml_tensor* wide = ggml_view_2d(c, base, 2 * n - 1, n, step, 0);
    ggml_tensor* shifted = ggml_view_2d(c, wide, n, n, step, 0);
    ggml_tensor* y = ggml_sqr(c, shifted);
    ggml_tensor* bad = ggml_sqr(c, wide);
    const ggml_backend_buffer_ptr memory(ggml_backend_alloc_ctx_tensors(c, stream.get()));
    ASSERT_NE(memory, nullptr) << tenon_last_error();
    std::vector<float> values(2 * n * n);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    ggml_backend_tensor_set(base, values.data(), 0, values.size() * 4);
    EXPECT_EQ(compute(graph_of({y})), GGML_STATUS_SUCCESS) << tenon_last_error();
    EXPECT_EQ(compute(graph_of({bad})), GGML_STATUS_FAILED);
    EXPECT_NE(last_error().find("136 bytes at 0 are outside of 128 bytes"), std::string::npos);

    // Nor can its bytes be read or written where there are none.
    std::vector<float> back(2 * n * n + 8);
    ggml_backend_tensor_get(wide, back.data(), 0, 128);
    EXPECT_EQ(last_error(), "");
    EXPECT_EQ(back, [&] {
        auto want = values;
        want.resize(back.size());
        return want;
    }());
    ggml_backend_tensor_get(wide, back.data(), 0, ggml_nbytes(wide));
    EXPECT_NE(last_error().find("outside of the 128 bytes"), std::string::npos);
    ggml_backend_tensor_set(wide, back.data(), 128, 4);
    EXPECT_NE(last_error(), "");
    ggml_backend_tensor_memset(wide, 0, 120, 16);
    EXPECT_NE(last_error(), "");
    ggml_set_zero(wide);
    EXPECT_NE(last_error(), "");
    EXPECT_EQ(ggml_get_f32_nd(wide, 2 * n - 2, n - 1, 0, 0), 0.0f);
    EXPECT_NE(last_error(), "");
    ggml_tensor* same = ggml_set_name(ggml_dup_tensor(ctx.get(), wide), "same");
    std::memcpy(same->nb, wide->nb, sizeof same->nb);
    ggml_backend_tensor_copy(wide, same);
    EXPECT_NE(last_error().find("outside of 128 bytes"), std::string::npos);
}

// An application that gets "no" prints its own guess; the log has the reason for who asks.
TEST_F(Judge, ARefusalIsInTheLogForWhoAsks) {
    if (test::kEmulated) GTEST_SKIP() << "an emulator cannot run the test program anew";
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // TENON_LOG is read once per process
    fake().refuses = [](const ggml_tensor&) { return "it has no kernel"; };
    ggml_tensor* broken = sqr(x, "broken");
    broken->ne[1] = 40;
    const auto ask = [&] {
        ggml_backend_supports_op(stream.get(), sqr(x, "whole"));
        ggml_backend_supports_op(stream.get(), broken);
        std::exit(0);
    };
    ::setenv("TENON_LOG", "debug", 1);
    EXPECT_EXIT(ask(), testing::ExitedWithCode(0),
                "device 'CPU' does not compute node 'whole' .SQR.: it has no kernel\n"
                ".*node 'broken' .SQR.: it is f32 .8, 40, 1, 1., must be f32 .8, 4, 1, 1.");
    ::setenv("TENON_LOG", "info", 1);
    EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "^$");
    ::unsetenv("TENON_LOG");
}

}  // namespace
