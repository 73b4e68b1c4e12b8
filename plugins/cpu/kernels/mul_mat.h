// What the kernels for MUL_MAT and MUL_MAT_ID share.
#pragma once

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/kernel.h"

namespace tenon::cpu {

// Types and strides that every kernel for these ops takes.
Verdict supports_mul_mat(const ggml_tensor& node);

double mul_mat_slowness(const ggml_tensor& node);

// How b is read: as it lies, or from rows of `row_size` bytes in the workspace.
struct MulMatOperands {
    TileFn tile;
    Operand form;
    bool in_place;
    size_t row_size;
};
MulMatOperands mul_mat_operands(const ggml_tensor& a, const ggml_tensor& b);

// Row of b in the form that the tile wants.
void convert_operand_row(const ggml_tensor& b, Operand form, const void* src, void* dst);

constexpr int64_t kMulMatCols = 16;  // columns that a chunk of work has at most

// Rows per chunk: enough chunks for the members to finish together, and few enough to be cheap.
int64_t mul_mat_rows_per_chunk(const Task& task, int64_t n_rows, int64_t other_chunks);

// Row of b (any type a product takes) as f32.
void decode_operand_row(const ggml_tensor& b, const void* src, float* dst);

// The columns that meet one weight matrix (a2, a3), those of broadcast batches included: counted
// ne1(b) first, then the r2 and r3 matrices of b that share it.
struct MulMatColumns {
    const ggml_tensor& node;
    int64_t a2, a3;

    static int64_t per_matrix(const ggml_tensor& node) {
        if (tenon_is_empty(&node)) return 0;  // a may have no matrices at all
        const ggml_tensor &a = *node.src[0], &b = *node.src[1];
        return b.ne[1] * (b.ne[2] / a.ne[2]) * (b.ne[3] / a.ne[3]);
    }
    struct Position {
        int64_t n, i2, i3;
    };
    Position at(int64_t column) const {
        const ggml_tensor &a = *node.src[0], &b = *node.src[1];
        const int64_t r2 = b.ne[2] / a.ne[2], r3 = b.ne[3] / a.ne[3];
        const int64_t rest = column / b.ne[1];
        return {column % b.ne[1], a2 * r2 + rest % r2, a3 * r3 + rest / r2};
    }
};

}  // namespace tenon::cpu
