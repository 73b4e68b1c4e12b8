// Where programs written to ggml expect their nodes: the same assignments and splits, case by case.

#include "tests/unit/placement/fixture.h"

namespace tenon::test {
namespace {

using PlacementScenarios = PlacementTest;

const char* refuse_relu(const ggml_tensor& node) {
    return node.op == GGML_OP_UNARY ? "no unary kernel" : nullptr;
}

TEST_F(PlacementScenarios, OneLayerOnADeviceKeepsEverythingThere) {
    schedule({kM0, kM1});
    ggml_tensor* w = placed(kM0, "w0", 8, 8);
    ggml_tensor* x = named(ggml_scale(ctx.get(), layer(input("x", 8, 2), w, 0), 2.0f), "scale");
    ggml_tensor* view = named(ggml_view_2d(ctx.get(), x, 8, 1, x->nb[1], 0), "view");
    ggml_cgraph* graph = graph_of({named(ggml_sqr(ctx.get(), view), "sqr")});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(assignment(graph), "n0:M0 mm0:M0 re0:M0 scale:M0 sqr:M0");
    EXPECT_EQ(n_splits(), 1);
    EXPECT_EQ(split(0).n_copies, 1u);
    EXPECT_EQ(split(0).copy_bytes, 64u);
    EXPECT_EQ(buffer_size(kM0), 128u);
    EXPECT_EQ(buffer_size(kCpu), 64u);
}

TEST_F(PlacementScenarios, NormStaysWithThePreviousLayer) {
    schedule({kM0, kM1});
    ggml_tensor* x = layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0);
    ggml_cgraph* graph = graph_of({layer(x, placed(kM1, "w1", 8, 8), 1)});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(assignment(graph), "n0:M0 mm0:M0 re0:M0 n1:M0 mm1:M1 re1:M1");
    EXPECT_EQ(n_splits(), 2);
}

TEST_F(PlacementScenarios, AcceleratorsPullNodesBackFromTheCpu) {
    schedule({kM0});
    ggml_tensor* x = layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0);
    x = layer(x, placed(kCpu, "w1", 8, 8), 1);
    ggml_cgraph* graph = graph_of({layer(x, placed(kM0, "w2", 8, 8), 2)});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(assignment(graph), "n0:M0 mm0:M0 re0:M0 n1:M0 mm1:CPU re1:M0 n2:M0 mm2:M0 re2:M0");
    EXPECT_EQ(n_splits(), 3);
}

TEST_F(PlacementScenarios, LayersBeforeTheFirstDeviceWeightStayOnTheCpu) {
    schedule({kM0});
    ggml_tensor* x = layer(input("x", 8, 2), placed(kCpu, "w0", 8, 8), 0);
    x = layer(x, placed(kCpu, "w1", 8, 8), 1);
    ggml_cgraph* graph = graph_of({layer(x, placed(kM0, "w2", 8, 8), 2)});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(assignment(graph),
              "n0:CPU mm0:CPU re0:CPU n1:CPU mm1:CPU re1:M0 n2:M0 mm2:M0 re2:M0");
    EXPECT_EQ(n_splits(), 2);
}

TEST_F(PlacementScenarios, RefusedNodesRunOnTheCpu) {
    g_mock[kM0].refuses = refuse_relu;
    schedule({kM0});
    ggml_tensor* x = layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0);
    ggml_tensor* last = layer(x, placed(kM0, "w1", 8, 8), 1);
    ggml_cgraph* graph = graph_of({last});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(assignment(graph), "n0:M0 mm0:M0 re0:CPU n1:M0 mm1:M0 re1:CPU");
    EXPECT_EQ(n_splits(), 4);
    const tenon_placement_node record = why(graph, last);
    EXPECT_STREQ(record.reason, "refused");
    EXPECT_STREQ(record.detail, "M0: no unary kernel (not-implemented)");
    EXPECT_STREQ(record.op, "RELU");
    EXPECT_EQ(record.split, 3);
    EXPECT_EQ(record.n_copies, 1u);
}

TEST_F(PlacementScenarios, OffloadFollowsTheDevicesWish) {
    for (const int64_t batch : {2, 32}) {
        SCOPED_TRACE(batch);
        g_mock[kM0].wants = [](const ggml_tensor& node) {
            return node.op == GGML_OP_MUL_MAT && node.ne[1] >= 32;
        };
        ctx = context();
        schedule({kM0}, /*op_offload=*/true);
        ggml_tensor* x = layer(input("x", 8, batch), placed(kCpu, "w0", 8, 8), 0);
        ggml_cgraph* graph = graph_of({layer(x, placed(kCpu, "w1", 8, 8), 1)});
        ASSERT_TRUE(alloc(graph)) << tenon_last_error();
        if (batch == 2) {
            EXPECT_EQ(assignment(graph), "n0:CPU mm0:CPU re0:CPU n1:CPU mm1:CPU re1:CPU");
            EXPECT_EQ(n_splits(), 1);
        } else {
            EXPECT_EQ(assignment(graph), "n0:M0 mm0:M0 re0:M0 n1:M0 mm1:M0 re1:M0");
            EXPECT_EQ(n_splits(), 3);
            EXPECT_STREQ(why(graph, ggml_graph_node(graph, 1)).reason, "cheaper");
            for (size_t i = 0; i < 3; i++) EXPECT_EQ(split(i).n_copies, 1u);
        }
    }
}

