// Threads that end inside a function of a plugin: the plugin, and what was made of it, go on.

#include <cstdlib>
#include <vector>

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml.h"
#include "tenon/tenon.h"
#include "tests/loader/ended_thread.h"

namespace tenon::test {
namespace {

class EndedPlugins : public ::testing::Test {
protected:
    void SetUp() override {
        setenv("TENON_AUTOLOAD", "0", 1);
        setenv("TENON_ALLOW_UNSAFE_PLUGINS", "1", 1);
        setenv("TENON_DISCRETE_DEVICES", "2", 1);
        if (ggml_backend_reg_t same = ggml_backend_reg_by_name("Discrete")) {
            ASSERT_EQ(tenon_plugin_unload(same), TENON_OK) << tenon_last_error();
        }
        tenon_clear_error();
    }
    void TearDown() override { tenon_setting_set("discrete.end", nullptr); }

    void load() {
        ASSERT_EQ(tenon_plugin_load(TENON_THROWING_PLUGIN, &reg_), TENON_OK) << tenon_last_error();
        device_ = ggml_backend_reg_dev_get(reg_, 0);
        other_device_ = ggml_backend_reg_dev_get(reg_, 1);
        stream_.reset(ggml_backend_dev_init(device_, nullptr));
        ctx_.reset(ggml_init({ggml_tensor_overhead() * 16 + ggml_graph_overhead(), nullptr, true}));
        a_ = ggml_new_tensor_1d(ctx_.get(), GGML_TYPE_F32, 8);
        sum_ = ggml_add(ctx_.get(), a_, a_);
        graph_ = ggml_new_graph(ctx_.get());
        ggml_build_forward_expand(graph_, sum_);
        buffer_.reset(ggml_backend_alloc_ctx_tensors(ctx_.get(), stream_.get()));
        ASSERT_NE(buffer_, nullptr) << tenon_last_error();
        fresh_ = ggml_new_tensor_1d(ctx_.get(), GGML_TYPE_F32, 8);
    }

    // `act` ends its thread in the plugin's function of that name; then all is as before.
    void check(const char* name, const std::function<void()>& act) {
        tenon_setting_set("discrete.end", name);
        EXPECT_TRUE(ends(act)) << name;
        tenon_setting_set("discrete.end", nullptr);
        expect_computes(name);
    }

    // The same where the thread is cancelled while it waits there.
    void check_cancelled(const char* name, const std::function<void()>& act) {
        tenon_setting_set("discrete.linger", name);
        DoomedThread thread(act);
        usleep(20000);
        thread.cancel();
        EXPECT_TRUE(thread.ended()) << name;
        tenon_setting_set("discrete.linger", nullptr);
        expect_computes(name);
    }

    void expect_computes(const char* after) {
        const std::vector<float> in(8, 1.5f);
        std::vector<float> out(8);
        ggml_backend_tensor_set(a_, in.data(), 0, ggml_nbytes(a_));
        EXPECT_EQ(ggml_backend_graph_compute(stream_.get(), graph_), GGML_STATUS_SUCCESS)
            << after << ": " << tenon_last_error();
        ggml_backend_tensor_get(sum_, out.data(), 0, ggml_nbytes(sum_));
        EXPECT_EQ(out, std::vector<float>(8, 3.0f)) << after;
    }

    ggml_backend_reg_t reg_ = nullptr;
    ggml_backend_dev_t device_ = nullptr, other_device_ = nullptr;
    ggml_backend_ptr stream_;
    ggml_context_ptr ctx_;
    ggml_backend_buffer_ptr buffer_;
    ggml_tensor *a_ = nullptr, *sum_ = nullptr, *fresh_ = nullptr;
    ggml_cgraph* graph_ = nullptr;
};

TEST_F(EndedPlugins, EveryFunctionMayEndTheThread) {
    load();
    float data[8] = {};
    alignas(64) static char memory[4096];
    size_t free = 0, total = 0;
    check("device.memory", [&] { ggml_backend_dev_memory(device_, &free, &total); });
    check("device.query_ops", [&] { ggml_backend_dev_supports_op(device_, sum_); });
    check("device.tensor_bytes",
          [&] { ggml_backend_buft_get_alloc_size(ggml_backend_dev_buffer_type(device_), a_); });
    check("device.buffer_alloc", [&] { ggml_backend_alloc_buffer(stream_.get(), 4096); });
    check("device.buffer_wrap",
          [&] { ggml_backend_dev_buffer_from_host_ptr(device_, memory, sizeof memory, 64); });
    check("device.stream_open", [&] { ggml_backend_dev_init(device_, nullptr); });
    check("device.event_new", [&] { ggml_backend_event_new(device_); });
    check("buffer.tensor_set", [&] { ggml_backend_tensor_set(a_, data, 0, sizeof data); });
    check("buffer.tensor_get", [&] { ggml_backend_tensor_get(a_, data, 0, sizeof data); });
    check("buffer.tensor_fill", [&] { ggml_backend_tensor_memset(a_, 0, 0, sizeof data); });
    check("buffer.clear", [&] { ggml_backend_buffer_clear(buffer_.get(), 0); });
    check("buffer.tensor_init", [&] {
        ggml_backend_tensor_alloc(buffer_.get(), fresh_,
                                  ggml_backend_buffer_get_base(buffer_.get()));
    });
    check("stream.tensor_set",
          [&] { ggml_backend_tensor_set_async(stream_.get(), a_, data, 0, sizeof data); });
    check("stream.graph_run", [&] { ggml_backend_graph_compute(stream_.get(), graph_); });
    check("stream.synchronize", [&] { ggml_backend_synchronize(stream_.get()); });
    check_cancelled("stream.graph_run", [&] { ggml_backend_graph_compute(stream_.get(), graph_); });
    check_cancelled("buffer.clear", [&] { ggml_backend_buffer_clear(buffer_.get(), 0); });
}

TEST_F(EndedPlugins, WhatIsFreedIsGone) {
    load();
    ggml_backend_buffer_t buffer = ggml_backend_alloc_buffer(stream_.get(), 4096);
    check("buffer.free", [&] { ggml_backend_buffer_free(buffer); });
    ggml_backend_event_t event = ggml_backend_event_new(device_);
    check("event.free", [&] { ggml_backend_event_free(event); });
    ggml_backend_t stream = ggml_backend_dev_init(device_, nullptr);
    check("stream.close", [&] { ggml_backend_free(stream); });
    ggml_gallocr_t galloc = ggml_gallocr_new(ggml_backend_dev_buffer_type(device_));
    ggml_context_ptr ctx(
        ggml_init({ggml_tensor_overhead() * 16 + ggml_graph_overhead(), nullptr, true}));
    ggml_cgraph* graph = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(graph,
                              ggml_sqr(ctx.get(), ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8)));
    ASSERT_TRUE(ggml_gallocr_reserve(galloc, graph)) << tenon_last_error();
    check("buffer.free", [&] { ggml_gallocr_free(galloc); });
}

TEST_F(EndedPlugins, ALoadThatEndsCanBeTriedAgain) {
    for (const char* name : {"entry", "plugin.score", "plugin.init", "plugin.device_count",
                             "plugin.device_info", "plugin.device_open", "device.buft_info"}) {
        tenon_setting_set("discrete.end", name);
        EXPECT_TRUE(ends([&] { tenon_plugin_load(TENON_THROWING_PLUGIN, nullptr); })) << name;
        tenon_setting_set("discrete.end", nullptr);
    }
    load();
    expect_computes("loads that ended");
}

}  // namespace
}  // namespace tenon::test
