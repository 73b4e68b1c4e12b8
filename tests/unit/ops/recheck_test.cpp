// check_node(): what builders make passes, what was made or changed by hand passes only where it
// keeps the rules, and views of blocks only where they are rows of whole blocks.

#include "core/ops/recheck.h"

#include <functional>
#include <limits>

#include "core/tensor/types.h"
#include "tenon/op_params.h"
#include "tests/support/op_nodes.h"

namespace tenon::test {
namespace {

std::string refusal(const ggml_tensor* node) {
    if (!node) return "no node: " + std::string(tenon_last_error());
    const auto checked = check_node(*node);
    return checked ? "" : checked.error().text;
}

bool names(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

template <class Params>
ggml_tensor* with(ggml_tensor* node, const Params& params) {
    std::memcpy(node->op_params, &params, sizeof params);
    return node;
}

TEST(Recheck, EveryRepresentativeCallPasses) {
    for (size_t op = 0; op < tenon_op_count(); op++) {
        tenon_op_info info{};
        info.struct_size = sizeof info;
        ASSERT_TRUE(tenon_op_get(op, &info));
        for (size_t sub = 0; sub < std::max(info.n_sub_ops, 1u); sub++) {
            for (size_t i = 0; i < tenon_op_call_count(op, sub); i++) {
                const auto ctx = make_arena(32 * ggml_tensor_overhead(), /*no_alloc=*/true);
                char what[160];
                EXPECT_EQ(refusal(tenon_op_call(ctx.get(), op, sub, i, what, sizeof what)), "")
                    << info.name << ": " << what;
            }
        }
    }
}

TEST(Recheck, WhatBuildersMakeInTwoWaysPasses) {
    const Maker m;
    ggml_context* c = m.ctx;
    ggml_tensor* x = m.f32("x", 8, 6, 4);
    ggml_tensor* halves = m.f16("halves", 8, 6);
    int64_t data[] = {8, 6, 4, 1};
    ggml_tensor* gradient = ggml_pool_2d(c, x, GGML_OP_POOL_AVG, 3, 3, 2, 2, 0.5f, 1.5f);
    ggml_tensor* args[] = {x, halves};
    const auto nothing = [](ggml_tensor*, int, int, void*) {};
    ggml_tensor* attention =
        ggml_flash_attn_ext(c, m.f32("q", 8, 5, 4), m.f16("k", 8, 7, 2), m.f16("v", 8, 7, 2),
                            m.f16("mask", 7, 5), 1.0f, 0.0f, 0.0f);
    ggml_flash_attn_ext_set_prec(attention, GGML_PREC_F32);
    ggml_flash_attn_ext_add_sinks(attention, m.f32("sinks", 4));
    ggml_tensor* product = ggml_mul_mat(c, halves, m.f32("b", 8, 3));
    ggml_mul_mat_set_prec(product, GGML_PREC_F32);
    ggml_mul_mat_set_hint(product, GGML_HINT_SRC0_IS_HADAMARD);
    for (const ggml_tensor* node :
         {ggml_add_cast(c, halves, m.f32("y", 8, 6), GGML_TYPE_F32), ggml_add_inplace(c, x, x),
          ggml_cast(c, x, GGML_TYPE_F16), ggml_cast(c, x, GGML_TYPE_F32), ggml_cpy(c, x, x),
          ggml_cont_2d(c, ggml_transpose(c, halves), 24, 2), gradient,
          ggml_pool_2d_back(c, m.f32("dy", gradient->ne[0], gradient->ne[1], 4), x,
                            GGML_OP_POOL_AVG, 3, 3, 2, 2, 0.5f, 1.5f),
          ggml_pool_2d(c, x, GGML_OP_POOL_MAX, 3, 3, 1, 1, -0.75f, 0.0f),
          ggml_im2col_back(c, m.f32("patches", 36, 6, 4), m.f32("kernel", 3, 3, 4), data, 1, 1, 0,
                           0, 1, 1, true),
          ggml_custom_4d(c, GGML_TYPE_F16, 3, 1, 1, 1, args, 2, nothing, 1, nullptr),
          ggml_custom_inplace(c, x, args, 1, nothing, GGML_N_TASKS_MAX, nullptr), attention,
          product, ggml_scale_inplace(c, x, 2.0f), ggml_rms_norm_inplace(c, x, 1e-6f),
          ggml_set_rows(c, m.f32("rows", 8, 9), m.f32("new", 8, 2), m.i32("ids", 2)),
          // nothing to compute, but well formed
          ggml_get_rows(c, x, m.i32("none", 0, 4)), ggml_mul_mat(c, halves, m.f32("b", 8, 0)),
          // read, one value for all
          ggml_sqr(c, ggml_view_2d(c, x, 8, 6, 0, 0))}) {
        ASSERT_NE(node, nullptr) << tenon_last_error();
        EXPECT_EQ(refusal(node), "") << ggml_op_desc(node);
    }
}

// ---- made by hand -----------------------------------------------------------------------------

struct Spoiled {
    const char* text;  // part of it
    std::function<ggml_tensor*(const Maker&)> make;
};

ggml_tensor* shaped(ggml_tensor* node, int64_t ne0, int64_t ne1) {
    node->ne[0] = ne0;
    node->ne[1] = ne1;
    return node;
}

const Spoiled kSpoiled[] = {
    {"source 1 of 2 is null",
     [](const Maker& m) {
         ggml_tensor* node = ggml_mul_mat(m.ctx, m.f32("a", 8, 4), m.f32("b", 8, 3));
         node->src[1] = nullptr;
         return node;
     }},
    {"has a source 1, takes 1",
     [](const Maker& m) {
         ggml_tensor* node = ggml_sqr(m.ctx, m.f32("a", 8));
         node->src[1] = m.f32("b", 8);
         return node;
     }},
    {"it is its own source 0",
     [](const Maker& m) {
         ggml_tensor* node = ggml_sqr(m.ctx, m.f32("a", 8));
         return node->src[0] = node;
     }},
    {"it is f32 [4, 9, 1, 1], must be f32 [4, 3, 1, 1]",
     [](const Maker& m) {
         return shaped(ggml_mul_mat(m.ctx, m.f32("a", 8, 4), m.f32("b", 8, 3)), 4, 9);
     }},
    {"it is f16 [8, 1, 1, 1], must be f32 [8, 1, 1, 1]",
     [](const Maker& m) {
         ggml_tensor* node = ggml_sqr(m.ctx, m.f32("a", 8));
         node->type = GGML_TYPE_F16;
         return node;
     }},
    {"src0 'a' has type 4, which does not exist",
     [](const Maker& m) {
         ggml_tensor* node = ggml_sqr(m.ctx, m.f32("a", 8));
         node->src[0]->type = static_cast<ggml_type>(4);
         return node;
     }},
    {"the result has type 1000, which does not exist",
     [](const Maker& m) {
         ggml_tensor* node = ggml_sqr(m.ctx, m.f32("a", 8));
         node->type = static_cast<ggml_type>(1000);
         return node;
     }},
    {"src0 'a' has shape [-8, 1, 1, 1], which no memory holds",
     [](const Maker& m) {
         ggml_tensor* node = ggml_sqr(m.ctx, m.f32("a", 8));
         node->src[0]->ne[0] = -8;
         return node;
     }},
    {"which no memory holds",
     [](const Maker& m) {
         ggml_tensor* node = ggml_sqr(m.ctx, m.f32("a", 8));
         for (int64_t& n : node->src[0]->ne) n = int64_t{1} << 31;
         return node;
     }},
    {"there is no op 1000",
     [](const Maker& m) {
         ggml_tensor* node = ggml_sqr(m.ctx, m.f32("a", 8));
         node->op = static_cast<ggml_op>(1000);
         return node;
     }},
    {"(ROPE): n_dims is -2, must be at least 0",
     [](const Maker& m) {
         ggml_tensor* node = ggml_rope(m.ctx, m.f32("a", 8, 2, 3), m.i32("p", 3), 8, 0);
         tenon_rope_params p;
         std::memcpy(&p, node->op_params, sizeof p);
         p.n_dims = -2;
         return with(node, p);
     }},
    {"eps is -1, must be at least 0",
     [](const Maker& m) {
         return with(ggml_norm(m.ctx, m.f32("a", 8), 0), tenon_norm_params{-1.0f});
     }},
    {"stride is 0, must be at least 1",
     [](const Maker& m) {
         ggml_tensor* node = ggml_conv_2d_direct(m.ctx, m.f32("k", 3, 3, 2, 4), m.f32("d", 8, 8, 2),
                                                 1, 1, 1, 1, 1, 1);
         return with(node, tenon_conv_2d_params{0, 1, 1, 1, 1, 1});
     }},
    {"the function is NULL",
     [](const Maker& m) {
         ggml_tensor* node = ggml_map_custom1(
             m.ctx, m.f32("a", 8), [](ggml_tensor*, const ggml_tensor*, int, int, void*) {}, 1,
             nullptr);
         return with(node, tenon_custom_params{0, 1, 0, 0});
     }},
    {"6 windows in dimension 0, a padding of 0 gives 3 to 5",
     [](const Maker& m) {
         ggml_tensor* node =
             ggml_pool_2d(m.ctx, m.f32("a", 8, 8), GGML_OP_POOL_AVG, 2, 2, 2, 2, 0, 0);
         return shaped(node, 6, 4);
     }},
    {"src1 ends at byte 36 of src0, which has 32",
     [](const Maker& m) {
         ggml_tensor* node = ggml_set_1d(m.ctx, m.f32("a", 8), m.f32("b", 4), 16);
         return with(node, tenon_set_params{16, 16, 16, 20, 0});
     }},
    {"are not multiples of 4 bytes",
     [](const Maker& m) {
         ggml_tensor* node = ggml_set_1d(m.ctx, m.f32("a", 8), m.f32("b", 4), 16);
         return with(node, tenon_set_params{16, 16, 16, 6, 0});
     }},
    {"nb1 is -16, must be at least 0",
     [](const Maker& m) {
         ggml_tensor* node = ggml_set_1d(m.ctx, m.f32("a", 8), m.f32("b", 4), 16);
         return with(node, tenon_set_params{-16, 16, 16, 16, 0});
     }},
    {"number of state slots is 0, must be at least 1",
     [](const Maker& m) {
         ggml_tensor* node = ggml_gated_delta_net(m.ctx, m.f32("q", 4, 1, 3), m.f32("k", 4, 1, 3),
                                                  m.f32("v", 4, 2, 3), m.f32("g", 1, 2, 3),
                                                  m.f32("beta", 1, 2, 3), m.f32("s", 4, 4, 2), 1);
         return with(shaped(node, 8, 3), tenon_gated_delta_net_params{0});
     }},
    {"5 ids for 3 rows of src0",
     [](const Maker& m) {
         ggml_tensor* node =
             ggml_get_rows_back(m.ctx, m.f32("dy", 8, 3), m.i32("ids", 3), m.f32("shape", 8, 10));
         node->src[1] = m.i32("more", 5);
         return node;
     }},
    {"1 x 9 windows of 4 cover src0, which takes 2 x 2",
     [](const Maker& m) {
         ggml_tensor* node = ggml_win_part(m.ctx, m.f32("a", 3, 8, 5), 4);
         node->ne[3] = 9;
         return with(node, tenon_win_part_params{1, 9, 4});
     }},
    // layout
    {"src0 'a' has strides",
     [](const Maker& m) {
         ggml_tensor* a = m.f32("a", 8, 4);
         a->nb[1] = std::numeric_limits<size_t>::max() / 2 & ~size_t{3};
         return ggml_sqr(m.ctx, a);
     }},
    {"src0 'a' has nb[1] = 30, no multiple of the 4 bytes of f32",
     [](const Maker& m) {
         ggml_tensor* a = ggml_view_2d(m.ctx, m.f32("base", 8, 4), 4, 3, 30, 0);
         return ggml_sqr(m.ctx, ggml_set_name(a, "a"));
     }},
    {"src0 'a' begins 2 bytes into 'base', no multiple of the 4 bytes of f32",
     [](const Maker& m) {
         ggml_tensor* a = ggml_view_1d(m.ctx, m.f32("base", 8), 4, 2);
         return ggml_sqr(m.ctx, ggml_set_name(a, "a"));
     }},
    {"src0 'a' is a view of 112 bytes at 32, outside of the 128 bytes of 'base'",
     [](const Maker& m) {
         ggml_tensor* a = ggml_view_2d(m.ctx, m.f32("base", 8, 4), 4, 4, 32, 32);
         return ggml_sqr(m.ctx, ggml_set_name(a, "a"));
     }},
    {"the result is a view of 152 bytes at 0, outside of the 128 bytes of 'a'",
     [](const Maker& m) {
         ggml_tensor* node = ggml_sqr_inplace(m.ctx, m.f32("a", 8, 4));
         node->nb[1] = 40;
         node->nb[2] = node->nb[3] = 160;
         return node;
     }},
    {"elements of the result overlap",
     [](const Maker& m) {
         ggml_tensor* to = ggml_view_2d(m.ctx, m.f32("base", 8, 4), 8, 4, 16, 0);
         return ggml_cpy(m.ctx, m.f32("a", 8, 4), to);
     }},
};

TEST(Recheck, WhatWasSpoiledByHandIsRefusedInWords) {
    for (const Spoiled& spoiled : kSpoiled) {
        const Maker m;
        const ggml_tensor* node = spoiled.make(m);
        const std::string why = refusal(node);
        EXPECT_TRUE(names(why, spoiled.text)) << "'" << spoiled.text << "' not in '" << why << "'";
        EXPECT_TRUE(names(why, "node '")) << why;
    }
}

TEST(Recheck, WhatABuilderRefusesIsRefusedAgain) {
    const Maker m;  // sources change after the node was made
    ggml_tensor* node = ggml_mul_mat(m.ctx, m.f32("a", 8, 4), m.f32("b", 8, 3));
    ASSERT_EQ(refusal(node), "");
    node->src[1] = m.f32("long", 9, 3);
    EXPECT_EQ(refusal(node),
              "node '' (MUL_MAT): src0 'a' has ne[0] = 8, src1 'long' has ne[0] = 9");
}

// ---- views --------------------------------------------------------------------------------------

TEST(Recheck, AViewNeedsToEndInsideOnlyWhereItIsRead) {
    // Relative positions, shifted: row i begins at column i of a table of rows of 2n.
    const Maker m;
    constexpr int64_t n = 5;
    constexpr size_t step = (2 * n + 1) * 4;
    ggml_tensor* base = m.f32("base", 2 * n, n);
    ggml_tensor* shifted = ggml_view_2d(m.ctx, base, 2 * n - 1, n, step, 0);
    ASSERT_NE(shifted, nullptr) << tenon_last_error();
    EXPECT_EQ(refusal(shifted), "");  // nothing is read
    EXPECT_TRUE(names(refusal(ggml_sqr(m.ctx, shifted)),
                      "is a view of 212 bytes at 0, outside of the 200 bytes of 'base'"));
    ggml_tensor* inside = ggml_view_2d(m.ctx, shifted, n, n, step, 0);
    EXPECT_EQ(refusal(ggml_sqr(m.ctx, inside)), "");
}

using View = ggml_tensor* (*)(const Maker&, ggml_type, int64_t block);

struct BlockView {
    const char* text;  // NULL: allowed
    View make;
};

constexpr BlockView kBlockViews[] = {
    {"on its side: dimension 0 was dimension 1",
     [](const Maker& m, ggml_type t, int64_t b) {
         return ggml_transpose(m.ctx, m("a", t, 2 * b, 3 * b));
     }},
    // strides alone do not tell this one from the tensor itself
    {"on its side: dimension 0 was dimension 1",
     [](const Maker& m, ggml_type t, int64_t b) { return ggml_transpose(m.ctx, m("a", t, b, b)); }},
    {"on its side: dimension 0 was dimension 2",
     [](const Maker& m, ggml_type t, int64_t b) {
         return ggml_permute(m.ctx, ggml_transpose(m.ctx, m("a", t, b, 2, b)), 1, 2, 0, 3);
     }},
    {"rows of 7 elements, no multiple of the",
     [](const Maker& m, ggml_type t, int64_t b) { return ggml_transpose(m.ctx, m("a", t, b, 7)); }},
    {"begins 5 bytes into 'a'",
     [](const Maker& m, ggml_type t, int64_t b) {
         return ggml_view_1d(m.ctx, m("a", t, 4 * b), b, 5);
     }},
    {"no multiple of the",
     [](const Maker& m, ggml_type t, int64_t b) {
         return ggml_view_2d(m.ctx, m("a", t, 4 * b, 4), b, 3, ggml_type_size(t) + 1, 0);
     }},
    {"at a distance of",
     [](const Maker& m, ggml_type t, int64_t b) {
         ggml_tensor* view = ggml_view_1d(m.ctx, m("a", t, 4 * b), 2 * b, 0);
         view->nb[0] *= 2;
         return view;
     }},
    {nullptr, [](const Maker& m, ggml_type t, int64_t b) { return m("a", t, 2 * b, 3); }},
    {nullptr,
     [](const Maker& m, ggml_type t, int64_t b) {
         return ggml_transpose(m.ctx, ggml_transpose(m.ctx, m("a", t, b, b)));
     }},
    {nullptr, [](const Maker& m, ggml_type t,
                 int64_t b) { return ggml_permute(m.ctx, m("a", t, 2 * b, 3, 2), 0, 2, 1, 3); }},
    {nullptr,
     [](const Maker& m, ggml_type t, int64_t b) {
         return ggml_view_2d(m.ctx, m("a", t, 4 * b, 4), b, 3, 5 * ggml_type_size(t),
                             2 * ggml_type_size(t));
     }},
    {nullptr, [](const Maker& m, ggml_type t,
                 int64_t b) { return ggml_view_1d(m.ctx, m("a", t, 4 * b), 0, 0); }},
};

TEST(Recheck, ViewsOfBlocksAreRowsOfWholeBlocks) {
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        const auto type = static_cast<ggml_type>(t);
        if (!is_usable_type(t) || tenon_types[t].block == 1) continue;
        for (const BlockView& view : kBlockViews) {
            const Maker m;
            ggml_tensor* x = view.make(m, type, tenon_types[t].block);
            ASSERT_NE(x, nullptr) << tenon_last_error();
            const std::string as_source = refusal(ggml_cast(m.ctx, x, GGML_TYPE_F32));
            if (!view.text) {
                EXPECT_EQ(as_source, "") << ggml_type_name(type);
                EXPECT_EQ(refusal(ggml_dup_inplace(m.ctx, x)), "") << ggml_type_name(type);
                continue;
            }
            EXPECT_TRUE(names(as_source, view.text)) << view.text << ": " << as_source;
            EXPECT_TRUE(names(as_source, "src0")) << as_source;
        }
    }
}

}  // namespace
}  // namespace tenon::test
