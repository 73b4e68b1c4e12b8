// Nodes and errors of the builders in custom.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::line_of;
using tenon::test::Maker;

namespace {

void custom1(ggml_tensor*, const ggml_tensor*, int, int, void*) {}
void custom2(ggml_tensor*, const ggml_tensor*, const ggml_tensor*, int, int, void*) {}
void custom3(ggml_tensor*, const ggml_tensor*, const ggml_tensor*, const ggml_tensor*, int, int,
             void*) {}
void custom(ggml_tensor*, int, int, void*) {}

// The line without the words, which hold addresses.
std::string line_without_params(const ggml_tensor& node) {
    ggml_tensor shown = node;
    std::memset(shown.op_params, 0, sizeof shown.op_params);
    return line_of(shown);
}

template <class T>
T at(const ggml_tensor& node, size_t byte) {
    T value;
    std::memcpy(&value, reinterpret_cast<const char*>(node.op_params) + byte, sizeof value);
    return value;
}

TEST(OpsCustom, NodesAreAsSpecified) {
    const Maker m;
    ggml_tensor *a = m.f16("a", 4, 3), *b = m.f32("b", 4), *c = m.f32("c", 1);
    ggml_tensor* args[] = {b, c};
    int userdata;
    const struct {
        ggml_tensor* node;
        const void* fun;
        const char* line;
    } rows[] = {
        {ggml_map_custom1(m.ctx, a, custom1, 3, &userdata), reinterpret_cast<void*>(custom1),
         "MAP_CUSTOM1 f16 [4,3,1,1] <a>"},
        {ggml_map_custom1_inplace(m.ctx, a, custom1, 3, &userdata),
         reinterpret_cast<void*>(custom1), "MAP_CUSTOM1 f16 [4,3,1,1] <a> =a 'a (view)'"},
        {ggml_map_custom2(m.ctx, a, b, custom2, 3, &userdata), reinterpret_cast<void*>(custom2),
         "MAP_CUSTOM2 f16 [4,3,1,1] <a,b>"},
        {ggml_map_custom2_inplace(m.ctx, a, b, custom2, 3, &userdata),
         reinterpret_cast<void*>(custom2), "MAP_CUSTOM2 f16 [4,3,1,1] <a,b> =a 'a (view)'"},
        {ggml_map_custom3(m.ctx, a, b, c, custom3, 3, &userdata), reinterpret_cast<void*>(custom3),
         "MAP_CUSTOM3 f16 [4,3,1,1] <a,b,c>"},
        {ggml_map_custom3_inplace(m.ctx, a, b, c, custom3, 3, &userdata),
         reinterpret_cast<void*>(custom3), "MAP_CUSTOM3 f16 [4,3,1,1] <a,b,c> =a 'a (view)'"},
        {ggml_custom_4d(m.ctx, GGML_TYPE_I32, 5, 4, 3, 2, args, 2, custom, 3, &userdata),
         reinterpret_cast<void*>(custom), "CUSTOM i32 [5,4,3,2] <b,c>"},
        {ggml_custom_4d(m.ctx, GGML_TYPE_I32, 5, 1, 1, 1, nullptr, 0, custom, 3, &userdata),
         reinterpret_cast<void*>(custom), "CUSTOM i32 [5,1,1,1]"},
        {ggml_custom_inplace(m.ctx, a, args, 2, custom, 3, &userdata),
         reinterpret_cast<void*>(custom), "CUSTOM f16 [4,3,1,1] <a,b,c> =a 'a (view)'"},
    };
    for (const auto& row : rows) {
        ASSERT_NE(row.node, nullptr) << row.line;
        EXPECT_EQ(line_without_params(*row.node), row.line);
        EXPECT_EQ(at<const void*>(*row.node, 0), row.fun) << row.line;
        EXPECT_EQ(at<int32_t>(*row.node, 8), 3) << row.line;
        EXPECT_EQ(at<int32_t>(*row.node, 12), 0) << row.line;
        EXPECT_EQ(at<const void*>(*row.node, 16), &userdata) << row.line;
    }
}

TEST(OpsCustom, TheNumberOfArgumentsIsLimited) {
    const Maker m;
    ggml_tensor* args[10];
    for (ggml_tensor*& arg : args) arg = m.f32("x", 4);
    EXPECT_NE(ggml_custom_4d(m.ctx, GGML_TYPE_F32, 4, 1, 1, 1, args, 9, custom, 1, nullptr),
              nullptr);
    EXPECT_NE(ggml_custom_inplace(m.ctx, args[9], args, 8, custom, 1, nullptr), nullptr);
    tenon_clear_error();
    EXPECT_EQ(ggml_custom_4d(m.ctx, GGML_TYPE_F32, 4, 1, 1, 1, args, 10, custom, 1, nullptr),
              nullptr);
    EXPECT_NE(std::strstr(tenon_last_error(), "CUSTOM: 10 arguments"), nullptr);
    EXPECT_EQ(ggml_custom_inplace(m.ctx, args[9], args, 9, custom, 1, nullptr), nullptr);
    EXPECT_NE(std::strstr(tenon_last_error(), "CUSTOM: 9 arguments"), nullptr);
    args[3] = nullptr;
    tenon_clear_error();
    EXPECT_EQ(ggml_custom_4d(m.ctx, GGML_TYPE_F32, 4, 1, 1, 1, args, 9, custom, 1, nullptr),
              nullptr);
    EXPECT_STREQ(tenon_last_error(), "");
}

TEST(OpsCustom, Errors) {
    expect_errors({
        {[](const Maker& m) { return ggml_map_custom1(m.ctx, m.f32("a", 4), nullptr, 1, nullptr); },
         "MAP_CUSTOM1: the function is NULL"},
        {[](const Maker& m) { return ggml_map_custom1(m.ctx, m.f32("a", 4), custom1, 0, nullptr); },
         "MAP_CUSTOM1: n_tasks is 0, must be above 0, or -1 for all threads"},
        {[](const Maker& m) {
             return ggml_custom_4d(m.ctx, GGML_TYPE_F32, 4, 1, 1, 1, nullptr, 0, custom, -2,
                                   nullptr);
         },
         "CUSTOM: n_tasks is -2, must be above 0, or -1 for all threads"},
        {[](const Maker& m) {
             return ggml_custom_4d(m.ctx, GGML_TYPE_F32, -4, 1, 1, 1, nullptr, 0, custom, 1,
                                   nullptr);
         },
         "CUSTOM: tensor of f32, shape [-4, 1, 1, 1]: an extent is negative"},
    });
}

}  // namespace
