// Levels: dot products built with more instructions than the variant has, used where the processor
// has them. Each is the same source in a namespace of its own, so that no inline function of it can
// take the place of one that runs everywhere.
#pragma once

#include <cstdint>
#include <span>

#include "plugins/cpu/dot/dot.h"

namespace tenon::cpu {

struct DotLevel {
    const char* isa[2];   // bits it needs beside the variant's, as in TENON_CPU_FEATURES; or NULL
    const char* feature;  // as ggml's list of features names it
    bool (*usable)();     // on this processor and operating system
    const DotType* (*find)(ggml_type type);  // NULL: nothing for this type
};

// Those of this build, best first: levels_<variant>.cpp.
std::span<const DotLevel> dot_levels();

// Bit i: level i is in use. All usable ones, unless they were limited.
uint32_t dot_levels_in_use();
// Uses no level but those in `mask`, and of them the usable ones. Before anything is planned, since
// a plan counts on the products it saw.
void limit_dot_levels(uint32_t mask);
// The levels that a list of features to do without, "-avx512_bf16,-avx_vnni", leaves. NULL: all.
uint32_t dot_levels_without(const char* features);

// The product of the best level in use; NULL: none has one for this type.
const DotType* find_level_dot(ggml_type type);

}  // namespace tenon::cpu
