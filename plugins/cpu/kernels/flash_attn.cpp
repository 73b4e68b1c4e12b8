// FLASH_ATTN_EXT: dst[c, h, n, b] = sum over j of softmax_j(z)*v[c, j], z = scale*(q . k[j]),
// capped, plus slope*mask. Blocks of rows against tiles of positions with a running maximum, so
// that no matrix of scores is ever kept. Sums are f32 whatever the types and the precision asked
// for.

#include <cmath>

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/kernels/flash_attn.h"
#include "tenon/quant.h"

namespace tenon::cpu {
namespace {

Verdict supports(const ggml_tensor& node) {
    if (!is_float_type(node.src[0]->type)) {
        return no(TENON_REASON_TYPE, "q must be f32, f16 or bf16");
    }
    if (!find_dot_type(node.src[1]->type)) {
        return no(TENON_REASON_TYPE, "k has a type without dot product");
    }
    const ggml_tensor& v = *node.src[2];
    const quant::Format* format = quant::find_format(v.type);
    if (!is_float_type(v.type) && (!format || !format->to_float || type_size(v.type).block == 1)) {
        return no(TENON_REASON_TYPE, "v has a type that cannot be decoded");
    }
    for (const ggml_tensor* t : {node.src[0], node.src[1], node.src[2]}) {
        if (!has_dense_rows(*t)) return no(TENON_REASON_STRIDES, "rows of q, k or v are not dense");
    }
    if (const ggml_tensor* sinks = node.src[4]; sinks && !has_dense_rows(*sinks))
        return no(TENON_REASON_STRIDES, "sinks are not dense");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

size_t workspace(const ggml_tensor& node, int n_threads) {
    if (tenon_is_empty(&node)) return 0;
    const Attention attention(node);
    return attention.partials_bytes() + attention.member_bytes() * static_cast<size_t>(n_threads);
}

// A row whose sums are complete: the sink joins the total, and the sums become means.
void finish(const Attention& a, int64_t group_index, int64_t r, const float* out, float most,
            float sum) {
    const auto at = a.row_of(group_index, r);
    float factor = 1;
    if (a.sinks) {
        const float sink = static_cast<const float*>(a.sinks->data)[at.head];
        const float top = std::max(most, sink);
        const float base = std::isinf(top) && top < 0 ? 0.0f : top;
        factor = std::exp(most - base);
        sum = sum * factor + std::exp(sink - base);
    }
    // Nothing seen: zeros. A NaN stays one.
    const float inverse = sum == 0 ? 0.0f : factor / sum;
    simd::scale(row<float>(a.node, at.head, at.token, at.batch), out, a.dv, inverse);
}

// The rows of a piece as partial results: [row][sums, maximum, total].
void keep(const Attention& a, const AttentionPiece& piece, float* partial) {
    for (int64_t r = 0; r < piece.n_rows(); ++r, partial += a.partial_floats()) {
        std::memcpy(partial, piece.out(r), static_cast<size_t>(a.dv) * sizeof(float));
        partial[a.dv] = piece.most(r);
        partial[a.dv + 1] = piece.sum(r);
    }
}

// Row r of a block from its splits, into the first of them.
void merge(const Attention& a, float* partials, int64_t r) {
    const int64_t distance = a.block_rows * a.partial_floats();
    float* first = partials + r * a.partial_floats();
    float most = first[a.dv];
    for (int64_t s = 1; s < a.n_splits; ++s) most = std::max(most, first[s * distance + a.dv]);
    const float base = std::isinf(most) && most < 0 ? 0.0f : most;
    const float factor = std::exp(first[a.dv] - base);
    simd::scale(first, first, a.dv, factor);
    float sum = first[a.dv + 1] * factor;
    for (int64_t s = 1; s < a.n_splits; ++s) {
        const float* other = first + s * distance;
        const float weight = std::exp(other[a.dv] - base);
        simd::add_scaled(first, other, a.dv, weight);
        sum += other[a.dv + 1] * weight;
    }
    first[a.dv] = most;
    first[a.dv + 1] = sum;
}

void run(const Task& task, const ggml_tensor& node) {
    const Attention a(node);
    auto* base = static_cast<char*>(task.workspace);
    auto* partials = reinterpret_cast<float*>(base);
    AttentionPiece piece(
        a, base + a.partials_bytes() + a.member_bytes() * static_cast<size_t>(task.ith));
    const int64_t piece_floats = a.block_rows * a.partial_floats();

    for_each_chunk(task, a.n_pieces(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            piece.compute(i);
            if (a.n_splits > 1) {
                keep(a, piece, partials + i * piece_floats);
                continue;
            }
            for (int64_t r = 0; r < piece.n_rows(); ++r) {
                finish(a, piece.group_index(), piece.first_row() + r, piece.out(r), piece.most(r),
                       piece.sum(r));
            }
        }
    });
    if (a.n_splits == 1) return;
    task.barrier();
    const Range share_of_rows = share(task, a.n_groups * a.rows);
    for (int64_t i = share_of_rows.begin; i < share_of_rows.end; ++i) {
        const int64_t group = i / a.rows, r = i % a.rows;
        const int64_t block = group * a.n_blocks + r / a.block_rows, in_block = r % a.block_rows;
        float* of_block = partials + block * a.n_splits * piece_floats;
        merge(a, of_block, in_block);
        const float* merged = of_block + in_block * a.partial_floats();
        finish(a, group, r, merged, merged[a.dv], merged[a.dv + 1]);
    }
}

}  // namespace

extern constinit const Kernel kFlashAttnExt{supports, run, workspace};

}  // namespace tenon::cpu
