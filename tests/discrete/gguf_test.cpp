// Model files whose tensors lie in device memory: the writer fetches them, on every device found.

#include <cstdio>
#include <cstring>
#include <random>

#include "gguf.h"
#include "tests/discrete/devices.h"

namespace tenon::test {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes random_bytes(size_t size) {
    Bytes bytes(size);
    std::mt19937 random(static_cast<uint32_t>(size));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    return bytes;
}

// A small tensor, one of odd size, and one larger than a staging piece of the writer.
struct Shape {
    const char* name;
    ggml_type type;
    int64_t ne[2];
};
constexpr Shape kShapes[] = {{"small", GGML_TYPE_F32, {4, 3}},
                             {"odd", GGML_TYPE_F16, {7, 5}},
                             {"large", GGML_TYPE_F32, {1024, 5 * 1024}}};

void expect_round_trip(ggml_backend_dev_t device) {
    const ggml_backend_ptr stream(ggml_backend_dev_init(device, nullptr));
    ASSERT_NE(stream, nullptr) << take_error();
    const ggml_context_ptr ctx(ggml_init({ggml_tensor_overhead() * 8, nullptr, true}));
    const gguf_context_ptr file(gguf_init_empty());
    for (const Shape& shape : kShapes) {
        ggml_tensor* t = ggml_new_tensor_2d(ctx.get(), shape.type, shape.ne[0], shape.ne[1]);
        ggml_set_name(t, shape.name);
    }
    const ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(ctx.get(), stream.get()));
    ASSERT_NE(buffer, nullptr) << take_error();
    for (const Shape& shape : kShapes) {
        ggml_tensor* t = ggml_get_tensor(ctx.get(), shape.name);
        const Bytes data = random_bytes(ggml_nbytes(t));
        ggml_backend_tensor_set(t, data.data(), 0, data.size());
        gguf_add_tensor(file.get(), t);
    }

    std::FILE* stored = std::tmpfile();
    ASSERT_TRUE(gguf_write_to_file_ptr(file.get(), stored, /*only_meta=*/false)) << take_error();
    std::rewind(stored);
    ggml_context* read = nullptr;
    const gguf_context_ptr again(gguf_init_from_file_ptr(stored, {false, &read}));
    std::fclose(stored);
    const ggml_context_ptr tensors(read);
    ASSERT_NE(again, nullptr) << take_error();
    for (const Shape& shape : kShapes) {
        const ggml_tensor* t = ggml_get_tensor(read, shape.name);
        ASSERT_NE(t, nullptr);
        const Bytes data = random_bytes(ggml_nbytes(t));
        EXPECT_EQ(std::memcmp(t->data, data.data(), data.size()), 0) << shape.name;
    }
}

TEST(DeviceGguf, TensorsOfEveryDeviceAreWrittenWithTheirData) {
    load_plugins();
    ASSERT_GT(ggml_backend_dev_count(), 1u);
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        SCOPED_TRACE(ggml_backend_dev_name(device));
        expect_round_trip(device);
    }
}

TEST_F(DiscreteTest, AHostPointerOverridesDeviceMemory) {
    const ggml_context_ptr ctx = context();
    ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8);
    ggml_set_name(t, "t");
    const ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(ctx.get(), stream.get()));
    const gguf_context_ptr file(gguf_init_empty());
    gguf_add_tensor(file.get(), t);
    const std::vector<float> mine = ramp(8, 1, 1);
    gguf_set_tensor_data(file.get(), "t", mine.data());
    std::FILE* stored = std::tmpfile();
    ASSERT_TRUE(gguf_write_to_file_ptr(file.get(), stored, /*only_meta=*/false)) << take_error();
    std::vector<float> data(8);
    std::fseek(stored, static_cast<long>(gguf_get_meta_size(file.get())), SEEK_SET);
    EXPECT_EQ(std::fread(data.data(), sizeof(float), 8, stored), 8u);
    std::fclose(stored);
    EXPECT_EQ(data, mine);
}

}  // namespace
}  // namespace tenon::test
