// Every golden file on the CPU: no graph may fail, and none may be refused.

#include "tests/conformance/golden.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ggml-cpp.h"
#include "tests/variant.h"

namespace {

using namespace tenon::conformance;

std::vector<std::string> all_files() {
    std::vector<std::string> files = golden_files(TENON_TEST_DATA "/golden/ops");
    for (const std::string& file : golden_files(TENON_TEST_DATA "/golden/types"))
        files.push_back(file);
    return files;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, ValuesAreReproduced) {
    TENON_REQUIRE_VARIANT();
    ggml_backend_ptr backend(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    ASSERT_TRUE(backend);
    size_t n = 0;
    run_golden_file(backend.get(), GetParam(), [&](const GoldenResult& r) {
        ++n;
        EXPECT_NE(r.outcome, Outcome::kFailed) << r.name << "(" << r.params << "): " << r.message;
        if (is_golden_ops(GetParam()) && r.message != kWrongRecord) {
            EXPECT_NE(r.outcome, Outcome::kSkipped)
                << r.name << "(" << r.params << "): " << r.message;
        }
    });
    EXPECT_GT(n, 0u);
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(all_files()), [](const auto& file) {
    return std::filesystem::path(file.param).stem().string();
});

}  // namespace
