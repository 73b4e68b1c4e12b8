// Graphs over the CPU and devices whose memory it cannot touch: the same numbers as on the CPU
// alone.

#include <cmath>
#include <random>

#include "core/device/device.h"
#include "tenon/ext/fault.h"
#include "tests/discrete/devices.h"

namespace tenon::test {
namespace {

class DiscreteSched : public DiscreteTest {
protected:
    void SetUp() override {
        DiscreteTest::SetUp();
        cpu.reset(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
        ASSERT_NE(cpu, nullptr) << tenon_last_error();
        second.reset(ggml_backend_dev_init(other_device, nullptr));
        ggml_backend_t list[] = {stream.get(), second.get(), cpu.get()};
        sched.reset(ggml_backend_sched_new(list, nullptr, 3, 4096, false, false));
        ASSERT_NE(sched, nullptr) << tenon_last_error();
        alone.reset(ggml_backend_sched_new(list + 2, nullptr, 1, 4096, false, false));
        ASSERT_NE(alone, nullptr) << tenon_last_error();
    }

    // A weight with the same values in the memory of a device and of the host.
    struct Weight {
        ggml_tensor *there, *here;
    };
    Weight weight(ggml_backend_t where, int64_t ne0, int64_t ne1) {
        const std::vector<float> v = random(static_cast<size_t>(ne0 * ne1));
        return {store(where, v, ne0, ne1), store(cpu.get(), v, ne0, ne1)};
    }
    ggml_tensor* store(ggml_backend_t where, const std::vector<float>& v, int64_t ne0,
                       int64_t ne1) {
        contexts.push_back(context());
        ggml_tensor* t = ggml_new_tensor_2d(contexts.back().get(), GGML_TYPE_F32, ne0, ne1);
        buffers.emplace_back(ggml_backend_alloc_ctx_tensors(contexts.back().get(), where));
        EXPECT_NE(buffers.back(), nullptr) << tenon_last_error();
        ggml_backend_buffer_set_usage(buffers.back().get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        ggml_backend_tensor_set(t, v.data(), 0, v.size() * sizeof(float));
        return t;
    }
    std::vector<float> random(size_t n) {
        std::uniform_real_distribution<float> uniform(-1, 1);
        std::vector<float> v(n);
        for (float& x : v) x = uniform(rng);
        return v;
    }

    static void expect_close(const std::vector<float>& got, const std::vector<float>& expected) {
        ASSERT_EQ(got.size(), expected.size());
        double error = 0, norm = 0;
        for (size_t i = 0; i < got.size(); i++) {
            error += std::pow(double{got[i]} - expected[i], 2);
            norm += std::pow(double{expected[i]}, 2);
        }
        EXPECT_LE(error, 1e-10 * norm + 1e-30);
    }

    std::mt19937 rng{20240601};
    ggml_backend_ptr cpu, second;
    ggml_backend_sched_ptr sched, alone;
    std::vector<ggml_context_ptr> contexts;
    std::vector<ggml_backend_buffer_ptr> buffers;
};

// Layers of rms_norm, mul_mat, add (residual), silu; weights of the given devices in turn.
struct Network {
    ggml_context_ptr ctx;
    ggml_tensor *x, *y;
    ggml_cgraph* graph;
};

Network build(ggml_context_ptr ctx, const std::vector<ggml_tensor*>& weights, int64_t n,
              int64_t tokens) {
    Network net{std::move(ctx), nullptr, nullptr, nullptr};
    ggml_context* c = net.ctx.get();
    net.x = ggml_new_tensor_2d(c, GGML_TYPE_F32, n, tokens);
    ggml_set_input(net.x);
    ggml_tensor* h = net.x;
    for (ggml_tensor* w : weights) {
        ggml_tensor* inner = ggml_silu(c, ggml_mul_mat(c, w, ggml_rms_norm(c, h, 1e-5f)));
        h = ggml_add(c, h, inner);
    }
    net.y = h;
    ggml_set_output(net.y);
    net.graph = ggml_new_graph(c);
    ggml_build_forward_expand(net.graph, net.y);
    return net;
}

TEST_F(DiscreteSched, NetworkOverThreeDevicesEqualsTheCpuAlone) {
    const int64_t n = 24, tokens = 3;
    std::vector<ggml_tensor*> there, here;
    for (ggml_backend_t where : {stream.get(), second.get(), cpu.get(), stream.get()}) {
        const Weight w = weight(where, n, n);
        there.push_back(w.there);
        here.push_back(w.here);
    }
    Network split = build(context(), there, n, tokens), whole = build(context(), here, n, tokens);
    ASSERT_TRUE(ggml_backend_sched_reserve(sched.get(), split.graph)) << tenon_last_error();
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(sched.get(), split.graph)) << tenon_last_error();
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(alone.get(), whole.graph)) << tenon_last_error();
    EXPECT_GT(ggml_backend_sched_get_n_splits(sched.get()), 6);
    EXPECT_TRUE(ggml_backend_buffer_is_host(split.x->buffer));
    for (int run = 0; run < 20; run++) {
        const std::vector<float> v = random(static_cast<size_t>(n * tokens));
        for (Network* net : {&split, &whole})
            ggml_backend_tensor_set(net->x, v.data(), 0, v.size() * 4);
        ASSERT_EQ(ggml_backend_sched_graph_compute(sched.get(), split.graph), GGML_STATUS_SUCCESS)
            << tenon_last_error();
        ASSERT_EQ(ggml_backend_sched_graph_compute(alone.get(), whole.graph), GGML_STATUS_SUCCESS)
            << tenon_last_error();
        expect_close(values(split.y), values(whole.y));
    }
}

TEST_F(DiscreteSched, AsyncRunsDeliverThroughTheNodesBackend) {
    const Weight w = weight(stream.get(), 16, 16);
    Network split = build(context(), {w.there, w.there}, 16, 2),
            whole = build(context(), {w.here, w.here}, 16, 2);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(sched.get(), split.graph)) << tenon_last_error();
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(alone.get(), whole.graph)) << tenon_last_error();
    ggml_backend_t at = ggml_backend_sched_get_tensor_backend(sched.get(), split.y);
    ASSERT_NE(at, nullptr);
    for (int run = 0; run < 10; run++) {
        std::vector<float> v = random(32), got(32);
        for (Network* net : {&split, &whole}) ggml_backend_tensor_set(net->x, v.data(), 0, 128);
        ASSERT_EQ(ggml_backend_sched_graph_compute_async(sched.get(), split.graph),
                  GGML_STATUS_SUCCESS);
        ggml_backend_tensor_get_async(at, split.y, got.data(), 0, 128);
        ggml_backend_sched_synchronize(sched.get());
        ASSERT_EQ(ggml_backend_sched_graph_compute(alone.get(), whole.graph), GGML_STATUS_SUCCESS);
        expect_close(got, values(whole.y));
    }
}

