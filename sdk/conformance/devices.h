// What tests ask of the streams they open.
#pragma once

#include "ggml-backend.h"

namespace tenon::conformance {

// Functions of the registry behind a CPU stream; throw std::runtime_error when it lacks them.
void set_n_threads(ggml_backend_t cpu, int n);
// Every node on its own, no shortcuts.
void use_reference_kernels(ggml_backend_t cpu);

}  // namespace tenon::conformance
