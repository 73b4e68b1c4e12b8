// The table of formats.

#include "tenon/quant.h"

#include <cassert>
#include <iterator>

#include "sdk/quant/formats.h"

namespace tenon::quant {
namespace {

// One row per number of enum ggml_type; null: retired.
constexpr const Format* kFormats[] = {
    /*  0 */ &kF32,   &kF16,   &kQ4_0,    &kQ4_1,   nullptr,   nullptr, &kQ5_0,
    /*  7 */ &kQ5_1,  &kQ8_0,  &kQ8_1,    &kQ2_K,   &kQ3_K,    &kQ4_K,  &kQ5_K,
    /* 14 */ &kQ6_K,  &kQ8_K,  &kIq2_xxs, &kIq2_xs, &kIq3_xxs, &kIq1_s, &kIq4_nl,
    /* 21 */ &kIq3_s, &kIq2_s, &kIq4_xs,  &kI8,     &kI16,     &kI32,   &kI64,
    /* 28 */ &kF64,   &kIq1_m, &kBf16,    nullptr,  nullptr,   nullptr, &kTq1_0,
    /* 35 */ &kTq2_0, nullptr, nullptr,   nullptr,  &kMxfp4,   &kNvfp4, &kQ1_0,
    /* 42 */ &kQ2_0,
};
static_assert(std::size(kFormats) == GGML_TYPE_COUNT, "kFormats needs one row per ggml_type");

}  // namespace

const Format* find_format(int64_t type) {
    if (type < 0 || type >= GGML_TYPE_COUNT) return nullptr;
    const Format* format = kFormats[type];
    assert(!format || format->type == type);
    return format;
}

void quantize_rows(const Format& format, const float* src, void* dst, int64_t n_rows,
                   int64_t n_per_row, const float* importance) {
    const size_t row_bytes = tenon_row_bytes(format.type, n_per_row);
    auto* out = static_cast<unsigned char*>(dst);
    for (int64_t r = 0; r < n_rows; ++r) {
        format.quantize(src + r * n_per_row, out, n_per_row, importance);
        out += row_bytes;
    }
}

}  // namespace tenon::quant
