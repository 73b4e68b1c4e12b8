// Schedulers and graph allocators given what nobody should give them: no call may crash, and what
// is refused has a reason. Over the CPU and two devices with memory of their own.

#include <gtest/gtest.h>

#include <algorithm>

#include "ggml/src/ggml-impl.h"
#include "tests/fuzz/hostile.h"

namespace tenon::test {
namespace {

// ---- what schedulers are made of ---------------------------------------------------------------

TEST_F(Hostile, SchedulersOfTheWrongBackendsAreRefused) {
    std::vector<ggml_backend_t> many(70, cpu.get());
    for (const int n : {-1, 0, 17, 70, INT32_MAX}) {
        EXPECT_EQ(ggml_backend_sched_new(many.data(), nullptr, n, 64, false, false), nullptr) << n;
        EXPECT_NE(take_error().find("1 to 16 are possible"), std::string::npos);
    }
    EXPECT_EQ(ggml_backend_sched_new(nullptr, nullptr, 1, 64, false, false), nullptr);
    take_error();
    EXPECT_EQ(sched_of({cpu.get(), nullptr}), nullptr);
    EXPECT_NE(take_error().find("backend 1 of 2 is null"), std::string::npos);
    EXPECT_EQ(sched_of({cpu.get(), stream.get()}), nullptr) << "the last is no CPU";
    EXPECT_NE(take_error().find("the last backend must be a CPU"), std::string::npos);
    ggml_backend_t backends[] = {stream.get(), cpu.get()};
    ggml_backend_buffer_type_t swapped[] = {ggml_backend_get_default_buffer_type(other.get()),
                                            ggml_backend_get_default_buffer_type(stream.get())};
    EXPECT_EQ(ggml_backend_sched_new(backends, swapped, 2, 64, false, false), nullptr);
    EXPECT_NE(take_error().find("cannot use buffer type"), std::string::npos);
    // The most there may be, and the same one many times.
    std::vector<ggml_backend_t> most(16, cpu.get());
    const auto sched = sched_of(most);
    ASSERT_NE(sched, nullptr) << tenon_last_error();
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph_of(ggml_sqr(ctx.get(), leaf()))),
              GGML_STATUS_SUCCESS)
        << tenon_last_error();
}

TEST_F(Hostile, NullsAreAnswered) {
    ggml_cgraph* graph = graph_of(ggml_sqr(ctx.get(), leaf()));
    const auto sched = sched_of({cpu.get()});
    size_t sizes[1] = {7};
    for (ggml_backend_sched_t s : {sched.get(), ggml_backend_sched_t{nullptr}}) {
        for (ggml_cgraph* g : {graph, static_cast<ggml_cgraph*>(nullptr)}) {
            if (s && g) continue;
            EXPECT_FALSE(ggml_backend_sched_reserve(s, g));
            EXPECT_FALSE(ggml_backend_sched_alloc_graph(s, g));
            EXPECT_EQ(ggml_backend_sched_graph_compute(s, g), GGML_STATUS_FAILED);
            EXPECT_EQ(ggml_backend_sched_graph_compute_async(s, g), GGML_STATUS_FAILED);
            ggml_backend_sched_split_graph(s, g);
            ggml_backend_sched_reserve_size(s, g, sizes);
            ggml_backend_sched_reserve_size(s, g, nullptr);
        }
        ggml_backend_sched_set_tensor_backend(s, nullptr, cpu.get());
        ggml_backend_sched_set_tensor_backend(s, leaf(), nullptr);
        ggml_backend_sched_set_tensor_backend(s, leaf(), stream.get());  // not of this scheduler
        EXPECT_EQ(ggml_backend_sched_get_tensor_backend(s, nullptr), nullptr);
        EXPECT_EQ(ggml_backend_sched_get_buffer_type(s, stream.get()), nullptr);
        EXPECT_EQ(ggml_backend_sched_get_buffer_size(s, nullptr), 0u);
        EXPECT_EQ(ggml_backend_sched_get_backend(s, -1), nullptr);
        EXPECT_EQ(ggml_backend_sched_get_backend(s, 1), nullptr);
    }
    ggml_backend_sched_synchronize(nullptr);
    ggml_backend_sched_reset(nullptr);
    ggml_backend_sched_free(nullptr);
    ggml_backend_sched_set_eval_callback(nullptr, nullptr, nullptr);

    EXPECT_EQ(ggml_gallocr_new(nullptr), nullptr);
    EXPECT_EQ(ggml_gallocr_new_n(nullptr, 3), nullptr);
    EXPECT_FALSE(ggml_gallocr_reserve(nullptr, graph));
    EXPECT_FALSE(ggml_gallocr_alloc_graph(nullptr, graph));
    EXPECT_EQ(ggml_gallocr_get_buffer_size(nullptr, 0), 0u);
    ggml_gallocr_free(nullptr);
    const ggml_gallocr_ptr galloc(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
    EXPECT_FALSE(ggml_gallocr_reserve(galloc.get(), nullptr));
    EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), nullptr));
    for (const int id : {-1, 1, INT32_MAX}) {
        EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), id), 0u) << id;
        EXPECT_FALSE(ggml_gallocr_reserve_n(galloc.get(), graph, &id, &id)) << id;
    }
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors(nullptr, cpu.get()), nullptr);
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors(ctx.get(), nullptr), nullptr);
}