// Nodes pinned at random, views and writes into views among them.
TEST_F(DiscreteSched, RandomPinsChangeNothing) {
    for (int round = 0; round < 40; round++) {
        SCOPED_TRACE(round);
        rng.seed(static_cast<uint32_t>(round));
        const int64_t n = 8;
        const Weight w = weight(round % 2 ? stream.get() : cpu.get(), n, n);
        ggml_tensor* results[2];
        ggml_tensor* inputs[2];
        ggml_context_ptr both[2] = {context(), context()};
        ggml_cgraph* graphs[2];
        for (int k = 0; k < 2; k++) {
            std::mt19937 shape(static_cast<uint32_t>(round) + 1000);
            ggml_context* c = both[k].get();
            std::vector<ggml_tensor*> pool = {inputs[k] =
                                                  ggml_new_tensor_2d(c, GGML_TYPE_F32, n, n)};
            ggml_set_input(inputs[k]);
            for (int i = 0; i < 24; i++) {
                ggml_tensor* a = pool[shape() % pool.size()];
                ggml_tensor* b = pool[shape() % pool.size()];
                switch (shape() % 6) {
                    case 0:
                        pool.push_back(
                            ggml_rms_norm(c, ggml_mul_mat(c, k ? w.here : w.there, a), 1e-5f));
                        break;
                    case 1:
                        pool.push_back(ggml_add(c, a, b));
                        break;
                    case 2:
                        pool.push_back(ggml_silu(c, a));
                        break;
                    case 3:
                        pool.push_back(ggml_add(c, ggml_cont(c, ggml_transpose(c, a)), b));
                        break;
                    case 4:
                        pool.push_back(ggml_rms_norm(c, ggml_mul(c, a, b), 1e-5f));
                        break;
                    default: {
                        ggml_tensor* base = ggml_scale(c, a, 0.5f);
                        ggml_tensor* half =
                            ggml_view_2d(c, base, n, n / 2, base->nb[1], base->nb[1] * (n / 2));
                        ggml_tensor* from = ggml_view_2d(c, b, n, n / 2, b->nb[1], 0);
                        ggml_tensor* written = ggml_cpy(c, from, half);
                        // `base` is read before the write and after it.
                        ggml_tensor* before = ggml_add(c, a, base);
                        pool.push_back(ggml_add(c, ggml_add(c, before, written), base));
                    }
                }
            }
            results[k] = pool.back();
            ggml_set_output(results[k]);
            graphs[k] = ggml_new_graph(c);
            ggml_build_forward_expand(graphs[k], results[k]);
        }
        for (int i = 0; i < ggml_graph_n_nodes(graphs[0]); i++) {
            ggml_tensor* node = ggml_graph_node(graphs[0], i);
            ggml_backend_t pick[] = {stream.get(), second.get(), cpu.get(), nullptr, nullptr};
            ggml_backend_t b = pick[rng() % 5];
            if (b && ggml_backend_supports_op(b, node) && node->view_src == nullptr) {
                ggml_backend_sched_set_tensor_backend(sched.get(), node, b);
            }
        }
        ASSERT_TRUE(ggml_backend_sched_alloc_graph(sched.get(), graphs[0])) << tenon_last_error();
        ASSERT_TRUE(ggml_backend_sched_alloc_graph(alone.get(), graphs[1])) << tenon_last_error();
        for (int run = 0; run < 2; run++) {
            const std::vector<float> v = random(static_cast<size_t>(n * n));
            for (ggml_tensor* x : inputs) ggml_backend_tensor_set(x, v.data(), 0, v.size() * 4);
            ASSERT_EQ(ggml_backend_sched_graph_compute(sched.get(), graphs[0]), GGML_STATUS_SUCCESS)
                << tenon_last_error();
            ASSERT_EQ(ggml_backend_sched_graph_compute(alone.get(), graphs[1]), GGML_STATUS_SUCCESS)
                << tenon_last_error();
            expect_close(values(results[0]), values(results[1]));
        }
        ggml_backend_sched_reset(sched.get());
        ggml_backend_sched_reset(alone.get());
    }
}

