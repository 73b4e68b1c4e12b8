// MUL_MAT_ID: dst[m, e, t] = sum over k of as[k, m, ids[e, t]] * b[k, e mod r, t].
//
// Member 0 groups the results by expert while the others bring the rows of b into the form that
// the weight type multiplies with. Then every expert is a matrix product of its own columns, cut
// into chunks of rows x columns like MUL_MAT's.

#include <algorithm>
#include <optional>

#include "plugins/cpu/kernels/mul_mat.h"

namespace tenon::cpu {
namespace {

Verdict supports(const ggml_tensor& node) {
    if (const Verdict verdict = supports_mul_mat(node); !verdict) return verdict;
    const ggml_tensor& as = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const ggml_tensor& ids = *node.src[2];
    if (ids.type != GGML_TYPE_I32) return no(TENON_REASON_TYPE, "ids must be i32");
    if (as.ne[3] != 1 || b.ne[3] != 1 || ids.ne[2] != 1 || ids.ne[3] != 1) {
        return no(TENON_REASON_SHAPE, "src0 and src1 must have 3 dimensions, ids 2");
    }
    if (ids.ne[1] != b.ne[2] || b.ne[1] == 0 || ids.ne[0] % b.ne[1] != 0) {
        return no(TENON_REASON_SHAPE, "ids do not match the columns of src1");
    }
    return yes();
}

// One column of the result.
struct Column {
    int32_t used;  // its place among the experts of its token
    int32_t token;
};

// The columns in order of their experts, in the workspace. Those with an id that is no expert are
// left out.
struct Groups {
    int64_t n_experts;
    int64_t* first;        // [n_experts + 1] columns of expert e: first[e] … first[e + 1]
    int64_t* first_chunk;  // [n_experts + 1] the same in chunks of kMulMatCols columns
    Column* columns;

    static size_t bytes(const ggml_tensor& node) {
        const ggml_tensor& ids = *node.src[2];
        const size_t heads = 2 * (static_cast<size_t>(node.src[0]->ne[2]) + 1) * sizeof(int64_t);
        const size_t columns = static_cast<size_t>(ids.ne[0] * ids.ne[1]) * sizeof(Column);
        return (heads + columns + 63) / 64 * 64;
    }
    Groups(const ggml_tensor& node, void* memory)
        : n_experts(node.src[0]->ne[2]),
          first(static_cast<int64_t*>(memory)),
          first_chunk(first + n_experts + 1),
          columns(reinterpret_cast<Column*>(first_chunk + n_experts + 1)) {}

    // Counting sort; the last id that is no expert, if there is one.
    std::optional<int32_t> fill(const ggml_tensor& ids) const {
        std::optional<int32_t> invalid;
        const auto each = [&](auto&& fn) {
            for (int64_t t = 0; t < ids.ne[1]; ++t) {
                for (int64_t u = 0; u < ids.ne[0]; ++u) {
                    const int32_t e = *element<const int32_t>(ids, u, t, 0, 0);
                    if (e >= 0 && e < n_experts) {
                        fn(e, Column{static_cast<int32_t>(u), static_cast<int32_t>(t)});
                    } else {
                        invalid = e;
                    }
                }
            }
        };
        std::fill(first, first + n_experts + 1, 0);
        each([&](int32_t e, Column) { ++first[e + 1]; });
        first_chunk[0] = 0;
        for (int64_t e = 0; e < n_experts; ++e) {
            first_chunk[e + 1] = first_chunk[e] + (first[e + 1] + kMulMatCols - 1) / kMulMatCols;
            first[e + 1] += first[e];
        }
        // first[e] runs to the end of its group, which is the start of the next: shift it back.
        each([&](int32_t e, Column column) { columns[first[e]++] = column; });
        for (int64_t e = n_experts; e > 0; --e) first[e] = first[e - 1];
        first[0] = 0;
        return invalid;
    }

