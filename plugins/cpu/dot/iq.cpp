// Products of iq1 … iq3, whose blocks name points of a code book, and of iq4_xs.

#include "plugins/cpu/dot/types.h"
#include "plugins/cpu/dot/unpacked.h"
#include "sdk/quant/iq_grids.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

using simd::i8x32;

// Sign bits of 32 elements from four fields of seven bits.
static inline uint32_t even_signs(uint32_t fields) {
    const auto& signs = quant::kEvenSigns;
    return signs[fields & 127] | uint32_t{signs[fields >> 7 & 127]} << 8 |
           uint32_t{signs[fields >> 14 & 127]} << 16 | uint32_t{signs[fields >> 21 & 127]} << 24;
}

// Eight scales unit*(2s + 1) of the numbers s in the bytes of `numbers`.
static void set_odd(float* scales, uint64_t numbers, float unit) {
    set_eight(scales, numbers, 2 * unit, 0.5f);
}

// Two scales per byte, for 16 elements each.
static void set_nibble_scales(const uint8_t* nibbles, float unit, Out out) {
    set_odd(out.scales, spread_nibbles(load_number<uint32_t>(nibbles)), unit);
    set_odd(out.scales + 8, spread_nibbles(load_number<uint32_t>(nibbles + 4)), unit);
}

// ---- two bits an element: points of eight -----------------------------------------------------

template <>
struct Layout<GGML_TYPE_IQ2_XXS> : KLayout<tenon_block_iq2_xxs> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Out out) {
        const float unit = simd::to_f32(b.d) / 8;
        const auto& grid = quant::kGridIq2xxs;
        uint64_t scales = 0;
        for (int g = 0; g < 8; ++g) {
            const uint32_t points = load_number<uint32_t>(b.qs + 4 * g),
                           rest = load_number<uint32_t>(b.qs + 4 * g + 2);
            const i8x32 codes = simd::pack(grid[points & 255], grid[points >> 8 & 255],
                                           grid[points >> 16 & 255], grid[points >> 24]);
            out.set(g, simd::negate(codes, even_signs(rest)));
            scales |= uint64_t{rest >> 28} << 8 * g;
        }
        set_odd(out.scales, scales, unit);
    }
};

template <>
struct Layout<GGML_TYPE_IQ2_XS> : KLayout<tenon_block_iq2_xs> {
    static constexpr Shape kShape = kSigned16;
    static void unpack(const Bytes& b, Out out) {
        set_nibble_scales(b.scales, simd::to_f32(b.d) / 8, out);
        const auto& grid = quant::kGridIq2xs;
        for (int g = 0; g < 8; ++g) {
            const uint16_t* q = b.qs + 4 * g;
            const i8x32 codes =
                simd::pack(grid[q[0] & 511], grid[q[1] & 511], grid[q[2] & 511], grid[q[3] & 511]);
            const uint32_t signs = even_signs(
                static_cast<uint32_t>(q[0] >> 9) | static_cast<uint32_t>(q[1] >> 9) << 7 |
                static_cast<uint32_t>(q[2] >> 9) << 14 | static_cast<uint32_t>(q[3] >> 9) << 21);
            out.set(g, simd::negate(codes, signs));
        }
    }
};

template <>
struct Layout<GGML_TYPE_IQ2_S> : KLayout<tenon_block_iq2_s> {
    static constexpr Shape kShape = kSigned16;
    static void unpack(const Bytes& b, Out out) {
        set_nibble_scales(b.scales, simd::to_f32(b.d) / 8, out);
        for (int g = 0; g < 8; ++g) {
            const auto point = [&](int k) {
                return quant::kGridIq2s[b.qs[4 * g + k] | (b.qh[g] >> 2 * k & 3) << 8];
            };
            const i8x32 codes = simd::pack(point(0), point(1), point(2), point(3));
            out.set(g, simd::negate(codes, load_number<uint32_t>(b.signs + 4 * g)));
        }
    }
};

// ---- three bits an element: points of four ----------------------------------------------------

template <>
struct Layout<GGML_TYPE_IQ3_XXS> : KLayout<tenon_block_iq3_xxs> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Out out) {
        const float unit = simd::to_f32(b.d) / 4;
        uint64_t scales = 0;
        for (int g = 0; g < 8; ++g) {
            const uint8_t* q = b.qs + 8 * g;
            const uint32_t rest = load_number<uint32_t>(b.gas + 4 * g);
            uint32_t points[8];
            TENON_UNROLL
            for (int k = 0; k < 8; ++k) points[k] = quant::kGridIq3xxs[q[k]];
            out.set(g, simd::negate(simd::pack(points), even_signs(rest)));
            scales |= uint64_t{rest >> 28} << 8 * g;
        }
        set_odd(out.scales, scales, unit);
    }
};

