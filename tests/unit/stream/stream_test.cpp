// Streams: what is run and what is skipped, refusals, cancelling, workspace, threads, plans, and no
// allocation once a graph is known.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "tenon/tenon.h"
#include "tests/support/allocations.h"
#include "tests/support/arena.h"
#include "tests/support/fake_plugin.h"

using namespace tenon;
using namespace tenon::test;

namespace {

bool last_error_names(const char* text) {
    const std::string error = tenon_last_error();
    const bool named = error.find(text) != std::string::npos;
    EXPECT_TRUE(named) << "'" << text << "' not in '" << error << "'";
    return named;
}

// x (4 floats 1 2 3 4) -> a = 2x -> b = a*a -> c = b + x, all in the arena.
struct Chain {
    ggml_context_ptr ctx = make_arena();
    ggml_tensor *x, *a, *b, *c;
    ggml_cgraph* graph;
    Chain() {
        x = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4);
        for (int i = 0; i < 4; ++i) ggml_set_f32_1d(x, i, static_cast<float>(i + 1));
        a = ggml_set_name(ggml_scale(ctx.get(), x, 2.0f), "a");
        b = ggml_set_name(ggml_sqr(ctx.get(), a), "b");
        c = ggml_set_name(ggml_add(ctx.get(), b, x), "c");
        graph = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(graph, c);
    }
    float result(int i) const { return ggml_get_f32_1d(c, i); }
};

class StreamTest : public ::testing::Test {
protected:
    void SetUp() override {
        FakeDevice& fake = fake_cpu().fake(0);
        fake.refuses = nullptr;
        fake.workspace = 0;
        fake.cacheable = true;
        fake.run_status = fake.sync_status = TENON_OK;
        fake.ran.clear();
        stream.reset(ggml_backend_cpu_init());
        tenon_clear_error();
    }
    static FakeDevice& cpu() { return fake_cpu().fake(0); }
    ggml_backend_ptr stream;
};

TEST_F(StreamTest, ComputesAGraphInAnArena) {
    Chain chain;
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_SUCCESS);
    EXPECT_FLOAT_EQ(chain.result(0), 5.0f);
    EXPECT_FLOAT_EQ(chain.result(3), 68.0f);
    EXPECT_EQ(cpu().ran, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(StreamTest, SkipsViewsUnflaggedAndEmptyNodes) {
    Chain chain;
    ggml_context* ctx = chain.ctx.get();
    ggml_tensor* view = ggml_reshape_2d(ctx, chain.c, 2, 2);
    ggml_tensor* last = ggml_set_name(ggml_sqr(ctx, view), "last");
    ggml_tensor* sentinel = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), "sentinel");
    ggml_tensor* empty =
        ggml_set_name(ggml_sqr(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 0)), "empty");
    ggml_build_forward_expand(chain.graph, last);
    ggml_graph_add_node(chain.graph, sentinel);
    ggml_build_forward_expand(chain.graph, empty);
    chain.b->flags &= ~GGML_TENSOR_FLAG_COMPUTE;
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(cpu().ran, (std::vector<std::string>{"a", "c", "last"}));

    // Only views: nothing is handed to the plugin.
    const int runs = cpu().n_runs;
    ggml_cgraph* views = ggml_new_graph(ctx);
    ggml_graph_add_node(views, view);
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), views), GGML_STATUS_SUCCESS);
    EXPECT_EQ(cpu().n_runs, runs);
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), ggml_new_graph(ctx)), GGML_STATUS_SUCCESS);
}

TEST_F(StreamTest, RunsViewsOfAGraphWithTheUseCountsOfTheWhole) {
    ggml_context_ptr ctx(ggml_init({1 << 20, nullptr, /*no_alloc=*/true}));
    ggml_tensor* x = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4);
    ggml_set_input(x);
    ggml_cgraph* graph = ggml_new_graph(ctx.get());
    ggml_tensor* a = ggml_set_name(ggml_scale(ctx.get(), x, 2.0f), "a");
    ggml_tensor* b = ggml_set_name(ggml_sqr(ctx.get(), a), "b");
    ggml_tensor* c = ggml_set_name(ggml_add(ctx.get(), b, x), "c");
    ggml_set_output(c);
    ggml_build_forward_expand(graph, c);
    ggml_build_forward_expand(graph, ggml_set_name(ggml_sqr(ctx.get(), b), "other"));
    ggml_gallocr_ptr allocator(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
    ASSERT_TRUE(ggml_gallocr_alloc_graph(allocator.get(), graph));

    ggml_cgraph part = graph_view(*graph, 0, 2);
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), &part), GGML_STATUS_SUCCESS);
    EXPECT_EQ(cpu().ran, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(cpu().last_use_counts, (std::vector<int32_t>{1, 2}));
    part = graph_view(*graph, 2, 4);
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), &part), GGML_STATUS_SUCCESS);
    EXPECT_EQ(cpu().last_use_counts, (std::vector<int32_t>{-1, 0}));  // c is observed outside
}

