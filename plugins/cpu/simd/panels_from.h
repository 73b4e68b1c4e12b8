// From how many columns on products by panels (dot/panels.h) are faster than tiles. A property of
// an instruction set like the number of its registers: each header has its figures.
#pragma once

#include <cstdint>

#include "plugins/cpu/level.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL::simd {

constexpr int64_t kNeverPanels = INT64_MAX;

struct PanelsFrom {  // per type of the weights
    int64_t f32, f16, bf16;
    int64_t blocks;  // quantised
    int64_t minima;  // q4_1 and q5_1, whose tiles add minima one by one
};

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL::simd
