// Functions found by name: see devices.h.

#include "sdk/conformance/devices.h"

#include <stdexcept>
#include <string>

namespace tenon::conformance {
namespace {

template <class Function>
Function find(ggml_backend_t stream, const char* name) {
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(stream));
    void* found = ggml_backend_reg_get_proc_address(reg, name);
    if (!found) throw std::runtime_error(std::string("the registry has no ") + name);
    return reinterpret_cast<Function>(found);
}

}  // namespace

void set_n_threads(ggml_backend_t cpu, int n) {
    find<ggml_backend_set_n_threads_t>(cpu, "ggml_backend_set_n_threads")(cpu, n);
}

void use_reference_kernels(ggml_backend_t cpu) {
    find<void (*)(ggml_backend_t, bool)>(cpu, "ggml_backend_cpu_set_use_ref")(cpu, true);
}

}  // namespace tenon::conformance
