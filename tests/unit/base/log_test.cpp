// The log: callbacks, and what reaches stderr without one.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/base/result.h"
#include "tenon/tenon.h"
#include "tests/support/emulated.h"

using namespace tenon;

namespace {

struct Line {
    ggml_log_level level;
    std::string text;
};

void collect(ggml_log_level level, const char* text, void* user_data) {
    static_cast<std::vector<Line>*>(user_data)->push_back({level, text});
}

TEST(Log, TheDefaultCallbackIsReportedAndRestored) {
    ggml_log_callback original = nullptr;
    void* data = &original;
    ggml_log_get(&original, &data);
    ASSERT_NE(original, nullptr);
    EXPECT_EQ(data, nullptr);

    std::vector<Line> lines;
    ggml_log_set(collect, &lines);
    ggml_log_callback now = nullptr;
    ggml_log_get(&now, &data);
    EXPECT_EQ(now, collect);
    EXPECT_EQ(data, &lines);

    int other = 0;
    ggml_log_set(nullptr, &other);  // the data is kept, the callback is the default
    ggml_log_get(&now, &data);
    EXPECT_EQ(now, original);
    EXPECT_EQ(data, &other);
    ggml_log_set(nullptr, nullptr);
}

TEST(Log, ACallbackGetsEveryLevelWithItsNewline) {
    std::vector<Line> lines;
    ggml_log_set(collect, &lines);
    EXPECT_TRUE(log_wants(GGML_LOG_LEVEL_DEBUG));
    log(GGML_LOG_LEVEL_DEBUG, "value %d", 4);
    log(GGML_LOG_LEVEL_ERROR, "bad");
    ggml_log_set(nullptr, nullptr);
    log(GGML_LOG_LEVEL_ERROR, "not seen");
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].level, GGML_LOG_LEVEL_DEBUG);
    EXPECT_EQ(lines[0].text, "value 4\n");
    EXPECT_EQ(lines[1].text, "bad\n");
}

TEST(Log, LongLinesAreCutAndKeepTheirNewline) {
    std::vector<Line> lines;
    ggml_log_set(collect, &lines);
    log(GGML_LOG_LEVEL_INFO, "%s", std::string(100000, 'x').c_str());
    ggml_log_set(nullptr, nullptr);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_GT(lines[0].text.size(), 1000u);
    EXPECT_EQ(lines[0].text.back(), '\n');
}

TEST(Log, ErrorsAreLogged) {
    std::vector<Line> lines;
    ggml_log_set(collect, &lines);
    report(fail(TENON_E_IO, "cannot read"));
    ggml_log_set(nullptr, nullptr);
    tenon_clear_error();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].level, GGML_LOG_LEVEL_ERROR);
    EXPECT_EQ(lines[0].text, "cannot read\n");
}

TEST(Log, ACallbackThatThrowsLosesItsLineOnly) {
    int calls = 0;
    ggml_log_set(
        [](ggml_log_level, const char*, void* n) {
            ++*static_cast<int*>(n);
            throw 42;
        },
        &calls);
    log(GGML_LOG_LEVEL_WARN, "one");
    log_once(GGML_LOG_LEVEL_WARN, "two, thrown at");
    // Inside guard(), which is noexcept: the error is the thread's message all the same.
    EXPECT_EQ(guard<int>(-1, []() -> Result<int> { return fail(TENON_E_IO, "cannot write"); }), -1);
    ggml_log_set(nullptr, nullptr);
    EXPECT_EQ(calls, 3);
    EXPECT_STREQ(tenon_last_error(), "cannot write");
    tenon_clear_error();
}

TEST(Log, AComplaintIsMadeOnce) {
    std::vector<Line> lines;
    ggml_log_set(collect, &lines);
    for (int i = 0; i < 3; ++i) log_once(GGML_LOG_LEVEL_WARN, "complaint %d", i / 2);
    ggml_log_set(nullptr, nullptr);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].text, "complaint 0\n");
    EXPECT_EQ(lines[1].text, "complaint 1\n");
}

// The threshold is read once per process: each case runs in a process of its own.
class LogDeathTest : public testing::Test {
protected:
    void SetUp() override {
        GTEST_FLAG_SET(death_test_style, test::kEmulated ? "fast" : "threadsafe");
    }
};

void log_all_and_exit() {
    log(GGML_LOG_LEVEL_DEBUG, "a-debug");
    log(GGML_LOG_LEVEL_INFO, "an-info");
    log(GGML_LOG_LEVEL_WARN, "a-warning");
    log(GGML_LOG_LEVEL_ERROR, "an-error");
    std::fputs("end\n", stderr);
    std::exit(0);
}

TEST_F(LogDeathTest, NothingIsWrittenUnlessAsked) {
    EXPECT_EXIT(
        {
            unsetenv("TENON_LOG");
            log_all_and_exit();
        },
        testing::ExitedWithCode(0), "^end\n$");
}

TEST_F(LogDeathTest, TheEnvironmentSetsTheThreshold) {
    EXPECT_EXIT(
        {
            setenv("TENON_LOG", "loader=debug,warn", 1);
            log_all_and_exit();
        },
        testing::ExitedWithCode(0), "^a-warning\nan-error\nend\n$");
}

TEST_F(LogDeathTest, AMisspeltLevelIsNamedAndShowsWarnings) {
    EXPECT_EXIT(
        {
            setenv("TENON_LOG", "warning", 1);
            log_all_and_exit();
        },
        testing::ExitedWithCode(0),
        "^TENON_LOG: no level is named 'warning'; valid: error, warn, info, debug\n"
        "a-warning\nan-error\nend\n$");
}

TEST_F(LogDeathTest, DebugShowsEverything) {
    EXPECT_EXIT(
        {
            setenv("TENON_LOG", "debug", 1);
            log_all_and_exit();
        },
        testing::ExitedWithCode(0), "a-debug\nan-info\na-warning\nan-error\n");
}

TEST_F(LogDeathTest, AContinuedLineFollowsTheOneBefore) {
    EXPECT_EXIT(
        {
            setenv("TENON_LOG", "error", 1);
            ggml_log_callback sink = nullptr;
            ggml_log_get(&sink, nullptr);
            sink(GGML_LOG_LEVEL_INFO, "hidden", nullptr);
            sink(GGML_LOG_LEVEL_CONT, "hidden too", nullptr);
            sink(GGML_LOG_LEVEL_ERROR, "shown", nullptr);
            sink(GGML_LOG_LEVEL_CONT, " whole\n", nullptr);
            std::exit(0);
        },
        testing::ExitedWithCode(0), "^shown whole\n$");
}

}  // namespace
