// Whether a recorded tensor may be computed: its memory, and the core's rules asked about a node
// that no builder made. A library of its own, since libtenon hides those rules.

#include <algorithm>

#include "core/base/bits.h"
#include "core/ops/recheck.h"
#include "tests/conformance/golden.h"

namespace tenon::conformance {
namespace {

// Bytes from a tensor's first element to the end of its last, as ggml_nbytes(), but false when that
// passes 2^64.
bool span_of(const ggml_tensor& t, size_t* span) {
    *span = 0;
    if (std::any_of(t.ne, t.ne + GGML_MAX_DIMS, [](int64_t ne) { return ne == 0; })) return true;
    const auto block = static_cast<size_t>(ggml_blck_size(t.type));
    size_t bytes = 0;
    if (block == 1) {
        bytes = ggml_type_size(t.type);
    } else if (!mul_size(t.ne[0], t.nb[0], &bytes)) {
        return false;
    }
    bytes /= block;
    for (int k = block == 1 ? 0 : 1; k < GGML_MAX_DIMS; ++k) {
        size_t step;
        if (!mul_size(t.ne[k] - 1, t.nb[k], &step) || !add_size(bytes, step, &bytes)) return false;
    }
    *span = bytes;
    return true;
}

// Whether the tensor lies in the memory it says: its own of as many bytes as are recorded, or that
// of the tensor it is a view of.
std::string memory_misfit(const ggml_tensor& t, const GoldenTensor& recorded) {
    size_t span, source;
    if (!span_of(t, &span)) return "its strides pass 2^64 bytes";
    if (recorded.kind != GoldenTensor::kView && span != recorded.bytes.size()) {
        return "covers " + std::to_string(span) + " bytes, recorded " +
               std::to_string(recorded.bytes.size());
    }
    if (!t.view_src) return recorded.kind == GoldenTensor::kView ? "is a view of no tensor" : "";
    if (t.view_src->view_src) return "is a view of a view";
    if (!span_of(*t.view_src, &source) || !range_fits(t.view_offs, span, source)) {
        return "is a view of " + std::to_string(span) + " bytes at " + std::to_string(t.view_offs) +
               ", its source has " + std::to_string(source);
    }
    // Steps of 0 bytes could make a few bytes a tensor that takes for ever.
    if (ggml_nelements(&t) > ggml_nelements(t.view_src)) {
        return "is a view of " + std::to_string(ggml_nelements(&t)) + " elements, its source has " +
               std::to_string(ggml_nelements(t.view_src));
    }
    return "";
}

// An op that calls a function has its address among the parameters: one of the program that
// recorded it.
bool calls_a_function(ggml_op op) {
    return op == GGML_OP_MAP_CUSTOM1 || op == GGML_OP_MAP_CUSTOM2 || op == GGML_OP_MAP_CUSTOM3 ||
           op == GGML_OP_CUSTOM;
}

std::string op_misfit(const ggml_tensor& t, const GoldenTensor& recorded) {
    const bool is_leaf = recorded.kind == GoldenTensor::kLeaf;
    if (recorded.kind > GoldenTensor::kView || is_leaf != (t.op == GGML_OP_NONE) ||
        (is_leaf && t.view_src)) {
        return recorded.op + " is of kind " + std::to_string(recorded.kind);
    }
    if (calls_a_function(t.op)) return recorded.op + " calls a function, which no file can hold";
    const auto checked = check_node(t);
    return checked ? "" : checked.error().text;
}

}  // namespace

[[gnu::visibility("default")]] std::string misfit(const ggml_tensor& t,
                                                  const GoldenTensor& recorded) {
    std::string why = memory_misfit(t, recorded);
    return why.empty() ? op_misfit(t, recorded) : why;
}

}  // namespace tenon::conformance
