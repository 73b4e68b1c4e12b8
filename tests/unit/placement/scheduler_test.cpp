// What a program may rely on: states, the untouched graph, inputs, errors, callbacks, expert
// weights.

#include <cstring>
#include <utility>

#include "tests/support/allocations.h"
#include "tests/unit/placement/fixture.h"

namespace tenon::test {
namespace {

using Scheduler = PlacementTest;

std::string last_error_and_clear() {
    const std::string text = tenon_last_error();
    tenon_clear_error();
    return text;
}

TEST_F(Scheduler, RefusesImpossibleLists) {
    ggml_backend_t list[17];
    for (ggml_backend_t& b : list) b = mocks[kCpu];
    EXPECT_EQ(ggml_backend_sched_new(list, nullptr, 0, 64, false, false), nullptr);
    EXPECT_EQ(ggml_backend_sched_new(list, nullptr, 17, 64, false, false), nullptr);
    list[1] = mocks[kM0];
    EXPECT_EQ(ggml_backend_sched_new(list, nullptr, 2, 64, false, false), nullptr);
    ggml_backend_buffer_type_t wrong[] = {ggml_backend_get_default_buffer_type(mocks[kM0])};
    EXPECT_EQ(ggml_backend_sched_new(list, wrong, 1, 64, false, false), nullptr);
    EXPECT_NE(last_error_and_clear(), "");
    ggml_backend_sched_free(nullptr);
}

TEST_F(Scheduler, RefusesNullNodesAndNodesWithoutSources) {
    schedule({kM0});
    ggml_cgraph* graph = graph_of({layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0)});
    ggml_tensor*& first = ggml_graph_nodes(graph)[0];
    ggml_tensor* const source = std::exchange(first->src[0], nullptr);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_FAILED);
    EXPECT_NE(last_error_and_clear().find("source 0 of "), std::string::npos);
    first->src[0] = source;

    ggml_tensor* const node = std::exchange(first, nullptr);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_FAILED);
    EXPECT_NE(last_error_and_clear().find("node 0 of "), std::string::npos);
    first = node;
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
}

TEST_F(Scheduler, NodesThatBreakARuleAreNobodysToCompute) {
    schedule({kM0});
    ggml_cgraph* graph = graph_of({layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0)});
    ggml_tensor* product = ggml_graph_get_tensor(graph, "mm0");
    product->ne[1] = 20;
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_FAILED);
    EXPECT_NE(last_error_and_clear().find(
                  "node 'mm0' (MUL_MAT): it is f32 [8, 20, 1, 1], must be f32 [8, 2, 1, 1]"),
              std::string::npos);
    product->ne[1] = 2;
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
}

// Copies between splits would hide a cycle from the devices.
TEST_F(Scheduler, RefusesCyclesMadeAfterTheGraphWasBuilt) {
    schedule({kM0, kM1});
    ggml_tensor* x = layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0);
    x = layer(x, placed(kM1, "w1", 8, 8), 1);
    ggml_cgraph* graph = graph_of({x});
    ggml_tensor* first = ggml_graph_get_tensor(graph, "n0");
    ggml_tensor* const source = std::exchange(first->src[0], x);
    EXPECT_FALSE(ggml_backend_sched_alloc_graph(sched.get(), graph));
    EXPECT_NE(last_error_and_clear().find("node 'n0' (RMS_NORM) reads 're1'"), std::string::npos);
    first->src[0] = first;
    EXPECT_FALSE(ggml_backend_sched_reserve(sched.get(), graph));
    EXPECT_NE(last_error_and_clear().find("is its own source"), std::string::npos);
    first->src[0] = source;
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
}

TEST_F(Scheduler, RefusesANewGraphAtTheAddressesOfTheAllocatedOne) {
    schedule({kM0});
    ggml_cgraph* graph = graph_of({layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0)});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    ggml_tensor* last = ggml_graph_node(graph, -1);
    void* const data = std::exchange(last->data, nullptr);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_FAILED);
    EXPECT_NE(last_error_and_clear().find("is not the one that was allocated"), std::string::npos);
    last->data = data;
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
}

