// The baseline x86-64 (v2) variant: what its file says about itself before a line of it runs, and
// what it was built with.
#pragma once

#include "tenon/note.hpp"

namespace tenon::cpu {

constexpr tenon_note_desc kNote = Note()
                                      .family("cpu")
                                      .variant("x64")
                                      .id("org.tenon.cpu")
                                      .version(TENON_VERSION)
                                      .runs_on(TENON_ARCH_X86_64, TENON_X86_SSE42)
                                      .rank(10)
                                      .flags(TENON_NOTE_FORK_SAFE | TENON_NOTE_UNLOADABLE);

constexpr tenon_kv kFeatures[] = {
    {"SSE3", "1"},
    {"SSSE3", "1"},
};

}  // namespace tenon::cpu
