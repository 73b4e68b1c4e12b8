// Reference dot products: decode a block of both operands, multiply, add in double.
#pragma once

#include "sdk/quant/rows.h"

namespace tenon::quant {

inline double dot_floats(const float* x, const float* y, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * y[i];
    return sum;
}

// kDecode: of a block of the type; kPartner: of a run of the partner's blocks.
template <class Block, Decode<Block> kDecode, class PartnerBlock, ToFloat kPartner>
double decoded_dot(const void* x, const void* partner, int64_t n) {
    constexpr int kN = kElems<Block>;
    constexpr int kPerBlock = kN / kElems<PartnerBlock>;
    static_assert(kN % kElems<PartnerBlock> == 0, "whole blocks of the partner per block");
    const auto* a = static_cast<const Block*>(x);
    const auto* b = static_cast<const PartnerBlock*>(partner);
    double sum = 0;
    float av[kN], bv[kN];
    for (int64_t i = 0; i < n / kN; ++i) {
        kDecode(a[i], av);
        kPartner(b + i * kPerBlock, bv, kN);
        sum += dot_floats(av, bv, kN);
    }
    return sum;
}

// Partners of the two kinds most types have.
void decode_q8_0(const void* src, float* dst, int64_t n);

template <class Block, Decode<Block> kDecode>
double dot_with_q8_0(const void* x, const void* partner, int64_t n) {
    return decoded_dot<Block, kDecode, tenon_block_q8_0, decode_q8_0>(x, partner, n);
}

template <class Block, Decode<Block> kDecode>
double dot_with_q8_K(const void* x, const void* partner, int64_t n) {
    return decoded_dot<Block, kDecode, tenon_block_q8_K, decode_q8_K>(x, partner, n);
}

}  // namespace tenon::quant
