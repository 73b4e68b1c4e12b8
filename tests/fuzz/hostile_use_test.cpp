// Random graphs with one thing broken under random calls, and objects that end in the wrong order.

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "ggml/src/ggml-impl.h"
#include "tenon/ext/cost.h"
#include "tests/fuzz/hostile.h"

namespace tenon::test {
namespace {

class RandomGraph {
public:
    RandomGraph(Dice& dice, ggml_context* ctx) : dice_(dice), ctx_(ctx) {
        for (int i = 0; i < 3; ++i) {
            pool_.push_back(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 16));
            ggml_set_input(pool_.back());
        }
    }
    ggml_tensor* first() const { return pool_[0]; }
    ggml_tensor* any() const { return pool_[static_cast<size_t>(dice_.up_to(last()))]; }

    ggml_cgraph* build() {
        for (int i = 0; i < 12; ++i) pool_.push_back(node_over(any(), any()));
        graph_ = ggml_new_graph_custom(ctx_, 256, false);
        ggml_build_forward_expand(graph_, pool_.back());
        return graph_;
    }

    void break_one_thing() {
        ggml_tensor* victim = any();
        switch (dice_.up_to(4)) {
            case 0:
                victim->src[0] = nullptr;
                break;
            case 1:
                victim->src[dice_.up_to(1)] = any();
                break;
            case 2:
                victim->view_src = any();
                break;
            case 3:
                victim->flags = static_cast<int32_t>(dice_.up_to(63));
                break;
            default:
                if (graph_->n_nodes > 1) {
                    std::swap(graph_->nodes[0], graph_->nodes[graph_->n_nodes - 1]);
                }
        }
    }

private:
    int64_t last() const { return static_cast<int64_t>(pool_.size()) - 1; }
    ggml_tensor* node_over(ggml_tensor* a, ggml_tensor* b) const {
        switch (dice_.up_to(4)) {
            case 0:
                return ggml_sqr(ctx_, a);
            case 1:
                return ggml_view_1d(ctx_, a, 16, 0);
            case 2:
                return ggml_cpy(ctx_, a, b);
            case 3:
                return ggml_add_inplace(ctx_, a, b);
            default:
                return ggml_add(ctx_, a, b);
        }
    }

