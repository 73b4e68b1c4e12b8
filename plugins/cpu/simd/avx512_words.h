// The SIMD words for AVX-512 (F, BW, VL, DQ, VNNI): sixteen lanes, all but the products of bf16,
// which avx512.h and avx512_bf16.h add. scalar.h says what each word means.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "plugins/cpu/simd/half.h"
#include "plugins/cpu/simd/panels_from.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

struct f32 {
    __m512 v;
    static constexpr int lanes = 16;
};
constexpr int kRegisters = 32;  // vectors that fit the register file: sizes register tiles
struct i32 {
    __m512i v;
};
struct mask {
    __mmask16 v;
};
struct f64x {  // the lanes of an f32, widened
    __m512d lo, hi;
};

// ---- memory -----------------------------------------------------------------------------------

inline f32 load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline f32 load(const ggml_fp16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline f32 load(const ggml_bf16_t* p) {
    const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16))};
}
inline void store(float* p, f32 a) { _mm512_storeu_ps(p, a.v); }
inline void store(ggml_fp16_t* p, f32 a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}
inline void store(ggml_bf16_t* p, f32 a) {
    const __m512i u = _mm512_castps_si512(a.v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_srli_epi32(
        _mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    const __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(0x40));
    const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(nan, rounded, quiet)));
}
inline __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1u << n) - 1u); }
inline f32 load_some(const float* p, int n) { return {_mm512_maskz_loadu_ps(first_lanes(n), p)}; }
inline void store_some(float* p, f32 a, int n) { _mm512_mask_storeu_ps(p, first_lanes(n), a.v); }

// One value.
inline float to_f32(ggml_fp16_t x) { return _cvtsh_ss(x); }
inline void set_f32(ggml_fp16_t* p, float x) {
    *p = static_cast<ggml_fp16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
}

// ---- lanes ------------------------------------------------------------------------------------

inline f32 splat(float x) { return {_mm512_set1_ps(x)}; }
inline i32 splat(int32_t x) { return {_mm512_set1_epi32(x)}; }

