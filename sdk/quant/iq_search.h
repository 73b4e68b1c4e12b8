// The quantizers of iq2 and iq3: magnitudes as points of a code book, signs apart, a 4-bit scale
// per sub-block.
#pragma once

#include <cstdint>

#include "sdk/quant/iq_neighbours.h"
#include "tenon/blocks.h"

namespace tenon::quant {

// What a scale is first fitted with is rounded once more with that scale: which groups of it.
enum class Refit { kAllGroups, kOffGrid, kAllIfAnyOffGrid };

struct LatticeShape {
    int sub;               // elements per scale, 16 or 32
    bool even_signs;       // of each 8 elements an even number is negative
    float variance;        // sigma2 = variance * mean square of the block
    float plain_variance;  // weights without importance: x * x + plain_variance * sigma2
    float tiny;            // a sub-block without larger magnitudes counts as zero
    int steps;             // scales -steps … steps around the first are tried
    float step;
    bool fitted_reference;  // the scales start from a fit, not from the largest magnitude
    Refit refit;
    float correction;  // of the block's scale as stored
};

// A block before its fields are packed. All zero for a block of zeros.
struct LatticeBlock {
    uint16_t d;
    uint8_t scales[TENON_QK_K / 16];   // 0 … 15, one per sub-block; the factor is 2 * scale + 1
    uint8_t signs[TENON_QK_K / 8];     // one per 8 elements, bit set: negative
    uint16_t indices[TENON_QK_K / 4];  // one per group of the code book
};

// Groups of 8 with 3 levels (iq2) or of 4 with 8 levels (iq3).
template <int kGroup>
LatticeBlock search_lattice(const LatticeShape& shape, const Neighbours& neighbours, const float* x,
                            const float* importance);

}  // namespace tenon::quant
