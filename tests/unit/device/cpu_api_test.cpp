// ggml-cpu.h: graphs computed without naming a backend, and what the loaded CPU plugin tells.

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"
#include "tests/support/fake_plugin.h"

using namespace tenon;
using namespace tenon::test;

namespace {

struct Sum {
    ggml_context_ptr ctx = make_arena();
    ggml_tensor* x = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 16);
    ggml_tensor* y = ggml_add(ctx.get(), x, x);
    ggml_cgraph* graph = ggml_new_graph(ctx.get());
    Sum() {
        fake_cpu().fake(0).workspace = 0;
        fake_cpu().fake(0).ran.clear();
        ggml_set_f32(x, 1.5f);
        ggml_build_forward_expand(graph, y);
    }
    float result() const { return ggml_get_f32_1d(y, 15); }
};

bool last_error_names(const char* text) {
    const std::string error = tenon_last_error();
    const bool named = error.find(text) != std::string::npos;
    EXPECT_TRUE(named) << "'" << text << "' not in '" << error << "'";
    return named;
}

TEST(CpuApi, PlansAndComputes) {
    Sum sum;
    ggml_cplan plan = ggml_graph_plan(sum.graph, 2, nullptr);
    EXPECT_EQ(plan.work_size, 0u);
    EXPECT_EQ(plan.work_data, nullptr);
    EXPECT_EQ(plan.n_threads, 2);
    EXPECT_EQ(ggml_graph_compute(sum.graph, &plan), GGML_STATUS_SUCCESS);
    EXPECT_EQ(sum.result(), 3.0f);
    EXPECT_EQ(fake_cpu().fake(0).last_threads, 2u);
    EXPECT_GT(ggml_graph_plan(sum.graph, 0, nullptr).n_threads, 0);
}

TEST(CpuApi, WorkMemoryIsTheCallers) {
    Sum sum;
    fake_cpu().fake(0).workspace = 5000;
    sum.y->op_params[0] = 77;  // a signature of its own
    ggml_cplan plan = ggml_graph_plan(sum.graph, 1, nullptr);
    ASSERT_GE(plan.work_size, 5000u);
    EXPECT_EQ(ggml_graph_compute(sum.graph, &plan), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("work_data is null"));
    std::vector<uint8_t> work(plan.work_size + 1, 1);
    plan.work_data = work.data() + 1;  // of any alignment
    EXPECT_EQ(ggml_graph_compute(sum.graph, &plan), GGML_STATUS_SUCCESS);
    EXPECT_EQ(work[work.size() / 2], 0xee);
    plan.work_size = 100;
    EXPECT_EQ(ggml_graph_compute(sum.graph, &plan), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("needs 5064 bytes of work memory, the plan has 100"));
    plan.n_threads = 0;
    EXPECT_EQ(ggml_graph_compute(sum.graph, &plan), GGML_STATUS_FAILED);
    EXPECT_TRUE(last_error_names("0 threads"));
    EXPECT_EQ(ggml_graph_compute(sum.graph, nullptr), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_graph_compute(nullptr, &plan), GGML_STATUS_FAILED);
    tenon_clear_error();
    fake_cpu().fake(0).workspace = 0;
}

TEST(CpuApi, PlansBeforeTensorsHaveMemory) {
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_cgraph* graph = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(graph,
                              ggml_sqr(ctx.get(), ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4)));
    fake_cpu().fake(0).workspace = 64;
    EXPECT_GT(ggml_graph_plan(graph, 1, nullptr).work_size, 0u);
    EXPECT_STREQ(tenon_last_error(), "");
    fake_cpu().fake(0).workspace = 0;
    ggml_graph_plan(nullptr, 1, nullptr);
    EXPECT_TRUE(last_error_names("null"));
}

