// Any other architecture: the baseline, no feature bits.

#include "core/base/cpu_features.h"
#include "tenon/plugin.h"

namespace tenon::detail {

const std::span<const IsaBit> kIsaBits = {};

uint64_t dependent_bits(uint64_t feature) { return feature; }

CpuFeatures detect_cpu() {
    CpuFeatures features;
    features.arch = TENON_ARCH_ANY;
    return features;
}

}  // namespace tenon::detail
