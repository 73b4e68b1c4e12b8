// Products of f32 and f16 weights, with f32 activations or their own type.

#include "plugins/cpu/dot/float_tile.h"
#include "plugins/cpu/dot/types.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {
namespace {

template <class A>
void vec_dot(int n, float* s, size_t, const void* x, size_t, const void* y, size_t, int) {
    *s = simd::dot(static_cast<const A*>(x), static_cast<const A*>(y), n);
}
template <class A, class B>
void tile(const Tile& tile) {
    tile_all<FloatTile<A, B>>(tile);
}

constexpr DotType kF32 = {GGML_TYPE_F32,         GGML_TYPE_F32, vec_dot<float>,
                          simd::kPanelsFrom.f32, Operand::kF32, tile<float, float>};
constexpr DotType kF16 = {GGML_TYPE_F16,
                          GGML_TYPE_F16,
                          vec_dot<ggml_fp16_t>,
                          simd::kPanelsFrom.f16,
                          Operand::kF32,
                          tile<ggml_fp16_t, float>,
                          tile<ggml_fp16_t, ggml_fp16_t>};

}  // namespace

const DotType* find_float_dot(ggml_type type) {
    return type == GGML_TYPE_F32 ? &kF32 : type == GGML_TYPE_F16 ? &kF16 : nullptr;
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
