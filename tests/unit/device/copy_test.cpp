// Copies and events: layouts, every pair of memories, and the order between streams whose work is
// done as late as it may.

#include <gtest/gtest.h>

#include <cstring>
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

// Two devices of one plugin, and one of another.
FakePlugin& pair() {
    static FakePlugin& plugin = [&]() -> FakePlugin& {
        FakePlugin& made =
            FakePlugin::make("PAIR", {FakeDevice{.name = "Pair0", .bufts = {{"Pair0"}}},
                                      FakeDevice{.name = "Pair1", .bufts = {{"Pair1"}}}});
        made.load();
        return made;
    }();
    return plugin;
}
FakePlugin& stranger() {
    static FakePlugin& plugin = [&]() -> FakePlugin& {
        FakePlugin& made = FakePlugin::make(
            "STRANGER", {FakeDevice{.name = "Stranger0", .bufts = {{"Stranger0"}}}});
        made.load();
        return made;
    }();
    return plugin;
}

// A stream of a device and a tensor of four floats there.
struct Place {
    ggml_context_ptr ctx = make_arena(1 << 18, /*no_alloc=*/true);
    ggml_backend_ptr stream;
    ggml_backend_buffer_ptr buffer;
    ggml_tensor* t;
    explicit Place(ggml_backend_dev_t device)
        : stream(ggml_backend_dev_init(device, nullptr)),
          t(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4)) {
        buffer.reset(ggml_backend_alloc_ctx_tensors(ctx.get(), stream.get()));
        fill(0);
    }
    void fill(float v) const {
        const float values[4] = {v, v + 1, v + 2, v + 3};
        ggml_backend_tensor_set(t, values, 0, sizeof values);
    }
    float first() const {
        float value;
        ggml_backend_tensor_get(t, &value, 0, sizeof value);
        return value;
    }
};

ggml_backend_dev_t device_of(int i) {
    fake_cpu();
    switch (i) {
        case 0:
            return ggml_backend_dev_by_name("CPU");
        case 1:
            return pair().device(0);
        case 2:
            return pair().device(1);
        default:
            return stranger().device(0);
    }
}

TEST(Copy, ReachesEveryMemoryFromEveryOther) {
    for (const bool on_device : {true, false}) {
        pair().fake(0).copies_on_device = pair().fake(1).copies_on_device = on_device;
        for (int from = 0; from < 4; ++from) {
            for (int to = 0; to < 4; ++to) {
                Place src(device_of(from)), dst(device_of(to));
                src.fill(10);
                ggml_backend_tensor_copy(src.t, dst.t);
                EXPECT_EQ(dst.first(), 10.0f) << from << " to " << to;
                src.fill(20);
                ggml_backend_tensor_copy_async(src.stream.get(), dst.stream.get(), src.t, dst.t);
                ggml_backend_synchronize(dst.stream.get());
                ggml_backend_synchronize(src.stream.get());
                EXPECT_EQ(dst.first(), 20.0f) << from << " to " << to;
            }
        }
    }
    pair().fake(0).copies_on_device = pair().fake(1).copies_on_device = true;
    EXPECT_STREQ(tenon_last_error(), "");
}

TEST(Copy, WorksBetweenViewsWithoutBuffer) {
    Place place(device_of(1));
    place.fill(1);
    ggml_tensor* half = ggml_view_1d(place.ctx.get(), place.t, 2, 8);
    half->buffer = nullptr;
    half->data = static_cast<char*>(place.t->data) + 8;
    const auto arena = make_arena();
    ggml_tensor* out = ggml_new_tensor_1d(arena.get(), GGML_TYPE_F32, 2);
    ggml_backend_tensor_copy(half, out);
    EXPECT_EQ(ggml_get_f32_1d(out, 0), 3.0f);
    ggml_set_f32(out, 9.0f);
    ggml_backend_tensor_copy(out, half);
    float values[4];
    ggml_backend_tensor_get(place.t, values, 0, sizeof values);
    EXPECT_EQ(values[1], 2.0f);
    EXPECT_EQ(values[2], 9.0f);
}

TEST(Copy, RefusesDifferentLayouts) {
    Place place(device_of(0));
    const auto ctx = make_arena();
    for (ggml_tensor* other : {ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 5),
                               ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 2, 2),
                               ggml_new_tensor_1d(ctx.get(), GGML_TYPE_I32, 4)}) {
        ggml_backend_tensor_copy(place.t, other);
        EXPECT_NE(std::strstr(tenon_last_error(), "differ"), nullptr);
        ggml_backend_tensor_copy_async(place.stream.get(), place.stream.get(), place.t, other);
        EXPECT_NE(std::strstr(tenon_last_error(), "differ"), nullptr);
    }
    ggml_backend_tensor_copy(nullptr, place.t);
    EXPECT_NE(std::strstr(tenon_last_error(), "null"), nullptr);
    ggml_backend_tensor_copy_async(nullptr, place.stream.get(), place.t, place.t);
    EXPECT_NE(std::strstr(tenon_last_error(), "null"), nullptr);
    ggml_tensor* homeless = ggml_new_tensor_1d(place.ctx.get(), GGML_TYPE_F32, 4);
    ggml_backend_tensor_copy(homeless, place.t);
    EXPECT_NE(std::strstr(tenon_last_error(), "no memory"), nullptr);
}

