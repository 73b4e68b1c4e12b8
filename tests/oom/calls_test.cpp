// Calls of the public API when memory runs out: allocation 0 fails, then 1, then 2 … until the call
// needs no more, each time in a thread that never called the library before. Nothing dies, nothing
// leaks, and who fails says why.

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "gguf.h"
#include "tenon/tenon.h"
#include "tests/oom/failing_malloc.h"
#include "tests/support/api_builders.h"

namespace tenon::test {
namespace {

enum class Outcome { kDone, kFailed };  // what a call told its caller

// One try of a call in a fresh thread.
struct Try {
    const std::function<Outcome()>& call;
    const int64_t fails_at;
    int64_t n_allocations = 0, leaked = 0;
    Outcome outcome = Outcome::kDone;
    bool has_text = false;

    void run() {
        pthread_t thread;
        ASSERT_EQ(pthread_create(&thread, nullptr, start, this), 0);
        pthread_join(thread, nullptr);
    }

private:
    static void* start(void* self) {
        auto& attempt = *static_cast<Try*>(self);
        const int64_t before = blocks_alive();
        fail_allocation(attempt.fails_at);
        attempt.outcome = attempt.call();
        attempt.n_allocations = allocations();
        fail_allocation(-1);
        attempt.leaked = blocks_alive() - before;
        attempt.has_text = tenon_last_error()[0] != 0;
        return nullptr;
    }
};

constexpr int kRoomInCaches = 20;  // graphs that a stream and the CPU plugin remember

void expect_survives(const char* name, const std::function<Outcome()>& call) {
    SCOPED_TRACE(name);
    for (int i = 0; i < 2; ++i) {  // what is kept between calls is there now
        Try warm_up{call, -1};
        warm_up.run();
        ASSERT_EQ(warm_up.outcome, Outcome::kDone);
    }
    for (int64_t n = 0;; ++n) {
        Try attempt{call, n};
        attempt.run();
        if (attempt.outcome == Outcome::kFailed) EXPECT_TRUE(attempt.has_text) << n;
        // A cache may grow, as often as it has room for another; a leak does not end.
        int64_t leaked = attempt.leaked;
        for (int again = 0; again < kRoomInCaches && leaked > 0; ++again) {
            Try next{call, n};
            next.run();
            leaked = next.leaked;
        }
        EXPECT_LE(leaked, 0) << "allocation " << n;
        if (attempt.n_allocations <= n) break;
    }
    Try after{call, -1};
    after.run();
    EXPECT_EQ(after.outcome, Outcome::kDone);
}

Outcome outcome(bool ok) { return ok ? Outcome::kDone : Outcome::kFailed; }

class OutOfMemory : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        setenv("TENON_PLUGIN_PATH",
               TENON_BUILD_DIR "/lib/tenon/plugins-1:" TENON_BUILD_DIR "/tests/plugins", 0);
        setenv("TENON_ALLOW_UNSAFE_PLUGINS", "1", 0);
        ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    }
    void SetUp() override {
        ggml_backend_load_all();
        cpu.reset(ggml_backend_cpu_init());
        ASSERT_NE(cpu, nullptr) << tenon_last_error();
        ggml_backend_cpu_set_n_threads(cpu.get(), 2);
    }
    ggml_backend_ptr cpu;
};

// A small network in a context without data.
struct Network {
    ggml_context_ptr ctx;
    ggml_tensor* x = nullptr;
    ggml_cgraph* graph = nullptr;

    explicit Network(bool no_alloc = true) : ctx(ggml_init({size_t{1} << 20, nullptr, no_alloc})) {
        if (!ctx) return;
        ggml_context* c = ctx.get();
        x = ggml_new_tensor_2d(c, GGML_TYPE_F32, 64, 8);
        ggml_tensor* w = ggml_new_tensor_2d(c, GGML_TYPE_F32, 64, 64);
        ggml_tensor* y = ggml_soft_max(c, ggml_mul_mat(c, w, ggml_rms_norm(c, x, 1e-5f)));
        ggml_set_output(y);
        graph = ggml_new_graph(c);
        ggml_build_forward_expand(graph, y);
    }
    bool whole() const { return ctx && graph && ggml_graph_n_nodes(graph) == 3; }
};

TEST_F(OutOfMemory, Contexts) {
    expect_survives("ggml_init", [] { return outcome(Network().whole()); });
    expect_survives("ggml_graph_dup", [] {
        Network net;
        return outcome(net.whole() && ggml_graph_dup(net.ctx.get(), net.graph, true));
    });
}

