// Cases: windows of pictures and relative positions.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

void window_moves(CaseList& list) {
    for (const int window : {1, 2, 5, 14}) {
        for (const Shape& shape :
             {Shape{1, 1, 1}, Shape{8, 10, 10}, Shape{33, 7, 9}, Shape{64, 28, 15}}) {
            for (const bool inset : {false, true}) {
                list.add({.op = "WIN_PART",
                          .params = params("ne", shape, "w", window, "v", inset),
                          .build = [=](GraphMaker& m) {
                              return ggml_win_part(
                                  m.ctx, inset ? m.inset(GGML_TYPE_F32, shape) : m.f32(shape),
                                  window);
                          }});
                list.add({.op = "WIN_UNPART",
                          .params = params("ne", shape, "w", window, "v", inset),
                          .build = [=](GraphMaker& m) {
                              const int64_t across = (shape[1] + window - 1) / window;
                              const int64_t down = (shape[2] + window - 1) / window;
                              const Shape windows{shape[0], window, window, across * down};
                              return ggml_win_unpart(
                                  m.ctx, inset ? m.inset(GGML_TYPE_F32, windows) : m.f32(windows),
                                  static_cast<int>(shape[1]), static_cast<int>(shape[2]), window);
                          }});
            }
        }
    }
}

void relative_positions(CaseList& list) {
    for (const int n : {1, 2, 5, 14}) {
        for (const int64_t channels : {1, 3, 64, 65}) {
            for (const bool inset : {false, true}) {
                list.add({.op = "GET_REL_POS",
                          .params = params("n", n, "c", channels, "v", inset),
                          .build = [=](GraphMaker& m) {
                              const Shape table{channels, 2 * n - 1};
                              return ggml_get_rel_pos(m.ctx,
                                                      inset ? m.inset(GGML_TYPE_F16, table)
                                                            : m.leaf(GGML_TYPE_F16, table),
                                                      n, n);
                          }});
            }
        }
    }
    for (const ggml_type type : kFloatTypes) {
        for (const int64_t n : {1, 3, 16, 17}) {
            for (const Shape& queries : {Shape{1, 1, 1}, Shape{2, 2, 1}, Shape{5, 3, 4}}) {
                for (const bool inplace : {false, true}) {
                    list.add(
                        {.op = "ADD_REL_POS",
                         .params = params("type", type, "n", n, "q", queries, "inplace", inplace),
                         .build = [=](GraphMaker& m) {
                             const Shape positions{n, queries[0], queries[1], queries[2]};
                             ggml_tensor* a =
                                 m.leaf(type, {n * n, queries[0] * queries[1], queries[2]});
                             return (inplace ? ggml_add_rel_pos_inplace : ggml_add_rel_pos)(
                                 m.ctx, a, m.f32(positions), m.f32(positions));
                         }});
                }
            }
        }
    }
}

}  // namespace

void window_cases(CaseList& list) {
    window_moves(list);
    relative_positions(list);
}

}  // namespace tenon::conformance
