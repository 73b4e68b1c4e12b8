// Cases: tensors of more than 2^31 bytes, as operand and as result. Their values repeat, and only
// the first rows and those beyond 2^31 bytes are compared: what a case needs is 13 GB of memory for
// the oracle's doubles, not time.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

constexpr int64_t kWidth = 1024, kPeriod = 64;
constexpr int64_t kRows =
    (int64_t{1} << 31) / (kWidth * static_cast<int64_t>(sizeof(float))) + kPeriod;
constexpr int64_t kSeen = 2 * kPeriod;  // rows at the end, half of them beyond 2^31 bytes

// kPeriod rows of numbers, over and over.
ggml_tensor* huge(GraphMaker& m) {
    return ggml_repeat_4d(m.ctx, m.f32({kWidth, kPeriod}), kWidth, kRows, 1, 1);
}

// The first and the last rows of a matrix.
ggml_tensor* ends_of(GraphMaker& m, ggml_tensor* t) {
    if (!t) return nullptr;
    const auto rows = [&](int64_t first, int64_t n) {
        return ggml_cont(m.ctx, ggml_view_2d(m.ctx, t, t->ne[0], n, t->nb[1],
                                             static_cast<size_t>(first) * t->nb[1]));
    };
    m.output(rows(0, 3));
    return rows(t->ne[1] - kSeen, kSeen);
}

void add(CaseList& list, const char* op, std::function<ggml_tensor*(GraphMaker&)> build,
         double max_nmse = 1e-7) {
    list.add({.op = op,
              .params = "bytes=2^31+" + text((kPeriod * kWidth) * 4),
              .max_nmse = max_nmse,
              .build = std::move(build)});
}

// Every row on its own, from a huge operand to a huge result.
void row_by_row(CaseList& list) {
    const auto add_map = [&](const char* op, auto map) {
        add(list, op, [=](GraphMaker& m) { return ends_of(m, map(m, huge(m))); });
    };
    add_map("REPEAT", [](GraphMaker&, ggml_tensor* x) { return x; });
    add_map("ADD", [](GraphMaker& m, ggml_tensor* x) {
        return ggml_add(m.ctx, x, m.f32({kWidth, kPeriod}));
    });
    add_map("SCALE", [](GraphMaker& m, ggml_tensor* x) { return ggml_scale_inplace(m.ctx, x, 2); });
    add_map("UNARY:SILU",
            [](GraphMaker& m, ggml_tensor* x) { return ggml_silu_inplace(m.ctx, x); });
    add_map("RMS_NORM",
            [](GraphMaker& m, ggml_tensor* x) { return ggml_rms_norm_inplace(m.ctx, x, 1e-6f); });
    add_map("SOFT_MAX",
            [](GraphMaker& m, ggml_tensor* x) { return ggml_soft_max_inplace(m.ctx, x); });
    add_map("CPY",
            [](GraphMaker& m, ggml_tensor* x) { return ggml_cast(m.ctx, x, GGML_TYPE_F16); });
    add_map("ROPE", [](GraphMaker& m, ggml_tensor* x) {
        ggml_tensor* heads = ggml_reshape_3d(m.ctx, x, kWidth, 1, kRows);
        ggml_tensor* pos = m.leaf(GGML_TYPE_I32, {kRows}, integers(0, 256));
        return ggml_reshape_2d(m.ctx, ggml_rope_inplace(m.ctx, heads, pos, 64, 0), kWidth, kRows);
    });
    add_map("SUM_ROWS", [](GraphMaker& m, ggml_tensor* x) { return ggml_sum_rows(m.ctx, x); });
}

// A huge operand that is read, or written to, in some places.
void parts(CaseList& list) {
    add(list, "GET_ROWS", [](GraphMaker& m) {
        ggml_tensor* ids = m.leaf(GGML_TYPE_I32, {37}, integers(kRows - kSeen, kRows));
        return ggml_get_rows(m.ctx, huge(m), ids);
    });
    add(list, "SET_ROWS", [](GraphMaker& m) {
        ggml_tensor* rows = m.f32({kWidth, kSeen});
        ggml_tensor* ids = m.leaf(GGML_TYPE_I64, {kSeen}, [](const ggml_tensor& leaf, Random&) {
            auto* p = static_cast<int64_t*>(leaf.data);
            for (int64_t i = 0; i < kSeen; ++i) p[i] = i % 2 ? i : kRows - 1 - i;
        });
        return ends_of(m, ggml_set_rows(m.ctx, huge(m), rows, ids));
    });
    add(list, "CONT", [](GraphMaker& m) {
        ggml_tensor* x = huge(m);
        ggml_tensor* far = ggml_view_2d(m.ctx, x, kWidth, kSeen, x->nb[1],
                                        static_cast<size_t>(kRows - kSeen) * x->nb[1]);
        return ggml_cont(m.ctx, ggml_transpose(m.ctx, far));
    });
    add(
        list, "MUL_MAT",
        [](GraphMaker& m) {
            return ggml_mul_mat(m.ctx, huge(m), m.f32({kWidth, 3}));
        },
        5e-4);
    add(list, "CONCAT", [](GraphMaker& m) {
        return ends_of(m, ggml_concat(m.ctx, huge(m), m.f32({kWidth, kSeen}), 1));
    });
    add(list, "IM2COL", [](GraphMaker& m) {
        // 32 x 32 patches, one at every pixel of 725 x 725
        ggml_tensor* d = ggml_im2col(m.ctx, m.f32({32, 32, 1, 1}), m.f32({756, 756, 1, 1}), 1, 1, 0,
                                     0, 1, 1, true, GGML_TYPE_F32);
        return ends_of(m, ggml_reshape_2d(m.ctx, d, d->ne[0], d->ne[1] * d->ne[2]));
    });
}

}  // namespace

void huge_cases(CaseList& list) {
    row_by_row(list);
    parts(list);
}

}  // namespace tenon::conformance
