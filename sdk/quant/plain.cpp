// Types without blocks: f32 f64 f16 bf16 and the integers.

#include <cmath>
#include <cstring>
#include <limits>

#include "sdk/quant/dot.h"
#include "sdk/quant/formats.h"
#include "tenon/kit/half.h"

namespace tenon::quant {
namespace {

void copy_f32(const float* src, void* dst, int64_t n) {
    if (n > 0) std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(float));
}
void f16_to_float(const void* src, float* dst, int64_t n) {
    const auto* x = static_cast<const uint16_t*>(src);
    for (int64_t i = 0; i < n; ++i) dst[i] = f16_to_f32(x[i]);
}
void f16_from_float(const float* src, void* dst, int64_t n) {
    auto* y = static_cast<uint16_t*>(dst);
    for (int64_t i = 0; i < n; ++i) y[i] = f32_to_f16(src[i]);
}
void bf16_to_float(const void* src, float* dst, int64_t n) {
    const auto* x = static_cast<const uint16_t*>(src);
    for (int64_t i = 0; i < n; ++i) dst[i] = bf16_to_f32(x[i]);
}
void bf16_from_float(const float* src, void* dst, int64_t n) {
    auto* y = static_cast<uint16_t*>(dst);
    for (int64_t i = 0; i < n; ++i) y[i] = f32_to_bf16(src[i]);
}

// Towards zero, as a C cast; what does not fit becomes the nearest limit, NaN becomes 0.
int32_t to_i32(float v) {
    if (v >= 2147483648.0f) return std::numeric_limits<int32_t>::max();
    if (v < -2147483648.0f) return std::numeric_limits<int32_t>::min();
    return std::isnan(v) ? 0 : static_cast<int32_t>(v);
}
void i32_from_float(const float* src, void* dst, int64_t n) {
    auto* y = static_cast<int32_t*>(dst);
    for (int64_t i = 0; i < n; ++i) y[i] = to_i32(src[i]);
}

// Finite once narrowed to f32, which is how such data is used: a larger f64 is as bad as infinity.
bool is_finite(float v) { return std::isfinite(v); }
bool is_finite(double v) { return std::fabs(v) < 0x1.ffffffp+127; }

template <class T>
bool finite_floats(const void* data, int64_t n) {
    const auto* x = static_cast<const T*>(data);
    for (int64_t i = 0; i < n; ++i) {
        if (!is_finite(x[i])) return false;
    }
    return true;
}

// All exponent bits set: infinity or NaN.
template <uint16_t kExponent>
bool finite_halves(const void* data, int64_t n) {
    const auto* x = static_cast<const uint16_t*>(data);
    for (int64_t i = 0; i < n; ++i) {
        if ((x[i] & kExponent) == kExponent) return false;
    }
    return true;
}

double dot_f32(const void* x, const void* y, int64_t n) {
    const auto* a = static_cast<const float*>(x);
    const auto* b = static_cast<const float*>(y);
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

template <float (*kWiden)(uint16_t)>
double dot_halves(const void* x, const void* y, int64_t n) {
    const auto* a = static_cast<const uint16_t*>(x);
    const auto* b = static_cast<const uint16_t*>(y);
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(kWiden(a[i])) * kWiden(b[i]);
    return sum;
}

constexpr Format integer(ggml_type type, FromFloat from_float = nullptr) {
    return {.type = type, .from_float = from_float, .validate = always_valid};
}

}  // namespace

constinit const Format kF32{.type = GGML_TYPE_F32,
                            .from_float = copy_f32,
                            .quantize = ignore_importance<copy_f32>,
                            .validate = finite_floats<float>,
                            .partner = GGML_TYPE_F32,
                            .dot = dot_f32};

constinit const Format kF64{.type = GGML_TYPE_F64, .validate = finite_floats<double>};

constinit const Format kF16{.type = GGML_TYPE_F16,
                            .to_float = f16_to_float,
                            .from_float_ref = f16_from_float,
                            .from_float = f16_from_float,
                            .quantize = ignore_importance<f16_from_float>,
                            .validate = finite_halves<0x7c00>,
                            .partner = GGML_TYPE_F16,
                            .dot = dot_halves<f16_to_f32>};

constinit const Format kBf16{.type = GGML_TYPE_BF16,
                             .to_float = bf16_to_float,
                             .from_float_ref = bf16_from_float,
                             .from_float = bf16_from_float,
                             .quantize = ignore_importance<bf16_from_float>,
                             .validate = finite_halves<0x7f80>,
                             .partner = GGML_TYPE_BF16,
                             .dot = dot_halves<bf16_to_f32>};

constinit const Format kI8 = integer(GGML_TYPE_I8);
constinit const Format kI16 = integer(GGML_TYPE_I16);
constinit const Format kI32 = integer(GGML_TYPE_I32, i32_from_float);
constinit const Format kI64 = integer(GGML_TYPE_I64);

}  // namespace tenon::quant
