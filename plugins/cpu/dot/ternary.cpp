// Products of the types of one and two bits with a plain scale: q1_0, q2_0, tq1_0, tq2_0.

#include "plugins/cpu/dot/types.h"
#include "plugins/cpu/dot/unpacked.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

using simd::field;
using simd::i8x32;
using simd::sub;

template <int n_groups>
static void set_scale(float d, Out out) {
    for (int g = 0; g < n_groups; ++g) out.scales[g] = d;
}

template <>
struct Layout<GGML_TYPE_Q1_0> : LayoutOf<tenon_block_q1_0, tenon_block_q8_0, TENON_QK_Q1_0> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Out out) {
        set_scale<4>(simd::to_f32(b.d), out);
        for (int g = 0; g < 4; ++g) {
            out.set(g, simd::select_bits(load_number<uint32_t>(b.qs + 4 * g), 1, -1));
        }
    }
};

template <>
struct Layout<GGML_TYPE_Q2_0> : LayoutOf<tenon_block_q2_0, tenon_block_q8_0, TENON_QK_Q2_0> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Out out) {
        set_scale<2>(simd::to_f32(b.d), out);
        out.set(0, sub(simd::load_u2(b.qs), int8_t{1}));
        out.set(1, sub(simd::load_u2(b.qs + 8), int8_t{1}));
    }
};

template <>
struct Layout<GGML_TYPE_TQ2_0> : KLayout<tenon_block_tq2_0> {
    static constexpr Shape kShape = kSigned32;
    static void unpack(const Bytes& b, Out out) {
        set_scale<8>(simd::to_f32(b.d), out);
        for (int h = 0; h < 2; ++h) {
            const i8x32 codes = simd::load_i8(b.qs + 32 * h);
            out.set(4 * h, sub(field<0, 2>(codes), int8_t{1}));
            out.set(4 * h + 1, sub(field<2, 2>(codes), int8_t{1}));
            out.set(4 * h + 2, sub(field<4, 2>(codes), int8_t{1}));
            out.set(4 * h + 3, sub(field<6, 2>(codes), int8_t{1}));
        }
    }
};

// A byte is a fraction of 256 whose digits to base 3 are the elements: digit p is the whole part
// of three times the fraction that 3^p leaves.
template <>
struct Layout<GGML_TYPE_TQ1_0> : KLayout<tenon_block_tq1_0> {
    static constexpr Shape kShape = kSigned32;

    static i8x32 first_digit(i8x32 x) {  // minus 1: 0 below 256/3, 2 from 2*256/3 on
        const i8x32 minus = simd::add(simd::at_least(x, 86), simd::at_least(x, 171));
        return sub(simd::negate(minus, ~0u), int8_t{1});
    }
    static i8x32 next(i8x32 x) { return simd::add(simd::add(x, x), x); }

    static void unpack(const Bytes& b, Out out) {
        set_scale<8>(simd::to_f32(b.d), out);
        i8x32 x = simd::load_i8(b.qs);
        for (int p = 0; p < 5; ++p) {
            out.set(p, first_digit(x));
            x = next(x);
        }
        // 16 bytes of five digits and 4 bytes of four.
        alignas(32) int8_t rest[32] = {}, digits[32];
        std::memcpy(rest, b.qs + 32, 16);
        std::memcpy(rest + 16, b.qh, 4);
        x = simd::load_i8(rest);
        for (int p = 0; p < 5; ++p) {
            simd::store_i8(digits, first_digit(x));
            std::memcpy(out.codes + 160 + 16 * p, digits, 16);
            if (p < 4) std::memcpy(out.codes + 240 + 4 * p, digits + 16, 4);
            x = next(x);
        }
    }
};

template struct UnpackedDot<GGML_TYPE_Q1_0>;
template struct UnpackedDot<GGML_TYPE_Q2_0>;
template struct UnpackedDot<GGML_TYPE_TQ1_0>;
template struct UnpackedDot<GGML_TYPE_TQ2_0>;

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
