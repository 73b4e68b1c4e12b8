// Representative calls of every op: the questions that rt-info and the plugin kit ask devices. A
// call is a node over sources without data: types, a family of shapes, parameters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ggml.h"

namespace tenon {

// Makes the sources of one call.
struct CallMaker {
    ggml_context* ctx;
    ggml_type type;  // one of the row's types
    int sub_op;      // of UNARY and GLU

    ggml_tensor* of(ggml_type t, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1,
                    int64_t ne3 = 1) const {
        return ggml_new_tensor_4d(ctx, t, ne0, ne1, ne2, ne3);
    }
    ggml_tensor* typed(int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1, int64_t ne3 = 1) const {
        return of(type, ne0, ne1, ne2, ne3);
    }
    ggml_tensor* f32(int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1, int64_t ne3 = 1) const {
        return of(GGML_TYPE_F32, ne0, ne1, ne2, ne3);
    }
    ggml_tensor* f16(int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1, int64_t ne3 = 1) const {
        return of(GGML_TYPE_F16, ne0, ne1, ne2, ne3);
    }
    ggml_tensor* i32(int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1, int64_t ne3 = 1) const {
        return of(GGML_TYPE_I32, ne0, ne1, ne2, ne3);
    }
    // The first ne0 elements of rows that are twice as long.
    ggml_tensor* padded(int64_t ne0, int64_t ne1, int64_t ne2 = 1) const {
        ggml_tensor* base = typed(2 * ne0, ne1, ne2);
        if (base == nullptr) return nullptr;
        return ggml_view_3d(ctx, base, ne0, ne1, ne2, base->nb[1], base->nb[2], 0);
    }
    // Dimensions 1 and 2 exchanged, as heads and tokens are.
    ggml_tensor* permuted(int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3 = 1) const {
        return ggml_permute(ctx, typed(ne0, ne2, ne1, ne3), 0, 2, 1, 3);
    }
};

// One call per type of the set.
struct CallRow {
    ggml_op op;
    std::span<const ggml_type> types;
    const char* what;  // shape family and parameters: "matrix, 64 columns"
    ggml_tensor* (*make)(const CallMaker& m);
    uint32_t sub_ops = ~0u;  // bit set of the sub-ops that have the call
};

// Several tables as one.
template <size_t... n>
constexpr auto concat(const std::array<CallRow, n>&... parts) {
    std::array<CallRow, (n + ...)> all{};
    size_t i = 0;
    const auto append = [&](const auto& part) {
        for (const CallRow& row : part) all[i++] = row;
    };
    (append(parts), ...);
    return all;
}

extern const std::span<const CallRow> kElementwiseCalls;
extern const std::span<const CallRow> kLayoutCalls;
extern const std::span<const CallRow> kMatrixCalls;
extern const std::span<const CallRow> kConvCalls;
extern const std::span<const CallRow> kRecurrentCalls;

inline constexpr ggml_type kF32[] = {GGML_TYPE_F32};
inline constexpr ggml_type kFloats[] = {GGML_TYPE_F32, GGML_TYPE_F16};
inline constexpr ggml_type kAllFloats[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16};

// What weights may be stored as.
inline constexpr ggml_type kWeights[] = {
    GGML_TYPE_F32,     GGML_TYPE_F16,    GGML_TYPE_BF16,  GGML_TYPE_Q4_0,    GGML_TYPE_Q4_1,
    GGML_TYPE_Q5_0,    GGML_TYPE_Q5_1,   GGML_TYPE_Q8_0,  GGML_TYPE_Q2_K,    GGML_TYPE_Q3_K,
    GGML_TYPE_Q4_K,    GGML_TYPE_Q5_K,   GGML_TYPE_Q6_K,  GGML_TYPE_IQ1_S,   GGML_TYPE_IQ1_M,
    GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S,
    GGML_TYPE_IQ4_NL,  GGML_TYPE_IQ4_XS, GGML_TYPE_TQ1_0, GGML_TYPE_TQ2_0,   GGML_TYPE_MXFP4,
    GGML_TYPE_NVFP4,   GGML_TYPE_Q1_0,   GGML_TYPE_Q2_0};

// What rows of floats can be written as while a graph runs.
inline constexpr ggml_type kWritable[] = {
    GGML_TYPE_F32,   GGML_TYPE_F16,   GGML_TYPE_BF16,  GGML_TYPE_Q4_0,   GGML_TYPE_Q4_1,
    GGML_TYPE_Q5_0,  GGML_TYPE_Q5_1,  GGML_TYPE_Q8_0,  GGML_TYPE_Q2_K,   GGML_TYPE_Q3_K,
    GGML_TYPE_Q4_K,  GGML_TYPE_Q5_K,  GGML_TYPE_Q6_K,  GGML_TYPE_IQ4_NL, GGML_TYPE_IQ4_XS,
    GGML_TYPE_TQ1_0, GGML_TYPE_TQ2_0, GGML_TYPE_MXFP4, GGML_TYPE_NVFP4,  GGML_TYPE_Q1_0,
    GGML_TYPE_Q2_0};

// What caches of keys and values are stored as.
inline constexpr ggml_type kCaches[] = {GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_F32,
                                        GGML_TYPE_Q8_0, GGML_TYPE_Q5_1, GGML_TYPE_Q5_0,
                                        GGML_TYPE_Q4_1, GGML_TYPE_Q4_0, GGML_TYPE_IQ4_NL};

}  // namespace tenon
