// The AVX2 variant: what its file says about itself before a line of it runs, and what it was built
// with.
#pragma once

#include "tenon/note.hpp"

namespace tenon::cpu {

constexpr tenon_note_desc kNote =
    Note()
        .family("cpu")
        .variant("avx2")
        .id("org.tenon.cpu")
        .version(TENON_VERSION)
        .runs_on(TENON_ARCH_X86_64, TENON_X86_SSE42 | TENON_X86_AVX | TENON_X86_F16C |
                                        TENON_X86_FMA | TENON_X86_AVX2 | TENON_X86_BMI2)
        .rank(20)
        .flags(TENON_NOTE_FORK_SAFE | TENON_NOTE_UNLOADABLE);

constexpr tenon_kv kFeatures[] = {
    {"SSE3", "1"}, {"SSSE3", "1"}, {"AVX", "1"},  {"AVX2", "1"},
    {"F16C", "1"}, {"FMA", "1"},   {"BMI2", "1"},
};

}  // namespace tenon::cpu
