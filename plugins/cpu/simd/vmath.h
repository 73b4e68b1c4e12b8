// Functions on vectors, written once over the SIMD words. Error bounds are against the exact
// result, in units in the last place, over all finite f32 arguments unless said; a test measures
// them. NaN gives NaN; infinities give the limits.
#pragma once

#include <cmath>
#include <limits>

#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

namespace detail {
// x = n ln2 + r with |r| <= ln2/2; ln2 in two parts, the first short enough for n*hi to be exact.
struct Reduced {
    f32 n, r;
};
inline Reduced reduce_ln2(f32 x) {
    const f32 n = round_even(x * splat(1.44269504088896341f));
    f32 r = fnma(n, splat(0.693359375f), x);
    r = fnma(n, splat(-2.12194440e-4f), r);
    return {n, r};
}
// (e^r - 1 - r) / r^2 for |r| <= ln2/2
inline f32 exp_tail(f32 r) {
    f32 p = splat(1.9875691500e-4f);
    p = fma(p, r, splat(1.3981999507e-3f));
    p = fma(p, r, splat(8.3334519073e-3f));
    p = fma(p, r, splat(4.1665795894e-2f));
    p = fma(p, r, splat(1.6666665459e-1f));
    return fma(p, r, splat(5.0000001201e-1f));
}
}  // namespace detail

// e^x: 2 ULP (subnormal results: half a subnormal step more).
inline f32 exp(f32 x) {
    // Beyond these bounds the result is 0 or infinity; the clamp keeps 2^n representable. Of two
    // unordered operands min and max give the second: NaN passes.
    const f32 inside = min(splat(89.0f), max(splat(-104.0f), x));
    const auto [n, r] = detail::reduce_ln2(inside);
    const f32 p = fma(detail::exp_tail(r) * r, r, r) + splat(1.0f);
    return scale_by_power_of_two(p, n);
}

// e^x - 1: 3 ULP, also near 0.
inline f32 expm1(f32 x) {
    const f32 inside = min(splat(89.0f), max(splat(-30.0f), x));
    const auto [n, r] = detail::reduce_ln2(inside);
    const f32 m = fma(detail::exp_tail(r) * r, r, r);  // e^r - 1
    // 2^n (m + 1) - 1 = 2^n m + (2^n - 1)
    const f32 power = scale_by_power_of_two(splat(1.0f), n);
    const f32 big = scale_by_power_of_two(m + splat(1.0f), n);
    const f32 small = fma(m, power, power - splat(1.0f));
    const f32 y = select(less(splat(80.0f), inside), big, small);
    return select(equal(n, splat(0.0f)), select(equal(x, splat(0.0f)), x, m), y);
}

// ln x: 2 ULP. ln 0 = -inf, ln of a negative number = NaN.
inline f32 log(f32 x) {
    const f32 tiny = splat(std::numeric_limits<float>::min());
    const mask subnormal = less(x, tiny);
    const f32 scaled = select(subnormal, x * splat(0x1p25f), x);
    // scaled = 2^e m with m in [sqrt(1/2), sqrt(2))
    const i32 offset = sub(bits(scaled), splat(int32_t{0x3f3504f3}));
    f32 e = to_float(shift_right<23>(offset));
    const f32 m =
        from_bits(add(bit_and(offset, splat(int32_t{0x007fffff})), splat(int32_t{0x3f3504f3})));
    e = e - select(subnormal, splat(25.0f), splat(0.0f));
    const f32 f = m - splat(1.0f);
    const f32 z = f * f;
    f32 p = splat(7.0376836292e-2f);
    p = fma(p, f, splat(-1.1514610310e-1f));
    p = fma(p, f, splat(1.1676998740e-1f));
    p = fma(p, f, splat(-1.2420140846e-1f));
    p = fma(p, f, splat(1.4249322787e-1f));
    p = fma(p, f, splat(-1.6668057665e-1f));
    p = fma(p, f, splat(2.0000714765e-1f));
    p = fma(p, f, splat(-2.4999993993e-1f));
    p = fma(p, f, splat(3.3333331174e-1f));
    f32 y = p * f * z;
    y = fma(e, splat(-2.12194440e-4f), y);
    y = fma(z, splat(-0.5f), y);
    y = fma(e, splat(0.693359375f), f + y);
    const float inf = std::numeric_limits<float>::infinity();
    y = select(less(x, splat(inf)), y, x);  // +inf, NaN
    y = select(equal(x, splat(0.0f)), splat(-inf), y);
    return select(less(x, splat(0.0f)), splat(std::numeric_limits<float>::quiet_NaN()), y);
}

// ln(1 + x) for x >= 0: 3 ULP.
inline f32 log1p_positive(f32 x) {
    // u = 1 + x is rounded; ln(1+x) = ln(u) * x/(u-1) corrects for it.
    const f32 u = x + splat(1.0f);
    const f32 d = u - splat(1.0f);
    const f32 y = log(u) * (x / d);
    const f32 large = select(less(x, splat(1e8f)), y, log(u));
    return select(equal(d, splat(0.0f)), x, large);
}

// 1/(1 + e^-x): 4 ULP where the result is not subnormal.
inline f32 sigmoid(f32 x) { return splat(1.0f) / (splat(1.0f) + exp(neg(x))); }