TEST_F(Scheduler, LeavesTheGraphAsItWas) {
    schedule({kM0});
    ggml_tensor* x = input("x", 8, 2);
    ggml_tensor* y = layer(x, placed(kM0, "w0", 8, 8), 0);
    ggml_tensor* z = layer(y, placed(kCpu, "w1", 8, 8), 1);
    ggml_cgraph* graph = graph_of({layer(z, placed(kM0, "w2", 8, 8), 2)});
    const int n = ggml_graph_n_nodes(graph);
    std::vector<ggml_tensor> before;
    for (int i = 0; i < n; i++) before.push_back(*ggml_graph_node(graph, i));

    ASSERT_TRUE(ggml_backend_sched_reserve(sched.get(), graph)) << tenon_last_error();
    for (int i = 0; i < n; i++) {
        EXPECT_EQ(std::memcmp(&before[i], ggml_graph_node(graph, i), sizeof(ggml_tensor)), 0)
            << "node " << i;
    }
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    ASSERT_EQ(n_splits(), 3);
    for (int i = 0; i < n; i++) {
        const ggml_tensor* node = ggml_graph_node(graph, i);
        EXPECT_NE(node->data, nullptr);
        EXPECT_NE(node->buffer, nullptr);
        EXPECT_EQ(std::memcmp(before[i].src, node->src, sizeof node->src), 0) << "node " << i;
    }
    EXPECT_TRUE(ggml_backend_buffer_is_host(x->buffer));
    ASSERT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
    const std::vector<std::string> expected = {
        "M0 set M0#x#0 0 64", "M0 run n0 mm0 re0 n1", "M0 get n1",
        "CPU run mm1",        "M0 set M0#mm1#0 0 64", "M0 run re1 n2 mm2 re2"};
    EXPECT_EQ(g_mock_log, expected);
}

TEST_F(Scheduler, CopiesInputsOnEveryRun) {
    schedule({kM0});
    ggml_tensor* x = input("x", 4, 1);
    ggml_cgraph* graph = graph_of({layer(x, placed(kM0, "w0", 4, 4), 0)});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    for (int run = 0; run < 3; run++) {
        const float values[4] = {1.0f * run, 2, 3, 4};
        ggml_backend_tensor_set(x, values, 0, sizeof values);
        g_mock_log.clear();
        ASSERT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
            << tenon_last_error();
        ASSERT_EQ(g_mock_log.size(), 2u);
        EXPECT_EQ(g_mock_log[0], "M0 set M0#x#0 0 16");
    }
}

TEST_F(Scheduler, KeepsStatesApart) {
    schedule({kM0});
    ggml_tensor* y = layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0);
    ggml_cgraph* graph = graph_of({y});
    ggml_cgraph* other = graph_of({y->src[0]});
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(sched.get(), y), nullptr);
    EXPECT_EQ(n_splits(), 0);
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_FALSE(alloc(graph));
    EXPECT_NE(last_error_and_clear().find("reset"), std::string::npos);
    ggml_backend_sched_set_tensor_backend(sched.get(), y, mocks[kCpu]);
    EXPECT_NE(last_error_and_clear(), "");
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), other), GGML_STATUS_FAILED);
    EXPECT_NE(last_error_and_clear().find("not the one that was allocated"), std::string::npos);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS);
    ggml_backend_sched_reset(sched.get());
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(sched.get(), y), nullptr);
    EXPECT_EQ(tenon_placement_count(sched.get()), 0u);
    EXPECT_EQ(n_splits(), 1);
}

TEST_F(Scheduler, MeasuringDisturbsNothing) {
    schedule({kM0});
    ggml_tensor* y = layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0);
    ggml_cgraph* graph = graph_of({y});
    ggml_backend_sched_set_tensor_backend(sched.get(), y, mocks[kCpu]);
    size_t sizes[2] = {};
    ggml_backend_sched_reserve_size(sched.get(), graph, sizes);
    EXPECT_GT(sizes[0], 0u);
    EXPECT_GT(sizes[1], 0u);
    EXPECT_EQ(y->data, nullptr);
    EXPECT_EQ(buffer_size(kM0), 0u);
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(assignment(graph), "n0:M0 mm0:M0 re0:CPU");
    EXPECT_EQ(buffer_size(kM0), sizes[0]);
    EXPECT_EQ(buffer_size(kCpu), sizes[1]);
}

TEST_F(Scheduler, PinToABackendThatRefusesFailsWithTheReason) {
    g_mock[kM0].refuses = [](const ggml_tensor& node) {
        return node.op == GGML_OP_UNARY ? "no unary kernel" : nullptr;
    };
    schedule({kM0});
    ggml_tensor* y = layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0);
    ggml_backend_sched_set_tensor_backend(sched.get(), y, mocks[kM0]);
    EXPECT_FALSE(alloc(graph_of({y})));
    const std::string text = last_error_and_clear();
    EXPECT_NE(text.find("re0"), std::string::npos) << text;
    EXPECT_NE(text.find("M0: no unary kernel"), std::string::npos) << text;
    ggml_backend_sched_set_tensor_backend(sched.get(), y, mocks[kM1]);
    EXPECT_NE(last_error_and_clear(), "");
}

