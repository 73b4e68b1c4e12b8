// The linear allocator, and all tensors of a context at once.

#include <gtest/gtest.h>

#include <cstring>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"
#include "tests/support/fake_plugin.h"

using namespace tenon;
using namespace tenon::test;

namespace {

// Host memory in buffers of at most 128 bytes.
FakePlugin& small_buffers() {
    static FakePlugin& plugin = [&]() -> FakePlugin& {
        FakePlugin& made = FakePlugin::make(
            "SMALL", {FakeDevice{.name = "Small0",
                                 .bufts = {{.name = "Small0",
                                            .flags = TENON_BUFT_HOST | TENON_BUFT_HOST_LAYOUT |
                                                     TENON_BUFT_DEFAULT,
                                            .alignment = 32,
                                            .max_size = 128}}}});
        made.load();
        return made;
    }();
    return plugin;
}
ggml_backend_buffer_type_t small_type() {
    return ggml_backend_dev_buffer_type(small_buffers().device(0));
}

ggml_tensor* floats(const ggml_context_ptr& ctx, int64_t n) {
    return ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, n);
}

TEST(LinearAllocator, PlacesOneAfterTheOther) {
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(small_type(), 100));
    char* base = static_cast<char*>(ggml_backend_buffer_get_base(buffer.get()));
    ggml_tallocr talloc = ggml_tallocr_new(buffer.get());
    EXPECT_EQ(talloc.base, base);
    EXPECT_EQ(talloc.alignment, 32u);
    EXPECT_EQ(talloc.offset, 0u);
    ggml_tensor *a = floats(ctx, 5), *b = floats(ctx, 8), *c = floats(ctx, 9), *d = floats(ctx, 8);
    EXPECT_EQ(ggml_tallocr_alloc(&talloc, a), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_tallocr_alloc(&talloc, b), GGML_STATUS_SUCCESS);
    EXPECT_EQ(a->data, base);
    EXPECT_EQ(b->data, base + 32);
    EXPECT_EQ(talloc.offset, 64u);
    EXPECT_EQ(ggml_tallocr_alloc(&talloc, c), GGML_STATUS_ALLOC_FAILED);  // 64 bytes more
    EXPECT_NE(std::strstr(tenon_last_error(), "64 of 100"), nullptr);
    EXPECT_EQ(talloc.offset, 64u);
    EXPECT_EQ(c->data, nullptr);
    EXPECT_EQ(ggml_tallocr_alloc(&talloc, d), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_tallocr_alloc(&talloc, a), GGML_STATUS_ALLOC_FAILED);  // it is full anyway
    talloc.offset = 0;
    EXPECT_EQ(ggml_tallocr_alloc(&talloc, a), GGML_STATUS_FAILED);  // has memory already
    EXPECT_EQ(talloc.offset, 0u);
    tenon_clear_error();
}

TEST(LinearAllocator, HugeSizesDoNotWrap) {
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(small_type(), 100));
    ggml_tallocr talloc = ggml_tallocr_new(buffer.get());
    ggml_tensor* t = floats(ctx, 4);
    t->ne[1] = 2;
    t->nb[1] = SIZE_MAX - 20;  // rounding its size up would wrap to 0
    EXPECT_EQ(ggml_tallocr_alloc(&talloc, t), GGML_STATUS_ALLOC_FAILED);
    EXPECT_EQ(talloc.offset, 0u);
    EXPECT_EQ(ggml_tallocr_alloc(nullptr, t), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_tallocr_alloc(&talloc, nullptr), GGML_STATUS_FAILED);
    ggml_tallocr none = ggml_tallocr_new(nullptr);
    EXPECT_EQ(ggml_tallocr_alloc(&none, t), GGML_STATUS_FAILED);
    tenon_clear_error();
}

