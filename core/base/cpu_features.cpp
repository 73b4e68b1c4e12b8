// Names of processor features, and the mask that takes some away for tests.

#include "core/base/cpu_features.h"

#include <algorithm>
#include <string_view>

#include "core/base/log.h"
#include "core/base/os.h"

namespace tenon {
namespace {

CpuFeatures detect_and_mask() {
    CpuFeatures features = detail::detect_cpu();
    const char* list = os::environment("TENON_CPU_FEATURES");
    const std::string strange = list ? remove_features(features, list) : "";
    if (strange.empty()) return features;
    std::string valid;
    for (const IsaBit& row : detail::kIsaBits) {
        valid += std::string(valid.empty() ? "-" : ", -") + row.name;
    }
    log_once(GGML_LOG_LEVEL_WARN, "TENON_CPU_FEATURES: '%s' ignored; valid: %s", strange.c_str(),
             valid.c_str());
    return features;
}

// The bit of "-name"; 0 for anything else.
uint64_t removed_bit(std::string_view entry) {
    if (!entry.starts_with('-')) return 0;
    for (const IsaBit& row : detail::kIsaBits) {
        if (entry.substr(1) == row.name) return row.bit;
    }
    return 0;
}

}  // namespace

std::span<const IsaBit> isa_bits() { return detail::kIsaBits; }

const char* isa_bit_name(uint64_t bit) {
    for (const IsaBit& row : detail::kIsaBits) {
        if (row.bit == bit) return row.name;
    }
    return "unknown";
}

void CpuFeatures::mask(uint64_t bit, const char* reason) {
    if (!(isa & bit)) return;
    isa &= ~bit;
    if (n_masked < static_cast<int>(std::size(masked))) masked[n_masked++] = {bit, reason};
}

std::string remove_features(CpuFeatures& features, const char* list) {
    uint64_t removed = 0;
    std::string strange;
    for (std::string_view rest = list; !rest.empty();) {
        const std::string_view entry = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
        if (const uint64_t bit = removed_bit(entry)) {
            removed |= detail::dependent_bits(bit);
        } else if (!entry.empty()) {
            strange.append(strange.empty() ? "" : ",").append(entry);
        }
    }
    for (const IsaBit& row : detail::kIsaBits) {
        if (removed & row.bit) features.mask(row.bit, "removed by TENON_CPU_FEATURES");
    }
    return strange;
}

const CpuFeatures& cpu_features() {
    static const CpuFeatures features = detect_and_mask();
    return features;
}

}  // namespace tenon
