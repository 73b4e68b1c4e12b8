// Products of q2_K … q6_K.

#include "plugins/cpu/dot/types.h"
#include "plugins/cpu/dot/unpacked.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

using simd::bit_or;
using simd::field;
using simd::i8x32;
using simd::load_i8;

template <>
struct Layout<GGML_TYPE_Q2_K> : KLayout<tenon_block_q2_K> {
    static constexpr Shape kShape = {16, /*is_signed=*/false, /*has_minima=*/true};
    static void unpack(const Bytes& b, Out out) {
        const float d = simd::to_f32(b.d), dmin = -simd::to_f32(b.dmin);
        for (int j = 0; j < 16; j += 8) {
            const auto both = load_number<uint64_t>(b.scales + j);
            set_eight(out.scales + j, both & 0x0f0f0f0f0f0f0f0f, d, 0);
            set_eight(out.minima + j, both >> 4 & 0x0f0f0f0f0f0f0f0f, dmin, 0);
        }
        for (int h = 0; h < 2; ++h) {
            const i8x32 codes = load_i8(b.qs + 32 * h);
            out.set(4 * h, field<0, 2>(codes));
            out.set(4 * h + 1, field<2, 2>(codes));
            out.set(4 * h + 2, field<4, 2>(codes));
            out.set(4 * h + 3, field<6, 2>(codes));
        }
    }
};

template <>
struct Layout<GGML_TYPE_Q3_K> : KLayout<tenon_block_q3_K> {
    static constexpr Shape kShape = kSigned16;
    template <int g>  // group: low bits in one of two runs, third bits in one plane of hmask
    static i8x32 codes(i8x32 low, i8x32 high) {
        return simd::sub(bit_or(field<2 * (g % 4), 2>(low), field<g, 1, 2>(high)), int8_t{4});
    }
    static void unpack(const Bytes& b, Out out) {
        const float d = simd::to_f32(b.d);
        // Low four bits of 0 … 7, of 8 … 15 in the same bytes; two high bits of every fourth.
        const auto low = load_number<uint64_t>(b.scales);
        const uint64_t pairs = load_number<uint32_t>(b.scales + 8);
        const uint64_t early = (pairs | pairs >> 2 << 32) & 0x0303030303030303;
        const uint64_t late = (pairs >> 4 | pairs >> 6 << 32) & 0x0303030303030303;
        set_eight(out.scales, (low & 0x0f0f0f0f0f0f0f0f) | early << 4, d, -32);
        set_eight(out.scales + 8, (low >> 4 & 0x0f0f0f0f0f0f0f0f) | late << 4, d, -32);
        const i8x32 high = load_i8(b.hmask), low0 = load_i8(b.qs), low1 = load_i8(b.qs + 32);
        out.set(0, codes<0>(low0, high));
        out.set(1, codes<1>(low0, high));
        out.set(2, codes<2>(low0, high));
        out.set(3, codes<3>(low0, high));
        out.set(4, codes<4>(low1, high));
        out.set(5, codes<5>(low1, high));
        out.set(6, codes<6>(low1, high));
        out.set(7, codes<7>(low1, high));
    }
};

// Scales and minimums of q4_K and q5_K.
template <class Block>
static void set_pairs(const Block& b, Out out) {
    const float d = simd::to_f32(b.d), dmin = -simd::to_f32(b.dmin);
    const auto first = load_number<uint32_t>(b.scales);  // six bits of scales 0 … 3, two of 4 … 7
    const auto second = load_number<uint32_t>(b.scales + 4);  // likewise of minima
    const auto low = load_number<uint32_t>(b.scales + 8);  // four bits of scales and minima 4 … 7
    const auto join = [](uint32_t six, uint32_t four) {
        const uint32_t high = (four & 0x0f0f0f0f) | (six >> 6 & 0x03030303) << 4;
        return (six & 0x3f3f3f3f) | uint64_t{high} << 32;
    };
    set_eight(out.scales, join(first, low), d, 0);
    set_eight(out.minima, join(second, low >> 4), dmin, 0);
}

template <>
struct Layout<GGML_TYPE_Q4_K> : KLayout<tenon_block_q4_K> {
    static constexpr Shape kShape = {32, /*is_signed=*/false, /*has_minima=*/true};
    static void unpack(const Bytes& b, Out out) {
        set_pairs(b, out);
        for (int h = 0; h < 4; ++h) {
            const i8x32 codes = load_i8(b.qs + 32 * h);
            out.set(2 * h, field<0, 4>(codes));
            out.set(2 * h + 1, field<4, 4>(codes));
        }
    }
};

template <>
struct Layout<GGML_TYPE_Q5_K> : KLayout<tenon_block_q5_K> {
    static constexpr Shape kShape = {32, /*is_signed=*/false, /*has_minima=*/true};
    template <int h>
    static void unpack_pair(const Bytes& b, i8x32 high, Out out) {
        const i8x32 low = load_i8(b.qs + 32 * h);
        out.set(2 * h, bit_or(field<0, 4>(low), field<2 * h, 1, 4>(high)));
        out.set(2 * h + 1, bit_or(field<4, 4>(low), field<2 * h + 1, 1, 4>(high)));
    }
    static void unpack(const Bytes& b, Out out) {
        set_pairs(b, out);
        const i8x32 high = load_i8(b.qh);
        unpack_pair<0>(b, high, out);
        unpack_pair<1>(b, high, out);
        unpack_pair<2>(b, high, out);
        unpack_pair<3>(b, high, out);
    }
};

template <>
struct Layout<GGML_TYPE_Q6_K> : KLayout<tenon_block_q6_K> {
    static constexpr Shape kShape = kSigned16;
    template <int g>
    static i8x32 codes(i8x32 low, i8x32 high) {
        const i8x32 all = bit_or(field<4 * (g / 2), 4>(low), field<2 * g, 2, 4>(high));
        return simd::sub(all, int8_t{32});
    }
    static void unpack(const Bytes& b, Out out) {
        const float d = simd::to_f32(b.d);
        for (int j = 0; j < 16; j += 8) {  // signed
            const auto scales = load_number<uint64_t>(b.scales + j);
            set_eight(out.scales + j, scales ^ 0x8080808080808080, d, -128);
        }
        for (int h = 0; h < 2; ++h) {
            const i8x32 low0 = load_i8(b.ql + 64 * h), low1 = load_i8(b.ql + 64 * h + 32);
            const i8x32 high = load_i8(b.qh + 32 * h);
            out.set(4 * h, codes<0>(low0, high));
            out.set(4 * h + 1, codes<1>(low1, high));
            out.set(4 * h + 2, codes<2>(low0, high));
            out.set(4 * h + 3, codes<3>(low1, high));
        }
    }
};

template struct UnpackedDot<GGML_TYPE_Q2_K>;
template struct UnpackedDot<GGML_TYPE_Q3_K>;
template struct UnpackedDot<GGML_TYPE_Q4_K>;
template struct UnpackedDot<GGML_TYPE_Q5_K>;
template struct UnpackedDot<GGML_TYPE_Q6_K>;

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
