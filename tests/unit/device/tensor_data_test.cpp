// Reading and writing tensors against plain arrays, in host memory and in memory the host cannot
// touch.

#include <gtest/gtest.h>

#include <cstring>
#include <random>
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

FakePlugin& discrete() {
    static FakePlugin& plugin = [&]() -> FakePlugin& {
        FakePlugin& made =
            FakePlugin::make("DATA", {FakeDevice{.name = "Data0", .bufts = {{"Data0"}}}});
        made.load();
        return made;
    }();
    return plugin;
}

// Where the tensor lies.
class TensorData : public ::testing::TestWithParam<bool> {
protected:
    static constexpr size_t kBytes = 4 * 100;

    void SetUp() override {
        fake_cpu();
        device_ = GetParam() ? discrete().device(0) : ggml_backend_dev_by_name("CPU");
        ctx_ = make_arena(1 << 18, /*no_alloc=*/true);
        tensor_ = ggml_new_tensor_1d(ctx_.get(), GGML_TYPE_F32, 100);
        stream_.reset(ggml_backend_dev_init(device_, nullptr));
        buffer_.reset(ggml_backend_alloc_buffer(stream_.get(), 512));
        ASSERT_EQ(ggml_backend_tensor_alloc(buffer_.get(), tensor_,
                                            ggml_backend_buffer_get_base(buffer_.get())),
                  GGML_STATUS_SUCCESS);
        ggml_backend_buffer_clear(buffer_.get(), 0);
    }

    std::vector<uint8_t> contents(const ggml_tensor* tensor) {
        std::vector<uint8_t> bytes(ggml_nbytes(tensor));
        ggml_backend_tensor_get(tensor, bytes.data(), 0, bytes.size());
        return bytes;
    }
    void expect_refused(const char* why) {
        EXPECT_NE(std::strstr(tenon_last_error(), why), nullptr) << why;
        EXPECT_EQ(contents(tensor_), std::vector<uint8_t>(kBytes));
    }

    ggml_backend_dev_t device_;
    ggml_context_ptr ctx_;
    ggml_tensor* tensor_;
    ggml_backend_ptr stream_;
    ggml_backend_buffer_ptr buffer_;
};
INSTANTIATE_TEST_SUITE_P(HostAndDevice, TensorData, ::testing::Bool());

TEST_P(TensorData, RandomTransfersMatchAnArray) {
    std::mt19937 random(1);
    std::vector<uint8_t> expected(kBytes), noise(1000), got(1000);
    for (auto& byte : noise) byte = static_cast<uint8_t>(random());
    for (int round = 0; round < 2000; ++round) {
        const size_t offset = random() % (kBytes + 1), size = random() % (kBytes - offset + 1);
        const size_t n = 1 + random() % 4, gap = random() % 20, host_gap = random() % 30;
        const size_t stride = size + gap, host_stride = size + host_gap;
        const bool fits = offset + (n - 1) * stride + size <= kBytes;
        switch (random() % 5) {
            case 0:
                ggml_backend_tensor_set(tensor_, noise.data(), offset, size);
                std::copy_n(noise.begin(), size, expected.begin() + static_cast<long>(offset));
                break;
            case 1:
                ggml_backend_tensor_memset(tensor_, static_cast<uint8_t>(round), offset, size);
                std::fill_n(expected.begin() + static_cast<long>(offset), size,
                            static_cast<uint8_t>(round));
                break;
            case 2:
                if (!fits || host_stride * n > noise.size()) break;
                ggml_backend_tensor_set_2d(tensor_, noise.data(), offset, size, n, stride,
                                           host_stride);
                for (size_t i = 0; i < n; ++i) {
                    std::memcpy(expected.data() + offset + i * stride,
                                noise.data() + i * host_stride, size);
                }
                break;
            case 3:
                if (!fits || host_stride * n > got.size()) break;
                ggml_backend_tensor_get_2d_async(stream_.get(), tensor_, got.data(), offset, size,
                                                 n, stride, host_stride);
                ggml_backend_synchronize(stream_.get());
                for (size_t i = 0; i < n; ++i) {
                    EXPECT_EQ(std::memcmp(expected.data() + offset + i * stride,
                                          got.data() + i * host_stride, size),
                              0);
                }
                break;
            default:
                ggml_backend_tensor_set_async(stream_.get(), tensor_, noise.data(), offset, size);
                ggml_backend_tensor_get_async(stream_.get(), tensor_, got.data(), offset, size);
                ggml_backend_synchronize(stream_.get());
                EXPECT_EQ(std::memcmp(noise.data(), got.data(), size), 0);
                std::copy_n(noise.begin(), size, expected.begin() + static_cast<long>(offset));
        }
        ASSERT_EQ(contents(tensor_), expected) << round;
    }
    EXPECT_STREQ(tenon_last_error(), "");
}

