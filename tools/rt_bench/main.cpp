// rt-bench: how fast ops, graphs, start-up and a model run here. Google Benchmark measures, with
// repetitions of all benchmarks interleaved at random; every figure is a median.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ggml-cpu.h"
#include "tools/rt_bench/bench.h"

namespace {

using namespace rt_bench;
namespace po = cli::po;

struct Row {
    int64_t order = 0;  // of registration
    std::string name;
    double ns = 0;  // median real time of one iteration
    std::map<std::string, double> counters;
};

// Keeps the medians Google Benchmark computes, in the order of the benchmarks.
class Medians : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.error_occurred) {
                errors.push_back(run.benchmark_name() + ": " + run.error_message);
            } else if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median") {
                Row row{run.family_index,
                        run.run_name.function_name,
                        run.GetAdjustedRealTime() * 1e9 /
                            benchmark::GetTimeUnitMultiplier(run.time_unit),
                        {}};
                for (const auto& [name, counter] : run.counters) row.counters[name] = counter;
                rows.push_back(std::move(row));
            }
        }
    }
    std::vector<Row> rows;
    std::vector<std::string> errors;
};

// Large weights are read from memory, not from a cache, only if several of them take turns.
void register_mul_mat(const Options& o) {
    ggml_backend_dev_t device = find_device(o.device);
    for (const std::string& type_name : o.types) {
        const ggml_type type = cli::parse_type(type_name);
        if (o.depth % ggml_blck_size(type) != 0) {
            throw cli::stop(cli::kUsage, "--depth %lld is not a multiple of the block of %s, %lld",
                            static_cast<long long>(o.depth), type_name.c_str(),
                            static_cast<long long>(ggml_blck_size(type)));
        }
        for (const int64_t n : o.columns) {
            for (const int n_threads : o.threads) {
                const std::string name =
                    cli::format("mul_mat %s %lldx%lldx%lld, %d thread%s", type_name.c_str(),
                                static_cast<long long>(o.rows), static_cast<long long>(o.depth),
                                static_cast<long long>(n), n_threads, n_threads == 1 ? "" : "s");
                benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
                    const size_t bytes = ggml_row_size(type, o.depth) * o.rows;
                    const int n_weights =
                        n > 8 ? 1
                              : static_cast<int>(std::clamp<size_t>((256u << 20) / bytes, 1, 16));
                    Bench bench(device, n_threads, n_weights + 1);
                    ggml_tensor* x = ggml_new_tensor_2d(bench.ctx.get(), GGML_TYPE_F32, o.depth, n);
                    std::vector<ggml_tensor*> weights;
                    for (int i = 0; i < n_weights; ++i) {
                        weights.push_back(
                            ggml_new_tensor_2d(bench.ctx.get(), type, o.depth, o.rows));
                        ggml_build_forward_expand(bench.graph,
                                                  ggml_mul_mat(bench.ctx.get(), weights.back(), x));
                    }
                    bench.finish(ggml_graph_node(bench.graph, -1));
                    if (!ggml_backend_supports_op(bench.stream.get(),
                                                  ggml_graph_node(bench.graph, -1))) {
                        return state.SkipWithError("not supported");
                    }
                    for (ggml_tensor* w : weights) fill(w);
                    fill(x);
                    bench.run(state);
                    const tenon_work work = bench.work();
                    state.counters["GFLOP/s"] = Rate(1e-9 * work.ops, kPerSecond);
                    state.counters["GB/s"] =
                        Rate(1e-9 * (work.bytes_read + work.bytes_written), kPerSecond);
                })->UseRealTime();
            }
        }
    }
}