TEST_F(StreamTest, WhatTheApplicationGaveMemoryIsObservedOutside) {
    Chain chain;
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(cpu().last_use_counts, (std::vector<int32_t>{-1, -1, -1}));
}

TEST_F(StreamTest, RefusedNodeFailsWithItsReason) {
    Chain chain;
    cpu().refuses = [](const ggml_tensor& node) {
        return node.op == GGML_OP_SQR ? "squares are not for today" : nullptr;
    };
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("node 'b' (SQR): device 'CPU' refuses it: squares are not"));
    EXPECT_TRUE(cpu().ran.empty());
    cpu().refuses = nullptr;  // a refusal is not remembered
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_SUCCESS);
}

TEST_F(StreamTest, BrokenGraphsFailWithTheFirstCause) {
    Chain chain;
    EXPECT_EQ(ggml_backend_graph_compute(nullptr, chain.graph), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("backend is null"));
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), nullptr), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("graph is null"));

    // A builder that failed inside: its words come first, not the graph's.
    ggml_tensor* bad =
        ggml_add(chain.ctx.get(), chain.x, ggml_new_tensor_1d(chain.ctx.get(), GGML_TYPE_F32, 3));
    EXPECT_EQ(bad, nullptr);
    ggml_build_forward_expand(chain.graph, bad);
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_FAILED);
    EXPECT_STRNE(tenon_last_error(), "");
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("incomplete"));
    EXPECT_TRUE(cpu().ran.empty());
}

TEST_F(StreamTest, NodesWithoutTheirSourcesNeverReachThePlugin) {
    Chain chain;
    cpu().n_queried = 0;
    chain.b->src[0] = nullptr;
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("node 'b' (SQR): source 0 of 1 is null"));
    EXPECT_FALSE(ggml_backend_supports_op(stream.get(), chain.b));
    EXPECT_EQ(cpu().n_queried, 0);
    EXPECT_TRUE(cpu().ran.empty());
}

TEST_F(StreamTest, AStreamThatComputesRefusesASecondGraph) {
    struct Nested {
        ggml_backend_t stream;
        Chain inner;
        int n_refused = 0;
    } nested{stream.get(), {}};
    const auto compute_inside = [](void* data) {
        auto& n = *static_cast<Nested*>(data);
        n.n_refused += ggml_backend_graph_compute(n.stream, n.inner.graph) == GGML_STATUS_FAILED;
        return false;
    };
    ggml_backend_cpu_set_abort_callback(stream.get(), compute_inside, &nested);
    Chain chain;
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(nested.n_refused, 3);
    EXPECT_TRUE(last_error_names("backend 'CPU' computes another graph already"));
    EXPECT_FLOAT_EQ(chain.result(3), 68.0f);
    EXPECT_EQ(cpu().ran, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(StreamTest, StridesOfAViewMustStayInsideWhatIsViewed) {
    Chain chain;
    ggml_context* ctx = chain.ctx.get();
    const auto compute = [&](size_t stride) {
        ggml_tensor* view = ggml_view_2d(ctx, chain.x, 1, 2, stride, 4);
        ggml_cgraph* graph = ggml_new_graph(ctx);
        ggml_build_forward_expand(graph, ggml_set_name(ggml_scale(ctx, view, 2.0f), "scaled"));
        return ggml_backend_graph_compute(stream.get(), graph);
    };
    EXPECT_EQ(compute(8), GGML_STATUS_SUCCESS) << tenon_last_error();
    EXPECT_EQ(compute(12), GGML_STATUS_FAILED);
    EXPECT_TRUE(
        last_error_names("node 'scaled' (SCALE): view 'leaf_0 (view)': 16 bytes at 4 are outside "
                         "of 16 bytes"));
    EXPECT_EQ(compute(SIZE_MAX - 3), GGML_STATUS_FAILED);
}

TEST_F(StreamTest, TensorsWithoutMemoryAreNotComputed) {
    Chain chain;
    chain.x->data = nullptr;
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("node 'a' (SCALE): source 0 has no memory"));
    Chain other;
    other.b->data = nullptr;
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), other.graph), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("its result has no memory"));
}

