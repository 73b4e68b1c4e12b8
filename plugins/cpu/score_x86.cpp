// The last veto on x86-64: can this file run here? Baseline code, see entry.cpp.

#include "plugins/cpu/plugin.h"

#include TENON_CPU_VARIANT_HEADER

namespace tenon::cpu {

int32_t score(const tenon_host*, tenon_error* error) {
    __builtin_cpu_init();
    const bool avx512_core =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw");
    const struct {
        uint32_t bit;
        bool present;
        const char* refusal;
    } checks[] = {
        {TENON_X86_SSE42, __builtin_cpu_supports("sse4.2") != 0, "needs SSE4.2"},
        {TENON_X86_AVX, __builtin_cpu_supports("avx") != 0, "needs AVX"},
        {TENON_X86_F16C, __builtin_cpu_supports("f16c") != 0, "needs F16C"},
        {TENON_X86_FMA, __builtin_cpu_supports("fma") != 0, "needs FMA"},
        {TENON_X86_AVX2, __builtin_cpu_supports("avx2") != 0, "needs AVX2"},
        {TENON_X86_BMI2, __builtin_cpu_supports("bmi2") != 0, "needs BMI2"},
        {TENON_X86_AVX512_CORE, avx512_core, "needs AVX-512 F, CD, VL, DQ and BW"},
        {TENON_X86_AVX512_VNNI, __builtin_cpu_supports("avx512vnni") != 0, "needs AVX-512 VNNI"},
    };
    for (const auto& check : checks) {
        if ((kNote.isa_need[0] & check.bit) && !check.present) {
            tenon_fail(error, TENON_E_UNSUPPORTED, 0, nullptr, check.refusal);
            return 0;
        }
    }
    return 1;
}

}  // namespace tenon::cpu
