// Scratch for kernels whose rows pass through f32: one row per member in the workspace.
#pragma once

#include "plugins/cpu/kernel.h"

namespace tenon::cpu {

// Bytes of a row of n floats, in whole cache lines.
inline size_t row_buffer_bytes(int64_t n) {
    return (static_cast<size_t>(n) * sizeof(float) + 63) / 64 * 64;
}

// What workspace() asks for.
inline size_t row_buffers_bytes(int64_t n, int n_threads) {
    return row_buffer_bytes(n) * static_cast<size_t>(n_threads);
}

// This member's row.
inline float* row_buffer(const Task& task, int64_t n) {
    return reinterpret_cast<float*>(static_cast<char*>(task.workspace) +
                                    row_buffer_bytes(n) * static_cast<size_t>(task.ith));
}

}  // namespace tenon::cpu
