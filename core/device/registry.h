// The two ordered lists of the process: registrations and devices.
#pragma once

#include <vector>

#include "core/device/device.h"

namespace tenon {

// An immutable state of the lists. Lives until the process ends, so readers need no lock.
struct RegistrySnapshot {
    std::vector<ggml_backend_reg_t> regs;
    std::vector<ggml_backend_dev_t> devices;  // as applications index them
    std::vector<ggml_backend_dev_t> hidden;   // found by exact name only
};

// What the first use of the registry calls, and every later one: it costs next to nothing once the
// default plugins are loaded. Whoever puts the library together defines it (the loader does), as a
// constant, so that it is there before any constructor runs.
using LoadFunction = void (*)();
extern const LoadFunction load_on_first_use;

// The present state. `registry()` loads the default plugins on first use, `loaded_registry()` never
// loads anything.
const RegistrySnapshot& registry();
const RegistrySnapshot& loaded_registry();

}  // namespace tenon
