// The formats of this room, one constant per type; each is defined in the file of its family.
//
// A new type is a constant here, its definition, and a row of the table in quant.cpp.
#pragma once

#include "tenon/quant.h"

namespace tenon::quant {

extern const Format kF32, kF64, kF16, kBf16, kI8, kI16, kI32, kI64;  // plain.cpp
extern const Format kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ8_1;        // legacy.cpp
extern const Format kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K, kQ8_K;        // k_quants.cpp
extern const Format kTq1_0, kTq2_0, kQ1_0, kQ2_0;                    // ternary.cpp
extern const Format kMxfp4, kNvfp4;                                  // fp4.cpp
extern const Format kIq1_s, kIq1_m;                                  // iq1.cpp
extern const Format kIq2_xxs, kIq2_xs, kIq2_s;                       // iq2.cpp
extern const Format kIq3_xxs, kIq3_s;                                // iq3.cpp
extern const Format kIq4_nl, kIq4_xs;                                // iq4.cpp

}  // namespace tenon::quant