TEST_F(StreamTest, MemoryOfAnotherDeviceIsNotComputedOn) {
    FakePlugin& plugin =
        FakePlugin::make("ELSEWHERE", {FakeDevice{.name = "Else0", .bufts = {{"Else0"}}}});
    plugin.load();
    {
        Chain chain;
        ggml_backend_buffer_ptr buffer(
            ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(plugin.device(0)), 64));
        chain.x->buffer = buffer.get();
        chain.x->data = ggml_backend_buffer_get_base(buffer.get());
        EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_FAILED);
        EXPECT_TRUE(last_error_names("device 'CPU' cannot use source 0, which lies in Else0"));
        ggml_backend_ptr gpu(ggml_backend_dev_init(plugin.device(0), nullptr));
        EXPECT_EQ(ggml_backend_graph_compute(gpu.get(), chain.graph), GGML_STATUS_FAILED);
        EXPECT_TRUE(last_error_names("cannot use its result, which lies in memory of a context"));
    }
    EXPECT_TRUE(plugin.unload());
}

TEST_F(StreamTest, AbortsAfterEachNode) {
    Chain chain;
    struct Countdown {
        int left;
        static bool stop(void* data) { return static_cast<Countdown*>(data)->left-- == 0; }
    };
    for (int stop_after = 0; stop_after < 3; ++stop_after) {
        Countdown countdown{stop_after};
        cpu().ran.clear();
        ggml_backend_cpu_set_abort_callback(stream.get(), Countdown::stop, &countdown);
        EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_ABORTED);
        EXPECT_EQ(cpu().ran.size(), static_cast<size_t>(stop_after) + 1);
        EXPECT_STREQ(tenon_last_error(), "");  // it was asked for
    }
    ggml_backend_cpu_set_abort_callback(stream.get(), nullptr, nullptr);
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_SUCCESS);
    EXPECT_FLOAT_EQ(chain.result(3), 68.0f);
}

TEST_F(StreamTest, StatusesAreToldApart) {
    Chain chain;
    cpu().run_status = TENON_E_NO_DEVICE_MEMORY;
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_ALLOC_FAILED);
    EXPECT_TRUE(last_error_names("the kernel failed"));
    cpu().run_status = TENON_E_DEVICE_LOST;
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_FAILED);
    cpu().run_status = TENON_OK;
    tenon_clear_error();

    // A failure of queued work: told by compute, or after synchronize by the next call with a
    // status.
    cpu().sync_status = TENON_E_DEVICE_LOST;
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("the queued work failed"));
    cpu().sync_status = TENON_E_DEVICE_LOST;
    ggml_backend_synchronize(stream.get());
    EXPECT_EQ(ggml_backend_graph_compute_async(stream.get(), chain.graph), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_backend_graph_compute_async(stream.get(), chain.graph), GGML_STATUS_SUCCESS);
    tenon_clear_error();
}

TEST_F(StreamTest, HandsOverTheWorkspaceThatVerdictsAskedFor) {
    Chain chain;
    cpu().workspace = 1000;
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_SUCCESS);
    EXPECT_GE(cpu().last_workspace_size, 1000u);
    EXPECT_FLOAT_EQ(chain.result(3), 68.0f);  // the fake scribbles over all of it

    FakeBuft type{.name = "Work0"};
    FakePlugin& plugin =
        FakePlugin::make("WORK", {FakeDevice{.name = "Work0", .bufts = {type}, .workspace = 300}});
    plugin.load();
    {
        ggml_backend_ptr gpu(ggml_backend_dev_init(plugin.device(0), nullptr));
        const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
        ggml_tensor* y = ggml_sqr(ctx.get(), ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8));
        ggml_cgraph* graph = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(graph, y);
        ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(ctx.get(), gpu.get()));
        EXPECT_EQ(ggml_backend_graph_compute(gpu.get(), graph), GGML_STATUS_SUCCESS);
        EXPECT_GE(plugin.fake(0).last_workspace_size, 300u);
        EXPECT_EQ(plugin.fake(0).last_threads, 0u);  // it runs on no host threads
    }
    EXPECT_TRUE(plugin.unload());
}

