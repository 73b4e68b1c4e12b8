// The public API with arguments nobody should pass: each call of a builder ends in a sound tensor
// or in NULL and a text that names the function or its op. Under the sanitizers too.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/ops/build.h"
#include "core/ops/op_table.h"
#include "tenon/tenon.h"
#include "tests/support/api_builders.h"
#include "tests/support/arena.h"

namespace tenon::test {
namespace {

constexpr size_t kArena = size_t{1} << 20;

// A context with room for the next call; now and then with hardly any.
class Contexts {
public:
    explicit Contexts(Dice& dice) : dice_(dice) {}
    ggml_context* next() {
        if (dice_.one_in(50)) {
            tight_ = make_arena(static_cast<size_t>(dice_.up_to(8)) * ggml_tensor_overhead(),
                                /*no_alloc=*/true);
            return tight_.get();
        }
        if (kArena - ggml_used_mem(roomy_.get()) < 64 * ggml_tensor_overhead()) {
            ggml_reset(roomy_.get());
        }
        return roomy_.get();
    }

private:
    Dice& dice_;
    ggml_context_ptr roomy_ = make_arena(kArena, /*no_alloc=*/true), tight_;
};

void expect_sound(const ggml_tensor& t, const std::string& who) {
    EXPECT_TRUE(t.type >= 0 && t.type < GGML_TYPE_COUNT) << who;
    EXPECT_TRUE(t.op >= 0 && t.op < GGML_OP_COUNT) << who;
    for (const int64_t ne : t.ne) EXPECT_GE(ne, 0) << who;
    EXPECT_GE(ggml_nelements(&t), 0) << who;
    EXPECT_NE(std::find(std::begin(t.name), std::end(t.name), '\0'), std::end(t.name)) << who;
    for (const ggml_tensor* src : t.src) {
        EXPECT_TRUE(!src || src->ne[0] >= 0) << who;
    }
    if (t.view_src) {
        EXPECT_EQ(t.view_src->view_src, nullptr) << who;
        // Strides that a caller gives a view are checked when it is used; rows of part of a block,
        // in a transposed tensor, have no size in bytes.
        const bool checked = !who.starts_with("ggml_view_") && who != "VIEW" &&
                             t.ne[0] % ggml_blck_size(t.type) == 0 && t.nb[0] <= t.nb[1];
        EXPECT_TRUE(!checked || t.view_offs + ggml_nbytes(&t) <= ggml_nbytes(t.view_src))
            << who << ": " << t.view_offs << " + " << ggml_nbytes(&t) << " of "
            << ggml_nbytes(t.view_src);
    }
}

// Whether the text begins with a name: of a function, of an op or of its variants.
bool names_somebody(const std::string& text) {
    const std::string first = text.substr(0, text.find_first_of(": ("));
    if (first.starts_with("ggml_")) return true;
    for (const OpRow& row : kOps) {
        if (first == row.name) return true;
    }
    for (int i = 0; i < GGML_UNARY_OP_COUNT; ++i) {
        if (first == ggml_unary_op_name(static_cast<ggml_unary_op>(i))) return true;
    }
    for (int i = 0; i < GGML_GLU_OP_COUNT; ++i) {
        if (first == ggml_glu_op_name(static_cast<ggml_glu_op>(i))) return true;
    }
    return false;
}

// Functions that look something up: not to find it is no error.
bool only_looks(const std::string& name) { return name == "ggml_get_tensor"; }

// Functions that make no node: what they refuse is the tensor itself.
bool makes_leaves(const std::string& name) {
    return name.starts_with("ggml_new_tensor") || name == "ggml_dup_tensor" ||
           name == "ggml_view_tensor";
}

TEST(ApiFuzz, EveryBuilderGivesASoundTensorOrAReason) {
    Dice dice(seed(20240611));
    Contexts contexts(dice);
    size_t n_made = 0, n_refused = 0;
    std::map<std::string, std::string> silent;
    for (int round = 0; round < 300; ++round) {
        for (const BuilderRow& builder : builders()) {
            Arguments arguments(dice, contexts.next());
            tenon_clear_error();
            const ggml_tensor* made = builder.call(arguments);
            const std::string text = tenon_last_error();
            if (made) {
                ++n_made;
                expect_sound(*made, builder.name);
            } else if (!arguments.gave_null() && !only_looks(builder.name)) {
                ++n_refused;
                const bool says_who =
                    makes_leaves(builder.name) ? !text.empty() : names_somebody(text);
                if (!says_who) silent[builder.name] = text;
            }
        }
    }
    for (const auto& [name, text] : silent) ADD_FAILURE() << name << " says '" << text << "'";
    EXPECT_GT(n_made, 10000u);
    EXPECT_GT(n_refused, 10000u);
    tenon_clear_error();
}

// One thing of a sound call changed: this reaches the last checks of ops with many conditions.
void spoil(Dice& dice, Arguments& arguments, ggml_tensor** sources, int64_t n, int32_t* words) {
    const int64_t i = n > 0 ? dice.up_to(n - 1) : 0;
    const bool has_source = n > 0 && sources[i];
    switch (has_source ? dice.up_to(6) : 6) {
        case 0:
            sources[i] = nullptr;
            return;
        case 1:
            sources[i] = arguments.make<ggml_tensor*>();
            return;
        case 2:
            sources[i] = sources[dice.up_to(n - 1)];
            return;
        case 3:  // another type of the same shape
            sources[i] = ggml_new_tensor(arguments.make<ggml_context*>(), dice.type(),
                                         GGML_MAX_DIMS, sources[i]->ne);
            return;
        case 4: {  // one extent
            int64_t ne[GGML_MAX_DIMS];
            std::copy_n(sources[i]->ne, GGML_MAX_DIMS, ne);
            int64_t& one = ne[dice.up_to(3)];
            one = dice.one_in(2) ? dice.extent() : one + dice.up_to(2) - 1;
            sources[i] = ggml_new_tensor(arguments.make<ggml_context*>(), sources[i]->type,
                                         GGML_MAX_DIMS, ne);
            return;
        }
        case 5:
            sources[i] = ggml_transpose(arguments.make<ggml_context*>(), sources[i]);
            return;
        default:
            words[dice.up_to(GGML_MAX_OP_PARAMS / 4 - 1)] =
                dice.one_in(3) ? std::bit_cast<int32_t>(dice.real())
                               : static_cast<int32_t>(dice.integer());
    }
}

TEST(ApiFuzz, RepresentativeCallsWithOneThingWrongGiveASoundNodeOrAReason) {
    Dice dice(seed(20240612));
    size_t n_made = 0, n_refused = 0;
    for (int round = 0; round < 10; ++round) {
        for (size_t op = 0; op < tenon_op_count(); ++op) {
            tenon_op_info info{};
            info.struct_size = sizeof info;
            ASSERT_TRUE(tenon_op_get(op, &info));
            const OpRow& row = kOps[op];
            if (!row.shape) continue;
            for (size_t i = 0; i < tenon_op_call_count(op, 0); ++i) {
                const auto ctx = make_arena(64 * ggml_tensor_overhead(), /*no_alloc=*/true);
                const ggml_tensor* sound = tenon_op_call(ctx.get(), info.op, 0, i, nullptr, 0);
                ASSERT_NE(sound, nullptr) << info.name << tenon_last_error();
                ggml_tensor* sources[GGML_MAX_SRC];
                std::copy_n(sound->src, GGML_MAX_SRC, sources);
                int64_t n = GGML_MAX_SRC;
                while (n > row.min_sources && !sources[n - 1]) --n;
                int32_t words[GGML_MAX_OP_PARAMS / 4];
                std::copy_n(sound->op_params, std::size(words), words);
                Arguments arguments(dice, ctx.get());
                spoil(dice, arguments, sources, n, words);
                tenon_clear_error();
                const NodeShape asked{sound->type,
                                      {sound->ne[0], sound->ne[1], sound->ne[2], sound->ne[3]}};
                const ggml_tensor* node =
                    build_node(ctx.get(), row.op, {sources, static_cast<size_t>(n)}, words,
                               row.params_bytes, BuildOptions{.asked = &asked});
                const std::string text = tenon_last_error();
                if (node) {
                    ++n_made;
                    expect_sound(*node, info.name);
                } else if (std::find(sources, sources + row.min_sources, nullptr) ==
                           sources + row.min_sources) {
                    ++n_refused;
                    EXPECT_TRUE(text.starts_with(info.name)) << info.name << ": " << text;
                }
            }
        }
    }
    EXPECT_GT(n_made, 1000u);
    EXPECT_GT(n_refused, 1000u);
    tenon_clear_error();
}

// Everything else that takes a tensor, for its own sake: an answer, whatever it is.
TEST(ApiFuzz, QuestionsAndSettersTakeAnyTensor) {
    Dice dice(seed(20240613));
    Contexts contexts(dice);
    for (int round = 0; round < 20000; ++round) {
        Arguments arguments(dice, contexts.next());
        ggml_tensor* t = arguments.make<ggml_tensor*>();
        ggml_tensor* u = arguments.make<ggml_tensor*>();
        // A node as a mistaken application may leave it.
        if (t && dice.one_in(4)) t->op = static_cast<ggml_op>(dice.integer());
        if (t && dice.one_in(4)) t->op_params[0] = static_cast<int32_t>(dice.integer());
        EXPECT_NE(ggml_op_desc(t), nullptr);
        EXPECT_NE(ggml_get_name(t), nullptr);
        (void)(ggml_nelements(t) + ggml_nrows(t) + ggml_n_dims(t) + ggml_get_unary_op(t) +
               ggml_get_glu_op(t) + ggml_flash_attn_ext_get_prec(t));
        (void)(ggml_nbytes(t) + ggml_nbytes_pad(t) + ggml_element_size(t));
        for (const auto is :
             {ggml_is_transposed, ggml_is_permuted, ggml_is_empty, ggml_is_view, ggml_is_scalar,
              ggml_is_vector, ggml_is_matrix, ggml_is_3d, ggml_is_contiguous, ggml_is_contiguous_0,
              ggml_is_contiguous_1, ggml_is_contiguous_2, ggml_is_contiguous_to_1,
              ggml_is_contiguous_to_2, ggml_is_contiguous_to_3, ggml_is_contiguously_allocated,
              ggml_is_contiguous_channels, ggml_is_contiguous_rows}) {
            (void)is(t);
        }
        (void)(ggml_are_same_shape(t, u) + ggml_are_same_stride(t, u) + ggml_can_repeat(t, u));
        int64_t at[4];
        ggml_unravel_index(t, dice.integer(), &at[0], &at[1], dice.one_in(2) ? &at[2] : nullptr,
                           &at[3]);
        EXPECT_EQ(ggml_get_data(t), nullptr);
        EXPECT_EQ(ggml_get_data_f32(t), nullptr);
        ggml_mul_mat_set_prec(t, arguments.make<ggml_prec>());
        ggml_mul_mat_set_hint(t, arguments.make<ggml_op_hint>());
        ggml_soft_max_add_sinks(t, u);
        ggml_rope_set_offset(t, arguments.make<int>());
        ggml_flash_attn_ext_set_prec(t, arguments.make<ggml_prec>());
        ggml_flash_attn_ext_add_sinks(t, u);
        ggml_flash_attn_ext_set_n_kv_max(t, arguments.make<int>());
        ggml_prec_set_acc(t, arguments.make<ggml_prec>());
        ggml_prec_set_src(t, arguments.make<ggml_prec>(), arguments.make<int>());
        ggml_set_zero(t);
        for (const auto set : {ggml_set_input, ggml_set_output, ggml_set_loss}) set(t);
        ggml_set_name(t, dice.one_in(2) ? std::string(500, 'x').c_str() : nullptr);
        ggml_format_name(t, "%d", round);
    }
    tenon_clear_error();
}

TEST(ApiFuzz, TypesAndOpsOutsideTheirRangesHaveAnswers) {
    Dice dice(seed(20240614));
    for (int round = 0; round < 5000; ++round) {
        const auto number = static_cast<int>(dice.integer());
        const auto type = static_cast<ggml_type>(number);
        (void)(ggml_blck_size(type) + ggml_row_size(type, dice.integer()));
        (void)(ggml_type_size(type) + ggml_is_quantized(type));
        (void)ggml_get_type_traits(type);
        (void)ggml_quantize_requires_imatrix(type);
        (void)ggml_ftype_to_ggml_type(static_cast<ggml_ftype>(number));
        (void)ggml_status_to_string(static_cast<ggml_status>(number));
        EXPECT_NE(ggml_op_symbol(static_cast<ggml_op>(number)), nullptr);
        EXPECT_NE(ggml_op_name(static_cast<ggml_op>(number)), nullptr);
        EXPECT_NE(ggml_unary_op_name(static_cast<ggml_unary_op>(number)), nullptr);
        EXPECT_NE(ggml_glu_op_name(static_cast<ggml_glu_op>(number)), nullptr);
        float in[256] = {};
        char out[4096];
        if (dice.one_in(50)) ggml_quantize_chunk(type, in, out, dice.up_to(1), 1, 256, nullptr);
        (void)ggml_validate_row_data(type, out, static_cast<size_t>(dice.up_to(4096)));
    }
    tenon_clear_error();
}

// Graphs, with tensors and numbers that are wrong.
TEST(ApiFuzz, GraphsTakeAnything) {
    Dice dice(seed(20240615));
    Contexts contexts(dice);
    for (int round = 0; round < 300; ++round) {
        ggml_context* ctx = contexts.next();
        Arguments arguments(dice, ctx);
        const auto graph = [&] {
            return dice.one_in(20)
                       ? nullptr
                       : ggml_new_graph_custom(ctx,
                                               dice.one_in(10) ? SIZE_MAX >> dice.up_to(63)
                                                               : static_cast<size_t>(dice.up_to(9)),
                                               dice.one_in(2));
        };
        ggml_cgraph *a = graph(), *b = graph();
        for (int i = 0; i < 12; ++i) {
            ggml_tensor* t = arguments.make<ggml_tensor*>();
            ggml_tensor* u = arguments.make<ggml_tensor*>();
            ggml_tensor* node = dice.one_in(2) ? ggml_sqr(ctx, t) : ggml_add(ctx, t, u);
            ggml_build_forward_expand(a, dice.one_in(4) ? nullptr : node);
            ggml_build_forward_order(a, node);
            ggml_graph_add_node(b, node);
            ggml_tensor* both[] = {t, node};
            ggml_build_forward_select(a, both, static_cast<int>(dice.up_to(2)),
                                      static_cast<int>(dice.integer()));
            (void)ggml_graph_get_grad(a, node);
            (void)ggml_graph_get_grad_acc(a, t);
            (void)ggml_graph_node(a, static_cast<int>(dice.integer()));
        }
        (void)(ggml_graph_size(a) + ggml_graph_n_nodes(b));
        (void)ggml_graph_nodes(a);
        (void)ggml_graph_get_tensor(a, "node_1");
        (void)ggml_graph_dup(ctx, a, dice.one_in(2));
        ggml_graph_cpy(a, b);
        ggml_graph_reset(a);
        ggml_graph_clear(b);
        (void)ggml_graph_overhead_custom(SIZE_MAX >> dice.up_to(63), dice.one_in(2));
    }
    tenon_clear_error();
}

// The names of functions that return a tensor and take a context first.
std::vector<std::string> builders_of(const std::string& header) {
    std::vector<std::string> names;
    const std::string result = "struct ggml_tensor* ggml_";
    for (size_t at = 0; (at = header.find(result, at)) != std::string::npos;) {
        const size_t begin = at + result.size() - 5, open = header.find('(', begin);
        at = begin;
        if (open == std::string::npos) break;
        const size_t first = header.find_first_not_of(" \n", open + 1);
        const bool is_name = header.find_first_of(" ,;)\n", begin) > open;
        if (is_name && header.compare(first, 20, "struct ggml_context*") == 0)
            names.push_back(header.substr(begin, open - begin));
    }
    return names;
}

TEST(ApiFuzz, NoBuilderOfTheHeaderIsForgotten) {
    std::ifstream file(TENON_HEADERS "/ggml.h");
    std::stringstream header;
    header << file.rdbuf();
    const std::vector<std::string> names = builders_of(header.str());
    EXPECT_GE(names.size(), 242u);
    for (const std::string& name : names) {
        EXPECT_TRUE(std::any_of(builders().begin(), builders().end(), [&](const BuilderRow& row) {
            return name == row.name;
        })) << name;
    }
}

}  // namespace
}  // namespace tenon::test
