// MUL_MAT_ID where experts get very different numbers of columns: products by tiles, by panels, by
// panels in several passes; the same bytes on any number of threads.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/kernels/expert_groups.h"
#include "plugins/cpu/team.h"
#include "tenon/quant.h"
#include "tests/cpu/node.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kExperts = 6, kTokens = 1500, kUsed = 2;

// Expert 0: 1200 columns, which is more than a pass takes; 1: 300; 2: all but some; 3: 5; 4: 40;
// 5: none.
int32_t expert_of(int64_t used, int64_t token) {
    if (used == 0) return token % 5 < 4 ? 0 : 1;
    if (token < 5) return 3;
    return token % 37 == 6 ? 4 : 2;
}

void fill_weights(Tensor& as, std::vector<float>* values) {
    std::mt19937 random(1);
    std::normal_distribution<float> value;
    values->resize(static_cast<size_t>(tenon_nelements(&as)));
    for (float& x : *values) x = value(random);
    const int64_t n_rows = as.ne[1] * as.ne[2];
    if (as.type == GGML_TYPE_F32) {
        std::memcpy(as.data, values->data(), values->size() * sizeof(float));
        return;
    }
    const quant::Format& format = *quant::find_format(as.type);
    quant::quantize_rows(format, values->data(), as.data, n_rows, as.ne[0], nullptr);
    format.to_float(as.data, values->data(), tenon_nelements(&as));
}

void run_on(const Node& node, int n_threads) {
    const Kernel& kernel = *find_kernel(node);
    std::vector<char> scratch(kernel.workspace(node, n_threads) + 64 + 4096, 0x55);
    auto* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
    Shared shared;
    Barrier barrier;
    std::vector<std::thread> team;
    for (int i = 0; i < n_threads; ++i) {
        team.emplace_back([&, i] {
            Task task;
            task.ith = i;
            task.nth = n_threads;
            task.shared = &shared;
            task.team_barrier = &barrier;
            task.workspace = aligned;
            task.workspace_size = kernel.workspace(node, n_threads);
            kernel.run(task, node);
        });
    }
    for (std::thread& member : team) member.join();
    EXPECT_EQ(shared.failed, 0);
    for (const char* p = aligned + kernel.workspace(node, n_threads); p < &scratch.back(); ++p) {
        ASSERT_EQ(*p, 0x55) << "written beyond the workspace";
    }
}

// NMSE per expert against products in double.
void expect_near(const Node& node, const std::vector<float>& weights, const DotType& dot) {
    const double limit_of_panels = dot.pair_panels ? 1e-5 : 1e-12;
    const double limit_of_tiles = dot.operand == Operand::kQ8 ? 2e-4
                                  : dot.prefers_partner       ? 1e-5
                                                              : 1e-12;
    const ggml_tensor &as = *node.src[0], &b = *node.src[1];
    double error[kExperts] = {}, size[kExperts] = {};
    int64_t columns[kExperts] = {};
    for (int64_t t = 0; t < kTokens; ++t) {
        for (int64_t u = 0; u < kUsed; ++u) {
            const int32_t e = expert_of(u, t);
            ++columns[e];
            const float* x = row<const float>(b, u % b.ne[1], t);
            const float* got = row<const float>(node, u, t);
            for (int64_t m = 0; m < as.ne[1]; ++m) {
                const float* w = &weights[static_cast<size_t>((e * as.ne[1] + m) * as.ne[0])];
                double want = 0;
                for (int64_t k = 0; k < as.ne[0]; ++k) want += static_cast<double>(w[k]) * x[k];
                error[e] += (got[m] - want) * (got[m] - want);
                size[e] += want * want;
            }
        }
    }
    for (int e = 0; e < kExperts; ++e) {
        if (columns[e] == 0) continue;
        const double limit = columns[e] >= dot.panels_from ? limit_of_panels : limit_of_tiles;
        EXPECT_LE(error[e] / size[e], limit) << "expert " << e << ", " << columns[e] << " columns";
    }
}

