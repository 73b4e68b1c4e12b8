// hardware.h on x86-64.

#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

#include "plugins/cpu/hardware.h"

namespace tenon::cpu {

void relax() { _mm_pause(); }

void processor_name(char* out, size_t size) {
    unsigned regs[12] = {};
    unsigned highest = 0, unused = 0;
    __get_cpuid(0x80000000u, &highest, &unused, &unused, &unused);
    char name[sizeof regs + 1] = "CPU";
    if (highest >= 0x80000004u) {
        for (unsigned k = 0; k < 3; ++k) {
            __get_cpuid(0x80000002u + k, &regs[4 * k], &regs[4 * k + 1], &regs[4 * k + 2],
                        &regs[4 * k + 3]);
        }
        std::memcpy(name, regs, sizeof regs);
        name[sizeof regs] = 0;
    }
    const char* text = name;
    while (*text == ' ') ++text;  // some processors pad on the left, some on the right
    size_t n = std::strlen(text);
    while (n > 0 && text[n - 1] == ' ') --n;
    if (n == 0) text = "CPU", n = 3;
    if (n >= size) n = size - 1;
    std::memcpy(out, text, n);
    out[n] = 0;
}

}  // namespace tenon::cpu