TEST_F(StreamTest, AsksTheDeviceOncePerKindOfGraph) {
    Chain chain, same;
    cpu().n_queried = 0;
    ggml_backend_graph_compute(stream.get(), chain.graph);
    EXPECT_EQ(cpu().n_queried, 3);
    ggml_backend_graph_compute(stream.get(), chain.graph);
    ggml_backend_graph_compute(stream.get(), same.graph);  // other tensors of the same shapes
    EXPECT_EQ(cpu().n_queried, 3);
    chain.c->op_params[0] = 1;
    ggml_backend_graph_compute(stream.get(), chain.graph);
    EXPECT_EQ(cpu().n_queried, 6);
    cpu().cacheable = false;
    same.c->op_params[0] = 2;
    ggml_backend_graph_compute(stream.get(), same.graph);
    ggml_backend_graph_compute(stream.get(), same.graph);
    EXPECT_EQ(cpu().n_queried, 12);  // every time
    same.graph->uid = fresh_graph_uid();
    ggml_backend_graph_compute(stream.get(), same.graph);
    ggml_backend_graph_compute(stream.get(), same.graph);
    EXPECT_EQ(cpu().n_queried, 15);  // the uid says that nothing changed
    EXPECT_EQ(cpu().last_uid, same.graph->uid);
}

TEST_F(StreamTest, KnownGraphsCostNoAllocation) {
    Chain first, second;
    cpu().workspace = 100;
    ggml_backend_cpu_set_n_threads(stream.get(), 2);
    first.graph->uid = fresh_graph_uid();
    for (int i = 0; i < 3; ++i) {
        ggml_backend_graph_compute(stream.get(), first.graph);
        ggml_backend_graph_compute(stream.get(), second.graph);
    }
    const size_t before = allocations_of_this_thread();
    for (int i = 0; i < 100; ++i) {
        cpu().ran.clear();
        ggml_backend_graph_compute(stream.get(), first.graph);
        ggml_backend_graph_compute(stream.get(), second.graph);
    }
    EXPECT_EQ(allocations_of_this_thread(), before);
    EXPECT_FLOAT_EQ(second.result(3), 68.0f);
}

TEST_F(StreamTest, SurvivesEveryFailingAllocation) {
    Chain chain;
    cpu().workspace = 100;
    for (int64_t n = 0;; ++n) {
        ggml_backend_ptr fresh(ggml_backend_cpu_init());
        ggml_backend_cpu_set_n_threads(fresh.get(), 1);
        g_allocations_until_bad = n;
        const ggml_status status = ggml_backend_graph_compute(fresh.get(), chain.graph);
        const bool failed = g_allocations_until_bad.exchange(-1) < 0;
        if (!failed) {
            EXPECT_EQ(status, GGML_STATUS_SUCCESS);
            break;
        }
        EXPECT_NE(status, GGML_STATUS_ABORTED);
        ASSERT_LT(n, 1000);
    }
    tenon_clear_error();
}

TEST_F(StreamTest, UsesTheThreadsItWasGiven) {
    Chain chain;
    for (const int n : {1, 3, 2}) {
        ggml_backend_cpu_set_n_threads(stream.get(), n);
        ggml_backend_graph_compute(stream.get(), chain.graph);
        EXPECT_EQ(cpu().last_threads, static_cast<uint32_t>(n));
    }
    ggml_threadpool_params params = ggml_threadpool_params_default(2);
    params.poll = 0;
    ggml_threadpool* pool = ggml_threadpool_new(&params);
    ggml_backend_cpu_set_threadpool(stream.get(), pool);
    for (const int n : {5, 0}) {  // more than it has; as many as it has
        ggml_backend_cpu_set_n_threads(stream.get(), n);
        EXPECT_EQ(ggml_backend_graph_compute(stream.get(), chain.graph), GGML_STATUS_SUCCESS);
        EXPECT_EQ(cpu().last_threads, 2u);
    }
    ggml_backend_cpu_set_threadpool(stream.get(), nullptr);
    ggml_threadpool_free(pool);
    ggml_backend_cpu_set_use_ref(stream.get(), true);
    ggml_backend_graph_compute(stream.get(), chain.graph);
    EXPECT_EQ(cpu().last_flags, TENON_RUN_REFERENCE);
}

