// Names that must be unique in the process, without regard to case: registrations, devices, buffer
// types. "CPU", and buffer types that begin with it, belong to the core and the family cpu:
// programs look for them by name.
#pragma once

#include <string>

#include "core/device/device.h"

namespace tenon {

// Equal without regard to the case of ASCII letters.
bool same_name(const char* a, const char* b);

bool is_of_cpu_family(const ggml_backend_reg& reg);

// Takes a name: fails, naming who has it, when it is in use or reserved. A registration that may
// stand beside others of its family is called "NAME-VARIANT" when one of them has its name.
Result<void> claim_registration_name(ggml_backend_reg& reg, bool coexists);
Result<void> claim_device_name(const ggml_backend_device& device);
Result<void> claim_buffer_type_name(const std::string& name, const ggml_backend_device& device);

// Gives back the names a device, a registration holds.
void release_names_of(const ggml_backend_device& device);
void release_name_of(const ggml_backend_reg& reg);

}  // namespace tenon
