// The op table: names, symbols, traits; and its shape rules against every recorded graph.

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "core/ops/build.h"
#include "core/ops/op_table.h"
#include "ggml.h"
#include "tests/conformance/golden.h"
#include "tests/support/op_nodes.h"

using namespace tenon;

namespace {

TEST(OpTable, NamesAreThoseOfTheEnumeration) {
    EXPECT_STREQ(ggml_op_name(GGML_OP_NONE), "NONE");
    EXPECT_STREQ(ggml_op_name(GGML_OP_MUL_MAT), "MUL_MAT");
    EXPECT_STREQ(ggml_op_name(GGML_OP_GLU), "GLU");
    EXPECT_STREQ(ggml_op_name(GGML_OP_COUNT), "unknown");
    EXPECT_STREQ(ggml_op_name(static_cast<ggml_op>(-1)), "unknown");
    EXPECT_STREQ(ggml_unary_op_name(GGML_UNARY_OP_TRUNC), "TRUNC");
    EXPECT_STREQ(ggml_unary_op_name(GGML_UNARY_OP_COUNT), "unknown");
    EXPECT_STREQ(ggml_glu_op_name(GGML_GLU_OP_SWIGLU_CLAMP), "SWIGLU_CLAMP");
    EXPECT_STREQ(ggml_glu_op_name(GGML_GLU_OP_COUNT), "unknown");
    std::set<std::string> names;
    for (const OpRow& row : kOps) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(OpTable, SymbolsAreThoseOfTheApi) {
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_NONE), "none");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_ACC), "view(x,nb,offset)+=y->x");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_SQRT), "√x");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_SUM_ROWS), "Σx_k");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_SET), "y-\\>view(x)");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_CPY), "x-\\>y");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_MUL_MAT_ID), "X[i]*Y");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_SOLVE_TRI), "A X = B, A triangular, solve X");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_OPT_STEP_ADAMW), "adamw(x)");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_GLU), "glu(x)");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_COUNT), "unknown");
}

TEST(OpTable, ADescriptionIsTheSubOpWhereThereIsOne) {
    ggml_tensor node{};
    node.op = GGML_OP_UNARY;
    node.op_params[0] = GGML_UNARY_OP_SILU;
    EXPECT_STREQ(ggml_op_desc(&node), "SILU");
    node.op_params[0] = 1000;
    EXPECT_STREQ(ggml_op_desc(&node), "unknown");
    node.op = GGML_OP_GLU;
    node.op_params[0] = GGML_GLU_OP_GEGLU;
    EXPECT_STREQ(ggml_op_desc(&node), "GEGLU");
    node.op = GGML_OP_ADD;
    EXPECT_STREQ(ggml_op_desc(&node), "ADD");
    EXPECT_STREQ(ggml_op_desc(nullptr), "unknown");
}

TEST(OpTable, EveryRowIsDocumented) {
    for (const OpRow& row : kOps) {
        EXPECT_GT(std::strlen(row.doc), 4u) << row.name;
        EXPECT_EQ(row.params[0] == '\0', row.params_bytes == 0) << row.name;
        EXPECT_EQ(row.sources[0] == '\0', row.max_sources == 0) << row.name;
        EXPECT_EQ(row.shape == nullptr, row.op == GGML_OP_NONE) << row.name;
        EXPECT_LE(row.min_sources, row.max_sources) << row.name;
    }
    for (const SubOpRow& row : kUnaryOps) EXPECT_GT(std::strlen(row.doc), 1u) << row.name;
    for (const SubOpRow& row : kGluOps) EXPECT_GT(std::strlen(row.doc), 4u) << row.name;
}

TEST(OpTable, TheAllocatorMayReuseMemoryOfExactlyTheseOps) {
    const std::set<ggml_op> in_place = {
        GGML_OP_FILL,          GGML_OP_SCALE,     GGML_OP_DIAG_MASK_ZERO,
        GGML_OP_DIAG_MASK_INF, GGML_OP_ADD,       GGML_OP_ADD_ID,
        GGML_OP_ADD1,          GGML_OP_SUB,       GGML_OP_MUL,
        GGML_OP_DIV,           GGML_OP_SQR,       GGML_OP_SQRT,
        GGML_OP_LOG,           GGML_OP_UNARY,     GGML_OP_ROPE,
        GGML_OP_ROPE_BACK,     GGML_OP_SILU_BACK, GGML_OP_RMS_NORM,
        GGML_OP_RMS_NORM_BACK, GGML_OP_SOFT_MAX,  GGML_OP_SOFT_MAX_BACK,
        GGML_OP_CLAMP};
    const std::set<ggml_op> views = {GGML_OP_RESHAPE, GGML_OP_VIEW, GGML_OP_PERMUTE,
                                     GGML_OP_TRANSPOSE};
    const std::set<ggml_op> writes = {GGML_OP_CPY, GGML_OP_SET_ROWS, GGML_OP_OPT_STEP_ADAMW,
                                      GGML_OP_OPT_STEP_SGD};
    for (const OpRow& row : kOps) {
        EXPECT_EQ((row.traits & kInPlaceOk) != 0, in_place.count(row.op) == 1) << row.name;
        EXPECT_EQ((row.traits & kView) != 0, views.count(row.op) == 1) << row.name;
        EXPECT_EQ((row.traits & kWritesView) != 0, writes.count(row.op) == 1) << row.name;
    }
}

// ---- recorded graphs ----------------------------------------------------------------------------

