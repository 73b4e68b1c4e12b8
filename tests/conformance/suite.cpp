// The conformance suite: making graphs, running cases. See suite.h.

#include "tests/conformance/suite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ggml-cpp.h"
#include "tenon/tenon.h"
#include "tenon/tensor.h"

namespace tenon::conformance {
namespace {

constexpr size_t kMaxTensors = 512;             // of one case, guards included
constexpr int64_t kGuardElements = 1024;        // floats before and after every leaf and result
constexpr uint32_t kGuardPattern = 0x7fa5a5a5;  // a NaN: whoever reads it shows it

// Bytes of row i of a leaf, in its own type, from floats.
void store_floats(const ggml_tensor& leaf, const std::vector<float>& values) {
    if (values.empty()) return;
    const auto* traits = ggml_get_type_traits(leaf.type);
    auto* p = static_cast<char*>(leaf.data);
    const int64_t n = leaf.ne[0];
    for (int64_t r = 0; r < ggml_nrows(&leaf); ++r, p += ggml_row_size(leaf.type, n)) {
        const float* row = values.data() + r * n;
        if (leaf.type == GGML_TYPE_F32) {
            std::memcpy(p, row, n * sizeof(float));
        } else if (ggml_is_quantized(leaf.type) && !traits->from_float_ref) {
            // Types that are only quantised with a weight per value.
            const std::vector<float> even(n, 1.0f);
            ggml_quantize_chunk(leaf.type, row, p, 0, 1, n, even.data());
        } else if (traits->from_float_ref) {
            traits->from_float_ref(row, p, n);
        } else {
            for (int64_t i = 0; i < n; ++i) {
                switch (leaf.type) {
                    case GGML_TYPE_I8:
                        reinterpret_cast<int8_t*>(p)[i] = static_cast<int8_t>(row[i]);
                        break;
                    case GGML_TYPE_I16:
                        reinterpret_cast<int16_t*>(p)[i] = static_cast<int16_t>(row[i]);
                        break;
                    case GGML_TYPE_I32:
                        reinterpret_cast<int32_t*>(p)[i] = static_cast<int32_t>(row[i]);
                        break;
                    case GGML_TYPE_I64:
                        reinterpret_cast<int64_t*>(p)[i] = static_cast<int64_t>(row[i]);
                        break;
                    case GGML_TYPE_F64:
                        reinterpret_cast<double*>(p)[i] = row[i];
                        break;
                    default:
                        throw std::runtime_error(std::string("cannot fill type ") +
                                                 ggml_type_name(leaf.type));
                }
            }
        }
    }
}

// A case's graph in a context of its own.
struct Built {
    ggml_context_ptr ctx;
    std::vector<GraphMaker::Leaf> leaves;
    std::vector<ggml_tensor*> all;     // in creation order
    std::vector<ggml_tensor*> guards;  // between them
    ggml_tensor* output = nullptr;
    ggml_cgraph* graph = nullptr;
};

Built build(const Case& c) {
    Built b;
    b.ctx.reset(ggml_init(
        {2 * kMaxTensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(kMaxTensors, false),
         nullptr, /*no_alloc=*/true}));
    ggml_context* ctx = b.ctx.get();
    GraphMaker maker(ctx);
    tenon_clear_error();
    b.output = c.build(maker);
    if (!b.output)
        throw std::runtime_error(std::string("the graph cannot be built: ") + tenon_last_error());
    b.leaves = maker.leaves();
    for (ggml_tensor* t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t))
        b.all.push_back(t);
    b.graph = ggml_new_graph_custom(ctx, kMaxTensors, false);
    ggml_build_forward_expand(b.graph, b.output);
    return b;
}

// Memory for everything in `b`, a guard before, between and after; guards filled.
ggml_backend_buffer_ptr place(Built& b, ggml_backend_buffer_type_t buft) {
    const size_t alignment = ggml_backend_buft_get_alignment(buft);
    size_t total = alignment;
    const size_t guard_bytes = GGML_PAD(kGuardElements * sizeof(float), alignment);
    for (const ggml_tensor* t : b.all) {
        if (!t->view_src)
            total += GGML_PAD(ggml_backend_buft_get_alloc_size(buft, t), alignment) + guard_bytes;
    }
    total += guard_bytes;
    ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(buft, total));
    if (!buffer) throw std::runtime_error(std::to_string(total) + " bytes: " + tenon_last_error());
    ggml_tallocr at = ggml_tallocr_new(buffer.get());
    const auto put = [&](ggml_tensor* t) {
        if (ggml_tallocr_alloc(&at, t) != GGML_STATUS_SUCCESS)
            throw std::runtime_error(tenon_last_error());
    };
    const auto put_guard = [&] {
        ggml_tensor* g = ggml_new_tensor_1d(b.ctx.get(), GGML_TYPE_F32, kGuardElements);
        put(g);
        const std::vector<uint32_t> pattern(kGuardElements, kGuardPattern);
        ggml_backend_tensor_set(g, pattern.data(), 0, ggml_nbytes(g));
        b.guards.push_back(g);
    };
    put_guard();
    for (ggml_tensor* t : b.all) {
        if (t->view_src) continue;
        put(t);
        put_guard();
    }
    for (ggml_tensor* t : b.all) {
        if (t->view_src && ggml_backend_view_init(t) != GGML_STATUS_SUCCESS)
            throw std::runtime_error(tenon_last_error());
    }
    return buffer;
}

