// Functions of a fork of ggml that exist for programs to build with.

#include <gtest/gtest.h>

#include <string>

#include "ggml-cpp.h"
#include "ggml.h"
#include "tenon/tenon.h"

namespace {

TEST(Int8, FunctionsWithoutAnOpSaySo) {
    const ggml_context_ptr ctx(ggml_init({1 << 20, nullptr, true}));
    ggml_tensor* weight = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I8, 64, 8);
    ggml_tensor* input = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 64, 3);
    ggml_tensor* scale = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8);
    ggml_set_name(weight, "blk.0.w");
    ggml_set_name(input, "x");

    tenon_clear_error();
    EXPECT_EQ(ggml_mul_mat_i8_tensorwise(ctx.get(), weight, input, scale, nullptr, 0), nullptr);
    EXPECT_EQ(std::string(tenon_last_error()),
              "ggml_mul_mat_i8_tensorwise: no op computes int8 with a scale per row yet, asked for "
              "'blk.0.w'");
    tenon_clear_error();
    EXPECT_EQ(ggml_quantize_i8_convrot(ctx.get(), input, 64), nullptr);
    EXPECT_EQ(std::string(tenon_last_error()),
              "ggml_quantize_i8_convrot: no op computes int8 with a scale per row yet, asked for "
              "'x'");
}

TEST(Int8, MissingOperandsPassThroughWithoutAWord) {
    tenon_clear_error();
    EXPECT_EQ(ggml_mul_mat_i8_tensorwise(nullptr, nullptr, nullptr, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(ggml_quantize_i8_convrot(nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(std::string(tenon_last_error()), "");
}

}  // namespace