TEST_F(StreamTest, SettersAreForTheCpuOnly) {
    FakePlugin& plugin =
        FakePlugin::make("NOTCPU", {FakeDevice{.name = "NotCpu0", .bufts = {{"NotCpu0"}}}});
    plugin.load();
    {
        ggml_backend_ptr gpu(ggml_backend_dev_init(plugin.device(0), nullptr));
        EXPECT_FALSE(ggml_backend_is_cpu(gpu.get()));
        EXPECT_FALSE(ggml_backend_is_cpu(nullptr));
        EXPECT_TRUE(ggml_backend_is_cpu(stream.get()));
        ggml_backend_cpu_set_n_threads(gpu.get(), 3);
        EXPECT_TRUE(last_error_names("NotCpu0"));
        ggml_backend_cpu_set_threadpool(nullptr, nullptr);
        EXPECT_TRUE(last_error_names("NULL"));
        EXPECT_FALSE(
            ggml_guid_matches(ggml_backend_guid(gpu.get()), ggml_backend_guid(stream.get())));
    }
    const uint8_t cpu_guid[] = {0xaa, 0x67, 0xc7, 0x43, 0x96, 0xe6, 0xa3, 0x8a,
                                0xe3, 0xaf, 0xea, 0x92, 0x36, 0xbc, 0xfc, 0x89};
    EXPECT_EQ(std::memcmp(ggml_backend_guid(stream.get()), cpu_guid, 16), 0);
    EXPECT_EQ(ggml_backend_guid(nullptr), nullptr);
    EXPECT_TRUE(plugin.unload());
}

TEST_F(StreamTest, PlansOutliveTheirGraph) {
    Chain chain;
    ggml_cgraph* graph = ggml_new_graph(chain.ctx.get());
    ggml_build_forward_expand(graph, chain.c);
    ggml_backend_graph_plan_t plan = ggml_backend_graph_plan_create(stream.get(), graph);
    ASSERT_NE(plan, nullptr);
    ggml_graph_clear(graph);
    for (int i = 0; i < 2; ++i) {
        ggml_set_f32(chain.c, 0.0f);
        EXPECT_EQ(ggml_backend_graph_plan_compute(stream.get(), plan), GGML_STATUS_SUCCESS);
        EXPECT_FLOAT_EQ(chain.result(1), 18.0f);
    }
    EXPECT_NE(cpu().last_uid, 0u);
    ggml_backend_ptr other(ggml_backend_cpu_init());
    EXPECT_EQ(ggml_backend_graph_plan_compute(other.get(), plan), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("another backend"));
    EXPECT_EQ(ggml_backend_graph_plan_compute(stream.get(), nullptr), GGML_STATUS_FAILED);
    ggml_backend_graph_plan_free(stream.get(), plan);
    ggml_backend_graph_plan_free(stream.get(), nullptr);
    EXPECT_EQ(ggml_backend_graph_plan_create(nullptr, graph), nullptr);
    tenon_clear_error();
}

TEST_F(StreamTest, ReplayingDevicesLearnThatNothingMoved) {
    FakePlugin& plugin =
        FakePlugin::make("REPLAY", {FakeDevice{.name = "Replay0", .bufts = {{"Replay0"}}}});
    plugin.load();
    {
        ggml_backend_ptr gpu(ggml_backend_dev_init(plugin.device(0), nullptr));
        const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
        ggml_tensor* y = ggml_sqr(ctx.get(), ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8));
        ggml_cgraph* graph = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(graph, y);
        ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(ctx.get(), gpu.get()));
        const auto flags = [&] {
            EXPECT_EQ(ggml_backend_graph_compute(gpu.get(), graph), GGML_STATUS_SUCCESS);
            return plugin.fake(0).last_graph_flags;
        };
        EXPECT_EQ(flags(), 0u);
        EXPECT_EQ(flags(), 0u);  // without uid nothing is promised
        graph->uid = fresh_graph_uid();
        EXPECT_EQ(flags(), 0u);
        EXPECT_EQ(flags(), TENON_GRAPH_SAME_DATA);
        std::swap(y->data, y->src[0]->data);
        EXPECT_EQ(flags(), 0u);
        EXPECT_EQ(flags(), TENON_GRAPH_SAME_DATA);
    }
    EXPECT_TRUE(plugin.unload());
}

}  // namespace
