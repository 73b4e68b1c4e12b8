// What rt-run says at the end: see report.h.

#include "tools/rt_run/report.h"

#include <nlohmann/json.hpp>

#include "tenon/tenon.h"
#include "tools/cli/cli.h"

namespace rt_run {
namespace {

namespace cli = tenon::cli;
using nlohmann::ordered_json;

std::vector<tenon_placement_node> placed_nodes(const Session& session) {
    std::vector<tenon_placement_node> nodes(tenon_placement_count(session.scheduler()));
    for (size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].struct_size = sizeof nodes[i];
        tenon_placement_explain(session.scheduler(), i, &nodes[i]);
    }
    return nodes;
}

std::vector<tenon_placement_split> splits(const Session& session) {
    std::vector<tenon_placement_split> all;
    for (;;) {
        tenon_placement_split split{};
        split.struct_size = sizeof split;
        if (!tenon_placement_get_split(session.scheduler(), all.size(), &split)) return all;
        all.push_back(split);
    }
}

}  // namespace

void print_summary(std::FILE* out, const Generation& g, const Session& session) {
    std::fprintf(
        out,
        "prompt %zu tokens, %.1f tokens/s; generated %zu tokens, %.1f tokens/s; %s; %d split%s\n",
        g.prompt.size(), g.prompt_rate(), g.tokens.size(), g.generation_rate(), stop_text(g.stop),
        g.n_splits, g.n_splits == 1 ? "" : "s");
    for (const DeviceMemory& m : session.memory()) {
        std::fprintf(out, "memory on %s: weights %s, KV cache %s, compute %s\n", m.device.c_str(),
                     cli::bytes_text(m.weights).c_str(), cli::bytes_text(m.kv).c_str(),
                     cli::bytes_text(m.compute).c_str());
    }
}

ordered_json to_json(const Generation& g, const Session& session) {
    ordered_json memory = ordered_json::array();
    for (const DeviceMemory& m : session.memory()) {
        memory.push_back({{"device", m.device},
                          {"weights", m.weights},
                          {"kv_cache", m.kv},
                          {"compute", m.compute}});
    }
    return {{"schema", "tenon.rt-run"},
            {"schema_version", 1},
            {"text", g.text},
            {"prompt_tokens", g.prompt},
            {"tokens", g.tokens},
            {"stop", stop_text(g.stop)},
            {"prompt_tokens_per_s", g.prompt_rate()},
            {"tokens_per_s", g.generation_rate()},
            {"splits", g.n_splits},
            {"memory", memory}};
}

void print_placement(std::FILE* out, const Session& session) {
    const auto all = splits(session);
    std::fprintf(out, "\nplacement of the last graph\n");
    for (size_t i = 0; i < all.size(); ++i) {
        std::fprintf(out, "split %zu on %s: %u nodes, %u copies (%s per run)\n", i, all[i].device,
                     all[i].n_nodes, all[i].n_copies, cli::bytes_text(all[i].copy_bytes).c_str());
    }
    cli::Table table;
    for (const char* title : {"NODE", "OP", "DEVICE", "SPLIT", "REASON", "BECAUSE"})
        table.add_column(title);
    for (const tenon_placement_node& n : placed_nodes(session)) {
        if (n.split < 0) continue;
        table.add_row({n.name, n.op, n.device, std::to_string(n.split), n.reason, n.detail});
    }
    table.print(out, cli::terminal_of(out));
}

ordered_json placement_json(const Session& session) {
    ordered_json nodes = ordered_json::array(), split_list = ordered_json::array();
    for (const tenon_placement_node& n : placed_nodes(session)) {
        if (n.split < 0) continue;
        nodes.push_back({{"node", n.name},
                         {"op", n.op},
                         {"device", n.device},
                         {"split", n.split},
                         {"reason", n.reason},
                         {"detail", n.detail},
                         {"copies", n.n_copies}});
    }
    for (const tenon_placement_split& s : splits(session)) {
        split_list.push_back({{"device", s.device},
                              {"nodes", s.n_nodes},
                              {"copies", s.n_copies},
                              {"copy_bytes", s.copy_bytes}});
    }
    return {{"nodes", nodes}, {"splits", split_list}};
}

}  // namespace rt_run
