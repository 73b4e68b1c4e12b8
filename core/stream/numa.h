// Memory nodes of the machine, and which of them the members of a team belong to.
#pragma once

#include <cstdint>

namespace tenon {

// Fills mask[GGML_MAX_N_THREADS] with the CPUs member `member` of any team should stay on. False,
// and mask untouched, when nobody asked for NUMA placement (ggml_numa_init) or there is one node.
bool numa_mask(uint32_t member, bool* mask);

}  // namespace tenon