TEST_F(PlacementScenarios, OffloadedExpertsAreOneSplit) {
    g_mock[kM0].wants = [](const ggml_tensor& node) { return node.op == GGML_OP_MUL_MAT_ID; };
    schedule({kM0}, /*op_offload=*/true);
    ggml_tensor* w = placed(kCpu, "wexp", 8, 8, 4);
    ggml_tensor* x = named(ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, 8, 1, 3), "x");
    ggml_tensor* ids = named(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I32, 2, 3), "ids");
    ggml_set_input(x);
    ggml_set_input(ids);
    ggml_tensor* y = named(ggml_mul_mat_id(ctx.get(), w, x, ids), "mmid");
    ggml_cgraph* graph = graph_of({named(ggml_scale(ctx.get(), y, 2.0f), "scale")});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(assignment(graph), "mmid:M0 scale:M0");
    EXPECT_EQ(n_splits(), 1);
    EXPECT_EQ(split(0).n_copies, 3u);
}

TEST_F(PlacementScenarios, PinsWin) {
    schedule({kM0, kM1});
    ggml_tensor* x = layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0);
    ggml_tensor* last = layer(x, placed(kM1, "w1", 8, 8), 1);
    ggml_cgraph* graph = graph_of({last});
    ggml_backend_sched_set_tensor_backend(sched.get(), ggml_graph_node(graph, 3), mocks[kM1]);
    ggml_backend_sched_set_tensor_backend(sched.get(), last, mocks[kCpu]);
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(assignment(graph), "n0:M0 mm0:M0 re0:M0 n1:M1 mm1:M1 re1:CPU");
    EXPECT_EQ(n_splits(), 3);
    EXPECT_STREQ(why(graph, last).reason, "user");
}

TEST_F(PlacementScenarios, WritersIntoPlacedMemoryRunThere) {
    schedule({kM0});
    ggml_tensor* cache = placed(kM0, "kv", 8, 2, 1, GGML_BACKEND_BUFFER_USAGE_ANY);
    ggml_tensor* x = layer(input("x", 8, 2), placed(kCpu, "w", 8, 8), 0);
    ggml_tensor* copied = named(ggml_cpy(ctx.get(), x, cache), "cpy");
    ggml_cgraph* graph = graph_of({named(ggml_sqr(ctx.get(), copied), "sqr")});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(assignment(graph), "n0:CPU mm0:CPU re0:M0 cpy:M0 sqr:M0");
    EXPECT_STREQ(why(graph, copied).reason, "output");
}

TEST_F(PlacementScenarios, AcceleratorInHostMemoryNeedsNoCopies) {
    g_mock[kAcc].refuses = [](const ggml_tensor& node) {
        return node.op == GGML_OP_MUL_MAT ? nullptr : "no kernel";
    };
    schedule({kAcc});
    ggml_tensor* x = layer(input("x", 8, 2), placed(kCpu, "w0", 8, 8), 0);
    ggml_cgraph* graph = graph_of({layer(x, placed(kCpu, "w1", 8, 8), 1)});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(assignment(graph), "n0:CPU mm0:ACC re0:CPU n1:CPU mm1:ACC re1:CPU");
    EXPECT_EQ(n_splits(), 5);
    for (size_t i = 0; i < 5; i++) EXPECT_EQ(split(i).n_copies, 0u);
    EXPECT_GT(buffer_size(kAcc), 0u);
    EXPECT_EQ(buffer_size(kCpu), 0u);
}

TEST_F(PlacementScenarios, NodesWithoutWeightsFollowTheirInput) {
    schedule({kM0});
    ggml_cgraph* graph = graph_of({named(ggml_relu(ctx.get(), input("x", 8, 2)), "re")});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(assignment(graph), "re:CPU");
    EXPECT_EQ(n_splits(), 1);
}

TEST_F(PlacementScenarios, UnsupportedWriteIntoPlacedMemoryFailsWithTheReason) {
    g_mock[kM0].refuses = [](const ggml_tensor& node) {
        return node.op == GGML_OP_CPY ? "cannot copy" : nullptr;
    };
    schedule({kM0});
    ggml_tensor* cache = placed(kM0, "kv", 8, 2, 1, GGML_BACKEND_BUFFER_USAGE_ANY);
    ggml_cgraph* graph = graph_of({named(ggml_cpy(ctx.get(), input("x", 8, 2), cache), "cpy")});
    EXPECT_FALSE(alloc(graph));
    const std::string text = tenon_last_error();
    for (const char* part : {"cpy", "CPY", "buffer type M0", "cannot copy"}) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_FAILED);
}

TEST_F(PlacementScenarios, GraphsWithoutWorkSucceed) {
    schedule({kM0});
    ggml_cgraph* empty = graph_of({});
    EXPECT_TRUE(alloc(empty)) << tenon_last_error();
    EXPECT_EQ(n_splits(), 1);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), empty), GGML_STATUS_SUCCESS);
    ggml_backend_sched_reset(sched.get());

    ggml_tensor* x = input("x", 8, 2);
    ggml_cgraph* views = graph_of({ggml_view_1d(ctx.get(), x, 8, 0), ggml_transpose(ctx.get(), x)});
    EXPECT_TRUE(alloc(views)) << tenon_last_error();
    EXPECT_EQ(n_splits(), 1);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), views), GGML_STATUS_SUCCESS);
    EXPECT_TRUE(g_mock_log.empty());
}

}  // namespace
}  // namespace tenon::test
