/* ext/threads.h - tenon.threads/1, offered by the host: one worker pool for the whole process. */
#ifndef TENON_EXT_THREADS_H
#define TENON_EXT_THREADS_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXT_THREADS "tenon.threads/1"
typedef struct tenon_ext_host_threads {
    uint32_t struct_size;
    uint32_t reserved0;
    uint32_t   (*budget)(const tenon_host *);                                        /* [any] cores the process may use */
    tenon_team *(*team_get)(const tenon_host *, uint32_t n, uint32_t *granted);      /* [any] granted <= n members that run at the same time */
    void       (*team_put)(const tenon_host *, tenon_team *);                        /* [any] */
    /* Runs fn(arg, 0..granted-1), all members concurrently, so fn may use barriers. Caller is member 0. */
    tenon_status (*team_run)(tenon_team *, void (*fn)(void *arg, uint32_t member, uint32_t members), void *arg); /* [object] */
    /* Independent chunks, no concurrency promise, safe to nest (nested calls run inline). */
    tenon_status (*parallel_for)(const tenon_host *, uint64_t n, uint64_t grain,
                                 void (*fn)(void *arg, uint64_t begin, uint64_t end), void *arg);        /* [any] */
} tenon_ext_host_threads;

#ifdef __cplusplus
}
#endif
#endif /* TENON_EXT_THREADS_H */
