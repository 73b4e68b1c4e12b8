// The oracle: which reference computes which op, and storing what it computed.

#include "sdk/conformance/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/tensor.h"

namespace tenon::conformance {
namespace {

const Reference* find_reference(ggml_op op) {
    static const auto* table = [] {
        auto* all = new std::vector<const Reference*>(GGML_OP_COUNT);
        for (const auto family :
             {kArithmeticReferences, kActivationReferences, kReduceReferences, kNormReferences,
              kMatmulReferences, kLayoutReferences, kRowsReferences, kFillReferences,
              kAttentionReferences, kConvReferences, kPoolReferences, kSortReferences,
              kRecurrentReferences, kTrainReferences, kWindowReferences, kCustomReferences}) {
            for (const Reference& r : family) (*all)[r.op] = &r;
        }
        return all;
    }();
    return op >= 0 && op < GGML_OP_COUNT ? (*table)[op] : nullptr;
}

template <class T>
void put(char* p, T value) {
    std::memcpy(p, &value, sizeof value);
}

void store_element(ggml_type type, char* p, double x) {
    switch (type) {
        case GGML_TYPE_F32:
            return put(p, static_cast<float>(x));
        case GGML_TYPE_F64:
            return put(p, x);
        case GGML_TYPE_F16:
            return put(p, ggml_fp32_to_fp16(static_cast<float>(x)));
        case GGML_TYPE_BF16:
            return put(p, ggml_fp32_to_bf16(static_cast<float>(x)));
        case GGML_TYPE_I8:
            return put(p, static_cast<int8_t>(x));
        case GGML_TYPE_I16:
            return put(p, static_cast<int16_t>(x));
        case GGML_TYPE_I32:
            return put(p, static_cast<int32_t>(x));
        case GGML_TYPE_I64:
            return put(p, static_cast<int64_t>(x));
        default:
            throw std::runtime_error(std::string("cannot write type ") + ggml_type_name(type));
    }
}

void store_row(const ggml_tensor& node, char* p, const double* row) {
    if (!ggml_is_quantized(node.type)) {
        for (int64_t i = 0; i < node.ne[0]; ++i)
            store_element(node.type, p + i * node.nb[0], row[i]);
        return;
    }
    const std::vector<float> floats(row, row + node.ne[0]);
    if (const auto from_float = ggml_get_type_traits(node.type)->from_float_ref) {
        from_float(floats.data(), p, node.ne[0]);
        return;
    }
    // Types that are only quantised with a weight per value.
    const std::vector<float> even(node.ne[0], 1.0f);
    if (ggml_quantize_chunk(node.type, floats.data(), p, 0, 1, node.ne[0], even.data()) == 0)
        throw std::runtime_error(std::string("cannot quantize to ") + ggml_type_name(node.type));
}

}  // namespace

Result::Result(const ggml_tensor& node) {
    std::copy(node.ne, node.ne + GGML_MAX_DIMS, ne);
    if (node.view_src && ggml_get_type_traits(node.type)) {
        v = values_of(node, node.data);
    } else {
        v.assign(size(), std::numeric_limits<double>::quiet_NaN());
    }
}

Values source(const ggml_tensor& node, int i) {
    if (!node.src[i])
        throw std::runtime_error(std::string(ggml_op_desc(&node)) + ": source " +
                                 std::to_string(i) + " is missing");
    return Values(*node.src[i]);
}

bool has_reference(ggml_op op) { return tenon_is_view_op(op) || find_reference(op); }

void compute_reference(const ggml_tensor& node) {
    if (tenon_is_view_op(node.op) || ggml_is_empty(&node)) return;
    const Reference* reference = find_reference(node.op);
    if (!reference)
        throw std::runtime_error(std::string("no reference for ") + ggml_op_name(node.op));
    Result out(node);
    reference->compute(node, out);
    const int64_t n_rows = ggml_nrows(&node);
    for (int64_t r = 0; r < n_rows; ++r) {
        if (!out.keep.empty() && out.keep[r]) continue;
        const int64_t i1 = r % node.ne[1], i2 = r / node.ne[1] % node.ne[2],
                      i3 = r / (node.ne[1] * node.ne[2]);
        char* p =
            static_cast<char*>(node.data) + i1 * node.nb[1] + i2 * node.nb[2] + i3 * node.nb[3];
        store_row(node, p, out.v.data() + r * node.ne[0]);
    }
}

}  // namespace tenon::conformance
