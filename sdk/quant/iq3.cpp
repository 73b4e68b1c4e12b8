// iq3_xxs iq3_s: four elements are a point of a code book with eight levels, and signs.

#include <cfloat>

#include "sdk/quant/formats.h"
#include "sdk/quant/iq_rows.h"
#include "sdk/quant/iq_search.h"
#include "tenon/kit/half.h"

namespace tenon::quant {
namespace {

constexpr int kN = TENON_QK_K;

constinit LazyNeighbours g_near_xxs{kBookIq3xxs, 2}, g_near_s{kBookIq3s, 3};

constexpr LatticeShape kShapeXxs{.sub = 32,
                                 .even_signs = true,
                                 .variance = 2,
                                 .plain_variance = 0,
                                 .tiny = 1e-8f,
                                 .steps = 15,
                                 .step = 0.2f,
                                 .fitted_reference = false,
                                 .refit = Refit::kOffGrid,
                                 .correction = 1.0125f};
constexpr LatticeShape kShapeS{.sub = 32,
                               .even_signs = false,
                               .variance = 2,
                               .plain_variance = 0,
                               .tiny = FLT_TRUE_MIN,  // only zero is zero
                               .steps = 9,
                               .step = 0.2f,
                               .fitted_reference = false,
                               .refit = Refit::kAllIfAnyOffGrid,
                               .correction = 1.033f};

// ---- iq3_xxs: per 32 elements eight indices; apart, 4 x 7 bits of signs and 4 bits of scale
// ------

void decode_xxs(const tenon_block_iq3_xxs& block, float* dst) {
    const float d = f16_to_f32(block.d);
    for (int b = 0; b < kN / 32; ++b) {
        const uint8_t* gas = block.gas + 4 * b;
        const uint32_t rest = gas[0] | static_cast<uint32_t>(gas[1]) << 8 |
                              static_cast<uint32_t>(gas[2]) << 16 |
                              static_cast<uint32_t>(gas[3]) << 24;
        const float scale = d * static_cast<float>(2 * (rest >> 28) + 1) / 4;
        for (int k = 0; k < 8; ++k) {
            const int quad = 8 * b + k;
            decode_quad(kGridIq3xxs[block.qs[quad]],
                        kEvenSigns[rest >> 7 * (k / 2) & 127] >> 4 * (k % 2), scale,
                        dst + 4 * quad);
        }
    }
}

void encode_xxs(const Neighbours& neighbours, const float* x, const float* importance,
                tenon_block_iq3_xxs& block) {
    const LatticeBlock found = search_lattice<4>(kShapeXxs, neighbours, x, importance);
    block.d = found.d;
    for (int q = 0; q < kN / 4; ++q) block.qs[q] = static_cast<uint8_t>(found.indices[q]);
    for (int b = 0; b < kN / 32; ++b) {
        uint32_t rest = static_cast<uint32_t>(found.scales[b]) << 28;
        for (int k = 0; k < 4; ++k) {
            rest |= static_cast<uint32_t>(found.signs[4 * b + k] & 127) << 7 * k;
        }
        for (int k = 0; k < 4; ++k) block.gas[4 * b + k] = static_cast<uint8_t>(rest >> 8 * k);
    }
}

// ---- iq3_s: per four elements 8 + 1 bits of index, all signs ------------------------------------

void decode_s(const tenon_block_iq3_s& block, float* dst) {
    const float d = f16_to_f32(block.d);
    for (int q = 0; q < kN / 4; ++q) {
        const int b = q / 8;
        const int s = block.scales[b / 2] >> 4 * (b % 2) & 15;
        const int index = block.qs[q] | (block.qh[b] >> q % 8 & 1) << 8;
        decode_quad(kGridIq3s[index], block.signs[q / 2] >> 4 * (q % 2),
                    d * static_cast<float>(2 * s + 1), dst + 4 * q);
    }
}

void encode_s(const Neighbours& neighbours, const float* x, const float* importance,
              tenon_block_iq3_s& block) {
    const LatticeBlock found = search_lattice<4>(kShapeS, neighbours, x, importance);
    block = {};
    block.d = found.d;
    for (int q = 0; q < kN / 4; ++q) {
        block.qs[q] = static_cast<uint8_t>(found.indices[q]);
        block.qh[q / 8] |= static_cast<uint8_t>(found.indices[q] >> 8 << q % 8);
    }
    for (int g = 0; g < kN / 8; ++g) block.signs[g] = found.signs[g];
    for (int b = 0; b < kN / 64; ++b) {
        block.scales[b] = static_cast<uint8_t>(found.scales[2 * b] | found.scales[2 * b + 1] << 4);
    }
}

}  // namespace

constinit const Format kIq3_xxs =
    searched_format<tenon_block_iq3_xxs, kShapeXxs.sub, Unweighted::kEverywhere, decode_xxs,
                    g_near_xxs, encode_xxs>(
        GGML_TYPE_IQ3_XXS, finite_fields<tenon_block_iq3_xxs, &tenon_block_iq3_xxs::d>);
constinit const Format kIq3_s =
    searched_format<tenon_block_iq3_s, kShapeS.sub, Unweighted::kEverywhere, decode_s, g_near_s,
                    encode_s>(GGML_TYPE_IQ3_S,
                              finite_fields<tenon_block_iq3_s, &tenon_block_iq3_s::d>);

}  // namespace tenon::quant
