/* ext/profile.h - tenon.profile/1, offered by the stream: per-node timing, delivered at
 * synchronize. */
#ifndef TENON_EXT_PROFILE_H
#define TENON_EXT_PROFILE_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXT_PROFILE "tenon.profile/1"
typedef struct tenon_profile_record {
    uint32_t first_node, n_nodes;  /* n_nodes > 1 for a fused kernel */
    uint64_t begin_ns, end_ns;     /* host->now_ns time base */
    uint64_t bytes;
    const char *kernel;            /* static text or NULL */
} tenon_profile_record;
typedef struct tenon_ext_profile {
    uint32_t struct_size;
    uint32_t reserved0;
    void *(*sink_new)(tenon_stream *, void (*emit)(void *arg, const tenon_profile_record *), void *arg); /* [object] */
    void  (*sink_free)(tenon_stream *, void *sink);                                  /* [object] */
} tenon_ext_profile;

#ifdef __cplusplus
}
#endif
#endif /* TENON_EXT_PROFILE_H */
