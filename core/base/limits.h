// What this process may use of the machine. Containers, services and batch systems give less than
// there is: control groups (v1 and v2, the process's own group and those around it), the affinity
// mask, resource limits. Everything in the tree that sizes itself by the machine asks here; plugins
// ask through the extension tenon.limits/1 of the host.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::os {

inline constexpr uint64_t kNoLimit = UINT64_MAX;

struct Limits {
    uint64_t memory_total = 0;            // bytes it may have at all; 0: unknown
    uint64_t memory_available = 0;        // bytes it may still take; what is only cached counts
    uint64_t address_space = kNoLimit;    // bytes it may still map
    uint64_t lockable_memory = kNoLimit;  // bytes it may lock
    uint64_t threads = kNoLimit;          // it may still start
    uint32_t cpus = 1;                    // affinity, then quota rounded up; at least 1
};

// As things are now: reads a dozen small files, some 100 us. Any thread.
Limits process_limits();

// For tests: where the system shows its groups and processes.
struct LimitSources {
    std::string cgroup = "/sys/fs/cgroup", proc = "/proc";
};
Limits process_limits(const LimitSources& from);

}  // namespace tenon::os
