/* tenon/tenon.h - what the ggml API lacks: texts for errors, the plugins and why one was not loaded,
 * details of devices, the op table, and reasons for placement.
 *
 * Records start with struct_size, set by the caller; fields beyond it are not written. Strings
 * belong to the library and stay valid until the process ends, unless a comment says otherwise.
 * Any thread may call any function here.
 */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml-backend.h"
#include "ggml.h"
#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---------------------------------------------------------------------------------- */

/* The first error of this thread that nobody had read, as one line: lower case, naming the thing and
 * the numbers. "" when there was none. Valid until the next error of this thread; reading it makes
 * room for the next one. */
GGML_API const char* tenon_last_error(void);
GGML_API void tenon_clear_error(void);

/* ---- version --------------------------------------------------------------------------------- */

GGML_API const char* tenon_version(void); /* "0.1.0", of the library */

#ifdef __cplusplus
}
#endif
#endif /* TENON_TENON_H */
