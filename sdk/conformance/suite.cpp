// The conformance suite: making graphs, running cases. See suite.h.

#include "sdk/conformance/suite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "sdk/conformance/placement.h"
#include "tenon/tenon.h"
#include "tenon/tensor.h"
#include "tenon/work.h"

namespace tenon::conformance {
namespace {

// Leaves above this repeat their first rows: to quantise them would take longer than the case.
constexpr int64_t kManyElements = 1 << 24;

// An odd number, so that matrices of a batch differ.
int64_t distinct_rows(const ggml_tensor& leaf) {
    const int64_t n_rows = ggml_nrows(&leaf);
    if (n_rows * leaf.ne[0] <= kManyElements) return n_rows;
    return std::min(n_rows, kManyElements / 2 / leaf.ne[0] | 1);
}

// Rows of a leaf, in its own type, from floats; over and over when there are fewer.
void store_floats(const ggml_tensor& leaf, const std::vector<float>& values) {
    if (values.empty()) return;
    const int64_t n_given = static_cast<int64_t>(values.size()) / leaf.ne[0];
    const auto* traits = ggml_get_type_traits(leaf.type);
    auto* p = static_cast<char*>(leaf.data);
    const int64_t n = leaf.ne[0];
    const size_t row_size = ggml_row_size(leaf.type, n);
    for (int64_t r = 0; r < ggml_nrows(&leaf); ++r, p += row_size) {
        if (r >= n_given) {
            std::memcpy(p, p - static_cast<size_t>(n_given) * row_size, row_size);
            continue;
        }
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

// FNV-1a
constexpr uint64_t kDigestStart = 0xcbf29ce484222325u;
uint64_t digest_of(const std::vector<char>& bytes, uint64_t digest) {
    for (const char byte : bytes)
        digest = (digest ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    return digest;
}

bool is_integer(ggml_type type) {
    return type == GGML_TYPE_I8 || type == GGML_TYPE_I16 || type == GGML_TYPE_I32 ||
           type == GGML_TYPE_I64;
}

// The oracle's side of a case: leaves filled, all nodes computed, outputs decoded.
struct Expected {
    Built built;
    Memory memory;
    std::vector<std::vector<char>> leaves;  // as they were before the run: ops may write to them
    struct Output {
        std::vector<double> values, keys;
    };
    std::vector<Output> outputs;
};

bool selects(const ggml_tensor& t) { return t.op == GGML_OP_ARGSORT || t.op == GGML_OP_TOP_K; }

Expected expect(const Case& c, uint64_t seed) {
    Expected e;
    e.built = build(c);
    e.memory = place(e.built, ggml_backend_cpu_buffer_type(), Layout::kGuarded);
    Random random(seed);
    for (const auto& leaf : e.built.leaves) leaf.fill(*leaf.tensor, random);
    for (const auto& leaf : e.built.leaves) {
        const auto* p = static_cast<const char*>(leaf.tensor->data);
        e.leaves.emplace_back(p, p + ggml_nbytes(leaf.tensor));
    }
    for (int i = 0; i < ggml_graph_n_nodes(e.built.graph); ++i)
        compute_reference(*ggml_graph_node(e.built.graph, i));
    for (const ggml_tensor* t : e.built.outputs) {
        const bool by_key = selects(*t);
        e.outputs.push_back({values_of(*t, t->data), by_key ? values_of(*t->src[0], t->src[0]->data)
                                                            : std::vector<double>{}});
    }
    return e;
}

Comparison compare(const ggml_tensor& t, const Expected::Output& want,
                   const std::vector<double>& got, double max_nmse) {
    if (selects(t)) {
        const bool computed = t.src[0]->op != GGML_OP_NONE;
        return compare_selections(t, want.values, got, *t.src[0], want.keys,
                                  slack_of(want.keys, computed, max_nmse));
    }
    return is_integer(t.type) ? compare_exactly(want.values, got)
                              : compare_floats(want.values, got, max_nmse);
}

// Every output; the first that is wrong decides.
CaseResult judge_outputs(const Case& c, const Expected& e, const Built& b) {
    CaseResult result{Verdict::kPassed, 0, "", kDigestStart};
    for (size_t i = 0; i < b.outputs.size(); ++i) {
        const ggml_tensor& t = *b.outputs[i];
        std::vector<char> bytes(ggml_nbytes(&t));
        ggml_backend_tensor_get(&t, bytes.data(), 0, bytes.size());
        result.digest = digest_of(bytes, result.digest);
        const Comparison found = compare(t, e.outputs[i], values_of(t, bytes.data()), c.max_nmse);
        if (result.verdict == Verdict::kFailed) continue;
        if (!(found.nmse <= result.nmse)) result.nmse = found.nmse;
        char numbers[96];
        std::snprintf(numbers, sizeof numbers, "NMSE %.3g, limit %.3g", result.nmse, c.max_nmse);
        result.message = numbers;
        if (found.ok) continue;
        result.verdict = Verdict::kFailed;
        result.message += ", " + found.why;
        if (b.outputs.size() > 1)
            result.message += " of output " + std::to_string(i) + " (" + ggml_op_desc(&t) + ")";
    }
    return result;
}

// The op that the device refuses, "" for none.
std::string refused_op(const Case& c, ggml_backend_t device) {
    const Built b = build(c);
    for (const ggml_tensor* t : b.all) {
        if (!tenon_is_view_op(t->op) && !ggml_backend_supports_op(device, t))
            return ggml_op_desc(t);
    }
    return "";
}

CaseResult run_on(const Case& c, const Expected& e, ggml_backend_t device, Layout layout) {
    Built b = build(c);
    const Memory memory = place(b, ggml_backend_get_default_buffer_type(device), layout);
    for (size_t i = 0; i < b.leaves.size(); ++i) {
        ggml_tensor* leaf = b.leaves[i].tensor;
        if (leaf->buffer && !e.leaves[i].empty())
            ggml_backend_tensor_set(leaf, e.leaves[i].data(), 0, e.leaves[i].size());
    }
    if (ggml_backend_graph_compute(device, b.graph) != GGML_STATUS_SUCCESS) {
        return {Verdict::kFailed, 0, std::string("claims the op but fails: ") + tenon_last_error(),
                0};
    }
    if (const std::string why = damaged_guard(memory); !why.empty())
        return {Verdict::kFailed, 0, why, 0};
    return judge_outputs(c, e, b);
}

// In every layout that the case asks for; the first that is not passed decides.
CaseResult run_on(const Case& c, const Expected& e, ggml_backend_t device) {
    CaseResult result{Verdict::kFailed, 0, "", 0};
    for (const Layout layout : {Layout::kGuarded, Layout::kPlanned}) {
        if (layout == Layout::kPlanned && !c.is_chain()) continue;
        tenon_clear_error();
        try {
            result = run_on(c, e, device, layout);
        } catch (const std::exception& failure) {
            result = {Verdict::kFailed, 0, failure.what(), 0};
        }
        if (result.verdict == Verdict::kPassed) continue;
        result.message += kLayoutNames[static_cast<int>(layout)];
        break;
    }
    return result;
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
        std::vector<float> values(distinct_rows(leaf) * leaf.ne[0]);
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

ggml_tensor* GraphMaker::output(ggml_tensor* t) {
    if (!t) return nullptr;
    ggml_set_output(t);
    outputs_.push_back(t);
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
              sort_cases, recurrent_cases, train_cases, window_cases, custom_cases, chain_cases,
              huge_cases}) {
            make(*list);
        }
        return &list->cases;
    }();
    return *cases;
}

int64_t work_of(const Case& c) {
    double work = 0;
    for (const ggml_tensor* node : build(c).all) {
        if (tenon_is_view_op(node->op)) continue;
        work += std::max(tenon_node_work(node).ops / 2, tenon_work_elements(node));
    }
    return static_cast<int64_t>(std::min(work, 9e18));
}

std::vector<CaseResult> run_case(const Case& c, std::span<const ggml_backend_t> devices,
                                 uint64_t seed) {
    std::vector<CaseResult> results;
    const std::string again =
        " [" + c.op + "(" + c.params + ") --seed " + std::to_string(seed) + "]";
    try {
        std::optional<Expected> e;  // not needed when all refuse
        for (ggml_backend_t device : devices) {
            if (const std::string op = refused_op(c, device); !op.empty()) {
                results.push_back({Verdict::kUnsupported, 0, op + " is not supported", 0});
                continue;
            }
            if (!e) e = expect(c, seed);
            results.push_back(run_on(c, *e, device));
            if (results.back().verdict == Verdict::kFailed) results.back().message += again;
        }
    } catch (const std::exception& failure) {
        results.assign(devices.size(),
                       {Verdict::kFailed, 0, std::string("oracle: ") + failure.what() + again, 0});
    }
    return results;
}

}  // namespace tenon::conformance
