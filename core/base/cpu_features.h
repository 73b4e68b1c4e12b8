// What processor and operating system allow together, as the isa bits of tenon/plugin.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tenon {

// One isa bit of this architecture.
struct IsaBit {
    uint64_t bit;      // TENON_X86_… or TENON_ARM_…
    const char* name;  // "avx512_core", as in TENON_CPU_FEATURES
};

// All bits that exist for this architecture, in ascending order.
std::span<const IsaBit> isa_bits();

// Name of one bit: "avx512_core"; "unknown" for none of this architecture.
const char* isa_bit_name(uint64_t bit);

// A feature the processor has that must not be used, and why.
struct MaskedFeature {
    uint64_t bit;
    const char* reason;  // "operating system did not enable it (XCR0 bits 17-18)"
};

struct CpuFeatures {
    uint32_t arch = 0;  // TENON_ARCH_…
    uint64_t isa = 0;   // usable
    int sve_bytes = 0;  // vector length of SVE; 0 without
    MaskedFeature masked[16] = {};
    int n_masked = 0;

    bool has(uint64_t bits) const { return (isa & bits) == bits; }
    void mask(uint64_t bit, const char* reason);  // moves a bit from isa to masked
};

// Asked of the hardware once; TENON_CPU_FEATURES=-name,-name removes bits, for tests. Any thread.
const CpuFeatures& cpu_features();

// Removes what a list "-avx512_core,-amx_int8" names; a bit that needs a removed one goes too.
// Entries that are not "-name" with a known name change nothing; they are given back, separated by
// commas.
std::string remove_features(CpuFeatures& features, const char* list);

namespace detail {
// Without the mask. One definition per architecture: cpu_detect_<arch>.cpp.
CpuFeatures detect_cpu();
extern const std::span<const IsaBit> kIsaBits;
// Bits that are useless without `bit`, itself included.
uint64_t dependent_bits(uint64_t bit);
}  // namespace detail

}  // namespace tenon