TEST_F(OutOfMemory, Builders) {
    for (const BuilderRow& builder : builders()) {
        expect_survives(builder.name, [&] {
            ggml_context_ptr ctx(ggml_init({size_t{1} << 20, nullptr, true}));
            if (!ctx) return Outcome::kFailed;
            Dice dice(7);
            Arguments arguments(dice, ctx.get());
            builder.call(arguments);
            return Outcome::kDone;
        });
    }
}

TEST_F(OutOfMemory, GraphsAllocatedAndComputed) {
    expect_survives("gallocr", [&] {
        Network net;
        if (!net.whole()) return Outcome::kFailed;
        ggml_gallocr_ptr galloc(ggml_gallocr_new(ggml_backend_get_default_buffer_type(cpu.get())));
        return outcome(galloc && ggml_gallocr_alloc_graph(galloc.get(), net.graph) &&
                       ggml_backend_graph_compute(cpu.get(), net.graph) == GGML_STATUS_SUCCESS);
    });
    expect_survives("buffers", [&] {
        Network net;
        if (!net.whole()) return Outcome::kFailed;
        ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(net.ctx.get(), cpu.get()));
        return outcome(buffer &&
                       ggml_backend_graph_compute(cpu.get(), net.graph) == GGML_STATUS_SUCCESS);
    });
    expect_survives("a stream of its own", [&] {
        ggml_backend_ptr stream(ggml_backend_cpu_init());
        Network net(/*no_alloc=*/false);
        if (!stream || !net.whole()) return Outcome::kFailed;
        ggml_backend_cpu_set_n_threads(stream.get(), 3);
        return outcome(ggml_backend_graph_compute(stream.get(), net.graph) == GGML_STATUS_SUCCESS);
    });
    expect_survives("with_ctx", [] {
        Network net(/*no_alloc=*/false);
        return outcome(net.whole() && ggml_graph_compute_with_ctx(net.ctx.get(), net.graph, 2) ==
                                          GGML_STATUS_SUCCESS);
    });
    expect_survives("a copy", [&] {
        Network net(/*no_alloc=*/false);
        if (!net.whole()) return Outcome::kFailed;
        const auto copy = ggml_backend_graph_copy(cpu.get(), net.graph);
        if (!copy.graph) return Outcome::kFailed;
        ggml_backend_graph_copy_free(copy);
        return Outcome::kDone;
    });
}

TEST_F(OutOfMemory, Schedulers) {
    ggml_backend_ptr discrete(ggml_backend_init_by_name("Discrete0", nullptr));
    ASSERT_NE(discrete, nullptr) << tenon_last_error();
    expect_survives("sched", [&] {
        Network net;
        if (!net.whole()) return Outcome::kFailed;
        ggml_backend_t backends[] = {discrete.get(), cpu.get()};
        ggml_backend_sched_ptr sched(
            ggml_backend_sched_new(backends, nullptr, 2, 256, false, true));
        if (!sched || !ggml_backend_sched_alloc_graph(sched.get(), net.graph))
            return Outcome::kFailed;
        if (ggml_backend_sched_graph_compute(sched.get(), net.graph) != GGML_STATUS_SUCCESS)
            return Outcome::kFailed;
        return Outcome::kDone;
    });
}

TEST_F(OutOfMemory, Models) {
    expect_survives("a file", [] {
        ggml_context* ctx = nullptr;
        gguf_context_ptr model(
            gguf_init_from_file(TENON_TEST_DATA "/data/stories260K.gguf", {true, &ctx}));
        ggml_free(ctx);
        return outcome(model != nullptr);
    });
    const std::string path = testing::TempDir() + "/oom-" + std::to_string(getpid()) + ".gguf";
    expect_survives("a new one", [&] {
        gguf_context_ptr model(gguf_init_empty());
        if (!model) return Outcome::kFailed;
        gguf_set_val_str(model.get(), "general.name", "a name that is no short string at all");
        const char* texts[2] = {"x", "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"};
        gguf_set_arr_str(model.get(), "texts", texts, 2);
        gguf_set_kv(model.get(), model.get());
        gguf_remove_key(model.get(), "texts");
        const bool written = gguf_write_to_file(model.get(), path.c_str(), true);
        std::remove(path.c_str());
        return outcome(written);
    });
}

TEST_F(OutOfMemory, ThreadPools) {
    expect_survives("a pool", [] {
        ggml_threadpool_params params = ggml_threadpool_params_default(3);
        ggml_threadpool* pool = ggml_threadpool_new(&params);
        ggml_threadpool_free(pool);
        return outcome(pool != nullptr);
    });
}

