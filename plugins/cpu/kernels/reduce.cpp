// SUM SUM_ROWS CUMSUM MEAN: sums of all elements or of rows, added up in f64.
// ARGMAX: the index of the largest element of each row; of equal ones the last.
// COUNT_EQUAL: how many elements of src0 and src1 are equal.

#include <limits>
#include <utility>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The sum of n elements that lie `stride` bytes apart.
template <class T>
double sum_of_run(const T* x, size_t stride, int64_t n) {
    if (stride == sizeof(T)) return simd::sum(x, n);
    double total = 0;
    for (int64_t i = 0; i < n; ++i) {
        total += simd::to_f32(
            *reinterpret_cast<const T*>(reinterpret_cast<const char*>(x) + i * stride));
    }
    return total;
}

// ---- one number from all elements ---------------------------------------------------------------
//
// Rows, cut into pieces, are dealt out in parts that do not depend on the number of members. Each
// part leaves its total in the workspace, and those are added up in order.

constexpr int64_t kPieceElements = 16384, kMostParts = 512;

struct Parts {
    int64_t pieces_per_row, pieces, pieces_per_part, count;
};
Parts parts_of(const ggml_tensor& t) {
    Parts p{};
    p.pieces_per_row = (t.ne[0] + kPieceElements - 1) / kPieceElements;
    p.pieces = p.pieces_per_row * tenon_nrows(&t);
    // A part of short rows has several.
    const int64_t rows_worth = std::max<int64_t>(1, kPieceElements / std::max<int64_t>(t.ne[0], 1));
    p.pieces_per_part = std::max(rows_worth, (p.pieces + kMostParts - 1) / kMostParts);
    p.count = (p.pieces + p.pieces_per_part - 1) / p.pieces_per_part;
    return p;
}

size_t parts_workspace(const ggml_tensor& node, int) {
    return static_cast<size_t>(parts_of(*node.src[0]).count) * sizeof(int64_t);
}

// The total of fn(begin, end, i1, i2, i3) over all pieces of t's rows; every member gets it.
template <class Total, class Fn>
Total total_of_pieces(const Task& task, const ggml_tensor& t, Fn&& fn) {
    const Parts parts = parts_of(t);
    auto* totals = static_cast<Total*>(task.workspace);
    for_each_chunk(task, parts.count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
            Total total = 0;
            const int64_t first = part * parts.pieces_per_part;
            const int64_t last = std::min(first + parts.pieces_per_part, parts.pieces);
            for (int64_t i = first; i < last; ++i) {
                const int64_t r = i / parts.pieces_per_row;
                const int64_t at = i % parts.pieces_per_row * kPieceElements;
                total += fn(at, std::min(at + kPieceElements, t.ne[0]), r % t.ne[1],
                            r / t.ne[1] % t.ne[2], r / t.ne[1] / t.ne[2]);
            }
            totals[part] = total;
        }
    });
    task.barrier();
    Total total = 0;
    for (int64_t part = 0; part < parts.count; ++part) total += totals[part];
    return total;
}

Verdict supports_sum(const ggml_tensor& node) {
    if (!is_float_type(node.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    return yes();
}

// The same elements, dimension 0 the one in which they lie closest: their order does not matter.
ggml_tensor densest_first(const ggml_tensor& x) {
    ggml_tensor t = x;
    for (int k = 1; k < GGML_MAX_DIMS; ++k) {
        if (t.ne[k] > 1 && (t.ne[0] == 1 || t.nb[k] < t.nb[0])) {
            std::swap(t.ne[0], t.ne[k]);
            std::swap(t.nb[0], t.nb[k]);
        }
    }
    return t;
}

size_t sum_workspace(const ggml_tensor& node, int) {
    return static_cast<size_t>(parts_of(densest_first(*node.src[0])).count) * sizeof(double);
}

void run_sum(const Task& task, const ggml_tensor& node) {
    const ggml_tensor x = densest_first(*node.src[0]);
    with_float_type(x.type, [&]<class T>() {
        const double total = total_of_pieces<double>(
            task, x, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
                return sum_of_run(element<const T>(x, begin, i1, i2, i3), x.nb[0], end - begin);
            });
        if (task.ith == 0) simd::set_f32(static_cast<T*>(node.data), static_cast<float>(total));
    });
}

Verdict supports_count_equal(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    if (a.type != GGML_TYPE_I32 || b.type != GGML_TYPE_I32)
        return no(TENON_REASON_TYPE, "src0 and src1 must be i32");
    return yes();
}

void run_count_equal(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const ggml_tensor& b = *node.src[1];
    const int64_t total = total_of_pieces<int64_t>(
        task, a, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
            int64_t n = 0;
            for (int64_t i = begin; i < end; ++i) {
                n += *element<const int32_t>(a, i, i1, i2, i3) ==
                     *element<const int32_t>(b, i, i1, i2, i3);
            }
            return n;
        });
    if (task.ith == 0) *static_cast<int64_t*>(node.data) = total;
}

