// rt-gguf quantize --imatrix: importance matrices, good, wrong and hostile.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/tools/gguf_model.h"

using namespace tenon::test;

namespace {

// A model must not be believed about its size. A sanitizer needs more addresses than a limit
// leaves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kLittleMemory = "";
#else
constexpr const char* kLittleMemory = "ulimit -v 4000000;";
#endif

// "w" of two matrices with 256 columns, and "idle", which was never used.
void write_importance(const std::string& path, const char* type = "imatrix", int64_t columns = 256,
                      int64_t matrices = 2) {
    Model model;
    gguf_set_val_str(model.gguf.get(), "general.type", type);
    ggml_tensor* sums = model.add("w.in_sum2", {columns, matrices});
    for (int64_t i = 0; i < columns * matrices; ++i)
        Model::floats(sums)[i] = static_cast<float>(i % 17 + 1);
    ggml_tensor* counts = model.add("w.counts", {1, matrices});
    for (int64_t i = 0; i < matrices; ++i)
        Model::floats(counts)[i] = i == 0 ? 4 : 0;  // the others saw nothing
    model.write(path);
}

TEST(RtGgufQuantize, WeighsColumnsByTheImportanceMatrix) {
    const TemporaryDirectory dir;
    write_importance(dir.file("imatrix"));
    Model model;
    ggml_tensor* w = model.add("w", {256, 3, 2});
    model.write(dir.file("m"));
    const Outcome run = rt_gguf({"quantize", dir.file("m"), dir.file("q"), "--type", "q4_K",
                                 "--imatrix", dir.file("imatrix")});
    ASSERT_EQ(run.code, 0) << run.err;
    std::vector<float> first(256), second(256, 1.0f);
    for (size_t i = 0; i < 256; ++i) first[i] = static_cast<float>(i % 17 + 1) / 4;
    const float* values = Model::floats(w);
    EXPECT_EQ(ReadModel(dir.file("q")).bytes("w"),
              quantized(GGML_TYPE_Q4_K, values, 3, 256, first.data()) +
                  quantized(GGML_TYPE_Q4_K, values + 3 * 256, 3, 256, second.data()));
}

TEST(RtGgufQuantize, TypesThatNeedImportanceSaySo) {
    const TemporaryDirectory dir;
    Model model;
    model.add("w", {256, 4});
    model.write(dir.file("m"));
    const Outcome run = rt_gguf({"quantize", dir.file("m"), dir.file("q"), "--type", "iq2_xxs"});
    EXPECT_EQ(run.code, 1);
    EXPECT_TRUE(has(run.err, "tensor 'w' cannot be iq2_xxs: no importance matrix for it"))
        << run.err;
    const Outcome fallback = rt_gguf(
        {"quantize", dir.file("m"), dir.file("q"), "--type", "iq2_xxs", "--fallback", "q6_K"});
    ASSERT_EQ(fallback.code, 0) << fallback.err;
    EXPECT_EQ(ReadModel(dir.file("q")).get("w")->type, GGML_TYPE_Q6_K);
}

TEST(RtGgufQuantize, RefusesAnImportanceMatrixThatIsNone) {
    const TemporaryDirectory dir;
    Model model;
    model.add("w", {256, 3, 2});
    model.write(dir.file("m"));
    const auto refused = [&](const std::string& imatrix, const char* says) {
        const Outcome run = rt_gguf(
            {"quantize", dir.file("m"), dir.file("q"), "--type", "q4_K", "--imatrix", imatrix});
        EXPECT_EQ(run.code, 1);
        EXPECT_TRUE(has(run.err, says)) << run.err;
    };
    refused(kModel, "key 'general.type' is '', must be 'imatrix'");
    write_importance(dir.file("model"), "model");
    refused(dir.file("model"), "is 'model', must be 'imatrix'");
    write_importance(dir.file("narrow"), "imatrix", 128);
    refused(dir.file("narrow"),
            "tensor 'w': importance of 2 matrices with 128 columns, needs 2 with 256");
    write_importance(dir.file("turned"), "imatrix", 128, 4);  // as many numbers as are needed
    refused(dir.file("turned"),
            "tensor 'w': importance of 4 matrices with 128 columns, needs 2 with 256");
    Model none;
    gguf_set_val_str(none.gguf.get(), "general.type", "imatrix");
    none.write(dir.file("none"));
    refused(dir.file("none"), "holds no importance, no tensor ends in '.in_sum2'");
    std::ofstream(dir.file("empty"));
    refused(dir.file("empty"), dir.file("empty").c_str());
}

TEST(RtGgufQuantize, RefusesImportanceThatIsNoNumber) {
    const TemporaryDirectory dir;
    Model model;
    model.add("w", {32, 3});
    model.write(dir.file("m"));
    for (const float bad : {NAN, INFINITY, -1.0f}) {
        for (const bool in_counts : {true, false}) {
            Model importance;
            gguf_set_val_str(importance.gguf.get(), "general.type", "imatrix");
            ggml_tensor* sums = importance.add("w.in_sum2", {32});
            ggml_tensor* counts = importance.add("w.counts", {1});
            std::fill_n(Model::floats(sums), 32, 1.0f);
            Model::floats(counts)[0] = in_counts ? bad : 0.0f;
            if (!in_counts) Model::floats(sums)[7] = bad;
            importance.write(dir.file("imatrix"));
            const Outcome run = rt_gguf({"quantize", dir.file("m"), dir.file("q"), "--type", "q4_0",
                                         "--imatrix", dir.file("imatrix")});
            EXPECT_EQ(run.code, 1);
            EXPECT_TRUE(has(run.err, in_counts ? "tensor 'w.counts': value 0 is"
                                               : "tensor 'w.in_sum2': value 7 is"))
                << run.err;
            EXPECT_TRUE(has(run.err, "must be finite and not below 0")) << run.err;
        }
    }
}

// Cut anywhere and with any byte changed: an answer or an error, never a crash, never a giant
// allocation for what the file only claims to hold.
TEST(RtGgufQuantize, SurvivesHostileImportance) {
    const TemporaryDirectory dir;
    Model model;
    model.add("w", {32, 3, 2});
    model.write(dir.file("m"));
    write_importance(dir.file("good"), "imatrix", 32);
    const std::string good = contents(dir.file("good"));
    std::mt19937 random(7);
    for (int i = 0; i < 120; ++i) {
        std::string bad = good;
        if (i % 3 == 0)
            bad.resize(random() % good.size());
        else
            bad[random() % 400] = static_cast<char>(i % 3 == 1 ? 0xff : random());
        std::ofstream(dir.file("bad"), std::ios::binary) << bad;
        const Outcome run = rt_gguf({"quantize", dir.file("m"), dir.file("q"), "--type", "q4_0",
                                     "--threads", "1", "--imatrix", dir.file("bad")},
                                    kLittleMemory);
        EXPECT_TRUE(run.code == 0 || run.code == 1) << i << ": " << run.code << run.err;
        EXPECT_FALSE(has(run.err, "out of host memory")) << i;
        std::filesystem::remove(dir.file("q"));
    }
}

TEST(RtGgufQuantize, ImportanceThatIsOnlyClaimedIsNotAllocated) {
    const TemporaryDirectory dir;
    write_importance(dir.file("good"), "imatrix", 32);
    std::string bytes = contents(dir.file("good"));
    const size_t at = bytes.find("w.in_sum2") + 9 + 4;  // behind the number of dimensions
    const int64_t claimed = int64_t{1} << 33;           // of 2 rows: 64 GiB
    bytes.replace(at, sizeof claimed,
                  std::string(reinterpret_cast<const char*>(&claimed), sizeof claimed));
    std::ofstream(dir.file("huge"), std::ios::binary) << bytes;
    const Outcome run = rt_gguf(
        {"quantize", kModel, dir.file("q"), "--type", "q8_0", "--imatrix", dir.file("huge")},
        kLittleMemory);
    EXPECT_EQ(run.code, 1);
    EXPECT_FALSE(has(run.err, "memory")) << run.err;
}

}  // namespace
