// dot_levels of the AVX-512 variant: products of bf16 with its BF16 instructions.

#include "plugins/cpu/dot/levels.h"

namespace tenon::cpu_bf16 {

struct DotType;  // cpu::DotType under its name there
const DotType* find_bfloat_dot(ggml_type type);

}  // namespace tenon::cpu_bf16

namespace tenon::cpu {
namespace {

bool usable() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16");
}
const DotType* find(ggml_type type) {
    return reinterpret_cast<const DotType*>(cpu_bf16::find_bfloat_dot(type));
}

constexpr DotLevel kLevels[] = {{{"avx512_bf16", nullptr}, "AVX512_BF16", usable, find}};

}  // namespace

std::span<const DotLevel> dot_levels() { return kLevels; }

}  // namespace tenon::cpu
