// Globs, lists, UTF-8, kept strings.

#include "core/base/text.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Text, GlobsMatchWholeNamesWithoutCase) {
    EXPECT_TRUE(matches_glob("cuda", "CUDA"));
    EXPECT_TRUE(matches_glob("*", ""));
    EXPECT_TRUE(matches_glob("a*b*c", "aXbYbZc"));
    EXPECT_TRUE(matches_glob("tenon-?pu.so", "tenon-npu.so"));
    EXPECT_FALSE(matches_glob("cud", "cuda"));
    EXPECT_FALSE(matches_glob("a*b", "abc"));
    EXPECT_FALSE(matches_glob("?", ""));
    EXPECT_TRUE(matches_any(" x , vul*", "vulkan"));
    EXPECT_FALSE(matches_any(",,", ""));
}

TEST(Text, Utf8IsChecked) {
    for (const char* good :
         {"", "plain", "\xc3\xa9", "\xe2\x98\x83", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
        EXPECT_TRUE(is_utf8(good)) << good;
    }
    for (const char* bad : {"\x80", "\xc0\x80", "\xc3", "\xe2\x98", "\xed\xa0\x80",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
                            "a\xc3"
                            "a",
                            "\xe0\x80\x80"}) {
        EXPECT_FALSE(is_utf8(bad)) << bad;
    }
}

TEST(Text, ListsKeepEmptyParts) {
    EXPECT_EQ(split("a::b", ':'), (std::vector<std::string>{"a", "", "b"}));
    EXPECT_EQ(split("", ':'), std::vector<std::string>{""});
    EXPECT_EQ(trimmed("  x \n"), "x");
    EXPECT_EQ(trimmed(" \t"), "");
}

TEST(Text, KeptStringsAreSharedAndStay) {
    const char* a = keep(std::string("some ") + "text");
    EXPECT_EQ(a, keep("some text"));
    EXPECT_STREQ(a, "some text");
}

}  // namespace
}  // namespace tenon
