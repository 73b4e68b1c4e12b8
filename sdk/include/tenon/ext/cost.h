/* ext/cost.h - tenon.cost/1, offered by the device: rates the core divides the work of a node by
 * (tenon/work.h) when its verdict carries no time. 0: not told. */
#ifndef TENON_EXT_COST_H
#define TENON_EXT_COST_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXT_COST "tenon.cost/1"
typedef struct tenon_cost_model {
    uint32_t struct_size;
    uint32_t measured;             /* 1 = from a calibration run on this machine */
    /* Per second, sustained, of the whole device. A multiply-add is two. f16: products with f16 or
     * bf16 weights; i8: with quantized ones. */
    double   flops_f32, flops_f16, ops_i8;
    double   bytes_per_s;                          /* device memory */
    double   h2d_bytes_per_s, d2h_bytes_per_s, p2p_bytes_per_s;  /* not read yet */
    uint64_t launch_ns;                            /* that a node takes beside its work */
    uint64_t sync_ns, h2d_latency_ns, d2h_latency_ns;            /* not read yet */
} tenon_cost_model;
typedef struct tenon_ext_cost {
    uint32_t struct_size;
    uint32_t reserved0;
    tenon_status (*model)(tenon_device *, tenon_cost_model *out, tenon_error *err);  /* [any] */
    tenon_status (*calibrate)(tenon_device *, uint64_t budget_ns, tenon_error *err); /* [object] NULL = fixed numbers; not called yet */
} tenon_ext_cost;

#ifdef __cplusplus
}
#endif
#endif /* TENON_EXT_COST_H */
