// The Arm NEON variant: what its file says about itself before a line of it runs, and what it was
// built with.
#pragma once

#include "tenon/note.hpp"

namespace tenon::cpu {

constexpr tenon_note_desc kNote = Note()
                                      .family("cpu")
                                      .variant("neon")
                                      .id("org.tenon.cpu")
                                      .version(TENON_VERSION)
                                      .runs_on(TENON_ARCH_AARCH64)
                                      .rank(10)
                                      .flags(TENON_NOTE_FORK_SAFE | TENON_NOTE_UNLOADABLE);

constexpr tenon_kv kFeatures[] = {
    {"NEON", "1"},
    {"ARM_FMA", "1"},
};

}  // namespace tenon::cpu
