// Views as operands: of block types, whose rows may be no rows of blocks any more, and ones that
// reach out of their tensor. What is computed has the values of the view; all else is refused in
// words.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "tenon/tenon.h"
#include "tests/support/variant.h"

namespace {

std::vector<float> some_values(int64_t n) {
    std::vector<float> v(static_cast<size_t>(n));
    unsigned seed = 1;
    for (float& x : v) {
        seed = seed * 1664525u + 1013904223u;
        x = static_cast<float>(seed >> 8 & 0xffff) / 32768.0f - 1.0f;
    }
    return v;
}

std::vector<float> decoded(const ggml_tensor* t) {
    std::vector<char> stored(ggml_nbytes(t));
    ggml_backend_tensor_get(t, stored.data(), 0, stored.size());
    std::vector<float> out(static_cast<size_t>(ggml_nelements(t)));
    if (t->type == GGML_TYPE_F32) {
        std::memcpy(out.data(), stored.data(), stored.size());
    } else {
        ggml_get_type_traits(t->type)->to_float(stored.data(), out.data(), ggml_nelements(t));
    }
    return out;
}

void put(ggml_tensor* t, const std::vector<float>& values) {
    std::vector<char> stored(ggml_nbytes(t));
    if (t->type == GGML_TYPE_F32) {
        std::memcpy(stored.data(), values.data(), stored.size());
    } else {
        ggml_quantize_chunk(t->type, values.data(), stored.data(), 0, ggml_nrows(t), t->ne[0],
                            nullptr);
    }
    ggml_backend_tensor_set(t, stored.data(), 0, stored.size());
}

// A view of a matrix `base` of [columns, rows], and the element of the matrix that its element
// (i0, i1) is; -1: there is no right answer.
struct View {
    const char* name;
    bool allowed;           // it is rows of whole blocks, so it must be computed
    int64_t columns, rows;  // in blocks of the type, and as such; rows 0: as many as columns
    ggml_tensor* (*make)(ggml_context*, ggml_tensor* base);
    int64_t (*element)(const ggml_tensor& base, int64_t i0, int64_t i1);
};

int64_t turned(const ggml_tensor& base, int64_t i0, int64_t i1) { return i0 * base.ne[0] + i1; }

const View kViews[] = {
    {"transposed", false, 2, 0, ggml_transpose, turned},
    {"transposed, wider than a block", false, 1, 0,
     [](ggml_context* c, ggml_tensor* base) {
         return ggml_transpose(
             c, ggml_view_2d(c, base, ggml_blck_size(base->type), base->ne[1], base->nb[1], 0));
     },
     turned},
    {"transposed, of one block each way", false, 1, 0, ggml_transpose, turned},
    {"inside a block", false, 4, 2,
     [](ggml_context* c, ggml_tensor* base) {
         return ggml_view_2d(c, base, ggml_blck_size(base->type), 2, base->nb[1], 5);
     },
     [](const ggml_tensor&, int64_t, int64_t) -> int64_t { return -1; }},
    {"rows at no multiple of the block", false, 4, 3,
     [](ggml_context* c, ggml_tensor* base) {
         return ggml_view_2d(c, base, ggml_blck_size(base->type), 3, base->nb[1] + 1, 0);
     },
     [](const ggml_tensor&, int64_t, int64_t) -> int64_t { return -1; }},
    {"the second block of each row", true, 3, 4,
     [](ggml_context* c, ggml_tensor* base) {
         return ggml_view_2d(c, base, ggml_blck_size(base->type), 4, base->nb[1], base->nb[0]);
     },
     [](const ggml_tensor& base, int64_t i0, int64_t i1) {
         return i1 * base.ne[0] + ggml_blck_size(base.type) + i0;
     }},
    {"turned twice", true, 1, 0,
     [](ggml_context* c, ggml_tensor* base) { return ggml_transpose(c, ggml_transpose(c, base)); },
     [](const ggml_tensor& base, int64_t i0, int64_t i1) { return i1 * base.ne[0] + i0; }},
};

// What is done with the view; `other` is a second operand of f32, or ids.
struct Op {
    const char* name;
    ggml_tensor* (*make)(ggml_context*, ggml_tensor* view, ggml_tensor** other);
    bool product = false;
};

const Op kOps[] = {
    {"cont", [](ggml_context* c, ggml_tensor* v, ggml_tensor**) { return ggml_cont(c, v); }},
    {"dup", [](ggml_context* c, ggml_tensor* v, ggml_tensor**) { return ggml_dup(c, v); }},
    {"cpy f32",
     [](ggml_context* c, ggml_tensor* v, ggml_tensor**) {
         return ggml_cpy(c, v, ggml_new_tensor_2d(c, GGML_TYPE_F32, v->ne[0], v->ne[1]));
     }},
    {"cast f32",
     [](ggml_context* c, ggml_tensor* v, ggml_tensor**) { return ggml_cast(c, v, GGML_TYPE_F32); }},
    {"cast f16",
     [](ggml_context* c, ggml_tensor* v, ggml_tensor**) { return ggml_cast(c, v, GGML_TYPE_F16); }},
    {"repeat", [](ggml_context* c, ggml_tensor* v,
                  ggml_tensor**) { return ggml_repeat_4d(c, v, v->ne[0], v->ne[1], 1, 1); }},
    {"add",
     [](ggml_context* c, ggml_tensor* v, ggml_tensor** other) {
         *other = ggml_new_tensor_2d(c, GGML_TYPE_F32, v->ne[0], v->ne[1]);
         return ggml_add_cast(c, v, *other, GGML_TYPE_F32);
     }},
    {"get_rows",
     [](ggml_context* c, ggml_tensor* v, ggml_tensor** other) {
         *other = ggml_new_tensor_1d(c, GGML_TYPE_I32, v->ne[1]);
         return ggml_get_rows(c, v, *other);
     }},
    {"mul_mat",
     [](ggml_context* c, ggml_tensor* v, ggml_tensor** other) {
         *other = ggml_new_tensor_2d(c, GGML_TYPE_F32, v->ne[0], 1);
         return ggml_mul_mat(c, v, *other);
     },
     true},
};

struct Graph {
    ggml_context_ptr ctx{ggml_init({size_t{1} << 20, nullptr, true})};
    ggml_backend_ptr backend;
    ggml_backend_buffer_ptr memory;
    ggml_cgraph* nodes = nullptr;

