// dot_levels of the AVX2 variant: products of bytes with AVX-VNNI.

#include "plugins/cpu/dot/levels.h"

namespace tenon::cpu_vnni {

struct DotType;  // cpu::DotType under its name there
const DotType* find_block_dot(ggml_type type);

}  // namespace tenon::cpu_vnni

namespace tenon::cpu {
namespace {

bool usable() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avxvnni");
}
const DotType* find(ggml_type type) {
    return reinterpret_cast<const DotType*>(cpu_vnni::find_block_dot(type));
}

constexpr DotLevel kLevels[] = {{{"avx_vnni", nullptr}, "AVX_VNNI", usable, find}};

}  // namespace

std::span<const DotLevel> dot_levels() { return kLevels; }

}  // namespace tenon::cpu
