// Builders given anything: each call ends in a node or in NULL and a message, under the sanitizers
// too.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "core/ops/build.h"
#include "tests/support/op_nodes.h"

using namespace tenon;
using test::Maker;

namespace {

struct Dice {
    std::mt19937_64 rng{20240607};

    int64_t up_to(int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(n + 1)); }

    // Mostly small extents, since those pass checks; now and then as large as tensors get.
    int64_t extent() {
        const int64_t kind = up_to(30);
        if (kind == 0) return 0;
        if (kind == 1) return int64_t{1} << up_to(59);
        return kind < 20 ? 1 + up_to(3) : 32 << up_to(3);
    }

    int32_t word() {
        const int64_t kind = up_to(9);
        if (kind == 0) return static_cast<int32_t>(rng());
        if (kind == 1) return up_to(1) != 0 ? INT32_MIN : INT32_MAX;
        if (kind < 8) return static_cast<int32_t>(up_to(6)) - 1;
        const float number = static_cast<float>(up_to(100)) * 0.5f - 5.0f;
        int32_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        return bits;
    }

    ggml_type type() {
        constexpr ggml_type kCommon[] = {GGML_TYPE_F32, GGML_TYPE_F32, GGML_TYPE_F16,
                                         GGML_TYPE_I32};
        return up_to(5) == 0 ? static_cast<ggml_type>(up_to(42)) : kCommon[up_to(3)];
    }

    // A leaf, perhaps seen through a permutation. Shapes impossible for the type give NULL.
    ggml_tensor* tensor(const Maker& m) {
        ggml_tensor* t = ggml_new_tensor_4d(m.ctx, type(), extent(), extent(), extent(), extent());
        const int64_t view = up_to(5);
        if (view == 0) return ggml_transpose(m.ctx, t);
        if (view == 1) return ggml_permute(m.ctx, t, 0, 2, 1, 3);
        if (t != nullptr && up_to(3) == 0) ggml_set_param(t);
        return t;
    }
};

TEST(OpsHostile, EveryShapeRuleSurvivesAnything) {
    Dice dice;
    size_t n_nodes = 0;
    size_t n_errors = 0;
    for (int round = 0; round < 800; round++) {
        const Maker m;
        for (const OpRow& row : kOps) {
            if (row.shape == nullptr) continue;
            if (ggml_get_mem_size(m.ctx) - ggml_used_mem(m.ctx) < 64 * ggml_tensor_overhead()) {
                ggml_reset(m.ctx);
            }
            ggml_tensor* sources[GGML_MAX_SRC] = {};
            const int64_t n = row.min_sources + dice.up_to(row.max_sources - row.min_sources);
            // Often the same tensor twice: ops with many sources want equal shapes.
            for (int64_t i = 0; i < n; i++) {
                sources[i] = i > 0 && dice.up_to(1) == 0 ? sources[i - 1] : dice.tensor(m);
            }
            int32_t words[GGML_MAX_OP_PARAMS / 4];
            for (int32_t& w : words) w = dice.word();
            const NodeShape asked{dice.type(),
                                  {dice.extent(), dice.extent(), dice.extent(), dice.extent()}};
            tenon_clear_error();
            const ggml_tensor* node =
                build_node(m.ctx, row.op, {sources, static_cast<size_t>(n)}, words,
                           row.params_bytes, BuildOptions{.asked = &asked});
            if (node != nullptr) {
                n_nodes++;
                EXPECT_EQ(node->op, row.op);
                for (int64_t extent : node->ne) EXPECT_GE(extent, 0) << row.name;
            } else if (std::find(sources, sources + row.min_sources, nullptr) ==
                       sources + row.min_sources) {
                n_errors++;
                EXPECT_STRNE(tenon_last_error(), "") << row.name;
            }
        }
    }
    EXPECT_GT(n_nodes, 10000u);
    EXPECT_GT(n_errors, 10000u);
}

TEST(OpsHostile, BuildersThatComputeShapesSurviveAnything) {
    Dice dice;
    size_t n_nodes = 0;
    for (int round = 0; round < 1500; round++) {
        const Maker m;
        ggml_tensor* a = dice.tensor(m);
        ggml_tensor* b = dice.tensor(m);
        const auto w = [&] { return dice.word(); };
        const auto f = [&] { return static_cast<float>(dice.word()) * 0.5f; };
        const auto op = static_cast<ggml_op_pool>(dice.up_to(1));
        int64_t ne[] = {dice.extent(), dice.extent(), dice.extent(), dice.extent()};
        const ggml_tensor* nodes[] = {
            ggml_pool_1d(m.ctx, a, op, w(), w(), w()),
            ggml_pool_2d(m.ctx, a, op, w(), w(), w(), w(), f(), f()),
            ggml_pool_2d_back(m.ctx, a, b, op, w(), w(), w(), w(), f(), f()),
            ggml_upscale(m.ctx, a, w(), GGML_SCALE_MODE_NEAREST),
            ggml_win_part(m.ctx, a, w()),
            ggml_win_unpart(m.ctx, a, w(), w(), w()),
            ggml_argsort_top_k(m.ctx, a, w()),
            ggml_im2col_back(m.ctx, a, b, ne, w(), w(), w(), w(), w(), w(), round % 2 == 0),
            ggml_im2col_3d(m.ctx, a, b, w(), w(), w(), w(), w(), w(), w(), w(), w(), w(),
                           GGML_TYPE_F16),
            ggml_conv_1d(m.ctx, a, b, w(), w(), w()),
            ggml_conv_1d_dw(m.ctx, a, b, w(), w(), w()),
            ggml_conv_2d(m.ctx, a, b, w(), w(), w(), w(), w(), w()),
            ggml_conv_2d_dw(m.ctx, a, b, w(), w(), w(), w(), w(), w()),
            ggml_conv_2d_sk_p0(m.ctx, a, b),
            ggml_conv_3d(m.ctx, a, b, w(), w(), w(), w(), w(), w(), w(), w(), w(), w()),
            ggml_view_4d(m.ctx, a, w(), w(), w(), w(), dice.rng(), dice.rng(), 0, dice.rng()),
            ggml_set(m.ctx, a, b, dice.rng(), 4, 4, dice.rng()),
            ggml_custom_4d(m.ctx, dice.type(), w(), w(), w(), w(), nullptr, 0, nullptr, 1, nullptr),
        };
        for (const ggml_tensor* node : nodes) n_nodes += node != nullptr ? 1 : 0;
    }
    EXPECT_GT(n_nodes, 1000u);
}

}  // namespace
