// What one thread of this variant does per nanosecond. The estimated times of all nodes come from
// here: their work (tenon/work.h) over these rates.
#pragma once

#include "tenon/ext/cost.h"
#include "tenon/work.h"

namespace tenon::cpu {

// On one thread; a kernel knows how much it is slower than others at work of the kind.
double time_ns(const tenon_work& work);

// The rates of n threads together, as tenon.cost/1 tells them.
void fill_cost_model(uint32_t n_threads, tenon_cost_model& out);

}  // namespace tenon::cpu
