// The formats with code books and with the non-linear 4-bit levels: what iq1.cpp … iq4.cpp define.
//
// Each file defines its constants as `constinit const Format k… = {…}` with these functions set
// (types.md of the specification says which the API shows; a function not listed stays null):
//
//   constant   file      to_float  from_float_ref  from_float  quantize  requires_importance  init
//   kIq1_s     iq1.cpp   yes       -               -           yes       yes                  yes
//   kIq1_m     iq1.cpp   yes       -               -           yes       -                    yes
//   kIq2_xxs   iq2.cpp   yes       -               -           yes       yes                  yes
//   kIq2_xs    iq2.cpp   yes       -               -           yes       yes                  yes
//   kIq2_s     iq2.cpp   yes       yes             -           yes       -                    yes
//   kIq3_xxs   iq3.cpp   yes       yes             -           yes       -                    yes
//   kIq3_s     iq3.cpp   yes       yes             -           yes       -                    yes
//   kIq4_nl    iq4.cpp   yes       yes             yes         yes       -                    -
//   kIq4_xs    iq4.cpp   yes       yes             yes         yes       -                    -
//
// All have validate (rows.h: finite_fields, or their own for iq1_m), partner (q8_0 for iq4_nl, q8_K
// for the rest) and dot (dot.h: decoded_dot over their block decoder). quantize may count on init
// having returned true; from_float_ref calls init itself and writes zero blocks if that fails.
#pragma once

#include "core/quant/quant.h"

namespace tenon::quant {

extern const Format kIq1_s, kIq1_m;
extern const Format kIq2_xxs, kIq2_xs, kIq2_s;
extern const Format kIq3_xxs, kIq3_s;
extern const Format kIq4_nl, kIq4_xs;

}  // namespace tenon::quant
