// dot_levels of the NEON variant: products of bf16, and of bytes with the matrix or the dot product
// instructions of Armv8.2 and later.

#include <sys/auxv.h>

#include "plugins/cpu/dot/levels.h"

namespace tenon::cpu {
namespace bf16 {
const DotType* find_bfloat_dot(ggml_type type);
}
namespace i8mm {
const DotType* find_block_dot(ggml_type type);
}
namespace dotprod {
const DotType* find_block_dot(ggml_type type);
}
namespace {

// Positions in the kernel's words of capabilities; part of its interface.
constexpr unsigned long kDotprod = 1ul << 20;                  // AT_HWCAP
constexpr unsigned long kI8mm = 1ul << 13, kBf16 = 1ul << 14;  // AT_HWCAP2

bool has_dotprod() { return getauxval(AT_HWCAP) & kDotprod; }
bool has_i8mm() { return has_dotprod() && (getauxval(AT_HWCAP2) & kI8mm); }
bool has_bf16() { return getauxval(AT_HWCAP2) & kBf16; }

constexpr DotLevel kLevels[] = {
    {{"bf16", nullptr}, "BF16", has_bf16, bf16::find_bfloat_dot},
    {{"i8mm", "dotprod"}, "MATMUL_INT8", has_i8mm, i8mm::find_block_dot},
    {{"dotprod", nullptr}, "DOTPROD", has_dotprod, dotprod::find_block_dot},
};

}  // namespace

std::span<const DotLevel> dot_levels() { return kLevels; }

}  // namespace tenon::cpu
