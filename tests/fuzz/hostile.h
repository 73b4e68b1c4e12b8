// A CPU, two devices with memory of their own, and a context for the tests that misuse them.
#pragma once

#include "ggml-alloc.h"
#include "ggml-cpu.h"
#include "tests/discrete/devices.h"
#include "tests/support/api_fuzz.h"

namespace tenon::test {

class Hostile : public DiscreteTest {
protected:
    void SetUp() override {
        DiscreteTest::SetUp();
        if (HasFatalFailure()) return;
        other.reset(ggml_backend_dev_init(other_device, nullptr));
        cpu.reset(ggml_backend_cpu_init());
        ASSERT_NE(cpu, nullptr) << tenon_last_error();
        ctx = context();
    }
    void TearDown() override { tenon_clear_error(); }

    ggml_cgraph* graph_of(ggml_tensor* result) const {
        ggml_cgraph* graph = ggml_new_graph_custom(ctx.get(), 256, false);
        ggml_build_forward_expand(graph, result);
        return graph;
    }
    ggml_tensor* leaf(int64_t n = 16) const {
        ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, n);
        ggml_set_input(t);
        return t;
    }
    ggml_backend_sched_ptr sched_of(std::vector<ggml_backend_t> backends, size_t size = 512) const {
        return ggml_backend_sched_ptr(ggml_backend_sched_new(
            backends.data(), nullptr, static_cast<int>(backends.size()), size, false, true));
    }

    ggml_backend_ptr other, cpu;
    ggml_context_ptr ctx;
};

}  // namespace tenon::test
