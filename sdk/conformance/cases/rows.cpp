// Cases: rows by index.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

Fill row_fill(ggml_type type) { return usual(type); }

// ---- GET_ROWS ---------------------------------------------------------------------------------

struct Get {
    ggml_type type;
    int64_t n, m, r, be1 = 1, be2 = 1;
    bool v = false;           // ids: a view of half the length, one element in
    bool in_parent = false;   // rows: from row 3 of a tensor with more rows …
    int64_t offset_cols = 0;  // … and columns
};

void add_get(CaseList& list, const Get& c) {
    list.add({.op = "GET_ROWS",
              .params = params("type", c.type, "n", c.n, "m", c.m, "r", c.r, "be1", c.be1, "be2",
                               c.be2, "v", c.v, "vs0", c.in_parent, "offset_cols", c.offset_cols),
              .build = [=](GraphMaker& m) -> ggml_tensor* {
                  const Shape ne{c.n, c.m, c.be1, c.be2};
                  ggml_tensor* a;
                  if (c.in_parent) {
                      ggml_tensor* parent = m.leaf(
                          c.type, {c.n + c.offset_cols, c.m + 3, c.be1, c.be2}, row_fill(c.type));
                      if (!parent) return nullptr;
                      a = ggml_view_4d(m.ctx, parent, ne[0], ne[1], ne[2], ne[3], parent->nb[1],
                                       parent->nb[2], parent->nb[3],
                                       3 * parent->nb[1] + c.offset_cols * parent->nb[0]);
                  } else {
                      a = m.leaf(c.type, ne, row_fill(c.type));
                  }
                  ggml_tensor* ids =
                      m.leaf(GGML_TYPE_I32, {c.v ? c.r + 1 : c.r, c.be1, c.be2}, integers(0, c.m));
                  if (c.v) {
                      ids = ggml_view_3d(m.ctx, ids, c.r / 2, c.be1, c.be2, ids->nb[1], ids->nb[2],
                                         ids->nb[0]);
                  }
                  return ggml_get_rows(m.ctx, a, ids);
              }});
}

void get_rows_cases(CaseList& list) {
    std::vector<ggml_type> types = quantized_types();
    types.insert(types.end(), std::begin(kFloatTypes), std::end(kFloatTypes));
    types.push_back(GGML_TYPE_I32);
    for (const ggml_type type : types) {
        for (const int64_t batch : {1, 7}) {
            for (const bool v : {false, true}) {
                for (const bool in_parent : {false, true})
                    add_get(list, {type, 256, 5, 4, batch, 1, v, in_parent});
            }
        }
        add_get(list, {type, 768, 9, 3, 2, 3});
    }
    add_get(list, {GGML_TYPE_F32, 1, 8, 2});
    add_get(list, {GGML_TYPE_F32, 33, 8, 5, 2, 2, false, true, 3});
    add_get(list, {GGML_TYPE_F32, 256, 8, 2, 1, 1, false, true, 3});
    add_get(list, {GGML_TYPE_F16, 33, 8, 5, 2, 2, true, true, 5});
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q4_0}) {
        add_get(list, {type, 76800, 5, 4, 1, 2});
        add_get(list, {type, 256, 80000, 70000, 2, 1});
        add_get(list, {type, 256, 5, 4, 700, 100});
        if (ggml_blck_size(type) == 1) add_get(list, {type, 16, 80000, 70000});
    }
    list.add({.op = "GET_ROWS", .params = "ids=strided", .build = [](GraphMaker& m) {
                  ggml_tensor* a = m.f32({37, 6, 3, 2});
                  return ggml_get_rows(
                      m.ctx, a, m.permuted(GGML_TYPE_I32, {5, 3, 2}, {1, 0, 2, 3}, integers(0, 6)));
              }});
    list.add({.op = "GET_ROWS", .params = "ids=none", .build = [](GraphMaker& m) {
                  ggml_tensor* a = m.f32({37, 6});
                  return ggml_get_rows(m.ctx, a, m.leaf(GGML_TYPE_I32, {0}, integers(0, 6)));
              }});
}

// ---- GET_ROWS_BACK ----------------------------------------------------------------------------

// Gradients are floats; who takes other types must be right.
void get_rows_back_of_other_types(CaseList& list) {
    std::vector<ggml_type> types = quantized_types();
    types.push_back(GGML_TYPE_I32);
    for (const ggml_type type : types) {
        for (const bool v : {false, true}) {
            list.add({.op = "GET_ROWS_BACK",
                      .params = params("type", type, "n", 256, "m", 5, "r", 4, "v", v),
                      .optional = true,
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* ids = m.leaf(GGML_TYPE_I32, {4}, integers(0, 5));
                          if (v) ids = ggml_view_1d(m.ctx, ids, 2, ids->nb[0]);
                          ggml_tensor* g = m.leaf(type, {256, v ? 2 : 4}, usual(type));
                          return ggml_get_rows_back(m.ctx, g, ids, m.f32({256, 5}));
                      }});
        }
    }
}

void get_rows_back_cases(CaseList& list) {
    get_rows_back_of_other_types(list);
    struct Back {
        int64_t n, m, r;
        bool v;
    };
    for (const ggml_type type : kFloatTypes) {
        for (const Back& c : {Back{1, 8, 2, false}, Back{1, 70000, 4, false},
                              Back{256, 5, 4, false}, Back{256, 5, 4, true}, Back{33, 7, 50, false},
                              Back{33, 7, 0, false}, Back{5, 1, 1000, false}}) {
            list.add({.op = "GET_ROWS_BACK",
                      .params = params("type", type, "n", c.n, "m", c.m, "r", c.r, "v", c.v),
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* like = m.leaf(type, {c.n, c.m});
                          ggml_tensor* ids = m.leaf(GGML_TYPE_I32, {c.r}, integers(0, c.m));
                          if (c.v) ids = ggml_view_1d(m.ctx, ids, c.r / 2, ids->nb[0]);
                          return ggml_get_rows_back(m.ctx, m.leaf(type, {c.n, c.r}), ids, like);
                      }});
        }
        list.add(
            {.op = "GET_ROWS_BACK",
             .params = params("type", type) + ",view",
             .build = [=](GraphMaker& m) {
                 ggml_tensor* ids = m.leaf(GGML_TYPE_I32, {40}, integers(0, 9));
                 return ggml_get_rows_back(m.ctx, m.inset(type, {37, 40}), ids, m.f32({37, 9}));
             }});
    }
}