// ---- graphs that are wrong ---------------------------------------------------------------------

// Every function that takes a graph, on a scheduler and an allocator made for it.
class GraphUser {
public:
    explicit GraphUser(std::vector<ggml_backend_t> backends) : n_(backends.size()) {
        sched_.reset(ggml_backend_sched_new(backends.data(), nullptr,
                                            static_cast<int>(backends.size()), 512, false, true));
        galloc_.reset(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
    }
    // Whether anything accepted it.
    bool use(ggml_cgraph* graph) {
        std::vector<size_t> sizes(n_);
        ggml_backend_sched_reserve_size(sched_.get(), graph, sizes.data());
        bool any = ggml_backend_sched_reserve(sched_.get(), graph);
        ggml_backend_sched_split_graph(sched_.get(), graph);
        ggml_backend_sched_reset(sched_.get());
        any |= ggml_backend_sched_alloc_graph(sched_.get(), graph);
        any |= ggml_backend_sched_graph_compute(sched_.get(), graph) == GGML_STATUS_SUCCESS;
        ggml_backend_sched_reset(sched_.get());
        return any;
    }
    // The same without a scheduler; the graph's tensors have no memory, so that nothing succeeds.
    void compute(ggml_backend_t backend, ggml_cgraph* graph) {
        EXPECT_EQ(ggml_backend_graph_compute(backend, graph), GGML_STATUS_FAILED);
        EXPECT_EQ(ggml_backend_graph_compute_async(backend, graph), GGML_STATUS_FAILED);
        ggml_backend_graph_plan_free(backend, ggml_backend_graph_plan_create(backend, graph));
        ggml_backend_graph_copy_free(ggml_backend_graph_copy(backend, graph));
        EXPECT_FALSE(ggml_backend_compare_graph_backend(backend, backend, graph, nullptr, nullptr,
                                                        nullptr, 0));
        ggml_cplan plan = ggml_graph_plan(graph, 2, nullptr);
        std::vector<uint8_t> work(plan.work_size);
        plan.work_data = work.data();
        EXPECT_EQ(ggml_graph_compute(graph, &plan), GGML_STATUS_FAILED);
    }
    bool allocate(ggml_cgraph* graph) {
        const bool reserved = ggml_gallocr_reserve(galloc_.get(), graph);
        return ggml_gallocr_alloc_graph(galloc_.get(), graph) || reserved;
    }

private:
    size_t n_;
    ggml_backend_sched_ptr sched_;
    ggml_gallocr_ptr galloc_;
};

TEST_F(Hostile, MissingNodesAndSourcesAreRefused) {
    for (const bool several : {true, false}) {
        GraphUser user(several ? std::vector{stream.get(), cpu.get()} : std::vector{cpu.get()});
        ggml_tensor* sum = ggml_add(ctx.get(), leaf(), leaf());
        ggml_cgraph* graph = graph_of(ggml_mul(ctx.get(), sum, sum));
        std::swap(graph->nodes[0]->src[1], graph->nodes[0]->src[5]);  // leaves a gap
        EXPECT_FALSE(user.use(graph));
        EXPECT_NE(take_error().find("source 1 of 2 is null"), std::string::npos);
        user.compute(cpu.get(), graph);
        user.compute(stream.get(), graph);
        user.compute(nullptr, graph);
        std::swap(graph->nodes[0]->src[1], graph->nodes[0]->src[5]);
        for (ggml_tensor** slot : {&graph->nodes[1], &graph->leafs[0]}) {
            ggml_tensor* const before = std::exchange(*slot, nullptr);
            take_error();
            EXPECT_FALSE(user.use(graph));
            EXPECT_FALSE(user.allocate(graph));
            EXPECT_NE(take_error().find("null"), std::string::npos);
            user.compute(cpu.get(), graph);
            user.compute(stream.get(), graph);
            *slot = before;
        }
        for (int* count : {&graph->n_nodes, &graph->n_leafs}) {
            const int before = std::exchange(*count, -3);
            EXPECT_FALSE(user.use(graph));
            EXPECT_FALSE(user.allocate(graph));
            user.compute(cpu.get(), graph);
            user.compute(stream.get(), graph);
            *count = before;
        }
        tenon_clear_error();
        EXPECT_TRUE(user.use(graph)) << tenon_last_error();
    }
}

TEST_F(Hostile, CirclesEnd) {
    ggml_tensor* a = ggml_sqr(ctx.get(), leaf());
    ggml_tensor* b = ggml_add(ctx.get(), a, leaf());
    a->src[0] = b;  // each needs the other
    ggml_tensor* self = ggml_sqr(ctx.get(), leaf());
    self->src[0] = self;
    // Views by their sources, in front of something that computes.
    ggml_tensor* v1 = ggml_view_1d(ctx.get(), leaf(1 << 16), 1 << 16, 0);
    ggml_tensor* v2 = ggml_view_1d(ctx.get(), v1, 1 << 16, 0);
    ggml_tensor* seen = ggml_sqr(ctx.get(), ggml_sqr(ctx.get(), v2));
    ggml_build_forward_expand(ggml_new_graph(ctx.get()), seen);
    v1->src[0] = v2;
    GraphUser user({stream.get(), cpu.get()});
    for (ggml_tensor* node : {b, self, seen}) {
        ggml_cgraph* graph = graph_of(node);
        user.use(graph);  // a sum of garbage, or an error: an end
        user.allocate(graph);
        for (ggml_backend_t backend : {cpu.get(), stream.get()}) {
            ggml_backend_graph_copy_free(ggml_backend_graph_copy(backend, graph));
            ggml_backend_graph_plan_free(backend, ggml_backend_graph_plan_create(backend, graph));
        }
        ggml_graph_print(graph);
        ggml_graph_dump_dot(graph, nullptr, "/dev/null");
    }
    take_error();
    // Views that look at each other, and at themselves.
    for (const bool alone : {true, false}) {
        ggml_tensor* base = leaf();
        ggml_tensor* v = ggml_view_1d(ctx.get(), base, 8, 0);
        ggml_tensor* w = ggml_view_1d(ctx.get(), base, 8, 0);
        ggml_cgraph* graph = graph_of(ggml_add(ctx.get(), v, w));
        v->view_src = alone ? v : w;
        w->view_src = v;
        EXPECT_FALSE(user.use(graph));
        EXPECT_FALSE(user.allocate(graph));
        EXPECT_NE(take_error().find("is a view"), std::string::npos);
    }
}

TEST_F(Hostile, SizesBeyondAllMemoryAreRefused) {
    GraphUser user({stream.get(), cpu.get()});
    ggml_tensor* huge = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, int64_t{1} << 60);
    ASSERT_NE(huge, nullptr);
    ggml_set_input(huge);
    ggml_tensor* sum = huge;
    for (int i = 0; i < 8; i++) sum = ggml_add(ctx.get(), ggml_sqr(ctx.get(), sum), huge);
    ggml_cgraph* graph = graph_of(sum);
    EXPECT_FALSE(user.use(graph));
    EXPECT_FALSE(user.allocate(graph));
    EXPECT_NE(take_error(), "");
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors(ctx.get(), cpu.get()), nullptr);
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors(ctx.get(), stream.get()), nullptr);
    EXPECT_EQ(ggml_backend_alloc_buffer(cpu.get(), SIZE_MAX), nullptr);
    EXPECT_EQ(ggml_backend_alloc_buffer(stream.get(), SIZE_MAX - 3), nullptr);
    const ggml_backend_buffer_ptr small(ggml_backend_alloc_buffer(cpu.get(), 64));
    ggml_tallocr talloc = ggml_tallocr_new(small.get());
    EXPECT_NE(ggml_tallocr_alloc(&talloc, huge), GGML_STATUS_SUCCESS);
    EXPECT_EQ(huge->data, nullptr);
}

