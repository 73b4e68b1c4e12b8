// Evaluating tokens with a model: the KV cache, the graph, the scheduler over the devices in use.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "ggml-cpp.h"
#include "tools/rt_run/model.h"

namespace rt_run {

using Token = int32_t;

struct SessionOptions {
    int64_t n_ctx = 0;      // tokens the KV cache holds; 0: what the model was trained with
    int64_t n_batch = 512;  // tokens evaluated at once
    int n_threads = 0;      // 0: the library's default
    ggml_type kv_type = GGML_TYPE_F32;
    const std::atomic<bool>* cancel = nullptr;  // set: evaluate() ends as soon as the devices can
};

struct DeviceMemory {
    std::string device;
    size_t weights = 0, kv = 0, compute = 0;  // bytes
};

class Session {
public:
    // Opens a stream on `main`, on every device a placement rule names, and on the CPU.
    Session(const Model& model, ggml_backend_dev_t main, const SessionOptions& options);

    int64_t n_ctx() const { return n_ctx_; }
    int64_t n_past() const { return n_past_; }
    void reset() { n_past_ = 0; }  // forget all tokens

    // Evaluates tokens after those evaluated so far. The logits of the last one, or of all of them
    // (row after row), valid until the next call. Throws a Stop: context full, a device failed,
    // logits that are not finite. Empty when cancelled.
    std::span<const float> evaluate(std::span<const Token> tokens, bool all_logits = false);

    ggml_backend_sched_t scheduler() const { return sched_.get(); }
    int n_splits() const { return ggml_backend_sched_get_n_splits(sched_.get()); }
    std::vector<DeviceMemory> memory() const;

private:
    struct Inputs {
        ggml_tensor *tokens, *positions, *k_rows, *v_rows, *mask, *outputs;
    };
    void open_devices(ggml_backend_dev_t main);
    void make_cache(ggml_backend_dev_t main, ggml_type type);
    bool evaluate_batch(std::span<const Token> tokens, int64_t n_outputs);
    void check_logits() const;
    void build(int64_t n_tokens, int64_t n_kv, int64_t n_outputs);
    ggml_tensor* attention(ggml_context* ctx, const Layer& layer, size_t index, ggml_tensor* x,
                           int64_t n_tokens, int64_t n_kv);
    void set_inputs(std::span<const Token> tokens, int64_t n_kv, int64_t n_outputs);

    const Model& model_;
    SessionOptions options_;
    int64_t n_ctx_, n_past_ = 0;
    std::vector<ggml_backend_ptr> backends_;
    ggml_backend_sched_ptr sched_;
    ggml_context_ptr cache_ctx_;
    ggml_backend_buffer_ptr cache_;
    std::vector<ggml_tensor*> k_, v_;  // per layer: [head_size * n_head_kv, n_ctx], v transposed

    // The graph of the last evaluation, used again while the shapes stay the same.
    ggml_context_ptr graph_ctx_;
    ggml_cgraph* graph_ = nullptr;
    Inputs in_{};
    ggml_tensor* logits_node_ = nullptr;
    int64_t built_tokens_ = 0, built_kv_ = 0, built_outputs_ = 0;
    std::vector<float> logits_, mask_;
    std::vector<int32_t> positions_, outputs_;
    std::vector<int64_t> k_rows_, v_rows_;
};

}  // namespace rt_run
