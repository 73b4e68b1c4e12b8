// The plugin ABI as GPU-like hardware sees it: memory nobody else reaches, queues, events, copies.

#include <chrono>
#include <cstring>

#include "tests/discrete/devices.h"

namespace tenon::test {
namespace {

using Discrete = DiscreteTest;

class DiscreteTensors : public DiscreteTest {
protected:
    void SetUp() override {
        DiscreteTest::SetUp();
        ctx = context();
    }
    ggml_tensor* matrix(int64_t ne0, int64_t ne1) {
        return ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, ne0, ne1);
    }
    void place(ggml_backend_t where) {
        buffer.reset(ggml_backend_alloc_ctx_tensors(ctx.get(), where));
        ASSERT_NE(buffer, nullptr) << tenon_last_error();
    }
    ggml_cgraph* graph_of(ggml_tensor* t) {
        ggml_cgraph* graph = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(graph, t);
        return graph;
    }
    ggml_context_ptr ctx;
    ggml_backend_buffer_ptr buffer;
};

TEST_F(DiscreteTensors, MemoryFaultsWhenTheHostTouchesIt) {
    ggml_tensor* t = matrix(64, 1);
    place(stream.get());
    EXPECT_FALSE(ggml_backend_buffer_is_host(buffer.get()));
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        std::printf("%f", static_cast<double>(*static_cast<volatile float*>(t->data))),
        [](int status) { return !(WIFEXITED(status) && WEXITSTATUS(status) == 0); }, "");
}

TEST_F(DiscreteTensors, SetGetFillAndRowsKeepBytes) {
    ggml_tensor* t = matrix(16, 4);
    place(stream.get());
    const std::vector<float> all = ramp(64, 1, 1);
    ggml_backend_tensor_set(t, all.data(), 0, 256);
    ggml_backend_tensor_memset(t, 0, 64, 64);
    const float piece[2] = {-1, -2};
    ggml_backend_tensor_set_2d(t, piece, 128, 4, 2, 64, 4);
    std::vector<float> expected = all;
    std::fill(expected.begin() + 16, expected.begin() + 32, 0.0f);
    expected[32] = -1;
    expected[48] = -2;
    EXPECT_EQ(values(t), expected);
    float column[4] = {};
    ggml_backend_tensor_get_2d(t, column, 0, 4, 4, 64, 4);
    EXPECT_EQ((std::vector<float>{column[0], column[1], column[2], column[3]}),
              (std::vector<float>{1, 0, -1, -2}));
    ggml_backend_buffer_clear(buffer.get(), 0);
    EXPECT_EQ(values(t), std::vector<float>(64, 0.0f));
}

TEST_F(DiscreteTensors, QueuedWorkRunsInOrder) {
    ggml_tensor *a = matrix(8, 8), *b = matrix(8, 8);
    ggml_tensor* sum = ggml_add(ctx.get(), a, b);
    ggml_tensor* y = ggml_mul_mat(ctx.get(), a, sum);
    place(stream.get());
    ggml_cgraph* graph = graph_of(y);
    std::vector<float> identity(64, 0.0f);
    for (size_t i = 0; i < 8; i++) identity[9 * i] = 1;
    ggml_backend_tensor_set_async(stream.get(), a, identity.data(), 0, 256);
    std::vector<std::vector<float>> inputs, outputs;
    for (int run = 0; run < 50; run++) {
        inputs.push_back(ramp(64, static_cast<float>(run), 0.5f));
        outputs.emplace_back(64);
    }
    for (size_t run = 0; run < inputs.size(); run++) {
        ggml_backend_tensor_set_async(stream.get(), b, inputs[run].data(), 0, 256);
        ASSERT_EQ(ggml_backend_graph_compute_async(stream.get(), graph), GGML_STATUS_SUCCESS)
            << tenon_last_error();
        ggml_backend_tensor_get_async(stream.get(), y, outputs[run].data(), 0, 256);
    }
    ggml_backend_synchronize(stream.get());
    for (size_t run = 0; run < inputs.size(); run++) {
        for (size_t i = 0; i < 64; i++)
            ASSERT_EQ(outputs[run][i], inputs[run][i] + identity[i]) << run << ' ' << i;
    }
}

