// rt-gguf, run as a program: what it prints, what it writes, and what it refuses.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/tools/gguf_model.h"

using namespace tenon::test;
using nlohmann::json;

namespace {

// ---- options ----------------------------------------------------------------------------------

TEST(RtGguf, ExplainsMistakesInTheOptions) {
    struct {
        std::vector<std::string> args;
        int code;
        const char* says;
    } const cases[] = {
        {{}, 2, "a command is missing"},
        {{"shwo"}, 2, "nearest is 'show'; valid: show, check, quantize, compare"},
        {{"show", kModel, "--jsno"}, 2, "unknown option '--jsno', nearest is '--json'"},
        {{"show"}, 2, "show takes 1 file names (FILE), not 0"},
        {{"compare", kModel}, 2, "compare takes 2 file names (A, B), not 1"},
        {{"show", kModel, "--color", "blue"}, 2, "valid: auto, always, never"},
        {{"quantize", kModel, "/tmp/never"}, 2, "--type is missing"},
        {{"quantize", kModel, "/tmp/never", "--type", "q4_9"}, 5, "nearest is 'q4_0'; valid: f32,"},
        {{"quantize", kModel, "/tmp/never", "--type", "q8_K"}, 5, "type for weights 'q8_K'"},
        {{"quantize", kModel, "/tmp/never", "--type", "f16", "--tensor-type", "q4_0"},
         2,
         "PATTERN=TYPE, not 'q4_0'"},
        {{"quantize", kModel, "/tmp/never", "--type", "f16", "--threads", "0"},
         2,
         "from 1 to 512, not '0'"},
        {{"quantize", kModel, "/tmp/never", "--type", "f16", "--threads", "many"},
         2,
         "from 1 to 512, not 'many'"},
        {{"quantize", kModel, "/tmp/never", "--type", "f16", "--tensor-type", "=q4_0"},
         2,
         "PATTERN=TYPE, not '=q4_0'"},
        {{"quantize", kModel, "/tmp/never", "--type", "f16", "--tensor-type", "blk.*=q4"},
         5,
         "type for weights 'q4', nearest is"},
        {{"quantize", kModel, "/tmp/never", "--type", "f16", "--tensor-type", "blk.*="},
         5,
         "type for weights ''"},
        {{"quantize", kModel, "/tmp/never", "--type", "f16", "--imatrix", "/no/such/file"},
         1,
         "/no/such/file"},
        {{"show", "/no/such/file"}, 1, "cannot open '/no/such/file': No such file or directory"},
    };
    for (const auto& c : cases) {
        const Outcome run = rt_gguf(c.args);
        EXPECT_EQ(run.code, c.code) << run.err;
        EXPECT_TRUE(has(run.err, c.says)) << run.err;
        EXPECT_EQ(run.out, "");
    }
}

TEST(RtGguf, HelpAndVersionGoToStdout) {
    for (const char* command : {"show", "check", "quantize", "compare"}) {
        const Outcome run = rt_gguf({command, "--help"});
        EXPECT_EQ(run.code, 0);
        EXPECT_TRUE(has(run.out, std::string("usage: rt-gguf ") + command)) << run.out;
        EXPECT_EQ(run.err, "");
    }
    EXPECT_TRUE(has(rt_gguf({"--help"}).out, "quantize"));
    EXPECT_TRUE(has(rt_gguf({"--version"}).out, "rt-gguf "));
}

// ---- show -------------------------------------------------------------------------------------

TEST(RtGgufShow, PrintsMetadataTensorsAndTypes) {
    const Outcome run = rt_gguf({"show", kModel});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(has(run.out, "GGUF v3, 1.1 MiB, 25 keys, 48 tensors, alignment 32, data at 14400"));
    EXPECT_TRUE(has(run.out, "general.architecture                    str       llama\n"));
    EXPECT_TRUE(
        has(run.out, "tokenizer.ggml.tokens                   str[512]  \"<unk>\", \"<s>\""));
    EXPECT_TRUE(has(run.out, "blk.0.attn_k.weight       f32    64 x 32    8 192    147 712\n"));
    EXPECT_TRUE(has(run.out, "f32         48   292 800    32  1.1 MiB  100.0 %\n"));
    EXPECT_FALSE(has(run.out, "\033")) << "no colour on a pipe";
    EXPECT_TRUE(has(rt_gguf({"show", kModel, "--color=always"}).out, "\033["));
    const Outcome types = rt_gguf({"show", "--types", kModel});
    EXPECT_FALSE(has(types.out, "general.architecture"));
    EXPECT_TRUE(has(types.out, "total"));
}

TEST(RtGgufShow, PrintsEverythingAsJson) {
    const Outcome run = rt_gguf({"show", kModel, "--json"});
    ASSERT_EQ(run.code, 0) << run.err;
    const json all = json::parse(run.out);
    EXPECT_EQ(all["schema"], "tenon.rt-gguf.show");
    EXPECT_EQ(all["gguf_version"], 3);
    EXPECT_EQ(all["complete"], true);
    ASSERT_EQ(all["metadata"].size(), 25u);
    EXPECT_EQ(all["metadata"][0], (json{{"key", "general.architecture"},
                                        {"type", "str"},
                                        {"array", false},
                                        {"value", "llama"}}));
    EXPECT_EQ(all["metadata"][16]["value"].size(), 512u) << "arrays in full";
    ASSERT_EQ(all["tensors"].size(), 48u);
    EXPECT_EQ(all["tensors"][3]["shape"], json({64, 32, 1, 1}));
    uint64_t bytes = 0;
    for (const json& tensor : all["tensors"]) bytes += tensor["bytes"].get<uint64_t>();
    EXPECT_EQ(all["types"][0]["bytes"], bytes);
}

TEST(RtGgufShow, SurvivesTextThatWouldSpoilTheOutput) {
    const TemporaryDirectory dir;
    Model model;
    gguf_set_val_str(model.gguf.get(), "evil\033[31m", "\033]0;title\007 \xff\xfe \"\\\n");
    model.add("name\x01\xc3", {4});
    model.write(dir.file("m"));
    const Outcome table = rt_gguf({"show", dir.file("m")});
    EXPECT_EQ(table.code, 0);
    for (char c : table.out) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    EXPECT_TRUE(has(table.out, "evil?[31m"));
    const json all = json::parse(rt_gguf({"show", dir.file("m"), "--json"}).out);
    EXPECT_EQ(all["metadata"][0]["key"], "evil\033[31m");
}

// ---- check ------------------------------------------------------------------------------------

TEST(RtGgufCheck, AcceptsTheModel) {
    const Outcome run = rt_gguf({"check", kModel});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(has(run.out, "ok, 48 tensors, 1.1 MiB checked, 0 errors, 0 notes")) << run.out;
}

TEST(RtGgufCheck, FindsTheRowWithABadValue) {
    const TemporaryDirectory dir;
    Model model;
    model.add("good", {32, 8});
    Model::floats(model.add("bad", {32, 100}))[32 * 77 + 5] = NAN;
    model.write(dir.file("m"));
    const Outcome run = rt_gguf({"check", dir.file("m")});
    EXPECT_EQ(run.code, 1);
    EXPECT_TRUE(has(run.out, "tensor 'bad': row 77 of 100 holds a value")) << run.out;
    EXPECT_TRUE(has(run.out, "key 'general.architecture' is missing"));
    const json found = json::parse(rt_gguf({"check", "--json", dir.file("m")}).out);
    EXPECT_EQ(found["ok"], false);
    EXPECT_EQ(found["errors"].size(), 1u);
}

TEST(RtGgufCheck, FindsAFileThatEndsEarlyOrLate) {
    const TemporaryDirectory dir;
    const std::string whole = contents(kModel);
    std::ofstream(dir.file("cut"), std::ios::binary) << whole.substr(0, 1185000);
    const Outcome cut = rt_gguf({"check", dir.file("cut")});
    EXPECT_EQ(cut.code, 1);
    EXPECT_TRUE(
        has(cut.out, "tensor 'output.weight': data ends at 1185600, file has 1185000 bytes"))
        << cut.out;
    EXPECT_TRUE(has(rt_gguf({"show", dir.file("cut")}).out, "incomplete: tensor 'output.weight'"));
    std::ofstream(dir.file("long"), std::ios::binary) << whole << "12345";
    const Outcome longer = rt_gguf({"check", dir.file("long")});
    EXPECT_EQ(longer.code, 0);
    EXPECT_TRUE(has(longer.out, "note: 5 bytes after the last tensor are ignored")) << longer.out;
    std::ofstream(dir.file("head"), std::ios::binary) << whole.substr(0, 3000);
    const Outcome head = rt_gguf({"check", dir.file("head")});
    EXPECT_EQ(head.code, 1);
    EXPECT_TRUE(has(head.err, "key 'tokenizer.ggml.tokens'")) << head.err;
}

TEST(RtGgufCheck, FindsListsOfDifferentLength) {
    const TemporaryDirectory dir;
    Model model;
    const char* words[] = {"a", "b"};
    const float scores[] = {1};
    gguf_set_arr_str(model.gguf.get(), "tokenizer.ggml.tokens", words, 2);
    gguf_set_arr_data(model.gguf.get(), "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores, 1);
    model.write(dir.file("m"));
    const Outcome run = rt_gguf({"check", dir.file("m")});
    EXPECT_EQ(run.code, 1);
    EXPECT_TRUE(has(run.out, "has 1 elements, 'tokenizer.ggml.tokens' has 2")) << run.out;
}

// ---- quantize ---------------------------------------------------------------------------------

TEST(RtGgufQuantize, WritesWhatTheLibraryQuantizes) {
    const TemporaryDirectory dir;
    const Outcome run =
        rt_gguf({"quantize", kModel, dir.file("q"), "--type", "q8_0", "--tensor-type",
                 "TOKEN_embd*=q4_1", "--tensor-type", "token*=f32", "--fallback", "F16"});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(has(run.err, "pattern 'token*' decides no tensor")) << "the one before it wins";
    EXPECT_TRUE(has(run.out, "5 tensors fell back\n")) << run.out;
    EXPECT_TRUE(has(run.out,
                    "blk.4.ffn_down.weight  172 x 64  q8_0    f16     rows of 172 elements "
                    "are not whole blocks of 32"))
        << run.out;
    EXPECT_EQ(dir.names(), std::vector<std::string>{"q"});

    const ReadModel in(kModel), out(dir.file("q"));
    ASSERT_TRUE(out.gguf);
    ASSERT_EQ(gguf_get_n_tensors(out.gguf.get()), 48);
    for (int64_t i = 0; i < 48; ++i) {
        const char* name = gguf_get_tensor_name(in.gguf.get(), i);
        ASSERT_STREQ(gguf_get_tensor_name(out.gguf.get(), i), name);
        ggml_tensor* t = in.get(name);
        const std::string text = name;
        const ggml_type type = ggml_n_dims(t) == 1       ? GGML_TYPE_F32
                               : has(text, "token_embd") ? GGML_TYPE_Q4_1
                               : has(text, "ffn_down")   ? GGML_TYPE_F16
                                                         : GGML_TYPE_Q8_0;
        ASSERT_EQ(out.get(name)->type, type) << name;
        EXPECT_EQ(out.bytes(name),
                  quantized(type, static_cast<float*>(t->data), ggml_nrows(t), t->ne[0]));
    }
    const auto number = [&](const char* key) {
        return gguf_get_val_u32(out.gguf.get(), gguf_find_key(out.gguf.get(), key));
    };
    EXPECT_EQ(number("general.file_type"), 7u);
    EXPECT_EQ(number("general.quantization_version"), 2u);
    EXPECT_EQ(number("llama.vocab_size"), 512u);
    EXPECT_EQ(gguf_get_n_kv(out.gguf.get()), 26);
    EXPECT_EQ(rt_gguf({"check", dir.file("q")}).code, 0);
}

TEST(RtGgufQuantize, DoesNotDependOnTheNumberOfThreads) {
    const TemporaryDirectory dir;
    Model model(8 << 20);
    model.add("w", {256, 1030, 3});
    model.write(dir.file("m"));
    for (const char* threads : {"1", "3"}) {
        const Outcome run = rt_gguf(
            {"quantize", dir.file("m"), dir.file(threads), "--type", "q4_K", "--threads", threads});
        ASSERT_EQ(run.code, 0) << run.err;
    }
    EXPECT_TRUE(contents(dir.file("1")) == contents(dir.file("3")));
}

TEST(RtGgufQuantize, WithoutFallbackNamesWhatDoesNotFit) {
    const TemporaryDirectory dir;
    const Outcome run = rt_gguf({"quantize", kModel, dir.file("q"), "--type", "q4_K"});
    EXPECT_EQ(run.code, 1);
    EXPECT_TRUE(has(run.err,
                    "tensor 'token_embd.weight' cannot be q4_K: rows of 64 elements are not "
                    "whole blocks of 256; 37 of 48 tensors are like it; --fallback f16"))
        << run.err;
    EXPECT_TRUE(dir.names().empty());
    const Outcome worse =
        rt_gguf({"quantize", kModel, dir.file("q"), "--type", "q4_K", "--fallback", "q5_K"});
    EXPECT_EQ(worse.code, 1);
    EXPECT_TRUE(has(worse.err, "--fallback type does not fit them either")) << worse.err;
}

TEST(RtGgufQuantize, KeepsAlignmentWholeNumbersAndVectors) {
    const TemporaryDirectory dir;
    Model model;
    gguf_set_val_u32(model.gguf.get(), "general.alignment", 256);
    model.add("vector", {64});
    model.add("indices", {32, 4}, GGML_TYPE_I32);
    model.add("w", {32, 5});
    model.add("none", {32, 0});
    model.write(dir.file("m"));
    const Outcome run = rt_gguf({"quantize", dir.file("m"), dir.file("q"), "--type", "q5_0",
                                 "--tensor-type", "vector=f16"});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(has(run.err, "pattern 'vector' decides no tensor")) << run.err;
    const ReadModel out(dir.file("q"));
    ASSERT_TRUE(out.gguf);
    EXPECT_EQ(gguf_get_alignment(out.gguf.get()), 256u);
    EXPECT_EQ(out.get("vector")->type, GGML_TYPE_F32);
    EXPECT_EQ(out.get("indices")->type, GGML_TYPE_I32);
    EXPECT_EQ(out.get("w")->type, GGML_TYPE_Q5_0);
    EXPECT_EQ(out.get("none")->ne[1], 0);
}

TEST(RtGgufQuantize, ConvertsFromQuantizedTensorsToo) {
    const TemporaryDirectory dir;
    ASSERT_EQ(
        rt_gguf({"quantize", kModel, dir.file("a"), "--type", "q8_0", "--fallback", "bf16"}).code,
        0);
    const Outcome run = rt_gguf({"quantize", dir.file("a"), dir.file("b"), "--type", "f32"});
    ASSERT_EQ(run.code, 0) << run.err;
    const Outcome compared = rt_gguf({"compare", dir.file("a"), dir.file("b"), "--json"});
    EXPECT_EQ(compared.code, 0);
    EXPECT_EQ(json::parse(compared.out)["total"]["max_error"], 0.0);
}

TEST(RtGgufQuantize, NeverOverwrites) {
    const TemporaryDirectory dir;
    std::ofstream(dir.file("q")) << "precious";
    const Outcome run = rt_gguf({"quantize", kModel, dir.file("q"), "--type", "f16"});
    EXPECT_EQ(run.code, 1);
    EXPECT_TRUE(has(run.err, "exists already and is not overwritten")) << run.err;
    EXPECT_EQ(contents(dir.file("q")), "precious");
    EXPECT_EQ(rt_gguf({"quantize", kModel, kModel, "--type", "f16"}).code, 1);
    EXPECT_EQ(rt_gguf({"quantize", kModel, "/no/such/place/q", "--type", "f16"}).code, 1);
}

TEST(RtGgufQuantize, AFullDiskLeavesNothingBehind) {
    const TemporaryDirectory dir;
    // A limit on the size of files, in blocks of 512 bytes or more; a full disk acts the same.
    const Outcome run =
        rt_gguf({"quantize", kModel, dir.file("q"), "--type", "f16"}, "ulimit -f 100;");
    EXPECT_EQ(run.code, 1);
    EXPECT_TRUE(has(run.err, "File too large")) << run.err;
    EXPECT_TRUE(dir.names().empty());
}

// The limit hits metadata, tensors, padding, or the last flush, with or without data before.
TEST(RtGgufQuantize, WhereverTheDiskIsFullNothingIsLeftBehind) {
    const TemporaryDirectory dir;
    Model model;
    for (const char* name : {"a", "b", "c"}) model.add(name, {256, 4});
    model.write(dir.file("m"));
    int n_full = 0, blocks = 0;
    for (bool full = true; full && blocks < 100; ++blocks) {
        const Outcome run = rt_gguf({"quantize", dir.file("m"), dir.file("q"), "--type", "f16"},
                                    "ulimit -f " + std::to_string(blocks) + ";");
        full = run.code != 0;
        if (!full) break;
        ++n_full;
        // With no space at all, the text of the error has none either.
        EXPECT_TRUE(blocks == 0 || has(run.err, "File too large")) << blocks << run.err;
        EXPECT_EQ(run.code, 1);
        EXPECT_EQ(dir.names(), std::vector<std::string>{"m"}) << blocks;
    }
    EXPECT_GE(n_full, 6);
    EXPECT_EQ(rt_gguf({"check", dir.file("q")}).code, 0);
}

TEST(RtGgufQuantize, ANotFiniteResultIsAnError) {
    const TemporaryDirectory dir;
    Model model;
    Model::floats(model.add("w", {32, 4}))[70] = 1e30f;  // beyond f16
    model.write(dir.file("m"));
    const Outcome run = rt_gguf({"quantize", dir.file("m"), dir.file("q"), "--type", "f16"});
    EXPECT_EQ(run.code, 1);
    EXPECT_TRUE(has(run.err, "tensor 'w': rows 0 to 3 do not stay finite as f16")) << run.err;
    EXPECT_EQ(dir.names(), std::vector<std::string>{"m"});
}

// Starts a long run and sends it a signal while the temporary file is there.
void interrupt(const TemporaryDirectory& dir, const std::string& model, int number,
               int ignored = 0) {
    const std::string out = dir.file("q");
    const pid_t child = fork();
    if (child == 0) {
        if (ignored) signal(ignored, SIG_IGN);
        execl(TENON_RT_GGUF, "rt-gguf", "quantize", model.c_str(), out.c_str(), "--type", "q3_K",
              "--threads", "1", nullptr);
        _exit(127);
    }
    bool writing = false;
    for (int i = 0; i < 10000 && !writing; ++i) {
        for (const std::string& name : dir.names()) writing = writing || has(name, ".part-");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(writing);
    if (ignored) kill(child, ignored);
    kill(child, number);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it ended before the signal";
    EXPECT_FALSE(std::filesystem::exists(out)) << "half a model under its final name";
}

TEST(RtGgufQuantize, AKillLosesNothing) {
    const TemporaryDirectory models;
    Model model(100 << 20);
    for (const char* name : {"a", "b", "c", "d"}) model.add(name, {4096, 1024});
    model.write(models.file("m"));
    {
        const TemporaryDirectory dir;
        interrupt(dir, models.file("m"), SIGTERM);
        EXPECT_TRUE(dir.names().empty()) << "a signal that can be caught cleans up";
    }
    const TemporaryDirectory dir;
    interrupt(dir, models.file("m"), SIGKILL);
    EXPECT_EQ(dir.names().size(), 1u);
    std::filesystem::remove(dir.file(dir.names()[0]));
    interrupt(dir, models.file("m"), SIGKILL, /*ignored=*/SIGHUP);
    EXPECT_EQ(dir.names().size(), 1u) << "under nohup a hang-up ends nothing";
}

// ---- compare ----------------------------------------------------------------------------------

TEST(RtGgufCompare, MeasuresKnownDifferences) {
    const TemporaryDirectory dir;
    for (const char* name : {"a", "b"}) {
        Model model;
        ggml_tensor* t = model.add("t", {4, 2});
        for (int i = 0; i < 8; ++i) Model::floats(t)[i] = 1;
        if (*name == 'b') Model::floats(t)[5] = 3;
        model.add(*name == 'a' ? "only_a" : "only_b", {2});
        model.add("shape", {2, *name == 'a' ? 2 : 3});
        model.write(dir.file(name));
    }
    const Outcome run = rt_gguf({"compare", dir.file("a"), dir.file("b"), "--json"});
    EXPECT_EQ(run.code, 1) << "they cannot be compared completely";
    const json all = json::parse(run.out);
    const json& t = all["tensors"][0];
    EXPECT_NEAR(t["rmse"], std::sqrt(4.0 / 8), 1e-12);
    EXPECT_NEAR(t["cosine"], 10 / std::sqrt(8.0 * 16), 1e-12);
    EXPECT_EQ(t["max_error"], 2.0);
    EXPECT_EQ(all["tensors"][1]["problem"], "only in the first file");
    EXPECT_EQ(all["tensors"][2]["problem"], "2 x 2 against 2 x 3");
    EXPECT_EQ(all["tensors"][3]["problem"], "only in the second file");
    const Outcome table = rt_gguf({"compare", dir.file("a"), dir.file("b")});
    EXPECT_TRUE(has(table.out, "t       f32  f32  0.7071  0.883883          2\n")) << table.out;
}

TEST(RtGgufCompare, AFileEqualsItself) {
    const Outcome run = rt_gguf({"compare", kModel, kModel, "--json"});
    EXPECT_EQ(run.code, 0);
    const json total = json::parse(run.out)["total"];
    EXPECT_EQ(total["rmse"], 0.0);
    EXPECT_NEAR(total["cosine"], 1.0, 1e-12);
    EXPECT_EQ(total["elements"], 292800);
}

}  // namespace
