// Activation rows to signed bytes.

#include <cmath>

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/simd/simd.h"
#include "tenon/blocks.h"

namespace tenon::cpu {
namespace {

// The parts of a Q8Row, writable.
struct Out {
    int8_t* codes;
    float* scales;
    float* sums;
};
Out parts(void* q8_row, int64_t n) {
    auto* codes = static_cast<int8_t*>(q8_row);
    auto* scales = reinterpret_cast<float*>(codes + n);
    return {codes, scales, scales + n / 32};
}

float largest_magnitude(const float* x) {
    simd::f32 m = simd::splat(0.0f);
    for (int k = 0; k < 32; k += simd::f32::lanes) m = simd::max(simd::abs(simd::load(x + k)), m);
    return simd::max_of(m);
}

int32_t sum_of_codes(const int8_t* codes) {
    int32_t total = 0;
    for (int k = 0; k < 32; ++k) total += codes[k];
    return total;
}

}  // namespace

void quantize_q8_row(const float* src, void* q8_row, int64_t n) {
    const Out out = parts(q8_row, n);
    for (int64_t i = 0; i < n / 32; ++i) {
        const float* x = src + 32 * i;
        const float largest = largest_magnitude(x);
        const float scale = largest / 127.0f;
        // Tiny blocks: 127/largest would overflow; their products are below every f32 result.
        const float inverse = largest > 0x1p-120f ? 127.0f / largest : 0.0f;
        const int32_t total = simd::store_i8(out.codes + 32 * i, x, inverse);
        out.scales[i] = scale;
        out.sums[i] = scale * static_cast<float>(total);
    }
}

// As the reference, to the byte, whatever the input (sdk/quant/rounding.h): a NaN is no scale, its
// code is the lowest.
void quantize_q8_0(const float* src, void* dst, int64_t n) {
    auto* blocks = static_cast<tenon_block_q8_0*>(dst);
    for (int64_t i = 0; i < n / 32; ++i) {
        const float* x = src + 32 * i;
        const float d = largest_magnitude(x) / 127.0f;
        const simd::f32 inverse = simd::splat(d != 0 ? 1.0f / d : 0.0f);
        // Ties away from zero: the sum with one half itself would round 0.49999997 up to 1.
        const simd::f32 top = simd::splat(127.0f), half = simd::splat(0.49999997f);
        float whole[32];
        simd::map(whole, x, 32, [=](simd::f32 v) {
            const simd::f32 code = simd::min(simd::max(v * inverse, simd::neg(top)), top);
            return simd::trunc(code + simd::copy_sign(half, code));
        });
        simd::set_f32(&blocks[i].d, d);
        simd::store_i8(blocks[i].qs, whole, 1.0f);
    }
}

namespace {

// Whether some of 32 elements equal `value`.
bool contains(const float* x, float value) {
    const simd::f32 v = simd::splat(value);
    for (int k = 0; k < 32; k += simd::f32::lanes) {
        if (simd::any(simd::equal(simd::load(x + k), v))) return true;
    }
    return false;
}

// The element of largest magnitude, the first of equal ones, with its sign.
float signed_largest(const float* x) {
    const float largest = largest_magnitude(x);
    if (largest == 0 || !contains(x, -largest)) return largest;
    if (!contains(x, largest)) return -largest;
    for (int k = 0; k < 32; ++k) {
        if (std::fabs(x[k]) == largest) return x[k];
    }
    return 0.0f;
}

}  // namespace

// As the reference: codes are trunc(x/d + 8.5), 0 to 15, with d = -largest/8.
void quantize_q4_0(const float* src, void* dst, int64_t n) {
    auto* blocks = static_cast<tenon_block_q4_0*>(dst);
    for (int64_t i = 0; i < n / 32; ++i) {
        const float* x = src + 32 * i;
        const float d = signed_largest(x) / -8;
        const simd::f32 inverse = simd::splat(d != 0 ? 1.0f / d : 0.0f);
        const simd::f32 middle = simd::splat(8.5f), zero = simd::splat(0.0f),
                        top = simd::splat(15.0f);
        float whole[32];
        simd::map(whole, x, 32, [=](simd::f32 v) {
            return simd::min(simd::trunc(simd::max(v * inverse + middle, zero)), top);
        });
        int8_t codes[32];
        simd::store_i8(codes, whole, 1.0f);
        simd::set_f32(&blocks[i].d, d);
        for (int k = 0; k < 16; ++k) {
            blocks[i].qs[k] = static_cast<uint8_t>(codes[k] | codes[k + 16] << 4);
        }
    }
}

bool repack_q8_row(ggml_type type, const void* src, void* q8_row, int64_t n) {
    const Out out = parts(q8_row, n);
    for (int64_t i = 0; i < n / 32; ++i) {
        int8_t* codes = out.codes + 32 * i;
        if (type == GGML_TYPE_Q8_0) {
            const auto& b = static_cast<const tenon_block_q8_0*>(src)[i];
            std::memcpy(codes, b.qs, 32);
            out.scales[i] = simd::to_f32(b.d);
        } else if (type == GGML_TYPE_Q8_1) {
            const auto& b = static_cast<const tenon_block_q8_1*>(src)[i];
            std::memcpy(codes, b.qs, 32);
            out.scales[i] = simd::to_f32(b.d);
            out.sums[i] = simd::to_f32(b.s);
            continue;
        } else if (type == GGML_TYPE_Q8_K) {
            const auto& b = static_cast<const tenon_block_q8_K*>(src)[i / 8];
            std::memcpy(codes, b.qs + 32 * (i % 8), 32);
            out.scales[i] = b.d;
        } else {
            return false;
        }
        out.sums[i] = out.scales[i] * static_cast<float>(sum_of_codes(codes));
    }
    return true;
}

}  // namespace tenon::cpu
