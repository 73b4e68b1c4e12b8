// mxfp4 and nvfp4: codes of e2m1, scales of e8m0 and ue4m3.

#include <bit>
#include <cmath>

#include "sdk/quant/dot.h"
#include "sdk/quant/formats.h"
#include "sdk/quant/scale_search.h"
#include "tenon/codebooks.h"
#include "tenon/kit/half.h"

namespace tenon::quant {
namespace {

constexpr int kMxN = TENON_QK_MXFP4;
constexpr int kNvN = TENON_QK_NVFP4;
constexpr int kSub = TENON_QK_NVFP4_SUB;

// Twice the value of an e2m1 code; scales are halved in return, so that codes are integers.
constexpr int8_t kDoubled[16] = {TENON_E2M1_TWICE};
// Between kDoubled[i] and kDoubled[i + 1].
constexpr float kMiddles[7] = {0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10};

// Half the scale 2^(e - 127); the two smallest are subnormal.
float half_e8m0(uint8_t e) {
    return std::bit_cast<float>(e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23);
}

// Half the scale of an unsigned 8-bit float with bias 7. 0x7f counts as zero, the top bit as
// nothing.
float half_ue4m3(uint8_t u) {
    if (u == 0x7f) return 0;
    const uint32_t exponent = (u >> 3) & 15, mantissa = u & 7;
    if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10f;
    return std::bit_cast<float>((exponent + 127 - 8) << 23 | mantissa << 20);
}

// Ties away from zero; 0x78 to 0x7d are never produced, they become the largest code.
uint8_t encode_ue4m3(float x) {
    if (!(x > 0)) return 0;
    if (x >= 256) return 0x7e;
    if (x < 0x1p-6f) return static_cast<uint8_t>(truncate(512 * x + 0.5f, 0, 7));
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    const uint32_t code = (((bits >> 20) - (120u << 3)) + (bits >> 19 & 1));
    return code >= 0x78 ? uint8_t{0x7e} : static_cast<uint8_t>(code);
}

// The nearest code of x in units of the half scale h; the lower code of equals, so that everything
// that rounds to zero has code 0. `top`: the largest magnitude code that may be used.
uint8_t nearest_code(float x, float h, int top) {
    const float magnitude = std::fabs(x);
    int code = 0;
    for (int i = 0; i < 7; ++i) code += magnitude > kMiddles[i] * h;
    code = code < top ? code : top;
    return static_cast<uint8_t>(code != 0 && x < 0 ? code | 8 : code);
}

float largest_magnitude(const float* x, int n) { return std::fabs(first_largest(x, n)); }

// floor(log2(x)) of the logarithm rounded to float: a few units in the last place below a power of
// two already give its exponent.
int floor_log2(float x) {
    const int exponent = std::ilogb(x);
    const uint32_t mantissa = std::bit_cast<uint32_t>(x) & 0x7fffffu;
    if (mantissa < 0x7fff00u) return exponent;
    const auto rounded = static_cast<float>(std::log2(static_cast<double>(x)));
    return static_cast<int>(std::floor(rounded));
}

uint8_t encode_e8m0(float largest) {
    if (!(largest > 0)) return 0;
    if (std::isinf(largest)) return 253;
    const int e = floor_log2(largest) - 2 + 127;
    return static_cast<uint8_t>(e > 0 ? e : 0);
}

void decode_mxfp4(const tenon_block_mxfp4& block, float* dst) {
    const float h = half_e8m0(block.e);
    for (int i = 0; i < kMxN / 2; ++i) {
        dst[i] = static_cast<float>(kDoubled[block.qs[i] & 15]) * h;
        dst[i + kMxN / 2] = static_cast<float>(kDoubled[block.qs[i] >> 4]) * h;
    }
}

void encode_mxfp4(const float* x, tenon_block_mxfp4& block) {
    block.e = encode_e8m0(largest_magnitude(x, kMxN));
    const float h = half_e8m0(block.e);
    // At the largest scale 8 and 12 half scales are beyond the range of float.
    const int top = block.e >= 253 ? 5 : 7;
    for (int i = 0; i < kMxN / 2; ++i) {
        block.qs[i] = static_cast<uint8_t>(nearest_code(x[i], h, top) |
                                           nearest_code(x[i + kMxN / 2], h, top) << 4);
    }
}

void decode_nvfp4(const tenon_block_nvfp4& block, float* dst) {
    for (int s = 0; s < kNvN / kSub; ++s) {
        const float h = half_ue4m3(block.d[s]);
        const uint8_t* qs = block.qs + s * kSub / 2;
        float* out = dst + s * kSub;
        for (int i = 0; i < kSub / 2; ++i) {
            out[i] = static_cast<float>(kDoubled[qs[i] & 15]) * h;
            out[i + kSub / 2] = static_cast<float>(kDoubled[qs[i] >> 4]) * h;
        }
    }
}

void encode_nvfp4(const float* x, tenon_block_nvfp4& block) {
    for (int s = 0; s < kNvN / kSub; ++s) {
        const float* in = x + s * kSub;
        uint8_t* qs = block.qs + s * kSub / 2;
        block.d[s] = encode_ue4m3(largest_magnitude(in, kSub) / 6);
        const float h = half_ue4m3(block.d[s]);
        const int top = h > 0 ? 7 : 0;
        for (int i = 0; i < kSub / 2; ++i) {
            qs[i] = static_cast<uint8_t>(nearest_code(in[i], h, top) |
                                         nearest_code(in[i + kSub / 2], h, top) << 4);
        }
    }
}

// e = 255 is the format's NaN.
bool validate_mxfp4(const void* data, int64_t n_blocks) {
    const auto* blocks = static_cast<const tenon_block_mxfp4*>(data);
    for (int64_t b = 0; b < n_blocks; ++b) {
        if (blocks[b].e == 255) return false;
    }
    return true;
}

constexpr FromFloat kToMxfp4 = row_from_float<tenon_block_mxfp4, encode_mxfp4>;
constexpr FromFloat kToNvfp4 = row_from_float<tenon_block_nvfp4, encode_nvfp4>;

}  // namespace

constinit const Format kMxfp4{.type = GGML_TYPE_MXFP4,
                              .to_float = row_to_float<tenon_block_mxfp4, decode_mxfp4>,
                              .from_float_ref = kToMxfp4,
                              .from_float = kToMxfp4,
                              .quantize = ignore_importance<kToMxfp4>,
                              .validate = validate_mxfp4,
                              .partner = GGML_TYPE_Q8_0,
                              .dot = dot_with_q8_0<tenon_block_mxfp4, decode_mxfp4>};

constinit const Format kNvfp4{.type = GGML_TYPE_NVFP4,
                              .to_float = row_to_float<tenon_block_nvfp4, decode_nvfp4>,
                              .from_float_ref = kToNvfp4,
                              .from_float = kToNvfp4,
                              .quantize = ignore_importance<kToNvfp4>,
                              .validate = always_valid,
                              .partner = GGML_TYPE_Q8_0,
                              .dot = dot_with_q8_0<tenon_block_nvfp4, decode_nvfp4>};

}  // namespace tenon::quant
