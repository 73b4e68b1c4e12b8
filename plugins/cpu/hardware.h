// The few things about the processor and the machine that differ by platform.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cpu {

// Tells the processor that this is a spin loop.
void relax();

// Marketing name of the processor, NUL-terminated, cut to `size` bytes; "CPU" when unknown.
void processor_name(char* out, size_t size);

}  // namespace tenon::cpu
