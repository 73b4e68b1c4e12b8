// iq2_xxs iq2_xs iq2_s: eight elements are a point of a code book with three levels, and signs.

#include "sdk/quant/formats.h"
#include "sdk/quant/iq_rows.h"
#include "sdk/quant/iq_search.h"
#include "tenon/kit/half.h"

namespace tenon::quant {
namespace {

constexpr int kN = TENON_QK_K;

constinit LazyNeighbours g_near_xxs{kBookIq2xxs, 2}, g_near_xs{kBookIq2xs, 2},
    g_near_s{kBookIq2s, 1};

constexpr LatticeShape kShapeXxs{.sub = 32,
                                 .even_signs = true,
                                 .variance = 1,
                                 .plain_variance = 0,
                                 .tiny = 1e-15f,
                                 .steps = 6,
                                 .step = 0.1f,
                                 .fitted_reference = true,
                                 .refit = Refit::kAllGroups,
                                 .correction = 1};
constexpr LatticeShape kShapeXs{.sub = 16,
                                .even_signs = true,
                                .variance = 1,
                                .plain_variance = 0,
                                .tiny = 1e-15f,
                                .steps = 9,
                                .step = 0.1f,
                                .fitted_reference = false,
                                .refit = Refit::kOffGrid,
                                .correction = 1};
constexpr LatticeShape kShapeS{.sub = 16,
                               .even_signs = false,
                               .variance = 2,
                               .plain_variance = 0.25f,
                               .tiny = 1e-8f,
                               .steps = 9,
                               .step = 0.1f,
                               .fitted_reference = false,
                               .refit = Refit::kOffGrid,
                               .correction = 0.9875f};

void decode_group(uint64_t point, uint32_t signs, float scale, float* dst) {
    decode_quad(static_cast<uint32_t>(point), signs, scale, dst);
    decode_quad(static_cast<uint32_t>(point >> 32), signs >> 4, scale, dst + 4);
}

// Scales of two 16-element sub-blocks per byte.
float nibble_scale(float d, const uint8_t* scales, int group) {
    const int s = scales[group / 4] >> 2 * (group & 2) & 15;
    return d * static_cast<float>(2 * s + 1) / 8;
}

void pack_nibbles(const uint8_t* scales, uint8_t* out) {
    for (int j = 0; j < kN / 32; ++j) {
        out[j] = static_cast<uint8_t>(scales[2 * j] | scales[2 * j + 1] << 4);
    }
}

// ---- iq2_xxs: per 32 elements four indices, then 4 x 7 bits of signs and 4 bits of scale
// ---------

void decode_xxs(const tenon_block_iq2_xxs& block, float* dst) {
    const float d = f16_to_f32(block.d);
    for (int b = 0; b < kN / 32; ++b) {
        const uint16_t* qs = block.qs + 4 * b;
        const uint32_t indices = qs[0] | static_cast<uint32_t>(qs[1]) << 16;
        const uint32_t rest = qs[2] | static_cast<uint32_t>(qs[3]) << 16;
        const float scale = d * static_cast<float>(2 * (rest >> 28) + 1) / 8;
        for (int k = 0; k < 4; ++k) {
            decode_group(kGridIq2xxs[indices >> 8 * k & 255], kEvenSigns[rest >> 7 * k & 127],
                         scale, dst + 32 * b + 8 * k);
        }
    }
}

void encode_xxs(const Neighbours& neighbours, const float* x, const float* importance,
                tenon_block_iq2_xxs& block) {
    const LatticeBlock found = search_lattice<8>(kShapeXxs, neighbours, x, importance);
    block.d = found.d;
    for (int b = 0; b < kN / 32; ++b) {
        uint32_t indices = 0, rest = static_cast<uint32_t>(found.scales[b]) << 28;
        for (int k = 0; k < 4; ++k) {
            indices |= static_cast<uint32_t>(found.indices[4 * b + k]) << 8 * k;
            rest |= static_cast<uint32_t>(found.signs[4 * b + k] & 127) << 7 * k;
        }
        uint16_t* qs = block.qs + 4 * b;
        qs[0] = static_cast<uint16_t>(indices);
        qs[1] = static_cast<uint16_t>(indices >> 16);
        qs[2] = static_cast<uint16_t>(rest);
        qs[3] = static_cast<uint16_t>(rest >> 16);
    }
}

// ---- iq2_xs: per 8 elements 9 bits of index and 7 bits of signs ---------------------------------

void decode_xs(const tenon_block_iq2_xs& block, float* dst) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < kN / 8; ++g) {
        decode_group(kGridIq2xs[block.qs[g] & 511], kEvenSigns[block.qs[g] >> 9],
                     nibble_scale(d, block.scales, g), dst + 8 * g);
    }
}

void encode_xs(const Neighbours& neighbours, const float* x, const float* importance,
               tenon_block_iq2_xs& block) {
    const LatticeBlock found = search_lattice<8>(kShapeXs, neighbours, x, importance);
    block.d = found.d;
    for (int g = 0; g < kN / 8; ++g) {
        block.qs[g] = static_cast<uint16_t>(found.indices[g] | (found.signs[g] & 127) << 9);
    }
    pack_nibbles(found.scales, block.scales);
}

// ---- iq2_s: per 8 elements 8 + 2 bits of index and all signs ------------------------------------

void decode_s(const tenon_block_iq2_s& block, float* dst) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < kN / 8; ++g) {
        const int index = block.qs[g] | (block.qh[g / 4] >> 2 * (g % 4) & 3) << 8;
        decode_group(kGridIq2s[index], block.signs[g], nibble_scale(d, block.scales, g),
                     dst + 8 * g);
    }
}

void encode_s(const Neighbours& neighbours, const float* x, const float* importance,
              tenon_block_iq2_s& block) {
    const LatticeBlock found = search_lattice<8>(kShapeS, neighbours, x, importance);
    block = {};
    block.d = found.d;
    for (int g = 0; g < kN / 8; ++g) {
        block.qs[g] = static_cast<uint8_t>(found.indices[g]);
        block.qh[g / 4] |= static_cast<uint8_t>(found.indices[g] >> 8 << 2 * (g % 4));
        block.signs[g] = found.signs[g];
    }
    pack_nibbles(found.scales, block.scales);
}

}  // namespace

constinit const Format kIq2_xxs =
    searched_format<tenon_block_iq2_xxs, kShapeXxs.sub, Unweighted::kNowhere, decode_xxs,
                    g_near_xxs, encode_xxs>(
        GGML_TYPE_IQ2_XXS, finite_fields<tenon_block_iq2_xxs, &tenon_block_iq2_xxs::d>);
constinit const Format kIq2_xs =
    searched_format<tenon_block_iq2_xs, kShapeXs.sub, Unweighted::kNowhere, decode_xs, g_near_xs,
                    encode_xs>(GGML_TYPE_IQ2_XS,
                               finite_fields<tenon_block_iq2_xs, &tenon_block_iq2_xs::d>);
constinit const Format kIq2_s =
    searched_format<tenon_block_iq2_s, kShapeS.sub, Unweighted::kEverywhere, decode_s, g_near_s,
                    encode_s>(GGML_TYPE_IQ2_S,
                              finite_fields<tenon_block_iq2_s, &tenon_block_iq2_s::d>);

}  // namespace tenon::quant
