// Feeds the model-file reader with a fuzzer's bytes (libFuzzer, clang only). The first byte says
// how to open; what opens is looked at through the whole API, written, and read again.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "gguf.h"
#include "tenon/tenon.h"

void gguf_write_to_buf(const gguf_context* ctx, std::vector<int8_t>& buf, bool only_meta);

namespace {

struct Stream {
    const uint8_t* data;
    size_t size;
};

// All or nothing at the end, the strictest callback there is.
size_t read(void* user, void* output, uint64_t offset, size_t length) {
    const auto& stream = *static_cast<const Stream*>(user);
    if (length == 0) std::abort();
    if (offset > stream.size || length > stream.size - offset) return 0;
    std::memcpy(output, stream.data + offset, length);
    return length;
}

// Touches every byte that the accessors give out.
uint64_t look_at(const gguf_context* ctx) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < gguf_get_n_kv(ctx); ++i) {
        if (gguf_find_key(ctx, gguf_get_key(ctx, i)) != i) std::abort();
        const bool is_array = gguf_get_kv_type(ctx, i) == GGUF_TYPE_ARRAY;
        const gguf_type type = is_array ? gguf_get_arr_type(ctx, i) : gguf_get_kv_type(ctx, i);
        const size_t n = gguf_get_arr_n(ctx, i);
        for (size_t j = 0; type == GGUF_TYPE_STRING && j < n; ++j) {
            sum += std::strlen(gguf_get_arr_str(ctx, i, j));
        }
        if (type == GGUF_TYPE_UINT32 && n > 0) {
            sum += static_cast<const uint32_t*>(gguf_get_arr_data(ctx, i))[n - 1];
        }
    }
    uint64_t end = 0;
    for (int64_t i = 0; i < gguf_get_n_tensors(ctx); ++i) {
        if (gguf_find_tensor(ctx, gguf_get_tensor_name(ctx, i)) != i) std::abort();
        if (gguf_get_tensor_offset(ctx, i) < end) std::abort();
        end = gguf_get_tensor_offset(ctx, i) + gguf_get_tensor_size(ctx, i);
        if (end > INT64_MAX) std::abort();
    }
    return sum;
}

uint64_t look_at(ggml_context* tensors) {
    uint64_t sum = 0;
    for (ggml_tensor* t = ggml_get_first_tensor(tensors); t; t = ggml_get_next_tensor(tensors, t)) {
        const auto* bytes = static_cast<const uint8_t*>(t->data);
        for (size_t i = 0; bytes && i < ggml_nbytes(t); i += 64) sum += bytes[i];
    }
    return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const uint8_t how = *data++;
    --size;
    ggml_context* tensors = nullptr;
    const gguf_init_params params{(how & 1) != 0, (how & 2) ? &tensors : nullptr};
    Stream stream{data, size};
    gguf_context* ctx = how & 4
                            ? gguf_init_from_callback(read, &stream, 1 + how / 8u,
                                                      how & 8 ? size : uint64_t{1} << 24, params)
                            : gguf_init_from_buffer(data, size, params);
    tenon_clear_error();
    volatile uint64_t sum = 0;
    if (ctx) {
        sum = look_at(ctx) + look_at(tensors);
        std::vector<int8_t> copy;
        gguf_write_to_buf(ctx, copy, /*only_meta=*/true);
        if (copy.size() != gguf_get_meta_size(ctx)) std::abort();
        gguf_context* again = gguf_init_from_buffer(copy.data(), copy.size(), {true, nullptr});
        if (!again || gguf_get_n_kv(again) != gguf_get_n_kv(ctx)) std::abort();
        gguf_free(again);
    } else if (tensors) {
        std::abort();
    }
    gguf_free(ctx);
    ggml_free(tensors);
    return 0;
}
