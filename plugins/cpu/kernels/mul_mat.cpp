// MUL_MAT: dst[m, n, i2, i3] = sum over k of a[k, m, i2/r2, i3/r3] * b[k, n, i2, i3].
//
// First the rows of b are brought into the form that the weight type multiplies with, each once.
// Then chunks of rows x columns are handed out. All columns that meet one weight matrix, those of
// broadcast batches included, count as one matrix, so that weights are read once for all of them.

#include <algorithm>

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/kernels/mul_mat.h"
#include "plugins/cpu/simd/simd.h"
#include "tenon/quant.h"

namespace tenon::cpu {
namespace {

size_t workspace(const ggml_tensor& node, int) {
    const ggml_tensor& b = *node.src[1];
    const MulMatOperands operands = mul_mat_operands(*node.src[0], b);
    return operands.in_place ? 0 : operands.row_size * static_cast<size_t>(tenon_nrows(&b));
}

// Where the columns of one weight matrix are read and written.
struct Columns {
    MulMatColumns positions;
    const MulMatOperands& operands;
    const char* workspace;

    void find(int64_t column, const char** b_row, float** dst) const {
        const ggml_tensor& node = positions.node;
        const ggml_tensor& b = *node.src[1];
        const auto [n, i2, i3] = positions.at(column);
        *b_row = operands.in_place
                     ? row<const char>(b, n, i2, i3)
                     : workspace + operands.row_size * ((i3 * b.ne[2] + i2) * b.ne[1] + n);
        *dst = row<float>(node, n, i2, i3);
    }
};

void compute_chunk(const Columns& columns, int64_t row0, int64_t n_rows, int64_t col0,
                   int64_t n_cols) {
    const ggml_tensor& a = *columns.positions.node.src[0];
    const char* b_rows[kMulMatCols];
    float* dst[kMulMatCols];
    for (int64_t c = 0; c < n_cols; ++c) {
        columns.find(col0 + c, &b_rows[c], &dst[c]);
        dst[c] += row0;
    }
    columns.operands.tile({a.ne[0],
                           row<const char>(a, row0, columns.positions.a2, columns.positions.a3),
                           a.nb[1], n_rows, b_rows, dst, n_cols});
}

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const MulMatOperands operands = mul_mat_operands(a, b);
    if (!operands.in_place) {
        for_each_row(task, b, [&](int64_t i1, int64_t i2, int64_t i3) {
            const int64_t index = (i3 * b.ne[2] + i2) * b.ne[1] + i1;
            convert_operand_row(b, operands.form, row<const void>(b, i1, i2, i3),
                                static_cast<char*>(task.workspace) + operands.row_size * index);
        });
        task.barrier();
    }

    const int64_t n_cols = MulMatColumns::per_matrix(node);
    const int64_t col_chunks = (n_cols + kMulMatCols - 1) / kMulMatCols;
    const int64_t matrices = a.ne[2] * a.ne[3];
    const int64_t rows = mul_mat_rows_per_chunk(task, a.ne[1], matrices * col_chunks);
    const int64_t row_chunks = (a.ne[1] + rows - 1) / rows;

    // Rows fastest: the columns of a chunk stay in the second-level cache while weights stream by.
    for_each_chunk(task, matrices * col_chunks * row_chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t matrix = i / (col_chunks * row_chunks);
            const int64_t col0 = i / row_chunks % col_chunks * kMulMatCols;
            const int64_t row0 = i % row_chunks * rows;
            const Columns columns{{node, matrix % a.ne[2], matrix / a.ne[2]},
                                  operands,
                                  static_cast<const char*>(task.workspace)};
            compute_chunk(columns, row0, std::min(rows, a.ne[1] - row0), col0,
                          std::min(kMulMatCols, n_cols - col0));
        }
    });
}

}  // namespace

Verdict supports_mul_mat(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const DotType* type = find_dot_type(a.type);
    if (!type) return no(TENON_REASON_TYPE, "src0 has a type without dot product");
    if (b.type != GGML_TYPE_F32 && b.type != type->partner) {
        return no(TENON_REASON_TYPE_MIX, "src1 is neither f32 nor the dot product partner of src0");
    }
    if (!has_dense_rows(a)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    if (!has_dense_rows(b)) return no(TENON_REASON_STRIDES, "src1 rows are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

MulMatOperands mul_mat_operands(const ggml_tensor& a, const ggml_tensor& b) {
    const DotType& type = *find_dot_type(a.type);
    const auto rows = [n = b.ne[0]](TileFn tile, Operand form) -> MulMatOperands {
        const size_t bytes = form == Operand::kQ8
                                 ? Q8Row::bytes(n)
                                 : static_cast<size_t>(n) * (form == Operand::kBf16 ? 2 : 4);
        return {tile, form, false, (bytes + 63) / 64 * 64};
    };
    if (b.type == type.partner && type.partner_tile) {
        return {type.partner_tile, type.operand, true, 0};
    }
    if (b.type == GGML_TYPE_F32 && type.prefers_partner) {
        return rows(type.partner_tile, Operand::kBf16);
    }
    if (b.type == GGML_TYPE_F32 && type.operand == Operand::kF32) {
        return {type.tile, Operand::kF32, true, 0};
    }
    return rows(type.tile, type.operand);
}

void convert_operand_row(const ggml_tensor& b, Operand form, const void* src, void* dst) {
    const int64_t n = b.ne[0];
    const auto* floats = static_cast<const float*>(src);
    switch (form) {
        case Operand::kF32:
            decode_operand_row(b, src, static_cast<float*>(dst));
            break;
        case Operand::kBf16:  // bf16 itself is used in place
            simd::convert(static_cast<ggml_bf16_t*>(dst), floats, n);
            break;
        case Operand::kQ8:
            if (b.type == GGML_TYPE_F32) {
                quantize_q8_row(floats, dst, n);
            } else {
                repack_q8_row(b.type, src, dst, n);
            }
            break;
    }
}

int64_t mul_mat_rows_per_chunk(const Task& task, int64_t n_rows, int64_t other_chunks) {
    if (task.nth == 1) return std::min<int64_t>(n_rows, 256);
    const int64_t wanted = std::max<int64_t>(8 * task.nth / other_chunks, 1);
    const int64_t size = (n_rows + wanted - 1) / wanted;
    return std::clamp<int64_t>((size + 7) / 8 * 8, 8, 256);
}

// Weights that are decoded first are so once for all columns.
double mul_mat_slowness(const ggml_tensor& node) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    if (type_size(a.type).block == 1 || find_dot_type(a.type)->operand != Operand::kF32) return 1;
    return 1 + 2.0 * simd::f32::lanes / static_cast<double>(tenon_nrows(&b));
}

void decode_operand_row(const ggml_tensor& b, const void* src, float* dst) {
    const int64_t n = b.ne[0];
    switch (b.type) {
        case GGML_TYPE_F32:
            std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(float));
            break;
        case GGML_TYPE_F16:
            simd::convert(dst, static_cast<const ggml_fp16_t*>(src), n);
            break;
        case GGML_TYPE_BF16:
            simd::convert(dst, static_cast<const ggml_bf16_t*>(src), n);
            break;
        case GGML_TYPE_Q8_1:
            quant::decode_q8_1(src, dst, n);
            break;
        case GGML_TYPE_Q8_K:
            quant::decode_q8_K(src, dst, n);
            break;
        default:
            quant::find_format(b.type)->to_float(src, dst, n);
    }
}

extern constinit const Kernel kMulMat{supports_mul_mat, run, workspace, mul_mat_slowness};

}  // namespace tenon::cpu
