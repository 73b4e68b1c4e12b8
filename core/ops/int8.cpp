// Products of int8 matrices with a scale per row, and their activations: two functions of the fork
// of ggml that stable-diffusion.cpp is written to, which calls them for checkpoints of that kind
// only. There is no op behind them yet. They exist so that such programs build, and say so when
// they are called.
#include "core/ops/build.h"

namespace tenon {
namespace {

ggml_tensor* unsupported(const char* function, const ggml_tensor* of) {
    return guard<ggml_tensor*>(nullptr, [&]() -> Result<ggml_tensor*> {
        return fail(TENON_E_UNSUPPORTED,
                    "%s: no op computes int8 with a scale per row yet, asked for '%s'", function,
                    of->name);
    });
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_mul_mat_i8_tensorwise(ggml_context*, ggml_tensor* weight, ggml_tensor* input,
                                        ggml_tensor* weight_scale, ggml_tensor*, int) {
    if (weight == nullptr || input == nullptr || weight_scale == nullptr) return nullptr;
    return unsupported("ggml_mul_mat_i8_tensorwise", weight);
}

ggml_tensor* ggml_quantize_i8_convrot(ggml_context*, ggml_tensor* a, int) {
    if (a == nullptr) return nullptr;
    return unsupported("ggml_quantize_i8_convrot", a);
}

}  // extern "C"
