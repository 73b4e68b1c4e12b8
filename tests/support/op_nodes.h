// Tables of builder calls: what node each makes, or which error. A node is written as one line, so
// that a row of a table says all about it:
//   SOFT_MAX f32 [4,3,1,1] <a,mask> {0.5f,8f} =a 'a (view)'
// op, type, shape, sources ('-' for none), parameter words without trailing zeros ("1f" is the
// float 1, "1" the integer), '=a' for a view of a, '|16,4' the first strides when it is not
// contiguous, and the name when there is one.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ggml.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"

namespace tenon::test {

// Makes named source tensors in a context without data.
struct Maker {
    ggml_context_ptr arena = make_arena(size_t{1} << 20, /*no_alloc=*/true);
    ggml_context* ctx = arena.get();

    ggml_tensor* operator()(const char* name, ggml_type type, int64_t ne0, int64_t ne1 = 1,
                            int64_t ne2 = 1, int64_t ne3 = 1) const {
        return ggml_set_name(ggml_new_tensor_4d(ctx, type, ne0, ne1, ne2, ne3), name);
    }
    ggml_tensor* f32(const char* name, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1,
                     int64_t ne3 = 1) const {
        return (*this)(name, GGML_TYPE_F32, ne0, ne1, ne2, ne3);
    }
    ggml_tensor* f16(const char* name, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1,
                     int64_t ne3 = 1) const {
        return (*this)(name, GGML_TYPE_F16, ne0, ne1, ne2, ne3);
    }
    ggml_tensor* i32(const char* name, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1,
                     int64_t ne3 = 1) const {
        return (*this)(name, GGML_TYPE_I32, ne0, ne1, ne2, ne3);
    }
    // Dimensions 0 and 1 exchanged: a is [ne1, ne0] in memory.
    ggml_tensor* transposed(const char* name, int64_t ne0, int64_t ne1) const {
        return ggml_set_name(ggml_transpose(ctx, f32("base", ne1, ne0)), name);
    }
    // Every second element of rows.
    ggml_tensor* sparse(const char* name, int64_t ne0, int64_t ne1 = 1) const {
        ggml_tensor* t = ggml_view_2d(ctx, f32("base", 2 * ne0, ne1), ne0, ne1,
                                      static_cast<size_t>(2 * ne0) * 4, 0);
        t->nb[0] = 8;
        return ggml_set_name(t, name);
    }
    // Rows at twice their length, as in the left half of a matrix.
    ggml_tensor* padded(const char* name, int64_t ne0, int64_t ne1, int64_t ne2 = 1) const {
        ggml_tensor* base = f32("base", 2 * ne0, ne1, ne2);
        return ggml_set_name(ggml_view_3d(ctx, base, ne0, ne1, ne2, base->nb[1], base->nb[2], 0),
                             name);
    }
    // Columns [0, ne0) of planes twice as high: dimension 2 does not follow from dimension 1.
    ggml_tensor* gapped(const char* name, int64_t ne0, int64_t ne1, int64_t ne2) const {
        ggml_tensor* base = f32("base", ne0, 2 * ne1, ne2);
        return ggml_set_name(ggml_view_3d(ctx, base, ne0, ne1, ne2, base->nb[1], base->nb[2], 0),
                             name);
    }
};

inline std::string word(int32_t bits) {
    char text[32];
    if (std::abs(static_cast<int64_t>(bits)) < (1 << 20)) {
        std::snprintf(text, sizeof text, "%d", bits);
    } else {
        float value;
        std::memcpy(&value, &bits, sizeof value);
        std::snprintf(text, sizeof text, "%.6gf", static_cast<double>(value));
    }
    return text;
}

inline std::string line_of(const ggml_tensor& node) {
    std::string line = std::string(ggml_op_name(node.op)) + " " + ggml_type_name(node.type) + " [";
    for (int k = 0; k < GGML_MAX_DIMS; k++) {
        line += (k == 0 ? "" : ",") + std::to_string(node.ne[k]);
    }
    line += "]";
    int n_src = GGML_MAX_SRC;
    while (n_src > 0 && node.src[n_src - 1] == nullptr) n_src--;
    for (int i = 0; i < n_src; i++) {
        line += i == 0 ? " <" : ",";
        line += node.src[i] == nullptr ? "-" : node.src[i] == &node ? "itself" : node.src[i]->name;
    }
    if (n_src > 0) line += ">";
    int n_words = GGML_MAX_OP_PARAMS / 4;
    while (n_words > 0 && node.op_params[n_words - 1] == 0) n_words--;
    for (int i = 0; i < n_words; i++) line += (i == 0 ? " {" : ",") + word(node.op_params[i]);
    if (n_words > 0) line += "}";
    if (node.view_src != nullptr) {
        line += std::string(" =") + node.view_src->name;
        if (node.view_offs != 0) line += "+" + std::to_string(node.view_offs);
    }
    if (!ggml_is_contiguous(&node)) {
        for (int k = 0; k < GGML_MAX_DIMS; k++) {
            line += (k == 0 ? " |" : ",") + std::to_string(node.nb[k]);
        }
    }
    if (node.name[0] != '\0') line += std::string(" '") + node.name + "'";
    return line;
}

struct NodeCase {
    ggml_tensor* (*build)(const Maker& m);
    const char* line;
};

inline void expect_nodes(const std::vector<NodeCase>& cases) {
    for (const NodeCase& c : cases) {
        const Maker m;
        tenon_clear_error();
        const ggml_tensor* node = c.build(m);
        if (node == nullptr) {
            ADD_FAILURE() << "no node " << c.line << ": " << tenon_last_error();
        } else {
            EXPECT_EQ(line_of(*node), c.line);
            EXPECT_EQ(node->flags, 0) << c.line;
        }
    }
}

struct ErrorCase {
    ggml_tensor* (*build)(const Maker& m);
    const char* text;
};

// Each call gives NULL and exactly this message.
inline void expect_errors(const std::vector<ErrorCase>& cases) {
    for (const ErrorCase& c : cases) {
        const Maker m;
        tenon_clear_error();
        EXPECT_EQ(c.build(m), nullptr) << c.text;
        EXPECT_STREQ(tenon_last_error(), c.text);
    }
}

}  // namespace tenon::test
