// The AVX2 variant: what its file says about itself before a line of it runs, and what it was built
// with.
#pragma once

#include "tenon/plugin.h"

namespace tenon::cpu {

constexpr tenon_note_desc kNote = {
    sizeof(tenon_note_desc),
    TENON_ABI_MAJOR,
    TENON_ABI_MINOR,
    /*abi_minor_needed=*/0,
    TENON_TENSOR_LAYOUT_1,
    TENON_NOTE_FORK_SAFE | TENON_NOTE_UNLOADABLE,
    TENON_ARCH_X86_64,
    /*rank=*/20,
    {TENON_X86_SSE42 | TENON_X86_AVX | TENON_X86_F16C | TENON_X86_FMA | TENON_X86_AVX2 |
         TENON_X86_BMI2,
     0, 0, 0},
    "cpu",
    "avx2",
    "org.tenon.cpu",
    TENON_VERSION,
};

constexpr tenon_kv kFeatures[] = {
    {"SSE3", "1"}, {"SSSE3", "1"}, {"AVX", "1"},  {"AVX2", "1"},
    {"F16C", "1"}, {"FMA", "1"},   {"BMI2", "1"},
};

}  // namespace tenon::cpu