TEST(CpuApi, ComputesWithAContext) {
    Sum sum;
    const size_t used = ggml_used_mem(sum.ctx.get());
    EXPECT_EQ(ggml_graph_compute_with_ctx(sum.ctx.get(), sum.graph, 2), GGML_STATUS_SUCCESS);
    EXPECT_EQ(sum.result(), 3.0f);
    EXPECT_EQ(ggml_used_mem(sum.ctx.get()), used);  // no scratch wanted, none taken
    fake_cpu().fake(0).workspace = size_t{1} << 30;
    sum.y->op_params[0] = 78;
    EXPECT_EQ(ggml_graph_compute_with_ctx(sum.ctx.get(), sum.graph, 2), GGML_STATUS_ALLOC_FAILED);
    EXPECT_STRNE(tenon_last_error(), "");
    fake_cpu().fake(0).workspace = 0;
    EXPECT_EQ(ggml_graph_compute_with_ctx(nullptr, sum.graph, 2), GGML_STATUS_FAILED);
    tenon_clear_error();
}

TEST(CpuApi, AbortsAndUsesThePool) {
    Sum sum;
    ggml_threadpool_params params = ggml_threadpool_params_default(2);
    params.poll = 0;
    ggml_threadpool* pool = ggml_threadpool_new(&params);
    ggml_cplan plan = ggml_graph_plan(sum.graph, 8, pool);
    EXPECT_EQ(plan.n_threads, 2);
    EXPECT_EQ(plan.threadpool, pool);
    EXPECT_EQ(ggml_graph_compute(sum.graph, &plan), GGML_STATUS_SUCCESS);
    EXPECT_EQ(fake_cpu().fake(0).last_threads, 2u);
    plan.abort_callback = [](void*) { return true; };
    EXPECT_EQ(ggml_graph_compute(sum.graph, &plan), GGML_STATUS_ABORTED);
    EXPECT_EQ(ggml_graph_plan(sum.graph, -1, pool).n_threads, 2);
    ggml_threadpool_free(pool);
    EXPECT_STREQ(tenon_last_error(), "");
}

TEST(CpuApi, TellsFeaturesOfThePlugin) {
    fake_cpu();
    EXPECT_EQ(ggml_cpu_has_avx2(), 1);
    EXPECT_EQ(ggml_cpu_has_neon(), 0);
    EXPECT_EQ(ggml_cpu_get_sve_cnt(), 32);
    EXPECT_EQ(ggml_cpu_get_rvv_vlen(), 0);
    ggml_cpu_init();
    EXPECT_EQ(ggml_backend_cpu_reg(), ggml_backend_reg_by_name("cpu"));
    const ggml_type_traits_cpu* traits = ggml_get_type_traits_cpu(GGML_TYPE_F32);
    ASSERT_NE(traits, nullptr);
    EXPECT_EQ(traits->vec_dot, nullptr);  // the fake has no such table
    EXPECT_EQ(ggml_get_type_traits_cpu(static_cast<ggml_type>(-1)), nullptr);
    EXPECT_EQ(ggml_get_type_traits_cpu(GGML_TYPE_COUNT), nullptr);
}

TEST(CpuApi, NumaInitMayBeCalledAgain) {
    ggml_numa_init(GGML_NUMA_STRATEGY_DISTRIBUTE);
    const bool numa = ggml_is_numa();
    ggml_numa_init(GGML_NUMA_STRATEGY_ISOLATE);
    EXPECT_EQ(ggml_is_numa(), numa);
}

TEST(CpuApi, ConvertsRows) {
    const float x[3] = {1.5f, -2.9f, 1000.0f};
    float y[3];
    int32_t i[3];
    ggml_fp16_t half[3];
    ggml_bf16_t brain[3];
    ggml_cpu_fp32_to_fp32(x, y, 3);
    EXPECT_EQ(std::memcmp(x, y, sizeof x), 0);
    ggml_cpu_fp32_to_i32(x, i, 3);
    EXPECT_EQ(i[1], -2);
    ggml_cpu_fp32_to_fp16(x, half, 3);
    ggml_cpu_fp16_to_fp32(half, y, 3);
    EXPECT_EQ(y[0], 1.5f);
    EXPECT_EQ(y[2], 1000.0f);
    ggml_cpu_fp32_to_bf16(x, brain, 3);
    ggml_cpu_bf16_to_fp32(brain, y, 3);
    EXPECT_EQ(y[2], 1000.0f);
    ggml_cpu_fp32_to_fp32(nullptr, nullptr, 0);
}

}  // namespace
