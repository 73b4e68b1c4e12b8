// The platform: memory, mapped files, clock, waiting.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "core/base/os.h"

using namespace tenon;
namespace fs = std::filesystem;

namespace {

class TempFile {
public:
    explicit TempFile(const std::string& content) {
        const auto dir = fs::temp_directory_path();
        path_ = dir / ("tenon_os_test_" + std::to_string(os::now_ns()));
        std::ofstream(path_, std::ios::binary) << content;
    }
    ~TempFile() { fs::remove(path_); }
    std::string path() const { return path_.string(); }

private:
    fs::path path_;
};

TEST(Os, MemoryIsAlignedAndUsable) {
    for (size_t size :
         {size_t{0}, size_t{1}, size_t{100}, size_t{1} << 20, (size_t{9} << 20) + 5}) {
        for (size_t alignment : {size_t{1}, size_t{64}, size_t{4096}}) {
            void* p = os::alloc_aligned(size, alignment);
            ASSERT_NE(p, nullptr);
            EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % alignment, 0u);
            std::memset(p, 0xAB, size);
            os::free_aligned(p, size, alignment);
        }
    }
    os::free_aligned(nullptr, 5, 64);
}

TEST(Os, AbsurdAmountsOfMemoryAreRefused) {
    EXPECT_EQ(os::alloc_aligned(SIZE_MAX, 64), nullptr);
    EXPECT_EQ(os::alloc_aligned(SIZE_MAX / 2, 64), nullptr);
    EXPECT_EQ(os::alloc_aligned(100, 3), nullptr);
}

TEST(Os, MapsAFile) {
    const TempFile file("hello");
    auto mapped = os::MappedFile::open(file.path().c_str());
    ASSERT_TRUE(mapped) << mapped.error().text;
    ASSERT_EQ(mapped->size_bytes(), 5u);
    EXPECT_EQ(std::memcmp(mapped->data(), "hello", 5), 0);

    os::MappedFile moved = std::move(*mapped);
    EXPECT_EQ(moved.size_bytes(), 5u);
    EXPECT_EQ(mapped->data(), nullptr);
}

TEST(Os, WritesToAMappingStayPrivate) {
    const TempFile file("hello");
    {
        auto mapped = os::MappedFile::open(file.path().c_str(), /*writable=*/true);
        ASSERT_TRUE(mapped);
        mapped->writable_data()[0] = 'J';
    }
    std::ifstream in(file.path());
    std::string text;
    in >> text;
    EXPECT_EQ(text, "hello");
}

TEST(Os, MapsAnEmptyFile) {
    const TempFile file("");
    auto mapped = os::MappedFile::open(file.path().c_str());
    ASSERT_TRUE(mapped);
    EXPECT_EQ(mapped->size_bytes(), 0u);
}

TEST(Os, SaysWhyAFileCannotBeMapped) {
    auto absent = os::MappedFile::open("/nonexistent/file");
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, TENON_E_NOT_FOUND);
    EXPECT_NE(std::strstr(absent.error().text, "/nonexistent/file"), nullptr);
    auto directory = os::MappedFile::open(fs::temp_directory_path().string().c_str());
    ASSERT_FALSE(directory);
    EXPECT_NE(std::strstr(directory.error().text, "not a regular file"), nullptr);
    EXPECT_FALSE(os::MappedFile::open(nullptr));
}

TEST(Os, TheClockOnlyRises) {
    uint64_t last = os::now_ns();
    for (int i = 0; i < 1000; ++i) {
        const uint64_t now = os::now_ns();
        EXPECT_GE(now, last);
        last = now;
    }
}

TEST(Os, KnowsTheMachine) {
    EXPECT_FALSE(os::cpu_brand().empty());
    EXPECT_TRUE(fs::exists(os::library_path())) << os::library_path();
    EXPECT_FALSE(os::elevated());
}

TEST(Os, ReadsTheEnvironment) {
    setenv("TENON_OS_TEST", "value", 1);
    EXPECT_STREQ(os::environment("TENON_OS_TEST"), "value");
    unsetenv("TENON_OS_TEST");
    EXPECT_EQ(os::environment("TENON_OS_TEST"), nullptr);
}

TEST(Os, AThreadCanBePinnedAndAsked) {
    std::thread([] {
        std::vector<char> before(8192);
        bool* mask = reinterpret_cast<bool*>(before.data());
        ASSERT_TRUE(os::get_thread_affinity(mask, 8192));
        size_t first = 0;
        while (first < 8192 && !mask[first]) ++first;
        ASSERT_LT(first, 8192u);

        std::vector<char> one(first + 1);
        reinterpret_cast<bool*>(one.data())[first] = true;
        ASSERT_TRUE(os::set_thread_affinity(reinterpret_cast<bool*>(one.data()), first + 1));
        ASSERT_TRUE(os::get_thread_affinity(mask, 8192));
        for (size_t i = 0; i < 8192; ++i) EXPECT_EQ(mask[i], i == first);
        os::set_thread_name("a name that is longer than fifteen");
        EXPECT_TRUE(os::set_thread_priority(GGML_SCHED_PRIO_NORMAL));
        EXPECT_FALSE(os::set_thread_priority(77));
    }).join();
}

TEST(Os, WaitingEndsWithAWake) {
    std::atomic<uint32_t> word{0};
    std::atomic<int> woken{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            while (word.load() == 0) os::wait_on(&word, 0);
            ++woken;
        });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(woken.load(), 0);
    word = 1;
    os::wake_all(&word);
    for (auto& t : threads) t.join();
    EXPECT_EQ(woken.load(), 3);
    os::wait_on(&word, 0);  // differs already: returns at once
    os::wake_one(&word);
}

}  // namespace
