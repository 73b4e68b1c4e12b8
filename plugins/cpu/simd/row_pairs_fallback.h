// The fallback: products of two rows of bytes with two others where no instruction makes them, over
// words that every header has. Included at the end of such headers.
#pragma once

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

// Whether products of two rows with two are faster than of one with one: tiles are made of them.
constexpr bool kRowPairs = false;

struct i8x32x2 {  // 32 elements of each of two rows
    i8x32 first, second;
};
struct f32x4 {
    float v[4];
};

inline i8x32x2 pair(i8x32 first, i8x32 second) { return {first, second}; }

// Sums of the products of elements 16*half … 16*half+15: w0.y0, w0.y1, w1.y0, w1.y1, exactly. y
// must not contain -128.
template <int half>
f32x4 dot_half(i8x32x2 w, i8x32x2 y) {
    const auto one = [](i8x32 a, i8x32 b) {
        float lanes[8];
        store8(lanes, to_float(dot(a, b)));
        const float* l = lanes + 4 * half;
        return (l[0] + l[1]) + (l[2] + l[3]);
    };
    return {{one(w.first, y.first), one(w.first, y.second), one(w.second, y.first),
             one(w.second, y.second)}};
}
// The same of all 32.
inline f32x4 dot(i8x32x2 w, i8x32x2 y) {
    const f32x4 lo = dot_half<0>(w, y), hi = dot_half<1>(w, y);
    return {{lo.v[0] + hi.v[0], lo.v[1] + hi.v[1], lo.v[2] + hi.v[2], lo.v[3] + hi.v[3]}};
}

// A number per row of w, or per row of y, where their products stand.
inline f32x4 of_first(float w0, float w1) { return {{w0, w0, w1, w1}}; }
inline f32x4 of_second(float y0, float y1) { return {{y0, y1, y0, y1}}; }

inline f32x4 mul(f32x4 a, f32x4 b) {
    return {{a.v[0] * b.v[0], a.v[1] * b.v[1], a.v[2] * b.v[2], a.v[3] * b.v[3]}};
}
inline f32x4 fma(f32x4 a, f32x4 b, f32x4 c) {  // one rounding or two
    for (int k = 0; k < 4; ++k) c.v[k] += a.v[k] * b.v[k];
    return c;
}
inline void store4(float* p, f32x4 a) { std::memcpy(p, a.v, sizeof a.v); }

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd
