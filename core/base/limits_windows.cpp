// Windows: memory and affinity of the process.

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <algorithm>

#include "core/base/limits.h"

namespace tenon::os {
namespace {

uint32_t cpus_of_affinity() {
    DWORD_PTR process = 0, system = 0;
    if (!::GetProcessAffinityMask(::GetCurrentProcess(), &process, &system) || !process) {
        // Zero: the process spans several groups of 64 and may use all of them.
        return std::max<uint32_t>(1, ::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
    }
    uint32_t n = 0;
    for (; process; process &= process - 1) ++n;
    return n;
}

}  // namespace

Limits process_limits(const LimitSources&) {
    Limits limits;
    limits.cpus = cpus_of_affinity();
    MEMORYSTATUSEX status{};
    status.dwLength = sizeof status;
    if (::GlobalMemoryStatusEx(&status)) {
        limits.memory_total = status.ullTotalPhys;
        limits.memory_available = status.ullAvailPhys;
        limits.address_space = status.ullAvailVirtual;
    }
    return limits;
}

Limits process_limits() { return process_limits(LimitSources{}); }

}  // namespace tenon::os
