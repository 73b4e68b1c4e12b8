// Functions of the application that throw while the library calls them.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "ggml-alloc.h"
#include "ggml-cpu.h"
#include "gguf.h"
#include "tests/discrete/devices.h"

namespace tenon::test {
namespace {

class Callbacks : public ::testing::Test {
protected:
    void SetUp() override {
        load_plugins();
        tenon_clear_error();
        cpu_.reset(ggml_backend_cpu_init());
        ASSERT_NE(cpu_, nullptr) << tenon_last_error();
        ggml_backend_cpu_set_n_threads(cpu_.get(), 3);
        ctx_.reset(ggml_init({ggml_tensor_overhead() * 16 + ggml_graph_overhead(), nullptr, true}));
        in_ = ggml_new_tensor_2d(ctx_.get(), GGML_TYPE_F32, 64, 64);
        ggml_set_input(in_);
    }

    // The graph of `node`, allocated; in_ is all ones.
    ggml_cgraph* graph_of(ggml_tensor* node) {
        ggml_cgraph* graph = ggml_new_graph(ctx_.get());
        ggml_build_forward_expand(graph, node);
        buffer_.reset(ggml_backend_alloc_ctx_tensors(ctx_.get(), cpu_.get()));
        for (int64_t i = 0; i < ggml_nelements(in_); ++i)
            ggml_set_f32_1d(in_, static_cast<int>(i), 1);
        return graph;
    }

    ggml_backend_ptr cpu_;
    ggml_context_ptr ctx_;
    ggml_backend_buffer_ptr buffer_;
    ggml_tensor* in_ = nullptr;
};

// Throws on one member only, or not at all.
void custom(ggml_tensor* dst, const ggml_tensor* a, int ith, int nth, void* thrower) {
    if (ith == *static_cast<int*>(thrower)) throw std::runtime_error("custom");
    for (int64_t i = ith; i < ggml_nelements(dst); i += nth) {
        static_cast<float*>(dst->data)[i] = static_cast<const float*>(a->data)[i] + 1;
    }
}

TEST_F(Callbacks, ACustomOperationThatThrowsFailsTheRun) {
    int thrower = -1;
    ggml_tensor* node = ggml_map_custom1(ctx_.get(), in_, custom, GGML_N_TASKS_MAX, &thrower);
    ggml_cgraph* graph = graph_of(ggml_add(ctx_.get(), node, in_));
    for (thrower = 0; thrower < 3; ++thrower) {
        EXPECT_EQ(ggml_backend_graph_compute(cpu_.get(), graph), GGML_STATUS_FAILED) << thrower;
        EXPECT_NE(take_error().find("the application's function threw an exception"),
                  std::string::npos);
    }
    thrower = -1;
    EXPECT_EQ(ggml_backend_graph_compute(cpu_.get(), graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_get_f32_1d(ggml_graph_node(graph, -1), 4095), 3.0f);
}

TEST_F(Callbacks, AnAbortCallbackThatThrowsFailsTheRun) {
    ggml_cgraph* graph = graph_of(ggml_add(ctx_.get(), ggml_sqr(ctx_.get(), in_), in_));
    ggml_backend_cpu_set_abort_callback(
        cpu_.get(), [](void*) -> bool { throw std::runtime_error("enough"); }, nullptr);
    EXPECT_EQ(ggml_backend_graph_compute(cpu_.get(), graph), GGML_STATUS_FAILED);
    EXPECT_EQ(take_error(), "the abort callback threw an exception: enough");
    ggml_backend_cpu_set_abort_callback(cpu_.get(), nullptr, nullptr);
    EXPECT_EQ(ggml_backend_graph_compute(cpu_.get(), graph), GGML_STATUS_SUCCESS);
}

TEST_F(Callbacks, AnEvaluationCallbackThatThrowsFailsTheGraph) {
    ggml_backend_t backends[] = {cpu_.get()};
    ggml_backend_sched_ptr sched(ggml_backend_sched_new(backends, nullptr, 1, 64, false, true));
    ggml_cgraph* graph = ggml_new_graph(ctx_.get());
    ggml_build_forward_expand(graph, ggml_add(ctx_.get(), ggml_sqr(ctx_.get(), in_), in_));
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(sched.get(), graph)) << tenon_last_error();
    for (const bool when_asked : {true, false}) {
        bool at = when_asked;
        ggml_backend_sched_set_eval_callback(
            sched.get(),
            [](ggml_tensor*, bool ask, void* data) -> bool {
                if (ask == *static_cast<bool*>(data)) throw 7;
                return true;
            },
            &at);
        EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_FAILED);
        EXPECT_NE(take_error().find("the evaluation callback threw an exception"),
                  std::string::npos);
    }
    ggml_backend_sched_set_eval_callback(sched.get(), nullptr, nullptr);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS);
}

TEST_F(Callbacks, AComparisonCallbackThatThrowsFailsTheComparison) {
    ggml_backend_ptr second(ggml_backend_cpu_init());
    ggml_cgraph* graph = graph_of(ggml_sqr(ctx_.get(), in_));
    const auto callback = [](int, ggml_tensor*, ggml_tensor*, void*) -> bool {
        throw std::runtime_error("different");
    };
    EXPECT_FALSE(ggml_backend_compare_graph_backend(cpu_.get(), second.get(), graph, callback,
                                                    nullptr, nullptr, 0));
    EXPECT_EQ(take_error(), "the comparison callback threw an exception: different");
    const ggml_tensor* wanted = ggml_graph_node(graph, 0);
    EXPECT_FALSE(ggml_backend_compare_graph_backend(cpu_.get(), second.get(), graph, callback,
                                                    nullptr, &wanted, 1));
    EXPECT_EQ(take_error(), "the comparison callback threw an exception: different");
}

TEST_F(Callbacks, AReaderThatThrowsGivesNoModel) {
    gguf_init_params params{};
    EXPECT_EQ(gguf_init_from_callback(
                  [](void*, void*, uint64_t, size_t) -> size_t { throw std::runtime_error("eof"); },
                  nullptr, 1024, 4096, params),
              nullptr);
    EXPECT_NE(take_error().find("eof"), std::string::npos);
}

TEST_F(Callbacks, ALogThatThrowsChangesNothing) {
    ggml_log_set([](ggml_log_level, const char*, void*) { throw std::runtime_error("disk full"); },
                 nullptr);
    EXPECT_EQ(ggml_backend_init_by_name("nobody", nullptr), nullptr);
    EXPECT_NE(tenon_plugin_load("/nowhere.so", nullptr), TENON_OK);
    ggml_backend_load_all();
    ggml_log_set(nullptr, nullptr);
    EXPECT_NE(take_error().find("nobody"), std::string::npos);
}

}  // namespace
}  // namespace tenon::test
