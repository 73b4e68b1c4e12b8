// The tensors of a model file as ggml tensors; declared in tensor_context.h.

#include "core/gguf/tensor_context.h"

#include <algorithm>
#include <cinttypes>

#include "core/base/bits.h"

namespace tenon::gguf {
namespace {

struct ContextFree {
    void operator()(ggml_context* ctx) const { ggml_free(ctx); }
};
using Context = std::unique_ptr<ggml_context, ContextFree>;

// Kernels want cache lines, buffers over host memory want pages; more than a page helps nobody.
size_t data_alignment(const gguf_context& file) {
    return std::clamp<size_t>(file.alignment, 64, 4096);
}

Result<size_t> context_bytes(const gguf_context& file, bool with_data) {
    const size_t n = file.tensors.size() + (with_data ? 2 : 0);  // the blob: memory and tensor
    size_t bytes;
    const bool fits = mul_size(n, ggml_tensor_overhead(), &bytes) &&
                      (!with_data || (add_size(bytes, file.data_size, &bytes) &&
                                      add_size(bytes, data_alignment(file), &bytes)));
    if (!fits) {
        return invalid("data section: %zu tensors and %" PRIu64 " bytes pass the address space",
                       file.tensors.size(), file.data_size);
    }
    return bytes;
}

Error no_memory(const gguf_context& file, const char* what) {
    return fail(TENON_E_NO_HOST_MEMORY,
                "data section: out of host memory for %s: %zu tensors, %" PRIu64 " bytes of data",
                what, file.tensors.size(), file.data_size);
}

// Reads the data section into memory of the context and describes it by its first tensor.
Result<uint8_t*> load_data(const gguf_context& file, Input& in, ggml_context* ctx) {
    const size_t alignment = data_alignment(file);
    void* memory = ggml_new_buffer(ctx, file.data_size + alignment - GGML_MEM_ALIGN);
    if (!memory) return no_memory(file, "the data");
    auto* data =
        reinterpret_cast<uint8_t*>(align_up(reinterpret_cast<uintptr_t>(memory), alignment));
    ggml_set_no_alloc(ctx, true);
    ggml_tensor* blob = ggml_new_tensor_1d(ctx, GGML_TYPE_I8, static_cast<int64_t>(file.data_size));
    if (!blob) return no_memory(file, "the data");
    ggml_set_name(blob, "GGUF tensor data binary blob");
    blob->data = data;
    if (auto done = in.bytes(data, file.data_size, "tensor data"); !done) return done.error();
    return data;
}

}  // namespace

Result<ggml_context*> make_tensor_context(const gguf_context& file, Input& in, bool no_alloc) {
    if (!no_alloc && file.data_size > in.left()) {
        // Before anything is allocated: a tiny file must not claim the machine's memory.
        const TensorInfo& last = file.tensors.back();
        return fail(TENON_E_IO, "tensor '%s': data ends at %" PRIu64 ", file has %" PRIu64 " bytes",
                    shown(last.tensor.name).c_str(), file.data_offset + file.data_size,
                    file.data_offset + in.left());
    }
    auto bytes = context_bytes(file, !no_alloc);
    if (!bytes) return bytes.error();
    Context ctx(ggml_init({.mem_size = *bytes, .mem_buffer = nullptr, .no_alloc = no_alloc}));
    if (!ctx) return no_memory(file, "the tensor context");

    uint8_t* data = nullptr;
    if (!no_alloc) {
        auto loaded = load_data(file, in, ctx.get());
        if (!loaded) return loaded.error();
        data = *loaded;
    }
    ggml_set_no_alloc(ctx.get(), true);
    for (const TensorInfo& info : file.tensors) {
        const ggml_tensor& t = info.tensor;
        ggml_tensor* made = ggml_new_tensor(ctx.get(), t.type, GGML_MAX_DIMS, t.ne);
        if (!made) return no_memory(file, ("tensor '" + shown(t.name) + "'").c_str());
        ggml_set_name(made, t.name);
        if (data) made->data = data + info.offset;
    }
    ggml_set_no_alloc(ctx.get(), no_alloc);
    return ctx.release();
}

}  // namespace tenon::gguf
