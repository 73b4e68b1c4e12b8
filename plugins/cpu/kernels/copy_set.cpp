// SET: dst = a, with b stored over a region of it.

#include "plugins/cpu/kernels/move.h"
#include "plugins/cpu/kernels/region.h"

namespace tenon::cpu {
namespace {

Verdict supports(const ggml_tensor& node) {
    const ggml_type type = node.type;
    if (node.src[1]->type != type)
        return no(TENON_REASON_TYPE_MIX, "src0 and src1 must have one type");
    if (type_size(type).block != 1) return no(TENON_REASON_TYPE, "elements must not be in blocks");
    return supports_region(node);
}

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& b = *node.src[1];
    copy_base(task, node);
    const size_t bytes = type_size(node.type).bytes;
    for_each_target(task, node, [&](char* target, int64_t i1, int64_t i2, int64_t i3) {
        move_run(target, bytes, row<const char>(b, i1, i2, i3), bytes, b.ne[0], bytes);
    });
}

}  // namespace

extern constinit const Kernel kSet{supports, run, nullptr, nullptr, region_members};

}  // namespace tenon::cpu