    explicit Graph(ggml_backend_dev_t device) : backend(ggml_backend_dev_init(device, nullptr)) {}
    bool alloc(ggml_tensor* result) {
        nodes = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(nodes, result);
        memory.reset(ggml_backend_alloc_ctx_tensors(ctx.get(), backend.get()));
        return memory != nullptr;
    }
    ggml_status compute() { return ggml_backend_graph_compute(backend.get(), nodes); }
};

void fill_other(ggml_tensor* other, bool product) {
    if (!other) return;
    std::vector<int32_t> ids(static_cast<size_t>(ggml_nelements(other)));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i);
    if (other->type == GGML_TYPE_I32) {
        ggml_backend_tensor_set(other, ids.data(), 0, ggml_nbytes(other));
    } else {
        put(other, std::vector<float>(ids.size(), product ? 1.0f : 0.0f));
    }
}

// The error of what was computed, relative to the values of the view.
double nmse(const ggml_tensor& base, const View& view, const ggml_tensor& v, bool product,
            const std::vector<float>& from, const std::vector<float>& got) {
    double error = 0, size = 0;
    for (int64_t i1 = 0; i1 < v.ne[1]; ++i1) {
        double sum = 0;
        for (int64_t i0 = 0; i0 < v.ne[0]; ++i0) {
            const double want = from[static_cast<size_t>(view.element(base, i0, i1))];
            sum += want;
            if (product) continue;
            error += std::pow(got[static_cast<size_t>(i1 * v.ne[0] + i0)] - want, 2);
            size += want * want;
        }
        if (!product) continue;
        error += std::pow(got[static_cast<size_t>(i1)] - sum, 2);
        size += sum * sum;
    }
    return error / size;
}

void check(ggml_backend_dev_t device, ggml_type type, const View& view, const Op& op) {
    SCOPED_TRACE(std::string(ggml_type_name(type)) + " " + view.name + ", " + op.name);
    Graph g(device);
    const int64_t columns = view.columns * ggml_blck_size(type);
    ggml_tensor* base =
        ggml_new_tensor_2d(g.ctx.get(), type, columns, view.rows ? view.rows : columns);
    ggml_tensor* v = view.make(g.ctx.get(), base);
    ASSERT_NE(v, nullptr) << tenon_last_error();
    ggml_tensor* other = nullptr;
    ggml_tensor* y = op.make(g.ctx.get(), v, &other);
    if (!y) {  // refused when it was built
        EXPECT_FALSE(view.allowed) << tenon_last_error();
        EXPECT_STRNE(tenon_last_error(), "");
        return;
    }
    const bool supported = ggml_backend_supports_op(g.backend.get(), y);
    ASSERT_TRUE(g.alloc(y)) << tenon_last_error();
    put(base, some_values(ggml_nelements(base)));
    fill_other(other, op.product);
    tenon_clear_error();
    const ggml_status status = g.compute();
    EXPECT_EQ(status == GGML_STATUS_SUCCESS, supported) << tenon_last_error();
    EXPECT_TRUE(!view.allowed || supported || !ggml_get_type_traits(type)->to_float ||
                !std::strcmp(op.name, "add"))
        << tenon_last_error();
    if (status != GGML_STATUS_SUCCESS) {
        EXPECT_STRNE(tenon_last_error(), "");
        return;
    }
    if (y->type != GGML_TYPE_F32 && !ggml_get_type_traits(y->type)->to_float) return;
    if (view.element(*base, 0, 0) < 0) {
        ADD_FAILURE() << "computed, although there is no right answer";
        return;
    }
    // copies are exact, products and f16 round
    const bool exact = y->type == type || (!op.product && y->type == GGML_TYPE_F32);
    EXPECT_LE(nmse(*base, view, *v, op.product, decoded(base), decoded(y)), exact ? 0 : 2e-4);
}

