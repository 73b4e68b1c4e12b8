// Tensors: creation, refusals, views, names, flags, access.

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/tensor/context.h"
#include "core/tensor/types.h"
#include "ggml.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"

using namespace tenon;
using test::make_arena;

namespace {

TEST(Tensor, IsBornContiguousAndZero) {
    const auto ctx = make_arena();
    const int64_t ne[] = {64, 3, 2, 5};
    const ggml_tensor* t = ggml_new_tensor(ctx.get(), GGML_TYPE_Q4_0, 4, ne);
    ASSERT_NE(t, nullptr);
    EXPECT_EQ(t->nb[0], 18u);
    EXPECT_EQ(t->nb[1], 36u);
    EXPECT_EQ(t->nb[2], 108u);
    EXPECT_EQ(t->nb[3], 216u);
    EXPECT_EQ(ggml_nbytes(t), 1080u);
    EXPECT_EQ(t->op, GGML_OP_NONE);
    EXPECT_EQ(t->flags, 0);
    EXPECT_EQ(t->buffer, nullptr);
    EXPECT_EQ(t->view_src, nullptr);
    EXPECT_EQ(t->extra, nullptr);
    EXPECT_STREQ(t->name, "");
    for (const ggml_tensor* src : t->src) EXPECT_EQ(src, nullptr);
    for (int32_t word : t->op_params) EXPECT_EQ(word, 0);
    const ggml_tensor* vector = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 7);
    EXPECT_EQ(vector->ne[1] * vector->ne[2] * vector->ne[3], 1);
}

TEST(Tensor, MemoryUsedBeforeDoesNotShineThrough) {
    const auto ctx = make_arena(4096, /*no_alloc=*/true);
    std::memset(ggml_get_mem_buffer(ctx.get()), 0xFF, 4096);
    ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1);
    ggml_tensor zero{};
    EXPECT_EQ(std::memcmp(t->op_params, zero.op_params, sizeof zero.op_params), 0);
    EXPECT_EQ(std::memcmp(t->name, zero.name, sizeof zero.name), 0);
    EXPECT_EQ(std::memcmp(t->padding, zero.padding, sizeof zero.padding), 0);
    EXPECT_EQ(t->data, nullptr);
}

struct Refusal {
    const char* what;
    int type;
    int n_dims;
    int64_t ne[4];
    const char* message;  // part of it
};

TEST(Tensor, ImpossibleOnesAreRefusedWithAReason) {
    const int64_t big = INT64_MAX;
    const Refusal cases[] = {
        {"retired type", 4, 1, {32}, "tensor type 4 does not exist"},
        {"type past the end", 43, 1, {32}, "tensor type 43 does not exist"},
        {"negative type", -1, 1, {32}, "tensor type -1 does not exist"},
        {"no dimensions", 0, 0, {1}, "cannot have 0 dimensions"},
        {"five dimensions", 0, 5, {1}, "cannot have 5 dimensions"},
        {"negative extent", 0, 2, {4, -1}, "shape [4, -1, 1, 1]: an extent is negative"},
        {"part of a block", GGML_TYPE_Q4_0, 1, {33}, "33 is not a multiple of the block size 32"},
        {"part of a large block", GGML_TYPE_Q4_K, 1, {128}, "128 is not a multiple"},
        {"too many elements", 0, 4, {big, 2, 1, 1}, "more elements"},
        {"too many elements, all", 0, 4, {big, big, big, big}, "more elements"},
        {"hidden by an empty one", 0, 4, {big, big, 0, 1}, "more elements"},
        {"hidden in front", 0, 4, {0, big, big, 1}, "more elements"},
        {"too many bytes", GGML_TYPE_F32, 1, {big}, "more bytes"},
        {"too many bytes, f64", GGML_TYPE_F64, 2, {1 << 30, 1ll << 30}, "more bytes"},
    };
    const auto ctx = make_arena();
    for (const Refusal& c : cases) {
        tenon_clear_error();
        EXPECT_EQ(ggml_new_tensor(ctx.get(), static_cast<ggml_type>(c.type), c.n_dims, c.ne),
                  nullptr)
            << c.what;
        const std::string message = tenon_last_error();
        EXPECT_NE(message.find(c.message), std::string::npos) << c.what << ": " << message;
    }
    EXPECT_EQ(ggml_new_tensor(ctx.get(), GGML_TYPE_F32, 1, nullptr), nullptr);
    EXPECT_EQ(ggml_used_mem(ctx.get()), 0u);
}

