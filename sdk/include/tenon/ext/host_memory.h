/* ext/host_memory.h - tenon.host-memory/1, offered by the device: pinning of memory the
 * application already owns. */
#ifndef TENON_EXT_HOST_MEMORY_H
#define TENON_EXT_HOST_MEMORY_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXT_HOST_MEMORY "tenon.host-memory/1"
typedef struct tenon_ext_host_memory {
    uint32_t struct_size;
    uint32_t reserved0;
    tenon_status (*pin)(tenon_device *, void *p, uint64_t size, tenon_error *err);   /* [any] */
    tenon_status (*unpin)(tenon_device *, void *p, tenon_error *err);                /* [any] */
} tenon_ext_host_memory;

#ifdef __cplusplus
}
#endif
#endif /* TENON_EXT_HOST_MEMORY_H */
