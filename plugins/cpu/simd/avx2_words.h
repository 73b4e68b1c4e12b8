// The SIMD words for AVX2 with FMA and F16C: eight lanes, all but the products of bytes and of
// bf16, which avx2.h and avx2_vnni.h add. scalar.h says what each word means.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "plugins/cpu/simd/half.h"
#include "plugins/cpu/simd/panels_from.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

struct f32 {
    __m256 v;
    static constexpr int lanes = 8;
};
constexpr int kRegisters = 16;  // vectors that fit the register file: sizes register tiles
struct i32 {
    __m256i v;
};
struct mask {
    __m256 v;
};
struct f64x {  // the lanes of an f32, widened
    __m256d lo, hi;
};

// ---- memory -----------------------------------------------------------------------------------

inline f32 load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline f32 load(const ggml_fp16_t* p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline f32 load(const ggml_bf16_t* p) {
    const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16))};
}
inline void store(float* p, f32 a) { _mm256_storeu_ps(p, a.v); }
inline void store(ggml_fp16_t* p, f32 a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm256_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}
inline void store(ggml_bf16_t* p, f32 a) {
    const __m256i u = _mm256_castps_si256(a.v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(0x40));
    const __m256 nan = _mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q);
    const __m256i r = _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(nan));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm_packus_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1)));
}
inline __m256i first_lanes(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline f32 load_some(const float* p, int n) { return {_mm256_maskload_ps(p, first_lanes(n))}; }
inline void store_some(float* p, f32 a, int n) { _mm256_maskstore_ps(p, first_lanes(n), a.v); }

// One value.
inline float to_f32(ggml_fp16_t x) { return _cvtsh_ss(x); }
inline void set_f32(ggml_fp16_t* p, float x) {
    *p = static_cast<ggml_fp16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
}

// ---- lanes ------------------------------------------------------------------------------------

inline f32 splat(float x) { return {_mm256_set1_ps(x)}; }
inline i32 splat(int32_t x) { return {_mm256_set1_epi32(x)}; }

inline f32 add(f32 a, f32 b) { return {_mm256_add_ps(a.v, b.v)}; }
inline f32 sub(f32 a, f32 b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline f32 mul(f32 a, f32 b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline f32 div(f32 a, f32 b) { return {_mm256_div_ps(a.v, b.v)}; }
inline f32 fma(f32 a, f32 b, f32 c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline f32 fnma(f32 a, f32 b, f32 c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
inline f32 min(f32 a, f32 b) { return {_mm256_min_ps(a.v, b.v)}; }
inline f32 max(f32 a, f32 b) { return {_mm256_max_ps(a.v, b.v)}; }

inline i32 add(i32 a, i32 b) { return {_mm256_add_epi32(a.v, b.v)}; }
inline i32 sub(i32 a, i32 b) { return {_mm256_sub_epi32(a.v, b.v)}; }
inline i32 bit_and(i32 a, i32 b) { return {_mm256_and_si256(a.v, b.v)}; }
inline i32 bit_or(i32 a, i32 b) { return {_mm256_or_si256(a.v, b.v)}; }
inline i32 bit_xor(i32 a, i32 b) { return {_mm256_xor_si256(a.v, b.v)}; }
template <int n>
i32 shift_left(i32 a) {
    return {_mm256_slli_epi32(a.v, n)};
}
template <int n>
i32 shift_right(i32 a) {
    return {_mm256_srai_epi32(a.v, n)};
}

inline i32 bits(f32 a) { return {_mm256_castps_si256(a.v)}; }
inline f32 from_bits(i32 a) { return {_mm256_castsi256_ps(a.v)}; }
inline f32 to_float(i32 a) { return {_mm256_cvtepi32_ps(a.v)}; }
inline i32 to_int(f32 a) { return {_mm256_cvtps_epi32(a.v)}; }
inline i32 to_int_trunc(f32 a) { return {_mm256_cvttps_epi32(a.v)}; }

inline f32 abs(f32 a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
inline f32 neg(f32 a) { return {_mm256_xor_ps(_mm256_set1_ps(-0.0f), a.v)}; }
inline f32 copy_sign(f32 magnitude, f32 sign) {
    const __m256 bit = _mm256_set1_ps(-0.0f);
    return {_mm256_or_ps(_mm256_andnot_ps(bit, magnitude.v), _mm256_and_ps(bit, sign.v))};
}
inline f32 sqrt(f32 a) { return {_mm256_sqrt_ps(a.v)}; }

// ---- comparison -------------------------------------------------------------------------------

inline mask less(f32 a, f32 b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
inline mask less_equal(f32 a, f32 b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)}; }
inline mask equal(f32 a, f32 b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)}; }
inline f32 select(mask m, f32 yes, f32 no) { return {_mm256_blendv_ps(no.v, yes.v, m.v)}; }
inline bool any(mask m) { return _mm256_movemask_ps(m.v) != 0; }

// ---- rounding to whole numbers ----------------------------------------------------------------

inline f32 round_even(f32 a) {
    return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
inline f32 trunc(f32 a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)}; }
inline f32 floor(f32 a) { return {_mm256_floor_ps(a.v)}; }
inline f32 ceil(f32 a) { return {_mm256_ceil_ps(a.v)}; }

inline f32 scale_by_power_of_two(f32 a, f32 n) {
    const i32 whole = to_int(n);
    const i32 half = shift_right<1>(whole);
    const i32 bias = splat(int32_t{127});
    const f32 x = from_bits(shift_left<23>(add(half, bias)));
    const f32 y = from_bits(shift_left<23>(add(sub(whole, half), bias)));
    return mul(mul(a, x), y);
}

// ---- across lanes -----------------------------------------------------------------------------

inline float sum(f32 a) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
inline float max_of(f32 a) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
inline f32 swap_neighbours(f32 a) { return {_mm256_permute_ps(a.v, _MM_SHUFFLE(2, 3, 0, 1))}; }
inline void transpose(f32 (&a)[8]) {
    __m256 t[8], u[8];
#pragma GCC unroll 16
    for (int k = 0; k < 8; k += 2) {
        t[k] = _mm256_unpacklo_ps(a[k].v, a[k + 1].v);
        t[k + 1] = _mm256_unpackhi_ps(a[k].v, a[k + 1].v);
    }
#pragma GCC unroll 16
    for (int k = 0; k < 8; k += 4) {
        u[k] = _mm256_shuffle_ps(t[k], t[k + 2], _MM_SHUFFLE(1, 0, 1, 0));
        u[k + 1] = _mm256_shuffle_ps(t[k], t[k + 2], _MM_SHUFFLE(3, 2, 3, 2));
        u[k + 2] = _mm256_shuffle_ps(t[k + 1], t[k + 3], _MM_SHUFFLE(1, 0, 1, 0));
        u[k + 3] = _mm256_shuffle_ps(t[k + 1], t[k + 3], _MM_SHUFFLE(3, 2, 3, 2));
    }
#pragma GCC unroll 16
    for (int k = 0; k < 4; ++k) {
        a[k].v = _mm256_permute2f128_ps(u[k], u[k + 4], 0x20);
        a[k + 4].v = _mm256_permute2f128_ps(u[k], u[k + 4], 0x31);
    }
}
inline f64x add_wide(f64x acc, f32 a) {
    return {_mm256_add_pd(acc.lo, _mm256_cvtps_pd(_mm256_castps256_ps128(a.v))),
            _mm256_add_pd(acc.hi, _mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1)))};
}
inline f64x add(f64x a, f64x b) { return {_mm256_add_pd(a.lo, b.lo), _mm256_add_pd(a.hi, b.hi)}; }
inline double sum(f64x a) {
    const __m256d x = _mm256_add_pd(a.lo, a.hi);
    const __m128d y = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(y, _mm_unpackhi_pd(y, y)));
}

