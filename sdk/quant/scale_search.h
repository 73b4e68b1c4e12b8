// Searching the scale of a block: helpers of the quantizers.
//
// Results are specified to the bit, so every sum is one float accumulator in the order of the
// elements, and w * x * l means (w * x) * l. The build forbids contraction to fused multiply-add.
// Elements per call: at most kMaxElems.
#pragma once

#include <cstdint>

#include "sdk/quant/rounding.h"

namespace tenon::quant {

inline constexpr int kMaxElems = 32;

// Below this a block counts as zero.
inline constexpr float kTinyMagnitude = 1e-15f;

// The element of largest magnitude, with its sign; the first of equals. NaN is passed over.
float first_largest(const float* x, int n);

// Levels -levels … levels - 1: tries 19 scales around the one that maps the largest element to
// -levels. Codes are stored plus `levels`. weights NULL: x * x. Returns the scale; 0 (and codes 0)
// for a zero block.
float symmetric_sweep(const float* x, const float* weights, int n, int levels, uint8_t* codes);

// The same levels and result, weights x * x: one scale, then single codes are moved while that
// improves the fit.
float symmetric_descent(const float* x, int n, int levels, uint8_t* codes);

enum class ErrorNorm { kAbsolute, kSquared };

// The candidates of an affine sweep: inverse scales (first + step * k + levels) / range, k = 0 …
// last.
struct Sweep {
    float first;
    float step;
    int last;
    ErrorNorm norm;
};

struct AffineFit {
    float scale;
    float min_magnitude;  // >= 0; value = scale * code - min_magnitude
};

// Levels 0 … levels.
AffineFit affine_sweep(const float* x, const float* weights, int n, int levels, const Sweep& sweep,
                       uint8_t* codes);

// Levels 0 … levels for x >= 0, used on scales. Returns the scale.
float positive_fit(const float* x, const float* weights, int n, int levels, uint8_t* codes);

// mean(x * x), the sum in order.
float mean_square(const float* x, int64_t n);

// weights[i] = importance[i] * sqrt(sigma2 + x[i] * x[i])
void importance_weights(const float* x, const float* importance, float sigma2, int n,
                        float* weights);

// The sum in order.
float sum_of(const float* x, int n);

}  // namespace tenon::quant
