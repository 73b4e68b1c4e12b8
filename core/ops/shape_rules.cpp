// Shape rules that several ops share.
#include "core/ops/shape_rules.h"

#include "core/ops/checks.h"

namespace tenon {

Result<NodeShape> same_as_src0(const OpCall& call) { return shape_of(*call.src[0]); }

Result<NodeShape> same_as_both(const OpCall& call) { return Checks(call).same_shape(0, 1).like(0); }

Result<NodeShape> padded_same_as_src0(const OpCall& call) {
    return Checks(call).padded_rows(0).like(0);
}

Result<NodeShape> f32_same_as_src0(const OpCall& call) { return Checks(call).f32({0}).like(0); }

Result<NodeShape> row_reduced_to_f32(const OpCall& call) {
    const ggml_tensor& x = *call.src[0];
    return shape_4d(GGML_TYPE_F32, 1, x.ne[1], x.ne[2], x.ne[3]);
}

}  // namespace tenon
