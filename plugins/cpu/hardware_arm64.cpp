// hardware.h on arm64.

#include <cstring>

#include "plugins/cpu/hardware.h"

namespace tenon::cpu {

void relax() { asm volatile("yield"); }

// The instruction set has no name to ask for.
void processor_name(char* out, size_t size) {
    const char text[] = "Arm CPU";
    const size_t n = sizeof text <= size ? sizeof text : size;
    std::memcpy(out, text, n);
    out[n - 1] = 0;
}

}  // namespace tenon::cpu
