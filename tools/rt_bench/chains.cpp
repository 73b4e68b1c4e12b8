// rt-bench chains: nodes of a transformer that follow each other, computed together and one by one.

#include "ggml-cpu.h"
#include "tools/rt_bench/bench.h"

namespace rt_bench {
namespace {

constexpr int64_t kWidth = 4096, kHead = 128, kExperts = 128, kUsed = 8;

// The nodes of one chain over `tokens` tokens; gives the last.
using MakeChain = ggml_tensor* (*)(ggml_context* ctx, int64_t tokens);

// Also an output: its memory must not be given to results, or every run computes other numbers.
ggml_tensor* input(ggml_context* ctx, ggml_type type, int64_t n0, int64_t n1 = 1, int64_t n2 = 1) {
    ggml_tensor* t = ggml_new_tensor_3d(ctx, type, n0, n1, n2);
    ggml_set_input(t);
    ggml_set_output(t);
    return t;
}
ggml_tensor* tokens_of(ggml_context* ctx, int64_t tokens) {
    return input(ctx, GGML_TYPE_F32, kWidth, tokens);
}

ggml_tensor* residual_norm(ggml_context* ctx, int64_t tokens) {
    ggml_tensor* sum = ggml_add(ctx, tokens_of(ctx, tokens), tokens_of(ctx, tokens));
    ggml_tensor* norm = ggml_mul(ctx, ggml_rms_norm(ctx, sum, 1e-5f), tokens_of(ctx, 1));
    return ggml_add(ctx, norm, sum);
}
ggml_tensor* norm(ggml_context* ctx, int64_t tokens) {
    return ggml_add(ctx,
                    ggml_mul(ctx, ggml_norm(ctx, tokens_of(ctx, tokens), 1e-5f), tokens_of(ctx, 1)),
                    tokens_of(ctx, 1));
}
ggml_tensor* gate(ggml_context* ctx, int64_t tokens) {
    return ggml_mul(ctx, ggml_silu(ctx, tokens_of(ctx, tokens)), tokens_of(ctx, tokens));
}
ggml_tensor* sums(ggml_context* ctx, int64_t tokens) {
    ggml_tensor* x = tokens_of(ctx, tokens);
    for (int i = 0; i < 4; ++i) x = ggml_add(ctx, x, tokens_of(ctx, tokens));
    return x;
}
ggml_tensor* snake(ggml_context* ctx, int64_t tokens) {
    ggml_tensor* x = tokens_of(ctx, tokens);
    ggml_tensor* scaled = ggml_mul(ctx, x, input(ctx, GGML_TYPE_F32, 1, tokens));
    ggml_tensor* square = ggml_sqr(ctx, ggml_sin(ctx, scaled));
    return ggml_add(ctx, x, ggml_mul(ctx, square, input(ctx, GGML_TYPE_F32, 1, tokens)));
}
ggml_tensor* rope_into_cache(ggml_context* ctx, int64_t tokens) {
    ggml_tensor* x = input(ctx, GGML_TYPE_F32, kHead, kWidth / kHead, tokens);
    ggml_tensor* turned =
        ggml_rope(ctx, x, input(ctx, GGML_TYPE_I32, tokens), kHead, GGML_ROPE_TYPE_NEOX);
    return ggml_set_rows(ctx, input(ctx, GGML_TYPE_F16, kWidth, tokens),
                         ggml_reshape_2d(ctx, turned, kWidth, tokens),
                         input(ctx, GGML_TYPE_I64, tokens));
}
ggml_tensor* routing(ggml_context* ctx, int64_t tokens) {
    ggml_tensor* probs = ggml_soft_max(ctx, input(ctx, GGML_TYPE_F32, kExperts, tokens));
    ggml_tensor* chosen = ggml_argsort_top_k(ctx, probs, kUsed);
    ggml_tensor* weights =
        ggml_get_rows(ctx, ggml_reshape_3d(ctx, probs, 1, kExperts, tokens), chosen);
    weights = ggml_reshape_2d(ctx, weights, kUsed, tokens);
    return ggml_div(ctx, weights, ggml_sum_rows(ctx, weights));
}

struct Chain {
    const char* name;
    MakeChain make;
};
constexpr Chain kChains[] = {
    {"add+rms_norm+mul+add", residual_norm},
    {"norm+mul+add", norm},
    {"silu+mul", gate},
    {"add+add+add+add", sums},
    {"mul+sin+sqr+mul+add", snake},
    {"rope+set_rows", rope_into_cache},
    {"soft_max+argsort+get_rows+sum_rows+div", routing},
};

void measure(benchmark::State& state, const Chain& chain, ggml_backend_dev_t device, int n_threads,
             int64_t tokens, bool fusion) {
    Bench bench(device, n_threads, 32);
    ggml_build_forward_expand(bench.graph, chain.make(bench.ctx.get(), tokens));
    ggml_gallocr_ptr allocator(ggml_gallocr_new(ggml_backend_dev_buffer_type(device)));
    if (!ggml_gallocr_alloc_graph(allocator.get(), bench.graph))
        return state.SkipWithError(tenon_last_error());
    for (ggml_tensor* t = ggml_get_first_tensor(bench.ctx.get()); t;
         t = ggml_get_next_tensor(bench.ctx.get(), t)) {
        if (!(t->flags & GGML_TENSOR_FLAG_INPUT)) continue;
        if (t->type == GGML_TYPE_F32) {
            fill(t);
        } else {
            ggml_backend_tensor_memset(t, 0, 0, ggml_nbytes(t));
        }
    }
    if (ggml_backend_is_cpu(bench.stream.get()))
        ggml_backend_cpu_set_use_ref(bench.stream.get(), !fusion);
    // The first run touches the memory of the results for the first time.
    if (ggml_backend_graph_compute(bench.stream.get(), bench.graph) != GGML_STATUS_SUCCESS)
        return state.SkipWithError(tenon_last_error());
    bench.run(state);
    state.counters["ns/token"] =
        Rate(1e-9 * static_cast<double>(tokens),
             benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

void register_chains(const Options& o) {
    ggml_backend_dev_t device = find_device(o.device);
    for (const Chain& chain : kChains) {
        for (const int64_t tokens : o.columns) {
            for (const int n_threads : o.threads) {
                for (const bool fusion : {true, false}) {
                    const std::string name =
                        cli::format("%s, %lld tokens, %d thread%s, %s", chain.name,
                                    static_cast<long long>(tokens), n_threads,
                                    n_threads == 1 ? "" : "s", fusion ? "together" : "one by one");
                    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
                        measure(state, chain, device, n_threads, tokens, fusion);
                    })->UseRealTime();
                }
            }
        }
    }
}

}  // namespace rt_bench