// y = x * x on the place's stream.
ggml_cgraph* square(const Place& place, ggml_tensor* x, ggml_tensor** y) {
    *y = ggml_sqr(place.ctx.get(), x);
    ggml_cgraph* graph = ggml_new_graph(place.ctx.get());
    ggml_build_forward_expand(graph, *y);
    return graph;
}

TEST(Copy, ComesAfterTheSourcesWorkAndBeforeTheDestinations) {
    for (const auto& [from, to] : {std::pair(1, 2), std::pair(1, 3), std::pair(1, 0)}) {
        Place src(device_of(from)), dst(device_of(to));
        ggml_tensor *y, *z;
        ggml_cgraph* produce = square(src, src.t, &y);
        ggml_cgraph* consume = square(dst, dst.t, &z);
        ggml_backend_buffer_ptr more_src(
            ggml_backend_alloc_ctx_tensors(src.ctx.get(), src.stream.get()));
        ggml_backend_buffer_ptr more_dst(
            ggml_backend_alloc_ctx_tensors(dst.ctx.get(), dst.stream.get()));
        src.fill(3);
        ggml_backend_graph_compute_async(src.stream.get(), produce);
        ggml_backend_tensor_copy_async(src.stream.get(), dst.stream.get(), y, dst.t);
        ggml_backend_graph_compute_async(dst.stream.get(), consume);
        ggml_backend_synchronize(dst.stream.get());
        float result;
        ggml_backend_tensor_get(z, &result, 0, sizeof result);
        EXPECT_EQ(result, 81.0f) << from << " to " << to;
        ggml_backend_synchronize(src.stream.get());
    }
    EXPECT_STREQ(tenon_last_error(), "");
}

TEST(Copy, HostMemoryIsNotOverwrittenWhileADeviceReadsIt) {
    Place host(device_of(0)), device(device_of(1));
    ggml_tensor* y;
    ggml_cgraph* graph = square(host, host.t, &y);
    y->data = host.t->data;  // in place: the graph overwrites what is being copied
    y->buffer = host.t->buffer;
    host.fill(5);
    ggml_backend_tensor_copy_async(host.stream.get(), device.stream.get(), host.t, device.t);
    EXPECT_EQ(ggml_backend_graph_compute_async(host.stream.get(), graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(host.first(), 25.0f);
    ggml_backend_synchronize(device.stream.get());
    EXPECT_EQ(device.first(), 5.0f);
}

TEST(Event, UnrecordedIsComplete) {
    ggml_backend_event_ptr event(ggml_backend_event_new(pair().device(0)));
    Place place(device_of(1));
    ggml_backend_event_synchronize(event.get());
    ggml_backend_event_wait(place.stream.get(), event.get());
    EXPECT_STREQ(tenon_last_error(), "");
    EXPECT_EQ(ggml_backend_event_new(nullptr), nullptr);
    EXPECT_EQ(ggml_backend_event_new(device_of(0)), nullptr);  // no events: no error either
    EXPECT_STREQ(tenon_last_error(), "");
    ggml_backend_event_free(nullptr);
    ggml_backend_event_record(nullptr, place.stream.get());
    EXPECT_STRNE(tenon_last_error(), "");
}

TEST(Event, RecordingAgainMovesIt) {
    Place place(device_of(1));
    ggml_backend_event_ptr event(ggml_backend_event_new(pair().device(0)));
    const float one[4] = {1, 1, 1, 1}, two[4] = {2, 2, 2, 2};
    ggml_backend_tensor_set_async(place.stream.get(), place.t, one, 0, sizeof one);
    ggml_backend_event_record(event.get(), place.stream.get());
    ggml_backend_tensor_set_async(place.stream.get(), place.t, two, 0, sizeof two);
    ggml_backend_event_synchronize(event.get());
    EXPECT_EQ(place.first(), 1.0f);  // what came after it has not run
    ggml_backend_event_record(event.get(), place.stream.get());
    ggml_backend_event_synchronize(event.get());
    EXPECT_EQ(place.first(), 2.0f);
}

TEST(Event, OrdersTwoStreams) {
    Place a(device_of(1)), b(device_of(1));
    ggml_backend_event_ptr event(ggml_backend_event_new(pair().device(0)));
    const float seven[4] = {7, 7, 7, 7};
    float got[4] = {};
    ggml_backend_tensor_set_async(a.stream.get(), a.t, seven, 0, sizeof seven);
    ggml_backend_event_record(event.get(), a.stream.get());
    ggml_backend_event_wait(b.stream.get(), event.get());
    ggml_backend_tensor_get_async(b.stream.get(), a.t, got, 0, sizeof got);
    ggml_backend_synchronize(b.stream.get());
    EXPECT_EQ(got[0], 7.0f);
}

TEST(Event, OnAStreamWithoutEventsItWaits) {
    Place host(device_of(0)), device(device_of(1));
    ggml_backend_event_ptr event(ggml_backend_event_new(pair().device(0)));
    ggml_backend_event_record(event.get(), host.stream.get());  // done at once
    ggml_backend_event_synchronize(event.get());
    const float four[4] = {4, 4, 4, 4};
    ggml_backend_tensor_set_async(device.stream.get(), device.t, four, 0, sizeof four);
    ggml_backend_event_record(event.get(), device.stream.get());
    ggml_backend_event_wait(host.stream.get(), event.get());  // on the host
    EXPECT_EQ(device.first(), 4.0f);
    EXPECT_STREQ(tenon_last_error(), "");
}

}  // namespace
