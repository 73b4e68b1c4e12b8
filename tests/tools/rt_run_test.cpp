// rt-run, run as a program: models that are not sound, and options that are not valid.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "ggml-cpp.h"
#include "tests/support/program.h"

using namespace tenon::test;

namespace {

const std::string kModel = TENON_TEST_DATA "/data/stories260K.gguf";

Outcome rt_run(std::vector<std::string> args, const std::string& before = "") {
    for (const char* arg : {"-p", "Once upon a time", "-n", "4", "--temp", "0"}) {
        args.emplace_back(arg);
    }
    return run_program(TENON_RT_RUN, args, before);
}

// The bundled model with its data in memory, to be changed and written elsewhere.
class ChangedModel {
public:
    ChangedModel() {
        ggml_context* tensors = nullptr;
        gguf.reset(gguf_init_from_file(kModel.c_str(), {/*no_alloc=*/false, &tensors}));
        tensors_.reset(tensors);
    }
    float* floats(const char* name) const {
        return static_cast<float*>(ggml_get_tensor(tensors_.get(), name)->data);
    }
    Outcome run(std::vector<std::string> args = {"-p", "Once upon a time"}) const {
        for (ggml_tensor* t = ggml_get_first_tensor(tensors_.get()); t;
             t = ggml_get_next_tensor(tensors_.get(), t)) {
            if (gguf_find_tensor(gguf.get(), t->name) >= 0) {
                gguf_set_tensor_data(gguf.get(), t->name, t->data);
            }
        }
        const std::string path = directory_.file("changed.gguf");
        EXPECT_TRUE(gguf_write_to_file(gguf.get(), path.c_str(), /*only_meta=*/false));
        args.insert(args.begin(), {path, "-n", "4", "--temp", "0"});
        return run_program(TENON_RT_RUN, args);
    }

    gguf_context_ptr gguf;

private:
    ggml_context_ptr tensors_;
    TemporaryDirectory directory_;
};

TEST(RtRun, LogitsThatAreNoNumbersAreAnErrorNotText) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        ChangedModel model;
        model.floats("blk.2.attn_q.weight")[5] = bad;
        const Outcome got = model.run();
        EXPECT_EQ(got.code, 1) << got.out;
        EXPECT_TRUE(has(got.err, "logit 0 of 512 after ")) << got.err;
    }
}

TEST(RtRun, ParametersOutOfRangeNameTheirKey) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    const auto expect_refused = [](const char* key, float value) {
        ChangedModel model;
        gguf_set_val_str(model.gguf.get(), "llama.rope.scaling.type", "linear");
        gguf_set_val_f32(model.gguf.get(), key, value);
        const Outcome got = model.run();
        EXPECT_EQ(got.code, 1) << key << " = " << value;
        EXPECT_TRUE(has(got.err, std::string("key '") + key + "' is ")) << got.err;
    };
    for (const float base : {0.0f, -1.0f, kNan}) expect_refused("llama.rope.freq_base", base);
    for (const float factor : {-1.0f, 1e-45f, kNan}) {
        expect_refused("llama.rope.scaling.factor", factor);
    }
    for (const float eps : {-1.0f, kNan}) {
        expect_refused("llama.attention.layer_norm_rms_epsilon", eps);
    }
}

TEST(RtRun, FileWithSmallAlignmentGivesTheSameText) {
    ChangedModel model;
    gguf_set_val_u32(model.gguf.get(), "general.alignment", 1);
    gguf_set_val_str(model.gguf.get(), "general.name", "odd");  // moves the data off any alignment
    const Outcome odd = model.run(), bundled = rt_run({kModel});
    ASSERT_EQ(odd.code, 0) << odd.err;
    const auto text_of = [](const Outcome& got) { return got.out.substr(0, got.out.find("\n\n")); };
    EXPECT_EQ(text_of(odd), text_of(bundled));
}

TEST(RtRun, EveryWeightIsCountedWhereItIs) {
    const Outcome got = rt_run({kModel, "--json", "--device", "Discrete0"},
                               "export TENON_PLUGIN_PATH='" TENON_TEST_PLUGINS "';");
    ASSERT_EQ(got.code, 0) << got.err;
    const auto document = nlohmann::json::parse(got.out);
    size_t total = 0;
    for (const auto& device : document["memory"]) total += device["weights"].get<size_t>();
    ASSERT_EQ(document["memory"].size(), 2u);
    ChangedModel model;
    size_t want = 0;
    for (int64_t i = 0; i < gguf_get_n_tensors(model.gguf.get()); ++i) {
        want += gguf_get_tensor_size(model.gguf.get(), i);
    }
    EXPECT_EQ(total, want);
}