TEST(ContextAlloc, PacksTensorsInOrderOfCreation) {
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_tensor *a = floats(ctx, 8), *empty = floats(ctx, 0), *b = floats(ctx, 20);
    ggml_tensor* view = ggml_view_1d(ctx.get(), b, 4, 16);
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft_size(ctx.get(), small_type()), 128u);
    EXPECT_EQ(a->data, nullptr);
    ggml_backend_buffer_ptr buffer(
        ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), small_type()));
    ASSERT_NE(buffer, nullptr);
    char* base = static_cast<char*>(ggml_backend_buffer_get_base(buffer.get()));
    EXPECT_EQ(ggml_backend_buffer_get_size(buffer.get()), 128u);
    EXPECT_EQ(a->data, base);
    EXPECT_EQ(b->data, base + 32);
    EXPECT_EQ(empty->buffer, buffer.get());
    EXPECT_NE(empty->data, nullptr);
    EXPECT_EQ(view->data, base + 48);
    EXPECT_EQ(view->buffer, buffer.get());
    EXPECT_EQ(ggml_backend_buffer_get_usage(buffer.get()), GGML_BACKEND_BUFFER_USAGE_ANY);
    // All done already: nothing to allocate, which is no error.
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), small_type()), nullptr);
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft_size(ctx.get(), small_type()), 0u);
    EXPECT_STREQ(tenon_last_error(), "");
}

TEST(ContextAlloc, SplitsWhereABufferIsFull) {
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_tensor *a = floats(ctx, 16), *b = floats(ctx, 16), *c = floats(ctx, 8);
    ggml_tensor *large = floats(ctx, 100), *d = floats(ctx, 1);
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft_size(ctx.get(), small_type()), 608u);
    ggml_backend_buffer_ptr buffer(
        ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), small_type()));
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(ggml_backend_buffer_get_base(buffer.get()), nullptr);
    EXPECT_EQ(ggml_backend_buffer_get_size(buffer.get()), 608u);
    EXPECT_EQ(a->buffer, b->buffer);
    EXPECT_NE(c->buffer, b->buffer);
    EXPECT_NE(large->buffer, c->buffer);  // too large for any buffer: one of its own
    EXPECT_EQ(ggml_backend_buffer_get_size(large->buffer), 416u);
    EXPECT_NE(d->buffer, large->buffer);
    EXPECT_NE(a->buffer, buffer.get());
}

TEST(ContextAlloc, PlacesViewsOfTensorsThatLieElsewhere) {
    const auto home = make_arena(1 << 18, /*no_alloc=*/true);
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_tensor* root = floats(home, 8);
    ggml_tensor* view = ggml_view_1d(ctx.get(), root, 2, 8);
    ggml_backend_buffer_ptr buffer(
        ggml_backend_alloc_ctx_tensors_from_buft(home.get(), small_type()));
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), small_type()), nullptr);
    EXPECT_EQ(view->buffer, buffer.get());
    EXPECT_EQ(view->data, static_cast<char*>(root->data) + 8);
    EXPECT_STREQ(tenon_last_error(), "");
}

TEST(ContextAlloc, FailureLeavesTheTensorsAsTheyWere) {
    const auto ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_tensor *a = floats(ctx, 32), *b = floats(ctx, 32);
    ggml_tensor* view = ggml_view_1d(ctx.get(), a, 2, 0);
    FakeDevice& fake = small_buffers().fake(0);
    for (tenon_status FakeDevice::*what :
         {&FakeDevice::alloc_status, &FakeDevice::tensor_init_status}) {
        fake.*what = TENON_E_NO_DEVICE_MEMORY;
        EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), small_type()), nullptr);
        EXPECT_STRNE(tenon_last_error(), "");
        for (const ggml_tensor* t : {a, b, view}) {
            EXPECT_EQ(t->data, nullptr);
            EXPECT_EQ(t->buffer, nullptr);
        }
        fake.*what = TENON_OK;
    }
    ggml_backend_buffer_ptr buffer(
        ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), small_type()));
    EXPECT_NE(buffer, nullptr);
    EXPECT_NE(b->data, nullptr);
}

TEST(ContextAlloc, RefusesContextsThatAllocateThemselves) {
    const auto ctx = make_arena();
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), small_type()), nullptr);
    EXPECT_NE(std::strstr(tenon_last_error(), "no_alloc"), nullptr);
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(nullptr, small_type()), nullptr);
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors(ctx.get(), nullptr), nullptr);
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft_size(nullptr, nullptr), 0u);
    tenon_clear_error();
    const auto nothing = make_arena(1 << 18, /*no_alloc=*/true);
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(nothing.get(), small_type()), nullptr);
    EXPECT_STREQ(tenon_last_error(), "");
}

}  // namespace
