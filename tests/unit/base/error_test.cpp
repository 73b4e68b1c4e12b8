// Errors: the thread's message, the C boundary, statuses, and the fatal handler.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/base/result.h"
#include "ggml.h"
#include "tenon/tenon.h"
#include "tests/support/allocations.h"

using namespace tenon;

namespace {

class Errors : public testing::Test {
protected:
    void SetUp() override { tenon_clear_error(); }
    void TearDown() override { tenon_clear_error(); }
};

TEST_F(Errors, ThereIsNoMessageAtFirst) {
    EXPECT_STREQ(tenon_last_error(), "");
    EXPECT_FALSE(has_unread_error());
}

TEST_F(Errors, TheFirstUnreadErrorStays) {
    report(fail(TENON_E_IO, "first %d", 1));
    report(fail(TENON_E_IO, "second %d", 2));
    EXPECT_STREQ(tenon_last_error(), "first 1");
}

TEST_F(Errors, ReadingMakesRoomForTheNext) {
    report(fail(TENON_E_IO, "first"));
    EXPECT_TRUE(has_unread_error());
    tenon_last_error();
    EXPECT_FALSE(has_unread_error());
    EXPECT_STREQ(tenon_last_error(), "first");  // still there until something replaces it
    report(fail(TENON_E_IO, "second"));
    EXPECT_STREQ(tenon_last_error(), "second");
}

TEST_F(Errors, ClearingForgetsTheMessage) {
    report(fail(TENON_E_IO, "gone"));
    tenon_clear_error();
    EXPECT_STREQ(tenon_last_error(), "");
    report(fail(TENON_E_IO, "new"));
    EXPECT_STREQ(tenon_last_error(), "new");
}

TEST_F(Errors, EachThreadHasItsOwnMessage) {
    report(fail(TENON_E_IO, "of the main thread"));
    std::string other;
    std::thread([&] {
        other = tenon_last_error();
        report(fail(TENON_E_IO, "of the other thread"));
    }).join();
    EXPECT_EQ(other, "");
    EXPECT_STREQ(tenon_last_error(), "of the main thread");
}

TEST_F(Errors, AnErrorWithoutTextGetsThatOfItsStatus) {
    report(Error{TENON_E_DEVICE_LOST, {}});
    EXPECT_STREQ(tenon_last_error(), "device lost");
}

TEST_F(Errors, LongTextsAreCutAtACharacter) {
    for (size_t ascii = 500; ascii < 516; ++ascii) {
        const std::string text = std::string(ascii, 'a') + "\u20ac\u20ac\u20ac";  // 3 bytes each
        const Error error = fail(TENON_E_IO, "%s", text.c_str());
        const std::string kept = error.text;
        ASSERT_LT(kept.size(), sizeof error.text);
        EXPECT_EQ(text.compare(0, kept.size(), kept), 0);
        if (kept.size() > ascii) {
            EXPECT_EQ((kept.size() - ascii) % 3, 0u) << ascii;
        }
        EXPECT_GT(kept.size() + 3, std::min(text.size(), sizeof error.text - 1));
    }
}

TEST_F(Errors, ReportingAllocatesNothing) {
    report(fail(TENON_E_NO_HOST_MEMORY, "warm up"));
    tenon_clear_error();
    const size_t before = test::allocations_of_this_thread();
    report(fail(TENON_E_NO_HOST_MEMORY, "context of %zu bytes: out of host memory", size_t{99}));
    EXPECT_EQ(test::allocations_of_this_thread(), before);
    EXPECT_STREQ(tenon_last_error(), "context of 99 bytes: out of host memory");
}

TEST_F(Errors, GuardTurnsExceptionsIntoMessages) {
    EXPECT_EQ(guard<int>(-1, []() -> int { throw std::bad_alloc(); }), -1);
    EXPECT_STREQ(tenon_last_error(), "out of host memory");
    EXPECT_EQ(guard<int>(-2, []() -> int { throw std::runtime_error("text of it"); }), -2);
    EXPECT_STREQ(tenon_last_error(), "text of it");
    EXPECT_EQ(guard<int>(-3, []() -> int { throw 7; }), -3);
    EXPECT_STREQ(tenon_last_error(), "unknown exception");
    guard_void([] { throw std::runtime_error("from a void function"); });
    EXPECT_STREQ(tenon_last_error(), "from a void function");
}

TEST_F(Errors, GuardPassesResultsThrough) {
    EXPECT_EQ(guard<int>(-1, []() -> Result<int> { return 5; }), 5);
    EXPECT_EQ(guard<int>(-1, [] { return 6; }), 6);
    EXPECT_STREQ(tenon_last_error(), "");
    EXPECT_EQ(guard<int>(-1, []() -> Result<int> { return fail(TENON_E_IO, "no"); }), -1);
    EXPECT_STREQ(tenon_last_error(), "no");
}

TEST_F(Errors, StatusesMapToThoseOfTheApi) {
    EXPECT_EQ(to_ggml_status(TENON_OK), GGML_STATUS_SUCCESS);
    EXPECT_EQ(to_ggml_status(TENON_E_NO_HOST_MEMORY), GGML_STATUS_ALLOC_FAILED);
    EXPECT_EQ(to_ggml_status(TENON_E_NO_DEVICE_MEMORY), GGML_STATUS_ALLOC_FAILED);
    EXPECT_EQ(to_ggml_status(TENON_E_CANCELLED), GGML_STATUS_ABORTED);
    EXPECT_EQ(to_ggml_status(TENON_E_INVALID), GGML_STATUS_FAILED);
    EXPECT_EQ(to_ggml_status(12345), GGML_STATUS_FAILED);
}

TEST_F(Errors, EveryStatusHasATextOfItsOwn) {
    for (tenon_status a = TENON_OK; a <= TENON_E_IO; ++a) {
        EXPECT_STRNE(status_text(a), "unknown status") << a;
        for (tenon_status b = TENON_OK; b < a; ++b) EXPECT_STRNE(status_text(a), status_text(b));
    }
    EXPECT_STREQ(status_text(99), "unknown status");
    for (int s = GGML_STATUS_ALLOC_FAILED; s <= GGML_STATUS_ABORTED; ++s) {
        EXPECT_NE(std::string(ggml_status_to_string(static_cast<ggml_status>(s))), "");
    }
}

// ---- the fatal handler --------------------------------------------------------------------------

std::string g_abort_text;

void throwing_callback(const char* text) {
    g_abort_text = text;
    throw 1;
}

TEST(Abort, TheCallbackGetsTheFinishedTextAndMayThrow) {
    const ggml_abort_callback_t before = ggml_set_abort_callback(throwing_callback);
    EXPECT_EQ(before, nullptr);
    EXPECT_THROW(ggml_abort("file.c", 12, "value %d", 7), int);
    EXPECT_EQ(g_abort_text, "file.c:12: value 7");
    EXPECT_EQ(ggml_set_abort_callback(nullptr), throwing_callback);
}

TEST(Abort, TextsEndAt2047Bytes) {
    ggml_set_abort_callback(throwing_callback);
    const std::string text(5000, 'x');
    EXPECT_THROW(ggml_abort("f", 1, "%s", text.c_str()), int);
    EXPECT_EQ(g_abort_text.size(), 2047u);
    ggml_set_abort_callback(nullptr);
}

TEST(AbortDeathTest, WithoutACallbackTheTextGoesToStderr) {
    EXPECT_DEATH(ggml_abort("file.c", 3, "it is %s", "over"), "file.c:3: it is over");
}

TEST(AbortDeathTest, ACallbackThatReturnsDoesNotSaveTheProcess) {
    EXPECT_DEATH(
        {
            ggml_set_abort_callback([](const char*) {});
            ggml_abort("file.c", 3, "x");
        },
        "");
}

TEST(AbortDeathTest, ErrorsAbortWhenTheEnvironmentAsks) {
    EXPECT_DEATH(
        {
            setenv("TENON_ABORT_ON_ERROR", "1", 1);
            report(fail(TENON_E_INVALID, "stop right here"));
        },
        "stop right here");
}

}  // namespace
