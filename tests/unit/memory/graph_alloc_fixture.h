// Memory in buffers of a given size, and graphs to plan for, for tests of the graph allocator.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "tests/support/arena.h"
#include "tests/support/fake_plugin.h"

namespace tenon::test {

constexpr uint64_t kNoLimit = UINT64_MAX;

// A device with host memory in buffers of at most max_size bytes.
class Memory {
public:
    explicit Memory(uint64_t max_size, uint64_t alignment = 8) {
        static int count = 0;
        const std::string name = "Mem" + std::to_string(count++);
        plugin_ = &FakePlugin::make(
            name, {FakeDevice{.name = name,
                              .bufts = {{.name = name,
                                         .flags = TENON_BUFT_HOST | TENON_BUFT_HOST_LAYOUT |
                                                  TENON_BUFT_DEFAULT,
                                         .alignment = alignment,
                                         .max_size = max_size}}}});
        plugin_->load();
        type = ggml_backend_dev_buffer_type(plugin_->device(0));
    }
    ~Memory() { EXPECT_TRUE(plugin_->unload()); }
    FakeDevice& fake() { return plugin_->fake(0); }
    ggml_backend_buffer_type_t type;

private:
    FakePlugin* plugin_;
};

// A graph under construction; sizes in bytes of f32 elements.
struct Graph {
    ggml_context_ptr ctx = make_arena(1 << 20, /*no_alloc=*/true);
    ggml_cgraph* graph = ggml_new_graph(ctx.get());

    ggml_tensor* input(int64_t bytes) {
        ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, bytes / 4);
        ggml_set_input(t);
        return t;
    }
    ggml_tensor* pad(ggml_tensor* t, int n) { return ggml_pad(ctx.get(), t, n, 0, 0, 0); }
    ggml_tensor* add(ggml_tensor* a, ggml_tensor* b) { return ggml_add(ctx.get(), a, b); }
    void finish(ggml_tensor* last) {
        ggml_set_output(last);
        ggml_build_forward_expand(graph, last);
    }
};

}  // namespace tenon::test