// ---- SET_ROWS ---------------------------------------------------------------------------------

// As for copies: values within half a step of a block's scale.
double set_limit(ggml_type from, ggml_type to, int64_t n) {
    double error = 1.0 / 8;
    switch (to) {
        case GGML_TYPE_Q2_0:
            if (from == GGML_TYPE_F16) error *= 4;
            break;
        case GGML_TYPE_Q4_0:
        case GGML_TYPE_Q4_1:
        case GGML_TYPE_IQ4_NL:
            break;
        case GGML_TYPE_Q5_0:
        case GGML_TYPE_Q5_1:
            error /= 2;
            break;
        case GGML_TYPE_Q8_0:
            error /= 8;
            break;
        default:
            return 1e-7;
    }
    return error * error * (from == GGML_TYPE_F16 ? 16 : 1) / (0.25 * static_cast<double>(n));
}

struct Set {
    ggml_type from, to, index;
    Shape ne;  // of the destination, but for the repeats in dimensions 2 and 3
    int64_t nr2, nr3, r;
    bool v;
};

void add_set(CaseList& list, const Set& c) {
    const Shape dst{c.ne[0], c.ne[1], c.ne[2] * c.nr2, c.ne[3] * c.nr3};
    list.add({.op = "SET_ROWS",
              .params = params("type_src", c.from, "type_dst", c.to, "type_idx", c.index, "ne",
                               c.ne, "nr2", c.nr2, "nr3", c.nr3, "r", c.r, "v", c.v),
              .max_nmse = set_limit(c.from, c.to, c.ne[0] * c.r * dst[2] * dst[3]),
              .optional = !is_writable(c.to),
              .build = [=](GraphMaker& m) -> ggml_tensor* {
                  ggml_tensor* into = m.leaf(c.to, dst, usual(c.to));
                  const Fill values = c.to == GGML_TYPE_I32 ? between(-1000, 1000) : between(-1, 1);
                  ggml_tensor* rows = m.leaf(c.from, {c.ne[0], c.r, dst[2], dst[3]}, values);
                  // No target twice: who wins is not defined.
                  ggml_tensor* ids = m.leaf(c.index, {c.ne[1], c.ne[2], c.ne[3]}, permutation());
                  if (!rows || !ids) return nullptr;
                  const int64_t r = c.v ? c.r / 2 : c.r, first = c.r - r;
                  ids = ggml_view_3d(m.ctx, ids, r, c.ne[2], c.ne[3], ids->nb[1], ids->nb[2],
                                     first * ids->nb[0]);
                  if (c.v) {
                      rows = ggml_view_4d(m.ctx, rows, c.ne[0], r, dst[2], dst[3], rows->nb[1],
                                          rows->nb[2], rows->nb[3], first * rows->nb[1]);
                  }
                  return ggml_set_rows(m.ctx, into, rows, ids);
              }});
}

void set_rows_of(CaseList& list, ggml_type from, ggml_type to) {
    constexpr ggml_type i64 = GGML_TYPE_I64, i32 = GGML_TYPE_I32;
    const int64_t block = ggml_blck_size(to);
    for (const bool v : {false, true}) {
        for (const int64_t r : {1, 2}) {
            if (v && r == 2 && !is_writable(to)) continue;
            add_set(list, {from, to, i64, {256, 5, 1, 3}, 1, 1, r, v});
            add_set(list, {from, to, i64, {256, 5, 7, 3}, 1, 1, r, v});
        }
        add_set(list, {from, to, i64, {256, 11, 1, 7}, 2, 3, 7, v});
        add_set(list, {from, to, i64, {256, 11}, 2, 3, 7, v});
        for (const int64_t more : {1, 7}) {
            add_set(list, {from, to, i64, {3 * block, 3, more}, 2, 3, 2, v});
            if (block > 1) continue;
            add_set(list, {from, to, i64, {31, 3, more}, 2, 3, 2, v});
            for (const int64_t r : {1, 2})
                add_set(list, {from, to, i64, {33, 5, 1, more}, 2, 3, r, v});
        }
    }
    add_set(list, {from, to, i32, {256, 5, 1, 3}, 1, 1, 1, false});
}

void set_rows_cases(CaseList& list) {
    std::vector<ggml_type> targets = quantized_types();
    targets.insert(targets.end(), std::begin(kFloatTypes), std::end(kFloatTypes));
    targets.push_back(GGML_TYPE_I32);
    for (const ggml_type from : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        for (const ggml_type to : targets) set_rows_of(list, from, to);
        for (const bool v : {false, true}) {
            for (const ggml_type index : {GGML_TYPE_I64, GGML_TYPE_I32}) {
                for (const ggml_type to : kFloatTypes)
                    add_set(list, {from, to, index, {1, 8, 1, 3}, 1, 1, 2, v});
            }
        }
    }
}

}  // namespace

void rows_cases(CaseList& list) {
    get_rows_cases(list);
    get_rows_back_cases(list);
    set_rows_cases(list);
}

}  // namespace tenon::conformance
