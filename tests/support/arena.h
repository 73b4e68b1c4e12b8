// A context for one test, freed at its end.
#pragma once

#include <cstddef>

#include "ggml-cpp.h"
#include "ggml.h"

namespace tenon::test {

inline ggml_context_ptr make_arena(size_t bytes = size_t{1} << 20, bool no_alloc = false) {
    ggml_init_params params{};
    params.mem_size = bytes;
    params.no_alloc = no_alloc;
    return ggml_context_ptr(ggml_init(params));
}

}  // namespace tenon::test
