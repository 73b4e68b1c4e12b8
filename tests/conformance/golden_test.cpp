// Every golden file on the CPU: no graph may fail, and none may be refused.

#include "tests/conformance/golden.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ggml-cpp.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/devices.h"
#include "tests/variant.h"

namespace {

using namespace tenon::conformance;

std::vector<std::string> all_files() {
    std::vector<std::string> files = golden_files(TENON_TEST_DATA "/golden/ops");
    for (const std::string& file : golden_files(TENON_TEST_DATA "/golden/types"))
        files.push_back(file);
    return files;
}

// A recorded index that is none must fail its graph, like any other wrong value.
TEST(Selections, OutOfRangeInTheRecordIsAFailure) {
    ggml_context_ptr ctx(ggml_init({1 << 16, nullptr, /*no_alloc=*/true}));
    const ggml_tensor* keys = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 3, 2);
    const ggml_tensor* order = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I32, 2, 2);
    const std::vector<double> values{1, 2, 3, 6, 5, 4}, sound{2, 1, 0, 1};
    const auto passes = [&](const std::vector<double>& want, const std::vector<double>& of) {
        return compare_selections(*order, want, sound, *keys, of).ok;
    };
    EXPECT_TRUE(passes(sound, values));
    EXPECT_FALSE(passes({2, 1, 0, -1}, values));
    EXPECT_FALSE(passes({2, 1, 0, 1e9}, values));
    EXPECT_FALSE(passes(sound, {1, 2, 3}));
}

class Golden : public testing::TestWithParam<std::string> {};

void run_file(ggml_backend_t backend, const std::string& path) {
    size_t n = 0;
    run_golden_file(backend, path, [&](const GoldenResult& r) {
        ++n;
        EXPECT_NE(r.outcome, Outcome::kFailed) << r.name << "(" << r.params << "): " << r.message;
        if (is_golden_ops(path) && r.message != kWrongRecord) {
            EXPECT_NE(r.outcome, Outcome::kSkipped)
                << r.name << "(" << r.params << "): " << r.message;
        }
    });
    EXPECT_GT(n, 0u);
}

TEST_P(Golden, ValuesAreReproduced) {
    TENON_REQUIRE_VARIANT();
    ggml_backend_ptr backend(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    ASSERT_TRUE(backend);
    run_file(backend.get(), GetParam());
}

// With reference kernels: no nodes computed at once, no shortcuts.
TEST_P(Golden, ReferenceKernelsReproduceTheValues) {
    TENON_REQUIRE_VARIANT();
    if (!is_golden_ops(GetParam())) GTEST_SKIP() << "blocks of a type are computed by no stream";
    ggml_backend_ptr backend(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    ASSERT_TRUE(backend);
    use_reference_kernels(backend.get());
    run_file(backend.get(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(all_files()), [](const auto& file) {
    return std::filesystem::path(file.param).stem().string();
});

}  // namespace