// No copies between them: only the order of the two queues keeps the numbers right.
TEST_F(DiscreteSched, TwoStreamsOfOneDeviceWaitForEachOther) {
    ggml_backend_ptr twin(ggml_backend_dev_init(device, nullptr));
    ggml_backend_t list[] = {stream.get(), twin.get(), cpu.get()};
    ggml_backend_sched_ptr pair(ggml_backend_sched_new(list, nullptr, 3, 4096, false, false));
    ASSERT_NE(pair, nullptr) << tenon_last_error();
    const int64_t n = 96;
    std::vector<float> shift(static_cast<size_t>(n * n), 0.0f);
    for (int64_t i = 0; i < n; i++) shift[static_cast<size_t>(i * n + (i + 1) % n)] = 1;
    ggml_tensor* w = store(stream.get(), shift, n, n);
    ggml_context_ptr ctx = context();
    ggml_tensor* x = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, n, n);
    ggml_set_input(x);
    ggml_tensor* y = x;
    for (int i = 0; i < 12; i++) {
        y = ggml_mul_mat(ctx.get(), w, y);
        ggml_backend_sched_set_tensor_backend(pair.get(), y, list[i % 2]);
    }
    ggml_cgraph* graph = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(graph, y);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(pair.get(), graph)) << tenon_last_error();
    EXPECT_EQ(ggml_backend_sched_get_n_splits(pair.get()), 12);
    EXPECT_EQ(ggml_backend_sched_get_buffer_size(pair.get(), twin.get()), 0u);
    for (int run = 0; run < 3; run++) {
        const std::vector<float> v = random(static_cast<size_t>(n * n));
        ggml_backend_tensor_set(x, v.data(), 0, v.size() * 4);
        ASSERT_EQ(ggml_backend_sched_graph_compute(pair.get(), graph), GGML_STATUS_SUCCESS)
            << tenon_last_error();
        const std::vector<float> got = values(y);
        for (int64_t r = 0; r < n; r++)
            for (int64_t i = 0; i < n; i++) {
                ASSERT_EQ(got[static_cast<size_t>(r * n + i)],
                          v[static_cast<size_t>(r * n + (i + 12) % n)]);
            }
    }
}