TEST_F(Scheduler, KeepsWritersWithTheMemoryTheyWriteTo) {
    g_mock[kM0].refuses = [](const ggml_tensor& node) {
        return node.op == GGML_OP_FILL ? "no fill" : nullptr;
    };
    schedule({kM0});
    ggml_tensor* y = layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0);
    ggml_tensor* target = named(
        ggml_fill(ctx.get(), ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 8, 4), 0.0f), "fill");
    ggml_tensor* rows = named(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_I64, 2), "rows");
    ggml_set_input(rows);
    ggml_tensor* set = named(ggml_set_rows(ctx.get(), target, y, rows), "set");
    ggml_cgraph* graph = graph_of({set});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(sched.get(), target),
              ggml_backend_sched_get_tensor_backend(sched.get(), set));
    EXPECT_EQ(set->data, target->data);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
}

TEST_F(Scheduler, FailsCleanlyWithoutMemory) {
    schedule({kM0});
    ggml_tensor* x = input("x", 8, 2);
    ggml_tensor* z = layer(x, placed(kM0, "w0", 8, 8), 0);
    g_mock[kM0].fail_alloc_above = 100;
    ggml_cgraph* graph = graph_of({z});
    EXPECT_FALSE(ggml_backend_sched_reserve(sched.get(), graph));
    EXPECT_NE(last_error_and_clear(), "");
    EXPECT_FALSE(alloc(graph));
    EXPECT_EQ(x->data, nullptr);
    EXPECT_EQ(z->data, nullptr);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_ALLOC_FAILED);
    g_mock[kM0].fail_alloc_above = UINT64_MAX;
    EXPECT_TRUE(alloc(graph)) << tenon_last_error();
}

TEST_F(Scheduler, NamesTheSplitThatFailed) {
    schedule({kM0});
    ggml_cgraph* graph = graph_of({layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0)});
    g_mock[kM0].run_status = TENON_E_DEVICE_LOST;
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_FAILED);
    const std::string text = last_error_and_clear();
    EXPECT_NE(text.find("split 0 of 1"), std::string::npos) << text;
    EXPECT_NE(text.find("on M0"), std::string::npos) << text;
    g_mock[kM0].run_status = TENON_OK;
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
}

struct Asked {
    std::vector<std::string> calls;
    std::string wanted;
    bool go_on = true;
};

bool on_eval(ggml_tensor* t, bool ask, void* data) {
    auto& asked = *static_cast<Asked*>(data);
    asked.calls.push_back(std::string(ask ? "ask " : "data ") + t->name);
    return ask ? t->name == asked.wanted : asked.go_on;
}

TEST_F(Scheduler, AsksTheCallbackAndShowsWhatItWants) {
    schedule({kM0});
    ggml_cgraph* graph = graph_of({layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0)});
    Asked asked;
    asked.wanted = "mm0";
    ggml_backend_sched_set_eval_callback(sched.get(), on_eval, &asked);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
    EXPECT_EQ(asked.calls, (std::vector<std::string>{"ask n0", "ask mm0", "data mm0", "ask re0"}));
    EXPECT_EQ(g_mock_log,
              (std::vector<std::string>{"M0 set M0#x#0 0 64", "M0 run n0 mm0", "M0 run re0"}));
}

TEST_F(Scheduler, CallbackCancelsTheWholeGraph) {
    schedule({kM0});
    ggml_tensor* y = layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0);
    ggml_cgraph* graph = graph_of({layer(y, placed(kCpu, "w1", 8, 8), 1)});
    Asked asked;
    asked.wanted = "mm0";
    asked.go_on = false;
    ggml_backend_sched_set_eval_callback(sched.get(), on_eval, &asked);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_ABORTED);
    EXPECT_EQ(g_mock_log.back(), "M0 run n0 mm0");
    ggml_backend_sched_set_eval_callback(sched.get(), nullptr, nullptr);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS);
}

class Experts : public PlacementTest {
protected:
    // 8 experts of 16 x 32 floats = 2048 bytes each, two used per token.
    void build(int64_t n_tokens) {
        g_mock[kM0].wants = [](const ggml_tensor& node) { return node.op == GGML_OP_MUL_MAT_ID; };
        schedule({kM0}, /*op_offload=*/true);
        ggml_tensor* w = placed(kCpu, "wexp", 16, 32, 8);
        ggml_tensor* x = named(ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, 16, 1, n_tokens), "x");
        ids = named(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I32, 2, n_tokens), "ids");
        ggml_set_input(x);
        ggml_set_input(ids);
        graph = graph_of({named(ggml_mul_mat_id(ctx.get(), w, x, ids), "mmid")});
        ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    }
    std::vector<std::string> weight_writes() {
        std::vector<std::string> lines;
        for (const std::string& line : g_mock_log) {
            if (line.find("wexp") != std::string::npos) lines.push_back(line);
        }
        return lines;
    }
    ggml_tensor* ids = nullptr;
    ggml_cgraph* graph = nullptr;
};

