// Scratch for kernels whose rows pass through f32: rows of each member in the workspace.
#pragma once

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {

// Bytes of a row of n floats, in whole cache lines.
inline size_t row_buffer_bytes(int64_t n) {
    return (static_cast<size_t>(n) * sizeof(float) + 63) / 64 * 64;
}

// What workspace() asks for: `rows` rows for each member.
inline size_t row_buffers_bytes(int64_t n, int n_threads, int rows = 1) {
    return row_buffer_bytes(n) * static_cast<size_t>(n_threads) * static_cast<size_t>(rows);
}

// This member's first row; the others follow it, row_buffer_bytes(n) apart.
inline float* row_buffer(const Task& task, int64_t n, int rows = 1) {
    return reinterpret_cast<float*>(static_cast<char*>(task.workspace) +
                                    row_buffers_bytes(n, task.ith, rows));
}

// The rows of one member as an array; NULLs without workspace.
class RowBuffers {
public:
    RowBuffers() = default;
    RowBuffers(const Task& task, int64_t n, int rows)
        : first_(task.workspace ? row_buffer(task, n, rows) : nullptr),
          stride_(row_buffer_bytes(n) / sizeof(float)) {}
    float* operator[](int i) const {
        return first_ ? first_ + stride_ * static_cast<size_t>(i) : nullptr;
    }

private:
    float* first_ = nullptr;
    size_t stride_ = 0;
};

// Elements [at, at + n) of a dense row of a float type as f32: where they are, or decoded into
// `buffer`, which f32 does not touch.
inline const float* as_f32(ggml_type type, const void* row, int64_t at, int64_t n, float* buffer) {
    if (type == GGML_TYPE_F32) return static_cast<const float*>(row) + at;
    with_float_type(type,
                    [&]<class T>() { simd::convert(buffer, static_cast<const T*>(row) + at, n); });
    return buffer;
}

// One element of a float type.
inline float as_f32(ggml_type type, const void* p) {
    float x = 0.0f;
    with_float_type(type, [&]<class T>() { x = simd::to_f32(*static_cast<const T*>(p)); });
    return x;
}

// Whether some of the first n sources are not f32: only then rows pass through a buffer.
inline bool any_not_f32(const ggml_tensor& node, int n) {
    for (int i = 0; i < n; ++i) {
        if (node.src[i]->type != GGML_TYPE_F32) return true;
    }
    return false;
}

}  // namespace tenon::cpu