TEST_F(Hostile, MemoryOfDevicesThatTakeNoPartIsRefusedOrCopied) {
    ggml_tensor* far = leaf();
    const ggml_backend_buffer_ptr there(ggml_backend_alloc_buffer(other.get(), 4096));
    ASSERT_EQ(
        ggml_backend_tensor_alloc(there.get(), far, ggml_backend_buffer_get_base(there.get())),
        GGML_STATUS_SUCCESS);
    ggml_cgraph* graph = graph_of(ggml_sqr(ctx.get(), far));
    ggml_tensor* result = ggml_graph_node(graph, -1);
    const std::vector<float> in(16, 3.0f);
    ggml_backend_tensor_set(far, in.data(), 0, ggml_nbytes(far));
    const auto sched = sched_of({stream.get(), cpu.get()});
    const ggml_status status = ggml_backend_sched_graph_compute(sched.get(), graph);
    if (status == GGML_STATUS_SUCCESS) {
        EXPECT_EQ(values(result), std::vector<float>(16, 9.0f));
    } else {
        EXPECT_NE(take_error(), "");
    }
    ggml_backend_sched_reset(sched.get());
    result->buffer = nullptr;
    result->data = nullptr;
    // A backend alone cannot reach it.
    const ggml_backend_buffer_ptr here(ggml_backend_alloc_buffer(cpu.get(), 4096));
    ggml_backend_tensor_alloc(here.get(), result, ggml_backend_buffer_get_base(here.get()));
    EXPECT_EQ(ggml_backend_graph_compute(cpu.get(), graph), GGML_STATUS_FAILED);
    EXPECT_NE(take_error().find("cannot use"), std::string::npos);
    // Addresses of another buffer.
    ggml_tensor* lost = leaf();
    EXPECT_NE(
        ggml_backend_tensor_alloc(here.get(), lost, ggml_backend_buffer_get_base(there.get())),
        GGML_STATUS_SUCCESS);
    EXPECT_EQ(lost->buffer, nullptr);
}

}  // namespace
}  // namespace tenon::test
