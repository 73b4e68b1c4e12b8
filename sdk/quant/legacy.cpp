// q4_0 q4_1 q5_0 q5_1 q8_0 q8_1: 32 elements, one scale, perhaps a minimum.

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sdk/quant/dot.h"
#include "sdk/quant/formats.h"
#include "sdk/quant/importance.h"
#include "sdk/quant/scale_search.h"
#include "tenon/kit/half.h"

namespace tenon::quant {
namespace {

constexpr int kN = TENON_QK_LEGACY;

// ---- codes in and out of a block: the only place that knows the bits ----------------------------

template <class Block>
concept HasHighBits = requires(Block b) {
    b.qh;
};
template <class Block>
concept HasMinimum = requires(Block b) {
    b.m;
};

// Half the number of codes of the symmetric types: 8 or 16.
template <class Block>
constexpr int kHalf = HasHighBits<Block> ? 16 : 8;

template <class Block>
uint32_t high_bits(const Block& block) {
    if constexpr (HasHighBits<Block>) {
        return block.qh[0] | block.qh[1] << 8 | block.qh[2] << 16 |
               static_cast<uint32_t>(block.qh[3]) << 24;
    } else {
        return 0;
    }
}

template <class Block>
void unpack(const Block& block, int* codes) {
    const uint32_t high = high_bits(block);
    for (int i = 0; i < kN / 2; ++i) {
        codes[i] = (block.qs[i] & 15) | static_cast<int>((high >> i & 1) << 4);
        codes[i + kN / 2] = (block.qs[i] >> 4) | static_cast<int>((high >> (i + kN / 2) & 1) << 4);
    }
}

template <class Block>
void pack(const uint8_t* codes, Block& block) {
    for (int i = 0; i < kN / 2; ++i) {
        block.qs[i] = static_cast<uint8_t>((codes[i] & 15) | (codes[i + kN / 2] & 15) << 4);
    }
    if constexpr (HasHighBits<Block>) {
        std::fill(std::begin(block.qh), std::end(block.qh), uint8_t{0});
        for (int i = 0; i < kN; ++i)
            block.qh[i / 8] |= static_cast<uint8_t>((codes[i] >> 4) << i % 8);
    }
}

// ---- decoding -----------------------------------------------------------------------------------

template <class Block>
void decode(const Block& block, float* dst) {
    const float d = f16_to_f32(block.d);
    int codes[kN];
    unpack(block, codes);
    if constexpr (HasMinimum<Block>) {
        const float m = f16_to_f32(block.m);
        for (int i = 0; i < kN; ++i) dst[i] = static_cast<float>(codes[i]) * d + m;
    } else {
        for (int i = 0; i < kN; ++i) dst[i] = static_cast<float>(codes[i] - kHalf<Block>) * d;
    }
}

template <class Block>
void decode_8bit(const Block& block, float* dst) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < kN; ++i) dst[i] = static_cast<float>(block.qs[i]) * d;
}

// ---- direct quantizers --------------------------------------------------------------------------

template <class Block>
void encode_symmetric(const float* x, Block& block) {
    constexpr int kLevels = kHalf<Block>;
    const float d = first_largest(x, kN) / -kLevels;
    const float inv = d != 0 ? 1 / d : 0;
    uint8_t codes[kN];
    for (int i = 0; i < kN; ++i) {
        codes[i] =
            static_cast<uint8_t>(truncate(x[i] * inv + (kLevels + 0.5f), 0, 2 * kLevels - 1));
    }
    block.d = f32_to_f16(d);
    pack(codes, block);
}

template <class Block>
void encode_affine(const float* x, Block& block) {
    constexpr int kTop = 2 * kHalf<Block> - 1;
    float lo = x[0], hi = x[0];
    for (int i = 1; i < kN; ++i) {
        if (x[i] < lo) lo = x[i];
        if (x[i] > hi) hi = x[i];
    }
    const float d = (hi - lo) / kTop;
    const float inv = d != 0 ? 1 / d : 0;
    uint8_t codes[kN];
    for (int i = 0; i < kN; ++i) {
        codes[i] = static_cast<uint8_t>(truncate((x[i] - lo) * inv + 0.5f, 0, kTop));
    }
    block.d = f32_to_f16(d);
    block.m = f32_to_f16(lo);
    pack(codes, block);
}

float largest_magnitude(const float* x) {
    float largest = 0;
    for (int i = 0; i < kN; ++i) largest = std::max(largest, std::fabs(x[i]));
    return largest;
}

// Codes of q8_0 and q8_1. Returns the scale before rounding to f16.
float encode_8bit(const float* x, int8_t* codes) {
    const float d = largest_magnitude(x) / 127;
    const float inv = d != 0 ? 1 / d : 0;
    for (int i = 0; i < kN; ++i)
        codes[i] = static_cast<int8_t>(nearest_away(x[i] * inv, -127, 127));
    return d;
}

void encode_q8_0(const float* x, tenon_block_q8_0& block) {
    block.d = f32_to_f16(encode_8bit(x, block.qs));
}

void encode_q8_1(const float* x, tenon_block_q8_1& block) {
    const float d = encode_8bit(x, block.qs);
    int sum = 0;
    for (int i = 0; i < kN; ++i) sum += block.qs[i];
    block.d = f32_to_f16(d);
    block.s = f32_to_f16(static_cast<float>(sum) * d);
}

