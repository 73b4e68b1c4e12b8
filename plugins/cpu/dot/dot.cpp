// Which product a weight type gets: of the best level in use, else of the variant.

#include "plugins/cpu/dot/dot.h"

#include "plugins/cpu/dot/levels.h"
#include "plugins/cpu/dot/types.h"
#include "tenon/quant.h"

namespace tenon::cpu {

const DotType* find_dot_type(ggml_type type) {
    if (type < 0 || type >= GGML_TYPE_COUNT) return nullptr;
    // A type that this build cannot decode has no products either.
    const quant::Format* format = quant::find_format(type);
    if (!format || !(format->to_float || type == GGML_TYPE_F32)) return nullptr;
    if (const DotType* dot = find_level_dot(type)) return dot;
    if (const DotType* dot = find_block_dot(type)) return dot;
    if (const DotType* dot = find_bfloat_dot(type)) return dot;
    return find_float_dot(type);
}

ggml_from_float_t from_float(ggml_type type) {
    if (type == GGML_TYPE_Q8_0) return quantize_q8_0;
    if (type == GGML_TYPE_Q4_0) return quantize_q4_0;
    const quant::Format* format = quant::find_format(type);
    return format ? format->from_float : nullptr;
}

}  // namespace tenon::cpu
