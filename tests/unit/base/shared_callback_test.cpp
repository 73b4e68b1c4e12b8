// A callback and its data under threads that set and threads that ask.

#include "core/base/shared_callback.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

using namespace tenon;

namespace {

using Function = bool (*)(void*);
int g_data[2];

template <int N>
bool is_its_own(void* data) {
    return data == &g_data[N];
}
constexpr Function kFunctions[] = {is_its_own<0>, is_its_own<1>};

TEST(SharedCallback, IsEmptyUntilItIsSet) {
    SharedCallback<Function> callback;
    EXPECT_EQ(callback.get().function, nullptr);
    EXPECT_EQ(callback.get().data, nullptr);
    callback.set(kFunctions[0], &g_data[0]);
    EXPECT_EQ(callback.get().function, kFunctions[0]);
    EXPECT_EQ(callback.get().data, &g_data[0]);
}

TEST(SharedCallback, GivesNoMixtureOfTwoSettings) {
    SharedCallback<Function> callback(kFunctions[0], &g_data[0]);
    std::atomic<bool> stop{false};
    std::vector<std::thread> setters;
    for (int first = 0; first < 2; ++first) {
        setters.emplace_back([&, first] {
            for (int i = first; !stop; ++i) callback.set(kFunctions[i % 2], &g_data[i % 2]);
        });
    }
    int mixed = 0;
    for (int i = 0; i < 200000; ++i) {
        const auto pair = callback.get();
        mixed += !pair.function(pair.data);
    }
    stop = true;
    for (std::thread& setter : setters) setter.join();
    EXPECT_EQ(mixed, 0);
}

}  // namespace