// FNV-1a
uint64_t digest_of(const std::vector<char>& bytes) {
    uint64_t digest = 0xcbf29ce484222325u;
    for (const char byte : bytes)
        digest = (digest ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    return digest;
}

std::string damaged_guard(const Built& b) {
    std::vector<uint32_t> bytes(kGuardElements);
    for (size_t g = 0; g < b.guards.size(); ++g) {
        ggml_backend_tensor_get(b.guards[g], bytes.data(), 0, bytes.size() * sizeof(uint32_t));
        for (size_t i = 0; i < bytes.size(); ++i) {
            if (bytes[i] != kGuardPattern) {
                return "wrote outside a tensor: guard " + std::to_string(g) + ", float " +
                       std::to_string(i);
            }
        }
    }
    return "";
}

bool is_integer(ggml_type type) {
    return type == GGML_TYPE_I8 || type == GGML_TYPE_I16 || type == GGML_TYPE_I32 ||
           type == GGML_TYPE_I64;
}

// The oracle's side of a case: leaves filled, all nodes computed.
struct Expected {
    Built built;
    ggml_backend_buffer_ptr memory;
    std::vector<double> output, keys;
};

Expected expect(const Case& c, uint64_t seed) {
    Expected e;
    e.built = build(c);
    e.memory = place(e.built, ggml_backend_cpu_buffer_type());
    Random random(seed);
    for (const auto& leaf : e.built.leaves) leaf.fill(*leaf.tensor, random);
    // Leaves change when an op writes through a view: devices need them as they were.
    return e;
}

Comparison compare(const Case& c, const Expected& e, const std::vector<double>& got) {
    const ggml_tensor& t = *e.built.output;
    if (t.op == GGML_OP_ARGSORT || t.op == GGML_OP_TOP_K)
        return compare_selections(t, e.output, got, *t.src[0], e.keys);
    return is_integer(t.type) ? compare_exactly(e.output, got)
                              : compare_floats(e.output, got, c.max_nmse);
}

CaseResult run_on(const Case& c, const Expected& e, const std::vector<std::vector<char>>& leaves,
                  ggml_backend_t device) {
    Built b = build(c);
    for (const ggml_tensor* t : b.all) {
        if (!tenon_is_view_op(t->op) && !ggml_backend_supports_op(device, t)) {
            return {Verdict::kUnsupported, 0, std::string(ggml_op_desc(t)) + " is not supported",
                    0};
        }
    }
    ggml_backend_buffer_ptr memory = place(b, ggml_backend_get_default_buffer_type(device));
    for (size_t i = 0; i < b.leaves.size(); ++i) {
        if (!leaves[i].empty())
            ggml_backend_tensor_set(b.leaves[i].tensor, leaves[i].data(), 0, leaves[i].size());
    }
    if (ggml_backend_graph_compute(device, b.graph) != GGML_STATUS_SUCCESS) {
        return {Verdict::kFailed, 0, std::string("claims the op but fails: ") + tenon_last_error(),
                0};
    }
    if (const std::string why = damaged_guard(b); !why.empty())
        return {Verdict::kFailed, 0, why, 0};
    std::vector<char> bytes(ggml_nbytes(b.output));
    ggml_backend_tensor_get(b.output, bytes.data(), 0, bytes.size());
    const Comparison result = compare(c, e, values_of(*b.output, bytes.data()));
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "NMSE %.3g, limit %.3g", result.nmse, c.max_nmse);
    const uint64_t digest = digest_of(bytes);
    if (result.ok) return {Verdict::kPassed, result.nmse, numbers, digest};
    return {Verdict::kFailed, result.nmse, std::string(numbers) + ", " + result.why, digest};
}

}  // namespace

std::string text(const Shape& s) {
    return "[" + std::to_string(s[0]) + "," + std::to_string(s[1]) + "," + std::to_string(s[2]) +
           "," + std::to_string(s[3]) + "]";
}

float uniform(Random& random, float low, float high) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<float>(low + (static_cast<double>(high) - low) * u);
}

