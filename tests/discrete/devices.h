// The devices these tests use: two discrete ones and the CPU, loaded once from the build tree.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml.h"
#include "tenon/tenon.h"

namespace tenon::test {

// Where the plugins of this build are, unless the environment says otherwise; two discrete devices.
inline void load_plugins() {
    static const bool once = [] {
        setenv("TENON_PLUGIN_PATH",
               TENON_BUILD_DIR "/lib/tenon/plugins-1:" TENON_BUILD_DIR "/tests/plugins", 0);
        setenv("TENON_ALLOW_UNSAFE_PLUGINS", "1", 0);
        setenv("TENON_DISCRETE_DEVICES", "2", 0);
        ggml_backend_load_all();
        return true;
    }();
    (void)once;
}

inline std::string take_error() {
    const std::string text = tenon_last_error();
    tenon_clear_error();
    return text;
}

class DiscreteTest : public ::testing::Test {
protected:
    void SetUp() override {
        load_plugins();
        tenon_clear_error();
        device = ggml_backend_dev_by_name("Discrete0");
        other_device = ggml_backend_dev_by_name("Discrete1");
        ASSERT_NE(device, nullptr) << tenon_last_error();
        ASSERT_NE(other_device, nullptr);
        stream.reset(ggml_backend_dev_init(device, nullptr));
        ASSERT_NE(stream, nullptr) << tenon_last_error();
    }

    static ggml_context_ptr context() {
        return ggml_context_ptr(
            ggml_init({ggml_tensor_overhead() * 4096 + ggml_graph_overhead() * 4, nullptr, true}));
    }

    static std::vector<float> ramp(size_t n, float first, float step) {
        std::vector<float> v(n);
        for (size_t i = 0; i < n; i++) v[i] = first + step * static_cast<float>(i);
        return v;
    }

    static std::vector<float> values(const ggml_tensor* t) {
        std::vector<float> v(static_cast<size_t>(ggml_nelements(t)));
        ggml_backend_tensor_get(t, v.data(), 0, v.size() * sizeof(float));
        return v;
    }

    ggml_backend_dev_t device = nullptr, other_device = nullptr;
    ggml_backend_ptr stream;
};

}  // namespace tenon::test