// ---- quantizers with importance: the variance is that of the whole row --------------------------

constexpr Sweep kAffineSweep{-0.9f, 0.05f, 36, ErrorNorm::kSquared};

template <class Block>
void encode_weighted(const float* x, const float* weights, Block& block) {
    uint8_t codes[kN];
    if constexpr (HasMinimum<Block>) {
        const AffineFit fit =
            affine_sweep(x, weights, kN, 2 * kHalf<Block> - 1, kAffineSweep, codes);
        block.d = f32_to_f16(fit.scale);
        block.m = f32_to_f16(-fit.min_magnitude);
    } else {
        block.d = f32_to_f16(symmetric_sweep(x, weights, kN, kHalf<Block>, codes));
    }
    pack(codes, block);
}

template <class Block, Encode<Block> kEncode>
void quantize(const float* src, void* dst, int64_t n, const float* importance) {
    if (!importance) return row_from_float<Block, kEncode>(src, dst, n);
    const float sigma2 = mean_square(src, n);
    auto* blocks = static_cast<Block*>(dst);
    for (int64_t b = 0; b < n / kN; ++b) {
        const float* x = src + b * kN;
        float room[kN], weights[kN];
        const float* columns = telling_importance(x, importance + b * kN, kN, kN, room);
        if (!columns) {
            kEncode(x, blocks[b]);
            continue;
        }
        importance_weights(x, columns, sigma2, kN, weights);
        encode_weighted(x, weights, blocks[b]);
    }
}

// The minimum of a block meets the partner's stored sum, not the sum of its codes.
template <class Block>
double dot_with_q8_1(const void* x, const void* partner, int64_t n) {
    const auto* a = static_cast<const Block*>(x);
    const auto* b = static_cast<const tenon_block_q8_1*>(partner);
    double total = 0;
    for (int64_t k = 0; k < n / kN; ++k) {
        int codes[kN];
        unpack(a[k], codes);
        int sum = 0;
        for (int i = 0; i < kN; ++i) sum += codes[i] * b[k].qs[i];
        total += static_cast<double>(f16_to_f32(a[k].d)) * f16_to_f32(b[k].d) * sum +
                 static_cast<double>(f16_to_f32(a[k].m)) * f16_to_f32(b[k].s);
    }
    return total;
}

template <class Block>
constexpr Format symmetric(ggml_type type) {
    using B = Block;
    return {.type = type,
            .to_float = row_to_float<B, decode<B>>,
            .from_float_ref = row_from_float<B, encode_symmetric<B>>,
            .from_float = row_from_float<B, encode_symmetric<B>>,
            .quantize = quantize<B, encode_symmetric<B>>,
            .validate = finite_fields<B, &B::d>,
            .partner = GGML_TYPE_Q8_0,
            .dot = dot_with_q8_0<B, decode<B>>,
            .uses_importance = true};
}

template <class Block>
constexpr Format affine(ggml_type type) {
    using B = Block;
    return {.type = type,
            .to_float = row_to_float<B, decode<B>>,
            .from_float_ref = row_from_float<B, encode_affine<B>>,
            .from_float = row_from_float<B, encode_affine<B>>,
            .quantize = quantize<B, encode_affine<B>>,
            .validate = finite_fields<B, &B::d, &B::m>,
            .partner = GGML_TYPE_Q8_1,
            .dot = dot_with_q8_1<B>,
            .uses_importance = true};
}

constexpr FromFloat kToQ8_0 = row_from_float<tenon_block_q8_0, encode_q8_0>;
constexpr FromFloat kToQ8_1 = row_from_float<tenon_block_q8_1, encode_q8_1>;

}  // namespace

void decode_q8_0(const void* src, float* dst, int64_t n) {
    row_to_float<tenon_block_q8_0, decode_8bit<tenon_block_q8_0>>(src, dst, n);
}
void decode_q8_1(const void* src, float* dst, int64_t n) {
    row_to_float<tenon_block_q8_1, decode_8bit<tenon_block_q8_1>>(src, dst, n);
}

constinit const Format kQ4_0 = symmetric<tenon_block_q4_0>(GGML_TYPE_Q4_0);
constinit const Format kQ4_1 = affine<tenon_block_q4_1>(GGML_TYPE_Q4_1);
constinit const Format kQ5_0 = symmetric<tenon_block_q5_0>(GGML_TYPE_Q5_0);
constinit const Format kQ5_1 = affine<tenon_block_q5_1>(GGML_TYPE_Q5_1);

constinit const Format kQ8_0{.type = GGML_TYPE_Q8_0,
                             .to_float = decode_q8_0,
                             .from_float_ref = kToQ8_0,
                             .from_float = kToQ8_0,
                             .quantize = ignore_importance<kToQ8_0>,
                             .validate = finite_fields<tenon_block_q8_0, &tenon_block_q8_0::d>,
                             .partner = GGML_TYPE_Q8_0,
                             .dot = dot_with_q8_0<tenon_block_q8_0, decode_8bit<tenon_block_q8_0>>};

constinit const Format kQ8_1{
    .type = GGML_TYPE_Q8_1, .from_float_ref = kToQ8_1, .from_float = kToQ8_1};

}  // namespace tenon::quant
