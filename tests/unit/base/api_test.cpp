// Version, clock, files and guids of the ggml API.

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "ggml.h"
#include "tenon/tenon.h"

namespace {

TEST(Api, SaysWhichVersionItIs) {
    EXPECT_STREQ(ggml_version(), "0.23.0");
    EXPECT_NE(std::strlen(ggml_commit()), 0u);
    EXPECT_NE(std::strchr(tenon_version(), '.'), nullptr);
}

TEST(Api, TimeIsInTheUnitItSays) {
    ggml_time_init();
    const int64_t us = ggml_time_us();
    const int64_t ms = ggml_time_ms();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_GE(ggml_time_us() - us, 20000);
    EXPECT_GE(ggml_time_ms() - ms, 19);
    EXPECT_LT(ggml_time_ms() - ms, 10000);
    EXPECT_NEAR(static_cast<double>(us) / 1000, static_cast<double>(ms), 1000);
    EXPECT_GT(ggml_cycles_per_ms(), 0);
    EXPECT_GE(ggml_cycles(), 0);
}

TEST(Api, OpensFilesOrSaysNo) {
    EXPECT_EQ(ggml_fopen("/nonexistent/file", "rb"), nullptr);
    EXPECT_EQ(ggml_fopen(nullptr, "rb"), nullptr);
    FILE* file = ggml_fopen("/dev/null", "rb");
    ASSERT_NE(file, nullptr);
    std::fclose(file);
}

TEST(Api, ComparesGuids) {
    ggml_guid a = {1, 2, 3}, b = {1, 2, 3}, c = {1, 2, 4};
    EXPECT_TRUE(ggml_guid_matches(&a, &b));
    EXPECT_FALSE(ggml_guid_matches(&a, &c));
    EXPECT_FALSE(ggml_guid_matches(&a, nullptr));
}

}  // namespace
