// Threads of the application that end in the middle of a call: by pthread_exit() in one of its
// functions, or cancelled while one waits. The process goes on, and so does everything they used.

#include <sys/stat.h>

#include <cstdio>

#include "ggml-alloc.h"
#include "ggml-cpu.h"
#include "gguf.h"
#include "tests/discrete/devices.h"
#include "tests/loader/ended_thread.h"

namespace tenon::test {
namespace {

class EndedThreads : public ::testing::Test {
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

    void expect_computes(ggml_cgraph* graph, float last) {
        EXPECT_EQ(ggml_backend_graph_compute(cpu_.get(), graph), GGML_STATUS_SUCCESS)
            << tenon_last_error();
        EXPECT_EQ(ggml_get_f32_1d(ggml_graph_node(graph, -1), 4095), last);
    }

    ggml_backend_ptr cpu_;
    ggml_context_ptr ctx_;
    ggml_backend_buffer_ptr buffer_;
    ggml_tensor* in_ = nullptr;
};

// Adds one; meets its doom on one member only.
struct Adder {
    Doom doom;
    int doomed_member = -1;
    static void add(ggml_tensor* dst, const ggml_tensor* a, int ith, int nth, void* self) {
        auto& adder = *static_cast<Adder*>(self);
        if (ith == adder.doomed_member) adder.doom.meet();
        for (int64_t i = ith; i < ggml_nelements(dst); i += nth) {
            static_cast<float*>(dst->data)[i] = static_cast<const float*>(a->data)[i] + 1;
        }
    }
};

TEST_F(EndedThreads, ACustomOperationOfTheCallerLeavesTheStreamUsable) {
    Adder adder;
    ggml_tensor* node = ggml_map_custom1(ctx_.get(), in_, Adder::add, GGML_N_TASKS_MAX, &adder);
    ggml_cgraph* graph = graph_of(ggml_add(ctx_.get(), node, in_));
    adder.doomed_member = 0;
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(
            adder.doom.ends_both_ways([&] { ggml_backend_graph_compute(cpu_.get(), graph); }));
        expect_computes(graph, 3.0f);
    }
}

TEST_F(EndedThreads, AWorkerThatEndsFailsTheRunAndIsReplaced) {
    Adder adder;
    ggml_tensor* node = ggml_map_custom1(ctx_.get(), in_, Adder::add, GGML_N_TASKS_MAX, &adder);
    ggml_cgraph* graph = graph_of(ggml_add(ctx_.get(), node, in_));
    for (int round = 0; round < 3; ++round) {
        for (adder.doomed_member = 1; adder.doomed_member < 3; ++adder.doomed_member) {
            adder.doom.fate = Fate::kExit;
            EXPECT_EQ(ggml_backend_graph_compute(cpu_.get(), graph), GGML_STATUS_FAILED);
            EXPECT_NE(take_error().find("the application's function ended its thread"),
                      std::string::npos);
            adder.doom.fate = Fate::kNone;
            expect_computes(graph, 3.0f);
        }
    }
}

TEST_F(EndedThreads, AnAbortCallbackLeavesTheStreamUsable) {
    ggml_cgraph* graph = graph_of(ggml_add(ctx_.get(), ggml_sqr(ctx_.get(), in_), in_));
    Doom doom;
    ggml_backend_cpu_set_abort_callback(
        cpu_.get(),
        [](void* data) {
            static_cast<Doom*>(data)->meet();
            return false;
        },
        &doom);
    EXPECT_TRUE(doom.ends_both_ways([&] { ggml_backend_graph_compute(cpu_.get(), graph); }));
    expect_computes(graph, 2.0f);
}

TEST_F(EndedThreads, GraphsComputedWithoutABackendGiveTheirStreamBack) {
    ggml_cgraph* graph = graph_of(ggml_add(ctx_.get(), ggml_sqr(ctx_.get(), in_), in_));
    Doom doom;
    ggml_cplan plan = ggml_graph_plan(graph, 2, nullptr);
    std::vector<uint8_t> work(plan.work_size);
    plan.work_data = work.data();
    plan.abort_callback = [](void* data) {
        static_cast<Doom*>(data)->meet();
        return false;
    };
    plan.abort_callback_data = &doom;
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(doom.ends_both_ways([&] { ggml_graph_compute(graph, &plan); }));
    }
    EXPECT_EQ(ggml_graph_compute(graph, &plan), GGML_STATUS_SUCCESS);
}