// ---- a number per row ---------------------------------------------------------------------------
//
// Long rows are summed piece by piece, and the totals of the pieces in order. Where rows are few,
// all members share their pieces, which changes nothing of that.

int64_t pieces_of_row(const ggml_tensor& x) {
    return (x.ne[0] + kPieceElements - 1) / kPieceElements;
}
constexpr int64_t kSharedFrom = 8;  // pieces; for less the members need not wait for each other

bool has_few_long_rows(const ggml_tensor& x, int n_threads) {
    return n_threads > 1 && pieces_of_row(x) >= kSharedFrom && tenon_nrows(&x) < 4 * n_threads;
}
bool shares_pieces(const Task& task, const ggml_tensor& x) {
    return task.window.units == 0 && has_few_long_rows(x, task.nth);
}

// A total per piece.
size_t pieces_workspace(const ggml_tensor& node, int n_threads) {
    const ggml_tensor& x = *node.src[0];
    if (!has_few_long_rows(x, n_threads)) return 0;
    return static_cast<size_t>(pieces_of_row(x) * tenon_nrows(&x)) * sizeof(double);
}

// Elements [begin, begin + n) of the i-th row of t are the p-th piece of it.
struct RowPiece {
    int64_t i1, i2, i3, begin, n;

    RowPiece(const ggml_tensor& t, int64_t i, int64_t p)
        : i1(i % t.ne[1]),
          i2(i / t.ne[1] % t.ne[2]),
          i3(i / t.ne[1] / t.ne[2]),
          begin(p * kPieceElements),
          n(std::min(kPieceElements, t.ne[0] - begin)) {}
};

template <class T>
double sum_of_piece(const ggml_tensor& x, const RowPiece& p) {
    return sum_of_run(element<const T>(x, p.begin, p.i1, p.i2, p.i3), x.nb[0], p.n);
}

// The totals of all pieces, by all members.
template <class T>
const double* sum_pieces(const Task& task, const ggml_tensor& x) {
    const int64_t pieces = pieces_of_row(x);
    auto* totals = static_cast<double*>(task.workspace);
    for_each_chunk(task, pieces * tenon_nrows(&x), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            totals[i] = sum_of_piece<T>(x, {x, i / pieces, i % pieces});
    });
    task.barrier();
    return totals;
}

Verdict supports_row_sums(const ggml_tensor& node) {
    if (!is_float_type(node.src[0]->type))
        return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    return yes();
}

// dst = finish(sum of the row), in dst's type.
template <class Finish>
void run_row_sums(const Task& task, const ggml_tensor& node, Finish finish) {
    const ggml_tensor& x = *node.src[0];
    const int64_t pieces = pieces_of_row(x);
    with_float_type(x.type, [&]<class T>() {
        const double* totals = shares_pieces(task, x) ? sum_pieces<T>(task, x) : nullptr;
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const int64_t i = i1 + x.ne[1] * (i2 + x.ne[2] * i3);
            double total = 0;
            for (int64_t p = 0; p < pieces; ++p)
                total += totals ? totals[i * pieces + p] : sum_of_piece<T>(x, {x, i, p});
            const float value = finish(static_cast<float>(total));
            if (node.type == GGML_TYPE_F32) {
                *row<float>(node, i1, i2, i3) = value;
            } else {
                simd::set_f32(row<T>(node, i1, i2, i3), value);
            }
        });
    });
}

void run_sum_rows(const Task& task, const ggml_tensor& node) {
    run_row_sums(task, node, [](float sum) { return sum; });
}
void run_mean(const Task& task, const ggml_tensor& node) {
    const float n = static_cast<float>(node.src[0]->ne[0]);
    run_row_sums(task, node, [=](float sum) { return sum / n; });  // NaN for empty rows
}