TEST_F(DiscreteTensors, MatricesBroadcastAndStridesCount) {
    ggml_tensor* a = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, 3, 2, 2);
    ggml_tensor* b = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, 3, 5, 4);
    ggml_tensor* part =
        ggml_view_3d(ctx.get(), b, 3, 2, 4, b->nb[1], b->nb[2], b->nb[1]);  // rows 1 and 2
    ggml_tensor* y = ggml_mul_mat(ctx.get(), a, part);
    place(stream.get());
    const std::vector<float> va = ramp(12, 1, 1), vb = ramp(60, -3, 0.25f);
    ggml_backend_tensor_set(a, va.data(), 0, 48);
    ggml_backend_tensor_set(b, vb.data(), 0, 240);
    ASSERT_EQ(ggml_backend_graph_compute(stream.get(), graph_of(y)), GGML_STATUS_SUCCESS)
        << tenon_last_error();
    const std::vector<float> got = values(y);
    for (size_t i2 = 0; i2 < 4; i2++)
        for (size_t n = 0; n < 2; n++)
            for (size_t m = 0; m < 2; m++) {
                double sum = 0;
                for (size_t k = 0; k < 3; k++)
                    sum += va[(i2 / 2 * 2 + m) * 3 + k] * vb[(i2 * 5 + n + 1) * 3 + k];
                EXPECT_FLOAT_EQ(got[(i2 * 2 + n) * 2 + m], static_cast<float>(sum))
                    << i2 << ' ' << n << ' ' << m;
            }
}

TEST_F(DiscreteTensors, EventsOrderTwoStreams) {
    ggml_tensor *a = matrix(192, 192), *b = matrix(192, 192);
    ggml_tensor* y = ggml_mul_mat(ctx.get(), a, b);
    place(stream.get());
    const std::vector<float> ones(192 * 192, 1.0f);
    ggml_backend_tensor_set(a, ones.data(), 0, ones.size() * 4);
    ggml_backend_tensor_set(b, ones.data(), 0, ones.size() * 4);
    ggml_cgraph* graph = graph_of(y);
    ggml_backend_ptr second(ggml_backend_dev_init(device, nullptr));
    ggml_backend_event_ptr event(ggml_backend_event_new(device));
    ASSERT_NE(event, nullptr);
    ggml_backend_event_synchronize(event.get());  // never recorded: complete
    for (int run = 0; run < 5; run++) {
        ggml_backend_tensor_memset(y, 0, 0, ones.size() * 4);
        float corner = 0;
        ASSERT_EQ(ggml_backend_graph_compute_async(stream.get(), graph), GGML_STATUS_SUCCESS);
        ggml_backend_event_record(event.get(), stream.get());
        ggml_backend_event_wait(second.get(), event.get());
        ggml_backend_tensor_get_async(second.get(), y, &corner, (192 * 192 - 1) * 4, 4);
        ggml_backend_synchronize(second.get());
        EXPECT_EQ(corner, 192.0f);
        ggml_backend_event_synchronize(event.get());
    }
    EXPECT_EQ(take_error(), "");
}