// tanh x: 4 ULP.
inline f32 tanh(f32 x) {
    const f32 a = abs(x);
    const f32 z = x * x;
    f32 p = splat(-5.70498872745e-3f);
    p = fma(p, z, splat(2.06390887954e-2f));
    p = fma(p, z, splat(-5.37397155531e-2f));
    p = fma(p, z, splat(1.33314422036e-1f));
    p = fma(p, z, splat(-3.33332819422e-1f));
    const f32 small = fma(p * z, x, x);
    const f32 e = exp(a + a);
    const f32 large = copy_sign(splat(1.0f) - splat(2.0f) / (e + splat(1.0f)), x);
    const f32 y = select(less(a, splat(0.625f)), small, large);
    return select(equal(x, x), copy_sign(y, x), x);
}

// erf x: 3 ULP.
inline f32 erf(f32 x) {
    const f32 t = abs(x), s = x * x;
    // |x| > 0.92: 1 - e^(t*q(t)); beyond 4 the result is 1.
    const f32 c = min(t, splat(4.0f));
    const f32 s2 = c * c;
    f32 r = fma(splat(-1.72853470e-5f), c, splat(3.83197126e-4f));
    const f32 u = fma(splat(-3.88396438e-3f), c, splat(2.42546219e-2f));
    r = fma(r, s2, u);
    r = fma(r, c, splat(-1.06777877e-1f));
    r = fma(r, c, splat(-6.34846687e-1f));
    r = fma(r, c, splat(-1.28717512e-1f));
    r = fma(r, c, neg(c));
    const f32 large = copy_sign(splat(1.0f) - exp(r), x);
    f32 p = splat(-5.96761703e-4f);
    p = fma(p, s, splat(4.99119423e-3f));
    p = fma(p, s, splat(-2.67681349e-2f));
    p = fma(p, s, splat(1.12819925e-1f));
    p = fma(p, s, splat(-3.76125336e-1f));
    p = fma(p, s, splat(1.28379166e-1f));
    const f32 small = fma(p, x, x);
    const f32 y = select(less(splat(0.927734375f), t), large, small);
    return select(equal(x, x), y, x);
}

namespace detail {
// sin (quarter = 0) or cos (quarter = 1) for |x| <= 8192: 2 ULP, absolute 2^-25 near the zeros.
inline f32 sin_cos(f32 x, int32_t quarter) {
    const f32 n = round_even(x * splat(0.636619772367581343f));  // 2/pi
    f32 r = fnma(n, splat(1.5703125f), x);                       // pi/2 in four short parts
    r = fnma(n, splat(4.8351287841796875e-4f), r);
    r = fnma(n, splat(3.1385570764541625976e-7f), r);
    r = fnma(n, splat(6.0771005065061922e-11f), r);
    const i32 q = add(to_int(n), splat(quarter));
    const f32 z = r * r;
    f32 s = splat(-1.9515295891e-4f);
    s = fma(s, z, splat(8.3321608736e-3f));
    s = fma(s, z, splat(-1.6666654611e-1f));
    s = fma(s * z, r, r);
    f32 c = splat(2.443315711809948e-5f);
    c = fma(c, z, splat(-1.388731625493765e-3f));
    c = fma(c, z, splat(4.166664568298827e-2f));
    c = fma(c * z, z, fma(z, splat(-0.5f), splat(1.0f)));
    const mask odd = less(splat(0.0f), to_float(bit_and(q, splat(int32_t{1}))));
    const i32 sign = shift_left<30>(bit_and(q, splat(int32_t{2})));
    return from_bits(bit_xor(bits(select(odd, c, s)), sign));
}
template <class Fn>
f32 each_lane(f32 x, Fn&& fn) {
    float lanes[f32::lanes];
    store(lanes, x);
    for (float& lane : lanes) lane = fn(lane);
    return load(lanes);
}
inline bool all_within(f32 x, float limit) {  // false for NaN
    return !any(
        less(select(less_equal(abs(x), splat(limit)), splat(0.0f), splat(-1.0f)), splat(0.0f)));
}
}  // namespace detail

// sin x, cos x: 2 ULP, 2^-24 absolute near their zeros. Arguments beyond 8192 go to the C library.
inline f32 sin(f32 x) {
    if (detail::all_within(x, 8192.0f)) return detail::sin_cos(x, 0);
    return detail::each_lane(x, [](float lane) { return std::sin(lane); });
}
inline f32 cos(f32 x) {
    if (detail::all_within(x, 8192.0f)) return detail::sin_cos(x, 1);
    return detail::each_lane(x, [](float lane) { return std::cos(lane); });
}

// ---- activations ------------------------------------------------------------------------------

inline f32 silu(f32 x) { return x / (splat(1.0f) + exp(neg(x))); }

// The tanh form, by (1 + tanh y)/2 = 1/(1 + e^-2y); below -10 it is 0 to the last bit, -inf
// included.
inline f32 gelu(f32 x) {
    const f32 two_y =
        splat(1.59576912160573071176f) * x * fma(splat(0.044715f) * x, x, splat(1.0f));
    const f32 y = x / (splat(1.0f) + exp(neg(two_y)));
    return select(less(x, splat(-10.0f)), splat(0.0f), y);
}
inline f32 gelu_erf(f32 x) {
    return splat(0.5f) * x * (splat(1.0f) + erf(x * splat(0.70710678118654752440f)));
}
inline f32 gelu_quick(f32 x) { return x / (splat(1.0f) + exp(splat(-1.702f) * x)); }

inline f32 softplus(f32 x) {  // ln(1 + e^x), x itself beyond 20
    return select(less(splat(20.0f), x), x, log1p_positive(exp(x)));
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd
