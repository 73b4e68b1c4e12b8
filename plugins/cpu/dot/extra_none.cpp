// find_extra_dot_type where nothing beyond the variant is built.

#include "plugins/cpu/dot/dot.h"

namespace tenon::cpu {

const DotType* find_extra_dot_type(ggml_type) { return nullptr; }

}  // namespace tenon::cpu