TEST_F(DiscreteTensors, CopiesBetweenDevicesAndHost) {
    ggml_tensor* here = matrix(100, 3);
    place(stream.get());
    ggml_backend_ptr far_stream(ggml_backend_dev_init(other_device, nullptr));
    ggml_context_ptr far_ctx = context(), host_ctx = context();
    ggml_tensor* there = ggml_dup_tensor(far_ctx.get(), here);
    ggml_tensor* host = ggml_dup_tensor(host_ctx.get(), here);
    ggml_tensor* odd = ggml_new_tensor_1d(host_ctx.get(), GGML_TYPE_F32, 7);
    ggml_backend_buffer_ptr far_buffer(
        ggml_backend_alloc_ctx_tensors(far_ctx.get(), far_stream.get()));
    ggml_backend_buffer_ptr host_buffer(
        ggml_backend_alloc_ctx_tensors_from_buft(host_ctx.get(), ggml_backend_cpu_buffer_type()));
    const std::vector<float> v = ramp(300, 7, 0.125f);
    ggml_backend_tensor_set(host, v.data(), 0, 1200);

    ggml_backend_tensor_copy(host, here);
    ggml_backend_tensor_copy(here, there);
    EXPECT_EQ(values(there), v);
    ggml_backend_tensor_memset(host, 0, 0, 1200);
    ggml_backend_tensor_copy(there, host);
    EXPECT_EQ(values(host), v);

    for (int run = 0; run < 20; run++) {  // the copy comes after the write and before the overwrite
        const std::vector<float> now = ramp(300, static_cast<float>(run), 1), junk(300, -1.0f);
        std::vector<float> got(300);
        ggml_backend_tensor_set_async(stream.get(), here, now.data(), 0, 1200);
        ggml_backend_tensor_copy_async(stream.get(), far_stream.get(), here, there);
        ggml_backend_tensor_set_async(stream.get(), here, junk.data(), 0, 1200);
        ggml_backend_tensor_get_async(far_stream.get(), there, got.data(), 0, 1200);
        ggml_backend_synchronize(far_stream.get());
        ggml_backend_synchronize(stream.get());
        EXPECT_EQ(got, now);
    }
    EXPECT_EQ(take_error(), "");
    ggml_backend_tensor_copy(odd, here);
    EXPECT_NE(take_error(), "");
}

TEST_F(DiscreteTensors, RefusalsGiveTheTrueReason) {
    ggml_tensor *a = matrix(8, 8), *h = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F16, 8, 8);
    struct {
        ggml_tensor* node;
        uint32_t support, reason;
        const char* detail;
    } const cases[] = {
        {ggml_mul_mat(ctx.get(), a, a), TENON_SUPPORT_YES, TENON_REASON_NONE, nullptr},
        {ggml_mul_mat(ctx.get(), h, a), TENON_SUPPORT_NO, TENON_REASON_TYPE, "src0 must be f32"},
        {ggml_add(ctx.get(), a, a), TENON_SUPPORT_YES, TENON_REASON_NONE, nullptr},
        {ggml_add(ctx.get(), ggml_transpose(ctx.get(), a), a), TENON_SUPPORT_NO,
         TENON_REASON_STRIDES, "src0 rows must be dense"},
        {ggml_sqr(ctx.get(), a), TENON_SUPPORT_NO, TENON_REASON_NOT_IMPLEMENTED,
         "there is no kernel for this op"},
        {ggml_reshape_1d(ctx.get(), a, 64), TENON_SUPPORT_YES, TENON_REASON_NONE, nullptr},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(ggml_op_name(c.node->op));
        tenon_op_verdict verdict{};
        ASSERT_EQ(tenon_device_query(device, &c.node, 1, &verdict, true), TENON_OK)
            << tenon_last_error();
        EXPECT_EQ(verdict.support, c.support);
        EXPECT_EQ(verdict.reason, c.reason);
        EXPECT_STREQ(verdict.detail, c.detail);
        const bool computes = c.support && !ggml_is_view(c.node);
        EXPECT_EQ(verdict.time_ns > 0, computes);
    }
}

TEST_F(Discrete, TellsHowMuchMemoryIsLeft) {
    size_t before = 0, during = 0, after = 0, total = 0;
    ggml_backend_dev_memory(device, &before, &total);
    EXPECT_EQ(total, size_t{1} << 30);
    ggml_backend_buffer_ptr buffer(ggml_backend_alloc_buffer(stream.get(), 5000));
    ggml_backend_dev_memory(device, &during, &total);
    buffer.reset();
    ggml_backend_dev_memory(device, &after, &total);
    EXPECT_EQ(before - during, 5000u);
    EXPECT_EQ(after, before);
}

TEST_F(Discrete, RefusesMoreMemoryThanItHas) {
    EXPECT_EQ(ggml_backend_alloc_buffer(stream.get(), (size_t{1} << 30) + 1), nullptr);
    const std::string text = take_error();
    EXPECT_NE(text.find("1073741825 bytes asked"), std::string::npos) << text;
    EXPECT_NE(ggml_backend_buffer_ptr(ggml_backend_alloc_buffer(stream.get(), 4096)), nullptr);
}

}  // namespace
}  // namespace tenon::test
