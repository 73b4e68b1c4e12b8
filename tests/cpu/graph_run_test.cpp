// The graph runner: plans, members, failures, cancelling.

#include "plugins/cpu/graph_run.h"
#include "tenon/ext/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace tenon::cpu {
namespace {

// A team of threads made for every run: slow, but all members run at the same time.
struct ThreadTeam {
    uint32_t n = 2;
    int runs = 0;
};

tenon_status run_on_threads(tenon_team* team, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
    auto* threads = reinterpret_cast<ThreadTeam*>(team);
    ++threads->runs;
    std::vector<std::thread> workers;
    for (uint32_t i = 1; i < threads->n; ++i) workers.emplace_back(fn, arg, i, threads->n);
    fn(arg, 0, threads->n);
    for (std::thread& worker : workers) worker.join();
    return TENON_OK;
}

const char* op_name(const tenon_host*, int32_t, int32_t) { return "SOME_OP"; }

tenon_host make_host() {
    tenon_host host{};
    host.struct_size = sizeof host;
    host.op_name = op_name;
    return host;
}

ggml_tensor tensor(ggml_type type, std::array<int64_t, 4> ne, void* data) {
    ggml_tensor t{};
    t.type = type;
    t.data = data;
    const TypeSize size = type_size(type);
    for (int k = 0; k < 4; ++k) t.ne[k] = ne[k];
    t.nb[0] = size.bytes;
    t.nb[1] = row_bytes(type, ne[0]);
    t.nb[2] = t.nb[1] * ne[1];
    t.nb[3] = t.nb[2] * ne[2];
    return t;
}

// x[i] = x[i-1] + one, `length` times, n elements each.
struct Chain {
    std::vector<std::vector<float>> memory;
    std::vector<ggml_tensor> tensors;
    std::vector<ggml_tensor*> nodes;

    Chain(int length, int64_t n)
        : memory(length + 2, std::vector<float>(n, 1.0f)), tensors(length + 2) {
        for (int i = 0; i < length + 2; ++i) {
            tensors[i] = tensor(GGML_TYPE_F32, {n, 1, 1, 1}, memory[i].data());
        }
        for (int i = 2; i < length + 2; ++i) {
            tensors[i].op = GGML_OP_ADD;
            tensors[i].src[0] = &tensors[i - 1];
            tensors[i].src[1] = &tensors[0];
            nodes.push_back(&tensors[i]);
        }
    }
};

class GraphRun : public testing::Test {
protected:
    tenon_status run(const std::vector<ggml_tensor*>& nodes, uint64_t uid = 0) {
        tenon_graph_view graph{};
        graph.struct_size = sizeof graph;
        graph.n_nodes = static_cast<uint32_t>(nodes.size());
        graph.nodes = nodes.data();
        graph.uid = uid;
        params.struct_size = sizeof params;
        params.workspace = workspace.data();
        params.workspace_size = workspace.size();
        params.team = reinterpret_cast<tenon_team*>(&team);
        params.n_threads = team.n;
        error = {};
        error.struct_size = sizeof error;
        return runner.run(graph, params, &error);
    }

