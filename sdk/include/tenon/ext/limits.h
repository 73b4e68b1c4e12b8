/* ext/limits.h - tenon.limits/1, offered by the host: what the process may use of the machine. A
 * plugin asks here instead of the system: containers, services and batch systems give less than
 * there is, and everybody in the process should believe the same figures. */
#ifndef TENON_EXT_LIMITS_H
#define TENON_EXT_LIMITS_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXT_LIMITS "tenon.limits/1"
typedef struct tenon_process_limits {
    uint32_t struct_size;
    uint32_t cpus;             /* at least 1: affinity, then quota rounded up */
    uint64_t memory_total;     /* bytes it may have at all; 0 = unknown */
    uint64_t memory_available; /* bytes it may still take; what is only cached counts */
    uint64_t address_space;    /* bytes it may still map; UINT64_MAX = no limit */
    uint64_t lockable_memory;  /* bytes it may lock; UINT64_MAX = no limit */
    uint64_t threads;          /* it may still start; UINT64_MAX = no limit */
} tenon_process_limits;
typedef struct tenon_ext_host_limits {
    uint32_t struct_size;
    uint32_t reserved0;
    /* As things are now: some 100 us. The caller sets struct_size and zeroes the rest.   [any] */
    tenon_status (*limits)(const tenon_host *, tenon_process_limits *out);
} tenon_ext_host_limits;

#ifdef __cplusplus
}
#endif
#endif /* TENON_EXT_LIMITS_H */