TEST_F(OutOfMemory, Questions) {
    expect_survives("directories", [] {
        const size_t n = tenon_directory_count();
        tenon_directory directory{};
        directory.struct_size = sizeof directory;
        for (size_t i = 0; i < n; ++i) {
            if (!tenon_directory_get(i, &directory)) return Outcome::kFailed;
        }
        return outcome(n > 0);
    });
    expect_survives("settings", [] {
        tenon_setting setting{};
        setting.struct_size = sizeof setting;
        for (size_t i = 0, n = tenon_setting_count(); i < n; ++i) tenon_setting_get(i, &setting);
        return outcome(tenon_setting_set("cpu.fusion", "on") == TENON_OK &&
                       tenon_setting_set("cpu.fusion", nullptr) == TENON_OK);
    });
    expect_survives("plugins", [] {
        tenon_plugin_report report{};
        report.struct_size = sizeof report;
        for (size_t i = 0, n = tenon_plugin_count(); i < n; ++i) tenon_plugin_get(i, &report);
        tenon_cpu_features();
        tenon_library_path();
        return Outcome::kDone;
    });
    expect_survives("devices", [] {
        for (size_t i = 0, n = ggml_backend_dev_count(); i < n; ++i) {
            ggml_backend_dev_props props;
            ggml_backend_dev_get_props(ggml_backend_dev_get(i), &props);
        }
        ggml_backend_reg_by_name("nobody");
        ggml_get_type_traits_cpu(GGML_TYPE_Q4_0);
        return Outcome::kDone;
    });
}

TEST_F(OutOfMemory, Quantization) {
    static float values[256 * 2], importance[256];
    static char rows[sizeof values];
    std::fill(std::begin(values), std::end(values), 1.0f);
    std::fill(std::begin(importance), std::end(importance), 1.0f);
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        const auto type = static_cast<ggml_type>(t);
        if (!ggml_is_quantized(type) || type == GGML_TYPE_Q8_1 || type == GGML_TYPE_Q8_K) continue;
        expect_survives(ggml_type_name(type), [&] {
            ggml_quantize_init(type);
            const size_t n = ggml_quantize_chunk(type, values, rows, 0, 2, 256, importance);
            ggml_quantize_free();
            return outcome(n > 0);
        });
    }
}

// First use of the registry, which a process has once: each failure in a process of its own.
void first_use(const char* name, void (*use)()) {
    SCOPED_TRACE(name);
    const auto allocations_of_child = [&](int64_t fails_at) -> int64_t {
        int ends[2];
        EXPECT_EQ(pipe(ends), 0);
        const pid_t child = fork();
        if (child == 0) {
            fail_allocation(fails_at);
            use();
            const int64_t n = allocations();
            fail_allocation(-1);
            const bool usable = ggml_backend_dev_count() > 0 || fails_at >= 0;
            const bool told = usable && write(ends[1], &n, sizeof n) == sizeof n;
            _exit(told ? 0 : 1);
        }
        close(ends[1]);
        int64_t n = -1;
        EXPECT_EQ(read(ends[0], &n, sizeof n), static_cast<ssize_t>(sizeof n)) << fails_at;
        close(ends[0]);
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0) << "allocation " << fails_at;
        return n;
    };
    const int64_t n = allocations_of_child(-1);
    ASSERT_GT(n, 0);
    constexpr int64_t kTries = 120;
    const int64_t step = std::max<int64_t>(1, n / kTries);
    for (int64_t at = 0; at < n; at += at < 20 ? 1 : step) allocations_of_child(at);
}

TEST(OutOfMemoryAtFirst, ARegistryIsUsableOrEmpty) {
    setenv("TENON_PLUGIN_PATH",
           TENON_BUILD_DIR "/lib/tenon/plugins-1:" TENON_BUILD_DIR "/tests/plugins", 0);
    setenv("TENON_ALLOW_UNSAFE_PLUGINS", "1", 0);
    first_use("ggml_backend_load_all", [] { ggml_backend_load_all(); });
    first_use("tenon_plugin_load", [] { tenon_plugin_load(TENON_DISCRETE_PLUGIN, nullptr); });
    first_use("tenon_plugins_scan", [] { tenon_plugins_scan(TENON_BUILD_DIR "/tests/plugins"); });
    first_use("ggml_backend_init_best", [] { ggml_backend_free(ggml_backend_init_best()); });
}

}  // namespace
}  // namespace tenon::test
