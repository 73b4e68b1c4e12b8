// A llama-architecture model from a GGUF file: its parameters, and its weights on the devices that
// are to hold them. The file is mapped and weights are used in place where a device can, unless
// they are to be read into memory of the device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ggml-cpp.h"
#include "tools/cli/files.h"

namespace rt_run {

struct LlamaParams {
    int64_t n_vocab = 0, n_ctx = 0, n_embd = 0, n_layer = 0, n_ff = 0, n_head = 0, n_head_kv = 0;
    int64_t head_size = 0, n_rot = 0;
    float norm_eps = 1e-5f;
    float rope_base = 10000.0f, rope_scale = 1.0f, yarn_ext = 0.0f;
    int64_t n_ctx_orig = 0;
};

struct Layer {
    ggml_tensor *attn_norm, *attn_q, *attn_k, *attn_v, *attn_output;
    ggml_tensor *ffn_norm, *ffn_gate, *ffn_up, *ffn_down;
    ggml_tensor *q_bias, *k_bias, *v_bias;  // NULL where the model has none
};

// `--place GLOB=DEVICE`: tensors whose name matches live on that device. Later rules win.
struct PlacementRule {
    std::string glob;
    ggml_backend_dev_t device;
};

enum class Weights { kMapped, kRead };

class Model {
public:
    // `main` holds every weight it can use, the CPU the rest; `rules` come before both. Throws a
    // Stop naming what is missing or wrong: architecture, key, tensor, type, shape, memory.
    Model(const std::string& path, ggml_backend_dev_t main, const std::vector<PlacementRule>& rules,
          Weights weights = Weights::kMapped);

    const gguf_context* file() const { return metadata_.gguf.get(); }
    const LlamaParams& params() const { return params_; }
    const std::vector<Layer>& layers() const { return layers_; }
    ggml_tensor* token_embd() const { return token_embd_; }
    ggml_tensor* output_norm() const { return output_norm_; }
    ggml_tensor* output() const { return output_; }  // token_embd when the file has none
    ggml_tensor* rope_factors() const { return rope_factors_; }  // NULL when the file has none
    // All weights, each in a buffer.
    ggml_context* tensors() const { return metadata_.tensors.get(); }
    const std::vector<ggml_backend_buffer_ptr>& buffers() const { return buffers_; }
    // Devices that hold weights by a rule, in the order of the rules, without doubles.
    const std::vector<ggml_backend_dev_t>& placed_devices() const { return placed_devices_; }

private:
    void read_params();
    void find_tensors();
    ggml_tensor* find(const std::string& name, std::vector<int64_t> shape, bool required = true);
    ggml_backend_dev_t choose_device(const ggml_tensor& weight, ggml_backend_dev_t main,
                                     const std::vector<PlacementRule>& rules);
    void place_weights(ggml_backend_dev_t main, const std::vector<PlacementRule>& rules);
    void use_in_place(ggml_backend_dev_t device, const std::vector<ggml_tensor*>& weights);
    void upload(ggml_backend_buffer_type_t buft, const std::vector<ggml_tensor*>& weights);
    void fill(ggml_tensor* weight) const;
    size_t offset_in_file(const ggml_tensor* weight) const;

    tenon::cli::InputFile source_;
    tenon::cli::Metadata metadata_;
    tenon::cli::MappedFile mapping_;                // of nothing when weights are read
    std::vector<ggml_backend_buffer_ptr> buffers_;  // freed before the mapping they may wrap
    LlamaParams params_;
    std::vector<Layer> layers_;
    ggml_tensor *token_embd_ = nullptr, *output_norm_ = nullptr, *output_ = nullptr,
                *rope_factors_ = nullptr;
    std::vector<ggml_backend_dev_t> placed_devices_;
    std::map<std::string, int> used_;  // names of tensors that were asked for
};

// The first CPU device; throws a Stop when there is none.
ggml_backend_dev_t cpu_device();

}  // namespace rt_run
