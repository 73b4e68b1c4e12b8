// MUL_MAT_ID: dst[m, e, t] = sum over k of as[k, m, ids[e, t]] * b[k, e mod r, t].
//
// Member 0 groups the results by expert while the others bring the rows of b into the form that
// the weight type multiplies with. Then every expert is a matrix product of its own columns: by
// panels (mul_mat_panels.cpp) when it has many, else cut into chunks of rows x columns like
// MUL_MAT's.

#include <algorithm>

#include "plugins/cpu/kernels/expert_groups.h"

namespace tenon::cpu {
namespace {

// The parts of the workspace: the plan, rows of b as tiles want them, strips and scratch of panels.
struct Places {
    size_t rows, strips, members, member_bytes;

    Places(const ggml_tensor& node, const MulMatOperands& operands) {
        const ggml_tensor& b = *node.src[1];
        const PanelWords words(node);
        rows = ExpertGroups::bytes(node);
        strips = rows;
        if (!operands.in_place) strips += operands.row_size * static_cast<size_t>(tenon_nrows(&b));
        const auto n_strips = static_cast<size_t>(ExpertGroups::most_strips(node));
        const size_t strip_bytes = words.strip_floats() * sizeof(float);
        members = strips + (n_strips * strip_bytes + 63) / 64 * 64;
        member_bytes = n_strips > 0 ? words.member_bytes(node) : 0;
    }
};

size_t workspace(const ggml_tensor& node, int n_threads) {
    const Places places(node, mul_mat_operands(*node.src[0], *node.src[1]));
    return places.members + places.member_bytes * static_cast<size_t>(n_threads);
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
    PanelWords words;
    const ExpertGroups& groups;
    const char* rows;  // of b, converted
    float* strips;
    float* own;  // this member's scratch

    const char* operand(ExpertColumn column) const {
        const ggml_tensor& b = *node.src[1];
        const int64_t i1 = column.used % b.ne[1];
        return operands.in_place ? row<const char>(b, i1, column.token)
                                 : rows + operands.row_size * (column.token * b.ne[1] + i1);
    }

    void by_tiles(int64_t chunk, int64_t row0, int64_t n_rows) const {
        const ggml_tensor& as = *node.src[0];
        const int64_t expert = groups.expert_of_chunk(chunk);
        const int64_t col0 =
            groups.first[expert] + (chunk - groups.first_chunk[expert]) * kMulMatCols;
        const int64_t n_cols = std::min(kMulMatCols, groups.first[expert + 1] - col0);
        const char* b_rows[kMulMatCols];
        float* dst[kMulMatCols];
        for (int64_t c = 0; c < n_cols; ++c) {
            const ExpertColumn column = groups.columns[col0 + c];
            b_rows[c] = operand(column);
            dst[c] = row<float>(node, column.used, column.token) + row0;
        }
        operands.tile(
            {as.ne[0], row<const char>(as, row0, expert), as.nb[1], n_rows, b_rows, dst, n_cols});
    }

    float* strip(int64_t index) const {
        return strips + words.strip_floats() * static_cast<size_t>(index);
    }
    void pack(const PanelSegment& segment, int64_t index) const {
        const ggml_tensor& b = *node.src[1];
        const int64_t first = index * kStripCols;
        const auto row_of = [&](int64_t c) {
            const ExpertColumn column = groups.columns[segment.col0 + first + c];
            return row<const void>(b, column.used % b.ne[1], column.token);
        };
        pack_columns(words, b, std::min(kStripCols, segment.n_cols - first), row_of,
                     strip(segment.strip + index), own);
    }
    void by_panels(const PanelSegment& segment, int64_t row0) const {
        const ggml_tensor& as = *node.src[0];
        const auto dst_of = [&](int64_t c) {
            const ExpertColumn column = groups.columns[segment.col0 + c];
            return row<float>(node, column.used, column.token);
        };
        multiply_band(words, as, row<const char>(as, 0, segment.expert), row0, strip(segment.strip),
                      segment.n_cols, dst_of, own);
    }
};

// Passes one after the other: all members pack its strips, then share its bands. Bands of all
// passes are numbered through, so one counter serves them all.
void run_panels(const Task& task, const Product& product) {
    const ExpertGroups& groups = product.groups;
    const int64_t n_bands = (product.node.src[0]->ne[1] + kBandRows - 1) / kBandRows;
    int64_t item = task.next_chunk(1), first = 0;
    for (int64_t pass = 0; pass < groups.n_passes(); ++pass) {
        const PanelSegment* begin = groups.segments + groups.first_segment[pass];
        const PanelSegment* end = groups.segments + groups.first_segment[pass + 1];
        if (pass > 0) task.barrier();  // nobody reads the strips of the last pass any more
        for (const PanelSegment* segment = begin; segment < end; ++segment) {
            for (int64_t i = 0; i < strips_of(segment->n_cols); ++i) {
                if ((segment->strip + i) % task.nth == task.ith) product.pack(*segment, i);
            }
        }
        task.barrier();
        const int64_t n_items = (end - begin) * n_bands;
        for (; item < first + n_items; item = task.next_chunk(1)) {
            product.by_panels(begin[(item - first) / n_bands],
                              (item - first) % n_bands * kBandRows);
        }
        first += n_items;
    }
}

void run_tiles(const Task& task, const Product& product) {
    const int64_t n_rows = product.node.src[0]->ne[1], col_chunks = product.groups.n_chunks();
    if (col_chunks == 0) return;
    const int64_t size = mul_mat_rows_per_chunk(task, n_rows, col_chunks);
    const int64_t row_chunks = (n_rows + size - 1) / size;
    for_each_chunk(task, col_chunks * row_chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t row0 = i % row_chunks * size;
            product.by_tiles(i / row_chunks, row0, std::min(size, n_rows - row0));
        }
    });
}

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& as = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const MulMatOperands operands = mul_mat_operands(as, b);
    const Places places(node, operands);
    auto* base = static_cast<char*>(task.workspace);
    const ExpertGroups groups(node, base);
    if (task.ith == 0) {
        if (const auto invalid = groups.fill(*node.src[2])) {
            task.fail_index("an expert id is out of range", *invalid, as.ne[2]);
        }
    }
    if (!operands.in_place) convert(task, b, operands, base + places.rows);
    task.barrier();

    char* own = base + places.members + places.member_bytes * static_cast<size_t>(task.ith);
    const Product product{node,
                          operands,
                          PanelWords(node),
                          groups,
                          base + places.rows,
                          reinterpret_cast<float*>(base + places.strips),
                          reinterpret_cast<float*>(own)};
    run_panels(task, product);
    run_tiles(task, product);
}

// Weights of experts that no token chose are not read.
}  // namespace

extern constinit const Kernel kMulMatId{supports_mul_mat, run, workspace};

}  // namespace tenon::cpu
