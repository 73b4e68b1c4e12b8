// Comparing a node with its record; declared in golden_compare.h.

#include "tests/conformance/golden_compare.h"

#include <algorithm>

#include "ggml-backend.h"
#include "tenon/tensor.h"

namespace tenon::conformance {
namespace {

// What was recorded for a tensor; nothing for memory that no record covers. A view shows the tensor
// it is a view of.
std::vector<double> recorded_values(const GoldenGraph& graph,
                                    const std::vector<ggml_tensor*>& tensors, int32_t index) {
    const GoldenTensor& g = graph.tensors[index];
    const bool view = g.kind == GoldenTensor::kView;
    const std::vector<char>& bytes = view ? graph.tensors[g.view_src].bytes : g.bytes;
    const uint64_t at = view ? g.view_offs : 0;
    const ggml_tensor& t = *tensors[index];
    if (at > bytes.size() || ggml_nbytes(&t) > bytes.size() - at) return {};
    return values_of(t, bytes.data() + at);
}

// Whether a tensor's values come out of a computation, which may give slightly others elsewhere.
bool is_computed(const ggml_tensor& t) {
    if (t.op == GGML_OP_NONE) return false;
    return t.view_src && tenon_is_view_op(t.op) ? is_computed(*t.view_src) : true;
}

// What each element of a quantized node was made from, in the order of its elements; nothing for
// ops that do not keep their values anywhere else.
std::vector<double> quantized_from(const GoldenGraph& graph,
                                   const std::vector<ggml_tensor*>& tensors, size_t i,
                                   const std::vector<double>& want) {
    const ggml_tensor& t = *tensors[i];
    if (t.op == GGML_OP_CPY || t.op == GGML_OP_DUP || t.op == GGML_OP_CONT) {
        return recorded_values(graph, tensors, graph.tensors[i].src[0]);
    }
    if (t.op != GGML_OP_SET_ROWS) return {};
    const ggml_tensor &rows = *t.src[0], &ids = *t.src[1];
    const auto values = recorded_values(graph, tensors, graph.tensors[i].src[0]);
    const auto targets = recorded_values(graph, tensors, graph.tensors[i].src[1]);
    std::vector<double> from = want;  // rows that are not set must stay
    if (values.empty() || targets.empty()) return {};
    for (int64_t i3 = 0; i3 < rows.ne[3]; ++i3) {
        for (int64_t i2 = 0; i2 < rows.ne[2]; ++i2) {
            for (int64_t i1 = 0; i1 < rows.ne[1]; ++i1) {
                const int64_t id = i1 + ids.ne[0] * (i2 % ids.ne[1] + ids.ne[1] * (i3 % ids.ne[2]));
                const auto target = static_cast<int64_t>(targets[id]);
                if (target < 0 || target >= t.ne[1]) return {};
                const int64_t row = i1 + rows.ne[1] * (i2 + rows.ne[2] * i3);
                std::copy_n(values.begin() + row * rows.ne[0], rows.ne[0],
                            from.begin() + (target + t.ne[1] * (i2 + t.ne[2] * i3)) * t.ne[0]);
            }
        }
    }
    return from;
}

// By what the specification allows: keys that differ by no more than their own tolerance may be
// ordered either way, and a value between two codes of a quantized type may become either.
Comparison compare_values(const GoldenGraph& graph, const std::vector<ggml_tensor*>& tensors,
                          size_t i, const std::vector<double>& want,
                          const std::vector<double>& got) {
    const ggml_tensor& t = *tensors[i];
    const bool computed = t.src[0] && is_computed(*t.src[0]);
    if (t.op == GGML_OP_ARGSORT || t.op == GGML_OP_TOP_K || (t.op == GGML_OP_ARGMAX && computed)) {
        const auto keys = recorded_values(graph, tensors, graph.tensors[i].src[0]);
        return compare_selections(t, want, got, *t.src[0], keys,
                                  slack_of(keys, computed, graph.max_nmse));
    }
    if (t.type == GGML_TYPE_I8 || t.type == GGML_TYPE_I16 || t.type == GGML_TYPE_I32 ||
        t.type == GGML_TYPE_I64) {
        return compare_exactly(want, got);
    }
    if (ggml_is_quantized(t.type)) {
        const auto source = quantized_from(graph, tensors, i, want);
        if (source.size() == want.size()) {
            return compare_quantized(want, got, source, slack_of(source, computed, graph.max_nmse),
                                     graph.max_nmse);
        }
    }
    return compare_floats(want, got, graph.max_nmse);
}

}  // namespace

Comparison compare_node(const GoldenGraph& graph, const std::vector<ggml_tensor*>& tensors,
                        size_t i) {
    const GoldenTensor& g = graph.tensors[i];
    const ggml_tensor& t = *tensors[i];
    std::vector<char> bytes(ggml_nbytes(&t));
    if (bytes.size() != g.bytes.size()) {
        return {
            false, 0,
            std::to_string(bytes.size()) + " bytes, recorded " + std::to_string(g.bytes.size())};
    }
    ggml_backend_tensor_get(&t, bytes.data(), 0, bytes.size());
    return compare_values(graph, tensors, i, values_of(t, g.bytes.data()),
                          values_of(t, bytes.data()));
}

}  // namespace tenon::conformance
