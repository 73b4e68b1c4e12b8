// Reasons for placement, as words and as text.
#pragma once

#include "core/placement/scheduler.h"

namespace tenon::placement {

// The stable word of a reason: "weights".
const char* why_word(Why why);

// "M0: only f32 (type); CPU: …": why each backend of the mask refuses the node, as far as it fits.
void write_refusals(const ggml_backend_sched& sched, const Item& item, BackendMask mask, char* out,
                    size_t size);

}  // namespace tenon::placement
