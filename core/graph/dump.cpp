// Graphs for people: a list for the log, and Graphviz text.

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/graph/graph.h"

namespace tenon {
namespace {

void print_shape(char (&text)[96], const ggml_tensor& t) {
    std::snprintf(text, sizeof text, "[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]",
                  t.ne[0], t.ne[1], t.ne[2], t.ne[3]);
}

void print_node(const ggml_cgraph& graph, int i) {
    if (!graph.nodes[i]) return log(GGML_LOG_LEVEL_INFO, " - %3d: null", i);
    const ggml_tensor& node = *graph.nodes[i];
    char shape[96];
    print_shape(shape, node);
    const char* mark = node.flags & GGML_TENSOR_FLAG_PARAM  ? "x"
                       : ggml_graph_get_grad(&graph, &node) ? "g"
                                                            : " ";
    log(GGML_LOG_LEVEL_INFO, " - %3d: %s %16s %s %s", i, shape, ggml_op_name(node.op), mark,
        node.name);
}

// Writes text inside a quoted Graphviz string; record labels need their own signs escaped, too.
void write_escaped(std::FILE* out, const char* text) {
    for (; *text; ++text) {
        if (std::strchr("\"\\|<>{}", *text)) std::fputc('\\', out);
        std::fputc(*text, out);
    }
}

const char* color_of(const ggml_cgraph& graph, const ggml_cgraph* forward,
                     const ggml_tensor& node) {
    if (node.flags & GGML_TENSOR_FLAG_PARAM) return "yellow";
    if (!ggml_graph_get_grad(&graph, &node)) return "white";
    return forward && hash_contains(forward->visited_hash_set, &node) ? "green" : "lightblue";
}

void write_vertex(std::FILE* out, const ggml_tensor& t, const char* kind, int index,
                  const char* color) {
    char shape[96];
    print_shape(shape, t);
    std::fprintf(out, "  \"%p\" [style = filled; fillcolor = %s; shape = record; label = \"",
                 static_cast<const void*>(&t), color);
    write_escaped(out, t.name);
    std::fprintf(out, " (%s)|%s %d %s | ", ggml_type_name(t.type), kind, index, shape);
    if (t.op != GGML_OP_NONE) write_escaped(out, ggml_op_symbol(t.op));
    std::fputs("\"; ]\n", out);
}

void write_edges(std::FILE* out, const ggml_tensor& t) {
    for (int i = 0; i < GGML_MAX_SRC; ++i) {
        if (!t.src[i]) continue;
        std::fprintf(out, "  \"%p\" -> \"%p\" [label = \"src %d\"; ]\n",
                     static_cast<const void*>(t.src[i]), static_cast<const void*>(&t), i);
    }
}

Result<void> write_dot(const ggml_cgraph& graph, const ggml_cgraph* forward, const char* path) {
    for (int i = 0; i < graph.n_nodes; ++i) {
        if (!graph.nodes[i]) return fail(TENON_E_INVALID, "node %d of the graph is null", i);
    }
    const os::File file{os::open_file(path, "w")};
    if (!file) return fail(TENON_E_IO, "cannot open '%s' for writing", path);
    std::FILE* out = file.get();
    std::fputs("digraph G {\n  newrank = true;\n  rankdir = TB;\n", out);
    for (int i = 0; i < graph.n_nodes; ++i) {
        write_vertex(out, *graph.nodes[i], "node", i, color_of(graph, forward, *graph.nodes[i]));
    }
    for (int i = 0; i < graph.n_leafs; ++i) {
        write_vertex(out, *graph.leafs[i], "leaf", i, "pink");
    }
    for (int i = 0; i < graph.n_nodes; ++i) write_edges(out, *graph.nodes[i]);
    for (int i = 0; i < graph.n_leafs; ++i) write_edges(out, *graph.leafs[i]);
    std::fputs("}\n", out);
    if (std::fflush(out) != 0 || std::ferror(out)) {
        return fail(TENON_E_IO, "cannot write '%s'", path);
    }
    return {};
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" void ggml_graph_print(const ggml_cgraph* cgraph) {
    if (!cgraph) return;
    log(GGML_LOG_LEVEL_INFO, "=== GRAPH ===");
    log(GGML_LOG_LEVEL_INFO, "n_nodes = %d%s", cgraph->n_nodes,
        is_incomplete(*cgraph) ? " (incomplete)" : "");
    for (int i = 0; i < cgraph->n_nodes; ++i) print_node(*cgraph, i);
    log(GGML_LOG_LEVEL_INFO, "n_leafs = %d", cgraph->n_leafs);
    for (int i = 0; i < cgraph->n_leafs; ++i) {
        const ggml_tensor& leaf = *cgraph->leafs[i];
        char shape[96];
        print_shape(shape, leaf);
        log(GGML_LOG_LEVEL_INFO, " - %3d: %s %8s %s", i, shape, ggml_type_name(leaf.type),
            leaf.name);
    }
    log(GGML_LOG_LEVEL_INFO, "========================================");
}

// Draws `gb`; nodes with gradients that `cgraph` (may be NULL) holds as well are coloured apart.
extern "C" void ggml_graph_dump_dot(const ggml_cgraph* gb, const ggml_cgraph* cgraph,
                                    const char* filename) {
    guard_void([&]() -> Result<void> {
        if (!gb || !filename) {
            return fail(TENON_E_INVALID, "cannot draw a graph: %s is null",
                        gb ? "the file name" : "the graph");
        }
        return write_dot(*gb, cgraph, filename);
    });
}
