/* ext/cpu.h - org.tenon.cpu.dot/1, offered by the CPU plugin: its row conversions and dot products, which
 * ggml_get_type_traits_cpu shows to tests and benchmarks. */
#ifndef TENON_EXT_CPU_H
#define TENON_EXT_CPU_H

#include <stdint.h>

#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* plugin: `rows` has one entry per type number, n of them; the table lives as long as the plugin.
 */
#define TENON_EXT_CPU_DOT "org.tenon.cpu.dot/1"

typedef void (*tenon_cpu_vec_dot)(int n, float* s, size_t bs, const void* x, size_t bx,
                                  const void* y, size_t by, int nrc);

typedef struct tenon_cpu_dot_row {
    void (*from_float)(const float* x, void* y, int64_t n); /* NULL: no conversion */
    tenon_cpu_vec_dot vec_dot;                              /* NULL: no dot product */
    int32_t vec_dot_type; /* enum ggml_type the other operand is converted to */
    int32_t nrows;        /* rows one call can handle: 1 or 2 */
} tenon_cpu_dot_row;

typedef struct tenon_ext_cpu_dot {
    uint32_t struct_size;
    uint32_t n;
    const tenon_cpu_dot_row* rows;
} tenon_ext_cpu_dot;

#ifdef __cplusplus
}
#endif
#endif /* TENON_EXT_CPU_H */
