// What tests of the scheduler share: mock backends, a scheduler over some of them, graphs of layers
// n = rms_norm, mm = mul_mat(w, n), re = relu(mm), and weights in a chosen device's memory.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>

#include "tenon/tenon.h"
#include "tests/unit/placement/mocks.h"

namespace tenon::test {

class PlacementTest : public ::testing::Test {
protected:
    PlacementTest() { tenon_clear_error(); }

    // Schedulers list backends by priority; the CPU is added at the end.
    void schedule(std::initializer_list<Mock> devices, bool op_offload = false) {
        std::vector<ggml_backend_t> list;
        for (const Mock which : devices) list.push_back(mocks[which]);
        list.push_back(mocks[kCpu]);
        sched.reset(ggml_backend_sched_new(list.data(), nullptr, static_cast<int>(list.size()),
                                           2048, false, op_offload));
        ASSERT_NE(sched, nullptr) << tenon_last_error();
    }

    static ggml_context_ptr context() {
        return ggml_context_ptr(
            ggml_init({ggml_tensor_overhead() * 512 + ggml_graph_overhead() * 8, nullptr, true}));
    }

    static ggml_tensor* named(ggml_tensor* t, const char* name) { return ggml_set_name(t, name); }

    // Tensors placed on a device before the graph is built, as weights and caches are.
    ggml_tensor* placed(Mock where, const char* name, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1,
                        ggml_backend_buffer_usage usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS) {
        contexts.push_back(context());
        ggml_tensor* t =
            named(ggml_new_tensor_3d(contexts.back().get(), GGML_TYPE_F32, ne0, ne1, ne2), name);
        buffers.emplace_back(ggml_backend_alloc_ctx_tensors(contexts.back().get(), mocks[where]));
        EXPECT_NE(buffers.back(), nullptr);
        ggml_backend_buffer_set_usage(buffers.back().get(), usage);
        return t;
    }

    ggml_tensor* input(const char* name, int64_t ne0, int64_t ne1) {
        ggml_tensor* t = named(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, ne0, ne1), name);
        ggml_set_input(t);
        return t;
    }

    // Layer i: n<i>, mm<i>, re<i>.
    ggml_tensor* layer(ggml_tensor* x, ggml_tensor* w, int i) {
        const std::string id = std::to_string(i);
        x = named(ggml_rms_norm(ctx.get(), x, 1e-5f), ("n" + id).c_str());
        x = named(ggml_mul_mat(ctx.get(), w, x), ("mm" + id).c_str());
        return named(ggml_relu(ctx.get(), x), ("re" + id).c_str());
    }

    ggml_cgraph* graph_of(std::initializer_list<ggml_tensor*> results) {
        ggml_cgraph* graph = ggml_new_graph(ctx.get());
        for (ggml_tensor* t : results) ggml_build_forward_expand(graph, t);
        return graph;
    }

    // "n0:M0 mm0:M0 …" of the nodes that compute something.
    std::string assignment(ggml_cgraph* graph) {
        std::string text;
        for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
            ggml_tensor* node = ggml_graph_node(graph, i);
            if (tenon_placement_node record = why(graph, node); record.split < 0) continue;
            ggml_backend_t backend = ggml_backend_sched_get_tensor_backend(sched.get(), node);
            text += (text.empty() ? "" : " ") + std::string(node->name) + ":" +
                    ggml_backend_name(backend);
        }
        return text;
    }

    tenon_placement_node why(ggml_cgraph* graph, const ggml_tensor* node) {
        tenon_placement_node record{};
        record.struct_size = sizeof record;
        for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
            if (ggml_graph_node(graph, i) != node) continue;
            EXPECT_TRUE(tenon_placement_explain(sched.get(), static_cast<size_t>(i), &record));
        }
        return record;
    }

    tenon_placement_split split(size_t i) {
        tenon_placement_split record{};
        record.struct_size = sizeof record;
        EXPECT_TRUE(tenon_placement_get_split(sched.get(), i, &record));
        return record;
    }

    bool alloc(ggml_cgraph* graph) { return ggml_backend_sched_alloc_graph(sched.get(), graph); }
    int n_splits() { return ggml_backend_sched_get_n_splits(sched.get()); }
    size_t buffer_size(Mock which) {
        return ggml_backend_sched_get_buffer_size(sched.get(), mocks[which]);
    }

    MockBackends mocks;
    std::vector<ggml_context_ptr> contexts;
    std::vector<ggml_backend_buffer_ptr> buffers;
    ggml_context_ptr ctx = context();
    ggml_backend_sched_ptr sched;
};

}  // namespace tenon::test
