/* ext/proc.h - tenon.proc/1, offered by the plugin: raw functions an application asks for by
 * name (last resort). */
#ifndef TENON_EXT_PROC_H
#define TENON_EXT_PROC_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXT_PROC "tenon.proc/1"
typedef struct tenon_ext_proc {
    uint32_t struct_size;
    uint32_t reserved0;
    void *(*proc)(tenon_plugin_ctx *, const char *name);                             /* [any] */
} tenon_ext_proc;

#ifdef __cplusplus
}
#endif
#endif /* TENON_EXT_PROC_H */