TEST(Tensor, TheLargestShapesAreAccepted) {
    const auto ctx = make_arena(4096, /*no_alloc=*/true);
    const ggml_tensor* bytes = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_I8, INT64_MAX);
    ASSERT_NE(bytes, nullptr);
    EXPECT_EQ(ggml_nbytes(bytes), static_cast<size_t>(INT64_MAX));
    const ggml_tensor* bits = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_Q1_0, int64_t{1} << 62);
    ASSERT_NE(bits, nullptr);
    EXPECT_EQ(ggml_nbytes(bits), (size_t{1} << 62) / 128 * 18);
}

TEST(Tensor, DuplicatesHaveTypeAndShapeOnly) {
    const auto ctx = make_arena();
    ggml_tensor* t = ggml_set_name(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F16, 3, 4), "original");
    t->nb[1] = 64;
    ggml_set_input(t);
    const ggml_tensor* d = ggml_dup_tensor(ctx.get(), t);
    EXPECT_TRUE(ggml_are_same_shape(t, d));
    EXPECT_EQ(d->type, GGML_TYPE_F16);
    EXPECT_EQ(d->nb[1], 6u);
    EXPECT_EQ(d->flags, 0);
    EXPECT_STREQ(d->name, "");
    EXPECT_EQ(ggml_dup_tensor(ctx.get(), nullptr), nullptr);
}

// ---- views -------------------------------------------------------------------------------------

TEST(View, OfATensorSharesItsMemory) {
    const auto ctx = make_arena();
    ggml_tensor* t = ggml_set_name(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 4, 4), "t");
    ggml_tensor* v = ggml_view_tensor(ctx.get(), t);
    EXPECT_EQ(v->view_src, t);
    EXPECT_EQ(v->view_offs, 0u);
    EXPECT_EQ(v->data, t->data);
    EXPECT_EQ(v->op, GGML_OP_NONE);
    EXPECT_EQ(v->src[0], nullptr);
    EXPECT_STREQ(v->name, "t (view)");
    EXPECT_TRUE(ggml_is_view(v));
    EXPECT_FALSE(ggml_is_view(t));
    const ggml_tensor* of_unnamed =
        ggml_view_tensor(ctx.get(), ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1));
    EXPECT_STREQ(of_unnamed->name, " (view)");
    EXPECT_EQ(ggml_view_tensor(ctx.get(), nullptr), nullptr);
}

TEST(View, OfAViewRefersToTheTensorBelow) {
    const auto ctx = make_arena();
    ggml_tensor* base = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 100);
    const int64_t ne[] = {50};
    auto first = new_tensor_impl(ctx.get(), GGML_TYPE_F32, 1, ne, base, 40);
    ASSERT_TRUE(first);
    const int64_t fewer[] = {10};
    auto second = new_tensor_impl(ctx.get(), GGML_TYPE_F32, 1, fewer, *first, 60);
    ASSERT_TRUE(second);
    EXPECT_EQ((*second)->view_src, base);
    EXPECT_EQ((*second)->view_offs, 100u);
    EXPECT_EQ((*second)->data, static_cast<char*>(base->data) + 100);
}

TEST(View, MustEndInsideTheBase) {
    const auto ctx = make_arena();
    ggml_tensor* base = ggml_set_name(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 100), "base");
    const int64_t ne[] = {50};
    EXPECT_TRUE(new_tensor_impl(ctx.get(), GGML_TYPE_F32, 1, ne, base, 200));
    const auto past = new_tensor_impl(ctx.get(), GGML_TYPE_F32, 1, ne, base, 204);
    ASSERT_FALSE(past);
    EXPECT_STREQ(past.error().text,
                 "view of 'base': 200 bytes at offset 204 end past the tensor's 400 bytes");
    EXPECT_FALSE(new_tensor_impl(ctx.get(), GGML_TYPE_F32, 1, ne, base, SIZE_MAX));
    auto inner = new_tensor_impl(ctx.get(), GGML_TYPE_F32, 1, ne, base, 200);
    ASSERT_TRUE(inner);
    EXPECT_FALSE(new_tensor_impl(ctx.get(), GGML_TYPE_F32, 1, ne, *inner, SIZE_MAX - 100));
    const int64_t none[] = {0};
    EXPECT_TRUE(new_tensor_impl(ctx.get(), GGML_TYPE_F32, 1, none, base, 400));
}

