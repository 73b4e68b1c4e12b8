// A llama-architecture model: see model.h.

#include "tools/rt_run/model.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "tenon/tenon.h"
#include "tools/cli/text.h"
#include "tools/rt_run/gguf_values.h"

namespace rt_run {

using tenon::cli::kFailed;
using tenon::cli::stop;

namespace {

std::string shape_text(const int64_t* ne, size_t n) {
    std::string text = "[";
    for (size_t i = 0; i < n; ++i) text += (i ? ", " : "") + std::to_string(ne[i]);
    return text + "]";
}

// Whether `device` computes what the model does with this weight: rows are looked up in the
// embedding, matrices are multiplied, vectors scale or shift rows.
bool can_use(ggml_backend_dev_t device, const ggml_tensor& weight) {
    const bool embedding = std::string(weight.name) == "token_embd.weight";
    ggml_context_ptr ctx(ggml_init({16 * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
    ggml_tensor* w = ggml_new_tensor(ctx.get(), weight.type, 4, weight.ne);
    ggml_tensor* x = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, weight.ne[0], 4);
    ggml_tensor* node = nullptr;
    if (embedding) {
        node = ggml_get_rows(ctx.get(), w, ggml_new_tensor_1d(ctx.get(), GGML_TYPE_I32, 4));
    } else if (ggml_n_dims(&weight) == 1) {
        node = ggml_mul(ctx.get(), x, w);
    } else {
        node = ggml_mul_mat(ctx.get(), w, x);
    }
    return node && ggml_backend_dev_supports_op(device, node);
}

}  // namespace

ggml_backend_dev_t cpu_device() {
    if (ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU)) return cpu;
    throw stop(kFailed,
               "no CPU device: no usable CPU plugin was found (rt-info --plugins says why)");
}

Model::Model(const std::string& path, ggml_backend_dev_t main,
             const std::vector<PlacementRule>& rules, Weights weights)
    : source_(path), metadata_(tenon::cli::read_metadata(source_)) {
    try {
        read_params();
        find_tensors();
    } catch (const std::exception& e) {
        throw stop(kFailed, "%s: %s", path.c_str(), e.what());
    }
    if (weights == Weights::kMapped) mapping_ = tenon::cli::MappedFile(source_);
    place_weights(main, rules);
}

void Model::read_params() {
    const gguf_context* file = this->file();
    const auto architecture = required<std::string>(file, "general.architecture");
    if (architecture != "llama") {
        throw std::runtime_error("architecture '" + architecture +
                                 "' is not supported (supported: llama)");
    }
    const auto count = [&](const char* key, std::optional<uint32_t> otherwise = {}) -> int64_t {
        const auto found = value<uint32_t>(file, std::string("llama.") + key);
        if (!found && !otherwise)
            throw std::runtime_error(std::string("key 'llama.") + key + "' is missing");
        const uint32_t n = found ? *found : *otherwise;
        if (n < 1 || n > (1u << 30)) {
            throw std::runtime_error(std::string("key 'llama.") + key + "' is " +
                                     std::to_string(n) + ", expected 1 to 1073741824");
        }
        return n;
    };
    LlamaParams& p = params_;
    p.n_ctx = count("context_length");
    p.n_embd = count("embedding_length");
    p.n_layer = count("block_count");
    p.n_ff = count("feed_forward_length");
    p.n_head = count("attention.head_count");
    p.n_head_kv = count("attention.head_count_kv", static_cast<uint32_t>(p.n_head));
    if (p.n_head % p.n_head_kv != 0) {
        throw std::runtime_error("key 'llama.attention.head_count_kv' is " +
                                 std::to_string(p.n_head_kv) + ", which does not divide the " +
                                 std::to_string(p.n_head) + " heads");
    }
    p.head_size = count("attention.key_length",
                        static_cast<uint32_t>(std::max<int64_t>(1, p.n_embd / p.n_head)));
    if (count("attention.value_length", static_cast<uint32_t>(p.head_size)) != p.head_size) {
        throw std::runtime_error("keys and values of different length are not supported");
    }
    p.n_rot = count("rope.dimension_count", static_cast<uint32_t>(p.head_size));
    if (p.n_rot > p.head_size || p.n_rot % 2 != 0) {
        throw std::runtime_error("key 'llama.rope.dimension_count' is " + std::to_string(p.n_rot) +
                                 ", expected an even number up to the head size " +
                                 std::to_string(p.head_size));
    }
    // A number that is none here would make all logits so.
    const auto finite = [](const char* key, float x, bool valid) {
        if (valid && std::isfinite(x)) return x;
        throw std::runtime_error(std::string("key '") + key + "' is " + std::to_string(x) +
                                 ", which is out of range");
    };
    p.norm_eps = required<float>(file, "llama.attention.layer_norm_rms_epsilon");
    finite("llama.attention.layer_norm_rms_epsilon", p.norm_eps, p.norm_eps >= 0);
    p.rope_base = value<float>(file, "llama.rope.freq_base").value_or(10000.0f);
    finite("llama.rope.freq_base", p.rope_base, p.rope_base > 0);
    p.n_ctx_orig = count("rope.scaling.original_context_length", static_cast<uint32_t>(p.n_ctx));
    const auto scaling = value<std::string>(file, "llama.rope.scaling.type").value_or("none");
    const float factor = value<float>(file, "llama.rope.scaling.factor").value_or(1.0f);
    if (scaling != "none" && scaling != "linear" && scaling != "yarn") {
        throw std::runtime_error("rope scaling '" + scaling +
                                 "' is not supported (supported: none, linear, yarn)");
    }
    if (scaling != "none") {
        finite("llama.rope.scaling.factor", factor, factor >= 0);
        if (factor > 0) p.rope_scale = 1.0f / factor;  // 0: files without scaling say so, too
        finite("llama.rope.scaling.factor", factor, std::isfinite(p.rope_scale));
    }
    if (scaling == "yarn") p.yarn_ext = 1.0f;
}

ggml_tensor* Model::find(const std::string& name, std::vector<int64_t> shape,
                         bool required_tensor) {
    ggml_tensor* t = ggml_get_tensor(tensors(), name.c_str());
    if (!t) {
        if (required_tensor) throw std::runtime_error("tensor '" + name + "' is missing");
        return nullptr;
    }
    used_[name] = 1;
    for (size_t i = 0; i < GGML_MAX_DIMS; ++i) {
        if (t->ne[i] != (i < shape.size() ? shape[i] : 1)) {
            throw std::runtime_error("tensor '" + name + "' has shape " +
                                     shape_text(t->ne, ggml_n_dims(t)) + ", expected " +
                                     shape_text(shape.data(), shape.size()));
        }
    }
    return t;
}

void Model::find_tensors() {
    LlamaParams& p = params_;
    const ggml_tensor* embd = ggml_get_tensor(tensors(), "token_embd.weight");
    p.n_vocab = embd ? embd->ne[1] : 0;
    token_embd_ = find("token_embd.weight", {p.n_embd, p.n_vocab});
    output_norm_ = find("output_norm.weight", {p.n_embd});
    output_ = find("output.weight", {p.n_embd, p.n_vocab}, /*required_tensor=*/false);
    if (!output_) output_ = token_embd_;
    rope_factors_ = find("rope_freqs.weight", {p.n_rot / 2}, /*required_tensor=*/false);
    const int64_t n_q = p.head_size * p.n_head, n_kv = p.head_size * p.n_head_kv;
    for (int64_t i = 0; i < p.n_layer; ++i) {
        const std::string blk = "blk." + std::to_string(i) + ".";
        layers_.push_back({
            .attn_norm = find(blk + "attn_norm.weight", {p.n_embd}),
            .attn_q = find(blk + "attn_q.weight", {p.n_embd, n_q}),
            .attn_k = find(blk + "attn_k.weight", {p.n_embd, n_kv}),
            .attn_v = find(blk + "attn_v.weight", {p.n_embd, n_kv}),
            .attn_output = find(blk + "attn_output.weight", {n_q, p.n_embd}),
            .ffn_norm = find(blk + "ffn_norm.weight", {p.n_embd}),
            .ffn_gate = find(blk + "ffn_gate.weight", {p.n_embd, p.n_ff}),
            .ffn_up = find(blk + "ffn_up.weight", {p.n_embd, p.n_ff}),
            .ffn_down = find(blk + "ffn_down.weight", {p.n_ff, p.n_embd}),
            .q_bias = find(blk + "attn_q.bias", {n_q}, /*required_tensor=*/false),
            .k_bias = find(blk + "attn_k.bias", {n_kv}, /*required_tensor=*/false),
            .v_bias = find(blk + "attn_v.bias", {n_kv}, /*required_tensor=*/false),
        });
    }
    // A tensor we do not know would be left out of the computation: better to say so.
    for (ggml_tensor* t = ggml_get_first_tensor(tensors()); t;
         t = ggml_get_next_tensor(tensors(), t)) {
        if (!used_.count(t->name)) {
            throw std::runtime_error(
                std::string("tensor '") + t->name +
                "' is not part of the llama architecture as this program knows it");
        }
    }
}

ggml_backend_dev_t Model::choose_device(const ggml_tensor& weight, ggml_backend_dev_t main,
                                        const std::vector<PlacementRule>& rules) {
    for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
        if (tenon::cli::glob_match(rule->glob, weight.name)) return rule->device;
    }
    if (can_use(main, weight)) return main;
    ggml_backend_dev_t cpu = cpu_device();
    if (can_use(cpu, weight)) return cpu;
    throw stop(kFailed, "%s: tensor '%s' has type %s, which no device here computes with",
               source_.path().c_str(), weight.name, ggml_type_name(weight.type));
}

void Model::place_weights(ggml_backend_dev_t main, const std::vector<PlacementRule>& rules) {
    for (const PlacementRule& rule : rules) {
        bool matches = false;
        for (const auto& [name, _] : used_) matches |= tenon::cli::glob_match(rule.glob, name);
        if (!matches) {
            throw stop(tenon::cli::kUnknownName, "--place %s=%s: no tensor of the model matches",
                       rule.glob.c_str(), ggml_backend_dev_name(rule.device));
        }
        const auto end = placed_devices_.end();
        if (std::find(placed_devices_.begin(), end, rule.device) == end)
            placed_devices_.push_back(rule.device);
    }
    std::vector<std::pair<ggml_backend_dev_t, std::vector<ggml_tensor*>>> by_device;
    for (ggml_tensor* t = ggml_get_first_tensor(tensors()); t;
         t = ggml_get_next_tensor(tensors(), t)) {
        ggml_backend_dev_t device = choose_device(*t, main, rules);
        auto group = std::find_if(by_device.begin(), by_device.end(),
                                  [&](auto& g) { return g.first == device; });
        if (group == by_device.end()) group = by_device.insert(by_device.end(), {device, {}});
        group->second.push_back(t);
    }
    for (auto& [device, weights] : by_device) {
        ggml_backend_dev_props props;
        ggml_backend_dev_get_props(device, &props);
        if (mapping_.data() && props.caps.buffer_from_host_ptr && props.caps.mmap_support) {
            use_in_place(device, weights);
        } else {
            upload(ggml_backend_dev_buffer_type(device), weights);
        }
    }
    for (auto& buffer : buffers_) {
        ggml_backend_buffer_set_usage(buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
}

// Throws when the file ends before the data does.
size_t Model::offset_in_file(const ggml_tensor* weight) const {
    const int64_t id = gguf_find_tensor(file(), weight->name);
    const size_t offset = gguf_get_data_offset(file()) + gguf_get_tensor_offset(file(), id);
    if (offset > source_.size() || ggml_nbytes(weight) > source_.size() - offset) {
        throw stop(kFailed, "%s: tensor '%s' ends at %zu, the file has %zu bytes",
                   source_.path().c_str(), weight->name, offset + ggml_nbytes(weight),
                   static_cast<size_t>(source_.size()));
    }
    return offset;
}

void Model::use_in_place(ggml_backend_dev_t device, const std::vector<ggml_tensor*>& weights) {
    // Files may align their tensors less than the device wants.
    const auto alignment = ggml_backend_buft_get_alignment(ggml_backend_dev_buffer_type(device));
    size_t largest = 0;
    for (const ggml_tensor* t : weights) {
        if (reinterpret_cast<uintptr_t>(mapping_.data() + offset_in_file(t)) % alignment != 0) {
            return upload(ggml_backend_dev_buffer_type(device), weights);
        }
        largest = std::max(largest, ggml_nbytes(t));
    }
    ggml_backend_buffer_ptr buffer(
        ggml_backend_dev_buffer_from_host_ptr(device, mapping_.data(), mapping_.size(), largest));
    if (!buffer) return upload(ggml_backend_dev_buffer_type(device), weights);
    for (ggml_tensor* t : weights) {
        if (ggml_backend_tensor_alloc(buffer.get(), t, mapping_.data() + offset_in_file(t)) !=
            GGML_STATUS_SUCCESS) {
            throw stop(kFailed, "%s: %s", source_.path().c_str(), tenon_last_error());
        }
    }
    buffers_.push_back(std::move(buffer));
}

// From the file to where the weight lives: at once, since a device may store it in another order.
void Model::fill(ggml_tensor* weight) const {
    const size_t offset = offset_in_file(weight), size = ggml_nbytes(weight);
    if (mapping_.data()) {
        return ggml_backend_tensor_set(weight, mapping_.data() + offset, 0, size);
    }
    const bool in_place = ggml_backend_buffer_is_host(weight->buffer);
    std::vector<char> copy(in_place ? 0 : size);
    void* bytes = in_place ? weight->data : copy.data();
    if (const size_t got = source_.read(offset, bytes, size); got != size) {
        throw stop(kFailed, "%s: tensor '%s': %zu bytes at %zu, only %zu could be read",
                   source_.path().c_str(), weight->name, size, offset, got);
    }
    if (!in_place) ggml_backend_tensor_set(weight, bytes, 0, size);
}

void Model::upload(ggml_backend_buffer_type_t buft, const std::vector<ggml_tensor*>& weights) {
    const size_t alignment = ggml_backend_buft_get_alignment(buft);
    size_t total = alignment;
    for (const ggml_tensor* t : weights) {
        offset_in_file(t);  // before there is memory for what the file only claims to hold
        total += GGML_PAD(ggml_backend_buft_get_alloc_size(buft, t), alignment);
    }
    ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(buft, total));
    if (!buffer) {
        throw stop(kFailed, "%zu bytes for weights on %s: %s", total, ggml_backend_buft_name(buft),
                   tenon_last_error());
    }
    ggml_tallocr place = ggml_tallocr_new(buffer.get());
    for (ggml_tensor* t : weights) {
        if (ggml_tallocr_alloc(&place, t) != GGML_STATUS_SUCCESS) {
            throw stop(kFailed, "tensor '%s' on %s: %s", t->name, ggml_backend_buft_name(buft),
                       tenon_last_error());
        }
        fill(t);
    }
    buffers_.push_back(std::move(buffer));
}

}  // namespace rt_run