    ThreadTeam team;
    tenon_host host = make_host();
    tenon_ext_host_threads threads{sizeof threads, 0,      nullptr, nullptr, nullptr,
                                   run_on_threads, nullptr};
    std::vector<char> workspace = std::vector<char>(1 << 20);
    tenon_run_params params{};
    tenon_error error{};
    GraphRunner runner{&host, &threads, {/*always_team=*/false, /*fusion=*/false}};
};

TEST_F(GraphRun, SmallGraphsWakeNobody) {
    Chain chain(50, 16);
    ASSERT_EQ(run(chain.nodes), TENON_OK);
    EXPECT_EQ(team.runs, 0);
    EXPECT_EQ(chain.memory.back()[15], 51.0f);
}

TEST_F(GraphRun, LargeNodesUseTheTeamAndSmallOnesBetweenThemDoNot) {
    for (uint32_t members : {2u, 3u, 5u}) {
        team.n = members;
        Chain large(6, 300001), small(6, 7);
        std::vector<ggml_tensor*> nodes;
        for (int i = 0; i < 6; ++i) {
            nodes.push_back(large.nodes[i]);
            nodes.push_back(small.nodes[i]);
        }
        team.runs = 0;
        ASSERT_EQ(run(nodes), TENON_OK);
        EXPECT_EQ(team.runs, 1);
        EXPECT_TRUE(std::all_of(large.memory.back().begin(), large.memory.back().end(),
                                [](float x) { return x == 7.0f; }));
        EXPECT_EQ(small.memory.back()[6], 7.0f);
    }
}

TEST_F(GraphRun, TheTeamCanBeAskedForEveryNode) {
    GraphRunner always(&host, &threads, {/*always_team=*/true, /*fusion=*/false});
    Chain chain(5, 16);
    tenon_graph_view graph{};
    graph.struct_size = sizeof graph;
    graph.n_nodes = 5;
    graph.nodes = chain.nodes.data();
    params.struct_size = sizeof params;
    params.team = reinterpret_cast<tenon_team*>(&team);
    params.n_threads = team.n = 3;
    ASSERT_EQ(always.run(graph, params, &error), TENON_OK);
    EXPECT_EQ(team.runs, 1);
    EXPECT_EQ(chain.memory.back(), std::vector<float>(16, 6.0f));
}

TEST_F(GraphRun, APlanServesTheSameGraphWithOtherData) {
    for (uint64_t uid = 1; uid <= 40; ++uid) {  // more than are kept
        Chain chain(3, 16);
        ASSERT_EQ(run(chain.nodes, uid % 20 + 1), TENON_OK);
        EXPECT_EQ(chain.memory.back()[0], 4.0f);
    }
}

TEST_F(GraphRun, ViewsAndEmptyNodesAreSkipped) {
    Chain chain(2, 16);
    ggml_tensor view = chain.tensors[2];
    view.op = GGML_OP_RESHAPE;
    view.src[0] = &chain.tensors[2];
    ggml_tensor empty = chain.tensors[3];
    empty.ne[1] = 0;
    EXPECT_EQ(run({chain.nodes[0], &view, &empty, chain.nodes[1]}), TENON_OK);
    EXPECT_EQ(run({}), TENON_OK);
}

TEST_F(GraphRun, ABadIndexNamesTheNode) {
    for (int64_t n : {int64_t{8}, int64_t{200000}}) {  // alone, and on the team
        std::vector<float> rows(static_cast<size_t>(4 * n)), out(static_cast<size_t>(2 * n));
        int32_t ids[2] = {1, 4};
        ggml_tensor a = tensor(GGML_TYPE_F32, {n, 4, 1, 1}, rows.data());
        ggml_tensor index = tensor(GGML_TYPE_I32, {2, 1, 1, 1}, ids);
        ggml_tensor node = tensor(GGML_TYPE_F32, {n, 2, 1, 1}, out.data());
        node.op = GGML_OP_GET_ROWS;
        node.src[0] = &a;
        node.src[1] = &index;
        std::strcpy(node.name, "picked");
        EXPECT_EQ(run({&node}), TENON_E_INVALID);
        EXPECT_STREQ(error.message,
                     "node 'picked' (SOME_OP): a row index is out of range: 4, expected 0 to 3");
        ids[1] = 3;
        EXPECT_EQ(run({&node}), TENON_OK);
    }
}

TEST_F(GraphRun, ALittleWorkspaceMeansFewerMembersAndTooLittleIsAnError) {
    constexpr int64_t kHead = 64, kHeads = 32, kTokens = 64;
    std::vector<float> x(kHead * kHeads * kTokens, 1.0f), y(x.size());
    std::vector<int32_t> positions(kTokens, 1);
    ggml_tensor a = tensor(GGML_TYPE_F32, {kHead, kHeads, kTokens, 1}, x.data());
    ggml_tensor pos = tensor(GGML_TYPE_I32, {kTokens, 1, 1, 1}, positions.data());
    ggml_tensor node = a;
    node.data = y.data();
    node.op = GGML_OP_ROPE;
    node.src[0] = &a;
    node.src[1] = &pos;
    tenon_rope_params p{};
    p.n_dims = kHead;
    p.freq_base = 10000;
    p.freq_scale = p.attn_factor = 1;
    std::memcpy(node.op_params, &p, sizeof p);

    team.n = 4;
    const Kernel* kernel = find_kernel(node);
    ASSERT_NE(kernel, nullptr);
    workspace.resize(kernel->workspace(node, 2));
    ASSERT_EQ(run({&node}), TENON_OK);
    EXPECT_NEAR(y.back(),
                std::sin(std::pow(10000.0, -62.0 / 64)) + std::cos(std::pow(10000.0, -62.0 / 64)),
                1e-5);
    workspace.resize(kernel->workspace(node, 1) - 1);
    EXPECT_EQ(run({&node}), TENON_E_INVALID);
    EXPECT_NE(std::string(error.message).find("workspace"), std::string::npos) << error.message;
}

TEST_F(GraphRun, CancellingStopsBetweenNodes) {
    for (int64_t n : {int64_t{16}, int64_t{300000}}) {
        Chain chain(10, n);
        int asked = 0;
        params.cancel_arg = &asked;
        params.should_cancel = [](void* arg) -> int { return ++*static_cast<int*>(arg) >= 3; };
        EXPECT_EQ(run(chain.nodes), TENON_E_CANCELLED);
        EXPECT_EQ(asked, 3);
        EXPECT_EQ(chain.memory[4][0], 4.0f);
        EXPECT_EQ(chain.memory[5][0], 1.0f);
        params.should_cancel = nullptr;
        EXPECT_EQ(run(chain.nodes), TENON_OK);
        EXPECT_EQ(chain.memory.back()[0], 11.0f);
    }
}

TEST_F(GraphRun, WithoutATeamEverythingRunsOnTheCaller) {
    GraphRunner alone(&host, nullptr);
    Chain chain(3, 300000);
    tenon_graph_view graph{};
    graph.struct_size = sizeof graph;
    graph.n_nodes = 3;
    graph.nodes = chain.nodes.data();
    params.struct_size = sizeof params;
    ASSERT_EQ(alone.run(graph, params, &error), TENON_OK);
    EXPECT_EQ(chain.memory.back()[299999], 4.0f);
}

TEST_F(GraphRun, AnUnknownOpIsAnErrorWithItsReason) {
    Chain chain(1, 16);
    chain.nodes[0]->op = GGML_OP_FLASH_ATTN_BACK;
    EXPECT_EQ(run(chain.nodes), TENON_E_UNSUPPORTED);
    EXPECT_NE(std::string(error.message).find("there is no kernel"), std::string::npos)
        << error.message;
}

TEST_F(GraphRun, ABarrierHoldsEverybodyBack) {
    constexpr int kMembers = 4, kRounds = 2000;
    Barrier barrier;
    std::array<int, kMembers> at{};
    std::atomic<bool> torn = false;
    std::vector<std::thread> members;
    for (int m = 0; m < kMembers; ++m) {
        members.emplace_back([&, m] {
            for (int round = 1; round <= kRounds; ++round) {
                at[m] = round;
                barrier.wait(kMembers);
                for (int other : at) {
                    if (other != round) torn = true;
                }
                barrier.wait(kMembers);
            }
        });
    }
    for (std::thread& member : members) member.join();
    EXPECT_FALSE(torn);
}

}  // namespace
}  // namespace tenon::cpu