// What the core costs per node: nodes of one element, on one thread.
void register_graph(const Options& o) {
    constexpr int kNodes = 1000;
    ggml_backend_dev_t device = find_device(o.device);
    const auto per_node = [](benchmark::State& state) {
        state.counters["ns/node"] =
            Rate(1e-9 * kNodes,
                 benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    };
    benchmark::RegisterBenchmark("graph build, 1000 nodes", [=](benchmark::State& state) {
        std::vector<char> arena((kNodes + 8) * ggml_tensor_overhead() +
                                ggml_graph_overhead_custom(kNodes + 8, false));
        for (auto _ : state) {
            ggml_context_ptr ctx(ggml_init({arena.size(), arena.data(), true}));
            ggml_tensor* x = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1);
            for (int i = 0; i < kNodes; ++i) x = ggml_scale(ctx.get(), x, 1.5f);
            ggml_cgraph* graph = ggml_new_graph_custom(ctx.get(), kNodes + 8, false);
            ggml_build_forward_expand(graph, x);
            benchmark::DoNotOptimize(graph);
        }
        per_node(state);
    })->UseRealTime();
    benchmark::RegisterBenchmark("graph compute, 1000 nodes of 1 element", [=](benchmark::State&
                                                                                   state) {
        Bench bench(device, 1, kNodes);
        ggml_tensor* x = ggml_new_tensor_1d(bench.ctx.get(), GGML_TYPE_F32, 1);
        for (int i = 0; i < kNodes; ++i) x = ggml_scale(bench.ctx.get(), x, 1.0f);
        bench.finish(x);
        bench.run(state);
        per_node(state);
    })->UseRealTime();
    benchmark::RegisterBenchmark("scheduler alloc, 1000 nodes", [=](benchmark::State& state) {
        ggml_backend_ptr stream = open_stream(rt_run::cpu_device(), 1);
        ggml_backend_t streams[] = {stream.get()};
        ggml_backend_sched_ptr sched(
            ggml_backend_sched_new(streams, nullptr, 1, kNodes + 8, false, false));
        ggml_context_ptr ctx(ggml_init(
            {(kNodes + 8) * ggml_tensor_overhead() + ggml_graph_overhead_custom(kNodes + 8, false),
             nullptr, true}));
        std::vector<ggml_tensor*> nodes{ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1)};
        for (int i = 0; i < kNodes; ++i) nodes.push_back(ggml_scale(ctx.get(), nodes.back(), 1.0f));
        ggml_cgraph* graph = ggml_new_graph_custom(ctx.get(), kNodes + 8, false);
        ggml_build_forward_expand(graph, nodes.back());
        for (auto _ : state) {
            ggml_backend_sched_reset(sched.get());
            if (!ggml_backend_sched_alloc_graph(sched.get(), graph)) {
                state.SkipWithError(tenon_last_error());
                break;
            }
            for (ggml_tensor* t : nodes) t->data = nullptr, t->buffer = nullptr;
        }
        per_node(state);
    })->UseRealTime();
}

// From nothing to the list of devices, in a process of its own each time.
void register_startup(const Options& o) {
    benchmark::RegisterBenchmark("start-up to the device list", [self = o.self](
                                                                    benchmark::State& state) {
        for (auto _ : state) {
            std::FILE* child = popen(("'" + self + "' --measure-startup").c_str(), "r");
            double seconds = 0;
            if (!child || std::fscanf(child, "%lf", &seconds) != 1)
                state.SkipWithError("the child process failed");
            if (child) pclose(child);
            state.SetIterationTime(seconds);
        }
    })->UseManualTime();
}

void register_model(const Options& o) {
    if (o.model.empty()) throw cli::stop(cli::kUsage, "'model' needs --model FILE");
    ggml_backend_dev_t device = find_device(o.device);
    for (const int n_threads : o.threads) {
        benchmark::RegisterBenchmark(
            cli::format("generate 64 tokens, %d thread%s", n_threads, n_threads == 1 ? "" : "s")
                .c_str(),
            [=](benchmark::State& state) {
                const rt_run::Model model(o.model, device, {});
                const rt_run::Tokenizer tokenizer(model.file());
                rt_run::SessionOptions options;
                options.n_threads = n_threads;
                rt_run::Session session(model, device, options);
                rt_run::Sampler greedy({.temperature = 0});
                const std::atomic<bool> never{false};
                for (auto _ : state) {
                    session.reset();
                    rt_run::generate(session, tokenizer, greedy, "Once upon a time", 64, never,
                                     [](std::string_view) {});
                }
                state.counters["tokens/s"] = Rate(64, kPerSecond);
            })
            ->UseRealTime();
    }
}

void print_rows(std::FILE* out, const std::vector<Row>& rows, bool json) {
    if (json) {
        nlohmann::ordered_json all = nlohmann::ordered_json::array();
        for (const Row& row : rows) {
            nlohmann::ordered_json entry{{"name", row.name}, {"median_ns", row.ns}};
            for (const auto& [name, value] : row.counters) entry[name] = value;
            all.push_back(std::move(entry));
        }
        return cli::print_json(
            out, {{"schema", "tenon.rt-bench"}, {"schema_version", 1}, {"benchmarks", all}});
    }
    cli::Table table;
    table.add_column("BENCHMARK");
    table.add_column("TIME", cli::Align::kRight);
    const char* kCounters[] = {"GFLOP/s", "GB/s", "ns/node", "ns/token", "tokens/s"};
    for (const char* name : kCounters) table.add_column(name, cli::Align::kRight);
    for (const Row& row : rows) {
        std::vector<cli::Cell> cells{row.name, cli::time_text(row.ns * 1e-9)};
        for (const char* name : kCounters) {
            const auto found = row.counters.find(name);
            cells.emplace_back(found == row.counters.end() ? ""
                                                           : cli::format("%.1f", found->second));
        }
        table.add_row(std::move(cells));
    }
    table.print(out, cli::terminal_of(out));
}

template <class Number>
std::vector<Number> numbers(const char* option, const std::string& text, int64_t max) {
    std::vector<Number> all;
    std::stringstream list(text);
    for (std::string word; std::getline(list, word, ',');)
        all.push_back(static_cast<Number>(cli::parse_integer(option, word, 1, max)));
    return all;
}

