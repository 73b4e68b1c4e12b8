// Settings of a stream and of the log, changed by one thread while another computes: a run takes
// each as a whole. Under the thread sanitizer nothing of it is a race.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"
#include "tests/support/fake_plugin.h"

using namespace tenon::test;

namespace {

std::atomic<int> g_strange{0};  // calls that got the data of another setting
int g_data[2];

template <int N>
bool goes_on(void* data) {
    g_strange += data != &g_data[N];
    return false;
}
template <int N>
void log_line(ggml_log_level, const char*, void* data) {
    g_strange += data != &g_data[N];
}

// x -> 2x -> 4x^2
struct Work {
    ggml_context_ptr ctx = make_arena();
    ggml_cgraph* graph;
    Work() {
        ggml_tensor* x = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4);
        ggml_set_f32(x, 1.0f);
        graph = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(graph, ggml_sqr(ctx.get(), ggml_scale(ctx.get(), x, 2.0f)));
    }
};

// Runs `set(i)` again and again in a thread of its own, as long as it lives.
template <class Set>
class Setter {
public:
    explicit Setter(Set set)
        : thread_([this, set] {
              for (int i = 0; !stop_; ++i) set(i % 2);
          }) {}
    ~Setter() {
        stop_ = true;
        thread_.join();
    }

private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

TEST(Setters, OfAStreamMayBeCalledWhileItComputes) {
    fake_cpu();
    ggml_backend_ptr stream(ggml_backend_cpu_init());
    ggml_backend_cpu_set_n_threads(stream.get(), 1);
    ggml_threadpool_params params = ggml_threadpool_params_default(2);
    ggml_threadpool* pool = ggml_threadpool_new(&params);
    Work work;
    g_strange = 0;
    {
        const Setter abort([&](int i) {
            ggml_backend_cpu_set_abort_callback(stream.get(), i ? goes_on<1> : goes_on<0>,
                                                &g_data[i]);
        });
        const Setter rest([&](int i) {
            ggml_backend_cpu_set_n_threads(stream.get(), 1 + i);
            ggml_backend_cpu_set_use_ref(stream.get(), i != 0);
            ggml_backend_cpu_set_threadpool(stream.get(), i ? pool : nullptr);
            (i ? ggml_threadpool_pause : ggml_threadpool_resume)(pool);
        });
        for (int i = 0; i < 2000; ++i) {
            ASSERT_EQ(ggml_backend_graph_compute(stream.get(), work.graph), GGML_STATUS_SUCCESS)
                << tenon_last_error();
        }
    }
    EXPECT_EQ(g_strange, 0);
    stream.reset();
    ggml_threadpool_free(pool);
}

TEST(Setters, OfASchedulerCountFromTheNextRun) {
    fake_cpu();
    ggml_backend_ptr stream(ggml_backend_cpu_init());
    ggml_backend_t backends[] = {stream.get()};
    ggml_backend_sched_ptr sched(ggml_backend_sched_new(backends, nullptr, 1, 64, false, true));
    Work work;
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(sched.get(), work.graph)) << tenon_last_error();
    g_strange = 0;
    {
        const Setter eval([&](int i) {
            const ggml_backend_sched_eval_callback functions[] = {
                [](ggml_tensor*, bool, void* data) { return !goes_on<0>(data); },
                [](ggml_tensor*, bool, void* data) { return !goes_on<1>(data); }};
            ggml_backend_sched_set_eval_callback(sched.get(), functions[i], &g_data[i]);
        });
        for (int i = 0; i < 1000; ++i) {
            ASSERT_EQ(ggml_backend_sched_graph_compute(sched.get(), work.graph),
                      GGML_STATUS_SUCCESS)
                << tenon_last_error();
        }
    }
    EXPECT_EQ(g_strange, 0);
}

TEST(Setters, OfTheLogMayBeCalledWhileOthersLog) {
    g_strange = 0;
    {
        const Setter log([](int i) { ggml_log_set(i ? log_line<1> : log_line<0>, &g_data[i]); });
        for (int i = 0; i < 5000; ++i) {
            EXPECT_EQ(ggml_backend_graph_compute(nullptr, nullptr), GGML_STATUS_FAILED);
        }
    }
    ggml_log_set(nullptr, nullptr);
    tenon_clear_error();
    EXPECT_EQ(g_strange, 0);
}

}  // namespace
