// Exceptions out of a plugin's functions, which no plugin may let out: the call fails with a text
// that says so, and the process and the plugin go on.

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml.h"
#include "tenon/ext/cost.h"
#include "tenon/tenon.h"

namespace {

std::string g_log;

void collect(ggml_log_level, const char* text, void*) { g_log += text; }

class Throwing : public ::testing::Test {
protected:
    void SetUp() override {
        setenv("TENON_AUTOLOAD", "0", 1);
        setenv("TENON_ALLOW_UNSAFE_PLUGINS", "1", 1);
        setenv("TENON_DISCRETE_DEVICES", "2", 1);
        ggml_log_set(collect, nullptr);
        ask_to_throw(nullptr);
        // It is the plugin of this id that other tests of the program load.
        if (ggml_backend_reg_t same = ggml_backend_reg_by_name("Discrete")) {
            ASSERT_EQ(tenon_plugin_unload(same), TENON_OK) << tenon_last_error();
        }
        tenon_clear_error();
    }
    void TearDown() override {
        ask_to_throw(nullptr);
        ggml_log_set(nullptr, nullptr);
    }

    static void ask_to_throw(const char* name) {
        tenon_setting_set("discrete.throw", name);
        tenon_clear_error();
        g_log.clear();
    }

    // What the log says of `name` since it was asked to throw.
    static void expect_told(const char* name) {
        EXPECT_NE(g_log.find("threw an exception: " + std::string(name)), std::string::npos)
            << name << ": " << g_log;
    }

    tenon_status load() { return tenon_plugin_load(TENON_THROWING_PLUGIN, &reg_); }

    ggml_backend_reg_t reg_ = nullptr;
};

TEST_F(Throwing, AStartThatThrowsIsARefusal) {
    for (const char* name : {"entry", "plugin.score", "plugin.init", "plugin.device_count"}) {
        ask_to_throw(name);
        EXPECT_NE(load(), TENON_OK) << name;
        EXPECT_EQ(reg_, nullptr);
        expect_told(name);
    }
    ask_to_throw(nullptr);
    ASSERT_EQ(load(), TENON_OK) << tenon_last_error();
    EXPECT_EQ(ggml_backend_reg_dev_count(reg_), 2u);
    EXPECT_EQ(tenon_plugin_unload(reg_), TENON_OK) << tenon_last_error();
}

TEST_F(Throwing, DevicesThatThrowAreRefused) {
    for (const char* name :
         {"plugin.device_info", "plugin.device_open", "device.buft_count", "device.buft_info"}) {
        ask_to_throw(name);
        ASSERT_EQ(load(), TENON_OK) << name;
        EXPECT_EQ(ggml_backend_reg_dev_count(reg_), 0u) << name;
        expect_told(name);
        EXPECT_EQ(tenon_plugin_unload(reg_), TENON_OK) << tenon_last_error();
    }
}

TEST_F(Throwing, AnEndThatThrowsIsStillAnEnd) {
    for (const char* name : {"device.close", "plugin.shutdown"}) {
        ASSERT_EQ(load(), TENON_OK) << tenon_last_error();
        ask_to_throw(name);
        EXPECT_EQ(tenon_plugin_unload(reg_), TENON_OK) << tenon_last_error();
        expect_told(name);
    }
}

// A plugin that is in use: objects of every kind, and one call for every function.
class ThrowingInUse : public Throwing {
protected:
    void SetUp() override {
        Throwing::SetUp();
        ASSERT_EQ(load(), TENON_OK) << tenon_last_error();
        device_ = ggml_backend_reg_dev_get(reg_, 0);
        other_device_ = ggml_backend_reg_dev_get(reg_, 1);
        stream_.reset(ggml_backend_dev_init(device_, nullptr));
        other_stream_.reset(ggml_backend_dev_init(other_device_, nullptr));
        ctx_.reset(ggml_init({ggml_tensor_overhead() * 16 + ggml_graph_overhead(), nullptr, true}));
        a_ = ggml_new_tensor_1d(ctx_.get(), GGML_TYPE_F32, 8);
        sum_ = ggml_add(ctx_.get(), a_, a_);
        graph_ = ggml_new_graph(ctx_.get());
        ggml_build_forward_expand(graph_, sum_);
        buffer_.reset(ggml_backend_alloc_ctx_tensors(ctx_.get(), stream_.get()));
        ASSERT_NE(buffer_, nullptr) << tenon_last_error();
        fresh_ = ggml_new_tensor_1d(ctx_.get(), GGML_TYPE_F32, 8);
    }
    void TearDown() override {
        ask_to_throw(nullptr);
        stream_.reset();
        other_stream_.reset();
        buffer_.reset();
        EXPECT_EQ(tenon_plugin_unload(reg_), TENON_OK) << tenon_last_error();
        Throwing::TearDown();
    }

    void check(const char* name, const std::function<void()>& act) {
        ask_to_throw(name);
        act();
        expect_told(name);
        ask_to_throw(nullptr);
        computes();
    }

    // The plugin still works.
    void computes() {
        const std::vector<float> in(8, 1.5f);
        std::vector<float> out(8);
        ggml_backend_tensor_set(a_, in.data(), 0, ggml_nbytes(a_));
        EXPECT_EQ(ggml_backend_graph_compute(stream_.get(), graph_), GGML_STATUS_SUCCESS)
            << tenon_last_error();
        ggml_backend_tensor_get(sum_, out.data(), 0, ggml_nbytes(sum_));
        EXPECT_EQ(out, std::vector<float>(8, 3.0f));
    }

