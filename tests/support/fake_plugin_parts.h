// The objects behind the fake plugin's handles, shared by the files that make it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "tests/support/fake_plugin.h"

namespace tenon::test {

constexpr uintptr_t kHidden = uintptr_t{1} << 62;

struct FakeHandle {
    tenon_device base;
    tenon_device_vtbl table;
    FakeDevice* fake;
};
struct FakeBuffer {
    tenon_buffer base;
    FakeDevice* fake;
    char* memory;  // NULL: wraps what is not ours
    bool host;
    void* start;  // as the core knows it
    uint64_t size;
};
// Work that is done when somebody waits for it.
struct FakeStream {
    tenon_stream base;
    FakeDevice* fake;
    std::deque<std::function<void()>> queue;
    uint64_t n_queued = 0, n_done = 0;

    void push(std::function<void()> work) {
        ++n_queued;
        queue.push_back(std::move(work));
        if (!(fake->caps & TENON_CAP_ASYNC)) drain(n_queued);
    }
    void drain(uint64_t until) {
        while (n_done < until) {
            auto work = std::move(queue.front());
            queue.pop_front();
            ++n_done;
            work();
        }
    }
};
struct FakeEvent {
    tenon_event base;
    FakeStream* stream = nullptr;
    uint64_t position = 0;
};

inline tenon_status failed(tenon_error* error, tenon_status status, const char* text) {
    return status == TENON_OK ? TENON_OK : tenon_fail(error, status, 0, nullptr, text);
}

extern const tenon_buffer_vtbl kFakeBufferTable;
extern const tenon_stream_vtbl kFakeStreamTable;
extern const tenon_event_vtbl kFakeEventTable;

// Whether a fake device has a kernel for the node.
bool computes(const ggml_tensor& node);

}  // namespace tenon::test