    int64_t expert_of_chunk(int64_t chunk) const {
        return std::upper_bound(first_chunk, first_chunk + n_experts + 1, chunk) - first_chunk - 1;
    }
};

size_t workspace(const ggml_tensor& node, int) {
    const ggml_tensor& b = *node.src[1];
    const MulMatOperands operands = mul_mat_operands(*node.src[0], b);
    const size_t rows =
        operands.in_place ? 0 : operands.row_size * static_cast<size_t>(tenon_nrows(&b));
    return Groups::bytes(node) + rows;
}

void convert(const Task& task, const ggml_tensor& b, const MulMatOperands& operands, char* rows) {
    for_each_row(task, b, [&](int64_t i1, int64_t i2, int64_t) {
        convert_operand_row(b, operands.form, row<const void>(b, i1, i2),
                            rows + operands.row_size * (i2 * b.ne[1] + i1));
    });
}

struct Product {
    const ggml_tensor& node;
    MulMatOperands operands;
    Groups groups;
    const char* rows;  // of b, converted

    const char* operand(Column column) const {
        const ggml_tensor& b = *node.src[1];
        const int64_t i1 = column.used % b.ne[1];
        return operands.in_place ? row<const char>(b, i1, column.token)
                                 : rows + operands.row_size * (column.token * b.ne[1] + i1);
    }

    void compute(int64_t chunk, int64_t row0, int64_t n_rows) const {
        const ggml_tensor& as = *node.src[0];
        const int64_t expert = groups.expert_of_chunk(chunk);
        const int64_t col0 =
            groups.first[expert] + (chunk - groups.first_chunk[expert]) * kMulMatCols;
        const int64_t n_cols = std::min(kMulMatCols, groups.first[expert + 1] - col0);
        const char* b_rows[kMulMatCols];
        float* dst[kMulMatCols];
        for (int64_t c = 0; c < n_cols; ++c) {
            const Column column = groups.columns[col0 + c];
            b_rows[c] = operand(column);
            dst[c] = row<float>(node, column.used, column.token) + row0;
        }
        operands.tile(
            {as.ne[0], row<const char>(as, row0, expert), as.nb[1], n_rows, b_rows, dst, n_cols});
    }
};

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& as = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const MulMatOperands operands = mul_mat_operands(as, b);
    const Groups groups(node, task.workspace);
    char* rows = static_cast<char*>(task.workspace) + Groups::bytes(node);
    if (task.ith == 0) {
        if (const auto invalid = groups.fill(*node.src[2])) {
            task.fail_index("an expert id is out of range", *invalid, as.ne[2]);
        }
    }
    if (!operands.in_place) convert(task, b, operands, rows);
    task.barrier();

    const int64_t col_chunks = groups.first_chunk[groups.n_experts];
    if (col_chunks == 0) return;
    const Product product{node, operands, groups, rows};
    const int64_t size = mul_mat_rows_per_chunk(task, as.ne[1], col_chunks);
    const int64_t row_chunks = (as.ne[1] + size - 1) / size;
    for_each_chunk(task, col_chunks * row_chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t row0 = i % row_chunks * size;
            product.compute(i / row_chunks, row0, std::min(size, as.ne[1] - row0));
        }
    });
}

// Weights of experts that no token chose are not read.
double cost(const ggml_tensor& node) {
    const ggml_tensor& as = *node.src[0];
    const double columns = static_cast<double>(node.ne[1] * node.ne[2]);
    const double experts = std::min(columns, static_cast<double>(as.ne[2]));
    const double matrix = static_cast<double>(as.ne[0]) * static_cast<double>(as.ne[1]);
    const TypeSize size = type_size(as.type);
    const double bytes = matrix * static_cast<double>(size.bytes) / static_cast<double>(size.block);
    return 100 + std::max(matrix * columns / 20, bytes * experts / 15);
}

}  // namespace

extern constinit const Kernel kMulMatId{GGML_OP_MUL_MAT_ID, supports, run, workspace, cost};

}  // namespace tenon::cpu
