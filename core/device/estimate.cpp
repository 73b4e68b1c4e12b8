// Estimated times of nodes.

#include "core/device/estimate.h"

#include <algorithm>
#include <cmath>

#include "core/device/plugin_adapter.h"
#include "tenon/ext/cost.h"
#include "tenon/work.h"

namespace tenon {
namespace {

// Per second: f32, f16 and 8-bit operations, bytes; then the start of a node in nanoseconds. Orders
// of magnitude, for devices whose plugins tell neither times nor rates.
struct KindRates {
    double flops_f32, flops_f16, ops_i8, bytes;
    uint64_t launch_ns;
};
constexpr KindRates kKinds[] = {
    {100e9, 100e9, 200e9, 20e9, 100},    // TENON_DEVICE_CPU
    {10e12, 20e12, 40e12, 400e9, 5000},  // TENON_DEVICE_GPU
    {1e12, 2e12, 2e12, 50e9, 10000},     // TENON_DEVICE_IGPU
    {1e12, 4e12, 8e12, 50e9, 20000},     // TENON_DEVICE_ACCEL, and kinds of later versions
};
static_assert(TENON_DEVICE_CPU == 0 && TENON_DEVICE_GPU == 1 && TENON_DEVICE_IGPU == 2 &&
              TENON_DEVICE_ACCEL == 3);

// How far to trust a time, 0 … 100, where the plugin gives none.
constexpr uint32_t kMeasuredRates = 30, kToldRates = 20, kRatesOfTheKind = 5;

bool is_rate(double x) { return std::isfinite(x) && x > 0; }

Rates rates_of_kind(uint32_t kind) {
    const KindRates& k = kKinds[std::min<uint32_t>(kind, TENON_DEVICE_ACCEL)];
    Rates rates;
    rates.model.flops_f32 = k.flops_f32;
    rates.model.flops_f16 = k.flops_f16;
    rates.model.ops_i8 = k.ops_i8;
    rates.model.bytes_per_s = k.bytes;
    rates.model.launch_ns = k.launch_ns;
    return rates;
}

double ops_per_second(const tenon_cost_model& model, uint32_t kind) {
    switch (kind) {
        case TENON_WORK_PRODUCT_F16:
            return model.flops_f16;
        case TENON_WORK_PRODUCT_I8:
            return model.ops_i8;
        default:
            return model.flops_f32;
    }
}

uint64_t whole_ns(double ns) {
    constexpr double kMost = 9e18;
    return static_cast<uint64_t>(std::clamp(ns, 1.0, kMost));
}

}  // namespace

Rates rates_of(const ggml_backend_device& device) {
    Rates rates = rates_of_kind(device.info.kind);
    const auto* cost = static_cast<const tenon_ext_cost*>(device_extension(device, TENON_EXT_COST));
    if (!TENON_HAS(cost, tenon_ext_cost, model)) return rates;
    tenon_cost_model told{};
    told.struct_size = sizeof told;
    PluginError error;
    if (call_plugin(error, cost->model, device.handle, &told) != TENON_OK) return rates;
    // Without a rate for arithmetic and one for memory there is nothing to compute with.
    if (!is_rate(told.flops_f32) || !is_rate(told.bytes_per_s)) return rates;
    if (!is_rate(told.flops_f16)) told.flops_f16 = told.flops_f32;
    if (!is_rate(told.ops_i8)) told.ops_i8 = told.flops_f16;
    return {told, TENON_ESTIMATE_RATES};
}

tenon_estimate estimate(const Rates& rates, const ggml_tensor& node,
                        const tenon_op_verdict& verdict) {
    tenon_estimate e{};
    e.struct_size = sizeof e;
    const tenon_work work = tenon_node_work(&node);
    if (work.kind == TENON_WORK_NOTHING) {
        e.source = TENON_ESTIMATE_NOTHING;
        e.confidence = 100;
        return e;
    }
    if (verdict.time_ns > 0) {
        e.source = TENON_ESTIMATE_PLUGIN;
        e.confidence = std::min(verdict.confidence, 100u);
        e.time_ns = verdict.time_ns;
        return e;
    }
    const tenon_cost_model& model = rates.model;
    const double bytes = work.bytes_read + work.bytes_written;
    const double seconds =
        std::max(work.ops / ops_per_second(model, work.kind), bytes / model.bytes_per_s);
    e.source = rates.source;
    e.confidence = rates.source == TENON_ESTIMATE_KIND ? kRatesOfTheKind
                   : model.measured                    ? kMeasuredRates
                                                       : kToldRates;
    e.time_ns = whole_ns(static_cast<double>(model.launch_ns) + seconds * 1e9);
    return e;
}

}  // namespace tenon
