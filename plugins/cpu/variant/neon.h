// The Arm NEON variant: what its file says about itself before a line of it runs, and what it was
// built with.
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
    TENON_ARCH_AARCH64,
    /*rank=*/10,
    {0, 0, 0, 0},
    "cpu",
    "neon",
    "org.tenon.cpu",
    TENON_VERSION,
};

constexpr tenon_kv kFeatures[] = {
    {"NEON", "1"},
    {"ARM_FMA", "1"},
};

}  // namespace tenon::cpu
