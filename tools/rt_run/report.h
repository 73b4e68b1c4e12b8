// What rt-run says at the end: speed, memory, placement; as text or JSON.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>

#include "tools/rt_run/generate.h"

namespace rt_run {

// The summary line and, per device, what memory is used for.
void print_summary(std::FILE* out, const Generation& generation, const Session& session);
nlohmann::ordered_json to_json(const Generation& generation, const Session& session);

// Which device runs each node of the last graph, and why.
void print_placement(std::FILE* out, const Session& session);
nlohmann::ordered_json placement_json(const Session& session);

}  // namespace rt_run
