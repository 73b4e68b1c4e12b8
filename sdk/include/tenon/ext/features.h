/* ext/features.h - tenon.features/1, offered by the plugin: what the binary was built with,
 * shown by rt-info and by the ggml feature list. */
#ifndef TENON_EXT_FEATURES_H
#define TENON_EXT_FEATURES_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXT_FEATURES "tenon.features/1"
typedef struct tenon_ext_features {
    uint32_t struct_size;
    uint32_t n;
    const tenon_kv *items;         /* {"AVX512","1"}, {"ARCHS","750,860,900"} */
} tenon_ext_features;

#ifdef __cplusplus
}
#endif
#endif /* TENON_EXT_FEATURES_H */
