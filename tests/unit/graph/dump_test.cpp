// Graphs as text.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "ggml.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"

using namespace tenon;
using test::make_arena;

namespace {

class Dump : public testing::Test {
protected:
    Dump() : ctx_(make_arena()) {
        ggml_context* c = ctx_.get();
        x_ = ggml_set_name(ggml_new_tensor_2d(c, GGML_TYPE_F16, 4, 3), "x \"quoted\"");
        w_ = ggml_set_name(ggml_new_tensor_1d(c, GGML_TYPE_F32, 4), "w");
        ggml_set_param(w_);
        y_ = ggml_set_name(ggml_new_tensor_1d(c, GGML_TYPE_F32, 4), "y");
        y_->op = GGML_OP_MUL;
        y_->src[0] = x_;
        y_->src[1] = w_;
        graph_ = ggml_new_graph_custom(c, 8, true);
        ggml_build_forward_expand(graph_, y_);
        graph_->grads[hash_find(graph_->visited_hash_set, y_)] = w_;
    }

    ggml_context_ptr ctx_;
    ggml_tensor *x_, *w_, *y_;
    ggml_cgraph* graph_;
};

TEST_F(Dump, NullNodesAreToldAndNotFollowed) {
    graph_->nodes[0] = nullptr;
    tenon_clear_error();
    ggml_graph_print(graph_);
    ggml_graph_dump_dot(graph_, nullptr, "never-written.dot");
    EXPECT_STREQ(tenon_last_error(), "node 0 of the graph is null");
    EXPECT_FALSE(std::filesystem::exists("never-written.dot"));
    EXPECT_EQ(ggml_graph_get_tensor(graph_, "no such name"), nullptr);
}

TEST_F(Dump, TheLogListsNodesAndLeafs) {
    std::string text;
    ggml_log_set(
        [](ggml_log_level level, const char* line, void* data) {
            EXPECT_EQ(level, GGML_LOG_LEVEL_INFO);
            *static_cast<std::string*>(data) += line;
        },
        &text);
    ggml_graph_print(graph_);
    ggml_log_set(nullptr, nullptr);
    EXPECT_NE(text.find("n_nodes = 2\n"), std::string::npos) << text;
    EXPECT_NE(text.find(" x w\n"), std::string::npos) << text;
    EXPECT_NE(text.find("MUL g y\n"), std::string::npos) << text;
    EXPECT_NE(text.find("n_leafs = 1\n"), std::string::npos) << text;
    EXPECT_NE(text.find("[4, 3, 1, 1]"), std::string::npos) << text;
}

TEST_F(Dump, DrawingsHaveAVertexPerTensorAndAnArrowPerEdge) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("tenon_dump_test_" + std::to_string(ggml_time_us()) + ".dot");
    ggml_graph_dump_dot(graph_, nullptr, path.string().c_str());
    std::ifstream in(path);
    std::stringstream content;
    content << in.rdbuf();
    std::filesystem::remove(path);
    const std::string text = content.str();
    EXPECT_EQ(text.rfind("digraph G {", 0), 0u);
    EXPECT_EQ(text.substr(text.size() - 2), "}\n");
    const auto count = [&](const std::string& part) {
        size_t n = 0;
        for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
        return n;
    };
    EXPECT_EQ(count("shape = record"), 3u);
    EXPECT_EQ(count(" -> "), 2u);
    EXPECT_EQ(count("x \\\"quoted\\\""), 1u);
    EXPECT_EQ(count("fillcolor = yellow"), 1u);
    EXPECT_EQ(count("fillcolor = lightblue"), 1u);
    EXPECT_EQ(count("fillcolor = pink"), 1u);
}

TEST_F(Dump, AFileThatCannotBeWrittenIsAnError) {
    tenon_clear_error();
    ggml_graph_dump_dot(graph_, nullptr, "/nonexistent/graph.dot");
    EXPECT_STREQ(tenon_last_error(), "cannot open '/nonexistent/graph.dot' for writing");
}

}  // namespace