    Dice& dice_;
    ggml_context* ctx_;
    std::vector<ggml_tensor*> pool_;
    ggml_cgraph* graph_ = nullptr;
};

// Six calls in any order; whether one of them computed the graph.
bool misuse(Dice& dice, ggml_backend_sched_t sched, const std::vector<ggml_backend_t>& backends,
            const RandomGraph& random, ggml_cgraph* graph) {
    bool computed = false;
    size_t sizes[3];
    for (int i = 0; i < 6; ++i) {
        switch (dice.up_to(6)) {
            case 0:
                ggml_backend_sched_reserve(sched, graph);
                break;
            case 1:
                ggml_backend_sched_split_graph(sched, graph);
                break;
            case 2:
                ggml_backend_sched_reserve_size(sched, graph, sizes);
                break;
            case 3:
                ggml_backend_sched_reset(sched);
                break;
            case 4: {
                const auto b = dice.up_to(static_cast<int64_t>(backends.size()) - 1);
                ggml_backend_sched_set_tensor_backend(sched, random.any(),
                                                      backends[static_cast<size_t>(b)]);
                break;
            }
            default:
                computed |= ggml_backend_sched_graph_compute(sched, graph) == GGML_STATUS_SUCCESS;
        }
    }
    return computed;
}

TEST_F(Hostile, RandomMisuseIsSurvived) {
    Dice dice(seed(20240620));
    int n_good = 0, n_bad = 0;
    for (int round = 0; round < 400; ++round) {
        ctx = context();
        RandomGraph random(dice, ctx.get());
        const ggml_backend_buffer_ptr buffer(
            ggml_backend_alloc_buffer(dice.one_in(2) ? cpu.get() : other.get(), 4096));
        if (dice.one_in(3)) {
            ggml_backend_tensor_alloc(buffer.get(), random.first(),
                                      ggml_backend_buffer_get_base(buffer.get()));
        }
        ggml_cgraph* graph = random.build();
        if (!dice.one_in(3)) random.break_one_thing();
        std::vector<ggml_backend_t> backends;
        if (dice.one_in(2)) backends.push_back(stream.get());
        if (dice.one_in(2)) backends.push_back(other.get());
        backends.push_back(cpu.get());
        const auto sched = sched_of(backends);
        (misuse(dice, sched.get(), backends, random, graph) ? n_good : n_bad) += 1;
        tenon_clear_error();
    }
    EXPECT_GT(n_good, 40);
    EXPECT_GT(n_bad, 40);
}

// ---- ends in the wrong order -------------------------------------------------------------------

TEST_F(Hostile, BackendsMayBeFreedBeforeTheirScheduler) {
    auto sched = sched_of({stream.get(), cpu.get()});
    ggml_cgraph* graph = graph_of(ggml_sqr(ctx.get(), leaf()));
    ASSERT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
    stream.reset();
    cpu.reset();
    ggml_backend_sched_reset(sched.get());
    sched.reset();
}

// The plugin's code and memory are gone; what the application still holds must not lead there.
TEST_F(Hostile, HandlesOfAnUnloadedPluginOnlyFail) {
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(device);
    ggml_backend_buffer_type_t buft = ggml_backend_dev_buffer_type(device);
    const ggml_gallocr_ptr galloc(ggml_gallocr_new(buft));
    ggml_tensor* node = ggml_sqr(ctx.get(), leaf());
    ggml_cgraph* graph = graph_of(node);
    EXPECT_EQ(tenon_plugin_unload(reg), TENON_E_BUSY) << "streams live";
    stream.reset();
    other.reset();
    ASSERT_EQ(tenon_plugin_unload(reg), TENON_OK) << tenon_last_error();

    EXPECT_STREQ(ggml_backend_dev_name(device), "Discrete0");
    EXPECT_STREQ(ggml_backend_dev_description(device), "emulated device with memory of its own");
    EXPECT_STREQ(ggml_backend_reg_name(reg), "Discrete");
    EXPECT_STREQ(ggml_backend_buft_name(buft), "Discrete0");
    size_t free = 1, total = 1;
    ggml_backend_dev_memory(device, &free, &total);
    EXPECT_EQ(total, 0u);
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(device, &props);
    EXPECT_STREQ(props.name, "Discrete0");
    tenon_device_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(tenon_device_describe(device, &info), TENON_OK);
    EXPECT_STREQ(info.driver, "none");
    EXPECT_EQ(info.n_attributes, 0u);
    EXPECT_FALSE(ggml_backend_dev_supports_op(device, node));
    EXPECT_FALSE(ggml_backend_dev_offload_op(device, node));
    EXPECT_FALSE(tenon_device_has_extension(device, TENON_EXT_COST));
    EXPECT_FALSE(ggml_backend_dev_supports_buft(other_device, buft));
    EXPECT_EQ(ggml_backend_buft_get_alloc_size(buft, node), ggml_nbytes(node));
    EXPECT_EQ(ggml_backend_dev_init(device, nullptr), nullptr);
    EXPECT_NE(take_error(), "");
    EXPECT_EQ(ggml_backend_event_new(device), nullptr);
    EXPECT_EQ(ggml_backend_buft_alloc_buffer(buft, 64), nullptr);
    EXPECT_FALSE(ggml_gallocr_reserve(galloc.get(), graph));
    EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), graph));
    (void)ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");
    (void)ggml_backend_reg_get_proc_address(reg, "ggml_backend_get_features");
    EXPECT_EQ(tenon_plugin_unload(reg), TENON_E_NOT_FOUND);
    ggml_backend_unload(reg);

    ggml_backend_load_all();
    EXPECT_NE(ggml_backend_dev_by_name("Discrete0"), device);
    EXPECT_NE(ggml_backend_dev_by_name("Discrete0"), nullptr);
}

}  // namespace
}  // namespace tenon::test
