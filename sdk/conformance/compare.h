// Comparing what a device computed with what was expected: the rules of the op specification.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ggml.h"

namespace tenon::conformance {

// The elements of `t` in order of their indices, from `bytes`, which lie as t's strides say:
// numbers as double, quantised rows decoded. Throws std::runtime_error for a type that cannot be
// read.
std::vector<double> values_of(const ggml_tensor& t, const void* bytes);

struct Comparison {
    bool ok = false;
    double nmse = 0;
    std::string why;  // "" when ok: which element, or which rule
};

// NaN anywhere fails; infinities (and +-FLT_MAX) must stand at the same places with the same sign;
// the rest by NMSE = sum((want-got)^2) / sum(want^2) <= limit.
Comparison compare_floats(const std::vector<double>& want, const std::vector<double>& got,
                          double limit);

// Every element equal.
Comparison compare_exactly(const std::vector<double>& want, const std::vector<double>& got);

// How far apart two values may be that are equal for a comparison by `limit`: 0 where the values
// are given, twice the root mean square error that the limit allows where they are computed.
double slack_of(const std::vector<double>& values, bool computed, double limit);

// Indices into rows of `keys` (same shape apart from dimension 0): the values they select must be
// equal or at most `slack` apart, since such keys may be ordered either way; for TOP_K they may
// come in any order, ARGMAX has one per row. Every index must be in range and, inside a row, occur
// once.
Comparison compare_selections(const ggml_tensor& indices, const std::vector<double>& want,
                              const std::vector<double>& got, const ggml_tensor& keys,
                              const std::vector<double>& key_values, double slack = 0);

// Decoded values of quantized elements made from `source`. A value in the middle between two codes,
// to a thousandth of their distance or to `slack`, may become either; where there is slack the
// scale of a block may round either way, too. The rest goes by NMSE.
Comparison compare_quantized(const std::vector<double>& want, const std::vector<double>& got,
                             const std::vector<double>& source, double slack, double limit);

}  // namespace tenon::conformance
