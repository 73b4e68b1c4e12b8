// Evaluating tokens with a model: see session.h.

#include "tools/rt_run/session.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <limits>
#include <numeric>

#include "ggml-cpu.h"
#include "tenon/tenon.h"
#include "tools/cli/text.h"

namespace rt_run {

using tenon::cli::kFailed;
using tenon::cli::stop;

namespace {

constexpr int64_t kKvStep =
    32;  // the attended length grows in steps, so that graphs are used again
constexpr size_t kNodesPerLayer = 48;  // upper bounds for the graph's arena
constexpr size_t kNodesBeside = 64;

bool cancelled(void* flag) { return static_cast<const std::atomic<bool>*>(flag)->load(); }

template <class Fn>
Fn proc(ggml_backend_dev_t device, const char* name) {
    return reinterpret_cast<Fn>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), name));
}

void set(ggml_tensor* t, const void* data) {
    if (t->buffer || t->view_src) ggml_backend_tensor_set(t, data, 0, ggml_nbytes(t));
}

}  // namespace

Session::Session(const Model& model, ggml_backend_dev_t main, const SessionOptions& options)
    : model_(model),
      options_(options),
      n_ctx_(options.n_ctx > 0 ? options.n_ctx : model.params().n_ctx) {
    open_devices(main);
    std::vector<ggml_backend_t> raw;
    for (auto& b : backends_) raw.push_back(b.get());
    const size_t graph_size = kNodesPerLayer * model.layers().size() + kNodesBeside;
    sched_.reset(ggml_backend_sched_new(raw.data(), nullptr, static_cast<int>(raw.size()),
                                        2 * graph_size,
                                        /*parallel=*/false, /*op_offload=*/false));
    if (!sched_) throw stop(kFailed, "scheduler: %s", tenon_last_error());
    make_cache(main, options.kv_type);
}

void Session::open_devices(ggml_backend_dev_t main) {
    std::vector<ggml_backend_dev_t> devices{main};
    for (ggml_backend_dev_t d : model_.placed_devices()) devices.push_back(d);
    ggml_backend_dev_t cpu = cpu_device();
    std::erase(devices, cpu);
    devices.push_back(cpu);  // the scheduler wants it last
    for (size_t i = 0; i < devices.size(); ++i) {
        if (std::find(devices.begin(), devices.begin() + i, devices[i]) != devices.begin() + i)
            continue;
        ggml_backend_ptr backend(ggml_backend_dev_init(devices[i], nullptr));
        if (!backend) {
            throw stop(kFailed, "device %s: %s", ggml_backend_dev_name(devices[i]),
                       tenon_last_error());
        }
        if (options_.n_threads > 0) {
            if (auto fn =
                    proc<ggml_backend_set_n_threads_t>(devices[i], "ggml_backend_set_n_threads")) {
                fn(backend.get(), options_.n_threads);
            }
        }
        if (options_.cancel) {
            if (auto fn = proc<ggml_backend_set_abort_callback_t>(
                    devices[i], "ggml_backend_set_abort_callback")) {
                fn(backend.get(), cancelled, const_cast<std::atomic<bool>*>(options_.cancel));
            }
        }
        backends_.push_back(std::move(backend));
    }
}