// ---- blocks of 32 bytes -----------------------------------------------------------------------

struct i8x32 {
    __m256i v;
};
struct i32x8 {
    __m256i v;
};
using f32x8 = f32;

inline i8x32 load_i8(const void* p) { return {_mm256_loadu_si256(static_cast<const __m256i*>(p))}; }
inline i8x32 load_u4(const void* p) {
    const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(p));
    const __m256i both = _mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes);
    return {_mm256_and_si256(both, _mm256_set1_epi8(15))};
}
inline i8x32 sub(i8x32 a, int8_t b) { return {_mm256_sub_epi8(a.v, _mm256_set1_epi8(b))}; }
inline i8x32 look_up(const int8_t table[16], i8x32 codes) {
    const __m128i t = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return {_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t), codes.v)};
}
inline f32x8 fma(i32x8 a, float scale, f32x8 acc) {
    return {_mm256_fmadd_ps(_mm256_cvtepi32_ps(a.v), _mm256_set1_ps(scale), acc.v)};
}
inline int32_t store_i8(int8_t* p, const float* x, float scale) {
    const __m256 s = _mm256_set1_ps(scale);
    const __m256i a = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), s));
    const __m256i b = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), s));
    const __m256i c = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 16), s));
    const __m256i d = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 24), s));
    const __m256i total = _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d));
    const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    // The packs work in halves: put the runs of four bytes back in order.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permutevar8x32_epi32(bytes, order));
    __m128i t = _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
    t = _mm_add_epi32(t, _mm_unpackhi_epi64(t, t));
    return _mm_cvtsi128_si32(_mm_add_epi32(t, _mm_shuffle_epi32(t, 1)));
}

