// The part of hardware.h that POSIX answers.

#include <unistd.h>

#include "plugins/cpu/hardware.h"

namespace tenon::cpu {

uint64_t memory_total() {
    const long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_size <= 0) return 0;
    return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_size);
}

}  // namespace tenon::cpu
