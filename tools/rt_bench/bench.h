// What the suites of rt-bench share.
#pragma once

#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "ggml-cpp.h"
#include "tenon/tenon.h"
#include "tenon/work.h"
#include "tools/cli/cli.h"
#include "tools/rt_run/generate.h"

namespace rt_bench {

namespace cli = tenon::cli;

struct Options {
    std::vector<std::string> what, types;
    std::vector<int64_t> columns{1, 8, 512};
    std::vector<int> threads{1};
    int64_t rows = 4096, depth = 4096;
    std::string device, model, self;
    int repetitions = 5;
    double min_seconds = 0.1;
    bool json = false;
};

using Rate = benchmark::Counter;
constexpr auto kPerSecond = benchmark::Counter::kIsIterationInvariantRate;

inline ggml_backend_dev_t find_device(const std::string& name) {
    if (name.empty()) return rt_run::cpu_device();
    if (ggml_backend_dev_t device = ggml_backend_dev_by_name(name.c_str())) return device;
    std::vector<std::string> names;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i)
        names.emplace_back(ggml_backend_dev_name(ggml_backend_dev_get(i)));
    throw cli::unknown_name("device", name, names);
}

inline ggml_backend_ptr open_stream(ggml_backend_dev_t device, int n_threads) {
    ggml_backend_ptr stream(ggml_backend_dev_init(device, nullptr));
    if (!stream)
        throw cli::stop(cli::kFailed, "device %s: %s", ggml_backend_dev_name(device),
                        tenon_last_error());
    const auto set_threads =
        reinterpret_cast<ggml_backend_set_n_threads_t>(ggml_backend_reg_get_proc_address(
            ggml_backend_dev_backend_reg(device), "ggml_backend_set_n_threads"));
    if (set_threads) set_threads(stream.get(), n_threads);
    return stream;
}

// A graph with its memory on one stream, ready to be computed.
struct Bench {
    ggml_backend_ptr stream;
    ggml_context_ptr ctx;
    ggml_backend_buffer_ptr buffer;
    ggml_cgraph* graph = nullptr;

    Bench(ggml_backend_dev_t device, int n_threads, size_t n_nodes)
        : stream(open_stream(device, n_threads)),
          ctx(ggml_init({2 * (n_nodes + 8) * ggml_tensor_overhead() +
                             ggml_graph_overhead_custom(n_nodes + 8, false),
                         nullptr, true})),
          graph(ggml_new_graph_custom(ctx.get(), n_nodes + 8, false)) {}

    void finish(ggml_tensor* output) {
        if (!output) throw cli::stop(cli::kFailed, "%s", tenon_last_error());
        ggml_build_forward_expand(graph, output);
        buffer.reset(ggml_backend_alloc_ctx_tensors(ctx.get(), stream.get()));
        if (!buffer) throw cli::stop(cli::kFailed, "%s", tenon_last_error());
        ggml_backend_buffer_clear(buffer.get(), 0);
    }
    // Of all nodes together.
    tenon_work work() const {
        tenon_work all{};
        for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) {
            const tenon_work one = tenon_node_work(ggml_graph_node(graph, i));
            all.ops += one.ops;
            all.bytes_read += one.bytes_read;
            all.bytes_written += one.bytes_written;
        }
        return all;
    }
    void run(benchmark::State& state) {
        for (auto _ : state) {
            if (ggml_backend_graph_compute(stream.get(), graph) != GGML_STATUS_SUCCESS) {
                state.SkipWithError(tenon_last_error());
                break;
            }
        }
    }
};

// Fills a tensor with numbers a model could have; time must not depend on denormals or zeros.
inline void fill(ggml_tensor* t) {
    std::vector<float> row(t->ne[0]);
    for (size_t i = 0; i < row.size(); ++i) row[i] = std::sin(0.37f * static_cast<float>(i)) + 0.1f;
    std::vector<char> bytes(ggml_row_size(t->type, t->ne[0]));
    const std::vector<float> weights(t->ne[0], 1.0f);
    if (t->type == GGML_TYPE_F32) {
        std::memcpy(bytes.data(), row.data(), bytes.size());
    } else {
        ggml_quantize_chunk(t->type, row.data(), bytes.data(), 0, 1, t->ne[0], weights.data());
    }
    for (int64_t r = 0; r < ggml_nrows(t); ++r)
        ggml_backend_tensor_set(t, bytes.data(), r * t->nb[1], bytes.size());
}

// Graphs of nodes that can be computed together, with that switched on and off.
void register_chains(const Options& o);

}  // namespace rt_bench