    ggml_backend_dev_t device_ = nullptr, other_device_ = nullptr;
    ggml_backend_ptr stream_, other_stream_;
    ggml_context_ptr ctx_;
    ggml_backend_buffer_ptr buffer_;
    ggml_tensor *a_ = nullptr, *sum_ = nullptr, *fresh_ = nullptr;
    ggml_cgraph* graph_ = nullptr;
};

TEST_F(ThrowingInUse, QuestionsAreAnsweredWithNo) {
    check("device.memory", [&] {
        size_t free = 1, total = 1;
        ggml_backend_dev_memory(device_, &free, &total);
        EXPECT_EQ(total, 0u);
        tenon_memory_info info{};
        info.struct_size = sizeof info;
        EXPECT_EQ(tenon_device_memory(device_, &info), TENON_E_INTERNAL);
    });
    check("device.query_ops", [&] {
        EXPECT_FALSE(ggml_backend_dev_supports_op(device_, sum_));
        tenon_op_verdict verdict{};
        EXPECT_EQ(tenon_device_query(device_, &sum_, 1, &verdict, true), TENON_E_INTERNAL);
    });
    check("device.buft_accepts", [&] {
        EXPECT_FALSE(
            ggml_backend_dev_supports_buft(device_, ggml_backend_dev_buffer_type(other_device_)));
    });
    check("device.tensor_bytes", [&] {
        EXPECT_EQ(ggml_backend_buft_get_alloc_size(ggml_backend_dev_buffer_type(device_), a_),
                  ggml_nbytes(a_));
    });
    check("device.extension",
          [&] { EXPECT_FALSE(tenon_device_has_extension(device_, TENON_EXT_COST)); });
    check("plugin.extension",
          [&] { EXPECT_FALSE(tenon_device_has_extension(device_, "org.example.none/1")); });
}

TEST_F(ThrowingInUse, NothingIsMade) {
    alignas(64) static char memory[4096];
    check("device.buffer_alloc",
          [&] { EXPECT_EQ(ggml_backend_alloc_buffer(stream_.get(), 4096), nullptr); });
    check("device.buffer_wrap", [&] {
        EXPECT_EQ(ggml_backend_dev_buffer_from_host_ptr(device_, memory, sizeof memory, 64),
                  nullptr);
    });
    check("device.stream_open",
          [&] { EXPECT_EQ(ggml_backend_dev_init(device_, nullptr), nullptr); });
    check("device.event_new", [&] { EXPECT_EQ(ggml_backend_event_new(device_), nullptr); });
}

TEST_F(ThrowingInUse, BuffersFailTheCall) {
    float data[8] = {};
    check("buffer.tensor_set", [&] { ggml_backend_tensor_set(a_, data, 0, sizeof data); });
    check("buffer.tensor_get", [&] { ggml_backend_tensor_get(a_, data, 0, sizeof data); });
    check("buffer.tensor_fill", [&] { ggml_backend_tensor_memset(a_, 0, 0, sizeof data); });
    check("buffer.tensor_copy", [&] { ggml_backend_tensor_copy(a_, sum_); });
    check("buffer.clear", [&] { ggml_backend_buffer_clear(buffer_.get(), 0); });
    check("buffer.reset", [&] { ggml_backend_buffer_reset(buffer_.get()); });
    check("buffer.set_usage",
          [&] { ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_COMPUTE); });
    check("buffer.tensor_init", [&] {
        EXPECT_EQ(ggml_backend_tensor_alloc(buffer_.get(), fresh_,
                                            ggml_backend_buffer_get_base(buffer_.get())),
                  GGML_STATUS_FAILED);
        EXPECT_EQ(fresh_->data, nullptr);
    });
    ggml_backend_buffer_t more = ggml_backend_alloc_buffer(stream_.get(), 4096);
    check("buffer.free", [&] { ggml_backend_buffer_free(more); });
}

TEST_F(ThrowingInUse, StreamsFailTheCall) {
    float data[8] = {};
    check("stream.tensor_set",
          [&] { ggml_backend_tensor_set_async(stream_.get(), a_, data, 0, sizeof data); });
    check("stream.tensor_get",
          [&] { ggml_backend_tensor_get_async(stream_.get(), a_, data, 0, sizeof data); });
    check("stream.tensor_copy",
          [&] { ggml_backend_tensor_copy_async(stream_.get(), stream_.get(), a_, sum_); });
    check("stream.graph_run", [&] {
        EXPECT_EQ(ggml_backend_graph_compute(stream_.get(), graph_), GGML_STATUS_FAILED);
    });
    check("stream.synchronize", [&] {
        ggml_backend_synchronize(stream_.get());
        // It could not say so; the next call that can does.
        EXPECT_EQ(ggml_backend_graph_compute_async(stream_.get(), graph_), GGML_STATUS_FAILED);
    });
    ggml_backend_t more = ggml_backend_dev_init(device_, nullptr);
    check("stream.close", [&] { ggml_backend_free(more); });
}

TEST_F(ThrowingInUse, EventsFailTheCall) {
    ggml_backend_event_t event = ggml_backend_event_new(device_);
    ASSERT_NE(event, nullptr);
    check("stream.event_record", [&] { ggml_backend_event_record(event, stream_.get()); });
    ggml_backend_event_record(event, stream_.get());
    check("stream.event_wait", [&] { ggml_backend_event_wait(other_stream_.get(), event); });
    check("event.synchronize", [&] { ggml_backend_event_synchronize(event); });
    check("event.free", [&] { ggml_backend_event_free(event); });
}

}  // namespace
