// Products of iq1 … iq3, whose blocks name points of a code book, and of iq4_xs.

#include "core/quant/iq_grids.h"
#include "plugins/cpu/dot/types.h"
#include "plugins/cpu/dot/unpacked.h"

namespace tenon::cpu {

using simd::i8x32;

// Bytes may lie at any address.
static uint32_t load_u32(const void* p) {
    uint32_t x;
    std::memcpy(&x, p, sizeof x);
    return x;
}

// Sign bits of 32 elements from four fields of seven bits.
static uint32_t even_signs(uint32_t fields) {
    const auto& signs = quant::kEvenSigns;
    return signs[fields & 127] | uint32_t{signs[fields >> 7 & 127]} << 8 |
           uint32_t{signs[fields >> 14 & 127]} << 16 | uint32_t{signs[fields >> 21 & 127]} << 24;
}

// Scale of a number s of few bits: unit*(2s + 1).
static float odd(float unit, uint32_t s) { return unit * static_cast<float>(2 * s + 1); }

// Two scales per byte, for 16 elements each.
static void set_nibble_scales(const uint8_t* scales, float unit, Unpacked& out) {
    for (int j = 0; j < 8; ++j) {
        out.scales[2 * j] = odd(unit, scales[j] & 15);
        out.scales[2 * j + 1] = odd(unit, scales[j] >> 4);
    }
}

// ---- two bits an element: points of eight -----------------------------------------------------

template <>
struct Layout<GGML_TYPE_IQ2_XXS> : KLayout<tenon_block_iq2_xxs> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Unpacked& out) {
        const float unit = simd::to_f32(b.d) / 8;
        const auto& grid = quant::kGridIq2xxs;
        for (int g = 0; g < 8; ++g) {
            const uint32_t points = load_u32(b.qs + 4 * g), rest = load_u32(b.qs + 4 * g + 2);
            const i8x32 codes = simd::pack(grid[points & 255], grid[points >> 8 & 255],
                                           grid[points >> 16 & 255], grid[points >> 24]);
            out.set(g, simd::negate(codes, even_signs(rest)));
            out.scales[g] = odd(unit, rest >> 28);
        }
    }
};

template <>
struct Layout<GGML_TYPE_IQ2_XS> : KLayout<tenon_block_iq2_xs> {
    static constexpr Shape kShape = kSigned16;
    static void unpack(const Bytes& b, Unpacked& out) {
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
    static void unpack(const Bytes& b, Unpacked& out) {
        set_nibble_scales(b.scales, simd::to_f32(b.d) / 8, out);
        for (int g = 0; g < 8; ++g) {
            const auto point = [&](int k) {
                return quant::kGridIq2s[b.qs[4 * g + k] | (b.qh[g] >> 2 * k & 3) << 8];
            };
            const i8x32 codes = simd::pack(point(0), point(1), point(2), point(3));
            out.set(g, simd::negate(codes, load_u32(b.signs + 4 * g)));
        }
    }
};

// ---- three bits an element: points of four ----------------------------------------------------

template <>
struct Layout<GGML_TYPE_IQ3_XXS> : KLayout<tenon_block_iq3_xxs> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Unpacked& out) {
        const float unit = simd::to_f32(b.d) / 4;
        for (int g = 0; g < 8; ++g) {
            const uint8_t* q = b.qs + 8 * g;
            const uint32_t rest = load_u32(b.gas + 4 * g);
            uint32_t points[8];
            TENON_UNROLL
            for (int k = 0; k < 8; ++k) points[k] = quant::kGridIq3xxs[q[k]];
            out.set(g, simd::negate(simd::pack(points), even_signs(rest)));
            out.scales[g] = odd(unit, rest >> 28);
        }
    }
};

template <>
struct Layout<GGML_TYPE_IQ3_S> : KLayout<tenon_block_iq3_s> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Unpacked& out) {
        const float d = simd::to_f32(b.d);
        for (int g = 0; g < 8; ++g) {
            const uint8_t* q = b.qs + 8 * g;
            uint32_t points[8];
            TENON_UNROLL
            for (int k = 0; k < 8; ++k) {
                points[k] = quant::kGridIq3s[q[k] | (b.qh[g] >> k & 1) << 8];
            }
            out.set(g, simd::negate(simd::pack(points), load_u32(b.signs + 4 * g)));
            out.scales[g] = odd(d, static_cast<uint32_t>(b.scales[g / 2] >> 4 * (g % 2) & 15));
        }
    }
};

// ---- iq1: points of eight in -1 0 1, a group moved by +1/8 or -1/8 ------------------------------
// In eighths: 8*(point + 1) is 0 8 16, from which 8 minus or plus one is taken.

static i8x32 in_eighths(uint64_t a, uint64_t b, uint64_t c, uint64_t d, i8x32 delta) {
    const i8x32 levels = simd::add(simd::pack(a, b, c, d), simd::splat_i8(1));
    return simd::sub(simd::add(simd::field<0, 2, 3>(levels), delta), int8_t{8});
}

template <>
struct Layout<GGML_TYPE_IQ1_S> : KLayout<tenon_block_iq1_s> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Unpacked& out) {
        const float unit = simd::to_f32(b.d) / 8;
        for (int g = 0; g < 8; ++g) {
            const uint32_t rest = b.qh[g];
            const auto point = [&](int k) {
                return quant::kGridIq1s[b.qs[4 * g + k] | (rest >> 3 * k & 7) << 8];
            };
            const i8x32 delta = simd::splat_i8(rest >> 15 ? -1 : 1);
            out.set(g, in_eighths(point(0), point(1), point(2), point(3), delta));
            out.scales[g] = odd(unit, rest >> 12 & 7);
        }
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
    static void unpack(const Bytes& b, Unpacked& out) {
        const float unit = scale(b) / 8;
        for (int j = 0; j < 16; ++j) {
            out.scales[j] = odd(unit, static_cast<uint32_t>(b.scales[j / 4] >> 3 * (j % 4) & 7));
        }
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
    static void unpack(const Bytes& b, Unpacked& out) {
        const float d = simd::to_f32(b.d);
        for (int g = 0; g < 8; ++g) {
            const int low = b.scales_l[g / 2] >> 4 * (g % 2) & 15;
            const int high = b.scales_h >> 2 * g & 3;
            out.scales[g] = d * static_cast<float>((low | high << 4) - 32);
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

}  // namespace tenon::cpu
