// q2_K q3_K q4_K q5_K q6_K: 256 elements in sub-blocks whose scales are quantised themselves; and
// q8_K, the other operand of their dot products.
//
// All quantizers here work alike: search a scale (and minimum) per sub-block, quantise the scales,
// then round the elements again with the scales as stored.

#include <algorithm>
#include <cmath>

#include "sdk/quant/dot.h"
#include "sdk/quant/formats.h"
#include "sdk/quant/importance.h"
#include "sdk/quant/k_bits.h"
#include "sdk/quant/scale_search.h"
#include "tenon/kit/half.h"

namespace tenon::quant {
namespace {

constexpr int kN = TENON_QK_K;
constexpr int kMaxSubs = 16;

// ---- scale and minimum per sub-block: q2_K q4_K q5_K --------------------------------------------

struct AffineShape {
    int sub;               // elements per sub-block
    int levels;            // codes 0 … levels
    int scale_levels;      // the same for scales and minimums
    float variance;        // with importance: times the mean square of the block
    bool weigh_by_spread;  // plain weights: |x|, plus the root mean square of the sub-block if set
    Sweep plain;
};

constexpr AffineShape kShape2{16, 3, 15, 1, false, {-0.5f, 0.1f, 15, ErrorNorm::kAbsolute}};
constexpr AffineShape kShape4{32, 15, 63, 2, true, {-1.0f, 0.1f, 20, ErrorNorm::kSquared}};
constexpr AffineShape kShape5{32, 31, 63, 2, true, {-0.5f, 0.1f, 15, ErrorNorm::kSquared}};
constexpr Sweep kWeightedSweep{-0.9f, 0.05f, 36, ErrorNorm::kSquared};

struct AffineBlock {
    uint16_t d, dmin;
    uint8_t scales[kMaxSubs], mins[kMaxSubs];
    uint8_t codes[kN];
};

template <int kSubElems>
void decode_affine(const AffineBlock& b, float* dst) {
    const float d = f16_to_f32(b.d), dmin = f16_to_f32(b.dmin);
    const uint8_t* codes = b.codes;
    for (int j = 0; j < kN / kSubElems; ++j) {
        const float scale = d * static_cast<float>(b.scales[j]);
        const float min = dmin * static_cast<float>(b.mins[j]);
        for (int i = 0; i < kSubElems; ++i) dst[i] = scale * static_cast<float>(codes[i]) - min;
        codes += kSubElems;
        dst += kSubElems;
    }
}

// Scales >= 0 as multiples of the largest / levels. Returns that unit, rounded to f16.
uint16_t quantize_to_largest(const float* scales, int n, int levels, uint8_t* codes) {
    float largest = 0;
    for (int j = 0; j < n; ++j) largest = std::max(largest, scales[j]);
    const float inv = largest > 0 ? static_cast<float>(levels) / largest : 0;
    for (int j = 0; j < n; ++j)
        codes[j] = static_cast<uint8_t>(nearest_int(inv * scales[j], 0, levels));
    return f32_to_f16(largest / static_cast<float>(levels));
}

void round_affine(const AffineShape& shape, const float* x, AffineBlock& b) {
    const float d = f16_to_f32(b.d), dmin = f16_to_f32(b.dmin);
    for (int j = 0; j < kN / shape.sub; ++j) {
        const float scale = d * static_cast<float>(b.scales[j]);
        if (scale == 0) continue;  // the codes of the search stay
        const float min = dmin * static_cast<float>(b.mins[j]);
        for (int i = j * shape.sub; i < (j + 1) * shape.sub; ++i) {
            b.codes[i] = static_cast<uint8_t>(nearest_int((x[i] + min) / scale, 0, shape.levels));
        }
    }
}

AffineBlock encode_affine(const AffineShape& shape, const float* x, const float* importance) {
    const int n_subs = kN / shape.sub;
    const float sigma2 = importance ? shape.variance * mean_square(x, kN) : 0;
    float scales[kMaxSubs], mins[kMaxSubs], sums[kMaxSubs];
    AffineBlock b;
    for (int j = 0; j < n_subs; ++j) {
        const float* xs = x + j * shape.sub;
        float weights[kMaxElems];
        if (importance) {
            importance_weights(xs, importance + j * shape.sub, sigma2, shape.sub, weights);
            sums[j] = sum_of(weights, shape.sub);
        } else {
            const float spread =
                shape.weigh_by_spread ? std::sqrt(mean_square(xs, shape.sub)) : 0.0f;
            for (int i = 0; i < shape.sub; ++i) weights[i] = spread + std::fabs(xs[i]);
        }
        const AffineFit fit =
            affine_sweep(xs, weights, shape.sub, shape.levels,
                         importance ? kWeightedSweep : shape.plain, b.codes + j * shape.sub);
        scales[j] = fit.scale;
        mins[j] = fit.min_magnitude;
    }
    if (importance) {
        b.d = f32_to_f16(positive_fit(scales, sums, n_subs, shape.scale_levels, b.scales));
        b.dmin = f32_to_f16(positive_fit(mins, sums, n_subs, shape.scale_levels, b.mins));
    } else {
        b.d = quantize_to_largest(scales, n_subs, shape.scale_levels, b.scales);
        b.dmin = quantize_to_largest(mins, n_subs, shape.scale_levels, b.mins);
    }
    round_affine(shape, x, b);
    return b;
}

void decode_q2_K(const tenon_block_q2_K& block, float* dst) {
    AffineBlock b;
    b.d = block.d;
    b.dmin = block.dmin;
    for (int j = 0; j < 16; ++j) {
        b.scales[j] = block.scales[j] & 15;
        b.mins[j] = block.scales[j] >> 4;
    }
    unpack_fields<2>(block.qs, b.codes);
    decode_affine<kShape2.sub>(b, dst);
}

void encode_q2_K(const float* x, const float* importance, tenon_block_q2_K& block) {
    const AffineBlock b = encode_affine(kShape2, x, importance);
    block.d = b.d;
    block.dmin = b.dmin;
    for (int j = 0; j < 16; ++j) {
        block.scales[j] = static_cast<uint8_t>(b.scales[j] | b.mins[j] << 4);
    }
    pack_fields<2>(b.codes, block.qs);
}

void decode_q4_K(const tenon_block_q4_K& block, float* dst) {
    AffineBlock b;
    b.d = block.d;
    b.dmin = block.dmin;
    unpack_pairs(block.scales, b.scales, b.mins);
    unpack_fields<4>(block.qs, b.codes);
    decode_affine<kShape4.sub>(b, dst);
}

void encode_q4_K(const float* x, const float* importance, tenon_block_q4_K& block) {
    const AffineBlock b = encode_affine(kShape4, x, importance);
    block.d = b.d;
    block.dmin = b.dmin;
    pack_pairs(b.scales, b.mins, block.scales);
    pack_fields<4>(b.codes, block.qs);
}

void decode_q5_K(const tenon_block_q5_K& block, float* dst) {
    AffineBlock b;
    b.d = block.d;
    b.dmin = block.dmin;
    unpack_pairs(block.scales, b.scales, b.mins);
    unpack_fields<4>(block.qs, b.codes);
    unpack_high_bit<4>(block.qh, b.codes);
    decode_affine<kShape5.sub>(b, dst);
}

void encode_q5_K(const float* x, const float* importance, tenon_block_q5_K& block) {
    const AffineBlock b = encode_affine(kShape5, x, importance);
    block.d = b.d;
    block.dmin = b.dmin;
    pack_pairs(b.scales, b.mins, block.scales);
    pack_fields<4>(b.codes, block.qs);
    pack_high_bit<4>(b.codes, block.qh);
}

// ---- signed scale per 16 elements: q3_K q6_K ----------------------------------------------------

constexpr int kSub = 16;
constexpr int kSubs = kN / kSub;

// codes are stored plus `levels`; scales are signed.
void decode_symmetric(float d, const int* scales, const uint8_t* codes, int levels, float* dst) {
    for (int j = 0; j < kSubs; ++j) {
        const float scale = d * static_cast<float>(scales[j]);
        for (int i = 0; i < kSub; ++i) dst[i] = scale * static_cast<float>(codes[i] - levels);
        codes += kSub;
        dst += kSub;
    }
}

void round_symmetric(float d, const int* scales, const float* x, int levels, uint8_t* codes) {
    for (int j = 0; j < kSubs; ++j) {
        const float scale = d * static_cast<float>(scales[j]);
        if (scale == 0) continue;  // the codes of the search stay
        for (int i = j * kSub; i < (j + 1) * kSub; ++i) {
            codes[i] =
                static_cast<uint8_t>(nearest_int(x[i] / scale, -levels, levels - 1) + levels);
        }
    }
}

void decode_q3_K(const tenon_block_q3_K& block, float* dst) {
    uint8_t biased[kSubs], codes[kN];
    int scales[kSubs];
    unpack_sixteen(block.scales, biased);
    for (int j = 0; j < kSubs; ++j) scales[j] = biased[j] - 32;
    unpack_fields<2>(block.qs, codes);
    unpack_high_bit<2>(block.hmask, codes);
    decode_symmetric(f16_to_f32(block.d), scales, codes, 4, dst);
}

void encode_q3_K(const float* x, const float* importance, tenon_block_q3_K& block) {
    const float sigma2 = importance ? 2 * mean_square(x, kN) : 0;
    float scales[kSubs], sums[kSubs];
    uint8_t codes[kN], biased[kSubs];
    for (int j = 0; j < kSubs; ++j) {
        const float* xs = x + j * kSub;
        uint8_t* out = codes + j * kSub;
        if (importance) {
            float weights[kSub];
            importance_weights(xs, importance + j * kSub, sigma2, kSub, weights);
            sums[j] = sum_of(weights, kSub);
            scales[j] = symmetric_sweep(xs, weights, kSub, 4, out);
        } else {
            scales[j] = symmetric_descent(xs, kSub, 4, out);
        }
    }
    if (importance) {
        block.d = f32_to_f16(symmetric_sweep(scales, sums, kSubs, 32, biased));
    } else if (const float largest = first_largest(scales, kSubs); largest != 0) {
        const float inv = -32 / largest;
        for (int j = 0; j < kSubs; ++j) {
            biased[j] = static_cast<uint8_t>(nearest_int(inv * scales[j], -32, 31) + 32);
        }
        block.d = f32_to_f16(1 / inv);
    } else {
        std::fill_n(biased, kSubs, uint8_t{0});
        block.d = 0;
    }
    int stored[kSubs];
    for (int j = 0; j < kSubs; ++j) stored[j] = biased[j] - 32;
    round_symmetric(f16_to_f32(block.d), stored, x, 4, codes);
    pack_sixteen(biased, block.scales);
    pack_fields<2>(codes, block.qs);
    pack_high_bit<2>(codes, block.hmask);
}

void decode_q6_K(const tenon_block_q6_K& block, float* dst) {
    uint8_t codes[kN];
    int scales[kSubs];
    std::copy_n(block.scales, kSubs, scales);
    unpack_q6(block, codes);
    decode_symmetric(f16_to_f32(block.d), scales, codes, 32, dst);
}

// Importance is the weight itself here, without the term of the variance.
void encode_q6_K(const float* x, const float* importance, tenon_block_q6_K& block) {
    float scales[kSubs];
    uint8_t codes[kN];
    for (int j = 0; j < kSubs; ++j) {
        const float* weights = importance ? importance + j * kSub : nullptr;
        scales[j] = symmetric_sweep(x + j * kSub, weights, kSub, 32, codes + j * kSub);
    }
    const float largest = first_largest(scales, kSubs);
    if (std::fabs(largest) < kTinyMagnitude) {
        block = {};
        return;
    }
    const float inv = -128 / largest;
    int stored[kSubs];
    for (int j = 0; j < kSubs; ++j) {
        stored[j] = nearest_int(inv * scales[j], -128, 127);
        block.scales[j] = static_cast<int8_t>(stored[j]);
    }
    block.d = f32_to_f16(1 / inv);
    round_symmetric(f16_to_f32(block.d), stored, x, 32, codes);
    pack_q6(codes, block);
}

// ---- q8_K ---------------------------------------------------------------------------------------

void decode_q8_K_block(const tenon_block_q8_K& block, float* dst) {
    for (int i = 0; i < kN; ++i) dst[i] = static_cast<float>(block.qs[i]) * block.d;
}

void encode_q8_K(const float* x, tenon_block_q8_K& block) {
    const float largest = first_largest(x, kN);
    if (largest == 0) {
        block = {};
        return;
    }
    const float inv = -127 / largest;
    block.d = 1 / inv;
    for (int i = 0; i < kN; ++i)
        block.qs[i] = static_cast<int8_t>(nearest_int(inv * x[i], -127, 127));
    for (int j = 0; j < kN / 16; ++j) {
        int sum = 0;
        for (int i = 0; i < 16; ++i) sum += block.qs[16 * j + i];
        block.bsums[j] = static_cast<int16_t>(sum);
    }
}

bool validate_q8_K(const void* data, int64_t n_blocks) {
    const auto* blocks = static_cast<const tenon_block_q8_K*>(data);
    for (int64_t b = 0; b < n_blocks; ++b) {
        if (!std::isfinite(blocks[b].d)) return false;
    }
    return true;
}

// ---- formats ------------------------------------------------------------------------------------

template <class Block>
using WeightedEncode = void (*)(const float* x, const float* importance, Block& block);

template <class Block, int kSubElems, WeightedEncode<Block> kEncode>
void quantize(const float* src, void* dst, int64_t n, const float* importance) {
    auto* blocks = static_cast<Block*>(dst);
    for (int64_t b = 0; b < n / kN; ++b) {
        const float* x = src + b * kN;
        float room[kN];
        kEncode(
            x,
            importance ? telling_importance(x, importance + b * kN, kN, kSubElems, room) : nullptr,
            blocks[b]);
    }
}

template <class Block, int kSubElems, WeightedEncode<Block> kEncode>
void from_float(const float* src, void* dst, int64_t n) {
    quantize<Block, kSubElems, kEncode>(src, dst, n, nullptr);
}

template <class Block, int kSubElems, Decode<Block> kDecode, WeightedEncode<Block> kEncode>
constexpr Format k_format(ggml_type type, ValidateBlocks validate) {
    return {.type = type,
            .to_float = row_to_float<Block, kDecode>,
            .from_float_ref = from_float<Block, kSubElems, kEncode>,
            .from_float = from_float<Block, kSubElems, kEncode>,
            .quantize = quantize<Block, kSubElems, kEncode>,
            .validate = validate,
            .partner = GGML_TYPE_Q8_K,
            .dot = dot_with_q8_K<Block, kDecode>,
            .uses_importance = true};
}

}  // namespace

void decode_q8_K(const void* src, float* dst, int64_t n) {
    row_to_float<tenon_block_q8_K, decode_q8_K_block>(src, dst, n);
}

constinit const Format kQ2_K = k_format<tenon_block_q2_K, kShape2.sub, decode_q2_K, encode_q2_K>(
    GGML_TYPE_Q2_K, finite_fields<tenon_block_q2_K, &tenon_block_q2_K::d, &tenon_block_q2_K::dmin>);
constinit const Format kQ3_K = k_format<tenon_block_q3_K, kSub, decode_q3_K, encode_q3_K>(
    GGML_TYPE_Q3_K, finite_fields<tenon_block_q3_K, &tenon_block_q3_K::d>);
constinit const Format kQ4_K = k_format<tenon_block_q4_K, kShape4.sub, decode_q4_K, encode_q4_K>(
    GGML_TYPE_Q4_K, finite_fields<tenon_block_q4_K, &tenon_block_q4_K::d, &tenon_block_q4_K::dmin>);
constinit const Format kQ5_K = k_format<tenon_block_q5_K, kShape5.sub, decode_q5_K, encode_q5_K>(
    GGML_TYPE_Q5_K, finite_fields<tenon_block_q5_K, &tenon_block_q5_K::d, &tenon_block_q5_K::dmin>);
constinit const Format kQ6_K = k_format<tenon_block_q6_K, kSub, decode_q6_K, encode_q6_K>(
    GGML_TYPE_Q6_K, finite_fields<tenon_block_q6_K, &tenon_block_q6_K::d>);

constinit const Format kQ8_K{.type = GGML_TYPE_Q8_K,
                             .from_float = row_from_float<tenon_block_q8_K, encode_q8_K>,
                             .validate = validate_q8_K};

}  // namespace tenon::quant