template <>
struct Layout<GGML_TYPE_IQ3_S> : KLayout<tenon_block_iq3_s> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Out out) {
        set_odd(out.scales, spread_nibbles(load_number<uint32_t>(b.scales)), simd::to_f32(b.d));
        for (int g = 0; g < 8; ++g) {
            const uint8_t* q = b.qs + 8 * g;
            uint32_t points[8];
            TENON_UNROLL
            for (int k = 0; k < 8; ++k) {
                points[k] = quant::kGridIq3s[q[k] | (b.qh[g] >> k & 1) << 8];
            }
            out.set(g, simd::negate(simd::pack(points), load_number<uint32_t>(b.signs + 4 * g)));
        }
    }
};

// ---- iq1: points of eight in -1 0 1, a group moved by +1/8 or -1/8 ------------------------------
// In eighths: 8*(point + 1) is 0 8 16, from which 8 minus or plus one is taken.

static inline i8x32 in_eighths(uint64_t a, uint64_t b, uint64_t c, uint64_t d, i8x32 delta) {
    const i8x32 levels = simd::add(simd::pack(a, b, c, d), simd::splat_i8(1));
    return simd::sub(simd::add(simd::field<0, 2, 3>(levels), delta), int8_t{8});
}

template <>
struct Layout<GGML_TYPE_IQ1_S> : KLayout<tenon_block_iq1_s> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Out out) {
        const float unit = simd::to_f32(b.d) / 8;
        uint64_t scales = 0;
        for (int g = 0; g < 8; ++g) {
            const uint32_t rest = b.qh[g];
            const auto point = [&](int k) {
                return quant::kGridIq1s[b.qs[4 * g + k] | (rest >> 3 * k & 7) << 8];
            };
            const i8x32 delta = simd::splat_i8(rest >> 15 ? -1 : 1);
            out.set(g, in_eighths(point(0), point(1), point(2), point(3), delta));
            scales |= uint64_t{rest >> 12 & 7} << 8 * g;
        }
        set_odd(out.scales, scales, unit);
    }
};

template <>
struct Layout<GGML_TYPE_IQ1_M> : KLayout<tenon_block_iq1_m> {
    static constexpr Shape kShape = kSigned16;
    static float scale(const Bytes& b) {  // its binary16 is spread over the top nibbles
        uint32_t bits = 0;
        for (int k = 0; k < 4; ++k) bits |= static_cast<uint32_t>(b.scales[k] >> 12) << 4 * k;
        return simd::to_f32(static_cast<ggml_fp16_t>(bits));
    }
    static void unpack(const Bytes& b, Out out) {
        const float unit = scale(b) / 8;
        const auto four = [&](int k) -> uint64_t {  // fields of three bits, to bytes
            const uint32_t pairs = (b.scales[k] & 0x3fu) | (b.scales[k] & 0xfc0u) << 10;
            return (pairs & 0x00070007) | (pairs & 0x00380038) << 5;
        };
        set_odd(out.scales, four(0) | four(1) << 32, unit);
        set_odd(out.scales + 8, four(2) | four(3) << 32, unit);
        for (int g = 0; g < 8; ++g) {
            const uint32_t high = b.qh[2 * g] | static_cast<uint32_t>(b.qh[2 * g + 1]) << 8;
            const auto point = [&](int k) {
                return quant::kGridIq1s[b.qs[4 * g + k] | (high >> 4 * k & 7) << 8];
            };
            // Bit 3 of nibble k, for eight elements.
            const uint32_t minus = ((high >> 3 & 1) | (high >> 7 & 1) << 8 |
                                    (high >> 11 & 1) << 16 | (high >> 15 & 1) << 24) *
                                   255u;
            out.set(g, in_eighths(point(0), point(1), point(2), point(3),
                                  simd::select_bits(minus, -1, 1)));
        }
    }
};

// ---- iq4_xs -----------------------------------------------------------------------------------

template <>
struct Layout<GGML_TYPE_IQ4_XS> : KLayout<tenon_block_iq4_xs> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Out out) {
        const uint64_t low = spread_nibbles(load_number<uint32_t>(b.scales_l));
        set_eight(out.scales, low | spread_pairs(b.scales_h) << 4, simd::to_f32(b.d), -32);
        for (int g = 0; g < 8; ++g) {
            out.set(g, simd::look_up(quant::kIq4Levels, simd::load_u4(b.qs + 16 * g)));
        }
    }
};

template struct UnpackedDot<GGML_TYPE_IQ1_S>;
template struct UnpackedDot<GGML_TYPE_IQ1_M>;
template struct UnpackedDot<GGML_TYPE_IQ2_XXS>;
template struct UnpackedDot<GGML_TYPE_IQ2_XS>;
template struct UnpackedDot<GGML_TYPE_IQ2_S>;
template struct UnpackedDot<GGML_TYPE_IQ3_XXS>;
template struct UnpackedDot<GGML_TYPE_IQ3_S>;
template struct UnpackedDot<GGML_TYPE_IQ4_XS>;

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