TEST(RtRun, WarningsCannotSteerTheTerminal) {
    const Outcome got = rt_run({kModel}, "export TENON_CPU_VARIANT='\033[31m';");
    EXPECT_EQ(got.code, 0) << got.err;
    EXPECT_TRUE(has(got.err, "variant '?[31m'")) << got.err;
}

TEST(RtRun, NamesOfTokensInAPromptAreReadAsTheirTypesSay) {
    ChangedModel model;
    const int64_t tokens = gguf_find_key(model.gguf.get(), "tokenizer.ggml.tokens");
    std::vector<std::string> names;
    for (size_t i = 0; i < gguf_get_arr_n(model.gguf.get(), tokens); ++i)
        names.emplace_back(gguf_get_arr_str(model.gguf.get(), tokens, i));
    names[510] = "<|sep|>";
    std::vector<const char*> pieces;
    for (const std::string& name : names) pieces.push_back(name.c_str());
    const auto* types = static_cast<const int32_t*>(gguf_get_arr_data(
        model.gguf.get(), gguf_find_key(model.gguf.get(), "tokenizer.ggml.token_type")));
    std::vector<int32_t> changed(types, types + names.size());
    changed[510] = 4;
    gguf_set_arr_str(model.gguf.get(), "tokenizer.ggml.tokens", pieces.data(), pieces.size());
    gguf_set_arr_data(model.gguf.get(), "tokenizer.ggml.token_type", GGUF_TYPE_INT32,
                      changed.data(), changed.size());
    const auto prompt_tokens = [&](std::vector<std::string> args) {
        args.emplace_back("--json");
        const Outcome got = model.run(args);
        EXPECT_EQ(got.code, 0) << got.err;
        return nlohmann::json::parse(got.out)["prompt_tokens"].get<std::vector<int>>();
    };
    const auto sep = prompt_tokens({"-p", "Once<|sep|>Once"});
    EXPECT_EQ(sep, (std::vector<int>{1, 403, 510, 403}));
    const auto text = prompt_tokens({"-p", "Once</s>"});
    EXPECT_EQ(std::count(text.begin(), text.end(), 2), 0);
    EXPECT_EQ(prompt_tokens({"-p", "Once</s>", "--parse-special"}), (std::vector<int>{1, 403, 2}));
}

TEST(RtRun, TokenizerErrorsNameTheFile) {
    ChangedModel model;
    gguf_remove_key(model.gguf.get(), "tokenizer.ggml.scores");
    const Outcome got = model.run();
    EXPECT_EQ(got.code, 1);
    EXPECT_TRUE(has(got.err, "changed.gguf: key 'tokenizer.ggml.scores' is missing")) << got.err;
}

// A run that goes on until it is interrupted.
class LongRun {
public:
    explicit LongRun(std::vector<std::string> args, const std::string& model = kModel) {
        args.insert(args.begin(), {"rt-run", model});
        std::vector<char*> words;
        for (std::string& arg : args) words.push_back(arg.data());
        words.push_back(nullptr);
        child_ = fork();
        if (child_ != 0) return;
        for (const auto& [name, descriptor] : {std::pair("out", 1), std::pair("err", 2)}) {
            dup2(open(directory_.file(name).c_str(), O_WRONLY | O_CREAT, 0666), descriptor);
        }
        execv(TENON_RT_RUN, words.data());
        _exit(127);
    }

    std::string out() const { return contents(directory_.file("out")); }

    // Waits until `ready`, sends the signal, and waits for the end.
    template <class Ready>
    Outcome interrupt(int number, Ready&& ready) const {
        int status = 0;
        bool is_ready = false;
        for (int i = 0; i < 30000 && !is_ready; ++i) {
            if (waitpid(child_, &status, WNOHANG) == child_) break;
            is_ready = ready();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_TRUE(is_ready) << out();
        kill(child_, number);
        waitpid(child_, &status, 0);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out(),
                contents(directory_.file("err"))};
    }

    // Whether the program has taken over the handling of SIGINT.
    bool catches_interrupts() const {
        std::ifstream status("/proc/" + std::to_string(child_) + "/status");
        for (std::string line; std::getline(status, line);) {
            if (!line.starts_with("SigCgt:")) continue;
            return std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1;
        }
        return false;
    }

private:
    TemporaryDirectory directory_;
    pid_t child_;
};

TEST(RtRun, AnInterruptEndsTheGeneration) {
    for (const int number : {SIGINT, SIGTERM}) {
        const LongRun run({"-p", "Once upon a time", "-c", "100000", "-n", "99000", "--temp", "2",
                           "--top-k", "0", "--top-p", "1", "-s", "5", "--no-echo"});
        const Outcome got = run.interrupt(number, [&] { return run.out().size() > 20; });
        EXPECT_EQ(got.code, 130) << got.err;
        EXPECT_TRUE(has(got.out, "; interrupted; ")) << got.out;
        EXPECT_EQ(got.err, "");
    }
}