TEST_F(EndedThreads, APoolIsFreeAfterwards) {
    Adder adder;
    ggml_tensor* node = ggml_map_custom1(ctx_.get(), in_, Adder::add, GGML_N_TASKS_MAX, &adder);
    ggml_cgraph* graph = graph_of(node);
    ggml_threadpool_params params = ggml_threadpool_params_default(3);
    ggml_threadpool* pool = ggml_threadpool_new(&params);
    ggml_backend_cpu_set_threadpool(cpu_.get(), pool);
    adder.doomed_member = 0;
    EXPECT_TRUE(adder.doom.ends_both_ways([&] { ggml_backend_graph_compute(cpu_.get(), graph); }));
    // Another stream on the same pool.
    ggml_backend_ptr other(ggml_backend_cpu_init());
    ggml_backend_cpu_set_threadpool(other.get(), pool);
    EXPECT_EQ(ggml_backend_graph_compute(other.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
    ggml_backend_cpu_set_threadpool(cpu_.get(), nullptr);
    other.reset();
    ggml_threadpool_free(pool);
}

TEST_F(EndedThreads, AnEvaluationCallbackLeavesTheSchedulerUsable) {
    ggml_backend_t backends[] = {cpu_.get()};
    ggml_backend_sched_ptr sched(ggml_backend_sched_new(backends, nullptr, 1, 64, false, true));
    ggml_cgraph* graph = ggml_new_graph(ctx_.get());
    ggml_build_forward_expand(graph, ggml_add(ctx_.get(), ggml_sqr(ctx_.get(), in_), in_));
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(sched.get(), graph)) << tenon_last_error();
    struct Asked {
        Doom doom;
        bool at;
    } asked;
    for (const bool when_asked : {true, false}) {
        asked.at = when_asked;
        ggml_backend_sched_set_eval_callback(
            sched.get(),
            [](ggml_tensor*, bool ask, void* data) {
                auto& self = *static_cast<Asked*>(data);
                if (ask == self.at) self.doom.meet();
                return true;
            },
            &asked);
        EXPECT_TRUE(asked.doom.ends_both_ways(
            [&] { ggml_backend_sched_graph_compute(sched.get(), graph); }));
        EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS);
    }
}

TEST_F(EndedThreads, AComparisonCallbackLosesNothing) {
    ggml_backend_ptr second(ggml_backend_cpu_init());
    ggml_cgraph* graph = graph_of(ggml_sqr(ctx_.get(), in_));
    Doom doom;
    const auto compare = [&] {
        return ggml_backend_compare_graph_backend(
            cpu_.get(), second.get(), graph,
            [](int, ggml_tensor*, ggml_tensor*, void* data) {
                static_cast<Doom*>(data)->meet();
                return true;
            },
            &doom, nullptr, 0);
    };
    EXPECT_TRUE(doom.ends_both_ways([&] { compare(); }));
    EXPECT_TRUE(compare()) << tenon_last_error();
}

TEST_F(EndedThreads, AReaderOfAModelEnds) {
    Doom doom;
    EXPECT_TRUE(doom.ends_both_ways([&] {
        gguf_init_from_callback(
            [](void* data, void*, uint64_t, size_t) -> size_t {
                static_cast<Doom*>(data)->meet();
                return 0;
            },
            &doom, 1024, 4096, gguf_init_params{});
    }));
}

TEST_F(EndedThreads, ACancelledOpenOfAFileWithoutAWriterEnds) {
    const std::string path = testing::TempDir() + "/ended-" + std::to_string(getpid()) + ".fifo";
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    DoomedThread thread([&] { gguf_init_from_file(path.c_str(), gguf_init_params{}); });
    usleep(50000);  // most likely it waits by now; cancelled before, it ends where it comes to wait
    thread.cancel();
    EXPECT_TRUE(thread.ended());
    std::remove(path.c_str());
}

TEST_F(EndedThreads, ALogIsNotAskedAgainByTheThreadThatItEnded) {
    static Doom doom;
    static std::atomic<int> lines;
    lines = 0;
    ggml_log_set(
        [](ggml_log_level, const char*, void*) {
            ++lines;
            doom.meet();
        },
        nullptr);
    const std::function<void()> logging[] = {
        [] { gguf_init_from_file("/nonexistent", gguf_init_params{}); },
        [] { ggml_backend_init_by_name("nobody", nullptr); },
        [] { tenon_plugin_load("/nowhere.so", nullptr); },
        [&] { ggml_backend_graph_compute(cpu_.get(), nullptr); },
    };
    for (const auto& act : logging) {
        const int before = lines;
        EXPECT_TRUE(doom.ends_both_ways(act));
        EXPECT_EQ(lines, before + 2);
    }
    ggml_log_set(nullptr, nullptr);
    EXPECT_EQ(ggml_backend_init_by_name("nobody", nullptr), nullptr);
    ggml_backend_load_all();  // nobody holds the loader
}

}  // namespace
}  // namespace tenon::test
