// Random graphs computed twice, with memory of their own and planned: results must not depend on
// where tensors lie.

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "ggml-cpu.h"
#include "tests/unit/memory/graph_alloc_fixture.h"

using namespace tenon::test;

namespace {

// A random graph of elementwise ops and views; the same random numbers give the same graph.
std::vector<ggml_tensor*> random_graph(ggml_context* ctx, ggml_cgraph* graph, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<ggml_tensor*> all, outputs;
    for (int i = 0; i < 3; ++i) {
        ggml_tensor* x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 12);
        if (random() % 4) ggml_set_input(x);
        all.push_back(x);
    }
    for (int i = 0; i < 30; ++i) {
        const auto pick = [&] {
            return all[all.size() - 1 - random() % std::min<size_t>(all.size(), 6)];
        };
        ggml_tensor* a = ggml_reshape_1d(ctx, pick(), 12);
        ggml_tensor* t = nullptr;
        switch (random() % 6) {
            case 0:
                t = ggml_add(ctx, a, a);
                break;
            case 1:
                t = ggml_mul(ctx, a, ggml_reshape_1d(ctx, pick(), 12));
                break;
            case 2:
                t = ggml_scale(ctx, a, 0.5f);
                break;
            case 3:
                t = ggml_sqr(ctx, ggml_scale(ctx, pick(), 0.1f));
                break;
            case 4:
                t = ggml_add(ctx, ggml_view_1d(ctx, a, 12, 0), ggml_reshape_1d(ctx, pick(), 12));
                break;
            default:
                t = ggml_reshape_2d(ctx, pick(), 3, 4);
        }
        all.push_back(t);
        if (random() % 8 == 0) {
            ggml_set_output(t);
            outputs.push_back(t);
        }
    }
    ggml_set_output(all.back());
    outputs.push_back(all.back());
    for (ggml_tensor* t : outputs) ggml_build_forward_expand(graph, t);
    return outputs;
}

void set_leafs(ggml_context* ctx) {
    float value = 0.3f;
    for (ggml_tensor* t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        if (t->op != GGML_OP_NONE || t->view_src) continue;
        for (size_t i = 0; i < 12; ++i) {
            value += 0.07f;
            if (t->data) ggml_backend_tensor_set(t, &value, i * 4, 4);
        }
    }
}

// One graph twice: every tensor with memory of its own, and planned. The outputs must be equal.
class Twins {
public:
    explicit Twins(uint32_t seed) {
        fake_cpu().fake(0).workspace = 0;
        cpu_.reset(ggml_backend_cpu_init());
        ggml_backend_cpu_set_n_threads(cpu_.get(), 1);
        expected_ = random_graph(plain.ctx.get(), plain.graph, seed);
        got_ = random_graph(planned.ctx.get(), planned.graph, seed);
        own_.reset(ggml_backend_alloc_ctx_tensors(plain.ctx.get(), cpu_.get()));
    }
    bool compute_equal() {
        for (Graph* g : {&plain, &planned}) {
            set_leafs(g->ctx.get());
            fake_cpu().fake(0).ran.clear();
            EXPECT_EQ(ggml_backend_graph_compute(cpu_.get(), g->graph), GGML_STATUS_SUCCESS);
        }
        for (size_t i = 0; i < got_.size(); ++i) {
            if (std::memcmp(expected_[i]->data, got_[i]->data, ggml_nbytes(got_[i])) != 0) {
                return false;
            }
        }
        return true;
    }
    size_t own_bytes() const { return ggml_backend_buffer_get_size(own_.get()); }
    Graph plain, planned;

private:
    ggml_backend_ptr cpu_;
    ggml_backend_buffer_ptr own_;
    std::vector<ggml_tensor*> expected_, got_;
};

TEST(GraphAlloc, ResultsDoNotDependOnWhereTensorsLie) {
    ggml_gallocr_ptr galloc(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
    for (uint32_t seed = 0; seed < 300; ++seed) {
        Twins twins(seed);
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), twins.planned.graph));
        ASSERT_TRUE(twins.compute_equal()) << "seed " << seed;
        EXPECT_LT(ggml_gallocr_get_buffer_size(galloc.get(), 0), twins.own_bytes());
        // A graph whose tensors all have memory needs none.
        ggml_gallocr_ptr fresh(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
        ASSERT_TRUE(ggml_gallocr_reserve(fresh.get(), twins.plain.graph));
        EXPECT_EQ(ggml_gallocr_get_buffer_size(fresh.get(), 0), 0u);
    }
}

TEST(GraphAlloc, ResultsDoNotDependOnSlotsAndChunks) {
    Memory small(128), large(kNoLimit);
    ggml_backend_buffer_type_t types[] = {small.type, large.type, small.type};
    ggml_gallocr_ptr galloc(ggml_gallocr_new_n(types, 3));
    for (uint32_t seed = 1000; seed < 1200; ++seed) {
        Twins twins(seed);
        std::mt19937 random(seed);
        std::vector<int> nodes(200), leafs(200);
        for (int& slot : nodes) slot = static_cast<int>(random() % 3);
        for (int& slot : leafs) slot = static_cast<int>(random() % 3);
        ggml_cgraph* graph = twins.planned.graph;
        ASSERT_LE(ggml_graph_n_nodes(graph), 200);
        ASSERT_TRUE(ggml_gallocr_reserve_n(galloc.get(), graph, nodes.data(), leafs.data()));
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), graph));
        ASSERT_TRUE(twins.compute_equal()) << "seed " << seed;
        for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) {
            const ggml_tensor* node = ggml_graph_node(graph, i);
            if (node->view_src) continue;
            ASSERT_EQ(ggml_backend_buffer_get_type(node->buffer),
                      types[nodes[static_cast<size_t>(i)]]);
        }
    }
}

}  // namespace