// The tensors of a recorded graph, without data.
std::vector<ggml_tensor> tensors_of(const conformance::GoldenGraph& graph) {
    std::vector<ggml_tensor> tensors(graph.tensors.size());
    for (size_t i = 0; i < tensors.size(); i++) {
        const conformance::GoldenTensor& recorded = graph.tensors[i];
        ggml_tensor& t = tensors[i];
        t = {};
        t.type = static_cast<ggml_type>(recorded.type);
        t.flags = recorded.flags;
        for (const OpRow& row : kOps) {
            if (recorded.op == row.name) t.op = row.op;
        }
        std::memcpy(t.op_params, recorded.op_params, sizeof t.op_params);
        std::copy_n(recorded.ne, GGML_MAX_DIMS, t.ne);
        std::copy_n(recorded.nb, GGML_MAX_DIMS, t.nb);
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            t.src[k] = recorded.src[k] < 0 ? nullptr : &tensors[recorded.src[k]];
        }
        t.view_src = recorded.view_src < 0 ? nullptr : &tensors[recorded.view_src];
        t.view_offs = recorded.view_offs;
        std::snprintf(t.name, sizeof t.name, "%s", recorded.name.c_str());
    }
    return tensors;
}

// The row's rule gives the recorded type and shape, and only the row's parameter words are used.
void expect_rule_agrees(const ggml_tensor& node) {
    const OpRow& row = *op_row(node.op);
    int n_src = GGML_MAX_SRC;
    while (n_src > 0 && node.src[n_src - 1] == nullptr) n_src--;
    EXPECT_GE(n_src, row.min_sources);
    EXPECT_LE(n_src, row.max_sources);
    for (size_t word = row.params_bytes / 4; word < GGML_MAX_OP_PARAMS / 4; word++) {
        EXPECT_EQ(node.op_params[word], 0) << "word " << word;
    }
    NodeShape asked{node.type, {node.ne[0], node.ne[1], node.ne[2], node.ne[3]}};
    const bool is_plain_add = node.op == GGML_OP_ADD && node.type == node.src[0]->type;
    const bool is_back = node.op == GGML_OP_POOL_2D_BACK || node.op == GGML_OP_IM2COL_BACK;
    ASSERT_FALSE(is_back) << "asks for more than its result's shape; teach the test when recorded";
    const auto shape =
        row.shape({row, node.src, n_src, node.op_params, is_plain_add ? nullptr : &asked});
    ASSERT_TRUE(shape) << shape.error().text;
    EXPECT_EQ(shape->type, node.type);
    for (int k = 0; k < GGML_MAX_DIMS; k++) EXPECT_EQ(shape->ne[k], node.ne[k]) << "ne" << k;
}

// A builder of metadata makes the same strides and offset from the same source.
void expect_view_agrees(const ggml_tensor& node) {
    const test::Maker m;
    ggml_tensor* a = node.src[0];
    const ggml_tensor* made = nullptr;
    if (node.op == GGML_OP_PERMUTE) {
        const auto p = params_of<tenon_permute_params>(node);
        made = ggml_permute(m.ctx, a, p.axis[0], p.axis[1], p.axis[2], p.axis[3]);
    } else if (node.op == GGML_OP_TRANSPOSE) {
        made = ggml_transpose(m.ctx, a);
    } else if (node.op == GGML_OP_RESHAPE) {
        made = ggml_reshape_4d(m.ctx, a, node.ne[0], node.ne[1], node.ne[2], node.ne[3]);
    } else {
        const auto p = params_of<tenon_view_params>(node);
        made = ggml_view_4d(m.ctx, a, node.ne[0], node.ne[1], node.ne[2], node.ne[3], node.nb[1],
                            node.nb[2], node.nb[3], p.offset);
    }
    ASSERT_NE(made, nullptr) << tenon_last_error();
    EXPECT_EQ(made->view_src, node.view_src);
    EXPECT_EQ(made->view_offs, node.view_offs);
    for (int k = 0; k < GGML_MAX_DIMS; k++) {
        EXPECT_EQ(made->ne[k], node.ne[k]) << "ne" << k;
        EXPECT_EQ(made->nb[k], node.nb[k]) << "nb" << k;
    }
    EXPECT_EQ(std::memcmp(made->op_params, node.op_params, sizeof node.op_params), 0);
}

TEST(OpTable, ShapeRulesAgreeWithEveryRecordedGraph) {
    std::set<ggml_op> seen;
    size_t n_nodes = 0;
    for (const std::string& path : conformance::golden_files(TENON_TEST_DATA "/golden/ops")) {
        for (const conformance::GoldenGraph& graph : conformance::read_golden_ops(path)) {
            const std::vector<ggml_tensor> tensors = tensors_of(graph);
            for (size_t i = 0; i < tensors.size(); i++) {
                const ggml_tensor& node = tensors[i];
                if (node.op == GGML_OP_NONE) continue;
                SCOPED_TRACE(graph.name + " " + graph.params + " tensor " + std::to_string(i) +
                             ": " + test::line_of(node));
                expect_rule_agrees(node);
                if ((op_row(node.op)->traits & kView) != 0) expect_view_agrees(node);
                seen.insert(node.op);
                n_nodes++;
                if (testing::Test::HasFailure()) return;  // one is enough to read
            }
        }
    }
    EXPECT_GT(n_nodes, 1800u);
    EXPECT_GT(seen.size(), 75u);
}

}  // namespace