TEST(View, OfATensorWithoutMemoryHasNone) {
    const auto ctx = make_arena(4096, /*no_alloc=*/true);
    ggml_tensor* base = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 100);
    EXPECT_EQ(ggml_view_tensor(ctx.get(), base)->data, nullptr);
}

// ---- names -------------------------------------------------------------------------------------

TEST(Name, IsCutAt159Bytes) {
    const auto ctx = make_arena();
    ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1);
    const std::string exactly(159, 'n'), longer(500, 'm');
    EXPECT_EQ(ggml_set_name(t, exactly.c_str()), t);
    EXPECT_EQ(ggml_get_name(t), exactly);
    ggml_set_name(t, longer.c_str());
    EXPECT_EQ(ggml_get_name(t), longer.substr(0, 159));
    EXPECT_EQ(ggml_format_name(t, "%s!", longer.c_str()), t);
    EXPECT_EQ(ggml_get_name(t), longer.substr(0, 159));
    EXPECT_EQ(t->extra, nullptr);  // what lies behind the name is untouched
}

TEST(Name, MayBeMadeFromItself) {
    const auto ctx = make_arena();
    ggml_tensor* t = ggml_set_name(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1), "blk.0.attn");
    ggml_format_name(t, "%s.weight", t->name);
    EXPECT_STREQ(t->name, "blk.0.attn.weight");
    ggml_set_name(t, t->name + 4);
    EXPECT_STREQ(t->name, "0.attn.weight");
}

TEST(Name, NullIsTolerated) {
    EXPECT_EQ(ggml_set_name(nullptr, "x"), nullptr);
    EXPECT_EQ(ggml_format_name(nullptr, "%d", 1), nullptr);
    EXPECT_STREQ(ggml_get_name(nullptr), "");
    const auto ctx = make_arena();
    ggml_tensor* t = ggml_set_name(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1), "x");
    ggml_set_name(t, nullptr);
    EXPECT_STREQ(t->name, "");
}

// ---- flags -------------------------------------------------------------------------------------

TEST(Flags, OutputReachesTheTensorBelowAView) {
    const auto ctx = make_arena();
    ggml_tensor* base = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1);
    ggml_tensor* view = ggml_view_tensor(ctx.get(), base);
    ggml_set_input(view);
    EXPECT_EQ(base->flags, 0);
    ggml_set_output(view);
    EXPECT_EQ(view->flags, GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_OUTPUT);
    EXPECT_EQ(base->flags, GGML_TENSOR_FLAG_OUTPUT);
    ggml_set_input(nullptr);
    ggml_set_output(nullptr);
    ggml_set_param(nullptr);
    ggml_set_loss(nullptr);
}

TEST(Flags, OnlyLeafsAreParametersAndOnlyScalarsAreLosses) {
    const auto ctx = make_arena();
    ggml_tensor* leaf = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3);
    ggml_set_param(leaf);
    EXPECT_EQ(leaf->flags, GGML_TENSOR_FLAG_PARAM);
    ggml_tensor* node = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3);
    node->op = GGML_OP_ADD;
    tenon_clear_error();
    ggml_set_param(node);
    EXPECT_EQ(node->flags, 0);
    EXPECT_STRNE(tenon_last_error(), "");
    ggml_set_loss(node);
    EXPECT_EQ(node->flags, 0);
    ggml_tensor* integer = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_I32, 1);
    ggml_set_loss(integer);
    EXPECT_EQ(integer->flags, 0);
    ggml_tensor* loss = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1);
    ggml_set_loss(loss);
    EXPECT_EQ(loss->flags, GGML_TENSOR_FLAG_LOSS);
}

