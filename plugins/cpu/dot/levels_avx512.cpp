// dot_levels of the AVX-512 variant: products of bf16 with its BF16 instructions.

#include "plugins/cpu/dot/levels.h"

namespace tenon::cpu {
namespace bf16 {
const DotType* find_bfloat_dot(ggml_type type);
}
namespace {

bool usable() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16");
}

constexpr DotLevel kLevels[] = {
    {{"avx512_bf16", nullptr}, "AVX512_BF16", usable, bf16::find_bfloat_dot}};

}  // namespace

std::span<const DotLevel> dot_levels() { return kLevels; }

}  // namespace tenon::cpu
