// Graphs by hand: makers, readers, what may stay unwritten.

#include "tenon/kit/graph_reading.h"

#include <gtest/gtest.h>

#include "tests/kit/tensors.h"

namespace tenon::kit {
namespace {

TEST(GraphReading, ViewsAndEmptyNodesAreNoWork) {
    ggml_tensor x = tensor(GGML_TYPE_F32, 4);
    EXPECT_FALSE(computes(x));
    EXPECT_FALSE(computes(node(GGML_OP_TRANSPOSE, &x)));
    EXPECT_TRUE(computes(node(GGML_OP_SQR, &x)));
    x.ne[1] = 0;
    EXPECT_FALSE(computes(node(GGML_OP_SQR, &x)));
}

TEST(GraphReading, AViewShowsWhatLiesUnderAllViews) {
    ggml_tensor x = tensor(GGML_TYPE_F32, 4);
    ggml_tensor made = node(GGML_OP_SQR, &x);
    ggml_tensor reshaped = node(GGML_OP_RESHAPE, &made);
    ggml_tensor turned = node(GGML_OP_PERMUTE, &reshaped);
    EXPECT_EQ(&shown_by(turned), &made);
    EXPECT_EQ(&shown_by(made), &made);
    EXPECT_EQ(&shown_by(x), &x);
}

TEST(GraphReading, ViewsInACircleEnd) {
    ggml_tensor a = tensor(GGML_TYPE_F32, 4);
    ggml_tensor b = node(GGML_OP_VIEW, &a), c = node(GGML_OP_VIEW, &b);
    a.op = GGML_OP_VIEW;
    a.src[0] = &c;
    const ggml_tensor& end = shown_by(c);
    EXPECT_TRUE(&end == &a || &end == &b || &end == &c);
    a.src[0] = &a;
    EXPECT_EQ(&shown_by(a), &a);
}

// x -> sqr -> (view) -> add(view, scale of sqr)
struct Chain {
    ggml_tensor x = tensor(GGML_TYPE_F32, 4);
    ggml_tensor sqr = node(GGML_OP_SQR, &x);
    ggml_tensor view = node(GGML_OP_VIEW, &sqr);
    ggml_tensor scale = node(GGML_OP_SCALE, &sqr);
    ggml_tensor add = node(GGML_OP_ADD, &view, &scale);
    ggml_tensor* nodes[3] = {&sqr, &scale, &add};
    int32_t use_counts[3] = {2, 1, 0};
    tenon_graph_view graph{sizeof(tenon_graph_view), 0, 3, 0, nodes, use_counts, 0};
};

TEST(GraphReading, TheMakerOfASourceIsFoundThroughViews) {
    const Chain c;
    EXPECT_EQ(maker_of(*c.add.src[0], c.graph, 0, 3), 0);
    EXPECT_EQ(maker_of(*c.add.src[1], c.graph, 0, 3), 1);
    EXPECT_EQ(maker_of(c.x, c.graph, 0, 3), -1);
    EXPECT_EQ(maker_of(*c.add.src[0], c.graph, 1, 3), -1) << "node 0 is not asked about";
    EXPECT_EQ(maker_of(*c.add.src[0], c.graph, 0, 0), -1);
}

TEST(GraphReading, UsesAreCountedPerSource) {
    Chain c;
    EXPECT_EQ(uses_by(c.add, c.scale), 1);
    EXPECT_EQ(uses_by(c.add, c.sqr), 0) << "it reads a view of it";
    c.add.src[0] = &c.scale;
    EXPECT_EQ(uses_by(c.add, c.scale), 2);
}

TEST(GraphReading, AResultStaysUnwrittenWhenAllItsReadersAreKnown) {
    Chain c;
    EXPECT_TRUE(may_stay_unwritten(c.graph, 1, 1));
    EXPECT_FALSE(may_stay_unwritten(c.graph, 0, 1)) << "somebody else reads it too";
    EXPECT_FALSE(may_stay_unwritten(c.graph, 2, 0)) << "nobody reads it: it is a result";
    c.use_counts[1] = -1;
    EXPECT_FALSE(may_stay_unwritten(c.graph, 1, 1)) << "it is looked at from outside";
    c.use_counts[1] = 1;
    c.scale.view_src = &c.x;
    EXPECT_FALSE(may_stay_unwritten(c.graph, 1, 1)) << "it is a part of another tensor";
    c.scale.view_src = nullptr;
    c.graph.use_counts = nullptr;
    EXPECT_FALSE(may_stay_unwritten(c.graph, 1, 1)) << "nothing is known";
}

}  // namespace
}  // namespace tenon::kit
