// q1_0 q2_0 and tq1_0 tq2_0: signs, and the digits -1 0 1, under one scale.

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sdk/quant/dot.h"
#include "sdk/quant/formats.h"
#include "sdk/quant/scale_search.h"
#include "tenon/kit/half.h"

namespace tenon::quant {
namespace {

constexpr int kN = TENON_QK_K;

// ---- q1_0 ---------------------------------------------------------------------------------------

void decode_q1_0(const tenon_block_q1_0& block, float* dst) {
    const float d = f16_to_f32(block.d);
    const float values[2] = {-d, d};
    for (uint8_t bits : block.qs) {
        for (int i = 0; i < 8; ++i) dst[i] = values[bits >> i & 1];
        dst += 8;
    }
}

void encode_q1_0(const float* x, tenon_block_q1_0& block) {
    float sum = 0;
    for (int i = 0; i < TENON_QK_Q1_0; ++i) sum += std::fabs(x[i]);
    block.d = f32_to_f16(sum / static_cast<float>(TENON_QK_Q1_0));
    std::fill(std::begin(block.qs), std::end(block.qs), uint8_t{0});
    for (int i = 0; i < TENON_QK_Q1_0; ++i) {
        block.qs[i / 8] |= static_cast<uint8_t>((x[i] >= 0) << i % 8);
    }
}

// ---- digits: 0 1 2 for -d 0 d -------------------------------------------------------------------

struct Digits {
    float scale;
    float inverse;  // 0 for a block without a usable scale: all digits are zero then

    Digits(const float* x, int n) : scale(std::fabs(first_largest(x, n))) {
        inverse = scale > 0 ? 1 / scale : 0;
        if (std::isinf(inverse)) inverse = 0;
    }
    uint8_t operator()(float x) const {
        return static_cast<uint8_t>(nearest_away(x * inverse, -1, 1) + 1);
    }
};

void decode_q2_0(const tenon_block_q2_0& block, float* dst) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < TENON_QK_Q2_0; ++i) {
        dst[i] = static_cast<float>((block.qs[i / 4] >> 2 * (i % 4) & 3) - 1) * d;
    }
}

void encode_q2_0(const float* x, tenon_block_q2_0& block) {
    const Digits digit(x, TENON_QK_Q2_0);
    block.d = f32_to_f16(digit.scale);
    std::fill(std::begin(block.qs), std::end(block.qs), uint8_t{0});
    for (int i = 0; i < TENON_QK_Q2_0; ++i) {
        block.qs[i / 4] |= static_cast<uint8_t>(digit(x[i]) << 2 * (i % 4));
    }
}

void decode_tq2_0(const tenon_block_tq2_0& block, float* dst) {
    const float d = f16_to_f32(block.d);
    for (int h = 0; h < kN / 128; ++h) {
        for (int p = 0; p < 4; ++p) {
            const uint8_t* qs = block.qs + 32 * h;
            for (int l = 0; l < 32; ++l) dst[l] = static_cast<float>((qs[l] >> 2 * p & 3) - 1) * d;
            dst += 32;
        }
    }
}

void encode_tq2_0(const float* x, tenon_block_tq2_0& block) {
    const Digits digit(x, kN);
    block.d = f32_to_f16(digit.scale);
    std::fill(std::begin(block.qs), std::end(block.qs), uint8_t{0});
    for (int i = 0; i < kN; ++i) {
        block.qs[32 * (i / 128) + i % 32] |=
            static_cast<uint8_t>(digit(x[i]) << 2 * (i % 128 / 32));
    }
}

// ---- tq1_0: a byte is a fraction of 256 in base 3, the first digit most significant
// --------------

// Bytes first … first + bytes - 1 hold element base + bytes * p + k as digit p of byte k.
struct Run {
    int base;
    int bytes;
    int digits;
};
constexpr Run kRuns[] = {{0, 32, 5}, {160, 16, 5}, {240, 4, 4}};
constexpr int kPow3[] = {1, 3, 9, 27, 81};

void decode_tq1_0(const tenon_block_tq1_0& block, float* dst) {
    const float d = f16_to_f32(block.d);
    const uint8_t* starts[] = {block.qs, block.qs + 32, block.qh};
    for (int r = 0; r < 3; ++r) {
        const Run run = kRuns[r];
        float* out = dst + run.base;
        for (int p = 0; p < run.digits; ++p) {
            for (int k = 0; k < run.bytes; ++k) {
                const int shifted = starts[r][k] * kPow3[p] & 255;
                *out++ = static_cast<float>((shifted * 3 >> 8) - 1) * d;
            }
        }
    }
}

void encode_tq1_0(const float* x, tenon_block_tq1_0& block) {
    const Digits digit(x, kN);
    block.d = f32_to_f16(digit.scale);
    uint8_t* starts[] = {block.qs, block.qs + 32, block.qh};
    for (int r = 0; r < 3; ++r) {
        const Run run = kRuns[r];
        for (int k = 0; k < run.bytes; ++k) {
            int v = 0;
            for (int p = 0; p < run.digits; ++p) v = 3 * v + digit(x[run.base + run.bytes * p + k]);
            if (run.digits == 4) v *= 3;
            starts[r][k] = static_cast<uint8_t>((256 * v + 242) / 243);
        }
    }
}

template <class Block, Decode<Block> kDecode, Encode<Block> kEncode>
constexpr Format direct(ggml_type type, ggml_type partner, Dot dot) {
    constexpr FromFloat kFromFloat = row_from_float<Block, kEncode>;
    return {.type = type,
            .to_float = row_to_float<Block, kDecode>,
            .from_float_ref = kFromFloat,
            .from_float = kFromFloat,
            .quantize = ignore_importance<kFromFloat>,
            .validate = finite_fields<Block, &Block::d>,
            .partner = partner,
            .dot = dot};
}

}  // namespace

constinit const Format kQ1_0 = direct<tenon_block_q1_0, decode_q1_0, encode_q1_0>(
    GGML_TYPE_Q1_0, GGML_TYPE_Q8_0, dot_with_q8_0<tenon_block_q1_0, decode_q1_0>);
constinit const Format kQ2_0 = direct<tenon_block_q2_0, decode_q2_0, encode_q2_0>(
    GGML_TYPE_Q2_0, GGML_TYPE_Q8_0, dot_with_q8_0<tenon_block_q2_0, decode_q2_0>);
constinit const Format kTq1_0 = direct<tenon_block_tq1_0, decode_tq1_0, encode_tq1_0>(
    GGML_TYPE_TQ1_0, GGML_TYPE_Q8_K, dot_with_q8_K<tenon_block_tq1_0, decode_tq1_0>);
constinit const Format kTq2_0 = direct<tenon_block_tq2_0, decode_tq2_0, encode_tq2_0>(
    GGML_TYPE_TQ2_0, GGML_TYPE_Q8_K, dot_with_q8_K<tenon_block_tq2_0, decode_tq2_0>);

}  // namespace tenon::quant
