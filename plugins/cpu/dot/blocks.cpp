// The table of quantised types: weight type -> partner, dot product, tile.

#include "plugins/cpu/dot/types.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {
namespace {

template <ggml_type type>
constexpr DotType block32(ggml_type partner) {
    const bool minima = partner == GGML_TYPE_Q8_1;
    const int64_t panels_from = minima ? simd::kPanelsFrom.minima : simd::kPanelsFrom.blocks;
    return {type, partner, vec_dot_q8<type>, panels_from, Operand::kQ8, tile_q8<type>};
}
template <ggml_type type>
constexpr DotType unpacked(ggml_type partner) {
    return {type,
            partner,
            UnpackedDot<type>::vec_dot,
            simd::kPanelsFrom.blocks,
            Operand::kQ8,
            UnpackedDot<type>::tile};
}
constexpr DotType kDotTypes[] = {
    block32<GGML_TYPE_Q4_0>(GGML_TYPE_Q8_0),     block32<GGML_TYPE_Q4_1>(GGML_TYPE_Q8_1),
    block32<GGML_TYPE_Q5_0>(GGML_TYPE_Q8_0),     block32<GGML_TYPE_Q5_1>(GGML_TYPE_Q8_1),
    block32<GGML_TYPE_Q8_0>(GGML_TYPE_Q8_0),     block32<GGML_TYPE_IQ4_NL>(GGML_TYPE_Q8_0),
    block32<GGML_TYPE_MXFP4>(GGML_TYPE_Q8_0),    unpacked<GGML_TYPE_NVFP4>(GGML_TYPE_Q8_0),
    unpacked<GGML_TYPE_Q1_0>(GGML_TYPE_Q8_0),    unpacked<GGML_TYPE_Q2_0>(GGML_TYPE_Q8_0),
    unpacked<GGML_TYPE_Q2_K>(GGML_TYPE_Q8_K),    unpacked<GGML_TYPE_Q3_K>(GGML_TYPE_Q8_K),
    unpacked<GGML_TYPE_Q4_K>(GGML_TYPE_Q8_K),    unpacked<GGML_TYPE_Q5_K>(GGML_TYPE_Q8_K),
    unpacked<GGML_TYPE_Q6_K>(GGML_TYPE_Q8_K),    unpacked<GGML_TYPE_IQ1_S>(GGML_TYPE_Q8_K),
    unpacked<GGML_TYPE_IQ1_M>(GGML_TYPE_Q8_K),   unpacked<GGML_TYPE_IQ2_XXS>(GGML_TYPE_Q8_K),
    unpacked<GGML_TYPE_IQ2_XS>(GGML_TYPE_Q8_K),  unpacked<GGML_TYPE_IQ2_S>(GGML_TYPE_Q8_K),
    unpacked<GGML_TYPE_IQ3_XXS>(GGML_TYPE_Q8_K), unpacked<GGML_TYPE_IQ3_S>(GGML_TYPE_Q8_K),
    unpacked<GGML_TYPE_IQ4_XS>(GGML_TYPE_Q8_K),  unpacked<GGML_TYPE_TQ1_0>(GGML_TYPE_Q8_K),
    unpacked<GGML_TYPE_TQ2_0>(GGML_TYPE_Q8_K),
};

// Position in kDotTypes by type, -1: none.
struct Index {
    int8_t at[GGML_TYPE_COUNT];
};
constexpr Index make_index() {
    Index index{};
    for (int8_t& at : index.at) at = -1;
    int8_t i = 0;
    for (const DotType& row : kDotTypes) index.at[row.type] = i++;
    return index;
}
constexpr Index kIndex = make_index();

}  // namespace

const DotType* find_block_dot(ggml_type type) {
    return kIndex.at[type] < 0 ? nullptr : &kDotTypes[kIndex.at[type]];
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