// ---- access ------------------------------------------------------------------------------------

TEST(Access, UnravelsIndices) {
    const auto ctx = make_arena();
    const ggml_tensor* t = ggml_new_tensor_4d(ctx.get(), GGML_TYPE_F32, 3, 4, 5, 2);
    int64_t i = 0;
    for (int64_t i3 = 0; i3 < 2; ++i3) {
        for (int64_t i2 = 0; i2 < 5; ++i2) {
            for (int64_t i1 = 0; i1 < 4; ++i1) {
                for (int64_t i0 = 0; i0 < 3; ++i0, ++i) {
                    int64_t got[4];
                    ggml_unravel_index(t, i, &got[0], &got[1], &got[2], &got[3]);
                    ASSERT_EQ(got[0], i0);
                    ASSERT_EQ(got[1], i1);
                    ASSERT_EQ(got[2], i2);
                    ASSERT_EQ(got[3], i3);
                }
            }
        }
    }
    int64_t only = -1;
    ggml_unravel_index(t, 119, nullptr, nullptr, &only, nullptr);
    EXPECT_EQ(only, 4);
    ggml_unravel_index(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 0), 0, &only, &only, &only,
                       &only);
    EXPECT_EQ(only, 4);
}

TEST(Access, DataAsFloatsNeedsFloats) {
    const auto ctx = make_arena();
    ggml_tensor* f = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3);
    ggml_tensor* h = ggml_set_name(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F16, 3), "h");
    EXPECT_EQ(ggml_get_data(f), f->data);
    EXPECT_EQ(ggml_get_data_f32(f), f->data);
    tenon_clear_error();
    EXPECT_EQ(ggml_get_data_f32(h), nullptr);
    EXPECT_STREQ(tenon_last_error(), "tensor 'h' is f16, not f32");
    EXPECT_EQ(ggml_get_data(nullptr), nullptr);
    EXPECT_EQ(ggml_get_data_f32(nullptr), nullptr);
}

TEST(Access, SubOpsAreReadFromTheirNodesOnly) {
    const auto ctx = make_arena();
    ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3);
    t->op = GGML_OP_UNARY;
    t->op_params[0] = GGML_UNARY_OP_SILU;
    EXPECT_EQ(ggml_get_unary_op(t), GGML_UNARY_OP_SILU);
    EXPECT_EQ(ggml_get_glu_op(t), GGML_GLU_OP_COUNT);
    t->op = GGML_OP_GLU;
    t->op_params[0] = GGML_GLU_OP_GEGLU;
    EXPECT_EQ(ggml_get_glu_op(t), GGML_GLU_OP_GEGLU);
    EXPECT_EQ(ggml_get_unary_op(t), GGML_UNARY_OP_COUNT);
    EXPECT_EQ(ggml_get_unary_op(nullptr), GGML_UNARY_OP_COUNT);
}

TEST(Access, SetsMemoryToZero) {
    const auto ctx = make_arena();
    ggml_tensor* t = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 3, 3);
    std::memset(t->data, 0xFF, 36);
    EXPECT_EQ(ggml_set_zero(t), t);
    for (int i = 0; i < 9; ++i) EXPECT_EQ(ggml_get_data_f32(t)[i], 0.0f);
    EXPECT_EQ(ggml_set_zero(nullptr), nullptr);

    const auto headers = make_arena(4096, /*no_alloc=*/true);
    ggml_tensor* bare = ggml_set_name(ggml_new_tensor_1d(headers.get(), GGML_TYPE_F32, 3), "bare");
    tenon_clear_error();
    EXPECT_EQ(ggml_set_zero(bare), bare);
    EXPECT_STREQ(tenon_last_error(), "tensor 'bare' has no memory to set to zero");
    ggml_tensor* empty = ggml_new_tensor_1d(headers.get(), GGML_TYPE_F32, 0);
    EXPECT_EQ(ggml_set_zero(empty), empty);
    EXPECT_STREQ(tenon_last_error(), "tensor 'bare' has no memory to set to zero");
}

}  // namespace