Fill between(float low, float high) {
    return [=](const ggml_tensor& leaf, Random& random) {
        std::vector<float> values(ggml_nelements(&leaf));
        for (float& x : values) x = uniform(random, low, high);
        store_floats(leaf, values);
    };
}

Fill integers(int64_t low, int64_t high) {
    return [=](const ggml_tensor& leaf, Random& random) {
        std::vector<float> values(ggml_nelements(&leaf));
        for (float& x : values)
            x = static_cast<float>(
                low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low)));
        store_floats(leaf, values);
    };
}

Fill permutation() {
    return [](const ggml_tensor& leaf, Random& random) {
        std::vector<float> values(ggml_nelements(&leaf));
        for (auto row = values.begin(); row != values.end(); row += leaf.ne[0]) {
            std::iota(row, row + leaf.ne[0], 0.0f);
            for (int64_t i = leaf.ne[0] - 1; i > 0; --i) std::swap(row[i], row[random() % (i + 1)]);
        }
        store_floats(leaf, values);
    };
}

Fill constant(double value) {
    return [=](const ggml_tensor& leaf, Random&) {
        store_floats(leaf, std::vector<float>(ggml_nelements(&leaf), static_cast<float>(value)));
    };
}

ggml_tensor* GraphMaker::leaf(ggml_type type, const Shape& shape, Fill fill) {
    ggml_tensor* t = ggml_new_tensor(ctx, type, GGML_MAX_DIMS, shape.ne);
    if (t) leaves_.push_back({t, std::move(fill)});
    return t;
}

ggml_tensor* GraphMaker::permuted(ggml_type type, const Shape& shape, const int (&axes)[4],
                                  Fill fill) {
    // ggml_permute puts axis i of its source at axes[i]: the leaf's axis i has the result's extent
    // there.
    return ggml_permute(ctx,
                        leaf(type, {shape[axes[0]], shape[axes[1]], shape[axes[2]], shape[axes[3]]},
                             std::move(fill)),
                        axes[0], axes[1], axes[2], axes[3]);
}

ggml_tensor* GraphMaker::inset(ggml_type type, const Shape& shape, Fill fill) {
    const int64_t block = ggml_blck_size(type);
    ggml_tensor* whole = leaf(
        type, {shape[0] + 2 * block, shape[1] + 1, shape[2] + 1, shape[3] + 1}, std::move(fill));
    if (!whole) return nullptr;
    return ggml_view_4d(ctx, whole, shape[0], shape[1], shape[2], shape[3], whole->nb[1],
                        whole->nb[2], whole->nb[3], whole->nb[0] + whole->nb[1]);
}

const std::vector<Case>& all_cases() {
    static const auto* cases = [] {
        auto* list = new CaseList;
        for (const MakeCases make :
             {arithmetic_cases, activation_cases, reduce_cases, norm_cases, matmul_cases,
              layout_cases, rows_cases, fill_cases, attention_cases, conv_cases, pool_cases,
              sort_cases, recurrent_cases, train_cases, window_cases, custom_cases}) {
            make(*list);
        }
        return &list->cases;
    }();
    return *cases;
}

int64_t work_of(const Case& c) {
    if (c.work > 0) return c.work;
    return ggml_nelements(build(c).output);
}

std::vector<CaseResult> run_case(const Case& c, std::span<const ggml_backend_t> devices,
                                 uint64_t seed) {
    std::vector<CaseResult> results;
    std::string again = " [" + c.op + "(" + c.params + ") --seed " + std::to_string(seed) + "]";
    try {
        Expected e = expect(c, seed);
        std::vector<std::vector<char>> leaves;
        for (const auto& leaf : e.built.leaves) {
            const auto* p = static_cast<const char*>(leaf.tensor->data);
            leaves.emplace_back(p, p + ggml_nbytes(leaf.tensor));
        }
        for (int i = 0; i < ggml_graph_n_nodes(e.built.graph); ++i)
            compute_reference(*ggml_graph_node(e.built.graph, i));
        e.output = values_of(*e.built.output, e.built.output->data);
        if (const ggml_tensor* keys = e.built.output->src[0];
            keys && is_integer(e.built.output->type)) {
            e.keys = values_of(*keys, keys->data);
        }
        for (ggml_backend_t device : devices) {
            tenon_clear_error();
            CaseResult r{Verdict::kFailed, 0, "", 0};
            try {
                r = run_on(c, e, leaves, device);
            } catch (const std::exception& failure) {
                r.message = failure.what();
            }
            if (r.verdict == Verdict::kFailed) r.message += again;
            results.push_back(std::move(r));
        }
    } catch (const std::exception& failure) {
        results.assign(devices.size(),
                       {Verdict::kFailed, 0, std::string("oracle: ") + failure.what() + again, 0});
    }
    return results;
}

}  // namespace tenon::conformance
