// How long a device is expected to take for a node: what its plugin says, else the node's work over
// the rates the plugin tells, else over what devices of its kind commonly reach.
#pragma once

#include "core/device/device.h"
#include "tenon/ext/cost.h"
#include "tenon/tenon.h"

namespace tenon {

// What a device does per second, and whose word that is. Every rate is finite and above 0.
struct Rates {
    tenon_cost_model model{};
    uint32_t source = TENON_ESTIMATE_KIND;  // or TENON_ESTIMATE_RATES: of tenon.cost/1
};

// One call into the plugin; ask once for many nodes.
Rates rates_of(const ggml_backend_device& device);

// `verdict` is the device's on this node; with the operands where the device computes.
tenon_estimate estimate(const Rates& rates, const ggml_tensor& node,
                        const tenon_op_verdict& verdict);

}  // namespace tenon
