// Conversions of numbers of 16 bits for the ggml API: values and rows.

#include "tenon/kit/half.h"

#include "core/base/result.h"
#include "ggml.h"

namespace tenon {
namespace {

template <class Source, class Target, class Convert>
void convert_row(const Source* src, Target* dst, int64_t n, Convert convert) {
    if (n > 0 && (!src || !dst)) {
        return report(fail(TENON_E_INVALID, "%lld elements to convert %s null",
                           static_cast<long long>(n), src ? "to" : "from"));
    }
    for (int64_t i = 0; i < n; ++i) dst[i] = convert(src[i]);
}

}  // namespace
}  // namespace tenon

using namespace tenon;
using namespace tenon::kit;

extern "C" float ggml_fp16_to_fp32(ggml_fp16_t h) { return f16_to_f32(h); }
extern "C" ggml_fp16_t ggml_fp32_to_fp16(float f) { return f32_to_f16(f); }
extern "C" float ggml_bf16_to_fp32(ggml_bf16_t b) { return bf16_to_f32(b.bits); }
extern "C" ggml_bf16_t ggml_fp32_to_bf16(float f) { return {f32_to_bf16(f)}; }

extern "C" void ggml_fp16_to_fp32_row(const ggml_fp16_t* src, float* dst, int64_t n) {
    convert_row(src, dst, n, [](ggml_fp16_t h) { return f16_to_f32(h); });
}
extern "C" void ggml_fp32_to_fp16_row(const float* src, ggml_fp16_t* dst, int64_t n) {
    convert_row(src, dst, n, [](float f) { return f32_to_f16(f); });
}
extern "C" void ggml_bf16_to_fp32_row(const ggml_bf16_t* src, float* dst, int64_t n) {
    convert_row(src, dst, n, [](ggml_bf16_t b) { return bf16_to_f32(b.bits); });
}
extern "C" void ggml_fp32_to_bf16_row_ref(const float* src, ggml_bf16_t* dst, int64_t n) {
    convert_row(src, dst, n, [](float f) { return ggml_bf16_t{f32_to_bf16(f)}; });
}
extern "C" void ggml_fp32_to_bf16_row(const float* src, ggml_bf16_t* dst, int64_t n) {
    ggml_fp32_to_bf16_row_ref(src, dst, n);
}
