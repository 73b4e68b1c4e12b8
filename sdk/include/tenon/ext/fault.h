/* ext/fault.h - tenon.fault/1, offered by the device: faults on demand, for the kit and for
 * tests. n counts from 1, from this call on; 0 switches off. */
#ifndef TENON_EXT_FAULT_H
#define TENON_EXT_FAULT_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXT_FAULT "tenon.fault/1"
typedef struct tenon_ext_fault {
    uint32_t struct_size;
    uint32_t reserved0;
    void (*fail_alloc)(tenon_device *, uint64_t n);  /* [any] the n-th buffer_alloc answers NO_DEVICE_MEMORY, once */
    void (*lose_device)(tenon_device *, uint64_t n); /* [any] the n-th graph_run answers DEVICE_LOST, which then stays */
} tenon_ext_fault;

#ifdef __cplusplus
}
#endif
#endif /* TENON_EXT_FAULT_H */
