// A graph copied to another device, and two devices compared.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"
#include "tests/support/fake_plugin.h"

using namespace tenon;
using namespace tenon::test;

namespace {

FakePlugin& second_device() {
    static FakePlugin& plugin = [&]() -> FakePlugin& {
        FakePlugin& made =
            FakePlugin::make("COMPARE", {FakeDevice{.name = "Compare0", .bufts = {{"Compare0"}}}});
        made.load();
        return made;
    }();
    return plugin;
}

// x -> a = x*x -> v = reshape(a) -> b = 2v, with a sentinel between.
struct Small {
    ggml_context_ptr ctx = make_arena();
    ggml_tensor *x, *a, *v, *b, *sentinel;
    ggml_cgraph* graph;
    Small() {
        fake_cpu().fake(0).run_status = TENON_OK;
        x = ggml_set_name(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 6), "x");
        for (int i = 0; i < 6; ++i) ggml_set_f32_1d(x, i, static_cast<float>(i));
        a = ggml_set_name(ggml_sqr(ctx.get(), x), "a");
        v = ggml_set_name(ggml_reshape_2d(ctx.get(), a, 2, 3), "v");
        b = ggml_set_name(ggml_scale(ctx.get(), v, 2.0f), "b");
        sentinel = ggml_set_name(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4), "sentinel");
        ggml_set_f32(sentinel, 42.0f);
        ggml_set_output(b);
        graph = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(graph, a);
        ggml_graph_add_node(graph, sentinel);
        ggml_build_forward_expand(graph, b);
    }
};

struct Seen {
    std::vector<std::string> names;
    int stop_after = 1000;
    bool equal = true;
    static bool look(int, ggml_tensor* t1, ggml_tensor* t2, void* data) {
        auto& seen = *static_cast<Seen*>(data);
        seen.names.emplace_back(t1->name);
        std::vector<float> one(static_cast<size_t>(ggml_nelements(t1))), two(one);
        ggml_backend_tensor_get(t2, two.data(), 0, ggml_nbytes(t2));
        std::memcpy(one.data(), t1->data, ggml_nbytes(t1));
        seen.equal = seen.equal && one == two && std::strcmp(t1->name, t2->name) == 0;
        return static_cast<int>(seen.names.size()) < seen.stop_after;
    }
};

TEST(GraphCopy, KeepsEverythingAboutEveryTensor) {
    Small small;
    ggml_backend_ptr gpu(ggml_backend_dev_init(second_device().device(0), nullptr));
    auto copy = ggml_backend_graph_copy(gpu.get(), small.graph);
    ASSERT_NE(copy.graph, nullptr);
    ASSERT_EQ(ggml_graph_n_nodes(copy.graph), ggml_graph_n_nodes(small.graph));
    for (int i = 0; i < ggml_graph_n_nodes(copy.graph); ++i) {
        const ggml_tensor* was = ggml_graph_node(small.graph, i);
        const ggml_tensor* is = ggml_graph_node(copy.graph, i);
        EXPECT_STREQ(is->name, was->name);
        EXPECT_EQ(is->op, was->op);
        EXPECT_EQ(is->flags, was->flags);
        EXPECT_TRUE(ggml_are_same_shape(is, was) && ggml_are_same_stride(is, was));
        EXPECT_EQ(std::memcmp(is->op_params, was->op_params, sizeof is->op_params), 0);
        EXPECT_EQ(is->view_src == nullptr, was->view_src == nullptr);
        EXPECT_STREQ(ggml_backend_buffer_name(is->buffer), "Compare0");
    }
    float value;
    ggml_backend_tensor_get(ggml_graph_node(copy.graph, 1), &value, 0, sizeof value);
    EXPECT_EQ(value, 42.0f);  // the sentinel's data came along
    ggml_backend_graph_copy_free(copy);
}

TEST(GraphCopy, GivesNothingOnFailure) {
    Small small;
    ggml_backend_ptr gpu(ggml_backend_dev_init(second_device().device(0), nullptr));
    second_device().fake(0).alloc_status = TENON_E_NO_DEVICE_MEMORY;
    auto copy = ggml_backend_graph_copy(gpu.get(), small.graph);
    second_device().fake(0).alloc_status = TENON_OK;
    EXPECT_TRUE(!copy.buffer && !copy.graph && !copy.ctx_allocated && !copy.ctx_unallocated);
    ggml_backend_graph_copy_free(copy);
    copy = ggml_backend_graph_copy(nullptr, small.graph);
    EXPECT_EQ(copy.graph, nullptr);
    copy = ggml_backend_graph_copy(gpu.get(), nullptr);
    EXPECT_EQ(copy.graph, nullptr);
    tenon_clear_error();
}

TEST(GraphCopy, AcceptsAGraphWithoutElements) {
    const auto ctx = make_arena();
    ggml_cgraph* graph = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(graph,
                              ggml_sqr(ctx.get(), ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 0)));
    ggml_backend_ptr gpu(ggml_backend_dev_init(second_device().device(0), nullptr));
    auto copy = ggml_backend_graph_copy(gpu.get(), graph);
    EXPECT_NE(copy.graph, nullptr);
    ggml_backend_graph_copy_free(copy);
    EXPECT_STREQ(tenon_last_error(), "");
}

TEST(Compare, ShowsEveryNodeButViews) {
    Small small;
    ggml_backend_ptr cpu(ggml_backend_cpu_init());
    ggml_backend_ptr gpu(ggml_backend_dev_init(second_device().device(0), nullptr));
    Seen seen;
    EXPECT_TRUE(ggml_backend_compare_graph_backend(cpu.get(), gpu.get(), small.graph, Seen::look,
                                                   &seen, nullptr, 0));
    EXPECT_EQ(seen.names, (std::vector<std::string>{"a", "sentinel", "b"}));
    EXPECT_TRUE(seen.equal);
    Seen impatient;
    impatient.stop_after = 1;
    EXPECT_TRUE(ggml_backend_compare_graph_backend(cpu.get(), gpu.get(), small.graph, Seen::look,
                                                   &impatient, nullptr, 0));
    EXPECT_EQ(impatient.names.size(), 1u);
}

TEST(Compare, ShowsOnlyTheNodesAskedFor) {
    Small small;
    ggml_backend_ptr cpu(ggml_backend_cpu_init());
    ggml_backend_ptr gpu(ggml_backend_dev_init(second_device().device(0), nullptr));
    Seen seen;
    const ggml_tensor* wanted[] = {small.b, small.x};  // x is no node
    EXPECT_TRUE(ggml_backend_compare_graph_backend(cpu.get(), gpu.get(), small.graph, Seen::look,
                                                   &seen, wanted, 2));
    EXPECT_EQ(seen.names, (std::vector<std::string>{"b"}));
    EXPECT_FALSE(ggml_backend_compare_graph_backend(cpu.get(), gpu.get(), small.graph, Seen::look,
                                                    &seen, wanted + 1, 1));
    EXPECT_STRNE(tenon_last_error(), "");
    fake_cpu().fake(0).run_status = TENON_E_INTERNAL;
    EXPECT_FALSE(ggml_backend_compare_graph_backend(cpu.get(), gpu.get(), small.graph, Seen::look,
                                                    &seen, nullptr, 0));
    fake_cpu().fake(0).run_status = TENON_OK;
    tenon_clear_error();
}

}  // namespace
