// Representative calls of the ops in views, layout, rows, pad, sort, custom and train.
#include <cstring>

#include "core/ops/op_calls.h"

namespace tenon {
namespace {

using M = const CallMaker&;

// Functions of an application: each copies its first source.
void copy_first(ggml_tensor* dst, const ggml_tensor* a, int ith) {
    if (ith == 0) std::memcpy(dst->data, a->data, ggml_nbytes(dst));
}
void map1(ggml_tensor* dst, const ggml_tensor* a, int ith, int, void*) { copy_first(dst, a, ith); }
void map2(ggml_tensor* dst, const ggml_tensor* a, const ggml_tensor*, int ith, int, void*) {
    copy_first(dst, a, ith);
}
void map3(ggml_tensor* dst, const ggml_tensor* a, const ggml_tensor*, const ggml_tensor*, int ith,
          int, void*) {
    copy_first(dst, a, ith);
}
void map_any(ggml_tensor* dst, int ith, int, void*) { copy_first(dst, dst->src[0], ith); }

ggml_tensor* parameter(M m, int64_t ne0, int64_t ne1) {
    ggml_tensor* w = m.typed(ne0, ne1);
    ggml_set_param(w);
    return w;
}

ggml_tensor* custom(M m) {
    ggml_tensor* args[] = {m.f32(256, 16), m.f32(256)};
    return ggml_custom_4d(m.ctx, GGML_TYPE_F32, 256, 16, 1, 1, args, 2, map_any, GGML_N_TASKS_MAX,
                          nullptr);
}

constexpr ggml_type kCopied[] = {GGML_TYPE_F32,  GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I8,
                                 GGML_TYPE_I16,  GGML_TYPE_I32, GGML_TYPE_I64,  GGML_TYPE_Q4_0,
                                 GGML_TYPE_Q8_0, GGML_TYPE_Q4_K};
constexpr ggml_type kConverted[] = {GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I32};
constexpr ggml_type kNarrow[] = {GGML_TYPE_F16, GGML_TYPE_BF16};
constexpr ggml_type kRepeated[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I32,
                                   GGML_TYPE_I16};
constexpr ggml_type kJoined[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_I32, GGML_TYPE_Q8_0};
constexpr ggml_type kGathered[] = {GGML_TYPE_I32};

constexpr std::array kRows{
    // views: never computed, but a device that holds the source must say yes
    CallRow{GGML_OP_RESHAPE, kAllFloats, "matrix",
            [](M m) { return ggml_reshape_3d(m.ctx, m.typed(1024, 64), 64, 16, 64); }},
    CallRow{GGML_OP_VIEW, kAllFloats, "left half", [](M m) { return m.padded(256, 16); }},
    CallRow{GGML_OP_PERMUTE, kAllFloats, "heads and tokens",
            [](M m) { return m.permuted(64, 16, 8); }},
    CallRow{GGML_OP_TRANSPOSE, kAllFloats, "matrix",
            [](M m) { return ggml_transpose(m.ctx, m.typed(1024, 64)); }},

    // layout
    CallRow{GGML_OP_DUP, kCopied, "matrix", [](M m) { return ggml_dup(m.ctx, m.typed(256, 16)); }},
    CallRow{GGML_OP_CPY, kWritable, "from f32, matrix",
            [](M m) { return ggml_cpy(m.ctx, m.f32(256, 64), m.typed(256, 64)); }},
    CallRow{GGML_OP_CPY, kWeights, "to f32, matrix",
            [](M m) { return ggml_cpy(m.ctx, m.typed(256, 64), m.f32(256, 64)); }},
    CallRow{GGML_OP_CPY, kConverted, "from i32 or half to f32, permuted",
            [](M m) { return ggml_cpy(m.ctx, m.permuted(64, 16, 8), m.f32(64, 16, 8)); }},
    CallRow{GGML_OP_CPY, kNarrow, "from f16, transposed",
            [](M m) {
                return ggml_cpy(m.ctx, ggml_transpose(m.ctx, m.f16(64, 256)), m.typed(256, 64));
            }},
    CallRow{GGML_OP_CPY, kF32, "to i32, matrix",
            [](M m) { return ggml_cpy(m.ctx, m.f32(256, 64), m.i32(256, 64)); }},
    CallRow{GGML_OP_CONT, kAllFloats, "transposed",
            [](M m) { return ggml_cont(m.ctx, ggml_transpose(m.ctx, m.typed(256, 64))); }},
    CallRow{GGML_OP_CONT, kCopied, "heads and tokens exchanged",
            [](M m) { return ggml_cont(m.ctx, m.permuted(256, 16, 8)); }},
    CallRow{GGML_OP_REPEAT, kRepeated, "along every dimension",
            [](M m) { return ggml_repeat_4d(m.ctx, m.typed(64, 8, 4), 128, 16, 8, 2); }},
    CallRow{GGML_OP_REPEAT_BACK, kAllFloats, "along every dimension",
            [](M m) { return ggml_repeat_back(m.ctx, m.typed(128, 16, 8, 2), m.typed(64, 8, 4)); }},
    CallRow{GGML_OP_CONCAT, kJoined, "along rows",
            [](M m) { return ggml_concat(m.ctx, m.typed(256, 16), m.typed(64, 16), 0); }},
    CallRow{GGML_OP_CONCAT, kJoined, "along dimension 2",
            [](M m) { return ggml_concat(m.ctx, m.typed(256, 16, 2), m.typed(256, 16, 3), 2); }},

    // rows
    CallRow{GGML_OP_GET_ROWS, kWeights, "32 of 256 rows",
            [](M m) { return ggml_get_rows(m.ctx, m.typed(512, 256), m.i32(32)); }},
    CallRow{GGML_OP_GET_ROWS, kGathered, "32 of 256 rows",
            [](M m) { return ggml_get_rows(m.ctx, m.typed(512, 256), m.i32(32)); }},
    CallRow{GGML_OP_GET_ROWS, kAllFloats, "batch",
            [](M m) { return ggml_get_rows(m.ctx, m.typed(64, 32, 7), m.i32(4, 7)); }},
    CallRow{GGML_OP_GET_ROWS_BACK, kAllFloats, "32 of 256 rows",
            [](M m) {
                return ggml_get_rows_back(m.ctx, m.typed(512, 32), m.i32(32), m.f32(512, 256));
            }},
    CallRow{GGML_OP_SET_ROWS, kWritable, "32 of 256 rows, i64 ids",
            [](M m) {
                return ggml_set_rows(m.ctx, m.typed(512, 256), m.f32(512, 32),
                                     m.of(GGML_TYPE_I64, 32));
            }},
    CallRow{GGML_OP_SET_ROWS, kFloats, "rows of f16, i32 ids",
            [](M m) { return ggml_set_rows(m.ctx, m.typed(512, 256), m.f16(512, 32), m.i32(32)); }},
    CallRow{GGML_OP_SET_ROWS, kFloats, "batch that shares ids",
            [](M m) {
                return ggml_set_rows(m.ctx, m.typed(64, 32, 6), m.f32(64, 8, 6),
                                     m.of(GGML_TYPE_I64, 8, 2));
            }},

    // pad
    CallRow{GGML_OP_PAD, kAllFloats, "right",
            [](M m) { return ggml_pad(m.ctx, m.typed(60, 30, 4), 4, 2, 0, 0); }},
    CallRow{GGML_OP_PAD, kAllFloats, "both sides",
            [](M m) { return ggml_pad_ext(m.ctx, m.typed(60, 30, 4), 1, 3, 2, 1, 1, 0, 0, 1); }},
    CallRow{GGML_OP_PAD, kAllFloats, "circular",
            [](M m) {
                return ggml_pad_ext_circular(m.ctx, m.typed(60, 30, 4), 1, 3, 2, 1, 0, 0, 0, 0);
            }},
    CallRow{GGML_OP_PAD_REFLECT_1D, kF32, "10 and 9",
            [](M m) { return ggml_pad_reflect_1d(m.ctx, m.f32(512, 34), 10, 9); }},
    CallRow{GGML_OP_ROLL, kAllFloats, "all dimensions",
            [](M m) { return ggml_roll(m.ctx, m.typed(64, 16, 4, 3), 3, -2, 1, -1); }},

    // sort
    CallRow{GGML_OP_ARGSORT, kAllFloats, "ascending, 1024",
            [](M m) { return ggml_argsort(m.ctx, m.typed(1024, 16), GGML_SORT_ORDER_ASC); }},
    CallRow{GGML_OP_ARGSORT, kAllFloats, "descending, 60",
            [](M m) { return ggml_argsort(m.ctx, m.typed(60, 16), GGML_SORT_ORDER_DESC); }},
    CallRow{GGML_OP_ARGSORT, kAllFloats, "descending, a vocabulary",
            [](M m) { return ggml_argsort(m.ctx, m.typed(32000), GGML_SORT_ORDER_DESC); }},
    CallRow{GGML_OP_TOP_K, kAllFloats, "8 of 128",
            [](M m) { return ggml_top_k(m.ctx, m.typed(128, 16), 8); }},
    CallRow{GGML_OP_TOP_K, kAllFloats, "40 of a vocabulary",
            [](M m) { return ggml_top_k(m.ctx, m.typed(32000), 40); }},
    CallRow{GGML_OP_TOP_K, kAllFloats, "2000 of a vocabulary",
            [](M m) { return ggml_top_k(m.ctx, m.typed(32000), 2000); }},

    // custom
    CallRow{GGML_OP_MAP_CUSTOM1, kF32, "matrix",
            [](M m) { return ggml_map_custom1(m.ctx, m.f32(256, 16), map1, 1, nullptr); }},
    CallRow{
        GGML_OP_MAP_CUSTOM2, kF32, "matrix",
        [](M m) { return ggml_map_custom2(m.ctx, m.f32(256, 16), m.f32(256), map2, 1, nullptr); }},
    CallRow{GGML_OP_MAP_CUSTOM3, kF32, "matrix",
            [](M m) {
                return ggml_map_custom3(m.ctx, m.f32(256, 16), m.f32(256), m.f32(1), map3, 1,
                                        nullptr);
            }},
    CallRow{GGML_OP_CUSTOM, kF32, "matrix", custom},

    // train
    CallRow{GGML_OP_CROSS_ENTROPY_LOSS, kAllFloats, "10 classes",
            [](M m) { return ggml_cross_entropy_loss(m.ctx, m.typed(10, 512), m.typed(10, 512)); }},
    CallRow{GGML_OP_CROSS_ENTROPY_LOSS, kAllFloats, "a vocabulary",
            [](M m) { return ggml_cross_entropy_loss(m.ctx, m.typed(32000), m.typed(32000)); }},
    CallRow{GGML_OP_CROSS_ENTROPY_LOSS_BACK, kAllFloats, "10 classes",
            [](M m) {
                return ggml_cross_entropy_loss_back(m.ctx, m.typed(1), m.typed(10, 512),
                                                    m.typed(10, 512));
            }},
    CallRow{GGML_OP_OPT_STEP_ADAMW, kAllFloats, "matrix",
            [](M m) {
                return ggml_opt_step_adamw(m.ctx, parameter(m, 256, 16), m.typed(256, 16),
                                           m.typed(256, 16), m.typed(256, 16), m.f32(7));
            }},
    CallRow{GGML_OP_OPT_STEP_SGD, kAllFloats, "matrix",
            [](M m) {
                return ggml_opt_step_sgd(m.ctx, parameter(m, 256, 16), m.typed(256, 16), m.f32(2));
            }},
};

}  // namespace

constinit const std::span<const CallRow> kLayoutCalls = kRows;

}  // namespace tenon
