// What a recorded value leaves open: the order of keys that are as good as equal, and the code of a
// value between two. Everything else is an error still.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "ggml-cpp.h"
#include "sdk/conformance/compare.h"
#include "tenon/blocks.h"
#include "tests/conformance/golden.h"
#include "tests/support/variant.h"

namespace {

using namespace tenon::conformance;

template <class T>
std::vector<char> bytes_of(const std::vector<T>& values) {
    const auto* p = reinterpret_cast<const char*>(values.data());
    return {p, p + values.size() * sizeof(T)};
}

GoldenTensor tensor(const char* op, ggml_type type, int64_t n, std::vector<char> bytes,
                    std::vector<int32_t> src = {}) {
    GoldenTensor t;
    t.op = op;
    t.name = op;
    t.type = type;
    t.ne[0] = n;
    t.nb[0] = ggml_type_size(type);
    t.nb[1] = t.nb[2] = t.nb[3] = ggml_row_size(type, n);
    for (int k = 1; k < GGML_MAX_DIMS; ++k) t.ne[k] = 1;
    std::fill(std::begin(t.src), std::end(t.src), -1);
    std::copy(src.begin(), src.end(), t.src);
    t.kind = t.op == "NONE" ? GoldenTensor::kLeaf : GoldenTensor::kComputed;
    t.bytes = std::move(bytes);
    return t;
}

// "" when the CPU reproduces the graph.
std::string complaint(const GoldenGraph& graph) {
    ggml_backend_ptr cpu(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    std::string message;
    run_golden_graph(
        cpu.get(), graph,
        [&](const GoldenResult& r) {
            if (r.outcome != Outcome::kPassed) message = r.message;
        },
        misfit);
    return message;
}

// ---- order ------------------------------------------------------------------------------------

// The squares of `x`, recorded as `keys`, and their order as recorded.
GoldenGraph sorted_squares(const std::vector<float>& x, const std::vector<float>& keys,
                           const char* op, const std::vector<int32_t>& order) {
    GoldenGraph graph{"order", "", 1e-7, 2, {}};
    const auto n = static_cast<int64_t>(x.size());
    graph.tensors = {
        tensor("NONE", GGML_TYPE_F32, n, bytes_of(x)),
        tensor("SQR", GGML_TYPE_F32, n, bytes_of(keys), {0}),
        tensor(op, GGML_TYPE_I32, static_cast<int64_t>(order.size()), bytes_of(order), {1})};
    return graph;
}

const std::vector<float> kRoots{1, 2, 2.0000002f, 5}, kSquares{1, 4, 4.000001f, 25};
// an ulp of the keys, the other way round
const std::vector<float> kOtherSquares{1, 4.000001f, 4, 25};

TEST(GoldenTies, KeysAnUlpApartMayBeSortedEitherWay) {
    TENON_REQUIRE_VARIANT();
    EXPECT_EQ(complaint(sorted_squares(kRoots, kSquares, "ARGSORT", {0, 1, 2, 3})), "");
    EXPECT_EQ(complaint(sorted_squares(kRoots, kOtherSquares, "ARGSORT", {0, 2, 1, 3})), "");
    EXPECT_EQ(complaint(sorted_squares(kRoots, kOtherSquares, "TOP_K", {3, 1})), "");
    EXPECT_EQ(complaint(sorted_squares(kRoots, kOtherSquares, "TOP_K", {2, 3})), "");
}

TEST(GoldenTies, AWrongOrderOfOthersFails) {
    TENON_REQUIRE_VARIANT();
    for (const std::vector<int32_t>& order :
         {std::vector<int32_t>{1, 0, 2, 3}, {0, 1, 3, 2}, {0, 1, 1, 3}, {3, 2, 1, 0}}) {
        EXPECT_NE(complaint(sorted_squares(kRoots, kSquares, "ARGSORT", order)), "");
    }
    EXPECT_NE(complaint(sorted_squares(kRoots, kSquares, "TOP_K", {3, 0})), "");
}

// Keys that are given are the same everywhere, and so is their order.
TEST(GoldenTies, GivenKeysAnUlpApartHaveOneOrder) {
    TENON_REQUIRE_VARIANT();
    GoldenGraph graph{"order", "", 1e-7, 1, {}};
    graph.tensors = {tensor("NONE", GGML_TYPE_F32, 4, bytes_of(kSquares)),
                     tensor("ARGSORT", GGML_TYPE_I32, 4, bytes_of<int32_t>({0, 1, 2, 3}), {0})};
    EXPECT_EQ(complaint(graph), "");
    graph.tensors[1].bytes = bytes_of<int32_t>({0, 2, 1, 3});
    EXPECT_NE(complaint(graph), "");
}

// ---- quantized values -------------------------------------------------------------------------

// A copy of 32 values to q8_0, recorded with scale 1 and these codes.
GoldenGraph copied_to_q8_0(const std::vector<float>& x, const std::vector<int>& codes) {
    tenon_block_q8_0 block{};
    block.d = ggml_fp32_to_fp16(1);
    for (size_t i = 0; i < codes.size(); ++i) block.qs[i] = static_cast<int8_t>(codes[i]);
    std::vector<char> record(sizeof block);
    std::memcpy(record.data(), &block, sizeof block);
    GoldenGraph graph{"codes", "", 1e-7, 2, {}};
    graph.tensors = {tensor("NONE", GGML_TYPE_F32, 32, bytes_of(x)),
                     tensor("NONE", GGML_TYPE_Q8_0, 32, std::vector<char>(sizeof block)),
                     tensor("CPY", GGML_TYPE_Q8_0, 32, record, {0, 1})};
    graph.tensors[2].view_src = 1;
    return graph;
}

class GoldenCodes : public testing::Test {
protected:
    GoldenCodes() : x_(32), down_(32), up_(32) {
        for (int i = 0; i < 32; ++i) {
            const bool tie = i % 2 == 1;
            x_[i] = i == 0 ? 127.0f : static_cast<float>(i) + (tie ? 0.5f : 0.0f);
            down_[i] = static_cast<int>(std::floor(x_[i]));
            up_[i] = static_cast<int>(std::ceil(x_[i]));
        }
    }
    std::vector<float> x_;
    std::vector<int> down_, up_;
};

TEST_F(GoldenCodes, AValueBetweenTwoMayBecomeEither) {
    TENON_REQUIRE_VARIANT();
    EXPECT_EQ(complaint(copied_to_q8_0(x_, down_)), "");
    EXPECT_EQ(complaint(copied_to_q8_0(x_, up_)), "");
}

TEST_F(GoldenCodes, AnyOtherCodeFails) {
    TENON_REQUIRE_VARIANT();
    std::vector<int> next = down_, two = up_;
    ++next[4];  // not between two
    two[5] += 1;
    EXPECT_NE(complaint(copied_to_q8_0(x_, next)), "");
    EXPECT_NE(complaint(copied_to_q8_0(x_, two)), "");
    std::vector<float> nearly = x_;
    nearly[5] += 0.01f;  // nearer to the upper one
    EXPECT_NE(complaint(copied_to_q8_0(nearly, down_)), "");
}

}  // namespace