inline f32 add(f32 a, f32 b) { return {_mm512_add_ps(a.v, b.v)}; }
inline f32 sub(f32 a, f32 b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline f32 mul(f32 a, f32 b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline f32 div(f32 a, f32 b) { return {_mm512_div_ps(a.v, b.v)}; }
inline f32 fma(f32 a, f32 b, f32 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline f32 fnma(f32 a, f32 b, f32 c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
inline f32 min(f32 a, f32 b) { return {_mm512_min_ps(a.v, b.v)}; }
inline f32 max(f32 a, f32 b) { return {_mm512_max_ps(a.v, b.v)}; }

inline i32 add(i32 a, i32 b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline i32 sub(i32 a, i32 b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline i32 bit_and(i32 a, i32 b) { return {_mm512_and_si512(a.v, b.v)}; }
inline i32 bit_or(i32 a, i32 b) { return {_mm512_or_si512(a.v, b.v)}; }
inline i32 bit_xor(i32 a, i32 b) { return {_mm512_xor_si512(a.v, b.v)}; }
template <int n>
i32 shift_left(i32 a) {
    return {_mm512_slli_epi32(a.v, n)};
}
template <int n>
i32 shift_right(i32 a) {
    return {_mm512_srai_epi32(a.v, n)};
}

inline i32 bits(f32 a) { return {_mm512_castps_si512(a.v)}; }
inline f32 from_bits(i32 a) { return {_mm512_castsi512_ps(a.v)}; }
inline f32 to_float(i32 a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline i32 to_int(f32 a) { return {_mm512_cvtps_epi32(a.v)}; }
inline i32 to_int_trunc(f32 a) { return {_mm512_cvttps_epi32(a.v)}; }

inline f32 abs(f32 a) { return {_mm512_abs_ps(a.v)}; }
inline f32 neg(f32 a) { return {_mm512_xor_ps(_mm512_set1_ps(-0.0f), a.v)}; }
inline f32 copy_sign(f32 magnitude, f32 sign) {
    const __m512 bit = _mm512_set1_ps(-0.0f);
    return {_mm512_or_ps(_mm512_andnot_ps(bit, magnitude.v), _mm512_and_ps(bit, sign.v))};
}
inline f32 sqrt(f32 a) { return {_mm512_sqrt_ps(a.v)}; }

// ---- comparison -------------------------------------------------------------------------------

inline mask less(f32 a, f32 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline mask less_equal(f32 a, f32 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)}; }
inline mask equal(f32 a, f32 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
inline f32 select(mask m, f32 yes, f32 no) { return {_mm512_mask_blend_ps(m.v, no.v, yes.v)}; }
inline bool any(mask m) { return m.v != 0; }

// ---- rounding to whole numbers ----------------------------------------------------------------

inline f32 round_even(f32 a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
inline f32 trunc(f32 a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)};
}
inline f32 floor(f32 a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}
inline f32 ceil(f32 a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)};
}

inline f32 scale_by_power_of_two(f32 a, f32 n) { return {_mm512_scalef_ps(a.v, n.v)}; }

// ---- across lanes -----------------------------------------------------------------------------

inline float sum(f32 a) { return _mm512_reduce_add_ps(a.v); }
inline float max_of(f32 a) { return _mm512_reduce_max_ps(a.v); }
inline f32 swap_neighbours(f32 a) { return {_mm512_permute_ps(a.v, _MM_SHUFFLE(2, 3, 0, 1))}; }
inline void transpose(f32 (&a)[16]) {
    __m512 t[16], u[16];
#pragma GCC unroll 16
    for (int k = 0; k < 16; k += 2) {
        t[k] = _mm512_unpacklo_ps(a[k].v, a[k + 1].v);
        t[k + 1] = _mm512_unpackhi_ps(a[k].v, a[k + 1].v);
    }
#pragma GCC unroll 16
    for (int k = 0; k < 16; k += 4) {
        u[k] = _mm512_shuffle_ps(t[k], t[k + 2], _MM_SHUFFLE(1, 0, 1, 0));
        u[k + 1] = _mm512_shuffle_ps(t[k], t[k + 2], _MM_SHUFFLE(3, 2, 3, 2));
        u[k + 2] = _mm512_shuffle_ps(t[k + 1], t[k + 3], _MM_SHUFFLE(1, 0, 1, 0));
        u[k + 3] = _mm512_shuffle_ps(t[k + 1], t[k + 3], _MM_SHUFFLE(3, 2, 3, 2));
    }
    // u[4q + c] holds column c of every group of four, rows 4q … 4q+3: transpose the 4x4 of groups.
#pragma GCC unroll 16
    for (int c = 0; c < 4; ++c) {
        const __m512 lo01 = _mm512_shuffle_f32x4(u[c], u[4 + c], 0x44);
        const __m512 hi01 = _mm512_shuffle_f32x4(u[c], u[4 + c], 0xee);
        const __m512 lo23 = _mm512_shuffle_f32x4(u[8 + c], u[12 + c], 0x44);
        const __m512 hi23 = _mm512_shuffle_f32x4(u[8 + c], u[12 + c], 0xee);
        a[c].v = _mm512_shuffle_f32x4(lo01, lo23, 0x88);
        a[4 + c].v = _mm512_shuffle_f32x4(lo01, lo23, 0xdd);
        a[8 + c].v = _mm512_shuffle_f32x4(hi01, hi23, 0x88);
        a[12 + c].v = _mm512_shuffle_f32x4(hi01, hi23, 0xdd);
    }
}
inline f64x add_wide(f64x acc, f32 a) {
    return {_mm512_add_pd(acc.lo, _mm512_cvtps_pd(_mm512_castps512_ps256(a.v))),
            _mm512_add_pd(acc.hi, _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1)))};
}
inline f64x add(f64x a, f64x b) { return {_mm512_add_pd(a.lo, b.lo), _mm512_add_pd(a.hi, b.hi)}; }
inline double sum(f64x a) { return _mm512_reduce_add_pd(_mm512_add_pd(a.lo, a.hi)); }

// ---- blocks of 32 bytes -----------------------------------------------------------------------

struct i8x32 {
    __m256i v;
};
struct i32x8 {
    __m256i v;
};
struct f32x8 {
    __m256 v;
};

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
inline i32x8 dot(i8x32 w, i8x32 y) {
    return {_mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_abs_epi8(w.v),
                                _mm256_sign_epi8(y.v, w.v))};
}
inline f32x8 fma(i32x8 a, float scale, f32x8 acc) {
    return {_mm256_fmadd_ps(_mm256_cvtepi32_ps(a.v), _mm256_set1_ps(scale), acc.v)};
}
inline float sum(f32x8 a) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
inline int32_t store_i8(int8_t* p, const float* x, float scale) {
    const __m512 s = _mm512_set1_ps(scale);
    const __m512i a = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), s));
    const __m512i b = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16), s));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 16), _mm512_cvtepi32_epi8(b));
    return _mm512_reduce_add_epi32(_mm512_add_epi32(a, b));
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
inline i8x32 select_bits(uint32_t bits, int8_t set, int8_t clear) {
    return {_mm256_mask_blend_epi8(bits, _mm256_set1_epi8(clear), _mm256_set1_epi8(set))};
}
inline i8x32 negate(i8x32 a, uint32_t bits) {
    return {_mm256_mask_sub_epi8(a.v, bits, _mm256_setzero_si256(), a.v)};
}
inline i8x32 swap_middle(i8x32 a) { return {_mm256_permute4x64_epi64(a.v, 0xd8)}; }
inline i32x8 dot_unsigned(i8x32 w, i8x32 y) {
    return {_mm256_dpbusd_epi32(_mm256_setzero_si256(), w.v, y.v)};
}

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
inline f32x8 mul(f32x8 a, f32x8 b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline f32x8 fma(f32x8 a, f32x8 b, f32x8 c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }

// Always inline: gcc drops calls of functions that do nothing but prefetch.
[[gnu::always_inline]] inline void prefetch(const void* p) {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd
