// Tests that run once per set of levels of dot products (plugins/cpu/dot/levels.h): none, each
// alone, all. Sets with a level that the processor lacks are skipped.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plugins/cpu/dot/levels.h"

namespace tenon::cpu {

inline std::vector<uint32_t> level_sets() {
    const uint32_t n = static_cast<uint32_t>(dot_levels().size());
    std::vector<uint32_t> sets = {0};
    for (uint32_t i = 0; i < n; ++i) sets.push_back(1u << i);
    if (n > 1) sets.push_back((1u << n) - 1);
    return sets;
}

inline std::string level_set_name(const testing::TestParamInfo<uint32_t>& info) {
    std::string name;
    for (size_t i = 0; i < dot_levels().size(); ++i) {
        if (info.param >> i & 1)
            name += (name.empty() ? "" : "_") + std::string(dot_levels()[i].feature);
    }
    return name.empty() ? "Variant" : name;
}

class PerLevel : public testing::TestWithParam<uint32_t> {
protected:
    void SetUp() override {
        limit_dot_levels(GetParam());
        if (dot_levels_in_use() != GetParam())
            GTEST_SKIP() << "this processor lacks the instructions";
    }
    void TearDown() override { limit_dot_levels(~0u); }
};

}  // namespace tenon::cpu