// A model of its own, shortened while it is being used.
Outcome run_while_shortened(std::vector<std::string> args, int64_t bytes) {
    const TemporaryDirectory directory;
    const std::string path = directory.file("model.gguf");
    std::filesystem::copy_file(kModel, path);
    for (const char* arg : {"-p", "Once", "--temp", "2", "--top-k", "0", "--top-p", "1", "-s", "5"})
        args.emplace_back(arg);
    const LongRun run(args, path);
    return run.interrupt(
        0, [&] { return run.out().size() > 20 && truncate(path.c_str(), bytes) == 0; });
}

TEST(RtRun, AModelThatBecomesShorterEndsItInWords) {
    for (const int64_t bytes : {0, 5000}) {
        const Outcome got = run_while_shortened({"-c", "100000", "-n", "99000"}, bytes);
        EXPECT_EQ(got.code, 1) << got.err;
        EXPECT_TRUE(has(got.err, "/model.gguf' became shorter while it was in use")) << got.err;
        EXPECT_TRUE(got.err.starts_with("rt-run: '")) << got.err;
    }
}

TEST(RtRun, WeightsThatWereReadNeedTheFileNoMore) {
    const Outcome got = run_while_shortened({"--no-mmap", "-c", "2000", "-n", "1000"}, 0);
    EXPECT_EQ(got.code, 0) << got.err;
}

TEST(RtRun, WeightsThatWereReadGiveTheSameText) {
    const Outcome mapped = rt_run({kModel, "--json", "-s", "1"}),
                  read = rt_run({kModel, "--json", "-s", "1", "--no-mmap"});
    EXPECT_EQ(read.code, 0) << read.err;
    EXPECT_EQ(nlohmann::json::parse(read.out)["text"], nlohmann::json::parse(mapped.out)["text"]);
}

// How far it came shows that it did not first finish what it was at; times would not.
TEST(RtRun, AnInterruptEndsTheReadingOfALongPrompt) {
    std::string prompt;
    while (prompt.size() < 100000) prompt += "Lily and Tom went to the park. ";
    const LongRun run({"-p", prompt, "-c", "100000", "--no-echo", "--json"});
    const Outcome got = run.interrupt(SIGINT, [&] { return run.catches_interrupts(); });
    EXPECT_EQ(got.code, 130) << got.err;
    const auto document = nlohmann::json::parse(got.out);
    EXPECT_EQ(document["stop"], "interrupted");
    EXPECT_EQ(document["tokens"].size(), 0u);
}

TEST(RtRun, AnInterruptEndsTheTokenizingOfALongText) {
    const TemporaryDirectory directory;
    {
        std::ofstream text(directory.file("text"));
        for (int i = 0; i < 100000; ++i) text << "Lily and Tom went to the park. ";
    }
    const LongRun run({"--eval", directory.file("text"), "--json"});
    const Outcome got = run.interrupt(SIGINT, [&] { return run.catches_interrupts(); });
    EXPECT_EQ(got.code, 130) << got.err;
    const auto document = nlohmann::json::parse(got.out);
    EXPECT_EQ(document["interrupted"], true);
    EXPECT_EQ(document["tokens"], 0) << "it tokenized the whole text first";
    EXPECT_TRUE(document["mean_nll"].is_null());
}

TEST(RtRun, AnInterruptEndsTheEvaluationOfAText) {
    const TemporaryDirectory directory;
    {
        std::ofstream text(directory.file("text"));
        for (int i = 0; i < 3000; ++i) text << "Lily and Tom went to the park. ";
    }
    const LongRun run({"--eval", directory.file("text")});
    // Two seconds and more of evaluation follow a tenth of tokenizing.
    const auto since = std::chrono::steady_clock::now();
    const Outcome got = run.interrupt(SIGINT, [&] {
        return run.catches_interrupts() &&
               std::chrono::steady_clock::now() - since > std::chrono::milliseconds(300);
    });
    EXPECT_EQ(got.code, 130) << got.err;
    EXPECT_TRUE(has(got.out, "interrupted")) << got.out;
}

TEST(RtRun, OptionsThatAreNotValidNameTheValidOnes) {
    const Outcome cache = rt_run({kModel, "--cache-type", "q8_0"});
    EXPECT_EQ(cache.code, 5);
    EXPECT_TRUE(has(cache.err, "valid: f32, f16, bf16")) << cache.err;
    const Outcome device = rt_run({kModel, "--device", "nowhere"});
    EXPECT_EQ(device.code, 5);
    EXPECT_TRUE(has(device.err, "unknown device 'nowhere'; valid: CPU")) << device.err;
    const Outcome eval = rt_run({kModel, "--eval", "/"});
    EXPECT_EQ(eval.code, 1);
    EXPECT_TRUE(has(eval.err, "cannot read '/'")) << eval.err;
}

}  // namespace
