// Placing the graphs of cases: see placement.h.

#include "sdk/conformance/placement.h"

#include "tenon/tenon.h"

namespace tenon::conformance {
namespace {

constexpr size_t kMaxTensors = 512;             // of one case, guards included
constexpr int64_t kGuardElements = 1024;        // floats before and after every leaf and result
constexpr uint32_t kGuardPattern = 0x7fa5a5a5;  // a NaN: whoever reads it shows it
constexpr uint8_t kResultPattern = 0xff;

// Tensors of one kind, in a buffer of their own.
class Guarded {
public:
    Guarded(ggml_context* ctx, ggml_backend_buffer_type_t buft, Memory& memory)
        : ctx_(ctx), buft_(buft), memory_(memory) {}

    void place(const std::vector<ggml_tensor*>& tensors, ggml_backend_buffer_usage usage) {
        const size_t alignment = ggml_backend_buft_get_alignment(buft_);
        const size_t guard_bytes = GGML_PAD(kGuardElements * sizeof(float), alignment);
        size_t total = alignment + guard_bytes;
        for (const ggml_tensor* t : tensors)
            total += GGML_PAD(ggml_backend_buft_get_alloc_size(buft_, t), alignment) + guard_bytes;
        ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(buft_, total);
        if (!buffer)
            throw std::runtime_error(std::to_string(total) + " bytes: " + tenon_last_error());
        memory_.buffers.emplace_back(buffer);
        ggml_backend_buffer_set_usage(buffer, usage);
        if (usage == GGML_BACKEND_BUFFER_USAGE_COMPUTE)
            ggml_backend_buffer_clear(buffer, kResultPattern);
        ggml_tallocr at = ggml_tallocr_new(buffer);
        put_guard(at);
        for (ggml_tensor* t : tensors) {
            put(at, t);
            put_guard(at);
        }
    }

private:
    void put(ggml_tallocr& at, ggml_tensor* t) {
        if (ggml_tallocr_alloc(&at, t) != GGML_STATUS_SUCCESS)
            throw std::runtime_error(tenon_last_error());
    }
    void put_guard(ggml_tallocr& at) {
        ggml_tensor* guard = ggml_new_tensor_1d(ctx_, GGML_TYPE_F32, kGuardElements);
        put(at, guard);
        const std::vector<uint32_t> pattern(kGuardElements, kGuardPattern);
        ggml_backend_tensor_set(guard, pattern.data(), 0, ggml_nbytes(guard));
        memory_.guards.push_back(guard);
    }
    ggml_context* ctx_;
    ggml_backend_buffer_type_t buft_;
    Memory& memory_;
};

Memory place_guarded(Built& b, ggml_backend_buffer_type_t buft) {
    std::vector<ggml_tensor*> leaves, results;
    for (ggml_tensor* t : b.all) {
        if (!t->view_src) (t->op == GGML_OP_NONE ? leaves : results).push_back(t);
    }
    Memory memory;
    Guarded guarded(b.ctx.get(), buft, memory);
    guarded.place(leaves, GGML_BACKEND_BUFFER_USAGE_ANY);
    guarded.place(results, GGML_BACKEND_BUFFER_USAGE_COMPUTE);
    for (ggml_tensor* t : b.all) {
        if (t->view_src && ggml_backend_view_init(t) != GGML_STATUS_SUCCESS)
            throw std::runtime_error(tenon_last_error());
    }
    return memory;
}

// Leaves are planned too: what reads them last leaves their memory to a later result.
Memory place_planned(Built& b, ggml_backend_buffer_type_t buft) {
    for (const auto& leaf : b.leaves) ggml_set_input(leaf.tensor);
    for (ggml_tensor* t : b.outputs) ggml_set_output(t);
    Memory memory;
    memory.planned.reset(ggml_gallocr_new(buft));
    if (!memory.planned || !ggml_gallocr_alloc_graph(memory.planned.get(), b.graph))
        throw std::runtime_error(std::string("graph allocator: ") + tenon_last_error());
    ggml_backend_buffer_t last = nullptr;
    for (const ggml_tensor* t : b.all) {
        if (!t->buffer || t->buffer == last) continue;
        last = t->buffer;
        ggml_backend_buffer_clear(last, kResultPattern);
    }
    return memory;
}

}  // namespace

Built build(const Case& c) {
    Built b;
    b.ctx.reset(ggml_init(
        {2 * kMaxTensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(kMaxTensors, false),
         nullptr, /*no_alloc=*/true}));
    ggml_context* ctx = b.ctx.get();
    GraphMaker maker(ctx);
    tenon_clear_error();
    ggml_tensor* output = c.build(maker);
    if (!output)
        throw std::runtime_error(std::string("the graph cannot be built: ") + tenon_last_error());
    b.leaves = maker.leaves();
    b.outputs = maker.outputs();
    b.outputs.push_back(output);
    for (ggml_tensor* t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t))
        b.all.push_back(t);
    b.graph = ggml_new_graph_custom(ctx, kMaxTensors, false);
    for (ggml_tensor* t : b.outputs) ggml_build_forward_expand(b.graph, t);
    return b;
}

Memory place(Built& b, ggml_backend_buffer_type_t buft, Layout layout) {
    return layout == Layout::kPlanned ? place_planned(b, buft) : place_guarded(b, buft);
}

std::string damaged_guard(const Memory& memory) {
    std::vector<uint32_t> bytes(kGuardElements);
    for (size_t g = 0; g < memory.guards.size(); ++g) {
        ggml_backend_tensor_get(memory.guards[g], bytes.data(), 0, bytes.size() * sizeof(uint32_t));
        for (size_t i = 0; i < bytes.size(); ++i) {
            if (bytes[i] != kGuardPattern) {
                return "wrote outside a tensor: guard " + std::to_string(g) + ", float " +
                       std::to_string(i);
            }
        }
    }
    return "";
}

}  // namespace tenon::conformance
