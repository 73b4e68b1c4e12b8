// Levels of dot products through the API: the features that are told are those of the processor,
// less what TENON_CPU_FEATURES takes away, and those of bf16 are seen in results.

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "ggml-cpu.h"
#include "ggml.h"
#include "tenon/tenon.h"
#include "tests/support/variant.h"

namespace {

bool usable(const std::string& isa) {
    std::istringstream words(tenon_cpu_features());
    for (std::string word; words >> word;) {
        if (word == isa) return true;
    }
    return false;
}

std::string variant() {
    const char* name = std::getenv("TENON_CPU_VARIANT");
    return name ? name : "";
}

bool bf16_in_use() {
    return (variant() == "avx512" && usable("avx512_bf16")) ||
           (variant() == "neon" && usable("bf16"));
}

TEST(DotFeatures, AreThoseInUse) {
    TENON_REQUIRE_VARIANT();
    ASSERT_NE(variant(), "");
    const bool neon = variant() == "neon";
    EXPECT_EQ(ggml_cpu_has_avx512_bf16(), variant() == "avx512" && usable("avx512_bf16"));
    EXPECT_EQ(ggml_cpu_has_avx512_vnni(), variant() == "avx512");
    EXPECT_EQ(ggml_cpu_has_avx_vnni(), variant() == "avx2" && usable("avx_vnni"));
    EXPECT_EQ(ggml_cpu_has_dotprod(), neon && usable("dotprod"));
    EXPECT_EQ(ggml_cpu_has_matmul_int8(), neon && usable("i8mm") && usable("dotprod"));
    EXPECT_EQ(ggml_cpu_has_amx_int8(), 0);
    EXPECT_EQ(ggml_cpu_has_sve(), 0);
}

TEST(DotFeatures, ProductsOfBf16RoundOnlyForItsInstructions) {
    TENON_REQUIRE_VARIANT();
    ggml_context* ctx = ggml_init({1 << 20, nullptr, false});
    ggml_tensor* w = ggml_new_tensor_2d(ctx, GGML_TYPE_BF16, 64, 1);
    ggml_tensor* x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 64, 1);
    for (int i = 0; i < 64; ++i) {
        static_cast<ggml_bf16_t*>(w->data)[i] = ggml_fp32_to_bf16(i == 40 ? 1.0f : 0.0f);
        static_cast<float*>(x->data)[i] = 1.0f + 0x1p-12f;  // bf16 has eight bits
    }
    ggml_tensor* y = ggml_mul_mat(ctx, w, x);
    ggml_cgraph* graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, y);
    ASSERT_EQ(ggml_graph_compute_with_ctx(ctx, graph, 1), GGML_STATUS_SUCCESS);
    EXPECT_EQ(*static_cast<float*>(y->data), bf16_in_use() ? 1.0f : 1.0f + 0x1p-12f);
    ggml_free(ctx);
}

}  // namespace
