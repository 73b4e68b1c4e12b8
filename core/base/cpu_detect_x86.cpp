// x86-64: what CPUID promises, as far as the operating system saves the registers (XCR0).

#include <cpuid.h>

#include "core/base/cpu_features.h"
#include "core/base/os.h"
#include "tenon/plugin.h"

namespace tenon::detail {
namespace {

constexpr IsaBit kBits[] = {
    {TENON_X86_SSE42, "sse42"},
    {TENON_X86_AVX, "avx"},
    {TENON_X86_F16C, "f16c"},
    {TENON_X86_FMA, "fma"},
    {TENON_X86_AVX2, "avx2"},
    {TENON_X86_BMI2, "bmi2"},
    {TENON_X86_AVX512_CORE, "avx512_core"},
    {TENON_X86_AVX512_VBMI, "avx512_vbmi"},
    {TENON_X86_AVX512_VNNI, "avx512_vnni"},
    {TENON_X86_AVX512_BF16, "avx512_bf16"},
    {TENON_X86_AVX512_FP16, "avx512_fp16"},
    {TENON_X86_AVX_VNNI, "avx_vnni"},
    {TENON_X86_AMX_INT8, "amx_int8"},
    {TENON_X86_AMX_BF16, "amx_bf16"},
};

constexpr uint64_t kAmx = TENON_X86_AMX_INT8 | TENON_X86_AMX_BF16;
constexpr uint64_t kAvx512 = TENON_X86_AVX512_CORE | TENON_X86_AVX512_VBMI | TENON_X86_AVX512_VNNI |
                             TENON_X86_AVX512_BF16 | TENON_X86_AVX512_FP16;
constexpr uint64_t kAvx =
    TENON_X86_AVX | TENON_X86_F16C | TENON_X86_FMA | TENON_X86_AVX2 | TENON_X86_AVX_VNNI | kAvx512;

struct Registers {
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf) {
    Registers r;
    if (leaf <= __get_cpuid_max(0, nullptr)) {
        __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
    }
    return r;
}

constexpr bool bit(uint32_t word, int i) { return (word >> i) & 1; }

// Extended control register 0: which register files the operating system saves.
uint64_t xcr0() {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return static_cast<uint64_t>(high) << 32 | low;
}

uint64_t promised(const Registers& l1, const Registers& l7, const Registers& l71) {
    uint64_t isa = 0;
    const auto add = [&](uint64_t feature, bool there) { isa |= there ? feature : 0; };
    // SSE4.2 stands for x86-64-v2: POPCNT, SSSE3, SSE4.1 and SSE4.2.
    add(TENON_X86_SSE42, bit(l1.ecx, 9) && bit(l1.ecx, 19) && bit(l1.ecx, 20) && bit(l1.ecx, 23));
    add(TENON_X86_AVX, bit(l1.ecx, 28));
    add(TENON_X86_F16C, bit(l1.ecx, 29));
    add(TENON_X86_FMA, bit(l1.ecx, 12));
    add(TENON_X86_AVX2, bit(l7.ebx, 5));
    add(TENON_X86_BMI2, bit(l7.ebx, 8));
    add(TENON_X86_AVX512_CORE, bit(l7.ebx, 16) && bit(l7.ebx, 17) && bit(l7.ebx, 28) &&
                                   bit(l7.ebx, 30) && bit(l7.ebx, 31));
    add(TENON_X86_AVX512_VBMI, bit(l7.ecx, 1));
    add(TENON_X86_AVX512_VNNI, bit(l7.ecx, 11));
    add(TENON_X86_AVX512_BF16, bit(l71.eax, 5));
    add(TENON_X86_AVX512_FP16, bit(l7.edx, 23));
    add(TENON_X86_AVX_VNNI, bit(l71.eax, 4));
    add(TENON_X86_AMX_INT8, bit(l7.edx, 24) && bit(l7.edx, 25));
    add(TENON_X86_AMX_BF16, bit(l7.edx, 24) && bit(l7.edx, 22));
    return isa;
}

void mask_all(CpuFeatures& features, uint64_t bits, const char* reason) {
    for (const IsaBit& row : kBits) {
        if (bits & row.bit) features.mask(row.bit, reason);
    }
}

}  // namespace

const std::span<const IsaBit> kIsaBits = kBits;

uint64_t dependent_bits(uint64_t feature) {
    switch (feature) {
        case TENON_X86_SSE42:
            return kAvx | kAmx | feature;
        case TENON_X86_AVX:
            return kAvx;
        case TENON_X86_AVX2:
            return kAvx512 | TENON_X86_AVX_VNNI | feature;
        case TENON_X86_AVX512_CORE:
            return kAvx512;
        default:
            return feature;
    }
}

CpuFeatures detect_cpu() {
    const Registers leaf1 = cpuid(1, 0), leaf7 = cpuid(7, 0);
    const Registers leaf7_1 = leaf7.eax >= 1 ? cpuid(7, 1) : Registers{};
    CpuFeatures features;
    features.arch = TENON_ARCH_X86_64;
    features.isa = promised(leaf1, leaf7, leaf7_1);

    const bool os_saves_extended = bit(leaf1.ecx, 27);  // OSXSAVE
    const uint64_t saved = os_saves_extended ? xcr0() : 0;
    constexpr uint64_t kYmm = 0x6, kZmm = 0xE0, kTiles = 0x60000;
    if ((saved & kYmm) != kYmm) {
        mask_all(features, kAvx, "operating system did not enable it (XCR0 bits 1-2)");
    }
    if ((saved & kZmm) != kZmm) {
        mask_all(features, kAvx512, "operating system did not enable it (XCR0 bits 5-7)");
    }
    if ((saved & kTiles) != kTiles) {
        mask_all(features, kAmx, "operating system did not enable it (XCR0 bits 17-18)");
    } else if ((features.isa & kAmx) && !os::request_amx_tiles()) {
        mask_all(features, kAmx, "operating system refused permission");
    }
    // Extensions make no sense without what they extend; some virtual machines offer them so.
    for (const IsaBit& row : kBits) {
        if (features.isa & row.bit) continue;
        mask_all(features, dependent_bits(row.bit) & ~row.bit, "what it extends is missing");
    }
    return features;
}

}  // namespace tenon::detail