TEST(Views, OfBlocksAreComputedRightOrRefused) {
    TENON_REQUIRE_VARIANT();
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        SCOPED_TRACE(ggml_backend_dev_name(device));
        for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
            const auto type = static_cast<ggml_type>(t);
            // A matrix that is turned has values in its own rows first: they come from f32.
            if (ggml_blck_size(type) <= 1 || type == GGML_TYPE_Q8_1 || type == GGML_TYPE_Q8_K ||
                ggml_quantize_requires_imatrix(type)) {
                continue;
            }
            for (const View& view : kViews) {
                for (const Op& op : kOps) check(device, type, view, op);
            }
        }
    }
}

// Of blocks of 34 bytes, byte 64 lies as far into a line of the cache as byte 0, but inside a
// block: a graph that was computed must not make one pass that looks nearly like it.
TEST(Views, WhereAViewBeginsTellsGraphsApart) {
    TENON_REQUIRE_VARIANT();
    Graph g(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    ggml_context* c = g.ctx.get();
    ggml_tensor* base = ggml_new_tensor_1d(c, GGML_TYPE_Q8_0, 32 * 8);
    ggml_tensor* good = ggml_cast(c, ggml_view_1d(c, base, 32, 0), GGML_TYPE_F32);
    ggml_tensor* bad = ggml_cast(c, ggml_view_1d(c, base, 32, 64), GGML_TYPE_F32);
    ASSERT_TRUE(g.alloc(good)) << tenon_last_error();
    ggml_cgraph* second = ggml_new_graph(c);
    ggml_build_forward_expand(second, bad);
    put(base, some_values(ggml_nelements(base)));
    EXPECT_EQ(g.compute(), GGML_STATUS_SUCCESS) << tenon_last_error();
    tenon_clear_error();
    EXPECT_EQ(ggml_backend_graph_compute(g.backend.get(), second), GGML_STATUS_FAILED);
    EXPECT_NE(std::string(tenon_last_error()).find("begins 64 bytes into"), std::string::npos);
}

// An audio encoder's shifted relative positions: row i of the scores begins at column n-1-i of the
// table's row. The view that says so reaches beyond the table; the part of it that is read does
// not.
TEST(Views, ShiftedRelativePositionsReachOutAndAreReadInside) {
    TENON_REQUIRE_VARIANT();
    constexpr int64_t n = 37, heads = 3;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        Graph g(ggml_backend_dev_get(i));
        ggml_context* c = g.ctx.get();
        ggml_tensor* table = ggml_new_tensor_3d(c, GGML_TYPE_F32, 2 * n, n, heads);
        ggml_tensor* shifted =
            ggml_view_3d(c, table, 2 * n - 1, n, heads, (2 * n + 1) * 4, table->nb[2], 0);
        ASSERT_NE(shifted, nullptr) << tenon_last_error();
        ASSERT_GT(ggml_nbytes(shifted), ggml_nbytes(table));
        ggml_tensor* scores =
            ggml_view_3d(c, shifted, n, n, heads, shifted->nb[1], shifted->nb[2], 0);
        ggml_tensor* y = ggml_cont(c, scores);
        if (!ggml_backend_supports_op(g.backend.get(), y)) continue;
        EXPECT_FALSE(ggml_backend_supports_op(g.backend.get(), ggml_cont(c, shifted)));

        g.nodes = ggml_new_graph(c);
        ggml_build_forward_expand(g.nodes, y);
        const ggml_gallocr_ptr galloc(
            ggml_gallocr_new(ggml_backend_get_default_buffer_type(g.backend.get())));
        ggml_set_input(table);
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), g.nodes)) << tenon_last_error();
        const std::vector<float> values = some_values(ggml_nelements(table));
        put(table, values);
        ASSERT_EQ(g.compute(), GGML_STATUS_SUCCESS) << tenon_last_error();
        const std::vector<float> got = decoded(y);
        for (int64_t h = 0; h < heads; ++h) {
            for (int64_t row = 0; row < n; ++row) {
                for (int64_t k = 0; k < n; ++k) {
                    ASSERT_EQ(got[static_cast<size_t>((h * n + row) * n + k)],
                              values[static_cast<size_t>((h * n + row) * 2 * n + row + k)]);
                }
            }
        }
    }
}

}  // namespace
