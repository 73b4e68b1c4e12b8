// What builders let through is computed, whatever its sources hold: rows of any index, floats of
// any bits. Kernels run without checks, so what reaches them must be sound.

#include <cstring>
#include <string>

#include "tests/fuzz/hostile.h"
#include "tests/support/api_builders.h"

namespace tenon::test {
namespace {

constexpr size_t kLargestBytes = 1 << 20;  // of all tensors of a graph

size_t bytes_of(ggml_context* ctx) {
    size_t total = 0;
    for (ggml_tensor* t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        if (ggml_nbytes(t) > kLargestBytes) return SIZE_MAX;
        total += ggml_nbytes(t);
    }
    return total;
}

// Random bits now and then, small numbers else. Quantized blocks take any bits.
void fill(ggml_tensor* t, Dice& dice) {
    const size_t n = ggml_nbytes(t);
    if (!t->data || t->view_src || n == 0) return;
    auto* bytes = static_cast<uint8_t*>(t->data);
    const bool wild = dice.one_in(4);
    for (size_t i = 0; i < n; ++i) bytes[i] = wild ? static_cast<uint8_t>(dice.bits()) : 0;
    if (wild) return;
    for (size_t i = 0; i + 4 <= n; i += 4) {
        const auto whole = static_cast<int32_t>(dice.up_to(3));
        const auto real = static_cast<float>(whole) * 0.5f;
        if (t->type == GGML_TYPE_I32) std::memcpy(bytes + i, &whole, 4);
        if (t->type == GGML_TYPE_F32) std::memcpy(bytes + i, &real, 4);
    }
}

class HostileCompute : public ::testing::Test {
protected:
    void SetUp() override {
        load_plugins();
        cpu.reset(ggml_backend_cpu_init());
        ASSERT_NE(cpu, nullptr) << tenon_last_error();
        ggml_backend_cpu_set_n_threads(cpu.get(), 2);
    }

    // Whether the node was computed.
    bool compute(ggml_context* ctx, ggml_tensor* node, Dice& dice) {
        if (bytes_of(ctx) > kLargestBytes) return false;
        const ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(ctx, cpu.get()));
        if (!buffer) return false;
        for (ggml_tensor* t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
            fill(t, dice);
        }
        const ggml_context_ptr graphs(ggml_init({ggml_graph_overhead(), nullptr, true}));
        ggml_cgraph* graph = ggml_new_graph(graphs.get());
        ggml_build_forward_expand(graph, node);
        return ggml_backend_graph_compute(cpu.get(), graph) == GGML_STATUS_SUCCESS;
    }

    ggml_backend_ptr cpu;
};

TEST_F(HostileCompute, WhateverABuilderMakesCanBeComputedOrIsRefused) {
    Dice dice(seed(20240701));
    int n_computed = 0;
    for (int round = 0; round < 20; ++round) {
        for (const BuilderRow& builder : builders()) {
            SCOPED_TRACE(builder.name);
            const ggml_context_ptr ctx(ggml_init({ggml_tensor_overhead() * 64, nullptr, true}));
            Arguments arguments(dice, ctx.get());
            ggml_tensor* node = builder.call(arguments);
            if (node && node->op != GGML_OP_NONE) n_computed += compute(ctx.get(), node, dice);
            tenon_clear_error();
        }
    }
    EXPECT_GT(n_computed, 300);
}

}  // namespace
}  // namespace tenon::test
