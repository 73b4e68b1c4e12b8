// A model with rows of 256, seeded random weights, in every tensor type: its logits against those
// of the same model in F32, and against an F32 model with the values the type decodes to.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ggml-cpp.h"
#include "tests/support/variant.h"
#include "tools/rt_run/session.h"

namespace {

using namespace rt_run;

constexpr int64_t kEmbd = 256, kFf = 512, kLayers = 2, kVocab = 512;
const std::string kTokenizerSource = TENON_TEST_DATA "/data/stories260K.gguf";

struct NamedTensor {
    std::string name;
    int64_t ne0, ne1;
    std::vector<float> values;
};

// The weights of a small llama model: matrices about 1/sqrt(row), norms about 1.
std::vector<NamedTensor> random_weights() {
    std::mt19937_64 random(7);
    std::vector<NamedTensor> all;
    const auto add = [&](const std::string& name, int64_t ne0, int64_t ne1) {
        NamedTensor t{name, ne0, ne1, std::vector<float>(ne0 * ne1)};
        for (float& x : t.values) {
            double sum = -6;  // twelve uniform numbers make a good enough bell
            for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
            x = static_cast<float>(ne1 == 1 ? 1 + 0.1 * sum
                                            : sum / std::sqrt(static_cast<double>(ne0)));
        }
        all.push_back(std::move(t));
    };
    add("token_embd.weight", kEmbd, kVocab);
    add("output_norm.weight", kEmbd, 1);
    add("output.weight", kEmbd, kVocab);
    for (int64_t i = 0; i < kLayers; ++i) {
        const std::string blk = "blk." + std::to_string(i) + ".";
        for (const char* norm : {"attn_norm", "ffn_norm"}) add(blk + norm + ".weight", kEmbd, 1);
        for (const char* matrix : {"attn_q", "attn_k", "attn_v", "attn_output"})
            add(blk + matrix + ".weight", kEmbd, kEmbd);
        add(blk + "ffn_gate.weight", kEmbd, kFf);
        add(blk + "ffn_up.weight", kEmbd, kFf);
        add(blk + "ffn_down.weight", kFf, kEmbd);
    }
    return all;
}

// Rows of `t` in `type`; norms stay f32.
std::vector<char> converted(const NamedTensor& t, ggml_type type) {
    std::vector<char> bytes(ggml_row_size(type, t.ne0) * t.ne1);
    const std::vector<float> even(t.ne0, 1.0f);  // importance, for the types that need some
    EXPECT_EQ(ggml_quantize_chunk(type, t.values.data(), bytes.data(), 0, t.ne1, t.ne0,
                                  ggml_quantize_requires_imatrix(type) ? even.data() : nullptr),
              bytes.size());
    return bytes;
}

std::string write_model(const std::vector<NamedTensor>& weights, ggml_type type,
                        const std::string& tag) {
    gguf_context_ptr source(gguf_init_from_file(kTokenizerSource.c_str(), {true, nullptr}));
    gguf_context_ptr file(gguf_init_empty());
    gguf_set_kv(file.get(), source.get());
    const std::pair<const char*, uint32_t> sizes[] = {
        {"llama.embedding_length", kEmbd},    {"llama.block_count", kLayers},
        {"llama.feed_forward_length", kFf},   {"llama.attention.head_count", 4},
        {"llama.attention.head_count_kv", 4}, {"llama.rope.dimension_count", 64}};
    for (const auto& [key, value] : sizes) gguf_set_val_u32(file.get(), key, value);
    ggml_context_ptr ctx(ggml_init({64 * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
    std::vector<std::vector<char>> data;
    for (const NamedTensor& t : weights) {
        const ggml_type own = t.ne1 == 1 ? GGML_TYPE_F32 : type;
        data.push_back(converted(t, own));
        ggml_tensor* tensor = t.ne1 == 1 ? ggml_new_tensor_1d(ctx.get(), own, t.ne0)
                                         : ggml_new_tensor_2d(ctx.get(), own, t.ne0, t.ne1);
        ggml_set_name(tensor, t.name.c_str());
        gguf_add_tensor(file.get(), tensor);
        gguf_set_tensor_data(file.get(), t.name.c_str(), data.back().data());
    }
    const std::string path = testing::TempDir() + "tenon-" + tag + ".gguf";
    EXPECT_TRUE(gguf_write_to_file(file.get(), path.c_str(), false)) << tenon_last_error();
    return path;
}

std::vector<float> logits_of(const std::string& path) {
    const Model model(path, cpu_device(), {});
    Session session(model, cpu_device(), {.n_ctx = 32});
    const std::vector<Token> tokens{1, 403, 407, 261, 378, 432, 383, 286, 261, 376};
    const auto logits = session.evaluate(tokens, /*all_logits=*/true);
    std::remove(path.c_str());
    return {logits.begin(), logits.end()};
}

double nmse(const std::vector<float>& want, const std::vector<float>& got) {
    double difference = 0, power = 0;
    for (size_t i = 0; i < want.size(); ++i) {
        difference += (want[i] - got[i]) * static_cast<double>(want[i] - got[i]);
        power += want[i] * static_cast<double>(want[i]);
    }
    return difference / power;
}

// The same weights after a trip through the type.
std::vector<NamedTensor> decoded(std::vector<NamedTensor> weights, ggml_type type) {
    for (NamedTensor& t : weights) {
        if (t.ne1 == 1 || type == GGML_TYPE_F32) continue;
        const std::vector<char> bytes = converted(t, type);
        for (int64_t r = 0; r < t.ne1; ++r) {
            ggml_get_type_traits(type)->to_float(bytes.data() + r * ggml_row_size(type, t.ne0),
                                                 t.values.data() + r * t.ne0, t.ne0);
        }
    }
    return weights;
}

// Squared error of the weights over their squared size.
double weight_error(const std::vector<NamedTensor>& want, const std::vector<NamedTensor>& got) {
    std::vector<float> a, b;
    for (size_t i = 0; i < want.size(); ++i) {
        a.insert(a.end(), want[i].values.begin(), want[i].values.end());
        b.insert(b.end(), got[i].values.begin(), got[i].values.end());
    }
    return nmse(a, b);
}

std::vector<ggml_type> weight_types() {
    std::vector<ggml_type> types;
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = static_cast<ggml_type>(i);
        if (type == GGML_TYPE_Q8_1 || type == GGML_TYPE_Q8_K) continue;  // for activations only
        if (ggml_blck_size(type) > 0 &&
            (type == GGML_TYPE_F32 || ggml_get_type_traits(type)->to_float))
            types.push_back(type);
    }
    return types;
}

class QuantizedModel : public testing::TestWithParam<ggml_type> {};

TEST_P(QuantizedModel, LogitsStayNearThoseOfTheF32Model) {
    TENON_REQUIRE_VARIANT();
    const ggml_type type = GetParam();
    const std::string name = ggml_type_name(type);
    const auto weights = random_weights();
    const auto got = logits_of(write_model(weights, type, name));
    const auto exact =
        logits_of(write_model(decoded(weights, type), GGML_TYPE_F32, name + "-decoded"));
    const auto original = logits_of(write_model(weights, GGML_TYPE_F32, name + "-f32"));
    // Against the decoded weights only the rounding of activations to 8 bits is left.
    // Activations of bf16 weights are bf16 where processors multiply these.
    const double rounding = ggml_is_quantized(type) ? 2e-3 : type == GGML_TYPE_BF16 ? 1e-4 : 1e-5;
    EXPECT_LT(nmse(exact, got), rounding) << name;
    // Against the original weights the type's own error shows, grown by a dozen matrices in a row.
    const double limit = 30 * weight_error(weights, decoded(weights, type)) +
                         (ggml_is_quantized(type) ? 2e-3 : 1e-6);
    EXPECT_LT(nmse(original, got), std::min(2.5, limit)) << name;
}

INSTANTIATE_TEST_SUITE_P(Types, QuantizedModel, testing::ValuesIn(weight_types()),
                         [](const auto& type) { return std::string(ggml_type_name(type.param)); });

}  // namespace
