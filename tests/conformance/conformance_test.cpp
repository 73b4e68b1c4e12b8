// The conformance suite under GoogleTest: every op on every device found.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "ggml-cpp.h"
#include "tenon/tensor.h"
#include "tests/conformance/golden.h"
#include "tests/conformance/suite.h"
#include "tests/variant.h"

namespace {

using namespace tenon::conformance;

int64_t from_environment(const char* name, int64_t otherwise) {
    const char* text = std::getenv(name);
    return text ? std::atoll(text) : otherwise;
}

const std::map<std::string, std::vector<const Case*>>& cases_by_op() {
    static const auto* by_op = [] {
        auto* map = new std::map<std::string, std::vector<const Case*>>;
        for (const Case& c : all_cases()) (*map)[c.op].push_back(&c);
        return map;
    }();
    return *by_op;
}

std::vector<std::string> op_names() {
    std::vector<std::string> names;
    for (const auto& [name, cases] : cases_by_op()) names.push_back(name);
    return names;
}

std::string identifier(std::string name) {
    for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    }
    return name;
}

class Conformance : public testing::TestWithParam<std::string> {};

// TENON_TEST_SEED, TENON_TEST_MAX_WORK, TENON_TEST_MIN_WORK and TENON_TEST_STRIDE choose other
// cases.
TEST_P(Conformance, EveryDeviceAgreesWithTheOracle) {
    TENON_REQUIRE_VARIANT();
    const auto seed = static_cast<uint64_t>(from_environment("TENON_TEST_SEED", 42));
    const int64_t max_work = from_environment("TENON_TEST_MAX_WORK", 20'000'000);
    const int64_t min_work = from_environment("TENON_TEST_MIN_WORK", 0);
    const int64_t stride = from_environment("TENON_TEST_STRIDE", 1);
    std::vector<ggml_backend_ptr> streams;
    std::vector<ggml_backend_t> devices;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        streams.emplace_back(ggml_backend_dev_init(ggml_backend_dev_get(i), nullptr));
        ASSERT_TRUE(streams.back()) << tenon_last_error();
        devices.push_back(streams.back().get());
    }
    ASSERT_FALSE(devices.empty());
    int64_t n = 0, n_run = 0, cpu_refused = 0;
    for (const Case* c : cases_by_op().at(GetParam())) {
        const int64_t work = work_of(*c);
        if (work > max_work || work < min_work || n++ % stride != 0) continue;
        ++n_run;
        const auto results = run_case(*c, devices, seed);
        for (size_t d = 0; d < devices.size(); ++d) {
            EXPECT_NE(results[d].verdict, Verdict::kFailed)
                << ggml_backend_name(devices[d]) << ": " << results[d].message;
            const bool cpu = ggml_backend_dev_type(ggml_backend_get_device(devices[d])) ==
                             GGML_BACKEND_DEVICE_TYPE_CPU;
            if (cpu && results[d].verdict == Verdict::kUnsupported) {
                ++cpu_refused;
                ADD_FAILURE() << "the CPU refuses " << c->op << "(" << c->params << ")";
            }
        }
        if (HasFailure() && cpu_refused > 5) break;  // enough to see what is wrong
    }
    RecordProperty("cases", static_cast<int>(n_run));
    if (n_run == 0)
        GTEST_SKIP() << "no case between " << min_work << " and " << max_work << " multiply-adds";
}

INSTANTIATE_TEST_SUITE_P(Ops, Conformance, testing::ValuesIn(op_names()),
                         [](const auto& op) { return identifier(op.param); });

TEST(Conformance, HasCasesAndAReferenceForEveryOpThatComputes) {
    for (int i = 0; i < GGML_OP_COUNT; ++i) {
        const auto op = static_cast<ggml_op>(i);
        if (tenon_is_view_op(op) || op == GGML_OP_FLASH_ATTN_BACK) continue;
        EXPECT_TRUE(has_reference(op)) << ggml_op_name(op);
        if (op == GGML_OP_UNARY || op == GGML_OP_GLU) continue;
        EXPECT_TRUE(cases_by_op().count(ggml_op_name(op))) << ggml_op_name(op);
    }
    for (int i = 0; i < GGML_UNARY_OP_COUNT; ++i) {
        const std::string name =
            std::string("UNARY:") + ggml_unary_op_name(static_cast<ggml_unary_op>(i));
        EXPECT_TRUE(cases_by_op().count(name)) << name;
    }
    for (int i = 0; i < GGML_GLU_OP_COUNT; ++i) {
        const std::string name =
            std::string("GLU:") + ggml_glu_op_name(static_cast<ggml_glu_op>(i));
        EXPECT_TRUE(cases_by_op().count(name)) << name;
    }
}

class Oracle : public testing::TestWithParam<std::string> {};

TEST_P(Oracle, ReproducesTheRecordedValues) {
    size_t n = 0;
    for (const GoldenGraph& graph : read_golden_ops(GetParam())) {
        run_golden_graph_on_host(graph, compute_reference, [&](const GoldenResult& r) {
            ++n;
            EXPECT_EQ(r.outcome, Outcome::kPassed)
                << r.name << "(" << r.params << "): " << r.message;
        });
    }
    EXPECT_GT(n, 0u);
}

INSTANTIATE_TEST_SUITE_P(Files, Oracle,
                         testing::ValuesIn(golden_files(TENON_TEST_DATA "/golden/ops")),
                         [](const auto& file) {
                             return std::filesystem::path(file.param).stem().string();
                         });

}  // namespace
