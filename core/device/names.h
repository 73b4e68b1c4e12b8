// Names that must be unique in the process: devices (without regard to case) and buffer types.
#pragma once

#include <string>

#include "core/device/device.h"

namespace tenon {

// Well-formed UTF-8; NULL counts as an absent text and is fine.
bool is_utf8(const char* text);

// Equal without regard to the case of ASCII letters.
bool same_name(const char* a, const char* b);

// Takes a name for a device: fails, naming who has it, when it is in use. The core's own buffer
// types are in use from the start.
Result<void> claim_device_name(const ggml_backend_device& device);
Result<void> claim_buffer_type_name(const std::string& name, const ggml_backend_device& device);

// Gives back the names a device holds.
void release_names_of(const ggml_backend_device& device);

}  // namespace tenon
