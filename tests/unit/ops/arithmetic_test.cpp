// Nodes and errors of the builders in arithmetic.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::line_of;
using tenon::test::Maker;

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // ggml_add1

namespace {

TEST(OpsArithmetic, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_add(m.ctx, m.f32("a", 4, 3, 2), m.f32("b", 4, 1, 2)); },
         "ADD f32 [4,3,2,1] <a,b>"},
        {[](const Maker& m) { return ggml_add(m.ctx, m.f16("a", 4, 3), m.f32("b", 1)); },
         "ADD f16 [4,3,1,1] <a,b>"},
        {[](const Maker& m) { return ggml_add(m.ctx, m.transposed("a", 4, 3), m.f32("b", 4)); },
         "ADD f32 [4,3,1,1] <a,b>"},
        {[](const Maker& m) {
             return ggml_add_inplace(m.ctx, m.transposed("a", 4, 3), m.f32("b", 4));
         },
         "ADD f32 [4,3,1,1] <a,b> =base |12,4,48,48 'a (view)'"},
        {[](const Maker& m) {
             return ggml_add_cast(m.ctx, m("a", GGML_TYPE_Q4_0, 32, 2), m.f32("b", 32),
                                  GGML_TYPE_F32);
         },
         "ADD f32 [32,2,1,1] <a,b>"},
        {[](const Maker& m) {
             return ggml_add_id(m.ctx, m.f32("a", 4, 2, 5), m.f32("b", 4, 8), m.i32("i", 2, 5));
         },
         "ADD_ID f32 [4,2,5,1] <a,b,i>"},
        {[](const Maker& m) { return ggml_add1(m.ctx, m.padded("a", 4, 3), m.f32("b", 1)); },
         "ADD1 f32 [4,3,1,1] <a,b>"},
        {[](const Maker& m) { return ggml_add1_inplace(m.ctx, m.f32("a", 4), m.f32("b", 1)); },
         "ADD1 f32 [4,1,1,1] <a,b> =a 'a (view)'"},
        {[](const Maker& m) { return ggml_sub(m.ctx, m.f32("a", 4, 3), m.f32("b", 2, 1)); },
         "SUB f32 [4,3,1,1] <a,b>"},
        {[](const Maker& m) { return ggml_sub_inplace(m.ctx, m.f32("a", 4), m.f32("b", 4)); },
         "SUB f32 [4,1,1,1] <a,b> =a 'a (view)'"},
        {[](const Maker& m) { return ggml_mul(m.ctx, m.f32("a", 4, 3), m.f32("b", 4)); },
         "MUL f32 [4,3,1,1] <a,b>"},
        {[](const Maker& m) { return ggml_mul_inplace(m.ctx, m.f32("a", 4), m.f32("b", 4)); },
         "MUL f32 [4,1,1,1] <a,b> =a 'a (view)'"},
        {[](const Maker& m) { return ggml_div(m.ctx, m.f32("a", 4, 3), m.f32("b", 4)); },
         "DIV f32 [4,3,1,1] <a,b>"},
        {[](const Maker& m) { return ggml_div_inplace(m.ctx, m.f32("a", 4), m.f32("b", 4)); },
         "DIV f32 [4,1,1,1] <a,b> =a 'a (view)'"},
        {[](const Maker& m) {
             return ggml_acc(m.ctx, m.f32("a", 4, 3), m.f32("b", 2, 2), 16, 48, 48, 4);
         },
         "ACC f32 [4,3,1,1] <a,b> {16,48,48,4}"},
        {[](const Maker& m) {
             return ggml_acc_inplace(m.ctx, m.f32("a", 4, 3), m.f32("b", 2, 2), 16, 48, 48, 4);
         },
         "ACC f32 [4,3,1,1] <a,b> {16,48,48,4,1} =a 'a (view)'"},
        {[](const Maker& m) {
             return ggml_set(m.ctx, m.i32("a", 4, 3), m.i32("b", 2, 2), 16, 48, 48, 4);
         },
         "SET i32 [4,3,1,1] <a,b> {16,48,48,4}"},
        {[](const Maker& m) {
             return ggml_set_inplace(m.ctx, m.f32("a", 4, 3), m.f32("b", 2, 2), 16, 48, 48, 4);
         },
         "SET f32 [4,3,1,1] <a,b> {16,48,48,4,1} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_set_1d(m.ctx, m.f32("a", 4, 3), m.f32("b", 2), 8); },
         "SET f32 [4,3,1,1] <a,b> {16,48,48,8}"},
        {[](const Maker& m) {
             return ggml_set_1d_inplace(m.ctx, m.f32("a", 4, 3), m.f32("b", 2), 8);
         },
         "SET f32 [4,3,1,1] <a,b> {16,48,48,8,1} =a 'a (view)'"},
        {[](const Maker& m) {
             return ggml_set_2d(m.ctx, m.f32("a", 4, 3), m.f32("b", 2, 2), 32, 8);
         },
         "SET f32 [4,3,1,1] <a,b> {32,48,48,8}"},
        {[](const Maker& m) {
             return ggml_set_2d_inplace(m.ctx, m.f32("a", 4, 3), m.f32("b", 2, 2), 32, 8);
         },
         "SET f32 [4,3,1,1] <a,b> {32,48,48,8,1} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_scale(m.ctx, m.padded("a", 4, 3), 2.0f); },
         "SCALE f32 [4,3,1,1] <a> {2f}"},
        {[](const Maker& m) { return ggml_scale_inplace(m.ctx, m.f32("a", 4), 2.0f); },
         "SCALE f32 [4,1,1,1] <a> {2f} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_scale_bias(m.ctx, m.f32("a", 4), 2.0f, -1.0f); },
         "SCALE f32 [4,1,1,1] <a> {2f,-1f}"},
        {[](const Maker& m) { return ggml_scale_bias_inplace(m.ctx, m.f32("a", 4), 2.0f, 1.0f); },
         "SCALE f32 [4,1,1,1] <a> {2f,1f} =a 'a (view)'"},
        {[](const Maker& m) { return ggml_clamp(m.ctx, m.f16("a", 4), -1.0f, 0.5f); },
         "CLAMP f16 [4,1,1,1] <a> {-1f,0.5f}"},
        {[](const Maker& m) { return ggml_clamp_inplace(m.ctx, m.f32("a", 4), -1.0f, 0.5f); },
         "CLAMP f32 [4,1,1,1] <a> {-1f,0.5f} =a 'a (view)'"},
    });
}