TEST_F(Experts, OnlyUsedOnesAreCopied) {
    build(3);
    const int32_t chosen[6] = {1, 2, 3, 6, 2, 6};
    ggml_backend_tensor_set(ids, chosen, 0, sizeof chosen);
    ASSERT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
    EXPECT_EQ(weight_writes(), (std::vector<std::string>{"M0 set M0#wexp#0 2048 6656",
                                                         "M0 set M0#wexp#0 12288 2560"}));
    g_mock_log.clear();
    const int32_t last[6] = {7, 7, 7, 7, 7, 7};
    ggml_backend_tensor_set(ids, last, 0, sizeof last);
    ASSERT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
    EXPECT_EQ(weight_writes(), (std::vector<std::string>{"M0 set M0#wexp#0 14336 2048"}));
}

TEST_F(Experts, AllAreCopiedForTwoReaders) {
    build(1);
    ggml_tensor* first = ggml_graph_node(graph, 0);
    ggml_tensor* other = named(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I32, 2, 1), "other");
    ggml_set_input(other);
    ggml_tensor* second = ggml_mul_mat_id(ctx.get(), first->src[0], first->src[1], other);
    ggml_cgraph* both = graph_of({first, second});
    ggml_backend_sched_reset(sched.get());
    ASSERT_TRUE(alloc(both)) << tenon_last_error();
    ASSERT_EQ(ggml_backend_sched_graph_compute(sched.get(), both), GGML_STATUS_SUCCESS)
        << tenon_last_error();
    EXPECT_EQ(weight_writes(), (std::vector<std::string>{"M0 set M0#wexp#0 0 16384"}));
}

TEST_F(Experts, ImpossibleIdFails) {
    build(1);
    const int32_t chosen[2] = {1, 8};
    ggml_backend_tensor_set(ids, chosen, 0, sizeof chosen);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_FAILED);
    const std::string text = last_error_and_clear();
    EXPECT_NE(text.find("expert 8 of 8"), std::string::npos) << text;
}

TEST_F(Experts, NoTokensCopyNothing) {
    build(0);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
    EXPECT_TRUE(weight_writes().empty());
}

TEST_F(Scheduler, SameGraphsGiveSamePlans) {
    schedule({kM0, kM1});
    ggml_tensor* w[] = {placed(kM0, "w0", 8, 8), placed(kM1, "w1", 8, 8), placed(kCpu, "w2", 8, 8)};
    std::string first;
    size_t sizes[kMocks] = {};
    for (int round = 0; round < 4; round++) {
        ctx = context();
        ggml_tensor* x = input("x", 8, 2);
        for (int i = 0; i < 3; i++) x = layer(x, w[i], i);
        ggml_cgraph* graph = graph_of({x});
        ASSERT_TRUE(alloc(graph)) << tenon_last_error();
        const std::string now = assignment(graph) + " " + std::to_string(n_splits());
        if (round == 0) first = now;
        EXPECT_EQ(now, first);
        for (const Mock which : {kM0, kM1, kCpu}) {
            if (round == 0) sizes[which] = buffer_size(which);
            EXPECT_EQ(buffer_size(which), sizes[which]);
        }
        ggml_backend_sched_reset(sched.get());
    }
}

TEST_F(Scheduler, RunsAnAllocatedGraphWithoutTheHeap) {
    schedule({kM0});
    ggml_tensor* y = layer(input("x", 8, 2), placed(kM0, "w0", 8, 8), 0);
    ggml_cgraph* graph = graph_of({layer(y, placed(kCpu, "w1", 8, 8), 1)});
    ASSERT_TRUE(alloc(graph)) << tenon_last_error();
    g_mock_log.reserve(4096);
    const auto run = [&] { return ggml_backend_sched_graph_compute(sched.get(), graph); };
    for (int i = 0; i < 2; i++) ASSERT_EQ(run(), GGML_STATUS_SUCCESS);
    g_mock_quiet = true;
    const size_t before = allocations_of_this_thread();
    for (int i = 0; i < 10; i++) ASSERT_EQ(run(), GGML_STATUS_SUCCESS);
    EXPECT_EQ(allocations_of_this_thread(), before);
    g_mock_quiet = false;
}

}  // namespace
}  // namespace tenon::test
