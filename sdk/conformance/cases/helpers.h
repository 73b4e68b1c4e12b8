// What the files of cases share: texts of parameters, lists of types, leaves seen in other ways.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "sdk/conformance/suite.h"

namespace tenon::conformance {

// ---- "type=f32,ne=[64,5,4,3],eps=0.1" -----------------------------------------------------------

inline std::string text(ggml_type type) { return ggml_type_name(type); }
inline std::string text(bool value) { return value ? "1" : "0"; }
inline std::string text(int value) { return std::to_string(value); }
inline std::string text(int64_t value) { return std::to_string(value); }
inline std::string text(const char* value) { return value; }
inline std::string text(float value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", static_cast<double>(value));
    return digits;
}
inline std::string text(const int (&axes)[4]) {
    return text(Shape(axes[0], axes[1], axes[2], axes[3]));
}

// params("type", type, "ne", shape, …): names and values in turns.
inline std::string params() { return ""; }
template <class T, class... Rest>
std::string params(const char* name, const T& value, const Rest&... rest) {
    const std::string more = params(rest...);
    return std::string(name) + "=" + text(value) + (more.empty() ? "" : "," + more);
}

// ---- types ------------------------------------------------------------------------------------

inline constexpr ggml_type kFloatTypes[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16};

inline bool is_integer(ggml_type type) {
    return type == GGML_TYPE_I8 || type == GGML_TYPE_I16 || type == GGML_TYPE_I32 ||
           type == GGML_TYPE_I64;
}

// Quantised types that can be decoded.
inline std::vector<ggml_type> quantized_types() {
    std::vector<ggml_type> types;
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = static_cast<ggml_type>(i);
        if (ggml_is_quantized(type) && ggml_get_type_traits(type)->to_float) types.push_back(type);
    }
    return types;
}

// Whether devices write the type from f32 rows; those they do not take long to quantise, or need an
// importance matrix for it.
inline bool is_writable(ggml_type type) {
    constexpr ggml_type kReadOnly[] = {GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S,
                                       GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S,  GGML_TYPE_IQ1_S,
                                       GGML_TYPE_IQ1_M};
    return std::find(std::begin(kReadOnly), std::end(kReadOnly), type) == std::end(kReadOnly);
}
inline std::vector<ggml_type> writable_types() {
    std::vector<ggml_type> types;
    for (const ggml_type type : quantized_types()) {
        if (is_writable(type)) types.push_back(type);
    }
    return types;
}

// Values a type holds exactly, or -1 … 1.
inline Fill usual(ggml_type type) {
    return is_integer(type) ? integers(-100, 100) : between(-1, 1);
}

// Masks as they are used, f16: uniform, with blocks of 128 x 64 overwritten by -inf or 0.
Fill attention_mask();

// ---- leaves -----------------------------------------------------------------------------------

// The first corner of a leaf whose extents are `factors` times as large.
inline ggml_tensor* corner(GraphMaker& m, ggml_type type, const Shape& shape,
                           const int (&factors)[4], Fill fill = between(-1, 1)) {
    ggml_tensor* whole = m.leaf(type,
                                {shape[0] * factors[0], shape[1] * factors[1],
                                 shape[2] * factors[2], shape[3] * factors[3]},
                                std::move(fill));
    if (!whole) return nullptr;
    return ggml_view_4d(m.ctx, whole, shape[0], shape[1], shape[2], shape[3], whole->nb[1],
                        whole->nb[2], whole->nb[3], 0);
}

// A node that no builder makes: its result has another type. The device must judge it by its own
// rules.
inline ggml_tensor* retyped(ggml_tensor* node, ggml_type type) {
    if (!node) return nullptr;
    node->type = type;
    node->nb[0] = ggml_type_size(type);
    node->nb[1] = ggml_row_size(type, node->ne[0]);
    node->nb[2] = node->nb[1] * node->ne[1];
    node->nb[3] = node->nb[2] * node->ne[2];
    return node;
}

// ---- parts of families --------------------------------------------------------------------------

void copy_cases(CaseList&);        // DUP CPY CONT, part of layout_cases
void patch_cases(CaseList&);       // IM2COL and its kin, part of conv_cases
void mul_mat_id_cases(CaseList&);  // part of matmul_cases
void soft_max_cases(CaseList&);    // with SOFT_MAX_BACK, part of attention_cases
void rope_cases(CaseList&);        // with ROPE_BACK, part of attention_cases
void flash_attn_cases(CaseList&);  // FLASH_ATTN_EXT, part of attention_cases

}  // namespace tenon::conformance
