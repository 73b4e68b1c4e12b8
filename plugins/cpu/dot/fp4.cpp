// Products of nvfp4; mxfp4, with one scale per block of 32, is in q4_q5_q8.cpp.

#include <array>
#include <bit>

#include "plugins/cpu/dot/types.h"
#include "plugins/cpu/dot/unpacked.h"
#include "tenon/codebooks.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

// Twice the value of a code (e2m1); scales are halved in return.
static constexpr int8_t kDoubled[16] = {TENON_E2M1_TWICE};

// Half the value of a scale: an unsigned float of eight bits with bias 7. 0x7f is zero, the top bit
// does not count.
static constexpr float half_scale(uint32_t u) {
    const uint32_t exponent = u >> 3 & 15, mantissa = u & 7;
    if (u == 0x7f) return 0;
    if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10f;
    return std::bit_cast<float>((exponent + 119) << 23 | mantissa << 20);
}
static constexpr auto kHalfScales = [] {
    std::array<float, 256> scales{};
    for (uint32_t u = 0; u < 256; ++u) scales[u] = half_scale(u);
    return scales;
}();

template <>
struct Layout<GGML_TYPE_NVFP4> : LayoutOf<tenon_block_nvfp4, tenon_block_q8_0, TENON_QK_NVFP4> {
    static constexpr Shape kShape = kSigned16;
    static void unpack(const Bytes& b, Out out) {
        for (int j = 0; j < 4; ++j) out.scales[j] = kHalfScales[b.d[j]];
        for (int g = 0; g < 2; ++g) {
            // Eight bytes have the nibbles of 16 elements, the low ones first.
            const simd::i8x32 codes = simd::swap_middle(simd::load_u4(b.qs + 16 * g));
            out.set(g, simd::look_up(kDoubled, codes));
        }
    }
};

template struct UnpackedDot<GGML_TYPE_NVFP4>;

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