TEST_P(TensorData, RangesBeyondTheEndTouchNothing) {
    const uint8_t data[64] = {1, 2, 3};
    ggml_backend_tensor_set(tensor_, data, kBytes - 3, 4);
    expect_refused("400 bytes");
    ggml_backend_tensor_set(tensor_, data, SIZE_MAX - 1, 4);  // offset + size wraps to 2
    expect_refused("400 bytes");
    ggml_backend_tensor_set(tensor_, data, 4, SIZE_MAX - 1);
    expect_refused("400 bytes");
    ggml_backend_tensor_set_2d(tensor_, data, 0, 4, 3, SIZE_MAX / 2 + 1, 4);  // (n-1)*stride wraps
    expect_refused("3 rows");
    ggml_backend_tensor_set_2d(tensor_, data, 396, 4, 2, 4, 4);
    expect_refused("2 rows");
    ggml_backend_tensor_memset(tensor_, 1, 400, 1);
    expect_refused("400 bytes");
    ggml_backend_tensor_set_async(stream_.get(), tensor_, data, 399, 2);
    expect_refused("400 bytes");
    uint8_t out[4] = {9, 9, 9, 9};
    ggml_backend_tensor_get(tensor_, out, 398, 4);
    expect_refused("400 bytes");
    EXPECT_EQ(out[0], 9);
    ggml_backend_tensor_set(tensor_, nullptr, 0, 4);
    expect_refused("null");
}

TEST_P(TensorData, ElementsAreAddressedInHostMemoryOnly) {
    const bool host = !GetParam();
    ggml_tensor* view = ggml_view_1d(ctx_.get(), tensor_, 1, 8);
    ASSERT_EQ(ggml_backend_view_init(view), GGML_STATUS_SUCCESS);
    for (ggml_tensor* t : {tensor_, view}) {
        tenon_clear_error();
        ggml_set_f32(t, 2.0f);
        EXPECT_EQ(ggml_get_f32_1d(t, 0), host ? 2.0f : 0.0f);
        EXPECT_EQ(std::strstr(tenon_last_error(), "which the host cannot address") != nullptr,
                  !host);
    }
    if (!host) {
        EXPECT_EQ(contents(tensor_), std::vector<uint8_t>(kBytes));
    }
}

TEST_P(TensorData, NothingToDoIsNoError) {
    uint8_t byte = 1;
    ggml_backend_tensor_set(tensor_, &byte, 400, 0);
    ggml_backend_tensor_get(tensor_, nullptr, 0, 0);
    ggml_backend_tensor_memset(tensor_, 1, 0, 0);
    ggml_backend_tensor_set_2d(tensor_, &byte, 0, 1, 0, 0, 0);
    ggml_backend_tensor_get_2d(tensor_, &byte, 0, 0, 5, 0, 0);
    ggml_tensor* homeless = ggml_new_tensor_1d(ctx_.get(), GGML_TYPE_F32, 4);
    ggml_backend_tensor_set(homeless, &byte, 0, 0);  // before the question for a buffer
    EXPECT_STREQ(tenon_last_error(), "");
    ggml_backend_tensor_set(homeless, &byte, 0, 1);
    expect_refused("no buffer");
    ggml_backend_tensor_set(nullptr, &byte, 0, 1);
    expect_refused("null");
    ggml_backend_tensor_get_async(nullptr, tensor_, &byte, 0, 1);
    expect_refused("backend is null");
}

TEST_P(TensorData, ViewsReachTheirPartOfTheRoot) {
    ggml_tensor* view = ggml_view_1d(ctx_.get(), tensor_, 4, 40);
    view->buffer = nullptr;  // as before view_init: the root's buffer counts
    view->data = static_cast<char*>(tensor_->data) + 40;
    const float values[4] = {1, 2, 3, 4};
    ggml_backend_tensor_set(view, values, 0, sizeof values);
    float back[5] = {};
    ggml_backend_tensor_get(tensor_, back, 36, sizeof back);
    EXPECT_EQ(back[0], 0.0f);
    EXPECT_EQ(back[1], 1.0f);
    EXPECT_EQ(back[4], 4.0f);
    ggml_backend_tensor_memset(view, 0, 0, 16);
    ggml_backend_tensor_set(view, values, 12, 8);
    expect_refused("16 bytes");
}

TEST(TensorDataFill, WorksOnADeviceThatCannotFill) {
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_I8, 200000);
    ggml_backend_buffer_ptr buffer(
        ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(discrete().device(0)), 200000));
    ggml_backend_tensor_alloc(buffer.get(), t, ggml_backend_buffer_get_base(buffer.get()));
    ggml_backend_buffer_clear(buffer.get(), 0);
    discrete().fake(0).cannot_fill = true;
    ggml_backend_tensor_memset(t, 3, 5, 199990);
    discrete().fake(0).cannot_fill = false;
    std::vector<uint8_t> bytes(200000), expected(200000, 3);
    for (const size_t i : {0, 1, 2, 3, 4, 199995, 199996, 199997, 199998, 199999}) expected[i] = 0;
    ggml_backend_tensor_get(t, bytes.data(), 0, bytes.size());
    EXPECT_EQ(bytes, expected);
    EXPECT_STREQ(tenon_last_error(), "");
}

}  // namespace
