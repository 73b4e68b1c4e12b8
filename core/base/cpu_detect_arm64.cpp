// AArch64: what the kernel says all cores have in common (AT_HWCAP, AT_HWCAP2).

#include "core/base/cpu_features.h"
#include "core/base/os.h"
#include "tenon/plugin.h"

namespace tenon::detail {
namespace {

constexpr IsaBit kBits[] = {
    {TENON_ARM_DOTPROD, "dotprod"}, {TENON_ARM_FP16, "fp16"}, {TENON_ARM_I8MM, "i8mm"},
    {TENON_ARM_BF16, "bf16"},       {TENON_ARM_SVE, "sve"},   {TENON_ARM_SVE2, "sve2"},
    {TENON_ARM_SME, "sme"},         {TENON_ARM_SME2, "sme2"},
};

// Positions in the kernel's words; part of its interface, so they never change.
struct Capability {
    uint64_t bit;
    int word;
    int position;
};
constexpr Capability kCapabilities[] = {
    {TENON_ARM_DOTPROD, 0, 20}, {TENON_ARM_FP16, 0, 10}, {TENON_ARM_I8MM, 1, 13},
    {TENON_ARM_BF16, 1, 14},    {TENON_ARM_SVE, 0, 22},  {TENON_ARM_SVE2, 1, 1},
    {TENON_ARM_SME, 1, 23},     {TENON_ARM_SME2, 1, 37},
};

}  // namespace

const std::span<const IsaBit> kIsaBits = kBits;

uint64_t dependent_bits(uint64_t feature) {
    switch (feature) {
        case TENON_ARM_SVE:
            return TENON_ARM_SVE | TENON_ARM_SVE2;
        case TENON_ARM_SME:
            return TENON_ARM_SME | TENON_ARM_SME2;
        default:
            return feature;
    }
}

CpuFeatures detect_cpu() {
    CpuFeatures features;
    features.arch = TENON_ARCH_AARCH64;
    const uint64_t words[2] = {os::hardware_capabilities(0), os::hardware_capabilities(1)};
    for (const Capability& c : kCapabilities) {
        if (words[c.word] >> c.position & 1) features.isa |= c.bit;
    }
    if (features.has(TENON_ARM_SVE)) features.sve_bytes = os::sve_vector_bytes();
    return features;
}

}  // namespace tenon::detail