TEST(OpsArithmetic, FunctionsOfOneTensorHaveTwoForms) {
    using Builder = ggml_tensor* (*)(ggml_context*, ggml_tensor*);
    const struct {
        Builder fresh, inplace;
        const char* op;
    } rows[] = {
        {ggml_sqr, ggml_sqr_inplace, "SQR"}, {ggml_sqrt, ggml_sqrt_inplace, "SQRT"},
        {ggml_log, ggml_log_inplace, "LOG"}, {ggml_sin, ggml_sin_inplace, "SIN"},
        {ggml_cos, ggml_cos_inplace, "COS"}, {ggml_dup, ggml_dup_inplace, "DUP"},
    };
    for (const auto& row : rows) {
        const Maker m;
        const std::string op = row.op;
        EXPECT_EQ(line_of(*row.fresh(m.ctx, m.f16("a", 4, 3))), op + " f16 [4,3,1,1] <a>");
        EXPECT_EQ(line_of(*row.inplace(m.ctx, m.f32("a", 4, 3))),
                  op + " f32 [4,3,1,1] <a> =a 'a (view)'");
    }
}

TEST(OpsArithmetic, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_add(m.ctx, m.f32("a", 4, 3), m.f32("b", 3)); },
         "ADD: src1 'b' of shape [3, 1, 1, 1] cannot be repeated to src0 'a' of shape "
         "[4, 3, 1, 1]"},
        {[](const Maker& m) { return ggml_mul_inplace(m.ctx, m.f32("", 4), m.f32("", 8)); },
         "MUL: src1 of shape [8, 1, 1, 1] cannot be repeated to src0 of shape [4, 1, 1, 1]"},
        {[](const Maker& m) { return ggml_sub(m.ctx, m.f32("a", 4), m.f32("b", 0)); },
         "SUB: src1 'b' of shape [0, 1, 1, 1] cannot be repeated to src0 'a' of shape "
         "[4, 1, 1, 1]"},
        {[](const Maker& m) {
             return ggml_add_cast(m.ctx, m.f32("a", 4), m.f32("b", 4), GGML_TYPE_F32);
         },
         "ADD: src0 is f32, must be quantized, f16 or bf16"},
        {[](const Maker& m) {
             return ggml_add_cast(m.ctx, m.f16("a", 4), m.f32("b", 1), GGML_TYPE_F32);
         },
         "ADD: src1 'b' has ne[0] = 1, src0 'a' has ne[0] = 4"},
        {[](const Maker& m) {
             return ggml_add_cast(m.ctx, m.f16("a", 4), m.f32("b", 4), static_cast<ggml_type>(4));
         },
         "ADD: tensor type 4 does not exist"},
        {[](const Maker& m) {
             return ggml_add_id(m.ctx, m.f32("a", 4, 2, 5), m.f32("b", 3, 8), m.i32("i", 2, 5));
         },
         "ADD_ID: src1 'b' has ne[0] = 3, src0 'a' has ne[0] = 4"},
        {[](const Maker& m) {
             return ggml_add_id(m.ctx, m.f32("a", 4, 2, 5), m.f32("b", 4, 8), m.i32("i", 1, 5));
         },
         "ADD_ID: src2 'i' has ne[0] = 1, src0 'a' has ne[1] = 2"},
        {[](const Maker& m) {
             return ggml_add_id(m.ctx, m.f32("a", 4, 2, 5), m.f32("b", 4, 8), m.i32("i", 2, 4));
         },
         "ADD_ID: src2 'i' has ne[1] = 4, src0 'a' has ne[2] = 5"},
        {[](const Maker& m) {
             return ggml_add_id(m.ctx, m.f32("a", 4, 2, 5), m.f32("b", 4, 8), m.f32("i", 2, 5));
         },
         "ADD_ID: src2 'i' is f32, must be i32"},
        {[](const Maker& m) { return ggml_add1(m.ctx, m.f32("a", 4), m.f32("b", 2)); },
         "ADD1: src1 'b' of shape [2, 1, 1, 1] has more than 0 dimensions"},
        {[](const Maker& m) { return ggml_add1(m.ctx, m.transposed("a", 4, 3), m.f32("b", 1)); },
         "ADD1: src0 'a' has nb[0] = 12, must be 4"},
        {[](const Maker& m) { return ggml_scale(m.ctx, m.gapped("a", 4, 3, 2), 1.0f); },
         "SCALE: src0 'a' does not have its rows at one distance: shape [4, 3, 2, 1], strides "
         "[4, 16, 96, 192]"},
        {[](const Maker& m) {
             return ggml_acc(m.ctx, m.f32("a", 4), m.f32("b", 5), 16, 16, 16, 0);
         },
         "ACC: src1 has 5 elements, src0 only 4"},
        {[](const Maker& m) {
             return ggml_acc(m.ctx, m.padded("a", 4, 3), m.f32("b", 4), 16, 16, 16, 0);
         },
         "ACC: src0 'a' is not contiguous: shape [4, 3, 1, 1], strides [4, 32, 96, 96]"},
        {[](const Maker& m) {
             return ggml_acc(m.ctx, m.f32("a", 4), m.f16("b", 4), 16, 16, 16, 0);
         },
         "ACC: src1 'b' is f16, must be f32"},
        {[](const Maker& m) {
             return ggml_set(m.ctx, m.f32("a", 4), m.f32("b", 4), 16, 16, size_t{1} << 31, 0);
         },
         "SET: nb3 is 2147483648, must be at most 2147483647"},
        {[](const Maker& m) {
             return ggml_set_1d(m.ctx, m.f32("a", 4), m.f32("b", 4), size_t{1} << 30);
         },
         "SET: offset is 1073741824, must be 0 to 1073741823"},
    });
}

}  // namespace