Verdict supports_argmax(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    if (!is_float_type(x.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(x)) return no(TENON_REASON_STRIDES, "src0 rows are not dense");
    return yes();
}

template <class T>
int32_t last_index_of_max(const T* x, int64_t n) {
    const float most = simd::max_of(x, n, -kInfinity);
    for (int64_t i = n - 1; i > 0; --i) {
        if (simd::to_f32(x[i]) == most) return static_cast<int32_t>(i);
    }
    return 0;
}

void run_argmax(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const Range rows = share(task, x.ne[1]);
    with_float_type(x.type, [&]<class T>() {
        for (int64_t i = rows.begin; i < rows.end; ++i) {
            *element<int32_t>(node, i, 0, 0, 0) = last_index_of_max(row<const T>(x, i), x.ne[0]);
        }
    });
}

// ---- running sums -------------------------------------------------------------------------------

Verdict supports_cumsum(const ggml_tensor& node) {
    if (!has_dense_rows(*node.src[0]) || !has_dense_rows(node))
        return no(TENON_REASON_STRIDES, "rows are not dense");
    return yes();
}

// dst[i] = before + x[0] + … + x[i] for lanes x lanes elements; returns the last sum. In a
// transposed square the sums inside rows are vectors; what stands before each row is added up in
// f64.
template <class T>
double cumulate_square(T* dst, const T* x, double before) {
    constexpr int kLanes = simd::f32::lanes;
    simd::f32 sums[kLanes];
    TENON_UNROLL
    for (int r = 0; r < kLanes; ++r) sums[r] = simd::load(x + r * kLanes);
    simd::transpose(sums);
    TENON_UNROLL
    for (int c = 1; c < kLanes; ++c) sums[c] = sums[c] + sums[c - 1];
    float totals[kLanes], starts[kLanes];
    simd::store(totals, sums[kLanes - 1]);
    for (int r = 0; r < kLanes; ++r) {
        starts[r] = static_cast<float>(before);
        before += totals[r];
    }
    const simd::f32 start = simd::load(starts);
    TENON_UNROLL
    for (int c = 0; c < kLanes; ++c) sums[c] = sums[c] + start;
    simd::transpose(sums);
    TENON_UNROLL
    for (int r = 0; r < kLanes; ++r) simd::store(dst + r * kLanes, sums[r]);
    return before;
}

// The same for n elements. Without squares, which four lanes are too few for, four at a time: from
// one group to the next there is a single addition to wait for.
template <class T>
void cumulate(T* dst, const T* x, int64_t n, double before) {
    constexpr int kSquare = simd::f32::lanes * simd::f32::lanes;
    int64_t i = 0;
    if constexpr (simd::f32::lanes > 4) {
        for (; i + kSquare <= n; i += kSquare) before = cumulate_square(dst + i, x + i, before);
    }
    for (; i + 4 <= n; i += 4) {
        const double s0 = simd::to_f32(x[i]), s1 = s0 + simd::to_f32(x[i + 1]);
        const double s2 = s1 + simd::to_f32(x[i + 2]), s3 = s2 + simd::to_f32(x[i + 3]);
        simd::set_f32(dst + i, static_cast<float>(before + s0));
        simd::set_f32(dst + i + 1, static_cast<float>(before + s1));
        simd::set_f32(dst + i + 2, static_cast<float>(before + s2));
        before += s3;
        simd::set_f32(dst + i + 3, static_cast<float>(before));
    }
    for (; i < n; ++i) simd::set_f32(dst + i, static_cast<float>(before += simd::to_f32(x[i])));
}

template <class T>
void cumulate_piece(const ggml_tensor& node, const RowPiece& p, double before) {
    cumulate(row<T>(node, p.i1, p.i2, p.i3) + p.begin,
             row<const T>(*node.src[0], p.i1, p.i2, p.i3) + p.begin, p.n, before);
}

// What stands before a piece is the sum of the totals of the pieces before it, in order. A piece is
// summed before dst, which may be x, is written.
template <class T>
void cumulate_rows(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const int64_t pieces = pieces_of_row(x);
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        const int64_t i = i1 + x.ne[1] * (i2 + x.ne[2] * i3);
        double before = 0;
        for (int64_t p = 0; p < pieces; ++p) {
            const RowPiece piece(x, i, p);
            const double total = p + 1 < pieces ? sum_of_piece<T>(x, piece) : 0;
            cumulate_piece<T>(node, piece, before);
            before += total;
        }
    });
}

template <class T>
void cumulate_shared_rows(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const int64_t pieces = pieces_of_row(x);
    const double* totals = sum_pieces<T>(task, x);
    const Range mine = share(task, pieces * tenon_nrows(&x));
    double before = 0;
    for (int64_t i = mine.begin / pieces * pieces; i < mine.end; ++i) {
        if (i % pieces == 0) before = 0;
        if (i >= mine.begin) cumulate_piece<T>(node, {x, i / pieces, i % pieces}, before);
        before += totals[i];
    }
}

void run_cumsum(const Task& task, const ggml_tensor& node) {
    const bool shared = shares_pieces(task, *node.src[0]);
    with_float_type(node.type, [&]<class T>() {
        shared ? cumulate_shared_rows<T>(task, node) : cumulate_rows<T>(task, node);
    });
}

}  // namespace

extern constinit const Kernel kSum{supports_sum, run_sum, sum_workspace};
extern constinit const Kernel kSumRows =
    Kernel{supports_row_sums, run_sum_rows, pieces_workspace}.by_rows();
extern constinit const Kernel kCumsum =
    Kernel{supports_cumsum, run_cumsum, pieces_workspace}.by_rows();
extern constinit const Kernel kMean =
    Kernel{supports_row_sums, run_mean, pieces_workspace}.by_rows();
extern constinit const Kernel kArgmax{supports_argmax, run_argmax};
extern constinit const Kernel kCountEqual{supports_count_equal, run_count_equal, parts_workspace};

}  // namespace tenon::cpu