void Session::make_cache(ggml_backend_dev_t main, ggml_type type) {
    const LlamaParams& p = model_.params();
    const int64_t n_row = p.head_size * p.n_head_kv;
    cache_ctx_.reset(ggml_init(
        {(2 * model_.layers().size() + 8) * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
    for (size_t i = 0; i < model_.layers().size(); ++i) {
        k_.push_back(ggml_new_tensor_2d(cache_ctx_.get(), type, n_row, n_ctx_));
        v_.push_back(ggml_new_tensor_2d(cache_ctx_.get(), type, n_ctx_, n_row));
        ggml_format_name(k_.back(), "cache_k-%zu", i);
        ggml_format_name(v_.back(), "cache_v-%zu", i);
    }
    // It lives where its rows can be written: on the main device if that can, else in host memory.
    ggml_context_ptr probe(ggml_init({8 * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
    const ggml_tensor* write =
        ggml_set_rows(probe.get(), ggml_new_tensor_2d(probe.get(), type, n_row, n_ctx_),
                      ggml_new_tensor_2d(probe.get(), GGML_TYPE_F32, n_row, 1),
                      ggml_new_tensor_1d(probe.get(), GGML_TYPE_I64, 1));
    if (!write)
        throw stop(kFailed, "KV cache of type %s: %s", ggml_type_name(type), tenon_last_error());
    ggml_backend_dev_t home = ggml_backend_dev_supports_op(main, write) ? main : cpu_device();
    cache_.reset(ggml_backend_alloc_ctx_tensors_from_buft(cache_ctx_.get(),
                                                          ggml_backend_dev_buffer_type(home)));
    if (!cache_) {
        throw stop(kFailed, "KV cache of %" PRId64 " tokens on %s: %s", n_ctx_,
                   ggml_backend_dev_name(home), tenon_last_error());
    }
    ggml_backend_buffer_clear(cache_.get(), 0);
}

std::span<const float> Session::evaluate(std::span<const Token> tokens, bool all_logits) {
    const int64_t n_vocab = model_.params().n_vocab;
    if (n_past_ + static_cast<int64_t>(tokens.size()) > n_ctx_) {
        throw stop(kFailed, "%zu tokens after %" PRId64 " do not fit the context of %" PRId64,
                   tokens.size(), n_past_, n_ctx_);
    }
    for (const Token t : tokens) {
        if (t < 0 || t >= n_vocab)
            throw stop(kFailed, "token %d: the vocabulary has %" PRId64, t, n_vocab);
    }
    if (tokens.empty()) return {};
    logits_.resize((all_logits ? tokens.size() : 1) * n_vocab);
    size_t row = 0;
    for (size_t at = 0; at < tokens.size();) {
        const size_t n = std::min<size_t>(tokens.size() - at, options_.n_batch);
        const bool last = at + n == tokens.size();
        const int64_t n_outputs = all_logits ? static_cast<int64_t>(n) : 1;
        // Not every device asks while it computes.
        if (options_.cancel && *options_.cancel) return {};
        if (!evaluate_batch(tokens.subspan(at, n), n_outputs)) return {};
        if (all_logits || last) {
            ggml_backend_tensor_get(logits_node_, &logits_[row * n_vocab], 0,
                                    n_outputs * n_vocab * sizeof(float));
            row += n_outputs;
        }
        at += n;
    }
    check_logits();
    return logits_;
}

// Choosing by numbers that are none would print noise as if it were text.
void Session::check_logits() const {
    const auto bad =
        std::find_if(logits_.begin(), logits_.end(), [](float x) { return !std::isfinite(x); });
    if (bad == logits_.end()) return;
    throw stop(kFailed,
               "logit %zu of %zu after %" PRId64
               " tokens is %f: the model's weights or parameters are not sound",
               static_cast<size_t>(bad - logits_.begin()), logits_.size(), n_past_, *bad);
}

// False: cancelled.
bool Session::evaluate_batch(std::span<const Token> tokens, int64_t n_outputs) {
    const auto n = static_cast<int64_t>(tokens.size());
    const int64_t n_kv = std::min(n_ctx_, (n_past_ + n + kKvStep - 1) / kKvStep * kKvStep);
    if (n != built_tokens_ || n_kv != built_kv_ || n_outputs != built_outputs_)
        build(n, n_kv, n_outputs);
    set_inputs(tokens, n_kv, n_outputs);
    const ggml_status status = ggml_backend_sched_graph_compute(sched_.get(), graph_);
    if (status == GGML_STATUS_ABORTED) return false;
    if (status != GGML_STATUS_SUCCESS) {
        throw stop(kFailed, "evaluation of %" PRId64 " tokens: %s", n, tenon_last_error());
    }
    n_past_ += n;
    return true;
}

// The attention of one layer, from normalised rows x: [n_embd, n_tokens] to the same shape.
ggml_tensor* Session::attention(ggml_context* ctx, const Layer& layer, size_t index, ggml_tensor* x,
                                int64_t n_tokens, int64_t n_kv) {
    const LlamaParams& p = model_.params();
    const int64_t n_row = p.head_size * p.n_head_kv;
    const auto project = [&](ggml_tensor* w, ggml_tensor* bias) {
        ggml_tensor* y = ggml_mul_mat(ctx, w, x);
        return bias ? ggml_add(ctx, y, bias) : y;
    };
    const auto rotate = [&](ggml_tensor* t) {
        return ggml_rope_ext(ctx, t, in_.positions, model_.rope_factors(),
                             static_cast<int>(p.n_rot), GGML_ROPE_TYPE_NORMAL,
                             static_cast<int>(p.n_ctx_orig), p.rope_base, p.rope_scale, p.yarn_ext,
                             1.0f, 32.0f, 1.0f);
    };
    ggml_tensor* q = rotate(
        ggml_reshape_3d(ctx, project(layer.attn_q, layer.q_bias), p.head_size, p.n_head, n_tokens));
    ggml_tensor* k = rotate(ggml_reshape_3d(ctx, project(layer.attn_k, layer.k_bias), p.head_size,
                                            p.n_head_kv, n_tokens));
    ggml_tensor* v = project(layer.attn_v, layer.v_bias);

    // Write first, then read the cache: the graph's order is the order of its roots.
    ggml_build_forward_expand(
        graph_,
        ggml_set_rows(ctx, k_[index], ggml_reshape_2d(ctx, k, n_row, n_tokens), in_.k_rows));
    ggml_tensor* v_elements = ggml_reshape_2d(ctx, v_[index], 1, n_ctx_ * n_row);
    ggml_build_forward_expand(
        graph_,
        ggml_set_rows(ctx, v_elements, ggml_reshape_2d(ctx, v, 1, n_row * n_tokens), in_.v_rows));

    const size_t k_bytes = ggml_element_size(k_[index]), v_bytes = ggml_element_size(v_[index]);
    ggml_tensor* keys = ggml_view_3d(ctx, k_[index], p.head_size, n_kv, p.n_head_kv,
                                     n_row * k_bytes, p.head_size * k_bytes, 0);
    ggml_tensor* values = ggml_view_3d(ctx, v_[index], n_kv, p.head_size, p.n_head_kv,
                                       n_ctx_ * v_bytes, n_ctx_ * p.head_size * v_bytes, 0);
    ggml_tensor* scores = ggml_mul_mat(ctx, keys, ggml_permute(ctx, q, 0, 2, 1, 3));
    scores = ggml_soft_max_ext(ctx, scores, in_.mask,
                               1.0f / std::sqrt(static_cast<float>(p.head_size)), 0.0f);
    ggml_tensor* mixed = ggml_permute(ctx, ggml_mul_mat(ctx, values, scores), 0, 2, 1, 3);
    return ggml_mul_mat(ctx, layer.attn_output,
                        ggml_cont_2d(ctx, mixed, p.head_size * p.n_head, n_tokens));
}

void Session::build(int64_t n_tokens, int64_t n_kv, int64_t n_outputs) {
    const LlamaParams& p = model_.params();
    built_tokens_ = 0;  // nothing is built until this returns
    ggml_backend_sched_reset(sched_.get());
    const size_t n_nodes = kNodesPerLayer * model_.layers().size() + kNodesBeside;
    graph_ctx_.reset(ggml_init(
        {n_nodes * ggml_tensor_overhead() + ggml_graph_overhead_custom(n_nodes, false), nullptr,
         /*no_alloc=*/true}));
    ggml_context* ctx = graph_ctx_.get();
    if (!ctx) throw stop(kFailed, "graph: %s", tenon_last_error());
    graph_ = ggml_new_graph_custom(ctx, n_nodes, false);
    const auto input = [&](ggml_type type, int64_t ne0, int64_t ne1, const char* name) {
        ggml_tensor* t = ggml_new_tensor_2d(ctx, type, ne0, ne1);
        ggml_set_input(t);
        ggml_set_output(t);  // keeps its memory to itself, so that the graph can be computed again
        return ggml_set_name(t, name);
    };
    const int64_t n_row = p.head_size * p.n_head_kv;
    in_ = {.tokens = input(GGML_TYPE_I32, n_tokens, 1, "inp_tokens"),
           .positions = input(GGML_TYPE_I32, n_tokens, 1, "inp_pos"),
           .k_rows = input(GGML_TYPE_I64, n_tokens, 1, "inp_k_rows"),
           .v_rows = input(GGML_TYPE_I64, n_tokens * n_row, 1, "inp_v_rows"),
           .mask = input(GGML_TYPE_F32, n_kv, n_tokens, "inp_mask"),
           .outputs = input(GGML_TYPE_I32, n_outputs, 1, "inp_outputs")};
    const auto normed = [&](ggml_tensor* t, ggml_tensor* weight) {
        return ggml_mul(ctx, ggml_rms_norm(ctx, t, p.norm_eps), weight);
    };
    ggml_tensor* x = ggml_get_rows(ctx, model_.token_embd(), in_.tokens);
    for (size_t i = 0; i < model_.layers().size(); ++i) {
        const Layer& layer = model_.layers()[i];
        x = ggml_add(ctx, x, attention(ctx, layer, i, normed(x, layer.attn_norm), n_tokens, n_kv));
        ggml_tensor* h = normed(x, layer.ffn_norm);
        h = ggml_swiglu_split(ctx, ggml_mul_mat(ctx, layer.ffn_gate, h),
                              ggml_mul_mat(ctx, layer.ffn_up, h));
        x = ggml_add(ctx, x, ggml_mul_mat(ctx, layer.ffn_down, h));
        ggml_format_name(x, "l_out-%zu", i);
    }
    x = normed(ggml_get_rows(ctx, x, in_.outputs), model_.output_norm());
    logits_node_ = ggml_mul_mat(ctx, model_.output(), x);
    ggml_set_name(logits_node_, "logits");
    ggml_set_output(logits_node_);
    ggml_build_forward_expand(graph_, logits_node_);
    if (!ggml_backend_sched_alloc_graph(sched_.get(), graph_)) {
        throw stop(kFailed, "memory for %" PRId64 " tokens: %s", n_tokens, tenon_last_error());
    }
    built_tokens_ = n_tokens;
    built_kv_ = n_kv;
    built_outputs_ = n_outputs;
}

void Session::set_inputs(std::span<const Token> tokens, int64_t n_kv, int64_t n_outputs) {
    const LlamaParams& p = model_.params();
    const auto n = static_cast<int64_t>(tokens.size());
    const int64_t n_row = p.head_size * p.n_head_kv;
    positions_.resize(n);
    std::iota(positions_.begin(), positions_.end(), static_cast<int32_t>(n_past_));
    k_rows_.assign(positions_.begin(), positions_.end());
    v_rows_.resize(n * n_row);
    mask_.resize(n * n_kv);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t at = n_past_ + i;
        for (int64_t e = 0; e < n_row; ++e) v_rows_[i * n_row + e] = e * n_ctx_ + at;
        for (int64_t j = 0; j < n_kv; ++j) {
            mask_[i * n_kv + j] = j <= at ? 0.0f : -std::numeric_limits<float>::infinity();
        }
    }
    outputs_.resize(n_outputs);
    std::iota(outputs_.begin(), outputs_.end(), static_cast<int32_t>(n - n_outputs));
    set(in_.tokens, tokens.data());
    set(in_.positions, positions_.data());
    set(in_.k_rows, k_rows_.data());
    set(in_.v_rows, v_rows_.data());
    set(in_.mask, mask_.data());
    set(in_.outputs, outputs_.data());
}

std::vector<DeviceMemory> Session::memory() const {
    std::vector<DeviceMemory> all;
    const auto of = [&](ggml_backend_buffer_type_t buft) -> DeviceMemory& {
        ggml_backend_dev_t device = ggml_backend_buft_get_device(buft);
        const std::string name = ggml_backend_dev_name(device ? device : cpu_device());
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const auto& m) { return m.device == name; });
        return found != all.end() ? *found : all.emplace_back(DeviceMemory{name});
    };
    // Not the sizes of the buffers: one may wrap the whole file for the sake of a few tensors.
    for (ggml_tensor* t = ggml_get_first_tensor(model_.tensors()); t;
         t = ggml_get_next_tensor(model_.tensors(), t)) {
        of(ggml_backend_buffer_get_type(t->buffer)).weights += ggml_nbytes(t);
    }
    of(ggml_backend_buffer_get_type(cache_.get())).kv += ggml_backend_buffer_get_size(cache_.get());
    for (const auto& backend : backends_) {
        of(ggml_backend_sched_get_buffer_type(sched_.get(), backend.get())).compute +=
            ggml_backend_sched_get_buffer_size(sched_.get(), backend.get());
    }
    return all;
}

}  // namespace rt_run
