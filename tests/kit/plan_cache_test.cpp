// Plans by the identity of their graphs.

#include "tenon/kit/plan_cache.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace tenon::kit {
namespace {

struct Key {
    uint64_t uid = 0;
    uint32_t n_threads = 1;
    bool operator==(const Key& other) const {
        return uid == other.uid && n_threads == other.n_threads;
    }
};
struct Plan {
    std::vector<int> steps;
};
using Cache = PlanCache<Key, Plan, 3>;

// Makes plans, and knows how many.
struct Maker {
    Cache cache;
    int made = 0;

    Plan* operator()(Key key, bool complete = true) {
        return cache.find_or_make(key, [&](Plan& plan) {
            plan.steps.assign(1, ++made);
            return complete;
        });
    }
};

TEST(PlanCache, APlanIsMadeOnce) {
    Maker plan_of;
    EXPECT_EQ(plan_of({7})->steps[0], 1);
    EXPECT_EQ(plan_of({7})->steps[0], 1);
    EXPECT_EQ(plan_of.cache.find({7})->steps[0], 1);
    EXPECT_EQ(plan_of.made, 1);
}

TEST(PlanCache, WhateverElseIsInTheKeyMustBeEqual) {
    Maker plan_of;
    plan_of({7, 1});
    EXPECT_EQ(plan_of({7, 2})->steps[0], 2);
    EXPECT_EQ(plan_of({7, 1})->steps[0], 1) << "both are kept";
    EXPECT_EQ(plan_of.cache.find({7, 3}), nullptr);
}

TEST(PlanCache, ThePlanUsedLongestAgoGoesFirst) {
    Maker plan_of;
    plan_of({1}), plan_of({2}), plan_of({3});
    plan_of({1});
    plan_of({4});
    EXPECT_NE(plan_of.cache.find({1}), nullptr);
    EXPECT_EQ(plan_of.cache.find({2}), nullptr);
    EXPECT_NE(plan_of.cache.find({3}), nullptr);
    EXPECT_NE(plan_of.cache.find({4}), nullptr);
}

TEST(PlanCache, GraphsWithoutIdentityAreNeverFound) {
    Maker plan_of;
    for (uint64_t uid = 1; uid <= 3; ++uid) plan_of({uid});
    EXPECT_EQ(plan_of({0})->steps[0], 4);
    EXPECT_EQ(plan_of({0})->steps[0], 5);
    EXPECT_EQ(plan_of.cache.find({0}), nullptr);
    for (uint64_t uid = 1; uid <= 3; ++uid) EXPECT_NE(plan_of.cache.find({uid}), nullptr) << uid;
}

TEST(PlanCache, AnIncompletePlanIsNotFound) {
    Maker plan_of;
    EXPECT_EQ(plan_of({7}, /*complete=*/false), nullptr);
    EXPECT_EQ(plan_of({0}, /*complete=*/false), nullptr);
    EXPECT_EQ(plan_of.cache.find({7}), nullptr);
    EXPECT_EQ(plan_of({7})->steps[0], 3);
}

TEST(PlanCache, APlanWhoseMakingThrewIsNotFoundNorWhatItReplaced) {
    Maker plan_of;
    for (uint64_t uid = 1; uid <= 3; ++uid) plan_of({uid});
    const auto fail = [](Plan& plan) -> bool {
        plan.steps.clear();
        throw std::runtime_error("out of memory");
    };
    EXPECT_THROW(plan_of.cache.find_or_make({4}, fail), std::runtime_error);
    EXPECT_EQ(plan_of.cache.find({4}), nullptr);
    EXPECT_EQ(plan_of.cache.find({1}), nullptr) << "its storage holds half a plan";
    EXPECT_NE(plan_of.cache.find({2}), nullptr);
    EXPECT_NE(plan_of.cache.find({3}), nullptr);
    plan_of({5});
    EXPECT_NE(plan_of.cache.find({2}), nullptr) << "free storage is taken before plans go";
}

TEST(PlanCache, StorageIsUsedAgain) {
    PlanCache<Key, Plan, 1> cache;
    cache.find_or_make({1}, [](Plan& plan) { return plan.steps.reserve(1000), true; });
    Plan* plan = cache.find_or_make({2}, [](Plan&) { return true; });
    EXPECT_GE(plan->steps.capacity(), 1000u);
}

}  // namespace
}  // namespace tenon::kit
