// tenon/kit/plan_cache.h - what was found out about graphs, kept for when they come again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/kit/tag.h"

namespace tenon::kit {
inline namespace TENON_KIT_TAG {

// The last kPlans plans. A Key says which graph a plan is for: `uid`, as in tenon_graph_view, and
// what else must be equal for the plan to serve, with operator==. Keys with uid 0 name no graph:
// their plan has storage of its own and is never found again. One caller at a time.
//
// Plans are made anew in the storage used longest ago, as its last plan left it, so that what that
// one allocated is used again.
template <class Key, class Plan, size_t kPlans>
class PlanCache {
    static_assert(kPlans > 0, "a cache has room for a plan");

public:
    // The plan kept for an equal key; NULL: none.
    Plan* find(const Key& key) {
        if (key.uid == 0) return nullptr;
        for (Entry& entry : entries_) {
            if (entry.last_use != 0 && entry.key == key) {
                entry.last_use = ++clock_;
                return &entry.plan;
            }
        }
        return nullptr;
    }

    // The same, or a new one: make(plan) fills it and says whether it is complete. One that is not,
    // or whose make() threw, is not found again; then, NULL.
    template <class Make>
    Plan* find_or_make(const Key& key, Make&& make) {
        if (Plan* plan = find(key)) return plan;
        if (key.uid == 0) return make(unnamed_) ? &unnamed_ : nullptr;
        Entry& entry = oldest();
        entry.last_use = 0;
        if (!make(entry.plan)) return nullptr;
        entry.key = key;
        entry.last_use = ++clock_;
        return &entry.plan;
    }

private:
    struct Entry {
        Key key{};
        uint64_t last_use = 0;  // 0: holds no plan
        Plan plan{};
    };

    Entry& oldest() {
        Entry* oldest = entries_;
        for (Entry& entry : entries_) {
            if (entry.last_use < oldest->last_use) oldest = &entry;
        }
        return *oldest;
    }

    Entry entries_[kPlans];
    Plan unnamed_{};
    uint64_t clock_ = 0;
};

}  // namespace TENON_KIT_TAG
}  // namespace tenon::kit
