// Models put together and read back by the tests of rt-gguf, and a run of it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ggml.h"
#include "gguf.h"
#include "tests/support/program.h"

namespace tenon::test {

inline const std::string kModel = TENON_TEST_DATA "/data/stories260K.gguf";

inline Outcome rt_gguf(const std::vector<std::string>& args, const std::string& before = "") {
    return run_program(TENON_RT_GGUF, args, before);
}

struct GgufFree {
    void operator()(gguf_context* ctx) const { gguf_free(ctx); }
};
struct GgmlFree {
    void operator()(ggml_context* ctx) const { ggml_free(ctx); }
};

// A model put together in memory.
struct Model {
    std::unique_ptr<gguf_context, GgufFree> gguf{gguf_init_empty()};
    std::unique_ptr<ggml_context, GgmlFree> tensors;
    explicit Model(size_t bytes = 1 << 20) : tensors(ggml_init({bytes, nullptr, false})) {}

    // Random values, the same in every run.
    ggml_tensor* add(const char* name, std::vector<int64_t> ne, ggml_type type = GGML_TYPE_F32) {
        ggml_tensor* t =
            ggml_new_tensor(tensors.get(), type, static_cast<int>(ne.size()), ne.data());
        ggml_set_name(t, name);
        std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>()(name)));
        std::normal_distribution<float> normal;
        if (type == GGML_TYPE_F32) {
            for (int64_t i = 0; i < ggml_nelements(t); ++i) floats(t)[i] = normal(random);
        } else {
            std::memset(t->data, 1, ggml_nbytes(t));
        }
        gguf_add_tensor(gguf.get(), t);
        return t;
    }
    static float* floats(ggml_tensor* t) { return static_cast<float*>(t->data); }
    void write(const std::string& path) const {
        ASSERT_TRUE(gguf_write_to_file(gguf.get(), path.c_str(), /*only_meta=*/false));
    }
};

// A model read back with its data.
struct ReadModel {
    std::unique_ptr<gguf_context, GgufFree> gguf;
    std::unique_ptr<ggml_context, GgmlFree> tensors;
    explicit ReadModel(const std::string& path) {
        ggml_context* ctx = nullptr;
        gguf.reset(gguf_init_from_file(path.c_str(), {false, &ctx}));
        tensors.reset(ctx);
    }
    ggml_tensor* get(const char* name) const { return ggml_get_tensor(tensors.get(), name); }
    std::string bytes(const char* name) const {
        const ggml_tensor* t = get(name);
        return {static_cast<const char*>(t->data), ggml_nbytes(t)};
    }
};

inline std::string quantized(ggml_type type, const float* values, int64_t rows, int64_t n,
                             const float* importance = nullptr) {
    std::string out(static_cast<size_t>(rows) * ggml_row_size(type, n), '\0');
    EXPECT_EQ(ggml_quantize_chunk(type, values, out.data(), 0, rows, n, importance), out.size());
    return out;
}

}  // namespace tenon::test
