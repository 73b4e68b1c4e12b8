// A process without any plugin: no devices, and a text for every look-up.

#include <gtest/gtest.h>

#include <string>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "tenon/tenon.h"

namespace {

template <class Call>
void expect_text(const char* what, Call&& call) {
    tenon_clear_error();
    EXPECT_EQ(call(), nullptr) << what;
    EXPECT_STRNE(tenon_last_error(), "") << what;
}

TEST(NoDevices, EveryCallSaysSo) {
    ASSERT_EQ(ggml_backend_dev_count(), 0u);
    ASSERT_EQ(ggml_backend_reg_count(), 0u);
    expect_text("reg_by_name", [] { return ggml_backend_reg_by_name("CPU"); });
    expect_text("dev_by_name", [] { return ggml_backend_dev_by_name("CPU"); });
    expect_text("dev_by_type",
                [] { return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU); });
    expect_text("reg_get", [] { return ggml_backend_reg_get(0); });
    expect_text("dev_get", [] { return ggml_backend_dev_get(0); });
    expect_text("init_by_name", [] { return ggml_backend_init_by_name("CPU", nullptr); });
    expect_text("init_by_type",
                [] { return ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr); });
    expect_text("init_best", [] { return ggml_backend_init_best(); });
    expect_text("cpu_init", [] { return ggml_backend_cpu_init(); });
    expect_text("cpu_reg", [] { return ggml_backend_cpu_reg(); });
}

TEST(NoDevices, HostMemoryWorksAllTheSame) {
    ggml_backend_buffer_t buffer =
        ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 64);
    ASSERT_NE(buffer, nullptr) << tenon_last_error();
    ggml_backend_buffer_free(buffer);
}

}  // namespace
