// Names of processor features, and the mask that takes some away for tests.

#include "core/base/cpu_features.h"

#include <cstring>

#include "core/base/log.h"
#include "core/base/os.h"

namespace tenon {
namespace {

CpuFeatures detect_and_mask() {
    CpuFeatures features = detail::detect_cpu();
    const char* list = os::environment("TENON_CPU_FEATURES");
    if (list && !remove_features(features, list)) {
        log(GGML_LOG_LEVEL_WARN,
            "TENON_CPU_FEATURES='%s' ignored: entries must be -name with a known name", list);
    }
    return features;
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

bool remove_features(CpuFeatures& features, const char* list) {
    uint64_t removed = 0;
    for (const char* entry = list; *entry;) {
        const size_t length = std::strcspn(entry, ",");
        if (length > 0) {
            if (*entry != '-') return false;
            uint64_t bit = 0;
            for (const IsaBit& row : detail::kIsaBits) {
                if (std::strlen(row.name) == length - 1 &&
                    std::memcmp(row.name, entry + 1, length - 1) == 0) {
                    bit = row.bit;
                }
            }
            if (!bit) return false;
            removed |= detail::dependent_bits(bit);
        }
        entry += length;
        if (*entry == ',') ++entry;
    }
    for (const IsaBit& row : detail::kIsaBits) {
        if (removed & row.bit) features.mask(row.bit, "removed by TENON_CPU_FEATURES");
    }
    return true;
}

const CpuFeatures& cpu_features() {
    static const CpuFeatures features = detect_and_mask();
    return features;
}

}  // namespace tenon
