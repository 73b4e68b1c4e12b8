// For tests that run once per CPU variant: is the variant asked for the one in use?
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "ggml-backend.h"
#include "tenon/tenon.h"

namespace tenon::test {

// The state of the CPU plugin `variant`: "loaded", "cpu-features", …; "absent" without such a file.
inline std::string variant_state(const std::string& variant) {
    ggml_backend_load_all();
    for (size_t i = 0; i < tenon_plugin_count(); ++i) {
        tenon_plugin_report report{};
        report.struct_size = sizeof report;
        if (tenon_plugin_get(i, &report) && std::string(report.family) == "cpu" &&
            report.variant == variant) {
            return report.state;
        }
    }
    return "absent";
}

}  // namespace tenon::test

// Skips where the processor lacks the variant TENON_CPU_VARIANT names; fails when it has it and
// another one was loaded.
#define TENON_REQUIRE_VARIANT()                                                             \
    do {                                                                                    \
        const char* wanted = std::getenv("TENON_CPU_VARIANT");                              \
        if (!wanted) break;                                                                 \
        const std::string state = tenon::test::variant_state(wanted);                       \
        if (state == "cpu-features") GTEST_SKIP() << wanted << ": this processor lacks it"; \
        ASSERT_EQ(state, "loaded") << wanted;                                               \
    } while (0)