po::options_description describe() {
    po::options_description all(
        "rt-bench [mul_mat] [graph] [chains] [startup] [model] [options]\n\noptions");
    // clang-format off
    all.add_options()
        ("what", po::value<std::vector<std::string>>(), "what to measure (words that are no options); default: mul_mat graph startup")
        ("type", po::value<std::string>()->default_value("f32,f16,bf16,q8_0,q4_0"), "weight types of mul_mat; all: every type")
        ("columns", po::value<std::string>()->default_value("1,8,512"), "columns of mul_mat's second matrix")
        ("rows", po::value<std::string>()->default_value("4096"), "rows of the weights")
        ("depth", po::value<std::string>()->default_value("4096"), "length of a row of the weights")
        ("threads,t", po::value<std::string>()->default_value("1"), "thread counts, separated by commas")
        ("device,d", po::value<std::string>()->default_value(""), "device to measure; default: the CPU")
        ("model,m", po::value<std::string>()->default_value(""), "GGUF file for 'model'")
        ("repetitions", po::value<std::string>()->default_value("5"), "of each benchmark; the median counts")
        ("min-time", po::value<double>()->default_value(0.1, "0.1"), "seconds a repetition takes at least")
        ("json", "one JSON document")
        ("measure-startup", "load the plugins, print the seconds that took, and exit")
        ("help,h", "this text");
    // clang-format on
    return all;
}

Options read_options(const po::variables_map& given) {
    Options o;
    const auto text = [&](const char* name) { return given[name].as<std::string>(); };
    o.what = given.count("what") ? given["what"].as<std::vector<std::string>>()
                                 : std::vector<std::string>{"mul_mat", "graph", "startup"};
    static const std::vector<std::string> known{"mul_mat", "graph", "chains", "startup", "model"};
    for (const std::string& word : o.what) {
        if (std::find(known.begin(), known.end(), word) == known.end())
            throw cli::unknown_name("benchmark", word, known, cli::kUsage);
    }
    std::stringstream types(text("type"));
    for (std::string word; std::getline(types, word, ',');) o.types.push_back(word);
    if (o.types == std::vector<std::string>{"all"}) {
        o.types.clear();
        for (const std::string& name : cli::type_names()) {
            const ggml_type type = cli::parse_type(name);
            if (type == GGML_TYPE_F32 || ggml_get_type_traits(type)->to_float)
                o.types.push_back(name);
        }
    }
    o.columns = numbers<int64_t>("--columns", text("columns"), 1 << 20);
    o.threads = numbers<int>("--threads", text("threads"), GGML_MAX_N_THREADS);
    o.rows = cli::parse_integer("--rows", text("rows"), 1, 1 << 24);
    o.depth = cli::parse_integer("--depth", text("depth"), 1, 1 << 24);
    o.device = text("device");
    o.model = text("model");
    o.repetitions =
        static_cast<int>(cli::parse_integer("--repetitions", text("repetitions"), 2, 1000));
    o.min_seconds = given["min-time"].as<double>();
    o.json = given.count("json");
    return o;
}

int measure_startup(std::FILE* out) {
    const auto start = std::chrono::steady_clock::now();
    const size_t n = ggml_backend_dev_count();
    std::fprintf(out, "%.9f\n",
                 std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return n > 0 ? 0 : 1;
}

int run(int argc, char** argv) {
    const po::options_description all = describe();
    po::positional_options_description positional;
    positional.add("what", -1);
    const po::variables_map given = cli::parse(argc, argv, all, positional);
    std::FILE* out = cli::answer_stream();
    if (given.count("help")) {
        std::ostringstream text;
        text << all;
        std::fputs(text.str().c_str(), out);
        return 0;
    }
    if (given.count("measure-startup")) return measure_startup(out);
    Options o = read_options(given);
    o.self = argv[0];
    const std::map<std::string, void (*)(const Options&)> suites{{"mul_mat", register_mul_mat},
                                                                 {"graph", register_graph},
                                                                 {"chains", register_chains},
                                                                 {"startup", register_startup},
                                                                 {"model", register_model}};
    for (const std::string& word : o.what) suites.at(word)(o);

    std::vector<std::string> words{"rt-bench", "--benchmark_enable_random_interleaving=true",
                                   cli::format("--benchmark_repetitions=%d", o.repetitions),
                                   cli::format("--benchmark_min_time=%g", o.min_seconds)};
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    int n_words = static_cast<int>(pointers.size());
    benchmark::Initialize(&n_words, pointers.data());
    Medians medians;
    benchmark::RunSpecifiedBenchmarks(&medians);
    std::sort(medians.rows.begin(), medians.rows.end(),
              [](const Row& a, const Row& b) { return a.order < b.order; });
    print_rows(out, medians.rows, o.json);
    for (const std::string& error : medians.errors)
        std::fprintf(stderr, "rt-bench: %s\n", error.c_str());
    return medians.errors.empty() ? 0 : cli::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
    return tenon::cli::run_tool("rt-bench", [&] { return run(argc, argv); });
}
