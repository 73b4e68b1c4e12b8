// The fallback: products of pairs of bf16 where no instruction makes them, over words that every
// header has. Included at the end of such headers.
//
// A vector of bits holds two bf16 a lane: neighbours, the first in the low half. Widening each is
// one operation, where widening a run of halves takes two.
#pragma once

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

constexpr bool kBf16Dot = false;  // whether `dot` is an instruction

struct bf16x2 {
    i32 v;
};

// 2*lanes elements.
inline bf16x2 load_pairs(const ggml_bf16_t* p) {
    return {bits(load(reinterpret_cast<const float*>(p)))};
}
// The same two elements in every lane.
inline bf16x2 splat_pair(const ggml_bf16_t* p) {
    int32_t both;
    std::memcpy(&both, p, sizeof both);
    return {splat(both)};
}
// acc + the two products of each lane, in any order and rounding. Subnormal numbers may count as
// zero.
inline f32 dot(bf16x2 a, bf16x2 b, f32 acc) {
    const i32 upper = splat(static_cast<int32_t>(0xffff0000u));
    acc = fma(from_bits(shift_left<16>(a.v)), from_bits(shift_left<16>(b.v)), acc);
    return fma(from_bits(bit_and(a.v, upper)), from_bits(bit_and(b.v, upper)), acc);
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd
