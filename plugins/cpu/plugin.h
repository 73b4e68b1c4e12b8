// What entry.cpp needs of the rest of the plugin: functions of the plugin table. Declarations only,
// since entry.cpp and score.cpp run before the variant is accepted.
#pragma once

#include "tenon/plugin.h"

namespace tenon::cpu {

// score_<arch>.cpp, baseline code
int32_t score(const tenon_host* host, tenon_error* error);

// device.cpp
tenon_status init(const tenon_host* host, const tenon_plugin_config* config, tenon_plugin_ctx** out,
                  tenon_error* error);
void shutdown(tenon_plugin_ctx* ctx);
uint32_t device_count(tenon_plugin_ctx* ctx);
tenon_status device_info(tenon_plugin_ctx* ctx, uint32_t index, tenon_device_info* out,
                         tenon_error* error);
tenon_status device_open(tenon_plugin_ctx* ctx, uint32_t index, const tenon_open_params* params,
                         tenon_device** out, tenon_error* error);
const void* plugin_extension(tenon_plugin_ctx* ctx, const char* id);

}  // namespace tenon::cpu