// ---- more of blocks of 32 bytes: unpacking ------------------------------------------------------

inline i8x32 load_i8(const void* lo, const void* hi) {
    return {_mm256_set_m128i(_mm_loadu_si128(static_cast<const __m128i*>(hi)),
                             _mm_loadu_si128(static_cast<const __m128i*>(lo)))};
}
inline void store_i8(int8_t* p, i8x32 a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.v);
}
inline i8x32 splat_i8(int8_t x) { return {_mm256_set1_epi8(x)}; }
inline i8x32 load_u2(const void* p) {
    __m256i x = _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
    x = _mm256_or_si256(x, _mm256_slli_epi32(x, 12));
    x = _mm256_or_si256(x, _mm256_slli_epi32(x, 6));
    return {_mm256_and_si256(x, _mm256_set1_epi8(3))};
}
inline i8x32 pack(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return {_mm256_set_epi64x(static_cast<int64_t>(d), static_cast<int64_t>(c),
                              static_cast<int64_t>(b), static_cast<int64_t>(a))};
}
inline i8x32 pack(const uint32_t (&x)[8]) {
    const auto i = [&](int k) { return static_cast<int32_t>(x[k]); };
    return {_mm256_setr_epi32(i(0), i(1), i(2), i(3), i(4), i(5), i(6), i(7))};
}
template <int at, int n, int to = 0>
i8x32 field(i8x32 a) {
    // Bits of the neighbour that 16-bit shifts bring in fall to the mask.
    __m256i x = a.v;
    if constexpr (at > to) x = _mm256_srli_epi16(x, at - to);
    if constexpr (at < to) x = _mm256_slli_epi16(x, to - at);
    return {_mm256_and_si256(x, _mm256_set1_epi8(static_cast<char>(((1 << n) - 1) << to)))};
}
inline i8x32 bit_or(i8x32 a, i8x32 b) { return {_mm256_or_si256(a.v, b.v)}; }
inline i8x32 add(i8x32 a, i8x32 b) { return {_mm256_add_epi8(a.v, b.v)}; }
inline i8x32 at_least(i8x32 a, uint8_t least) {
    const __m256i x = _mm256_max_epu8(a.v, _mm256_set1_epi8(static_cast<char>(least)));
    return {_mm256_cmpeq_epi8(x, a.v)};
}
inline __m256i bytes_of_bits(uint32_t bits) {  // -1 where the bit is set
    const __m256i spread =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i one = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
    const __m256i x = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int32_t>(bits)), spread);
    return _mm256_cmpeq_epi8(_mm256_and_si256(x, one), one);
}
inline i8x32 select_bits(uint32_t bits, int8_t set, int8_t clear) {
    return {
        _mm256_blendv_epi8(_mm256_set1_epi8(clear), _mm256_set1_epi8(set), bytes_of_bits(bits))};
}
inline i8x32 negate(i8x32 a, uint32_t bits) {
    const __m256i minus = bytes_of_bits(bits);
    return {_mm256_sub_epi8(_mm256_xor_si256(a.v, minus), minus)};
}
inline i8x32 swap_middle(i8x32 a) { return {_mm256_permute4x64_epi64(a.v, 0xd8)}; }
inline f32x8 splat8(float x) { return {_mm256_set1_ps(x)}; }
inline f32x8 splat8(float lo, float hi) {
    return {_mm256_set_m128(_mm_set1_ps(hi), _mm_set1_ps(lo))};
}
inline f32x8 load8(const float* p) { return {_mm256_loadu_ps(p)}; }
inline void store8(float* p, f32x8 a) { _mm256_storeu_ps(p, a.v); }
inline f32x8 u8_to_float(uint64_t bytes) {
    const __m128i x = _mm_cvtsi64_si128(static_cast<int64_t>(bytes));
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(x))};
}
inline f32x8 to_float(i32x8 a) { return {_mm256_cvtepi32_ps(a.v)}; }

// Always inline: gcc drops calls of functions that do nothing but prefetch.
[[gnu::always_inline]] inline void prefetch(const void* p) {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd
