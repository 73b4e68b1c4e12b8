// A node over memory of its own, run by the kernel that takes it.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "plugins/cpu/kernel.h"

namespace tenon::cpu {

using Extents = std::array<int64_t, 4>;

// A tensor over memory of its own, contiguous.
struct Tensor : ggml_tensor {
    std::vector<char> bytes;
    Tensor(ggml_type t, Extents extents) : ggml_tensor{} {
        type = t;
        const TypeSize size = type_size(t);
        std::copy(extents.begin(), extents.end(), ne);
        nb[0] = size.bytes;
        nb[1] = row_bytes(t, ne[0]);
        nb[2] = nb[1] * static_cast<size_t>(ne[1]);
        nb[3] = nb[2] * static_cast<size_t>(ne[2]);
        bytes.resize(nb[3] * static_cast<size_t>(ne[3]) + 64);
        data = bytes.data();
    }
    Tensor(const Tensor&) = delete;

    float* f32() { return static_cast<float*>(data); }
    int32_t* i32() { return static_cast<int32_t*>(data); }
    int64_t* i64() { return static_cast<int64_t*>(data); }
    Tensor& fill(float value) {
        std::fill_n(f32(), tenon_nelements(this), value);
        return *this;
    }
};

// A node of `op` with this result and these sources.
struct Node : Tensor {
    Node(ggml_op o, ggml_type t, Extents extents, std::initializer_list<Tensor*> sources)
        : Tensor(t, extents) {
        op = o;
        int i = 0;
        for (Tensor* s : sources) src[i++] = s;
    }
    template <class Params>
    Node& with(const Params& params) {
        std::memcpy(op_params, &params, sizeof params);
        return *this;
    }

    uint32_t refusal() const {
        Verdict why;
        return find_kernel(*this, &why) ? uint32_t{TENON_REASON_NONE} : why.reason;
    }
    // The first failure, or "".
    std::string run() const {
        const Kernel* kernel = find_kernel(*this);
        if (!kernel) return "refused";
        Shared shared;
        std::vector<char> scratch((kernel->workspace ? kernel->workspace(*this, 1) : 0) + 64);
        Task task;
        task.shared = &shared;
        task.workspace = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
        task.workspace_size = scratch.size() - 64;
        kernel->run(task, *this);
        return shared.failed ? shared.failure : "";
    }
};

}  // namespace tenon::cpu
