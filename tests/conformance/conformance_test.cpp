// The conformance suite under GoogleTest: every op on every device found.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "ggml-cpp.h"
#include "sdk/conformance/devices.h"
#include "sdk/conformance/placement.h"
#include "sdk/conformance/suite.h"
#include "tenon/tenon.h"
#include "tenon/tensor.h"
#include "tenon/work.h"
#include "tests/conformance/golden.h"
#include "tests/support/variant.h"

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

// A stream of every device; of a CPU one that works alone and one with a team, which must agree,
// and for chains one that computes every node on its own.
struct Stream {
    ggml_backend_ptr backend;
    bool is_cpu;
    std::string name;
    bool must_agree = false;  // with the stream before, to the bit
};

void open_cpu_streams(ggml_backend_dev_t device, bool chains, std::vector<Stream>& streams) {
    const auto open = [&](const char* how, int n_threads, bool must_agree) -> ggml_backend_t {
        ggml_backend_ptr backend(ggml_backend_dev_init(device, nullptr));
        if (!backend) throw std::runtime_error(tenon_last_error());
        set_n_threads(backend.get(), n_threads);
        streams.push_back({std::move(backend), true,
                           std::string(ggml_backend_dev_name(device)) + how, must_agree});
        return streams.back().backend.get();
    };
    open(" with 1 thread", 1, false);
    open(" with 3 threads", 3, true);
    if (chains) use_reference_kernels(open(" with reference kernels", 1, false));
}

std::vector<Stream> open_streams(bool chains) {
    std::vector<Stream> streams;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU) {
            open_cpu_streams(device, chains, streams);
            continue;
        }
        ggml_backend_ptr backend(ggml_backend_dev_init(device, nullptr));
        if (!backend) throw std::runtime_error(tenon_last_error());
        streams.push_back({std::move(backend), false, ggml_backend_dev_name(device)});
    }
    return streams;
}

class Conformance : public testing::TestWithParam<std::string> {
public:
    // Even the smallest node is shared out over the team.
    static void SetUpTestSuite() {
        ASSERT_EQ(tenon_setting_set("cpu.always_team", "1"), TENON_OK) << tenon_last_error();
    }
};

