// Every function of ggml.h that makes a tensor, with arguments from dice.
#pragma once

#include <functional>
#include <tuple>
#include <vector>

#include "tests/support/api_fuzz.h"

namespace tenon::test {

struct BuilderRow {
    const char* name;
    std::function<ggml_tensor*(Arguments&)> call;
};
const std::vector<BuilderRow>& builders();

}  // namespace tenon::test
