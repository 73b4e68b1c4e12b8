// The rates of a thread, and times made of them.

#include "plugins/cpu/rates.h"

#include <algorithm>

#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

constexpr double kLanes = simd::f32::lanes;

// Operations per nanosecond, in order of enum tenon_work_kind. About what kernels reach on a core
// of 3 GHz at sizes where it matters whether others help.
constexpr double kOps[TENON_WORK_KINDS] = {
    1,             // NOTHING
    4 * kLanes,    // VECTOR
    6 * kLanes,    // PRODUCT_F32
    6 * kLanes,    // PRODUCT_F16
    8 * kLanes,    // PRODUCT_I8
    3.5 * kLanes,  // RECURRENT
    1,             // SORT
    1,             // UNKNOWN: see below
};

// Bytes per nanosecond. Small tensors are in the caches, of large ones most is not.
constexpr double kCachedBytes = 1 << 20, kFromCache = 80, kFromMemory = 25;
constexpr double kMemoryThreads = 4;  // that use up a memory's bandwidth

constexpr double kStartNs = 20;
constexpr double kUnknownNs = 1e5;  // of a function of the application: so that others help

}  // namespace

double time_ns(const tenon_work& work) {
    if (work.kind == TENON_WORK_UNKNOWN) return kUnknownNs;
    const double bytes = work.bytes_read + work.bytes_written;
    const double moving = std::min(bytes, kCachedBytes) / kFromCache +
                          std::max(bytes - kCachedBytes, 0.0) / kFromMemory;
    return kStartNs + std::max(work.ops / kOps[work.kind], moving);
}

void fill_cost_model(uint32_t n_threads, tenon_cost_model& out) {
    const double n = n_threads, per_s = 1e9;
    out.flops_f32 = kOps[TENON_WORK_PRODUCT_F32] * n * per_s;
    out.flops_f16 = kOps[TENON_WORK_PRODUCT_F16] * n * per_s;
    out.ops_i8 = kOps[TENON_WORK_PRODUCT_I8] * n * per_s;
    out.bytes_per_s = kFromMemory * std::min(n, kMemoryThreads) * per_s;
    out.launch_ns = static_cast<uint64_t>(kStartNs);
}

}  // namespace tenon::cpu