// TENON_TEST_SEED, TENON_TEST_MAX_WORK, TENON_TEST_MIN_WORK and TENON_TEST_STRIDE choose other
// cases.
TEST_P(Conformance, EveryDeviceAgreesWithTheOracle) {
    TENON_REQUIRE_VARIANT();
    const auto seed = static_cast<uint64_t>(from_environment("TENON_TEST_SEED", 42));
    const int64_t max_work = from_environment("TENON_TEST_MAX_WORK", kEverydayWork);
    const int64_t min_work = from_environment("TENON_TEST_MIN_WORK", 0);
    const int64_t stride = from_environment("TENON_TEST_STRIDE", 1);
    const bool chains = cases_by_op().at(GetParam()).front()->is_chain();
    const std::vector<Stream> streams = open_streams(chains);
    ASSERT_FALSE(streams.empty());
    std::vector<ggml_backend_t> devices;
    for (const Stream& stream : streams) devices.push_back(stream.backend.get());
    int64_t n = 0, n_run = 0, cpu_refused = 0;
    for (const Case* c : cases_by_op().at(GetParam())) {
        int64_t work = 0;
        try {
            work = work_of(*c);
        } catch (const std::exception& failure) {
            ADD_FAILURE() << c->op << "(" << c->params << "): " << failure.what();
            continue;
        }
        if (work > max_work || work < min_work || n++ % stride != 0) continue;
        ++n_run;
        const auto results = run_case(*c, devices, seed);
        for (size_t d = 0; d < devices.size(); ++d) {
            EXPECT_NE(results[d].verdict, Verdict::kFailed)
                << streams[d].name << ": " << results[d].message;
            if (streams[d].is_cpu && !c->optional && results[d].verdict == Verdict::kUnsupported) {
                ++cpu_refused;
                ADD_FAILURE() << "the CPU refuses " << c->op << "(" << c->params
                              << "): " << results[d].message;
            }
            if (streams[d].must_agree) {
                EXPECT_EQ(results[d].digest, results[d - 1].digest)
                    << c->op << "(" << c->params << "): the result depends on the threads";
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

// What placement will go by: a time for every node that a device takes, by its own word or by
// rates.
TEST(Conformance, EveryDeviceHasATimeForWhatItTakes) {
    TENON_REQUIRE_VARIANT();
    int n = 0;
    for (const Stream& stream : open_streams(/*chains=*/false)) {
        ggml_backend_dev_t device = ggml_backend_get_device(stream.backend.get());
        for (const auto& [op, cases] : cases_by_op()) {
            const Built b = build(*cases.front());
            const ggml_tensor* node = b.outputs.back();
            tenon_op_verdict verdict{};
            ASSERT_EQ(tenon_device_query(device, &node, 1, &verdict, /*want_cost=*/true), TENON_OK);
            if (verdict.support == TENON_SUPPORT_NO) continue;
            tenon_estimate e{};
            e.struct_size = sizeof e;
            ASSERT_EQ(tenon_device_estimate(device, node, &verdict, &e), TENON_OK);
            const bool computes = tenon_node_work(node).kind != TENON_WORK_NOTHING;
            EXPECT_EQ(e.time_ns > 0, computes) << stream.name << ": " << op;
            n += computes;
        }
    }
    EXPECT_GT(n, 0);
}

// Whether `a` and `b` share bytes, but are not the same bytes.
bool lie_across(const ggml_tensor& a, const ggml_tensor& b) {
    const auto* a_begin = static_cast<const char*>(a.data);
    const auto* b_begin = static_cast<const char*>(b.data);
    const char *a_end = a_begin + ggml_nbytes(&a), *b_end = b_begin + ggml_nbytes(&b);
    return a_begin < b_end && b_begin < a_end && !(a_begin == b_begin && a_end == b_end);
}

// Whether a result lies across what one of the four nodes before it still read.
bool has_late_overlap(const ggml_cgraph* graph) {
    const int n = ggml_graph_n_nodes(const_cast<ggml_cgraph*>(graph));
    for (int i = 0; i < n; ++i) {
        const ggml_tensor& node = *ggml_graph_node(const_cast<ggml_cgraph*>(graph), i);
        if (tenon_is_view_op(node.op)) continue;
        for (int k = std::max(0, i - 4); k < i; ++k) {
            const ggml_tensor& before = *ggml_graph_node(const_cast<ggml_cgraph*>(graph), k);
            for (const ggml_tensor* src : before.src) {
                if (src && !tenon_is_view_op(before.op) && lie_across(node, *src)) return true;
            }
        }
    }
    return false;
}

// Else the planned layout would show nothing that memory of their own does not.
TEST(Conformance, PlannedChainsPutResultsAcrossEarlierOperands) {
    std::map<std::string, int> found;
    for (const Case& c : all_cases()) {
        if (!c.is_chain() || work_of(c) > kEverydayWork) continue;
        Built b = build(c);
        const Memory memory = place(b, ggml_backend_cpu_buffer_type(), Layout::kPlanned);
        found[c.op] += has_late_overlap(b.graph);
    }
    for (const char* op : {"CHAIN:REUSE", "CHAIN:RANDOM", "CHAIN:MUL_MAT_VEC_FUSION",
                           "CHAIN:TOPK_MOE", "CHAIN:MUL_MAT_ID_FUSION"}) {
        EXPECT_GT(found[op], 10) << op;
    }
}

class Oracle : public testing::TestWithParam<std::string> {};

TEST_P(Oracle, ReproducesTheRecordedValues) {
    size_t n = 0;
    for (const GoldenGraph& graph : read_golden_ops(GetParam())) {
        run_golden_graph_on_host(graph, compute_reference, [&](const GoldenResult& r) {
            ++n;
            if (r.message == kWrongRecord) return;
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
