// iq4_nl iq4_xs: codes of 16 uneven levels.

#include <algorithm>
#include <array>
#include <cmath>

#include "sdk/quant/dot.h"
#include "sdk/quant/formats.h"
#include "sdk/quant/importance.h"
#include "sdk/quant/iq_grids.h"
#include "sdk/quant/scale_search.h"
#include "tenon/kit/half.h"

namespace tenon::quant {
namespace {

constexpr int kN = TENON_QK_K;
constexpr int kSub = 32;
constexpr float kLowest = -127;

// The code of the level nearest to v, the upper of equals, by floor(2 v) + 256: twice the middles
// between levels are whole numbers.
constexpr auto kCodes = [] {
    std::array<uint8_t, 512> codes{};
    for (int i = 0; i < 512; ++i) {
        int c = 0;
        while (c < 15 && i - 256 >= kIq4Levels[c] + kIq4Levels[c + 1]) ++c;
        codes[static_cast<size_t>(i)] = static_cast<uint8_t>(c);
    }
    return codes;
}();

uint8_t nearest_code(float v) {
    const float twice = clamp(2 * v, -256, 255);
    int i = static_cast<int>(twice);
    i -= twice < static_cast<float>(i);
    return kCodes[static_cast<size_t>(i + 256)];
}

// a = sum w V x, b = sum w V V for the codes at one inverse scale.
struct Sums {
    float a = 0, b = 0;
};

Sums sums(const float* x, const float* w, float inv) {
    Sums sum;
    for (int i = 0; i < kSub; ++i) {
        const float level = kIq4Levels[nearest_code(inv * x[i])];
        const float wl = w[i] * level;
        sum.a += wl * x[i];
        sum.b += wl * level;
    }
    return sum;
}

float ratio(Sums sum) { return sum.b > 0 ? sum.a / sum.b : 0.0f; }

float reciprocal(float v) { return v != 0 ? 1 / v : 0.0f; }

// The scale of 32 elements: that which maps the largest to the lowest level, then 15 around it.
float search_scale(const float* x, const float* w) {
    const float m = first_largest(x, kSub);
    if (std::fabs(m) < kTinyMagnitude) return 0;
    const Sums first = sums(x, w, 1 / (-m / kLowest));
    float scale = ratio(first);
    float best = scale * first.a;
    for (int t = -7; t <= 7; ++t) {
        const Sums now = sums(x, w, (static_cast<float>(t) + kLowest) / m);
        if (now.b > 0 && now.a * now.a > best * now.b) {
            scale = now.a / now.b;
            best = scale * now.a;
        }
    }
    return scale;
}

// Codes for 1 / scale = inv, element i in the low and i + 16 in the high half of a byte.
void pack_codes(const float* x, float inv, uint8_t* qs) {
    for (int i = 0; i < kSub / 2; ++i) {
        qs[i] = static_cast<uint8_t>(nearest_code(inv * x[i]) | nearest_code(inv * x[i + kSub / 2])
                                                                    << 4);
    }
}

void decode_codes(const uint8_t* qs, float scale, float* dst) {
    for (int i = 0; i < kSub / 2; ++i) {
        dst[i] = scale * static_cast<float>(kIq4Levels[qs[i] & 15]);
        dst[i + kSub / 2] = scale * static_cast<float>(kIq4Levels[qs[i] >> 4]);
    }
}

void weigh(const float* x, const float* importance, float sigma2, float* w) {
    if (importance) return importance_weights(x, importance, sigma2, kSub, w);
    for (int i = 0; i < kSub; ++i) w[i] = x[i] * x[i];
}

// ---- iq4_nl -------------------------------------------------------------------------------------

void decode_nl(const tenon_block_iq4_nl& block, float* dst) {
    decode_codes(block.qs, f16_to_f32(block.d), dst);
}

void encode_nl(const float* x, const float* importance, tenon_block_iq4_nl& block) {
    float w[kSub];
    weigh(x, importance, importance ? 2 * mean_square(x, kSub) : 0, w);
    const float scale = search_scale(x, w);
    block.d = f32_to_f16(scale);
    pack_codes(x, reciprocal(scale), block.qs);
}

// For conversion at run time: one scale, no search. A block of zeros repeats the codes of the block
// before it in the run, as the reference does; they stand for zeros anyway.
void convert_to_nl(const float* src, void* dst, int64_t n) {
    auto* blocks = static_cast<tenon_block_iq4_nl*>(dst);
    for (int64_t b = 0; b < n / kSub; ++b) {
        const float* x = src + b * kSub;
        const float m = first_largest(x, kSub);
        if (std::fabs(m) < kTinyMagnitude) {
            if (b > 0)
                blocks[b] = blocks[b - 1];
            else
                pack_codes(x, 0, blocks[b].qs);
            blocks[b].d = 0;
            continue;
        }
        float w[kSub];
        weigh(x, nullptr, 0, w);
        const float inv = 1 / (m / kLowest);
        blocks[b].d = f32_to_f16(ratio(sums(x, w, inv)));
        pack_codes(x, inv, blocks[b].qs);
    }
}

// ---- iq4_xs: eight scales of 6 bits -------------------------------------------------------------

void decode_xs(const tenon_block_iq4_xs& block, float* dst) {
    const float d = f16_to_f32(block.d);
    for (int b = 0; b < kN / kSub; ++b) {
        const int low = block.scales_l[b / 2] >> 4 * (b % 2) & 15;
        const int high = block.scales_h >> 2 * b & 3;
        const float scale = d * static_cast<float>((low | high << 4) - 32);
        decode_codes(block.qs + kSub / 2 * b, scale, dst + kSub * b);
    }
}

void encode_xs(const float* x, const float* importance, tenon_block_iq4_xs& block) {
    const float sigma2 = importance ? 2 * mean_square(x, kN) : 0;
    float scales[kN / kSub];
    for (int b = 0; b < kN / kSub; ++b) {
        float w[kSub];
        weigh(x + kSub * b, importance ? importance + kSub * b : nullptr, sigma2, w);
        scales[b] = search_scale(x + kSub * b, w);
    }
    const float d = -first_largest(scales, kN / kSub) / 32;
    const float inv = reciprocal(d);
    block = {};
    block.d = f32_to_f16(d);
    for (int b = 0; b < kN / kSub; ++b) {
        const int l = nearest_int(inv * scales[b], -32, 31);
        const int stored = l + 32;
        pack_codes(x + kSub * b, reciprocal(d * static_cast<float>(l)), block.qs + kSub / 2 * b);
        block.scales_l[b / 2] |= static_cast<uint8_t>((stored & 15) << 4 * (b % 2));
        block.scales_h |= static_cast<uint16_t>(stored >> 4 << 2 * b);
    }
}

// ---- formats ------------------------------------------------------------------------------------

template <class Block>
using WeightedEncode = void (*)(const float* x, const float* importance, Block& block);

template <class Block, WeightedEncode<Block> kEncode>
void quantize(const float* src, void* dst, int64_t n, const float* importance) {
    constexpr int kBlock = kElems<Block>;
    auto* blocks = static_cast<Block*>(dst);
    for (int64_t b = 0; b < n / kBlock; ++b) {
        const float* x = src + b * kBlock;
        float room[kBlock];
        kEncode(x,
                importance ? telling_importance(x, importance + b * kBlock, kBlock, kSub, room)
                           : nullptr,
                blocks[b]);
    }
}

void convert_to_xs(const float* src, void* dst, int64_t n) {
    quantize<tenon_block_iq4_xs, encode_xs>(src, dst, n, nullptr);
}

}  // namespace

constinit const Format kIq4_nl{
    .type = GGML_TYPE_IQ4_NL,
    .to_float = row_to_float<tenon_block_iq4_nl, decode_nl>,
    .from_float_ref = convert_to_nl,
    .from_float = convert_to_nl,
    .quantize = quantize<tenon_block_iq4_nl, encode_nl>,
    .validate = finite_fields<tenon_block_iq4_nl, &tenon_block_iq4_nl::d>,
    .partner = GGML_TYPE_Q8_0,
    .dot = dot_with_q8_0<tenon_block_iq4_nl, decode_nl>,
    .uses_importance = true};

constinit const Format kIq4_xs{
    .type = GGML_TYPE_IQ4_XS,
    .to_float = row_to_float<tenon_block_iq4_xs, decode_xs>,
    .from_float_ref = convert_to_xs,
    .from_float = convert_to_xs,
    .quantize = quantize<tenon_block_iq4_xs, encode_xs>,
    .validate = finite_fields<tenon_block_iq4_xs, &tenon_block_iq4_xs::d>,
    .partner = GGML_TYPE_Q8_K,
    .dot = dot_with_q8_K<tenon_block_iq4_xs, decode_xs>,
    .uses_importance = true};

}  // namespace tenon::quant
