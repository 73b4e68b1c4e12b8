// find_extra_dot_type on arm64: the dot products once more, with the dot product instructions of
// Armv8.2. They are the same source in another namespace, so that no inline function of theirs can
// take the place of one that runs everywhere.

#include <sys/auxv.h>

#include "plugins/cpu/dot/dot.h"

namespace tenon::cpu_dotprod {

struct DotType;  // cpu::DotType under its name there
const DotType* find_dot_type(ggml_type type);

}  // namespace tenon::cpu_dotprod

namespace tenon::cpu {

const DotType* find_extra_dot_type(ggml_type type) {
    constexpr unsigned long kDotProduct = 1ul << 20;  // HWCAP_ASIMDDP
    if (!(getauxval(AT_HWCAP) & kDotProduct)) return nullptr;
    return reinterpret_cast<const DotType*>(cpu_dotprod::find_dot_type(type));
}

}  // namespace tenon::cpu
