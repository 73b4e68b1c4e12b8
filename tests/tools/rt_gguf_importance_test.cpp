// rt-gguf quantize --imatrix: importance matrices, good, wrong and hostile.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
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

// Statistics of "w" and what quantize makes of it with them.
struct WithStatistics {
    Outcome run;
    std::string bytes;
};
WithStatistics quantize_with(const std::string& type, std::vector<int64_t> shape,
                             const std::function<float(int64_t column, int64_t matrix)>& sum,
                             const std::function<float(int64_t matrix)>& count) {
    const TemporaryDirectory dir;
    Model model(8 << 20), statistics(8 << 20);
    model.add("w", shape);
    model.write(dir.file("m"));
    const int64_t columns = shape[0], matrices = shape.size() > 2 ? shape[2] : 1;
    gguf_set_val_str(statistics.gguf.get(), "general.type", "imatrix");
    ggml_tensor* sums = statistics.add("w.in_sum2", {columns, matrices});
    ggml_tensor* counts = statistics.add("w.counts", {1, matrices});
    for (int64_t m = 0; m < matrices; ++m) {
        Model::floats(counts)[m] = count(m);
        for (int64_t i = 0; i < columns; ++i) Model::floats(sums)[m * columns + i] = sum(i, m);
    }
    statistics.write(dir.file("imatrix"));
    const Outcome run = rt_gguf({"quantize", dir.file("m"), dir.file("q"), "--type", type,
                                 "--imatrix", dir.file("imatrix")});
    return {run, run.code == 0 ? ReadModel(dir.file("q")).bytes("w") : ""};
}

TEST(RtGgufQuantize, StatisticsOfZeroAreNoneAndAreNamed) {
    Model model(8 << 20);
    const float* values = Model::floats(model.add("w", {512, 4}));
    const auto one = [](int64_t) { return 1.0f; };
    const auto zero = quantize_with(
        "q4_K", {512, 4}, [](int64_t, int64_t) { return 0.0f; }, one);
    EXPECT_EQ(zero.bytes, quantized(GGML_TYPE_Q4_K, values, 4, 512)) << zero.run.err;
    EXPECT_TRUE(has(zero.run.err, "tensor 'w': has statistics of nothing but zeros"))
        << zero.run.err;
    const auto half = quantize_with(
        "q4_K", {512, 4}, [](int64_t i, int64_t) { return i < 256 ? 0.0f : 1.0f; }, one);
    EXPECT_TRUE(has(half.run.err, "tensor 'w': statistics are zero for 256 of 512 columns"))
        << half.run.err;
    EXPECT_EQ(half.bytes.substr(0, 144), zero.bytes.substr(0, 144));
    EXPECT_NE(half.bytes.substr(144, 144), zero.bytes.substr(144, 144));
    const auto all = quantize_with(
        "q4_K", {512, 4}, [](int64_t, int64_t) { return 1.0f; }, one);
    EXPECT_EQ(half.bytes.substr(144, 144), all.bytes.substr(144, 144));
    EXPECT_EQ(all.run.err, "");
    // A type that looks at no importance has nothing to miss.
    const auto q8_0 = quantize_with(
        "q8_0", {512, 4}, [](int64_t, int64_t) { return 0.0f; }, one);
    EXPECT_EQ(q8_0.run.err, "");
}

TEST(RtGgufQuantize, ExpertsWithoutStatisticsAreNamed) {
    Model model(8 << 20);
    const float* values = Model::floats(model.add("w", {256, 2, 4}));
    const auto got = quantize_with(
        "q4_0", {256, 2, 4}, [](int64_t, int64_t m) { return m == 1 ? 0.0f : 2.0f; },
        [](int64_t m) { return m == 3 ? 0.0f : 2.0f; });
    EXPECT_TRUE(has(got.run.err, "tensor 'w': 2 of 4 matrices have no statistics (1, 3)"))
        << got.run.err;
    const std::vector<float> ones(256, 1.0f);
    const auto matrix = [&](int64_t m, const float* w) {
        return quantized(GGML_TYPE_Q4_0, values + m * 512, 2, 256, w);
    };
    EXPECT_EQ(got.bytes, matrix(0, ones.data()) + matrix(1, nullptr) + matrix(2, ones.data()) +
                             matrix(3, ones.data()));
}

TEST(RtGgufQuantize, TensorsWithoutStatisticsAreNamed) {
    const TemporaryDirectory dir;
    write_importance(dir.file("imatrix"));
    Model model;
    model.add("w", {256, 3, 2});
    model.add("forgotten", {256, 2});
    model.write(dir.file("m"));
    const Outcome run = rt_gguf({"quantize", dir.file("m"), dir.file("q"), "--type", "q4_K",
                                 "--imatrix", dir.file("imatrix")});
    EXPECT_EQ(run.code, 0);
    EXPECT_TRUE(has(run.err, "tensor 'forgotten': has no statistics")) << run.err;
    EXPECT_TRUE(has(run.err, "tensor 'w': 1 of 2 matrices have no statistics (1)")) << run.err;
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
