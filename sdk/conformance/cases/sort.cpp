// Cases: orders of the elements of rows.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

// f32 rows are permutations: no two elements are equal. Halves hold fewer numbers, so they have
// ties, as do rows that are meant to.
Fill keys(ggml_type type, bool ties) {
    if (type != GGML_TYPE_F32) return between(-1, 1);
    return ties ? integers(-5, 6) : permutation();
}

void argsort_case(CaseList& list, ggml_type type, const Shape& ne, ggml_sort_order order,
                  bool ties) {
    list.add(
        {.op = "ARGSORT",
         .params = params("type", type, "ne", ne, "order", static_cast<int>(order), "ties", ties),
         .build = [=](GraphMaker& m) {
             return ggml_argsort(m.ctx, m.leaf(type, ne, keys(type, ties)), order);
         }});
}

void argsort_cases(CaseList& list) {
    for (const ggml_sort_order order : {GGML_SORT_ORDER_ASC, GGML_SORT_ORDER_DESC}) {
        for (const Shape& ne : {Shape{16, 10, 10, 10}, Shape{60, 10, 10, 10}, Shape{1023, 2, 1, 3},
                                Shape{1024, 2, 1, 3}, Shape{1025, 2, 1, 3}, Shape{1025, 256},
                                Shape{2047, 2, 1, 3}, Shape{2048, 2, 1, 3}, Shape{2049, 2, 1, 3},
                                Shape{2, 8, 8192}, Shape{2048, 512}, Shape{1}, Shape{0, 3}}) {
            argsort_case(list, GGML_TYPE_F32, ne, order, false);
        }
        for (int bits = 2; bits <= 20; ++bits) {
            for (const int64_t n : {(int64_t{1} << bits) - 1, int64_t{1} << bits})
                argsort_case(list, GGML_TYPE_F32, {n}, order, false);
        }
        // Long rows are the work of all members together.
        argsort_case(list, GGML_TYPE_F32, {70001, 2, 1, 2}, order, true);
        argsort_case(list, GGML_TYPE_F32, {40000, 9}, order, false);
        for (const Shape& ne : {Shape{17, 3}, Shape{513, 2}, Shape{4099}}) {
            for (const ggml_type type : kFloatTypes) argsort_case(list, type, ne, order, true);
        }
        list.add({.op = "ARGSORT",
                  .params = params("order", static_cast<int>(order)) + ",view",
                  .build = [=](GraphMaker& m) {
                      return ggml_argsort(m.ctx, m.inset(GGML_TYPE_F32, {130, 3, 2, 2}), order);
                  }});
    }
}

void top_k_case(CaseList& list, ggml_type type, const Shape& ne, int k, bool ties) {
    list.add({.op = "TOP_K",
              .params = params("type", type, "ne", ne, "k", k, "ties", ties),
              .build = [=](GraphMaker& m) {
                  return ggml_top_k(m.ctx, m.leaf(type, ne, keys(type, ties)), k);
              }});
}

void top_k_cases(CaseList& list) {
    const ggml_type f32 = GGML_TYPE_F32;
    for (int bits = 0; bits <= 19; ++bits) {
        for (const int k : {1, 2, 3, 7, 15, 100, 500, 1023, 9999}) {
            const int64_t n = int64_t{1} << bits;
            if (k > n) continue;
            top_k_case(list, f32, {n}, k, false);
            top_k_case(list, f32, {n + 11, 1, 2}, k, false);
        }
    }
    for (const Shape& ne :
         {Shape{16, 10, 10, 10}, Shape{60, 10, 10, 10}, Shape{1023, 2, 1, 3}, Shape{1024, 2, 1, 3},
          Shape{1025, 2, 1, 3}, Shape{2047, 2, 1, 3}, Shape{2048, 2, 1, 3}, Shape{2049, 2, 1, 3}}) {
        for (const int k : {1, 2, 3, 7, 15}) {
            for (const bool ties : {false, true}) top_k_case(list, f32, ne, k, ties);
        }
    }
    for (const ggml_type type : kFloatTypes) {
        for (const int k : {1, 8, 64}) top_k_case(list, type, {515, 3}, k, true);
    }
    for (const int k : {1, 40, 2000, 75000})
        top_k_case(list, f32, {300003, 2}, k, /*ties=*/k != 2000);
    top_k_case(list, f32, {9, 3}, 9, false);
    top_k_case(list, f32, {9, 3}, 0, false);
    list.add({.op = "TOP_K", .params = "view", .build = [](GraphMaker& m) {
                  return ggml_top_k(m.ctx, m.inset(GGML_TYPE_F32, {130, 3, 2, 2}), 7);
              }});
}

}  // namespace

void sort_cases(CaseList& list) {
    argsort_cases(list);
    top_k_cases(list);
}

}  // namespace tenon::conformance
