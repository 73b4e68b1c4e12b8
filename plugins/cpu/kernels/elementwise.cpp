// SQR SQRT LOG SIN COS: dst = fn(x). SCALE: dst = x*scale + bias. CLAMP: x within [min, max].

#include "plugins/cpu/kernels/map.h"
#include "plugins/cpu/simd/vmath.h"

namespace tenon::cpu {
namespace {

using simd::f32;

template <auto fn>
void run(const Task& task, const ggml_tensor& node) {
    map_elements(task, node, fn);
}

void run_scale(const Task& task, const ggml_tensor& node) {
    const auto p = params_of<tenon_scale_params>(node);
    const f32 scale = simd::splat(p.scale), bias = simd::splat(p.bias);
    if (p.bias == 0.0f) return map_elements(task, node, [=](f32 x) { return x * scale; });
    map_elements(task, node, [=](f32 x) { return simd::fma(x, scale, bias); });
}

// x < max ? x : max, and then the same from below: NaN becomes max.
void run_clamp(const Task& task, const ggml_tensor& node) {
    const auto p = params_of<tenon_clamp_params>(node);
    const f32 least = simd::splat(p.min), most = simd::splat(p.max);
    map_elements(task, node, [=](f32 x) { return simd::max(simd::min(x, most), least); });
}

// The C library's functions and their like take longer than memory does.
}  // namespace

extern constinit const Kernel kSqr =
    Kernel{supports_map, run<[](f32 x) { return x * x; }>}.by_elements();
extern constinit const Kernel kSqrt =
    Kernel{supports_map, run<[](f32 x) { return simd::sqrt(x); }>}.by_elements();
extern constinit const Kernel kLog =
    Kernel{supports_map, run<[](f32 x) { return simd::log(x); }>}.by_elements();
extern constinit const Kernel kSin =
    Kernel{supports_map, run<[](f32 x) { return simd::sin(x); }>}.by_elements();
extern constinit const Kernel kCos =
    Kernel{supports_map, run<[](f32 x) { return simd::cos(x); }>}.by_elements();
extern constinit const Kernel kScale = Kernel{supports_map, run_scale}.by_elements();
extern constinit const Kernel kClamp = Kernel{supports_map, run_clamp}.by_elements();

}  // namespace tenon::cpu
