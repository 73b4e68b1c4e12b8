// Formats with code books whose conversions are not written yet: sizes only, no conversion. A type
// leaves this file when iq1.cpp … iq4.cpp define its constant; the file goes with the last one.

#include "core/quant/iq.h"

namespace tenon::quant {

constinit const Format kIq1_s{GGML_TYPE_IQ1_S, TENON_QK_K, sizeof(tenon_block_iq1_s)};
constinit const Format kIq1_m{GGML_TYPE_IQ1_M, TENON_QK_K, sizeof(tenon_block_iq1_m)};
constinit const Format kIq2_xxs{GGML_TYPE_IQ2_XXS, TENON_QK_K, sizeof(tenon_block_iq2_xxs)};
constinit const Format kIq2_xs{GGML_TYPE_IQ2_XS, TENON_QK_K, sizeof(tenon_block_iq2_xs)};
constinit const Format kIq2_s{GGML_TYPE_IQ2_S, TENON_QK_K, sizeof(tenon_block_iq2_s)};
constinit const Format kIq3_xxs{GGML_TYPE_IQ3_XXS, TENON_QK_K, sizeof(tenon_block_iq3_xxs)};
constinit const Format kIq3_s{GGML_TYPE_IQ3_S, TENON_QK_K, sizeof(tenon_block_iq3_s)};
constinit const Format kIq4_nl{GGML_TYPE_IQ4_NL, TENON_QK_IQ4_NL, sizeof(tenon_block_iq4_nl)};
constinit const Format kIq4_xs{GGML_TYPE_IQ4_XS, TENON_QK_K, sizeof(tenon_block_iq4_xs)};

}  // namespace tenon::quant