TEST(Experts, EveryColumnMeetsItsExpert) {
    for (const ggml_type type :
         {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K}) {
        const int64_t k = type == GGML_TYPE_Q4_K ? 256 : 96, n_rows = kPanelRows + 5;
        for (const int64_t n_used : {int64_t{1}, kUsed}) {
            Tensor as(type, {k, n_rows, kExperts, 1}), b(GGML_TYPE_F32, {k, n_used, kTokens, 1});
            Tensor ids(GGML_TYPE_I32, {kUsed, kTokens, 1, 1});
            std::vector<float> weights;
            fill_weights(as, &weights);
            std::mt19937 random(2);
            std::normal_distribution<float> value;
            for (int64_t i = 0; i < tenon_nelements(&b); ++i) b.f32()[i] = value(random);
            for (int64_t i = 0; i < kUsed * kTokens; ++i) {
                ids.i32()[i] = expert_of(i % kUsed, i / kUsed);
            }
            Node node(GGML_OP_MUL_MAT_ID, GGML_TYPE_F32, {n_rows, kUsed, kTokens, 1},
                      {&as, &b, &ids});
            ASSERT_EQ(node.refusal(), TENON_REASON_NONE);
            node.fill(NAN);
            run_on(node, 1);
            expect_near(node, weights, *find_dot_type(type));
            const std::vector<char> alone = node.bytes;
            node.fill(NAN);
            run_on(node, 3);
            EXPECT_EQ(node.bytes, alone) << "type " << type;
        }
    }
}

// Whatever the numbers of columns, every column of an expert with many is in exactly one segment,
// and the plan keeps to the bounds its memory was made for.
TEST(Experts, PassesHoldEveryColumnOnce) {
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        const int64_t experts = 1 + static_cast<int64_t>(random() % 40);
        const int64_t tokens = 1 + static_cast<int64_t>(random() % (round % 7 ? 900 : 9000));
        Tensor as(GGML_TYPE_F32, {32, kPanelRows, experts, 1}),
            b(GGML_TYPE_F32, {32, 1, tokens, 1});
        Tensor ids(GGML_TYPE_I32, {1, tokens, 1, 1});
        const auto favoured = 1 + random() % static_cast<uint32_t>(experts);
        for (int64_t t = 0; t < tokens; ++t) {
            ids.i32()[t] = static_cast<int32_t>(
                random() % (t % 5 ? favoured : static_cast<uint32_t>(experts)));
        }
        Node node(GGML_OP_MUL_MAT_ID, GGML_TYPE_F32, {kPanelRows, 1, tokens, 1}, {&as, &b, &ids});
        const size_t size = ExpertGroups::bytes(node);
        std::vector<int64_t> memory(size / 8 + 8, 0x5555);
        const ExpertGroups groups(node, memory.data());
        ASSERT_FALSE(groups.fill(ids));
        for (size_t i = size / 8; i < memory.size(); ++i) ASSERT_EQ(memory[i], 0x5555);
        std::vector<int> seen(static_cast<size_t>(tokens));
        for (int64_t p = 0; p < groups.n_passes(); ++p) {
            int64_t strip = 0;
            for (int64_t s = groups.first_segment[p]; s < groups.first_segment[p + 1]; ++s) {
                const PanelSegment& segment = groups.segments[s];
                EXPECT_EQ(segment.strip, strip);
                strip += strips_of(segment.n_cols);
                ASSERT_GE(segment.col0, groups.first[segment.expert]);
                ASSERT_LE(segment.col0 + segment.n_cols, groups.first[segment.expert + 1]);
                for (int64_t c = 0; c < segment.n_cols; ++c)
                    ++seen[static_cast<size_t>(segment.col0 + c)];
            }
            EXPECT_GT(strip, 0);
            EXPECT_LE(strip, ExpertGroups::most_strips(node));
        }
        for (int64_t e = 0; e < experts; ++e) {
            const int64_t n = groups.first[e + 1] - groups.first[e];
            const int64_t chunks = groups.first_chunk[e + 1] - groups.first_chunk[e];
            const bool panels = n >= find_dot_type(GGML_TYPE_F32)->panels_from;
            EXPECT_EQ(chunks, panels ? 0 : (n + kMulMatCols - 1) / kMulMatCols);
            for (int64_t c = groups.first[e]; c < groups.first[e + 1]; ++c) {
                ASSERT_EQ(seen[static_cast<size_t>(c)], panels ? 1 : 0);
            }
        }
    }
}

}  // namespace
}  // namespace tenon::cpu
