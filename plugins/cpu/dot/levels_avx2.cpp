// dot_levels of the AVX2 variant: products of bytes with AVX-VNNI.

#include "plugins/cpu/dot/levels.h"

namespace tenon::cpu {
namespace vnni {
const DotType* find_block_dot(ggml_type type);
}
namespace {

bool usable() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avxvnni");
}

constexpr DotLevel kLevels[] = {{{"avx_vnni", nullptr}, "AVX_VNNI", usable, vnni::find_block_dot}};

}  // namespace

std::span<const DotLevel> dot_levels() { return kLevels; }

}  // namespace tenon::cpu