TEST_F(DiscreteSched, GraphMayGoAfterTheReset) {
    const int64_t n = 128;
    const std::vector<float> ones(static_cast<size_t>(n * n), 1.0f);
    ggml_tensor* w = store(stream.get(), ones, n, n);
    ggml_tensor* sum = store(stream.get(), std::vector<float>(ones.size(), 0.0f), n, n);
    std::vector<char> memory(ggml_tensor_overhead() * 64 + ggml_graph_overhead());
    for (int run = 1; run <= 5; run++) {
        ggml_context_ptr ctx(ggml_init({memory.size(), memory.data(), true}));
        ggml_tensor* y = ggml_mul_mat(ctx.get(), w, ggml_mul_mat(ctx.get(), w, w));
        ggml_tensor* added = ggml_add_inplace(ctx.get(), sum, y);
        ggml_cgraph* graph = ggml_new_graph_custom(ctx.get(), 16, false);
        ggml_build_forward_expand(graph, added);
        ASSERT_EQ(ggml_backend_sched_graph_compute_async(sched.get(), graph), GGML_STATUS_SUCCESS)
            << tenon_last_error();
        ggml_backend_sched_reset(sched.get());
        ctx.reset();
        std::fill(memory.begin(), memory.end(), static_cast<char>(0xee));
        EXPECT_EQ(values(sum)[7], static_cast<float>(run * n * n));
    }
}

TEST_F(DiscreteSched, ExplainsWhatTheDeviceRefused) {
    const Weight w = weight(stream.get(), 16, 16);
    Network net = build(context(), {w.there}, 16, 2);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(sched.get(), net.graph)) << tenon_last_error();
    ASSERT_EQ(tenon_placement_count(sched.get()), 4u);
    const char* const expected[][3] = {{"RMS_NORM", "CPU", "refused"},
                                       {"MUL_MAT", "Discrete0", "weights"},
                                       {"SILU", "CPU", "refused"},
                                       {"ADD", "Discrete0", "neighbour"}};
    for (size_t i = 0; i < 4; i++) {
        tenon_placement_node record{};
        record.struct_size = sizeof record;
        ASSERT_TRUE(tenon_placement_explain(sched.get(), i, &record));
        EXPECT_STREQ(record.op, expected[i][0]);
        EXPECT_STREQ(record.device, expected[i][1]);
        EXPECT_STREQ(record.reason, expected[i][2]);
        if (i == 0) {
            EXPECT_STREQ(record.detail,
                         "Discrete0: there is no kernel for this op (not-implemented)");
        }
    }
    tenon_placement_node record{};
    record.struct_size = sizeof record;
    EXPECT_FALSE(tenon_placement_explain(sched.get(), 4, &record));
}

// Fault injection; the device of the last test stays lost, so it comes last.
class DiscreteFaults : public DiscreteSched {
protected:
    const tenon_ext_fault* fault() {
        auto opened = open_device(device);
        if (!opened) return nullptr;
        handle = *opened;
        return static_cast<const tenon_ext_fault*>(handle->v->extension(handle, TENON_EXT_FAULT));
    }
    tenon_device* handle = nullptr;
};

TEST_F(DiscreteFaults, FailedAllocationIsAnAnswer) {
    const Weight w = weight(stream.get(), 16, 16);
    Network net = build(context(), {w.there}, 16, 2);
    const tenon_ext_fault* faults = fault();
    ASSERT_NE(faults, nullptr);
    faults->fail_alloc(handle, 1);
    EXPECT_FALSE(ggml_backend_sched_alloc_graph(sched.get(), net.graph));
    const std::string text = take_error();
    EXPECT_NE(text.find("failed on request"), std::string::npos) << text;
    EXPECT_EQ(net.y->data, nullptr);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(sched.get(), net.graph)) << tenon_last_error();
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), net.graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
}

TEST_F(DiscreteFaults, LostDeviceFailsAndTheProcessLives) {
    const Weight w = weight(stream.get(), 16, 16);
    Network net = build(context(), {w.there, w.there}, 16, 2),
            whole = build(context(), {w.here}, 16, 2);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(sched.get(), net.graph)) << tenon_last_error();
    const tenon_ext_fault* faults = fault();
    ASSERT_NE(faults, nullptr);
    faults->lose_device(handle, 2);
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), net.graph), GGML_STATUS_FAILED);
    const std::string text = take_error();
    EXPECT_NE(text.find("on Discrete0"), std::string::npos) << text;
    EXPECT_NE(text.find("the device was lost"), std::string::npos) << text;
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), net.graph), GGML_STATUS_FAILED);
    EXPECT_NE(take_error(), "");
    EXPECT_EQ(ggml_backend_alloc_buffer(stream.get(), 64), nullptr);
    EXPECT_NE(take_error(), "");
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(alone.get(), whole.graph)) << tenon_last_error();
    EXPECT_EQ(ggml_backend_sched_graph_compute(alone.get(), whole.graph), GGML_STATUS_SUCCESS)
        << tenon_last_error();
}

}  // namespace
}  // namespace tenon::test
