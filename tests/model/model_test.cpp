// The bundled model: the reference's tokens exactly, its logits closely, on one and two threads and
// with weights spread over two devices.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/variant.h"
#include "tools/rt_run/generate.h"

namespace {

using namespace rt_run;
using nlohmann::json;

const std::string kData = TENON_TEST_DATA "/data/";
const std::string kModel = kData + "stories260K.gguf";

// The discrete test plugin must be found by the first load of the process.
class WithTestPlugins : public testing::Environment {
    void SetUp() override { setenv("TENON_PLUGIN_ADD_PATH", TENON_TEST_PLUGINS, /*overwrite=*/0); }
};
const auto* const kEnvironment = testing::AddGlobalTestEnvironment(new WithTestPlugins);

json expected() {
    std::ifstream file(kData + "stories260K.expected.json");
    return json::parse(file);
}

double nmse(std::span<const float> got, const std::vector<float>& want) {
    double difference = 0, power = 0;
    for (size_t i = 0; i < want.size(); ++i) {
        difference += (got[i] - want[i]) * static_cast<double>(got[i] - want[i]);
        power += want[i] * static_cast<double>(want[i]);
    }
    return difference / power;
}

// Every prompt of the reference: token ids, logits after the prompt, 64 greedy tokens, text.
void expect_reference(const Model& model, ggml_backend_dev_t main, int n_threads) {
    const Tokenizer tokenizer(model.file());
    SessionOptions options;
    options.n_threads = n_threads;
    Session session(model, main, options);
    const std::atomic<bool> never{false};
    const json reference = expected();
    ASSERT_EQ(reference["cases"].size(), 5u);
    for (const json& want : reference["cases"]) {
        SCOPED_TRACE(want["prompt"].get<std::string>());
        const auto prompt = tokenizer.encode(want["prompt"].get<std::string>(), true);
        ASSERT_EQ(prompt, want["prompt_tokens"].get<std::vector<Token>>());
        session.reset();
        const auto logits = session.evaluate(prompt);
        ASSERT_EQ(logits.size(), 512u);
        EXPECT_LT(nmse(logits, want["logits_after_prompt"].get<std::vector<float>>()), 1e-6);

        session.reset();
        Sampler greedy({.temperature = 0});
        const Generation g = generate(session, tokenizer, greedy, want["prompt"], 64, never,
                                      [](std::string_view) {});
        EXPECT_EQ(g.tokens, want["greedy_tokens"].get<std::vector<Token>>());
        EXPECT_EQ(g.text, want["greedy_text"].get<std::string>());
    }
}

std::vector<PlacementRule> weights_on_discrete(ggml_backend_dev_t device) {
    std::vector<PlacementRule> rules;
    for (const char* layer : {"0", "2", "4"}) {
        for (const char* matrix :
             {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
            rules.push_back({std::string("blk.") + layer + "." + matrix + ".weight", device});
        }
    }
    return rules;
}

TEST(Model, GivesTheReferenceTokensAndLogitsOnOneThread) {
    TENON_REQUIRE_VARIANT();
    const Model model(kModel, cpu_device(), {});
    expect_reference(model, cpu_device(), 1);
}

TEST(Model, GivesTheReferenceTokensAndLogitsOnTwoThreads) {
    TENON_REQUIRE_VARIANT();
    const Model model(kModel, cpu_device(), {});
    expect_reference(model, cpu_device(), 2);
}

TEST(Model, GivesTheReferenceTokensAndLogitsAcrossTwoDevices) {
    TENON_REQUIRE_VARIANT();
    ggml_backend_dev_t discrete = ggml_backend_dev_by_name("DISCRETE0");
    ASSERT_NE(discrete, nullptr) << tenon_last_error();
    const Model model(kModel, cpu_device(), weights_on_discrete(discrete));
    for (const int n_threads : {1, 2}) expect_reference(model, cpu_device(), n_threads);

    // The pinned matrices must really be multiplied over there.
    Session session(model, cpu_device(), {});
    const std::vector<Token> one{1};
    session.evaluate(one);
    EXPECT_GT(session.n_splits(), 3);
}

TEST(Model, WeightsInHostMemoryAreUsedInPlace) {
    const Model model(kModel, cpu_device(), {});
    ASSERT_EQ(model.buffers().size(), 1u);
    EXPECT_STREQ(ggml_backend_buffer_name(model.buffers()[0].get()), "CPU_Mapped");
}

TEST(Model, ScoresTheEvaluationTextAsTheReferenceDoes) {
    TENON_REQUIRE_VARIANT();
    const Model model(kModel, cpu_device(), {});
    const Tokenizer tokenizer(model.file());
    Session session(model, cpu_device(), {});
    std::ifstream file(kData + "stories-eval.txt", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::atomic<bool> never{false};
    const Evaluation e =
        evaluate_text(session, tokenizer, text, 128, never, [](int64_t, int64_t) {});
    const json reference = expected();
    const json& want = reference["eval"];
    EXPECT_EQ(e.n_tokens, want["tokens"].get<int64_t>());
    EXPECT_EQ(e.n_scored, want["scored"].get<int64_t>());
    EXPECT_NEAR(e.mean_nll, 1.6284, 0.001);
}

TEST(Model, EvaluatingInPiecesGivesWhatEvaluatingAtOnceGives) {
    const Model model(kModel, cpu_device(), {});
    const Tokenizer tokenizer(model.file());
    const auto tokens = tokenizer.encode("Lily and Tom went to the park and saw a big dog", true);
    Session whole(model, cpu_device(), {});
    const auto at_once = whole.evaluate(tokens);
    const std::vector<float> want(at_once.begin(), at_once.end());
    SessionOptions options;
    options.n_batch = 3;
    Session pieces(model, cpu_device(), options);
    EXPECT_LT(nmse(pieces.evaluate(tokens), want), 1e-10);
}

TEST(Model, SaysSoWhenTheContextIsFull) {
    const Model model(kModel, cpu_device(), {});
    const Tokenizer tokenizer(model.file());
    SessionOptions options;
    options.n_ctx = 8;
    Session session(model, cpu_device(), options);
    Sampler greedy({.temperature = 0});
    const std::atomic<bool> never{false};
    const Generation g = generate(session, tokenizer, greedy, "Once upon a time", 64, never,
                                  [](std::string_view) {});
    EXPECT_EQ(g.stop, StopReason::kContextFull);
    EXPECT_EQ(g.prompt.size() + g.tokens.size(), 9u);  // the last token needs no room any more
    EXPECT_THROW(session.evaluate(g.prompt), std::runtime_error);
}

TEST(Model, AFileOfAnotherArchitectureIsRefusedByName) {
    gguf_context_ptr file(gguf_init_empty());
    gguf_set_val_str(file.get(), "general.architecture", "mamba");
    const std::string path = testing::TempDir() + "mamba.gguf";
    ASSERT_TRUE(gguf_write_to_file(file.get(), path.c_str(), false));
    try {
        const Model model(path, cpu_device(), {});
        FAIL() << "accepted";
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string(e.what()).find("architecture 'mamba' is not supported"),
                  std::string::npos)
            << e.what();
    }
    std::remove(path.c_str());
}

TEST(Tokenizer, TextSurvivesThereAndBack) {
    const Model model(kModel, cpu_device(), {});
    const Tokenizer tokenizer(model.file());
    for (const std::string text :
         {"Hello  world", "caf\xc3\xa9 \xf0\x9f\x98\x80", "a\nb\tc", "\xff\xfe"}) {
        std::string back;
        for (const Token t : tokenizer.encode(text, false)) back += tokenizer.decode(t);
        EXPECT_EQ(back, " " + text);
    }
}

TEST(Utf8Stream, HoldsBackHalvesOfCharacters) {
    Utf8Stream stream;
    EXPECT_EQ(stream.push("a\xf0\x9f"), "a");
    EXPECT_EQ(stream.push("\x98"), "");
    EXPECT_EQ(stream.push("\x80z"), "\xf0\x9f\x98\x80z");
    EXPECT_EQ(stream.push("\xc3"), "");
    EXPECT_EQ(stream.push("b"),
              "\xc3"
              "b");  // not a character after all
    EXPECT_EQ(stream.push("\xe2\x82"), "");
    EXPECT_EQ(stream.flush(), "\xe2\x82");
}

TEST(Sampler, EqualSeedsGiveEqualTokens) {
    std::vector<float> logits(100);
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<float>(i));
    Sampler a({.temperature = 1, .top_k = 0, .top_p = 1, .seed = 7});
    Sampler b({.temperature = 1, .top_k = 0, .top_p = 1, .seed = 7});
    Sampler c({.temperature = 1, .top_k = 0, .top_p = 1, .seed = 8});
    int differ = 0;
    for (int i = 0; i < 50; ++i) {
        const int32_t token = a.pick(logits);
        EXPECT_EQ(token, b.pick(logits));
        differ += token != c.pick(logits);
    }
    EXPECT_GT(differ, 0);
}

TEST(Sampler, KeepsToTheBestTokensItIsAllowed) {
    const std::vector<float> logits{0, 5, 4, 1, 4.5f};
    Sampler top_k({.temperature = 1, .top_k = 2, .top_p = 1, .seed = 1});
    Sampler top_p({.temperature = 1, .top_k = 0, .top_p = 0.5f, .seed = 1});
    Sampler greedy({.temperature = 0});
    for (int i = 0; i < 100; ++i) {
        const int32_t token = top_k.pick(logits);
        EXPECT_TRUE(token == 1 || token == 4) << token;
        EXPECT_EQ(top_p.pick(logits), 1);
        EXPECT_EQ(greedy.pick(logits), 1);
    }
}

}  // namespace
